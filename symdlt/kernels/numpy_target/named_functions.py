"""Activations that the text of a layer names, as parts of a kernel in NumPy."""

from __future__ import annotations

import re
from collections.abc import Sequence

from symdlt.activations import activation
from symdlt.kernels.generator.python.layout import tuple_text
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.generator.source import kinks_of
from symdlt.kernels.numpy_target.activations import activation_source
from symdlt.kernels.numpy_target.activations.error_function import error_function_source


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
    return [name for name in functions_of(module) if name != "s"]


def functions_of(module: KernelModule) -> list[str]:
    """The names of all functions that means are taken of."""
    return list(dict.fromkeys(field.function for field in module.fields))


def means_text(module: KernelModule, name: str) -> str:
    """How the means of a named function are taken."""
    functions = f"{constant(name)}[: len(problem.activation)]"
    if module.has_odd_means(name):
        return f"SmoothMeans(with_constant({functions}), tolerance)"
    kinks = kinks_of(activation(name))
    if kinks:
        return f"KinkedMeans({functions}, {kinks!r}, tolerance)"
    return f"SmoothMeans({functions}, tolerance)"


def by_function(module: KernelModule) -> Sequence[str]:
    """The rows of a table of means by the names of functions."""
    given = {name: means_text(module, name) for name in named_functions(module)} | {"s": "taken"}
    return [f'"{name}": {given[name]},' for name in functions_of(module)]


def constant(name: str) -> str:
    """What a function and its derivatives are called."""
    return name.upper()
