"""Means of steps, delta functions and their relatives of two Gaussian variables, in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from symdlt.means._grids import Array

TOUCHING = 1.0 - 4.0 * float(np.finfo(np.float64).eps)
BELL = 1.0 / math.sqrt(2.0 * math.pi)
Moment = Callable[[int, int], Array]


def pairings(p: int, q: int, t: Array) -> Array | float:
    """E[x^p y^q] for standard x and y of correlation t."""
    if p < 0 or q < 0 or (p + q) % 2:
        return 0.0
    if q == 0:
        return float(math.prod(range(p - 1, 0, -2)))
    total = (q - 1) * pairings(p, q - 2, t) if q > 1 else 0.0
    return total + p * t * pairings(p - 1, q - 1, t) if p else total


def step_moments(t: Array, s: Array) -> Moment:
    """<f_p(x) f_q(y)> for standard x, y of correlation t, s = sqrt(1 - t^2), from p, q >= -1.

    f_{-1} is the positive part, f_0 the step, f_1 the delta function, f_2 its derivative, …. Where
    s is zero, what is infinite is left out, so that Leibniz' rule holds.
    """
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=s > 0.0)

    @cache
    def moment(p: int, q: int) -> Array:
        if p > q:
            return moment(q, p)
        if p == q == 0:
            step: Array = np.arcsin(t) / (2.0 * math.pi) + 0.25
            return step
        if p >= 1:
            wick = 0.5 / math.pi * (-1.0) ** ((p + q - 2) // 2) * pairings(p - 1, q - 1, -t)
            delta: Array = wick * inverse ** (p + q - 1)
            return delta
        if p == 0:
            if q == 1:
                return np.full_like(t, 0.5 * BELL)
            return -(t * moment(1, q - 1) + ((q - 2) * moment(0, q - 2) if q > 2 else 0.0))
        if q == -1:
            return t * moment(0, 0) + s / (2.0 * math.pi)
        return t * moment(0, q + 1) + moment(1, q)

    return moment


def single_moment(q: int) -> float:
    """<f_q(x)> for one standard x."""
    if q == 0:
        return 0.5
    if q == -1:
        return BELL
    return BELL * (-1.0) ** ((q - 1) // 2) * math.prod(range(q - 2, 0, -2)) if q % 2 else 0.0
