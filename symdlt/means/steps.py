"""Means of steps, delta functions and their relatives of two Gaussian variables, in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from symdlt.means.grids import Array

# Correlations beyond are one, up to a few roundings of a covariance and two variances.
TOUCHING = 1.0 - 4.0 * float(np.finfo(np.float64).eps)
# The density of a standard Gaussian at zero.
BELL = 1.0 / math.sqrt(2.0 * math.pi)
Moment = Callable[[int, int], Array]


def pairings(p: int, q: int, t: Array) -> Array | float:
    """E[x^p y^q] for standard x and y of correlation t, by Wick's theorem (L. Isserlis 1918)."""
    if p < 0 or q < 0 or (p + q) % 2:
        return 0.0
    if q == 0:
        return float(math.prod(range(p - 1, 0, -2)))
    total = (q - 1) * pairings(p, q - 2, t) if q > 1 else 0.0
    return total + p * t * pairings(p - 1, q - 1, t) if p else total


def step_moments(t: Array, s: Array, first: Array, second: Array) -> Moment:
    """<f_p(x) f_q(y)> for x, y of correlation t, s = sqrt(1 - t^2), from p, q >= -1.

    First and second are their standard deviations. f_{-1} is the positive part, f_0 the step, f_1
    the delta function, f_2 its derivative, …. Where s is zero, what is infinite is left out, so
    that Leibniz' rule holds.

    Means of two delta functions are derivatives of the density of (x, y) at zero: Wick's theorem
    with the inverse of the covariance, whose entries 1/(s x)^2, … are finite where s is small.
    Lower ones are the probability that both are positive (W. Sheppard) and its integrals over t
    by Price's theorem. All others come from Stein's lemma for y f_q(y) = (1 - q) f_{q-1}(y):
    <g(x) f_{q+1}(y)> <y y> = -<x y> <g'(x) f_q(y)> - (q - 1) <g(x) f_{q-1}(y)>.
    """
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=s > 0.0)

    @cache
    def moment(p: int, q: int) -> Array:
        low, high = min(p, q), max(p, q)
        x, y = (first, second) if p <= q else (second, first)
        if low >= 1:
            wick = 0.5 / math.pi * (-1.0) ** ((p + q - 2) // 2) * pairings(p - 1, q - 1, -t)
            delta: Array = wick * (inverse / first) ** (p - 1) * (inverse / second) ** (q - 1)
            return delta / first * (inverse / second)
        if high >= 2:
            below = moment(low + 1, high - 1) if p <= q else moment(high - 1, low + 1)
            value: Array = -(t * (x / y)) * below
            if high > 2:
                last = moment(low, high - 2) if p <= q else moment(high - 2, low)
                value = value - (high - 2) * (last / y / y)
            return value
        if high == 1:
            flat = np.full_like(t, 0.5 * BELL) if low == 0 else s * (x / (2.0 * math.pi))
            return flat / y
        if high == 0:
            return sheppard(t, s) if low == 0 else 0.5 * BELL * (1.0 + t) * x
        return (t * sheppard(t, s) + s / (2.0 * math.pi)) * x * y

    return moment


def sheppard(t: Array, s: Array) -> Array:
    """The probability that two variables of correlation t, s = sqrt(1 - t^2), are positive.

    W. F. Sheppard, Phil. Trans. A 192, 1899; an arc tangent, as an arc sine loses digits near 1.
    """
    return np.arctan2(t, s) / (2.0 * math.pi) + 0.25


def single_moment(q: int) -> float:
    """<f_q(x)> for one standard x."""
    if q == 0:
        return 0.5
    if q == -1:
        return BELL
    return BELL * (-1.0) ** ((q - 1) // 2) * math.prod(range(q - 2, 0, -2)) if q % 2 else 0.0
