"""Gaussian means of products of two functions, for all pairs of samples at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.means._grids import (
    LARGEST_VARIANCE,
    Array,
    Function,
    KernelInputError,
    check_callable,
    evaluate,
    probed_grid,
    trapezoid,
)
from symdlt.means._series import LEAST_ROOT, Pairs, Series, add_series, series
from symdlt.means._spectra import (
    NEGLIGIBLE,
    Spectra,
    Tasks,
    Wanted,
    needed,
    resolved_spectra,
    rest,
)

Indices = NDArray[np.intp]

ROUNDING = 1e-10
NUMBERS = {2: "two", 4: "four"}
FRACTIONS = (1.0, 0.9, 0.7, 0.5, 0.35, 0.25)
LISTED = 10.0
LISTING = 250
SAMPLED = 32
BLOCK = 1 << 17
STRIP = 64
FEW = 32


class Correlations(NamedTuple):
    """K, standard deviations, correlations without the diagonal, their squares, the largest."""

    K: Array
    roots: Array
    rho: Array
    square: Array
    most: float


def pair_means(
    activation: Sequence[Function],
    K: Array,
    orders: Sequence[tuple[int, int]],
    step: float | None = None,
) -> list[Array]:
    """<f_a(z_i) f_b(z_j)> for z ~ N(0, K) as an N×N array for each (a, b) in orders.

    The activation is a smooth function and its derivatives. The step is that of choose_step at
    the largest variance; without it, or where it is too coarse, it is chosen here.

    Mehler's formula: the mean is the sum over m of a_m(i) b_m(j) rho_ij^m, where a_m and b_m are
    the normalised Hermite coefficients of both functions at the variances of both samples.
    """
    check_callable(activation)
    check_orders(len(activation), orders)
    given = correlations(K)
    if not orders:
        return []
    with np.errstate(all="ignore"):
        return means_of(activation, given, orders, step)


def means_of(
    activation: Sequence[Function], given: Correlations, orders: Tasks, step: float | None
) -> list[Array]:
    """The means from a checked K."""
    wanted = wanted_by(tuple(orders))
    spectra = resolved_spectra(activation, wanted, given.roots, given.most, step)
    return means_by(activation, given, spectra, wanted)


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


def means_by(
    activation: Sequence[Function], given: Correlations, spectra: Spectra, wanted: Wanted
) -> list[Array]:
    """The means as matrices."""
    bulk, limit = thresholds(given, spectra)
    upper = upper_sums(given, spectra, wanted, bulk, limit)
    if limit < given.most:
        fill_direct(upper, activation, given, spectra.step, wanted, limit)
    return mirrored(upper, wanted, spectra.diagonals)


def upper_sums(
    given: Correlations, spectra: Spectra, wanted: Wanted, bulk: float, limit: float
) -> Array:
    """For all pairs i <= j the sums of all tasks, one by one above a certain |rho| up to a limit.

    The others are taken together: for few samples at once, else for some rows, from the diagonal
    on, that fit into the cache.
    """
    found = series(spectra, wanted, bulk, given.most)
    count = len(given.roots)
    upper = np.empty((len(wanted.tasks), count, count))
    if count <= FEW:
        pairs = Pairs(given.K, given.rho, given.square, given.roots[:, None], given.roots)
        products = [
            a[:, :, None] * b[:, None] for a, b in zip(found.left, found.right, strict=True)
        ]
        add_series(upper, found, found.factors, products, pairs)
        return upper
    height = max(1, min(STRIP, BLOCK // (count * found.length)))
    height = -(-count // -(-count // height))
    space = np.empty((2, found.length * height * count))
    weights = [
        np.ascontiguousarray((f[..., None] * a).transpose(0, 2, 1))
        for f, a in zip(found.factors, found.left, strict=True)
    ]
    for start in range(0, count, height):
        rows, columns = slice(start, start + height), slice(start, count)
        pairs = Pairs(
            given.K[rows, columns],
            given.rho[rows, columns],
            given.square[rows, columns],
            given.roots[rows, None],
            given.roots[columns],
        )
        left = [one[:, rows, None] for one in weights]
        right = [other[:, None, columns] for other in found.right]
        add_series(upper[:, rows, columns], found, left, right, pairs, space)
    if bulk < limit:
        fill_listed(upper, given, series(spectra, wanted, limit, given.most), bulk)
    return upper


def check_orders(count: int, orders: Any, size: int = 2) -> None:
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


def covariance(K: Any) -> Array:
    """K as a matrix with variances on the diagonal; the correlations are not yet checked."""
    try:
        given = np.asarray(K)
    except ValueError:
        raise refusal("has rows that differ in length") from None
    if isinstance(K, np.ma.MaskedArray):
        raise refusal("is a masked array")
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not given.size:
        raise refusal(f"has the shape {given.shape}")
    if given.dtype.kind not in "fiu":
        raise refusal(f"is an array of {given.dtype}")
    with np.errstate(over="ignore"):
        given = given.astype(np.float64, copy=False)
    variances = given.diagonal()
    if not (np.isfinite(variances) & (variances >= 0.0)).all():
        raise refusal(f"has {variances.min()} and {variances.max()} on the diagonal")
    if variances.max() > LARGEST_VARIANCE:
        raise KernelInputError(
            f"The kernel K has the variance {variances.max():.3g}. Means of products are too large "
            f"for double precision beyond {LARGEST_VARIANCE:g}. Scale the samples down."
        )
    return given


def correlations(K: Any) -> Correlations:
    """Check that K is a covariance, and split it."""
    given = covariance(K)
    with np.errstate(all="ignore"):
        found = split(given)
    if not found.roots.all() and given[found.roots == 0.0].any():
        raise refusal("has samples of variance zero that are correlated with others")
    _, roots, rho, square, most = found
    if not (given == given.T).all():
        if not (np.abs(rho - rho.T) <= ROUNDING).all():
            raise refusal("is not symmetric, or not finite")
        rho = 0.5 * (rho + rho.T)
        square = rho * rho
    if not most <= 1.0 + ROUNDING:
        raise refusal(f"has a correlation of size {most}")
    return clipped(Correlations(given, roots, rho, square, most))


def split(K: Array) -> Correlations:
    """Standard deviations and correlations, not checked."""
    roots = np.sqrt(K.diagonal())
    inverse = 1.0 / np.maximum(roots, LEAST_ROOT)
    rho = K * inverse[:, None]
    rho *= inverse
    rho.ravel()[:: len(rho) + 1] = 0.0
    square = rho * rho
    return Correlations(K, roots, rho, square, math.sqrt(square.max()))


def clipped(given: Correlations) -> Correlations:
    """Correlations that rounding took beyond one moved to it."""
    if given.most <= 1.0:
        return given
    rho = np.clip(given.rho, -1.0, 1.0)
    return given._replace(rho=rho, square=rho * rho, most=1.0)


def refusal(what: str) -> KernelInputError:
    """The error for a K that is no covariance."""
    return KernelInputError(
        f"The kernel K {what}. "
        "It is the covariance of all samples, a symmetric matrix of finite numbers with "
        "K_ii >= 0 and |K_ij| <= sqrt(K_ii K_jj). "
        "Give it as an array of floats of shape (N, N)."
    )


def thresholds(given: Correlations, spectra: Spectra) -> tuple[float, float]:
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
    some = np.abs(given.rho[:: count // SAMPLED])
    shares = np.array([np.count_nonzero(some > c) for c in candidates]) / some.size
    lengths = needed(spectra.bound, candidates[:, None] ** np.arange(terms))
    costs = lengths + LISTED * lengths[0] * shares
    costs[1:] += (LISTING / count) ** 2
    return float(candidates[np.argmin(costs)]), limit


def above(given: Correlations, rho: float) -> tuple[Indices, Indices]:
    """The pairs i < j above a certain |rho|."""
    first, second = np.divmod(np.flatnonzero(np.abs(given.rho) > rho), len(given.roots))
    ordered = first < second
    return first[ordered], second[ordered]


def fill_listed(upper: Array, given: Correlations, found: Series, rho: float) -> None:
    """The few pairs above a certain |rho|."""
    rows, columns = above(given, rho)
    height = max(1, BLOCK // found.length)
    for start in range(0, rows.size, height):
        i, j = rows[start : start + height], columns[start : start + height]
        totals = np.empty((len(upper), i.size))
        products = [a[:, i] * b[:, j] for a, b in zip(found.left, found.right, strict=True)]
        cells = given.K[i, j], given.rho[i, j], given.square[i, j]
        pairs = Pairs(*cells, given.roots[i], given.roots[j])
        add_series(totals, found, found.factors, products, pairs)
        upper[:, i, j] = totals


def fill_direct(
    upper: Array,
    activation: Sequence[Function],
    given: Correlations,
    step: float,
    wanted: Wanted,
    rho: float,
) -> None:
    """Pairs too near to |rho| = 1 for the series, by two-dimensional sums.

    With z_i = s_i x and z_j = s_j (rho x + c y), c = sqrt(1 - rho^2), s_j <= s_i, the functions
    of y are smooth as c is small: few nodes do.
    """
    nodes, weights, _ = probed_grid(step)
    for i, j in zip(*above(given, rho), strict=True):
        turned = given.roots[i] < given.roots[j]
        wide, narrow = (j, i) if turned else (i, j)
        c = math.sqrt((1.0 - given.rho[i, j]) * (1.0 + given.rho[i, j]))
        y, w = trapezoid(1.0 / (1.4 + c / step))
        z = given.roots[narrow] * (given.rho[i, j] * nodes[:, None] + c * y)
        inner = [evaluate(activation[k], k, z) @ w for k in wanted.used]
        far = given.roots[wide] * nodes
        outer = [evaluate(activation[k], k, far) * weights for k in wanted.used]
        for index, task in enumerate(wanted.tasks):
            a, b = task[::-1] if turned else task
            upper[index, i, j] = outer[a] @ inner[b]


@lru_cache(maxsize=8)
def below_diagonal(count: int) -> NDArray[np.bool_]:
    """Where i > j."""
    return np.tri(count, k=-1, dtype=bool)


def mirrored(upper: Array, wanted: Wanted, diagonals: Array) -> list[Array]:
    """The means of the tasks that are asked for, from the upper triangles of all."""
    count = upper.shape[1]
    means = []
    for a, b in wanted.asked:
        mean = upper[wanted.tasks.index((a, b))]
        if a != b:
            mean = mean.copy()
        other = upper[wanted.tasks.index((b, a))]
        for start in range(0, count, STRIP):
            rows, beyond = slice(start, start + STRIP), slice(start + STRIP, count)
            square = mean[rows, rows]
            np.copyto(square, other[rows, rows].T, where=below_diagonal(len(square)))
            if start + STRIP < count:
                mean[beyond, rows] = other[rows, beyond].T
        mean.ravel()[:: count + 1] = diagonals[wanted.tasks.index((min(a, b), max(a, b)))]
        means.append(mean)
    return means
