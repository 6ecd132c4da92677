"""Activations that the text of a layer names, as parts of a kernel in NumPy."""

from __future__ import annotations

import re
from collections.abc import Sequence

from symdlt.activations import activation
from symdlt.activations.activation import kinks_of
from symdlt.kernels.generator.layer_lowering import GIVEN
from symdlt.kernels.generator.python.layout import COLUMNS, bracketed, tuple_text
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.numpy_target.activations import activation_source
from symdlt.kernels.numpy_target.activations.error_function import error_function_source

INNER = COLUMNS - 30  # behind a name, inside a table


def named_source(module: KernelModule, before: str) -> str:
    """The functions that fields of a layer are read by, but for those that are given.

    Args:
        module: what the kernel computes.
        before: the source that they stand behind.
    """
    parts = [before] if before else []
    for name in named_functions(module):
        source = activation_source(name, module.derivatives).partition("def activation(")[0]
        source = re.sub(r"@np.errstate\([^)]*\)\n\Z", "", source.rstrip() + "\n").rstrip()
        helpers = error_function_source()
        if any(helpers in part for part in parts):
            source = source.replace(helpers, "")
        listed = tuple_text(f"{name}_{order}" for order in range(module.derivatives + 1))
        renamed = re.sub(r"\bdef s(\d+)\(", rf"def {name}_\1(", source).strip()
        parts.append(f"{renamed}\n\n\n{constant(name)} = {listed}")
    return "\n\n\n".join(parts)


def named_functions(module: KernelModule) -> list[str]:
    """The names of these functions."""
    return [name for name in module.function_names if name != GIVEN]


def means_text(module: KernelModule, key: str) -> str:
    """How the means of functions are taken, if not as those of the given one."""
    functions = listed(module, key, "problem.activation", "len(problem.activation)")
    kinks = kinks_of(activation(key)) if " " not in key else ()
    if module.has_odd_means(key):
        functions = f"with_constant({functions})"
    elif kinks:
        return bracketed("KinkedMeans(", [functions, repr(kinks), "tolerance"], ")", INNER)
    return bracketed("SmoothMeans(", [functions, "tolerance"], ")", INNER)


def listed(module: KernelModule, key: str, given: str, count: str) -> str:
    """The functions of a field with their derivatives, in one list.

    Args:
        module: of the kernel.
        key: the functions.
        given: the code of the given activation.
        count: the code of the number of functions that are used of each.
    """
    parts = [given if name == GIVEN else constant(name) for name in key.split()]
    if len(parts) > 1:
        return f"joined({module.stride}, {count}, {', '.join(parts)})"
    return given if key == GIVEN else f"{parts[0]}[: {count}]"


def by_function(module: KernelModule) -> Sequence[str]:
    """The rows of a table of means by the names of functions."""
    return [
        f'"{key}": {"taken" if key == GIVEN else means_text(module, key)},' for key in module.keys
    ]


def constant_places(module: KernelModule) -> Sequence[str]:
    """The rows of a table of where the constant one stands behind functions."""
    places = {key: f"{len(key.split()) * module.stride}" for key in module.keys if " " in key}
    return [f'"{key}": {places.get(key, "len(problem.activation)")},' for key in module.keys]


def constant(name: str) -> str:
    """What a function and its derivatives are called."""
    return name.upper()
