"""Means of sums of sines, cosines, and hyperbolic sines and cosines of several scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from symdlt.means._gaps import square_of_sum
from symdlt.means._grids import Array
from symdlt.means._spectra import Tasks

Row = Sequence[float]


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


def waves(circular: Iterable[Row], hyperbolic: Iterable[Row]) -> list[Wave]:
    """All of a sum, from rows of scale, odd and even."""
    return [Wave(sign, *row) for sign, rows in ((-1, circular), (1, hyperbolic)) for row in rows]


def wave_means(
    c: Array, one: Array, two: Array, orders: Tasks, terms: Sequence[Wave]
) -> list[Array]:
    """Means of all pairs of terms."""
    found = [np.zeros_like(c) for _ in orders]
    for first, second in product(terms, terms):
        odd, even = wave_pair(c, one, two, first, second)
        for total, (a, b) in zip(found, orders, strict=True):
            f, g = first.derivative(a), second.derivative(b)
            total += (f.odd * g.odd) * odd + (f.even * g.even) * even
    return found


def wave_pair(c: Array, one: Array, two: Array, first: Wave, second: Wave) -> tuple[Array, Array]:
    """<sin(k x) sin(n y)> and <cos(k x) cos(n y)>, or of sinh and cosh, for two scales k and n.

    From <exp(i k x + i n y)> = exp(-<(k x + n y)^2>/2), and the same without i: both means are
    exp(-(k^2 <x x> + n^2 <y y>)/2) times sinh(k n <x y>) and cosh(k n <x y>). What is large
    cancels in the exponent before it is rounded.
    """
    k, n = first.scale, second.scale
    turn = k * n * c
    if first.sign != second.sign:
        half = 0.5 * np.array([k * np.sqrt(one), n * np.sqrt(two)]) ** 2
        size = np.exp(first.sign * half[0] + second.sign * half[1])
        return size * np.sin(turn), size * np.cos(turn)
    high, low = square_of_sum(k, n, float(first.sign), c, one, two)
    size = np.exp(0.5 * first.sign * high) * (0.5 + 0.25 * first.sign * low)
    less = np.expm1(-2.0 * np.abs(turn))
    return np.copysign(size, turn) * -less, size * (2.0 + less)


def wave_single(order: int, variances: Array, terms: Sequence[Wave]) -> Array:
    """<f^(order)> at single samples."""
    total = np.zeros_like(variances)
    for term in terms:
        even = term.derivative(order).even
        total += even * np.exp(0.5 * term.sign * term.scale**2 * variances)
    return total
