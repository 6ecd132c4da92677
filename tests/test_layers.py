"""The packages import downwards only, and heavy libraries only where they are needed."""

import ast
import sys
from pathlib import Path

import pytest

import symdlt

ROOT = Path(symdlt.__file__).parent
ORDER = (
    "_version",
    "errors",
    "progress",
    "precision",
    "display",
    "indices",
    "networks",
    "forward",
    "wick",
    "expansion",
    "recursions",
    "typesetting",
    "asymptotics",
    "means",
    "codegen",
    "sampling",
    "kernels",
    "mlp",
    "training",
    "pipeline",
    "_api",
    "cli",
    "__main__",
)
CONSUMERS = ("typesetting", "asymptotics", "codegen", "sampling")
ALLOWED = {
    ("display", "forward"),
    ("display", "recursions"),
    ("display", "typesetting"),
}
MODULES = sorted(ROOT.rglob("*.py"))


def package_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def imported(path):
    """Every imported module, wherever the import statement stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_package_imports_only_those_below_it(path):
    here = package_of(path)
    if here == "__init__":
        return
    for module in imported(path):
        if not module.startswith("symdlt."):
            continue
        there = module.split(".")[1]
        assert (here, there) in ALLOWED or ORDER.index(there) <= ORDER.index(here), module
        assert not (here in CONSUMERS and there in CONSUMERS and here != there), module


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_heavy_libraries_stay_where_they_are_needed(path):
    here = package_of(path)
    found = {module.split(".")[0] for module in imported(path)} & {"sympy", "mpmath", "numpy"}
    if here in ("asymptotics", "precision"):
        return
    if here in ("means", "sampling", "kernels", "mlp"):
        assert found <= {"numpy"}
    elif here == "training":
        assert found <= {"numpy", "sympy"}
    elif here not in ("codegen", "indices", "networks"):
        assert not found


def test_kernels_import_nothing_of_ours():
    for path in (ROOT / "kernels").glob("*.py"):
        assert not any(module.startswith("symdlt") for module in imported(path))


def test_means_import_only_numpy_the_standard_library_and_each_other():
    for path in (ROOT / "means").glob("*.py"):
        for module in imported(path):
            top = module.split(".")[0]
            ours = module.startswith("symdlt.means.")
            assert ours or top == "numpy" or top in sys.stdlib_module_names, module


def test_no_module_is_named_after_nothing_or_grows_without_end():
    for path in MODULES:
        assert path.stem not in ("utils", "helpers", "misc", "common")
        assert package_of(path) == "kernels" or len(path.read_text().splitlines()) <= 400, path


@pytest.mark.parametrize("module", ["symdlt", "symdlt.codegen", "symdlt.networks"])
def test_importing_symdlt_is_light(module):
    import subprocess

    code = f"import sys, {module}; print(sorted({{'sympy', 'numpy', 'mpmath'}} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
