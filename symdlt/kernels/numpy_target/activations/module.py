"""The module of an activation: generated, tried on a grid, and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.activations import Activation
from symdlt.errors import ActivationError
from symdlt.kernels.generator.python.code import (
    PieceCode,
    joint_function,
    pieces_code,
    single_function,
)
from symdlt.kernels.numpy_target.activations.domain import check_domain, compiled, nodes
from symdlt.kernels.numpy_target.activations.error_function import error_function_source

Array = NDArray[np.float64]
# Farther out a difference of infinities may stand, of functions that grow beyond all floats.
WITHOUT_FAULT = 5.0
QUIET = '@np.errstate(over="ignore", invalid="ignore")\n'


@np.errstate(divide="warn", over="warn", invalid="warn", under="ignore")
def generated(what: Activation, derivatives: int) -> tuple[str, dict[str, Any]]:
    """The source of an activation and its derivatives, and what it defines.

    Raises:
        ActivationError: if a trial on a grid shows that it is not finite on the real line, or if it
            is not to be differentiated that often.
    """
    parts = pieces_code(what, derivatives)
    for part in parts:
        check_domain(part)
    source = _module(parts, derivatives, "")
    namespace = compiled(source)
    z = nodes([part.end for part in parts[:-1]])
    if _overflows(namespace["activation"], z, derivatives + 1):
        source = _module(parts, derivatives, QUIET)
        namespace = compiled(source)
    values = np.array(namespace["activation"](z, derivatives + 1))
    undefined = np.isnan(values).any(axis=0) & (np.abs(z) < WITHOUT_FAULT)
    if undefined.any():
        raise ActivationError(
            f"The activation or a derivative cannot be evaluated at z = {z[undefined][0]:.6g}. "
            "It is not finite there, or the difference of very large numbers. Rewrite it."
        )
    return source, namespace


def _overflows(function: Callable[[Array, int], tuple[Array, ...]], z: Array, count: int) -> bool:
    try:
        with np.errstate(all="raise", under="ignore"):
            function(z, count)
    except FloatingPointError:
        return True
    return False


def _module(parts: list[PieceCode], derivatives: int, decorator: str) -> str:
    functions = [decorator + single_function(parts, order) for order in range(derivatives + 1)]
    functions.append(decorator + joint_function(parts, derivatives + 1))
    text = "\n\n".join(functions)
    return f"{error_function_source()}\n\n{text}" if "erf" in text else text
