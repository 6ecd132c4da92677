"""What stands with a kernel: imports, or each definition once and nothing that is not needed."""

import ast
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from symdlt.errors import KernelError
from symdlt.kernels.generator.python import linking
from symdlt.kernels.generator.python.layout import filled
from symdlt.kernels.generator.python.linking import defined_in, imported, linked
from symdlt.kernels.numpy_target import template

KERNELS = Path(str(files("symdlt.kernels") / "generated"))


def names_of(text):
    """The names that a module's top-level statements define or import."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.Assign):
            found += [part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)]
    return found


@pytest.mark.parametrize("kernel", ["many_inputs", "single_input"])
def test_no_name_has_two_meanings_in_a_file_that_stands_alone(kernel):
    text = (KERNELS / f"{kernel}.py").read_text(encoding="utf-8")
    cut = text.index("DERIVATIVES = ")
    body = text[cut:].replace("SmoothMeans(", "(SmoothMeans or KinkedMeans)(")
    found = linked(template.IMPORTS, body)
    names = names_of("\n".join([*found, body]))
    assert sorted(names) == sorted(set(names))
    assert {"KinkedMeans", "KernelInputError"} <= set(names) or kernel == "single_input"


def test_definitions_come_with_what_they_read():
    found = linked(
        "from math import inf\nfrom symdlt.means import choose_step", "value = choose_step([], inf)"
    )
    defined = names_of("\n".join(found))
    assert {"choose_step", "searched_step", "KernelInputError", "LEAST_STEP"} <= set(defined)
    assert "hermite_table" not in defined
    assert "from math import inf" in found[0]
    assert "symdlt" not in found[0]


def test_imports_are_those_that_are_read_or_offered_again():
    imports = (
        "import numpy as np\nfrom symdlt.means import Array, QUIET, TINY, trapezoid as trapezoid"
    )
    found = imported(imports, "x: Array = QUIET * np.ones(3)")
    assert found.splitlines() == [
        "from __future__ import annotations",
        "",
        "import numpy as np",
        "",
        "from symdlt.means import QUIET, Array",
        "from symdlt.means import trapezoid as trapezoid",
    ]


def test_names_are_followed_through_the_modules_that_offer_them_again():
    assert defined_in("symdlt.means", "trapezoid").text.startswith("def trapezoid(")
    with pytest.raises(KernelError, match=r"nothing of symdlt\.means has no definition"):
        defined_in("symdlt.means", "nothing")


def test_two_definitions_of_one_name_are_refused(tmp_path, monkeypatch):
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms/__init__.py").touch()
    (tmp_path / "rooms/lower.py").write_text("size = 1\n\ndef wide():\n    return size\n")
    upper = "from rooms.lower import wide\n\nsize = 2\n\ndef high():\n    return size + wide()\n"
    (tmp_path / "rooms/upper.py").write_text(upper)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(linking, "OURS", "rooms")
    with pytest.raises(KernelError, match=r"size is defined in rooms\.lower and in rooms\.upper"):
        linked("from rooms.upper import high", "high()")
    _, definitions = linked("from rooms.lower import wide", "wide()")
    assert definitions == "size = 1\n\n\ndef wide():\n    return size"
    sys.modules.pop("rooms", None)


def test_a_template_and_its_data_name_the_same():
    assert filled("$a = [\n    $b\n]", a="x", b="1,\n2,") == "x = [\n    1,\n    2,\n]"
    with pytest.raises(KernelError, match="The placeholders b stand"):
        filled("$a = $b", a="x")
    with pytest.raises(KernelError, match="The placeholders c d stand"):
        filled("$a = $c", a="x", d="y")
