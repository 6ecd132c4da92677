r"""Gaussian means of two functions of two variables each, for many pairs of pairs at once.

A product of functions of two samples is a function in the plane. In standard variables it has
coefficients $f_{ab}$ of normalised Hermite polynomials, and as in Mehler's formula only those of
one degree meet,

$$⟨F G⟩ = \sum_d \sum_{a+b=d}\sum_{a'+b'=d} f_{ab}\,M^{(d)}_{ab,a'b'}\,g_{a'b'} ,$$

where M is the symmetric power of the 2×2 matrix R of correlations between both planes. As R is a
contraction, so is M, and by Schwarz's inequality all from degree d on is at most $s^d$, s the
largest singular value of R, times what both functions have there, which Parseval's sum tells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import KernelInputError
from symdlt.means.grids import (
    PROBES,
    Array,
    Function,
    Unrelated,
    choose_step,
    evaluate,
    probed_grid,
    whole_table,
)
from symdlt.means.triangle import Indices

# Of the larger eigenvalue of a covariance: a smaller one is rounding.
FLAT_PLANE = 1e-14
# Of the largest weight of a node: below, by more than roundings, it is left out.
SMALLEST_WEIGHT = 1e-18
# A step that `choose_step` finds is right to so many digits; of means some more are asked for than
# their tolerance has, by convention.
ALL_DIGITS, SPARE_DIGITS = 16.0, 3.0
# Coefficients up to degree (pi/h)^2/2 are told apart with a step h: 120.
COARSEST_PLANE = 0.2
# Numbers in one array of symmetric powers; 16 MB. For memory only.
POWERS_AT_ONCE = 1 << 21
# Of the tolerance, which is for the means as wholes; convention.
LEFT_BEYOND = 0.1
# The highest degree for two samples and for more, whose work is as its third power and as the
# square of the number of pairs; beyond, `SmoothMeans.between` is faster. Measured.
HIGHEST_DEGREE, SAMPLES_OF_HIGHEST = 40, 4
# With finer steps a plane has too many nodes, and functions that need them coefficients that fall
# slowly. Measured.
FINEST_PLANE = 0.06
# Coefficients in the plane that are kept; 256 MB. For memory only.
MOST_COEFFICIENTS = 1 << 25


class Planes(NamedTuple):
    """Functions of all pairs of samples with numbers i <= j, at some depths.

    Attributes:
        inverse: what makes standard variables of two samples: (depth, pair, 2, 2).
        levels: the coefficients of each degree: (depth, pair, function, index).
        tails: of norms, what is beyond each degree: (depth, pair, degree), of all functions the
            largest.
    """

    inverse: Array
    levels: list[Array]
    tails: Array

    def at(self, depths: Indices) -> Planes:
        """Those of some depths."""
        return Planes(
            self.inverse[depths], [level[depths] for level in self.levels], self.tails[depths]
        )

    def of(self, functions: Sequence[int]) -> Planes:
        """Those of some functions."""
        return self._replace(levels=[level[:, :, functions] for level in self.levels])


def planes(
    functions: Sequence[Function],
    products: Sequence[tuple[int, int]],
    K: Array,
    highest: int,
    tolerance: float,
) -> Planes:
    """The coefficients of products of two functions, the first at sample i, the other at j.

    Args:
        functions: a smooth function and its derivatives.
        products: by their numbers.
        K: covariances, of shape (depth, N, N).
        highest: the degree of the last coefficients.
        tolerance: of means.
    """
    rows, columns = pairs_of(K.shape[-1])
    both = np.stack([rows, columns], axis=-1)
    covariances = K[:, both[:, :, None], both[:, None, :]]
    sizes, axes = np.linalg.eigh(covariances)
    sizes = np.where(sizes > FLAT_PLANE * sizes[..., -1:], sizes, 0.0)
    roots = np.sqrt(sizes)
    loads = axes * roots[..., None, :]
    inverse = np.swapaxes(
        axes * np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0.0)[..., None, :],
        -1,
        -2,
    )
    step = plane_step(functions, float(sizes.max()), tolerance)
    table = whole_table(step, highest + 1)[len(PROBES) :, : -len(PROBES)]
    nodes, weights, _ = (part[: -len(PROBES)] for part in probed_grid(step))
    near = weights > SMALLEST_WEIGHT * weights.max()
    table, nodes, weights = table[:, near], nodes[near], weights[near]
    levels = [
        np.empty((*covariances.shape[:2], len(products), degree + 1))
        for degree in range(highest + 1)
    ]
    tails = np.empty((*covariances.shape[:2], highest + 1))
    for depth, pair in np.ndindex(covariances.shape[:2]):
        x, y = (load[0] * nodes[:, None] + load[1] * nodes[None, :] for load in loads[depth, pair])
        left = {k: evaluate(functions[k], k, x) for k in {a for a, _ in products}}
        right = {k: evaluate(functions[k], k, y) for k in {b for _, b in products}}
        values = np.array([left[a] * right[b] for a, b in products])
        squares = values**2 @ weights @ weights
        coefficients = table @ values @ table.T
        left_out = squares.copy()
        scale = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0.0)
        for degree, level in enumerate(levels):
            index = np.arange(degree + 1)
            level[depth, pair] = coefficients[:, degree - index, index]
            left_out -= (level[depth, pair] ** 2).sum(axis=-1)
            tails[depth, pair, degree] = math.sqrt(max(0.0, float((left_out * scale).max())))
    return Planes(inverse, levels, tails)


def few_planes(
    functions: Sequence[Function], products: Sequence[tuple[int, int]], K: Array, tolerance: float
) -> Planes | None:
    """The planes of functions none of which is the derivative of another, if they pay.

    Args:
        functions: those, smooth.
        products: by their numbers.
        K: covariances, of shape (depth, N, N).
        tolerance: of means.
    """
    samples, alone = K.shape[-1], [Unrelated(function) for function in functions]
    most = round(HIGHEST_DEGREE * min(1.0, SAMPLES_OF_HIGHEST / samples) ** (4 / 3))
    if len(K) * len(products) * (samples * most) ** 2 > 4 * MOST_COEFFICIENTS:
        return None
    try:
        if plane_step(alone, largest_along(K), tolerance) < FINEST_PLANE:
            return None
        return planes(alone, products, K, most, tolerance)
    except KernelInputError:  # functions that grow or oscillate too fast for one grid
        return None


def largest_along(K: Array) -> float:
    """A bound of the variance of two samples along one axis, the sum of both."""
    return 2.0 * float(K.max(initial=0.0))


def plane_step(functions: Sequence[Function], variance: float, tolerance: float) -> float:
    """The step along both axes of a plane, for squares of products of two functions.

    Errors of a step h are exp(-c/h): where not all digits are asked for, it is so much larger.

    Args:
        functions: a smooth function and its derivatives.
        variance: the largest of two samples along one axis.
        tolerance: of means.
    """
    digits = min(ALL_DIGITS, SPARE_DIGITS - math.log10(tolerance))
    step = choose_step(functions, variance, 2 * 2) * ALL_DIGITS / digits
    return min(step, COARSEST_PLANE)


def pairs_of(count: int) -> tuple[Indices, Indices]:
    """The samples of all pairs, the lower number first."""
    pairs = np.array([*combinations_with_replacement(range(count), 2)], dtype=np.intp)
    return pairs[:, 0], pairs[:, 1]


def plane_means(
    here: Planes, there: Planes, joint: Array, tolerance: float
) -> tuple[Array, NDArray[np.bool_]]:
    """The means of all functions of pairs at one depth with all those of pairs at others.

    Args:
        here: of one depth.
        there: of M depths.
        joint: covariances of the samples of the one and those of the others, of shape (M, N, N).
        tolerance: errors in units of the norms of both functions.

    Returns:
        The means, of shape (M, pair, other pair, function, other function), and for each of the M
        depths whether they are right to the tolerance.
    """
    rows, columns = pairs_of(joint.shape[-1])
    both = np.stack([rows, columns], axis=-1)
    between = joint[:, both[:, None, :, None], both[None, :, None, :]]
    R = here.inverse[0][:, None] @ between @ np.swapaxes(there.inverse, -1, -2)[:, None]
    largest = np.minimum(np.linalg.svd(R, compute_uv=False)[..., 0], 1.0)
    count, pairs = len(joint), len(rows)
    shape = (count, pairs, pairs, here.levels[0].shape[2], there.levels[0].shape[2])
    means = np.zeros(shape)
    highest = len(here.levels) - 1
    able = _left(here, there, largest, highest) <= LEFT_BEYOND * tolerance
    many = max(1, POWERS_AT_ONCE // (pairs * (highest + 1)) ** 2)
    for start in range(0, count, many):
        some = np.arange(start, min(start + many, count))
        some = some[able[some]]
        power = np.ones((len(some), pairs, pairs, 1, 1))
        for degree, level in enumerate(here.levels):
            power = _next_power(power, R[some], degree) if degree else power
            others = np.swapaxes(there.levels[degree][some], -1, -2)[:, None]
            means[some] += level[0][:, None] @ (power @ others)
            more = _left(here, there.at(some), largest[some], degree) > LEFT_BEYOND * tolerance
            some, power = some[more], power[more]
            if not some.size:
                break
    return means, able


def by_samples(
    means: Array,
    lefts: Sequence[tuple[object, ...]],
    rights: Sequence[tuple[object, ...]],
    left: tuple[object, ...],
    right: tuple[object, ...],
) -> Array:
    """Means with an axis for each sample, from those of pairs of samples i <= j.

    Args:
        means: whose last axes are pair, other pair, function and other function.
        lefts: the two factors of each of these functions, and
        rights: of the others.
        left: the factors that are wanted, at the first two samples,
        right: and at the other two.
    """
    samples = int((2 * means.shape[-4]) ** 0.5)
    i, j = pairs_of(samples)
    pair = np.zeros((samples, samples), dtype=np.intp)
    pair[i, j] = pair[j, i] = np.arange(len(i))
    turned = np.arange(samples)[:, None] > np.arange(samples)
    kinds = [
        np.where(turned, listed.index(side[::-1]), listed.index(side))
        for side, listed in ((left, lefts), (right, rights))
    ]
    table: Array = means[
        ...,
        pair[:, :, None, None],
        pair[None, None],
        kinds[0][:, :, None, None],
        kinds[1][None, None],
    ]
    return table


def _left(here: Planes, there: Planes, largest: Array, degree: int) -> Array:
    """What is beyond a degree at most, in units of the norms, at each of the other depths."""
    tails = here.tails[0, :, None, degree] * there.tails[:, None, :, degree]
    bounds: Array = (largest ** (degree + 1) * tails).max(axis=(1, 2))
    return bounds


def _next_power(power: Array, R: Array, degree: int) -> Array:
    """The symmetric power of the next degree.

    A leg of the right side, any of all, meets one of the left: so each step is a contraction.
    """
    index = np.arange(degree + 1)
    first, second = np.sqrt(degree - index), np.sqrt(index)
    roots = [first[:-1], second[1:]]
    raised = np.zeros((*power.shape[:-2], degree + 1, degree + 1))
    places = [slice(None, -1), slice(1, None)]
    for i in (0, 1):
        for j in (0, 1):
            factor = np.outer(roots[i], roots[j]) / degree
            raised[..., places[i], places[j]] += R[..., i, j, None, None] * factor * power
    return raised
