"""Series in the squares of correlations, summed for many pairs at once."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from symdlt.means._correlations import LEAST_ROOT, Pairs
from symdlt.means._grids import Array
from symdlt.means._spectra import Row, Spectra, Wanted, series_length

TOGETHER = 1 << 11


class Series(NamedTuple):
    """Series in rho^2, row by row: the coefficients (t, sample) of both functions.

    The factors (1 or 2, t) make of their products those of the task and of its slope.
    """

    rows: list[Row]
    powers: list[tuple[int, int]]
    length: int
    factors: list[Array]
    left: list[Array]
    right: list[Array]


def series(spectra: Spectra, wanted: Wanted, rho: float, most: float) -> Series:
    """The series up to a certain rho, without what is negligible."""
    length = spectra.length if rho == most else series_length(spectra.bound, rho)
    found = Series(spectra.rows, [], length + 1, [], [], [])
    for row in spectra.rows:
        ours, theirs = wanted.tasks[row.task]
        terms = length + (row.slope is not None and not row.parity)
        a, b = (spectra.pieces[k, row.parity][:terms] for k in (ours, theirs))
        if spectra.spread is not None:
            a = a @ spectra.spread
            b = a if ours == theirs else b @ spectra.spread
        found.powers.append((spectra.powers[ours], spectra.powers[theirs]))
        found.factors.append(factors(row.parity, len(a), row.slope is not None))
        found.left.append(a)
        found.right.append(b)
    return found._replace(length=max(map(len, found.right), default=1))


@lru_cache(maxsize=64)
def factors(parity: int, terms: int, sloping: bool) -> Array:
    """What makes of products of coefficients those of the task and of the slope."""
    degrees = np.arange(parity, 2 * terms, 2.0)
    return np.array([np.ones(terms), degrees] if sloping else [np.ones(terms)])


def power_table(square: Array, table: Array) -> None:
    """square^t for t = 0, 1, …; where these are few numbers, a power of two at a time."""
    table[0] = 1.0
    if square.size > TOGETHER:
        for below, here in pairwise(table):
            np.multiply(below, square, out=here)
        return
    done, power = 1, square
    while done < len(table):
        more = min(done, len(table) - done)
        np.multiply(table[:more], power, out=table[done : done + more])
        done += more
        if done < len(table):
            power = power * power


def add_series(
    totals: Array,
    found: Series,
    left: list[Array],
    right: list[Array],
    pairs: Pairs,
    space: Array | None = None,
) -> None:
    """The sums of all tasks, for each row from right (t, …, n) and left (w, t) or (w, h, 1, t).

    These are products of coefficients and factors, or coefficients and coefficients with factors.
    """
    shape = (found.length, *pairs.square.shape)
    size = math.prod(shape)
    table, work = (np.empty((2, size)) if space is None else space[:, :size]).reshape(2, *shape)
    power_table(pairs.square, table)
    fresh = set(range(len(totals)))
    for row, units, one, other in zip(found.rows, found.powers, left, right, strict=True):
        part = np.multiply(table[: len(other)], other, out=work[: len(other)])
        for task, less in ((row.task, 0), (row.slope, 1))[: len(one)]:
            total = totals[task] if task in fresh else np.empty_like(totals[task])
            if one.ndim == 2:
                np.dot(one[less], part.reshape(len(other), -1), out=total.reshape(-1))
            else:
                np.matmul(one[less], part.transpose(1, 0, 2), out=total[:, None])
            for unit in units_of(pairs, units[0] - less, units[1] - less, row.parity - less):
                total *= unit
            if task not in fresh:
                totals[task] += total
            fresh.discard(task)
    for task in fresh:
        totals[task] = 0.0


def units_of(pairs: Pairs, first: int, second: int, degree: int) -> list[Array]:
    """Powers of both standard deviations and one, from -1 to 1, of the correlation, as factors."""
    if first == second == degree >= 0:
        return [pairs.K] if degree else []
    samples = ((pairs.i, first), (pairs.j, second))
    units = [(pairs.roots**power).take(which) for which, power in samples if power]
    if degree > 0:
        units.append(pairs.rho)
    if degree < 0:
        units.append(1.0 / np.where(np.abs(pairs.rho) < LEAST_ROOT, 1.0, pairs.rho))
    return units
