"""What `propagate` returns: access, finite widths, and files."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from symdlt import MLP, Propagation, derive_system, exponents
from symdlt.errors import InputError, KernelError, SchemaError, UnknownTensorError
from symdlt.networks import read_data

HYPER = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.3, "lambda_W": 0.7}
RESULT = MLP(activation="sin", widths=[20, 50], **HYPER).propagate([[1.0, 0.5]], ["G", "H", "V"])
RNG = np.random.default_rng(0)
SHAPES = {"G": 2, "H": 2, "V": 4, "G.1": 2}
TWO = Propagation(
    {name: RNG.normal(size=(3, *(2,) * axes)) for name, axes in SHAPES.items()},
    (20, 50),
    ((0, 1),) * 4,
)


def test_layers_and_names():
    assert RESULT.names == tuple(RESULT) == ("G", "H", "V")
    assert "V" in RESULT
    assert "A" not in RESULT
    assert [layer.number for layer in RESULT.layers] == [1, 2, 3]
    assert np.array_equal(RESULT.layer(2)["V"], RESULT["V"][1])
    assert repr(RESULT) == "Propagation(3 layers, 1 sample, tensors=G H V)"
    assert repr(RESULT.layer(2)) == "LayerTensors(2, tensors=G H V)"


def test_results_are_pickled():
    found = pickle.loads(pickle.dumps(TWO))
    assert (found.widths, found.blocks, found.names) == (TWO.widths, TWO.blocks, TWO.names)
    assert all(np.array_equal(found[key], TWO[key]) for key in TWO)


def test_results_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        RESULT["V"][0] = 1.0
    with pytest.raises(TypeError):
        RESULT.tensors["V"] = 1.0


def test_finite_width():
    below = np.array([1, 20, 50]).reshape(3, 1, 1)
    np.testing.assert_allclose(TWO.finite_width("G"), TWO["G"] + TWO["G.1"] / below)
    np.testing.assert_allclose(TWO.finite_width("V"), TWO["V"] / below[..., None, None])
    with pytest.raises(UnknownTensorError, match=r"There is no 'H.1' here. .* Ask for it with"):
        TWO.finite_width("H")
    with pytest.raises(UnknownTensorError, match=r"G.1 is a part of G"):
        TWO.finite_width("G.1")


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (
            "A",
            UnknownTensorError,
            "There is no 'A' here. There are G H V. Ask for it with tensors=",
        ),
        ("Y", UnknownTensorError, "There is no 'Y' here. There are G H V. Give one of these."),
        (1, InputError, "1 is not the name of a tensor"),
        (["V"], InputError, "is not the name of a tensor"),
    ],
)
def test_what_is_not_there(key, error, message):
    for place in (RESULT, RESULT.layer(1)):
        with pytest.raises(error, match=message):
            place[key]


@pytest.mark.parametrize(
    ("number", "error"),
    [(0, KernelError), (4, KernelError), (1.0, InputError), (None, InputError), (True, InputError)],
)
def test_layers_that_are_not_there(number, error):
    with pytest.raises(error):
        RESULT.layer(number)


@pytest.mark.parametrize("name", ["tensors.npz", "no_ending"])
def test_what_is_saved_is_loaded(tmp_path, name):
    TWO.save(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    found = Propagation.load(str(tmp_path / name))
    assert (found.widths, found.blocks, found.names) == (TWO.widths, TWO.blocks, TWO.names)
    assert all(np.array_equal(found[key], TWO[key]) for key in TWO)


def rewritten(path, target, change):
    """A copy of a saved file with members changed by a function of their dictionary."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def header(**changes):
    whole = {"schema": 1, "widths": [20, 50], "blocks": [[0, 1]] * 4, "tensors": [*SHAPES]}
    return {"symdlt.npy": npy(np.array(json.dumps(whole | changes)))}


@pytest.mark.parametrize(
    "change",
    [
        header(schema=2),
        header(schema=True),
        header(widths=[0, 50]),
        header(widths=[20, 2**60]),
        header(widths=""),
        header(blocks=[[0, 0]] * 4),
        header(tensors="G"),
        header(tensors={name: 1 for name in SHAPES}),
        header(tensors=[*SHAPES, "G"]),
        header(widths=[20]),
        header(widths=[20, 50.0]),
        header(widths=None),
        header(blocks=[[0, 1]] * 3),
        header(blocks=[[0]] * 4),
        header(tensors=["G", "H", "V"]),
        header(tensors=["G", "H", "V", "G.1", "A"]),
        header(tensors=[]),
        header(tensors=3),
        header(tensors=[["G"]]),
        {"symdlt.npy": npy(np.array("{"))},
        {"symdlt.npy": npy(np.array("[]"))},
        {"symdlt.npy": npy(np.array({}, object))},
        {"G.npy": npy(np.zeros((3, 2)))},
        {"G.npy": npy(np.zeros((3, 2, 2), np.float32))},
        {"G.npy": npy(np.full((3, 2, 2), np.nan))},
        {"G.npy": npy(np.full((3, 2, 2), None))},
        {"G.npy": b""},
        {"G.npy": b"nothing"},
        {"G.npy": npy(np.zeros((3, 2, 2)))[:-3]},
        {"Y.npy": npy(np.zeros((3, 2, 2)))},
    ],
)
def test_damaged_files_are_refused(tmp_path, change):
    TWO.save(tmp_path / "good.npz")
    rewritten(tmp_path / "good.npz", tmp_path / "same.npz", lambda members: None)
    Propagation.load(tmp_path / "same.npz")
    rewritten(tmp_path / "good.npz", tmp_path / "bad.npz", lambda members: members.update(change))
    with pytest.raises(SchemaError, match=r"bad.npz' is not a file of saved tensors"):
        Propagation.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("size", [0, 1, 100, 1000, -1])
def test_files_cut_short_are_refused(tmp_path, size):
    TWO.save(tmp_path / "good.npz")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "good.npz").read_bytes()[:size])
    with pytest.raises(SchemaError, match="is not a file of saved tensors"):
        Propagation.load(tmp_path / "cut.npz")


def test_a_tensor_of_two_axes_has_two_lists_of_samples(tmp_path):
    Propagation({"G": TWO["G"]}, (20, 50), ((0, 1),) * 3).save(tmp_path / "three.npz")
    with pytest.raises(SchemaError, match="its blocks are not 2 lists of samples"):
        Propagation.load(tmp_path / "three.npz")


def damaged(content, rng):
    """Bytes cut short, changed, taken out, or put in."""
    place = int(rng.integers(len(content)))
    far = place + int(rng.integers(1, 200))
    return (
        content[:place],
        content[:place] + bytes([content[place] ^ rng.integers(1, 256)]) + content[place + 1 :],
        content[:place] + content[far:],
        content[:place] + rng.bytes(far - place) + content[place:],
    )[rng.integers(4)]


def test_damage_anywhere_is_refused_or_does_not_matter(tmp_path):
    TWO.save(tmp_path / "good.npz")
    content, rng, refused = (tmp_path / "good.npz").read_bytes(), np.random.default_rng(1), 0
    for _ in range(120):
        (tmp_path / "bad.npz").write_bytes(damaged(content, rng))
        try:
            found = Propagation.load(tmp_path / "bad.npz")
        except SchemaError:
            refused += 1
        else:
            assert (found.widths, found.blocks, found.names) == (TWO.widths, TWO.blocks, TWO.names)
            assert all(np.array_equal(found[key], TWO[key]) for key in TWO)
    assert refused > 100


def test_other_files_are_refused(tmp_path):
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "text.npz").write_text("tensors")
    for name in ("array.npy", "text.npz"):
        with pytest.raises(SchemaError, match="is not a file of saved tensors"):
            Propagation.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        Propagation.load(tmp_path / "missing.npz")
    with pytest.raises(IsADirectoryError):
        Propagation.load(tmp_path)


@pytest.mark.parametrize("name", [3, None, "", "\0", "a\0b", b"tensors.npz", "\ud800"])
@pytest.mark.parametrize("call", [Propagation.load, TWO.save, read_data])
def test_names_that_no_file_has(call, name):
    with pytest.raises(InputError, match="is not the name of a file"):
        call(name)


def test_results_answer_to_the_names_that_were_asked_for():
    mlp = MLP(activation="sin", widths=[20, 50], **HYPER)
    answer = mlp.propagate([[1.0, 0.5]], ["K", "theta", "K.1"])
    assert answer.names == ("G", "H", "G.1")
    assert "Theta" in answer
    for asked, name in (("K", "G"), ("NTK", "H"), ("K.1", "G.1")):
        assert np.array_equal(answer[asked], answer[name])
    assert np.array_equal(answer.finite_width("K"), answer.finite_width("G"))
    assert derive_system(["K", "V"], inputs="one")["K"].name == "G"
    assert exponents("tanh", ["K"])["K"].name == "G"
