"""Means of sums of sines, cosines, and hyperbolic sines and cosines of several scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from symdlt.means.gaps import square_of_sum
from symdlt.means.grids import Array
from symdlt.means.spectra import Tasks

WaveRow = Sequence[float]

# Up to it rounding of the exponent is below 2e-14.
EXACT = 64.0


class Wave(NamedTuple):
    """Odd sin(scale z) + even cos(scale z) with sign -1, with sign 1 the same of sinh and cosh."""

    sign: int
    scale: float
    odd: float
    even: float

    def derivative(self, order: int) -> Wave:
        """Its derivative of some order."""
        odd, even = self.odd, self.even
        for _ in range(order):
            odd, even = self.sign * even, odd
        unit = float(np.float64(self.scale) ** order)
        return Wave(self.sign, self.scale, unit * odd, unit * even)

    def mean(self, variances: Array, rest: bool) -> Array:
        """<cos(scale z)> or that of cosh, or what it is more than 1."""
        exponent = 0.5 * self.sign * (self.scale * np.sqrt(variances)) ** 2
        grown: Array = np.expm1(exponent) if rest else np.exp(exponent)
        return grown


def waves(circular: Iterable[WaveRow], hyperbolic: Iterable[WaveRow]) -> list[Wave]:
    """All of a sum, from rows of scale, odd and even."""
    return [Wave(sign, *row) for sign, rows in ((-1, circular), (1, hyperbolic)) for row in rows]


def wave_means(
    c: Array, one: Array, two: Array, orders: Tasks, terms: Sequence[Wave]
) -> list[Array]:
    """Means for the sum of all terms, each less its value at zero."""
    totals = [np.zeros_like(c) for _ in orders]
    for first, second in product(terms, terms):
        pair = WavePair(c, one, two, first, second)
        for total, (a, b) in zip(totals, orders, strict=True):
            f, g = first.derivative(a), second.derivative(b)
            if f.odd * g.odd:
                total += (f.odd * g.odd) * pair.odd
            if f.even * g.even:
                total += (f.even * g.even) * pair.even(a == 0, b == 0)
    return totals


class WavePair:
    """Means of sin(k x) sin(n y) and cos(k x) cos(n y), or of sinh and cosh, for two scales k, n.

    From <exp(i k x + i n y)> = exp(-<(k x + n y)^2>/2), and the same without i: both means are
    exp(-(k^2 <x x> + n^2 <y y>)/2) times sinh(k n <x y>) and cosh(k n <x y>). What is large
    cancels in the exponent before it is rounded; cosh - 1 is a square.
    """

    def __init__(self, c: Array, one: Array, two: Array, first: Wave, second: Wave) -> None:
        self.first, self.second, self.one, self.two = first, second, one, two
        self.turn = (first.scale * second.scale) * c
        self.mixed = first.sign != second.sign
        if self.mixed:
            self.size = first.mean(one, False) * second.mean(two, False)
        else:
            self.size = 0.5 * grown(c, one, two, first, second)
            self.less = np.expm1(-2.0 * np.abs(self.turn))

    @property
    def odd(self) -> Array:
        """That of both sines."""
        if self.mixed:
            return self.size * np.sin(self.turn)
        return self.size * np.copysign(self.less, self.turn)

    def even(self, ours: bool, theirs: bool) -> Array:
        """That of both cosines, of ours or theirs less 1."""
        if not (ours or theirs):
            return self.size * (np.cos(self.turn) if self.mixed else 2.0 + self.less)
        if self.mixed:
            rest = -2.0 * np.sin(0.5 * self.turn) ** 2
        else:
            rest = np.expm1(-np.abs(self.turn)) ** 2
        apart = self.first.mean(self.one, ours) * self.second.mean(self.two, theirs)
        return apart + self.size * rest


def grown(c: Array, one: Array, two: Array, first: Wave, second: Wave) -> Array:
    """exp(±(k^2 one + n^2 two)/2 + |k n c|) for two scales k, n of the same sign ±."""
    k, n, sign = first.scale, second.scale, first.sign
    if max(one.max() * k * k, two.max() * n * n) <= EXACT:
        cross = (sign * abs(k * n)) * np.abs(c)
        product: Array = np.exp((0.5 * sign) * ((k * k * one + cross) + (n * n * two + cross)))
        return product
    high, low = square_of_sum(k, n, float(sign), c, one, two)
    return np.exp(0.5 * sign * high) * (1.0 + 0.5 * sign * low)


def wave_single(order: int, variances: Array, terms: Sequence[Wave]) -> Array:
    """<f^(order)> at single samples, of f less its value at zero."""
    total = np.zeros_like(variances)
    for term in terms:
        total += term.derivative(order).even * term.mean(variances, order == 0)
    return total
