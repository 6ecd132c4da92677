"""The error function as NumPy source, its coefficients from Chebyshev interpolation."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from symdlt.precision import mp as mpmath

# Interpolation at Chebyshev points, far out in 1/(y + pole) as by Schonfelder, Math. Comp. 32
# (1978) 1232. With these degrees the error is two units in the last place (measured).
CUT = 1
POLE = 3  # a convention; the degrees go with it
NEAR_DEGREE = 11  # in the square of the argument
FAR_DEGREE = 19  # in 1/(y + pole)
# The Vandermonde system of the interpolation loses about eight of these.
DIGITS = 40

_TEXT = '''\
ERF_NEAR = (
{near})
ERF_FAR = (
{far})


def polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    """A polynomial by Horner's rule, the highest coefficient first."""
    value = np.full(np.shape(x), coefficients[0])
    for coefficient in coefficients[1:]:
        value *= x
        value += coefficient
    return value


def erf_parts(x: Array, bell: Array) -> tuple[Array, Array, Array]:
    """The absolute value y of x, erf(x) for y < {cut}, erfc(y) for y > {cut}; bell is exp(-x*x)."""
    y = np.abs(x)
    square = np.minimum(y, {cut}.0) ** 2
    near = x * polynomial(square, ERF_NEAR)
    far = bell * polynomial({scale} / ({pole}.0 + np.maximum(y, {cut}.0)) - 1.0, ERF_FAR)
    return y, near, far


def erf(x: Array, bell: Array) -> Array:
    """The error function, from bell = exp(-x*x)."""
    y, near, far = erf_parts(x, bell)
    return np.where(y < {cut}.0, near, np.copysign(1.0 - far, x))


def erfc(x: Array, bell: Array) -> Array:
    """The complement 1 - erf(x), from bell = exp(-x*x), without loss of digits for large x."""
    y, near, far = erf_parts(x, bell)
    return np.where(y < {cut}.0, 1.0 - near, np.where(x < 0.0, 2.0 - far, far))
'''


@lru_cache(maxsize=1)
def error_function_source() -> str:
    """Source of erf(x, bell) and erfc(x, bell), which are given bell = exp(-x*x).

    Below the cut erf(x)/x is a polynomial in x^2, above it exp(y^2) erfc(y) one in 1/(pole + y).
    """
    with mpmath.workdps(DIGITS):
        near = _interpolated(_near, NEAR_DEGREE, 0, CUT**2)
        far = _interpolated(_far, FAR_DEGREE, -1, 1)
        scale = 2 * (POLE + CUT)
        return _TEXT.format(
            near=_lines(near), far=_lines(far), cut=CUT, pole=POLE, scale=f"{scale}.0"
        )


def _near(square: Any) -> Any:
    root = mpmath.sqrt(square)
    return mpmath.erf(root) / root


def _far(t: Any) -> Any:
    y = mpmath.mpf(2 * (POLE + CUT)) / (t + 1) - POLE
    return mpmath.exp(y**2) * mpmath.erfc(y)


def _interpolated(function: Callable[[Any], Any], degree: int, start: int, end: int) -> list[Any]:
    """The polynomial through the Chebyshev points, its highest coefficient first."""
    middle, half = mpmath.mpf(start + end) / 2, mpmath.mpf(end - start) / 2
    angles = [mpmath.pi * (2 * k + 1) / (2 * degree + 2) for k in range(degree + 1)]
    points = [middle + half * mpmath.cos(angle) for angle in angles]
    matrix = mpmath.matrix([[x**k for k in range(degree, -1, -1)] for x in points])
    return list(mpmath.lu_solve(matrix, mpmath.matrix([function(x) for x in points])))


def _lines(coefficients: list[Any]) -> str:
    return "".join(f"    {float(c)!r},\n" for c in coefficients)
