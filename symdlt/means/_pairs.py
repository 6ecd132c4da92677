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
from symdlt.means._spectra import (
    NEGLIGIBLE,
    Spectra,
    Tasks,
    needed,
    resolved_spectra,
    rest,
    series_length,
)

Indices = NDArray[np.intp]

ROUNDING = 1e-10
LEAST_ROOT = 1e-162
NUMBERS = {2: "two", 4: "four"}
FRACTIONS = (1.0, 0.9, 0.7, 0.5, 0.35, 0.25)
LISTED = 10.0
LISTING = 250
SAMPLED = 32
BLOCK = 1 << 17


class Correlations(NamedTuple):
    """Standard deviations, correlations without the diagonal, and the largest of these."""

    roots: Array
    rho: Array
    most: float


class Series(NamedTuple):
    """Series in rho^2, row by row: coefficients (sample, t) and (t, sample).

    Each row is the even or the odd part of the series of a task.
    """

    rows: list[tuple[int, int]]
    length: int
    left: list[Array]
    right: list[Array]


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
    used, tasks, wanted = tasks_of(tuple(orders))
    spectra = resolved_spectra(activation, used, given.roots, given.most, tasks, step)
    return means_by(activation, given, spectra, used, tasks, wanted)


@lru_cache(maxsize=64)
def tasks_of(orders: Tasks) -> tuple[list[int], Tasks, Tasks]:
    """The functions in use, and by their numbers the pairs to sum, and those of the orders."""
    used = sorted({k for order in orders for k in order})
    wanted = [(used.index(a), used.index(b)) for a, b in orders]
    return used, sorted({task for a, b in wanted for task in ((a, b), (b, a))}), wanted


def means_by(
    activation: Sequence[Function],
    given: Correlations,
    spectra: Spectra,
    used: list[int],
    tasks: Tasks,
    wanted: Tasks,
) -> list[Array]:
    """The means by the series, and by sums where it converges too slowly."""
    upper = np.empty((len(tasks), *given.rho.shape))
    bulk, limit = thresholds(given, spectra)
    fill_bulk(upper, given, spectra, tasks, bulk)
    if bulk < limit:
        fill_listed(upper, given, spectra, tasks, bulk, limit)
    if limit < given.most:
        functions = [activation[k] for k in used]
        fill_direct(upper, functions, given, spectra, tasks, limit)
    return [mirrored(upper, tasks, spectra, task) for task in wanted]


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
    roots, rho, most = found
    if not (given == given.T).all():
        if not (np.abs(rho - rho.T) <= ROUNDING).all():
            raise refusal("is not symmetric, or not finite")
        rho = 0.5 * (rho + rho.T)
    if not most <= 1.0 + ROUNDING:
        raise refusal(f"has a correlation of size {most}")
    return clipped(Correlations(roots, rho, most))


def split(K: Array) -> Correlations:
    """Standard deviations and correlations, not checked."""
    roots = np.sqrt(K.diagonal())
    inverse = 1.0 / np.maximum(roots, LEAST_ROOT)
    rho = K * inverse[:, None]
    rho *= inverse
    np.fill_diagonal(rho, 0.0)
    return Correlations(roots, rho, max(float(rho.max()), -float(rho.min())))


def clipped(given: Correlations) -> Correlations:
    """Correlations that rounding took beyond one moved to it."""
    if given.most <= 1.0:
        return given
    return given._replace(rho=np.clip(given.rho, -1.0, 1.0), most=1.0)


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
    lengths = needed(spectra.bound, candidates)
    costs = lengths + LISTED * lengths[0] * shares
    costs[1:] += (LISTING / count) ** 2
    return float(candidates[np.argmin(costs)]), limit


def series(spectra: Spectra, tasks: Tasks, rho: float) -> Series:
    """The series up to a certain rho, without what is negligible."""
    length = series_length(spectra.bound, rho)
    found = Series(spectra.rows, length, [], [])
    for index, parity in spectra.rows:
        part = slice(parity, 2 * length, 2)
        a, b = (spectra.coefficients[k, part] for k in tasks[index])
        if spectra.spread is not None:
            a = a @ spectra.spread
            b = a if tasks[index][0] == tasks[index][1] else b @ spectra.spread
        found.left.append(np.ascontiguousarray(a.T))
        found.right.append(b)
    return found


def power_table(square: Array, out: Array) -> None:
    """square^t in out[t]."""
    out[0] = 1.0
    done = 1
    while done < len(out):
        more = min(done, len(out) - done)
        np.multiply(out[:more], square, out=out[done : done + more])
        square = square * square
        done += more


def summed(
    totals: Array, found: Series, left: list[Array], right: list[Array], rho: Array, space: Array
) -> None:
    """The sums of all tasks at rho (h, n), for left (h, t) and right (t, …, n) of each row."""
    shape = (found.length, *rho.shape)
    powers, work = space[:, : math.prod(shape)].reshape(2, *shape)
    power_table(rho * rho, powers)
    done = set()
    for (index, parity), one, other in zip(found.rows, left, right, strict=True):
        np.multiply(powers, other, out=work)
        total = np.empty_like(rho) if index in done else totals[index]
        np.matmul(one[:, None], work.transpose(1, 0, 2), out=total[:, None])
        if parity:
            total *= rho
        if index in done:
            totals[index] += total
        done.add(index)
    for index in set(range(len(totals))) - done:
        totals[index] = 0.0


def fill_bulk(
    upper: Array, given: Correlations, spectra: Spectra, tasks: Tasks, rho: float
) -> None:
    """All pairs i <= j, right up to a certain |rho|."""
    found = series(spectra, tasks, rho)
    count = len(given.roots)
    height = min(count, max(1, BLOCK // (count * found.length)))
    space = np.empty((2, height * found.length * count))
    for start in range(0, count, height):
        part = slice(start, start + height)
        left = [one[part] for one in found.left]
        right = [other[:, None, start:] for other in found.right]
        summed(upper[:, part, start:], found, left, right, given.rho[part, start:], space)


def above(given: Correlations, rho: float) -> tuple[Indices, Indices]:
    """The pairs i < j above a certain |rho|."""
    first, second = np.divmod(np.flatnonzero(np.abs(given.rho) > rho), len(given.roots))
    ordered = first < second
    return first[ordered], second[ordered]


def fill_listed(
    upper: Array, given: Correlations, spectra: Spectra, tasks: Tasks, rho: float, limit: float
) -> None:
    """The few pairs above a certain |rho|, right up to a limit."""
    found = series(spectra, tasks, limit)
    first, second = above(given, rho)
    height = min(first.size, max(1, BLOCK // found.length))
    space = np.empty((2, height * found.length))
    for start in range(0, first.size, height):
        i, j = first[start : start + height], second[start : start + height]
        totals = np.empty((len(tasks), i.size, 1))
        left = [one[i] for one in found.left]
        right = [other[:, j, None] for other in found.right]
        summed(totals, found, left, right, given.rho[i, j][:, None], space)
        upper[:, i, j] = totals[..., 0]


def fill_direct(
    upper: Array,
    functions: Sequence[Function],
    given: Correlations,
    spectra: Spectra,
    tasks: Tasks,
    rho: float,
) -> None:
    """Pairs too near to |rho| = 1 for the series, by two-dimensional sums.

    With z_i = s_i x and z_j = s_j (rho x + c y), c = sqrt(1 - rho^2), s_j <= s_i, the functions
    of y are smooth as c is small: few nodes do.
    """
    nodes, weights, _ = probed_grid(spectra.step)
    for i, j in zip(*above(given, rho), strict=True):
        turned = given.roots[i] < given.roots[j]
        wide, narrow = (j, i) if turned else (i, j)
        c = math.sqrt((1.0 - given.rho[i, j]) * (1.0 + given.rho[i, j]))
        y, w = trapezoid(1.0 / (1.4 + c / spectra.step))
        z = given.roots[narrow] * (given.rho[i, j] * nodes[:, None] + c * y)
        inner = [evaluate(function, k, z) @ w for k, function in enumerate(functions)]
        outer = [
            evaluate(function, k, given.roots[wide] * nodes) * weights
            for k, function in enumerate(functions)
        ]
        for index, task in enumerate(tasks):
            a, b = task[::-1] if turned else task
            upper[index, i, j] = outer[a] @ inner[b]


@lru_cache(maxsize=8)
def below_diagonal(count: int) -> NDArray[np.bool_]:
    """Where i > j."""
    return np.tri(count, k=-1, dtype=bool)


def mirrored(upper: Array, tasks: Tasks, spectra: Spectra, task: tuple[int, int]) -> Array:
    """The means of one task from its upper triangle and that of the reversed task."""
    a, b = task
    means: Array = upper[tasks.index(task)]
    if a != b:
        means = means.copy()
    np.copyto(means, upper[tasks.index((b, a))].T, where=below_diagonal(len(means)))
    means.ravel()[:: len(means) + 1] = spectra.diagonals[tasks.index((min(task), max(task)))]
    return means
