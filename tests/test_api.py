"""The face of the library: what users need, at the top, and no more."""

import ast
import inspect
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import symdlt
from symdlt._version import VERSION
from symdlt.errors import SymdltError

ROOT = Path(symdlt.__file__).parent
README = Path(__file__).parents[1] / "README.md"


def test_every_verb_of_the_command_line_is_a_function_at_the_top():
    from symdlt.cli import EXAMPLES

    other_names = {
        "latex": "to_latex",
        "list": "correlators",
        "kernel": "kernel_for",
        "mean": "gaussian_mean",
        "forward": "forward_equation",
        "fixed-point": "layer_phase",
    }
    for command in EXAMPLES.keys() - {"regenerate", "tour", "completion"}:
        name = other_names.get(command, command).replace("-", "_")
        assert callable(getattr(symdlt, name))


def test_what_the_readme_imports_from_the_top_is_there():
    names = re.findall(r"symdlt\.([a-zA-Z_]+)", README.read_text(encoding="utf-8"))
    assert all(hasattr(symdlt, name) for name in set(names) - {"tex"})


def test_dir_shows_what_users_need_and_no_more():
    shown = {name for name in dir(symdlt) if not name.startswith("_")}
    assert {"derive", "phase", "predict", "MLP", "asymptotics", "errors"} <= shown
    assert not shown & {"annotations", "import_module", "TYPE_CHECKING", "cli", "pipeline"}
    assert all(getattr(symdlt, name) is not None for name in shown)
    assert set(symdlt.__all__) <= shown
    assert symdlt.__version__ == VERSION


def test_type_checkers_see_the_same_names():
    """They read the branch that never runs."""
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "symdlt"
        for alias in node.names
    }
    assert seen == set(dir(symdlt)) - set(symdlt.__all__) - {"__version__", "__doc__", "__all__"}
    api = ast.parse((ROOT / "_api.py").read_text(encoding="utf-8"))
    typed = {
        alias.asname
        for node in ast.walk(api)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == set(symdlt.__all__)


def test_rooms_are_attributes_without_an_import_of_theirs():
    code = "import symdlt; print(symdlt.fixed_points.phase.__name__, symdlt.networks.MLP.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "phase MLP\n"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = symdlt.nothing


def public_errors():
    for module in walk_packages([str(ROOT)], "symdlt."):
        if module.name.startswith(("symdlt.__", "symdlt.kernels.jax_target.running.")):
            continue
        for name, value in vars(import_module(module.name)).items():
            ours = inspect.isclass(value) and value.__module__.startswith("symdlt")
            if ours and issubclass(value, Exception) and not name.startswith("_"):
                yield value


def test_every_error_is_in_the_tree_and_has_a_built_in_parent():
    for error in set(public_errors()) - {SymdltError}:
        assert issubclass(error, SymdltError), error
        parents = {parent for parent in error.__mro__ if parent.__module__ == "builtins"}
        assert parents - {Exception, BaseException, object}, error
        assert str(pickle.loads(pickle.dumps(error("why")))) == "why"
