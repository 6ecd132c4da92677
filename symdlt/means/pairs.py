"""Gaussian means of products of two functions, for all pairs of samples at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from symdlt.means.correlations import Pairs, Upper, correlations, upper
from symdlt.means.grids import (
    Array,
    Function,
    KernelInputError,
    check_callable,
    evaluate,
    probed_grid,
    trapezoid,
)
from symdlt.means.series import Series, means_from, series, series_sums
from symdlt.means.spectra import (
    NEGLIGIBLE,
    UNSEEN,
    Row,
    Spectra,
    Tasks,
    Wanted,
    needed,
    resolved_spectra,
    rest,
)
from symdlt.means.steps import TOUCHING
from symdlt.means.triangle import Indices, Triangle, strips

NUMBERS = {2: "two", 4: "four"}
# Of the largest correlation: candidates for where sums in bulk may end; convention.
FRACTIONS = (1.0, 0.9, 0.7, 0.5, 0.35, 0.25)
# What a pair summed by itself is taken to cost, next to one in bulk; convention, for speed only.
LISTED = 10.0
# Samples from which on pairs may be listed, what that costs besides included; convention, for
# speed only.
LISTING = 250
# Twice the pairs for each sample that are looked at to choose what is fast; for speed only.
SAMPLED = 32
# Numbers at once: 1 MB an array, for the cache.
BLOCK = 1 << 17
# Rows of a rectangle at most, as its part below the diagonal is summed in vain; convention.
STRIP = 64
# Up to so many samples all pairs are summed in one call; convention, for speed only.
FEW = 32


def pair_means(
    activation: Sequence[Function],
    K: Array,
    orders: Sequence[tuple[int, int]],
    step: float | None = None,
) -> list[Array]:
    """<f_a(z_i) f_b(z_j)> for z ~ N(0, K) as an N×N array for each (a, b) in orders.

    The activation is a smooth function and its derivatives. The step is that of choose_step at
    the largest variance; without it, or where it is too coarse, it is chosen here.

    Mehler's formula (F. G. Mehler 1866): the mean is the sum over m of a_m(i) b_m(j) rho_ij^m,
    where a_m and b_m are the normalised Hermite coefficients of both functions at the variances of
    both samples.
    """
    check_callable(activation)
    check_orders(len(activation), orders)
    given = upper(correlations(K))
    if not orders:
        return []
    wanted = wanted_by(tuple(map(tuple, orders)))
    with np.errstate(all="ignore"):
        return whole_means(sums_of(activation, given, wanted, step), wanted, given.corner)


def sums_of(
    activation: Sequence[Function], given: Upper, wanted: Wanted, step: float | None
) -> Array:
    """The means of all tasks for the pairs i <= j, from a checked K."""
    spectra = resolved_spectra(activation, wanted, given.roots, given.most, step)
    return sums_by(activation, given, spectra, wanted)


@lru_cache(maxsize=64)
def wanted_by(orders: Tasks) -> Wanted:
    """What is to be summed for some orders."""
    used = sorted({k for order in orders for k in order})
    asked = [(used.index(a), used.index(b)) for a, b in orders]
    tasks = sorted({task for a, b in asked for task in ((a, b), (b, a))})
    known = {(used[a], used[b]): index for index, (a, b) in enumerate(tasks)}
    slopes = {
        index: known[a + 1, b + 1] for (a, b), index in known.items() if (a + 1, b + 1) in known
    }
    return Wanted(used, tasks, asked, slopes)


def sums_by(
    activation: Sequence[Function], given: Upper, spectra: Spectra, wanted: Wanted
) -> Array:
    """The means of all tasks for the pairs i <= j."""
    bulk, limit = thresholds(given, spectra)
    sums = upper_sums(given, spectra, wanted, bulk, limit)
    if limit < given.most:
        fill_direct(sums, activation, given, spectra.step, wanted, limit)
    sums[:, given.corner.diagonal] = spectra.diagonals
    if given.most >= TOUCHING:
        merge_same(sums, given, spectra)
    return sums


def merge_same(sums: Array, given: Upper, spectra: Spectra) -> None:
    """Samples that are the same or opposite up to rounding, which would grow by layers, stay so.

    Their means are those of each with itself, but for the sign of odd tasks at opposite samples;
    which these are the series tells if it is whole.
    """
    pairs, roots = given.pairs, given.roots
    known = spectra.end <= UNSEEN
    signs = signs_at_opposite(spectra.rows) if known else {}
    for side in (1.0, -1.0):
        places = np.flatnonzero(side * pairs.rho >= TOUCHING)
        i, j = pairs.i[places], pairs.j[places]
        alike = np.abs(roots[i] - roots[j]) <= (1.0 - TOUCHING) * roots[i]
        places, i, j = places[alike], i[alike], j[alike]
        for task, own in enumerate(spectra.diagonals):
            sign = 1.0 if side > 0.0 else signs.get(task)
            if sign is not None:
                sums[task, places] = 0.5 * sign * (own[i] + own[j])


def signs_at_opposite(rows: Sequence[Row]) -> dict[int, float]:
    """1 for the tasks whose series are even in rho, -1 for those that are odd."""
    parities: dict[int, set[int]] = {}
    for task, parity, slope in rows:
        parities.setdefault(task, set()).add(parity)
        if slope is not None:
            parities.setdefault(slope, set()).add(1 - parity)
    return {task: (-1.0) ** min(known) for task, known in parities.items() if len(known) == 1}


def upper_sums(given: Upper, spectra: Spectra, wanted: Wanted, bulk: float, limit: float) -> Array:
    """For all pairs i <= j the sums of all tasks, one by one above a certain |rho| up to a limit.

    The others are taken together: for few samples at once, else for some rows, from the diagonal
    on, that fit into the cache.
    """
    used = series(spectra, wanted, bulk, given.most)
    few = len(given.roots) <= FEW
    sums = listed_sums(used, given.pairs) if few else sum_strips(given, used)
    means = means_from(sums, used, given.pairs, len(wanted.tasks))
    if bulk < limit:
        fill_listed(means, given, series(spectra, wanted, limit, given.most), bulk)
    return means


def listed_sums(used: Series, pairs: Pairs) -> Array:
    """The sums of all rows for some pairs, one by one."""
    space = np.empty((2, used.length, pairs.K.size))
    sums = np.empty((len(used.sums), pairs.K.size))
    series_sums(used, used.factors, used.products(pairs), pairs.square, space, sums)
    return sums


def sum_strips(given: Upper, used: Series) -> Array:
    """The sums of all rows, from rectangles that fit into the cache."""
    count, square = len(given.roots), given.pairs.square
    height = max(1, min(STRIP, BLOCK // (count * used.length)))
    height = -(-count // -(-count // height))
    space = np.empty((2, used.length * height * count))
    room = np.empty((len(used.sums), height * count))
    weights = [
        np.ascontiguousarray((f[..., None] * a).transpose(0, 2, 1))
        for f, a in zip(used.factors, used.left, strict=True)
    ]
    sums = np.empty((len(used.sums), square.size))
    for rows, columns, cells, pairs, inside in strips(count, height):
        left = [one[:, rows, None] for one in weights]
        right = [other[:, None, columns] for other in used.right]
        here = room[:, : cells.size].reshape(-1, *cells.shape)
        tables = space[:, : used.length * cells.size].reshape(2, used.length, *cells.shape)
        series_sums(used, left, right, square.take(cells), tables, here)
        for one, total in zip(sums, here, strict=True):
            one[pairs] = total.take(inside)
    return sums


def check_orders(count: int, orders: object, size: int = 2) -> None:
    """Refuse orders that are not those of given functions."""
    if not isinstance(orders, Sequence):
        raise KernelInputError(
            f"The orders are {orders!r}. They are a list with {NUMBERS[size]} numbers for each "
            f"mean. Give one such as {[(0,) * size]}."
        )
    for order in orders:
        listed = isinstance(order, Sequence) and len(order) == size
        if not listed or not all(isinstance(k, int) and 0 <= k < count for k in order):
            raise KernelInputError(
                f"The orders {order!r} are not {NUMBERS[size]} of 0 … {count - 1}. "
                f"The activation is given by {count} functions. "
                "Give more derivatives, or lower orders."
            )


def thresholds(given: Upper, spectra: Spectra) -> tuple[float, float]:
    """Up to which |rho| pairs are summed in bulk, and up to which one by one.

    The first is chosen for speed, the second so that the series converges in the terms there are.
    """
    limit, terms = given.most, spectra.bound.size
    if spectra.end * rest(limit, terms) > NEGLIGIBLE:
        limit = min(limit, (1e-3 * NEGLIGIBLE / spectra.end) ** (1.0 / terms))
    count = len(given.roots)
    if count < LISTING:
        return limit, limit
    candidates = limit * np.array(FRACTIONS)
    some = np.abs(given.pairs.rho[:: count // SAMPLED])
    shares = np.array([np.count_nonzero(some > c) for c in candidates]) / some.size
    lengths = needed(spectra.bound, candidates[:, None] ** np.arange(terms))
    costs = lengths + LISTED * lengths[0] * shares
    costs[1:] += (LISTING / count) ** 2
    return float(candidates[np.argmin(costs)]), limit


def above(given: Upper, rho: float) -> Indices:
    """Where the pairs above a certain |rho| are."""
    return np.flatnonzero(np.abs(given.pairs.rho) > rho)


def fill_listed(sums: Array, given: Upper, used: Series, rho: float) -> None:
    """The few pairs above a certain |rho|."""
    places = above(given, rho)
    height = max(1, BLOCK // used.length)
    for start in range(0, places.size, height):
        here = places[start : start + height]
        pairs = given.pairs.at(here)
        sums[:, here] = means_from(listed_sums(used, pairs), used, pairs, len(sums))


def fill_direct(
    sums: Array,
    activation: Sequence[Function],
    given: Upper,
    step: float,
    wanted: Wanted,
    rho: float,
) -> None:
    """Pairs too near to |rho| = 1 for the series, by two-dimensional sums.

    With z_i = s_i x and z_j = s_j (rho x + c y), c = sqrt(1 - rho^2), s_j <= s_i, the functions
    of y are smooth as c is small: few nodes of the trapezoidal rule do.
    """
    nodes, weights, _ = probed_grid(step)
    pairs, roots = given.pairs, given.roots
    for place in above(given, rho).tolist():
        i, j, correlation = pairs.i[place], pairs.j[place], pairs.rho[place]
        turned = roots[i] < roots[j]
        wide, narrow = (j, i) if turned else (i, j)
        c = math.sqrt((1.0 - correlation) * (1.0 + correlation))
        y, w = trapezoid(1.0 / (1.4 + c / step))
        z = roots[narrow] * (correlation * nodes[:, None] + c * y)
        inner = [evaluate(activation[k], k, z) @ w for k in wanted.used]
        far = roots[wide] * nodes
        outer = [evaluate(activation[k], k, far) * weights for k in wanted.used]
        for index, task in enumerate(wanted.tasks):
            a, b = task[::-1] if turned else task
            sums[index, place] = outer[a] @ inner[b]


def whole_means(sums: Array, wanted: Wanted, corner: Triangle) -> list[Array]:
    """The means that are asked for as matrices, from those of all tasks for the pairs i <= j."""

    def matrix(a: int, b: int) -> Array:
        if a > b:
            return matrix(b, a).T.copy()
        mean = corner.whole(sums[wanted.tasks.index((a, b))])
        if a < b:
            other = corner.whole(sums[wanted.tasks.index((b, a))])
            np.copyto(mean, other, where=np.tri(len(mean), k=-1, dtype=bool))
        return mean

    return [matrix(a, b) for a, b in wanted.asked]
