"""Every field of a JSON document is checked: no change of one of them goes unnoticed."""

import json

import pytest

from symdlt import derive, from_json, to_json
from symdlt.errors import SchemaError

VALUES = (None, -1, 1.5, True, "x", [])
DOCUMENTS = {
    "G": derive("G"),
    "G.1, z": derive("G.1", form="z"),
    "V, one input, z": derive("V", inputs="one", form="z"),
}


def leaves(node, path=()):
    entries = enumerate(node) if isinstance(node, list) else getattr(node, "items", list)()
    inside = [leaf for key, child in entries for leaf in leaves(child, (*path, key))]
    return inside or [path]


def changed(text, path, value):
    document = json.loads(text)
    node = document
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_leaf_is_checked(name):
    text = to_json(DOCUMENTS[name])
    paths = leaves(json.loads(text))
    assert len(paths) > 50
    for path in paths:
        for value in VALUES:
            try:
                found = from_json(changed(text, path, value))
            except SchemaError:
                continue
            assert found == DOCUMENTS[name], (path, value)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("G", ("version",), 1.0),
        ("G", ("first_layer", 1, "overlap"), [1]),
        ("G", ("first_layer", 1, "overlap"), [1, 9]),
        ("G", ("terms", 0, "overlap"), [1, 2]),
        ("G", ("terms", 1, "brackets", 0, "factors", 0), [7, 0]),
        ("G", ("terms", 1, "brackets", 0, "inserted"), [1]),
        ("G", ("terms", 1, "widths", "n_l"), 1),
        ("G.1, z", ("terms", 0, "tensors", 0, "samples"), [-1, -1]),
        ("G.1, z", ("terms", 0, "brackets", 0, "inserted"), [-2]),
    ],
)
def test_samples_and_dummies_must_fit_together(name, path, value):
    with pytest.raises(SchemaError, match=r"malformed|schema version"):
        from_json(changed(to_json(DOCUMENTS[name]), path, value))
