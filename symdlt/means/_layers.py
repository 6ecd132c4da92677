"""Means of pairs for the kernels of one layer after the other, known to be covariances."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from symdlt.means._correlations import Upper, upper_of
from symdlt.means._grids import TINY, Array, Function, KernelInputError, evaluate
from symdlt.means._pairs import sums_by, sums_of, wanted_by
from symdlt.means._spectra import (
    Spectra,
    Tasks,
    Wanted,
    barycentric,
    chebyshev,
    needed,
    resolved_spectra,
    settled,
)
from symdlt.means._triangle import PairTables, Triangle

LOWEST = 0.25
MIDDLE, HALF = 0.5 * (1.0 + LOWEST), 0.5 * (1.0 - LOWEST)
PLACES = 38
POINTS, _, ENDS = chebyshev(PLACES)
STEPS = 64
GROUP = 4
LEVELS = 10
TRIED = np.linspace(-4.0, 4.0, 33)


class Range(NamedTuple):
    """The spectra at Chebyshev points of the standard deviation, right up to a correlation.

    Functions are in units of powers of the standard deviation. The table has, place by place, the
    pieces, the diagonals, and ones. Bounds of the series, and lengths by steps of the correlation,
    are those of a few places, from the lowest on, and all below. Tried are values that tell whether
    the functions are still the same.
    """

    high: float
    most: float
    spectra: Spectra
    table: Array
    places: list[float]
    bounds: Array
    lengths: list[list[int]]
    tried: Array

    def holds(self, lowest: float, highest: float, most: float) -> bool:
        """Whether all standard deviations and correlations are in it."""
        return self.high * LOWEST <= lowest and highest <= self.high and most <= self.most


def trusted_tables(activation: Sequence[Function], orders: Tasks) -> PairTables:
    """What gives the means of pairs, called with one kernel after the other.

    What was found and tested for a range of variances and correlations serves all kernels in it.
    """
    wanted = wanted_by(tuple(orders))
    places = [wanted.tasks.index(task) for task in wanted.asked]
    known: Range | None = None

    def tables(K: Array, corner: Triangle) -> list[Array]:
        nonlocal known
        given = upper_of(K, corner)
        lowest, highest = float(given.roots.min()), float(given.roots.max())
        if known is None or not known.holds(lowest, highest, given.most):
            known = range_for(activation, wanted, lowest, highest, given.most)
        if known is None:
            sums = sums_of(activation, given, wanted, None)
        else:
            sums = sums_by(activation, given, spectra_in(known, given, highest, wanted), wanted)
        return [sums[place] for place in places]

    return tables


def range_for(
    activation: Sequence[Function], wanted: Wanted, lowest: float, highest: float, most: float
) -> Range | None:
    """A range that holds all, if there is one."""
    if not TINY / LOWEST < highest < 1.0 / TINY or not most <= 1.0:
        return None
    high = math.exp2(math.ceil(2.0 * math.log2(highest)) / 2.0)
    if lowest < high * LOWEST:
        return None
    level = math.ceil(-math.log2(1.0 - most)) if most < 1.0 else math.inf
    upto = 1.0 - 2.0 ** -max(1, level) if level <= LEVELS else 1.0
    chain = tuple(activation[: wanted.used[-1] + 1])
    orders = tuple((wanted.used[a], wanted.used[b]) for a, b in wanted.asked)
    try:
        found = kept_range(chain, orders, high, upto)
    except TypeError:
        return new_range(chain, orders, high, upto)
    if found is not None and not np.array_equal(tried(chain, wanted, high), found.tried):
        return new_range(chain, orders, high, upto)
    return found


def tried(chain: Sequence[Function], wanted: Wanted, high: float) -> Array:
    """The functions in use at some places."""
    return np.array([evaluate(chain[k], k, high * TRIED) for k in wanted.used])


def new_range(chain: Sequence[Function], orders: Tasks, high: float, most: float) -> Range | None:
    """The range below a standard deviation, if polynomials resolve it."""
    wanted = wanted_by(orders)
    roots = high * (MIDDLE + HALF * POINTS)
    try:
        found = resolved_spectra(chain, wanted, roots, most, None)
    except KernelInputError:
        return None
    both = np.array([[found.pieces[k, p] for p in (0, 1)] for k in range(len(wanted.used))])
    norms = np.sqrt((both**2).sum(axis=(1, 2)))
    ratios = np.maximum(norms[:, 0], TINY) / np.maximum(norms[:, -1], TINY)
    powers = np.rint(np.log(ratios) / math.log(roots[0] / roots[-1])).astype(int).tolist()
    units = np.array([roots**power for power in powers])
    first, second = np.array(wanted.tasks).T
    known = both[:, :, : found.length + 1] / units[:, None, None]
    diagonals = found.diagonals / (units[first] * units[second])
    coefficients = known.reshape(len(known), -1, PLACES)
    if not settled(coefficients, norms / units, diagonals, ENDS, wanted.tasks):
        return None
    names = sorted({(k, row.parity) for row in found.rows for k in wanted.tasks[row.task]})
    pieces = {(k, p): known[k, p] for k, p in names}
    return Range(
        high,
        most,
        found._replace(pieces=pieces, powers=powers, diagonals=diagonals),
        np.concatenate([*pieces.values(), diagonals, np.ones((1, PLACES))]),
        roots[::-1].tolist(),
        *lengths_upto(both, norms, wanted, most),
        tried(chain, wanted, high),
    )


kept_range = lru_cache(maxsize=16)(new_range)


def lengths_upto(
    both: Array, norms: Array, wanted: Wanted, most: float
) -> tuple[Array, list[list[int]]]:
    """From coefficients (k, parity, t, place) the bounds and lengths of some places and below."""
    first, second = np.array(wanted.tasks).T
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    relative = np.abs(both) * inverse[:, None, None]
    upto = np.maximum.accumulate(relative[..., ::-1], axis=-1)
    terms = (upto[first] * upto[second]).max(axis=0)
    last = [*range(GROUP - 1, PLACES - 1, GROUP), PLACES - 1]
    bounds = terms[..., last].transpose(2, 1, 0).reshape(len(last), -1)
    powers = (most * np.arange(STEPS + 1) / STEPS)[:, None] ** np.arange(bounds.shape[1])
    return bounds, [((needed(bound, powers) + 1) // 2).tolist() for bound in bounds]


def spectra_in(known: Range, given: Upper, highest: float, wanted: Wanted) -> Spectra:
    """The spectra at all samples, by barycentric interpolation."""
    x = given.roots * (1.0 / (HALF * known.high)) - MIDDLE / HALF
    values = known.table @ barycentric(x, PLACES)
    found, start = known.spectra, 0
    values = values[:-1] / values[-1]
    pieces = {}
    for name, piece in found.pieces.items():
        pieces[name] = values[start : start + len(piece)]
        start += len(piece)
    diagonals = values[start:]
    for (a, b), one in zip(wanted.tasks, diagonals, strict=True):
        power = found.powers[a] + found.powers[b]
        if power:
            one *= given.roots**power
    place = min(bisect_left(known.places, highest), PLACES - 1) // GROUP
    length = known.lengths[place][math.ceil(STEPS * given.most / known.most)]
    return Spectra(
        found.step,
        pieces,
        found.powers,
        diagonals,
        found.rows,
        known.bounds[place],
        found.end,
        length,
    )
