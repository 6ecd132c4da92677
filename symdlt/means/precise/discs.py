r"""Bounds of a function on discs of the complex plane, read from its text by disc arithmetic.

A disc is a centre c and a radius r. An operation on discs gives one that contains all its values;
where none is known, as about a pole, its radius is infinite. Gauss's rule on a segment inside a
disc on which a function varies by little has an error that is known beforehand (N. J. Higham and
others call this circular arithmetic; the bound of the rule is in L. N. Trefethen, SIAM Review 50,
2008, theorem 4.5).
"""

from __future__ import annotations

from collections.abc import Callable
from math import e, erf, erfc, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.floating]
Numbers = NDArray[np.complexfloating | np.floating]
OfArrays = Callable[[Numbers], Numbers]
OfDiscs = Callable[["Discs"], "Discs"]


class Discs:
    """An array of discs, with the operations of numbers.

    Attributes:
        centre: complex numbers.
        radius: not negative, perhaps infinite.
        exponent: v if this is 1 + exp(v), which has zeros and nevertheless a smooth logarithm and
            a smooth inverse wherever v is far to the left or to the right.
    """

    __slots__ = ("centre", "exponent", "inner", "radius")

    def __init__(self, centre: Numbers, radius: Reals) -> None:
        unknown = ~(np.isfinite(centre) & np.isfinite(radius))
        self.centre = np.where(unknown, 0, centre)
        self.radius = np.where(unknown, np.inf, radius)
        self.inner: Discs | None = None
        self.exponent: Discs | None = None

    @property
    def size(self) -> Reals:
        """The largest absolute value."""
        return abs(self.centre) + self.radius

    def __add__(self, other: Discs | float) -> Discs:
        if not isinstance(other, Discs):
            total = Discs(self.centre + other, self.radius)
            total.exponent = self.inner if other == 1 else None
            return total
        return Discs(self.centre + other.centre, self.radius + other.radius)

    def __neg__(self) -> Discs:
        return Discs(-self.centre, self.radius)

    def __sub__(self, other: Discs | float) -> Discs:
        return self + (-other)

    def __rsub__(self, other: Discs | float) -> Discs:
        return -self + other

    def __mul__(self, other: Discs | float) -> Any:  # discs, or the number 0
        if not isinstance(other, Discs):
            return Discs(self.centre * other, self.radius * abs(other)) if other else 0
        spread = abs(self.centre) * other.radius + self.radius * other.size
        return Discs(self.centre * other.centre, spread)

    def inverse(self) -> Discs:
        """One over each number."""
        if self.exponent is not None:
            return _sigmoid(-self.exponent)
        distance = abs(self.centre)
        room = np.where(self.radius < distance, distance - self.radius, 0)
        return Discs(1 / self.centre, self.radius / (distance * room))

    def __truediv__(self, other: Discs | float) -> Any:
        return self * (other.inverse() if isinstance(other, Discs) else 1 / other)

    def __rtruediv__(self, other: float) -> Any:
        return self.inverse() * other

    def __pow__(self, exponent: float) -> Discs:
        distance = abs(self.centre)
        if exponent == int(exponent) and exponent >= 0:
            spread = (distance + self.radius) ** exponent - distance**exponent
            return Discs(self.centre ** int(exponent), spread)
        share = np.where(self.radius < distance, self.radius / distance, 1)
        cut = np.where(self.centre.real <= 0, np.inf, 0) if exponent != int(exponent) else 0
        spread = distance**exponent * ((1 - share) ** -abs(exponent) - 1) + cut
        return Discs(self.centre**exponent, spread)

    __radd__, __rmul__ = __add__, __mul__


def _waves(first: OfArrays, second: OfArrays) -> OfDiscs:
    """Sin, cos, sinh or cosh by its addition theorem, with |cos w - 1| <= cosh|w| - 1."""

    def function(u: Discs) -> Discs:
        a, b = first(u.centre), second(u.centre)
        return Discs(a, abs(a) * (np.cosh(u.radius) - 1) + abs(b) * np.sinh(u.radius))

    return function


def _exp(u: Discs) -> Discs:
    centre = np.exp(u.centre)
    rise = np.where(u.radius > 30, u.radius, np.log(np.expm1(np.minimum(u.radius, 30))))
    disc = Discs(centre, np.exp(u.centre.real + rise))
    disc.inner = u
    return disc


def _tanh(u: Discs) -> Discs:
    """By its addition theorem with |tanh w| <= tan|w|, or as ±1 far from the imaginary axis."""
    centre = np.tanh(u.centre)
    turn = np.tan(np.minimum(u.radius, 1.5))
    room = np.where(u.radius < 1.5, 1 - abs(centre) * turn, 0)
    slope = abs(1 - centre**2)
    near = np.where(room > 0, turn * slope / np.where(room > 0, room, 1), np.inf)
    away = abs(u.centre.real) - u.radius
    tail = 2 * np.exp(-2 * np.maximum(away, 0)) / -np.expm1(-2 * np.maximum(away, 1e-3))
    far = np.where(away > 1e-3, tail, np.inf)
    return Discs(np.where(far < near, np.sign(u.centre.real), centre), np.minimum(near, far))


def _sigmoid(u: Discs) -> Discs:
    """A tail to the left that is small is bounded as such, since it can multiply large numbers."""
    disc = _tanh(u * 0.5) * 0.5 + 0.5
    right = u.centre.real + u.radius
    tail = np.exp(right) / -np.expm1(np.minimum(right, -1e-3))
    small = (right < -1e-3) & (tail < disc.radius)
    return Discs(np.where(small, 0, disc.centre), np.where(small, tail, disc.radius))


def _log(u: Discs) -> Discs:
    if u.exponent is not None:
        return _softplus(u.exponent)
    share = np.where(u.radius < abs(u.centre), u.radius / abs(u.centre), 1)
    cut = np.where(u.centre.real <= 0, np.inf, 0)
    return Discs(np.log(u.centre), cut - np.log1p(-share))


def _softplus(u: Discs) -> Discs:
    """The function log(1 + exp(u)), which is u + softplus(-u)."""
    right = u.centre.real > 0
    v = Discs(np.where(right, -u.centre, u.centre), u.radius)
    grown = np.exp(v.centre)
    slope = _sigmoid(v)
    spread = u.radius * slope.size
    return Discs(np.log1p(grown) + np.where(right, u.centre, 0), spread + right * u.radius)


def _bell_integral(sign: int) -> OfDiscs:
    """By the largest slope, of exp(-Re (c + w)^2) on the circle |w| = r, times the radius."""

    def function(u: Discs) -> Discs:
        x, y, r = abs(u.centre.real), abs(u.centre.imag), u.radius
        on_axis = np.where(x > 2 * r, -((x - r) ** 2), r**2 - x**2 / 2)
        exponent = np.where(y == 0, on_axis, (y + r) ** 2 - np.maximum(x - r, 0) ** 2)
        centre = (_erf if sign > 0 else _erfc)(u.centre.real)
        return Discs(centre + 0j, 1.13 * (r + y) * np.exp(exponent))

    return function


def _atan(u: Discs) -> Discs:
    room = [abs(u.centre - pole) - u.radius for pole in (1j, -1j)]
    clear = (room[0] > 0) & (room[1] > 0)
    return Discs(np.arctan(u.centre), np.where(clear, u.radius / (room[0] * room[1]), np.inf))


def _asinh(u: Discs) -> Discs:
    """By its slope, 1/sqrt((w - i)(w + i)), which is largest nearest to the branch points."""
    room = [abs(u.centre - point) - u.radius for point in (1j, -1j)]
    clear = (room[0] > 0) & (room[1] > 0)
    slope = np.sqrt(np.where(clear, room[0] * room[1], 1))
    return Discs(np.arcsinh(u.centre), np.where(clear, u.radius / slope, np.inf))


def _elementwise(function: Callable[[float], float]) -> OfArrays:
    vectorised = np.frompyfunc(function, 1, 1)
    return lambda z: np.asarray(vectorised(z), dtype=float)


_erf, _erfc = _elementwise(erf), _elementwise(erfc)


def _either(array: OfArrays, disc: OfDiscs) -> Callable[[Numbers | Discs], Numbers | Discs]:
    return lambda u: disc(u) if isinstance(u, Discs) else array(u)


class ArrayNumbers:
    """The functions of activations for arrays in floating point and for arrays of discs."""

    prec = 53
    mpf = float
    pi, e = pi, e
    asinh = staticmethod(_either(np.arcsinh, _asinh))
    atan = staticmethod(_either(np.arctan, _atan))
    cos = staticmethod(_either(np.cos, _waves(np.cos, np.sin)))
    cosh = staticmethod(_either(np.cosh, _waves(np.cosh, np.sinh)))
    erf = staticmethod(_either(_erf, _bell_integral(1)))
    erfc = staticmethod(_either(_erfc, _bell_integral(-1)))
    exp = staticmethod(_either(np.exp, _exp))
    fdot = staticmethod(lambda pairs: sum(first * second for first, second in pairs))
    log = staticmethod(_either(np.log, _log))
    sin = staticmethod(_either(np.sin, _waves(np.sin, np.cos)))
    sinh = staticmethod(_either(np.sinh, _waves(np.sinh, np.cosh)))
    sqrt = staticmethod(_either(np.sqrt, lambda u: u**0.5))
    tanh = staticmethod(_either(np.tanh, _tanh))


ARRAYS = ArrayNumbers()
