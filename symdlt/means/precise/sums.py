"""Gaussian means of one and two samples with means, by Gauss's rule on segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite, pi, sqrt

import numpy as np
import sympy as sp

from symdlt.activations.nodes import Node
from symdlt.activations.smooth_pieces import SmoothPiece, smooth
from symdlt.means.precise.gaussian import array_nodes, nodes
from symdlt.means.precise.segments import DOUBLE, MeanError, segments
from symdlt.precision import Precise, mp, number

# A variance within that of the one that a rule was laid for, whose bounds are floats.
NEAR = 1e-6
# Digits with which a sum that nearly cancels is done again, as multiples of those asked for.
ROUNDS = (1, 3, 8)
# Sums over some thousand nodes round away about four digits.
GUARD = 6
# Beyond so many standard deviations a Gaussian is less than rounding, 1e-17 of its largest value.
FAR = 9.0
# The least 1 - rho^2 of two samples: the work grows as one over its root, to ten seconds there.
LEAST_APART = 1e-8
# Numbers that are worked on at once.
TOGETHER = 1 << 20


def moved(node: Node, by: Node, scale: Node | None = None) -> Node:
    """The function f(scale z + by)."""
    if node.kind == "variable":
        return Node("add", (node if scale is None else Node("multiply", (scale, node)), by))
    return replace(node, children=tuple(moved(child, by, scale) for child in node.children))


def one_sample(node: Node, variance: sp.Expr, digits: int) -> Precise:
    """The mean of f(z) for z ~ N(0, K), K an exact number, to so many digits of its own.

    A mean below 10^-(7 digits) of that of |f| is zero.

    Raises:
        MeanError: if it diverges, or takes too many nodes.
        ActivationError: if f is not real and finite somewhere.
    """
    parts, lost = smooth(node), 0
    for times in ROUNDS:
        if (times - 1) * digits + 1 < lost:
            continue
        work = times * digits
        total, size = _summed(parts, variance, work)
        with mp.workdps(work + GUARD):
            lost = int(mp.log10(size / abs(total))) + 1 if total else work + GUARD
        if work - lost + 1 >= digits or not size:
            return total
    return mp.mpf(0)


def _summed(
    parts: Sequence[SmoothPiece], variance: sp.Expr, digits: int
) -> tuple[Precise, Precise]:
    """The mean of f and that of |f|.

    The rule for a product of two functions with half of the variance, and twice the digits, has
    the reach and the segments for one function: each factor has half of the Gaussian.
    """
    with mp.workdps(2 * digits + GUARD):
        K = number(variance)
        half = float(K) / 2
        laid = segments(parts, (half * (1 - NEAR), half * (1 + NEAR)), 2 * digits)
        z, lengths, values = nodes(laid, max(2 * digits, DOUBLE + 1))
        terms = [
            w * value[0] * mp.exp(-x * x / (2 * K))
            for x, w, value in zip(z, lengths, values, strict=True)
        ]
        norm = mp.sqrt(2 * mp.pi * K)
        return mp.fsum(terms) / norm, mp.fsum(terms, absolute=True) / norm


def two_samples(functions: tuple[Node, Node], K: tuple[float, float, float]) -> float:
    """The mean of f(z_1) g(z_2) for means of zero, to about 1e-13 of the functions' norms.

    Both rules are laid as finely as the one sample varies given the other; for each node of the
    first only nodes of the second are taken that are near enough to what is expected there.

    Args:
        functions: f and g.
        K: both variances, positive, and the covariance between them.

    Raises:
        MeanError: if it diverges, or takes too many nodes.
    """
    one, both, other = K
    apart = 1 - both / one * (both / other)
    if apart < LEAST_APART:
        raise MeanError(
            f"The correlation of the two samples is {both / sqrt(one * other):.15g}. So near to 1 "
            "or -1 the mean takes too many nodes. Give a covariance that is smaller, or one of "
            "exactly that correlation, as fractions."
        )
    rules = []
    for node, variance in zip(functions, (one, other), strict=True):
        parts = smooth(node)
        laid = segments(parts, (variance * apart, variance), DOUBLE)
        rules.append(array_nodes(parts, laid, DOUBLE))
    (x, u, f), (y, w, g) = rules
    order = np.argsort(y)
    y, heights = y[order], (w * g[0])[order]
    spread, slope = sqrt(other * apart), both / one
    bells = u * f[0] * np.exp(-(x**2) / (2 * one)) / sqrt(2 * pi * one)
    first = np.searchsorted(y, slope * x - FAR * spread)
    last = np.searchsorted(y, slope * x + FAR * spread)
    width = int(np.max(last - first, initial=1))
    total = 0.0
    rows = max(1, TOGETHER // width)
    with np.errstate(all="ignore"):
        for start in range(0, len(x), rows):
            part = slice(start, start + rows)
            places = first[part, None] + np.arange(width)
            inside = places < last[part, None]
            places = np.minimum(places, len(y) - 1)
            distance = (y[places] - slope * x[part, None]) / spread
            density = np.where(inside, np.exp(-(distance**2) / 2), 0.0) * heights[places]
            total += float(np.sum(bells[part] * density.sum(axis=1)))
    mean = total / (spread * sqrt(2 * pi))
    if isfinite(mean):
        return mean
    raise MeanError(
        "The Gaussian mean of two functions leaves the range of floating point. They grow too "
        "fast for the variances. Give smaller ones."
    )
