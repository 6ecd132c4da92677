"""Gaussian means over all quadruples of samples for activations like relu."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement

import numpy as np

from symdlt.means.correlations import correlations
from symdlt.means.grids import Array, KernelInputError
from symdlt.means.lines import lowest_eigenvalue
from symdlt.means.orthants import Truncated, choices
from symdlt.means.steps import BELL, TOUCHING
from symdlt.means.triangle import Indices

# The lowest eigenvalue below which samples nearly depend on each other. Convention: RIDGE, which
# is added to it, is a small part of what is above.
DEPENDENT = 1e-6
# Added to variances: above what rounding makes of eigenvalues, in longer floats or in doubles.
RIDGE = 1e-13 if np.finfo(np.longdouble).eps < 1e-18 else 3e-12


def relu_quadruple_means(
    K: Array, orders: Sequence[int], left: float = 0.0, right: float = 1.0
) -> Array:
    """<f_a(z_i) f_b(z_j) f_c(z_k) f_d(z_l)> for z ~ N(0, K) as an array (i, j, k, l).

    The function is left z below zero and right z above, and orders (a, b, c, d) are 0, 1, and at
    most once 2, the delta function. Where this meets steps at the same sample, their product is
    the limit for a smoothed function. Samples that nearly depend on each other have errors of up
    to 1e-4, from what is added to their variances for covariances to be positive.
    """
    slots = tuple(orders) if isinstance(orders, Sequence) else ()
    if not has_relu_form(slots):
        raise KernelInputError(
            f"The orders {orders!r} are not four of 0, 1, 2. They are those of relu, whose second "
            "derivative is a delta function. Give 2 at most once."
        )
    if not all(isinstance(x, (int, float)) and math.isfinite(x) for x in (left, right)):
        raise KernelInputError(
            f"The slopes are {left!r} and {right!r}. They are those below and above zero. "
            "Give finite numbers."
        )
    given = correlations(K)
    if not given.roots.all():
        raise KernelInputError(
            "The kernel K has samples of variance zero. The activation has a kink at zero. "
            "Give samples that are not zero, or a bias."
        )
    count = given.roots.size
    first = duplicates(given.rho, given.roots)
    rows = first[np.indices((count,) * 4).reshape(4, -1).T]
    for order in set(slots):
        same = [slot for slot in range(4) if slots[slot] == order]
        rows[:, same] = np.sort(rows[:, same], axis=1)
    unique, inverse = np.unique(rows, axis=0, return_inverse=True)
    means = unique_means(given.rho, ridge(given.rho), slots, unique, left, right)
    means *= np.prod(given.roots[unique] ** (1.0 - np.array(slots)), axis=1)
    everywhere: Array = means[inverse.ravel()].reshape((count,) * 4)
    return everywhere


def duplicates(rho: Array, roots: Array) -> Indices:
    """For each sample the first that equals it."""
    same = (rho >= TOUCHING) & (np.abs(roots[:, None] / roots - 1.0) <= 1e-14)
    np.fill_diagonal(same, True)
    first: Indices = same.argmax(axis=1)
    return first


def has_relu_form(orders: Sequence[int]) -> bool:
    """Whether a mean of these four derivatives is one of `relu_quadruple_means`."""
    return len(orders) == 4 and {*orders} <= {0, 1, 2} and [*orders].count(2) <= 1


def dependent_quadruples(K: Array) -> Indices:
    """The quadruples of samples that nearly depend on each other; duplicates are one sample."""
    given = correlations(K)
    kept = np.unique(duplicates(given.rho, given.roots))
    rho = given.rho + np.eye(given.roots.size)
    quadruples = []
    for size in (2, 3, 4):
        chosen = np.array(list(combinations(kept.tolist(), size)), dtype=np.intp).reshape(-1, size)
        parts = rho[chosen[:, :, None], chosen[:, None, :]]
        weak = chosen[np.linalg.eigvalsh(parts)[:, 0] < DEPENDENT]
        fillings = [f for f in combinations_with_replacement(range(size), 4) if len({*f}) == size]
        quadruples += [weak[:, list(filling)] for filling in fillings]
    return np.concatenate(quadruples)


def ridge(rho: Array) -> float:
    """What to add to variances of one for all samples to be independent in the digits there are."""
    lowest = lowest_eigenvalue(rho)
    return RIDGE + 2.0 * max(0.0, -lowest - 1e-14)


def unique_means(
    rho: Array, excess: float, slots: tuple[int, ...], rows: Indices, left: float, right: float
) -> Array:
    """The means of quadruples of samples of variance one, by which of them coincide."""
    means = np.empty(len(rows))
    patterns = (rows[:, :, None] == rows[:, None]).argmax(axis=2)
    for pattern in np.unique(patterns, axis=0):
        those = np.flatnonzero((patterns == pattern).all(axis=1))
        distinct = sorted(set(pattern.tolist()))
        names = rows[those][:, distinct]
        counts = [
            tuple(
                sum(pattern[s] == d and slots[s] == order for s in range(4)) for order in range(3)
            )
            for d in distinct
        ]
        covariance = rho[names[:, :, None], names[:, None, :]].astype(np.longdouble)
        covariance[:, range(len(distinct)), range(len(distinct))] = 1.0 + excess
        means[those] = pattern_mean(Truncated(covariance), counts, left, right)
    return means


def pattern_mean(
    region: Truncated, counts: list[tuple[int, ...]], left: float, right: float
) -> Array:
    """The mean of the product over samples of f^p f'^q f''^r, for p, q, r of each sample.

    Without r, f^p f'^q is z^p (left^{p+q} + jump step); with it, there is a delta function.
    """
    factor = np.ones_like(region.covariance[:, 0, 0])
    for j, (p, q, r) in enumerate(counts):
        if r:
            factor *= 0.0 if p else BELL * (right ** (q + 1) - left ** (q + 1)) / (q + 1)
            region = region.at_zero(j)
            counts = counts[:j] + counts[j + 1 :]
            break
    powers = tuple(p for p, _, _ in counts)
    degrees = [p + q for p, q, _ in counts]
    bases = [left**n for n in degrees]
    jumps = [right**n - left**n for n in degrees]
    total = np.zeros_like(factor)
    for steps in choices((True,) * len(counts)):
        weight = math.prod(
            jump if step else base for step, base, jump in zip(steps, bases, jumps, strict=True)
        )
        if weight:
            total += weight * region.mean(powers, steps)
    return factor * total
