"""Series in the squares of correlations (Mehler's formula), summed for many pairs at once."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from symdlt.means.correlations import LEAST_ROOT, Pairs
from symdlt.means.grids import Array
from symdlt.means.spectra import Spectra, Wanted, series_length

# Up to so many numbers one call for all powers is faster than one for each (measured).
SHORT = 1 << 7
# Up to so many numbers powers come from squares, in fewer calls; convention, for speed only.
TOGETHER = 1 << 11


class Series(NamedTuple):
    """Series in rho^2, row by row: the coefficients (t, sample) of both functions.

    The factors (1 or 2, t) make of their products those of the task and of its slope. Of each such
    sum there is the task, and the powers of both standard deviations and of rho that it lacks.
    Without coefficients on the left those on the right are the products, for all pairs.
    """

    length: int
    factors: list[Array]
    left: list[Array]
    right: list[Array]
    sums: list[tuple[int, int, int, int]]

    def products(self, pairs: Pairs) -> list[Array]:
        """The products of both coefficients (t, pair)."""
        if not self.left:
            return self.right
        return [
            a.take(pairs.i, axis=1) * b.take(pairs.j, axis=1)
            for a, b in zip(self.left, self.right, strict=True)
        ]


def series(spectra: Spectra, wanted: Wanted, rho: float, most: float) -> Series:
    """The series up to a certain rho, without what is negligible."""
    length = spectra.length if rho == most else series_length(spectra.bound, rho)
    scales, left, right, sums = [], [], [], []
    for index, (task, parity, slope) in enumerate(spectra.rows):
        ours, theirs = wanted.tasks[task]
        first, second = spectra.powers[ours], spectra.powers[theirs]
        terms = length + (slope is not None and not parity)
        if spectra.products is None:
            a, b = (spectra.pieces[k, parity][:terms] for k in (ours, theirs))
            if spectra.spread is not None:
                a = a @ spectra.spread
                b = a if ours == theirs else b @ spectra.spread
            left.append(a)
        else:
            b = spectra.products[index][:terms]
        right.append(b)
        scales.append(factors(parity, len(b), slope is not None))
        sums.append((task, first, second, parity))
        if slope is not None:
            sums.append((slope, first - 1, second - 1, parity - 1))
    longest = max(map(len, right), default=1)
    return Series(longest, scales, left, right, sums)


@lru_cache(maxsize=64)
def factors(parity: int, terms: int, sloping: bool) -> Array:
    """What makes of products of coefficients those of the task and of the slope."""
    degrees = np.arange(parity, 2 * terms, 2.0)
    return np.array([np.ones(terms), degrees] if sloping else [np.ones(terms)])


def power_table(square: Array, table: Array) -> None:
    """square^t for t = 0, 1, …; where these are few numbers, in few calls."""
    table[0] = 1.0
    if square.size <= SHORT:
        table[1:] = square
        np.multiply.accumulate(table, axis=0, out=table)
        return
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


def series_sums(
    used: Series, left: list[Array], right: list[Array], square: Array, space: Array, sums: Array
) -> None:
    """The sums over t of the tasks and slopes of all rows, without units, one after the other.

    Of each row right is (t, …, n) and left (w, t) or (w, h, 1, t): products of coefficients and
    factors, or coefficients and coefficients with factors. There is space for two tables.
    """
    table, work = space
    power_table(square, table)
    start = 0
    for one, other in zip(left, right, strict=True):
        part = np.multiply(table[: len(other)], other, out=work[: len(other)])
        here = sums[start : start + len(one)]
        start += len(one)
        if one.ndim == 2:
            np.dot(one, part, out=here)
        else:
            np.matmul(one, part.transpose(1, 0, 2), out=here[:, :, None])


def means_from(sums: Array, used: Series, pairs: Pairs, tasks: int) -> Array:
    """The sums of all tasks for some pairs, from those of the rows, which are given units."""
    given = []
    for total, (task, first, second, degree) in zip(sums, used.sums, strict=True):
        given.append(task)
        for unit in units_of(pairs, first, second, degree):
            total *= unit
    if given == list(range(tasks)):
        return sums
    means = np.zeros((tasks, pairs.K.size))
    for task, total in zip(given, sums, strict=True):
        means[task] += total
    return means


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
