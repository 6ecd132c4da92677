"""Whether an activation is finite where it is used: denominators, roots and logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from symdlt.errors import ActivationError
from symdlt.kernels.generator.python.calculus import Definition
from symdlt.kernels.generator.python.code import PieceCode, guard_function
from symdlt.kernels.numpy_target.activations.error_function import error_function_source

Array = NDArray[np.float64]
# Activations are tried up to 1000 in size, every 0.01 where means have their weight.
FARTHEST = 1e3
NEAR = np.arange(-3000.0, 3001.0) / 100.0  # 30 standard deviations of unit variance
FAR = np.geomspace(30.0, FARTHEST, 200)
# A minimum so far below its neighbours on the grid is taken for a double zero.
NEGLIGIBLE = 1e-12
# Roots of polynomials are isolated to six digits, which is what messages show.
WIDTH = sp.Rational(1, 10**7)


def compiled(source: str) -> dict[str, Any]:
    """What the source of an activation defines, run with nothing but NumPy at hand.

    Annotations are not evaluated, as in this module.
    """
    namespace: dict[str, Any] = {"np": np, "__builtins__": {}}
    exec(compile(source, "<activation>", "exec"), namespace)
    return namespace


def nodes(breaks: Sequence[float] = (), start: float = -np.inf, end: float = np.inf) -> Array:
    """Points of an interval on which an activation is tried, up to 1000 in size."""
    offsets = np.array([0.0, -1e-9, 1e-9])
    around = (np.asarray(breaks)[:, None] + offsets).ravel()
    finite = [x for x in (start, end) if np.isfinite(x)]
    points = np.unique(np.concatenate([-FAR, NEAR, FAR, around, finite]))
    return points[(points >= start) & (points <= end)]


def check_domain(part: PieceCode) -> None:
    """Refuse a piece in which a denominator vanishes or a root or logarithm has no real value.

    Polynomials in z are decided exactly, all else on a grid whose minima are refined.

    Raises:
        ActivationError: with the point.
    """
    guarded = [d for d in part.derivatives.definitions if d.guard]
    if not guarded:
        return
    evaluate = compiled(error_function_source() + "\n\n" + guard_function(part))["guards"]
    for place, definition in enumerate(guarded):

        def values(z: Array, place: int = place) -> Array:
            with np.errstate(all="ignore"):
                return np.broadcast_to(evaluate(z)[place], z.shape)

        point = _exact_root(part, definition)
        if point is None:
            point = _fault(values, nodes((), part.start, part.end), definition.guard)
        if point is not None:
            raise ActivationError(
                f"The activation or a derivative cannot be evaluated at z = {point:.6g}. "
                "A denominator vanishes there or is very small, or a root or logarithm is taken of "
                "a number that is not positive. Give a function that is finite and smooth."
            )


def _exact_root(part: PieceCode, definition: Definition) -> float | None:
    """A point where a polynomial in z vanishes in the interval of its piece."""
    variable = part.derivatives.variable
    argument = definition.arguments[0]
    if not all(names in ((), ((variable, dict(names).get(variable)),)) for names in argument):
        return None
    terms = {dict(key).get(variable, 0): sp.Rational(c) for key, c in argument.items()}
    polynomial = sp.Poly.from_dict(terms or {0: sp.Integer(0)}, sp.Symbol("z"))
    if polynomial.degree() < 1:
        return None
    ends = [sp.Rational(x) if np.isfinite(x) else None for x in (part.start, part.end)]
    intervals = polynomial.intervals(eps=WIDTH, inf=ends[0], sup=ends[1])
    return float(sum(intervals[0][0]) / 2) if intervals else None


def _fault(values: Callable[[Array], Array], z: Array, guard: str) -> float | None:
    """A point at which the values are not positive, or change sign or touch zero."""
    guarded = values(z)
    middle = guarded[np.argmin(np.abs(z))]
    sign = math.copysign(1.0, middle) if guard == "not zero" else 1.0
    wrong = ~(sign * guarded > 0.0)
    if wrong.any():
        return _nearest(z[wrong])
    sizes = np.abs(guarded)
    middle = np.flatnonzero((sizes[1:-1] <= sizes[:-2]) & (sizes[1:-1] <= sizes[2:])) + 1
    lowest, least = _refined(values, z[middle - 1], z[middle + 1])
    touching = least < NEGLIGIBLE * sizes[middle - 1]
    return _nearest(lowest[touching]) if touching.any() else None


def _nearest(points: Array) -> float:
    """The point next to zero, which explains more than the first."""
    return float(points[np.argmin(np.abs(points))])


def _refined(values: Callable[[Array], Array], left: Array, right: Array) -> tuple[Array, Array]:
    """The minima of the absolute value within intervals, by thirds."""
    for _ in range(80):
        third = (right - left) / 3.0
        first, second = left + third, right - third
        lower = np.abs(values(first)) < np.abs(values(second))
        left, right = np.where(lower, left, first), np.where(lower, second, right)
    lowest = 0.5 * (left + right)
    return lowest, np.abs(values(lowest))
