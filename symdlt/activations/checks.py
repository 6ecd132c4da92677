"""The activation that users pass to the sampler: functions that must be derivatives in order."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from reprlib import repr as short_repr
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from symdlt.errors import ActivationError

Array = npt.NDArray[Any]
Function: TypeAlias = Callable[[Array], Array]
Activation: TypeAlias = Sequence[Function]

# Sixty points that repeat no distance and lie on no round number, where kinks would be.
GRID: Array = 3.0 * np.sin(np.arange(1.0, 61.0)).reshape(3, 4, 5)
PRECISIONS = tuple(float(np.finfo(kind).eps) for kind in (np.float64, np.float32))
# Far above the error of central differences, far below that of a wrong derivative.
AGREEMENT = 1e-3
# Six of the sixty points may lie at kinks or jumps.
MOST_KINKED = 0.1


def check_activation(activation: Activation, order: int) -> tuple[Function, ...]:
    """Return the functions, or raise an `ActivationError`.

    They must be callables that act on each element, with derivatives up to `order`, each the
    derivative of the one before. That is judged by central differences at 60 points, with steps
    for functions of double and of single precision; the few points that lie on a kink or a jump,
    or too near to a steep piece, do not count.
    """
    functions = tuple(activation) if isinstance(activation, Iterable) else (activation,)
    for number, function in enumerate(functions):
        if not callable(function):
            raise ActivationError(
                f"Function {number} of the activation, {short_repr(function)}, cannot be called. "
                f"It was given in `activation`, σ first and then its derivatives in order. "
                f"Try a tuple of functions such as (np.sin, np.cos)."
            )
    if len(functions) <= order:
        raise ActivationError(
            f"An activation with {max(len(functions) - 1, 0)} derivatives is not enough for "
            f"observables that need {order}. "
            f"It was given as `activation`, σ first and then its derivatives in order. "
            f"Try to append callables up to σ^({order}), or ask for smaller observables."
        )
    with np.errstate(all="ignore"):
        for number, function in enumerate(functions):
            _check_elementwise(function, number)
        for number, (below, above) in enumerate(pairwise(functions)):
            _check_derivative(below, above, number)
    return functions


def _check_elementwise(function: Function, number: int) -> None:
    try:
        problem = _elementwise_problem(function)
    except Exception as reason:
        problem = f"fails with {type(reason).__name__}: {str(reason)[:100]}"
    if problem:
        raise ActivationError(
            f"Function {number} of the activation {problem}. "
            f"It was called with float64 of shape {GRID.shape}, values from -3 to 3. "
            f"Try functions such as np.tanh, which act on each element of an array of reals."
        )


def _elementwise_problem(function: Function) -> str:
    z, corner = GRID.copy(), (slice(1), slice(2))
    returned = function(z)
    if isinstance(returned, np.ma.MaskedArray):
        return "returns a masked array"
    value = np.asarray(returned)
    if value.shape not in ((), GRID.shape) or value.dtype.kind not in "fiub":
        return f"returns {value.dtype} of shape {value.shape}"
    if not np.array_equal(z, GRID):
        return "changes its argument"
    if not np.isfinite(value).all():
        return "is not finite everywhere"
    part = np.broadcast_to(np.asarray(function(GRID[corner].copy())), GRID[corner].shape)
    if not np.allclose(np.broadcast_to(value, GRID.shape)[corner], part, rtol=1e-5):
        return "does not act on each element alone"
    return ""


def _check_derivative(below: Function, above: Function, number: int) -> None:
    given = np.broadcast_to(np.asarray(above(GRID.copy()), dtype=float), GRID.shape)
    wrong = np.full(GRID.shape, True)
    for precision in PRECISIONS:
        step = float(np.cbrt(precision))
        upper, lower = (np.asarray(below(GRID + h), dtype=float) for h in (step, -step))
        slope = np.broadcast_to((upper - lower) / (2 * step), GRID.shape)
        noise = 4 * precision * np.abs(upper).max() / step
        wrong &= ~(np.abs(slope - given) <= AGREEMENT * (np.abs(slope) + np.abs(given)) + noise)
    if wrong.mean() > MOST_KINKED:
        place = np.unravel_index(int(np.argmax(wrong)), GRID.shape)
        raise ActivationError(
            f"Function {number + 1} of the activation is not the derivative of function {number}. "
            f"At z = {GRID[place]:.3g} it is {given[place]:.3g}, and a finite difference gives "
            f"{slope[place]:.3g}. "
            f"Try σ, σ', σ'', … in order."
        )
