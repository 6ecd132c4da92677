"""The packages import downwards only, and heavy libraries only where they are needed."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import symdlt

ROOT = Path(symdlt.__file__).parent
LAZY = {(room, file) for room in ("derivation", "stacks") for file in ("recursion.py", "terms.py")}
ORDER = (
    "_version",
    "errors",
    "equality",
    "memory",
    "files",
    "progress",
    "precision",
    "symbols",
    "combinatorics",
    "display",
    "tables",
    "activations",
    "algebra",
    "definitions",
    "means",
    "derivation",
    "formats",
    "plotting",
    "fixed_points",
    "asymptotics",
    "sampling",
    "kernels",
    "networks",
    "training",
    "pipeline",
    "_api",
    "cli",
    "__main__",
)
CONSUMERS = ("asymptotics", "sampling", "kernels")
MODULES = sorted(ROOT.rglob("*.py"))


def package_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


@cache
def imports_in(path):
    """Every import statement of a module, wherever it stands."""
    found = ast.walk(ast.parse(path.read_text()))
    return [node for node in found if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(path):
    """Every imported module."""
    for node in imports_in(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            yield node.module or ""


def test_a_package_imports_only_those_below_it():
    faults = []
    for path in MODULES:
        here = package_of(path)
        for module in imported(path) if here != "__init__" else ():
            if not module.startswith("symdlt."):
                continue
            there, *names = module.split(".")[1:]
            above = ORDER.index(there) > ORDER.index(here)
            private = here != there and any(part.startswith("_") for part in names)
            beside = here in CONSUMERS and there in CONSUMERS and here != there
            if above or private or beside:
                faults.append((path.relative_to(ROOT).as_posix(), module))
    assert faults == []


def test_no_two_modules_need_each_other():
    names = {".".join(("symdlt", *p.relative_to(ROOT).with_suffix("").parts)): p for p in MODULES}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    needs = {name: set() for name in names}
    for name, path in names.items():
        for node in imports_in(path):
            if isinstance(node, ast.ImportFrom):
                parts = {f"{node.module}.{alias.name}" for alias in node.names}
                needs[name] |= (parts & {*names}) or ({node.module} & {*names}) - {"symdlt"}
    TopologicalSorter(needs).prepare()  # raises a CycleError that lists a circle


def test_heavy_libraries_stay_where_they_are_needed():
    found = {path.relative_to(ROOT).as_posix(): unneeded_in(path) for path in MODULES}
    assert {path: libraries for path, libraries in found.items() if libraries} == {}


def unneeded_in(path):
    """The heavy libraries that a module imports and should not."""
    here = package_of(path)
    found = {module.split(".")[0] for module in imported(path)} & {"sympy", "mpmath", "numpy"}
    if here in ("asymptotics", "fixed_points", "precision", "symbols") or "precise" in path.parts:
        return set()
    if here == "kernels" and {"generator", "activations"} & {*path.parts}:
        return set()  # they write source, and load what they need when they do
    if path.stem == "layer_equations" or path.parts[-2:] in LAZY:
        found -= {"sympy"}  # loaded where an equation is asked for in SymPy
    if here in ("means", "sampling", "kernels", "networks", "plotting") or "response" in path.parts:
        return found - {"numpy"}
    if here == "training":
        return found - {"numpy", "sympy"}
    return set() if here in ("activations", "kernels", "algebra") else found


def test_jax_is_imported_by_what_is_copied_into_kernels_alone():
    running = ROOT / "kernels/jax_target/running"
    found = {path for path in MODULES if "jax" in {m.split(".")[0] for m in imported(path)}}
    assert found == {path for path in MODULES if path.parent == running} - {running / "__init__.py"}


def test_generated_kernels_import_means_and_what_kernels_share():
    for path in (ROOT / "kernels/generated").glob("*.py"):
        for module in imported(path):
            ours = module == "symdlt.means" or module.startswith("symdlt.kernels.numpy_target.")
            assert ours or not module.startswith("symdlt"), (path, module)


def test_a_kernel_that_runs_loads_no_generator():
    code = (
        "import sys, symdlt.kernels.many_inputs, symdlt.kernels.single_input; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("symdlt.")}
    rooms = {name.split(".")[1] for name in loaded}
    assert rooms == {"kernels", "means", "errors"}
    assert not any(name.startswith("symdlt.kernels.generator") for name in loaded)


def test_means_import_only_numpy_the_standard_library_errors_and_each_other():
    for path in (ROOT / "means").glob("*.py"):
        for module in imported(path):
            top = module.split(".")[0]
            ours = module.startswith("symdlt.means.") or module == "symdlt.errors"
            assert ours or top == "numpy" or top in sys.stdlib_module_names, module


def test_no_module_is_named_after_nothing_or_grows_without_end():
    for path in MODULES:
        assert path.stem not in ("utils", "helpers", "misc", "common")
        assert package_of(path) == "kernels" or len(path.read_text().splitlines()) <= 400, path


@pytest.mark.parametrize("name", ["", ".activations", ".kernels", ".definitions"])
def test_importing_symdlt_is_light(name):
    import subprocess

    module = f"symdlt{name}"
    code = f"import sys, {module}; print(sorted({{'sympy', 'numpy', 'mpmath'}} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
