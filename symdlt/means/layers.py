"""Means of pairs for the kernels of one layer after the other, known to be covariances.

How the coefficients of one layer become those of the next: they do so by the variances alone. The
Hermite coefficients of a sample (see spectra) depend on its standard deviation s and on nothing
else, neither on the layer nor on other samples. As functions of s they are analytic away from zero.
So they are found and tested once, at Chebyshev points of a range of s, and any layer whose s are
inside takes its own by the barycentric formula: a product of a matrix and a vector for each sample,
and no call of the activation.

The s of the layer above follow from <f f> of each sample with itself, which is in the same table,
and from the step of the network, its bias and weight variance. No pair of samples is needed for
that. So the s of some layers to come are found first, one layer after the other, and then the
coefficients of all these layers in a single product. Correlations do need the pairs, and enter
last, by their powers, when the kernel of a layer is given. If its variances are not those that were
foreseen, or leave the range, what was found ahead is dropped and found anew from this layer on.

Coefficients of a function that vanishes at zero become small with s. They are kept over the power
of s that fits both ends of the range, and these powers are given to sums at the end, so that
interpolation keeps digits relative to each, not to the largest.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from symdlt.means.correlations import Upper, correlated, upper_of
from symdlt.means.grids import TINY, Array, Function, KernelInputError, evaluate
from symdlt.means.pairs import FEW, sums_by, sums_of, wanted_by
from symdlt.means.spectra import (
    Spectra,
    Tasks,
    Wanted,
    chebyshev,
    needed,
    resolved_spectra,
    settled,
)
from symdlt.means.triangle import Step, Triangle

# The lowest of a range, in parts of its highest: a range holds a factor of six. Convention;
# PLACES follow from it.
LOWEST = 0.15
MIDDLE, HALF = 0.5 * (1.0 + LOWEST), 0.5 * (1.0 - LOWEST)
# Polynomials converge as 2.26^-n from the singularity at zero on such a range: 1e-17 at 48.
PLACES = 48
POINTS, WEIGHTS, ENDS = chebyshev(PLACES)
CENTRED, COLUMN = (POINTS + MIDDLE / HALF)[:, None], WEIGHTS[:, None]
# Correlations for which lengths of series are tabled; a step more costs few terms. Convention.
STEPS = 64
# Bounds are tabled for every third place, as they change little between; convention.
GROUP = 3
# Layers to come that are found at once: calls are shared by that many already. Convention.
FORESEEN = 16
# How far variances may be from those foreseen: above rounding, below what another kernel has.
FORETOLD = 1e-9
# Pairs times layers to come, at once: 4 MB an array; for memory only.
ROOM = 1 << 19
# Ranges end at correlations of 1 - 2^-n up to this n, and then at one: few ranges serve all.
LEVELS = 10
# In parts of the highest: where functions that are the same must have equal values; convention.
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


class Coefficients(NamedTuple):
    """What spectra_in makes spectra of: what the variances of one layer tell.

    The largest standard deviation, the pieces, or for few samples their products, and diagonals.
    """

    highest: float
    pieces: dict[tuple[int, int], Array]
    products: list[Array] | None
    diagonals: Array


class Ahead(NamedTuple):
    """A layer to come: its standard deviations, and coefficients.

    The weights of variances are 1/(N s_i^2), the inverse is 1/(s_i s_j) for i < j, else zero.
    """

    roots: Array
    coefficients: Coefficients
    weights: Array
    inverse: Array

    def upper(self, K: Array, corner: Triangle) -> Upper | None:
        """The pairs, if K has the variances that were foreseen."""
        if not abs(float(K.take(corner.diagonal).dot(self.weights)) - 1.0) <= FORETOLD:
            return None
        return correlated(K, self.roots, K * self.inverse, corner)


class KernelByKernel:
    """Means of pairs for the kernels of one layer after the other.

    What was found and tested for a range of variances and correlations serves all kernels in it.
    Steps, one for each layer but the last, make of <f f> at single samples the variances of the
    layer above. They tell those of all layers, for which coefficients are then found together.
    """

    def __init__(
        self, activation: Sequence[Function], orders: Tasks, steps: Sequence[Step] = ()
    ) -> None:
        self.activation = activation
        self.wanted = wanted_by(tuple(orders))
        self.asked = [self.wanted.tasks.index(task) for task in self.wanted.asked]
        self.steps = deque(steps)
        self.known: Range | None = None
        self.ahead: deque[Ahead] = deque()

    def __call__(self, K: Array, corner: Triangle) -> list[Array]:
        """The means for the pairs i <= j."""
        layer = self.ahead.popleft() if self.ahead else None
        foreseen = layer and layer.upper(K, corner)
        given = foreseen or upper_of(K, corner)
        coefficients = layer.coefficients if layer and foreseen else None
        if coefficients is None or self.known is None or not given.most <= self.known.most:
            coefficients = self.look_ahead(given)
        if self.steps:
            self.steps.popleft()
        if coefficients is None or self.known is None:
            sums = sums_of(self.activation, given, self.wanted, None)
        else:
            spectra = spectra_in(self.known, coefficients, given.most)
            sums = sums_by(self.activation, given, spectra, self.wanted)
        return [sums[task] for task in self.asked]

    def look_ahead(self, given: Upper) -> Coefficients | None:
        """Those of this layer, if a range holds it; those of the next are kept."""
        self.ahead.clear()
        lowest, highest = float(given.roots.min()), float(given.roots.max())
        if self.known is None or not self.known.holds(lowest, highest, given.most):
            self.known = range_for(self.activation, self.wanted, lowest, highest, given.most)
        if self.known is None:
            return None
        corner, few = given.corner, len(given.roots) <= FEW
        steps = islice(self.steps, min(FORESEEN, ROOM // len(given.pairs.K)))
        with np.errstate(all="ignore"):
            roots = roots_ahead(self.known, given.roots, self.wanted, steps)
        first, *others = coefficients_at(self.known, roots, self.wanted, corner if few else None)
        if others:
            inverse = 1.0 / roots[1:]
            both = inverse.take(corner.first, axis=1)
            both *= inverse.take(corner.second, axis=1)
            both[:, corner.diagonal] = 0.0
            weights = inverse * inverse / len(corner.diagonal)
            self.ahead.extend(map(Ahead, roots[1:], others, weights, both))
        return first


def range_for(
    activation: Sequence[Function], wanted: Wanted, lowest: float, highest: float, most: float
) -> Range | None:
    """A range that holds all, if there is one."""
    if not TINY / LOWEST < highest < 1.0 / TINY or not most <= 1.0:
        return None
    high = math.exp2(math.ceil(4.0 * math.log2(highest)) / 4.0)
    if lowest < high * LOWEST:
        return None
    level = math.ceil(-math.log2(1.0 - most)) if most < 1.0 else math.inf
    upto = 1.0 - 2.0 ** -max(1, level) if level <= LEVELS else 1.0
    chain = tuple(activation[: wanted.used[-1] + 1])
    orders = tuple((wanted.used[a], wanted.used[b]) for a, b in wanted.asked)
    try:
        kept = kept_range(chain, orders, high, upto)
    except TypeError:
        return new_range(chain, orders, high, upto)
    if kept is not None and not np.array_equal(tried(chain, wanted, high), kept.tried):
        return new_range(chain, orders, high, upto)
    return kept


def tried(chain: Sequence[Function], wanted: Wanted, high: float) -> Array:
    """The functions in use at some places."""
    return np.array([evaluate(chain[k], k, high * TRIED) for k in wanted.used])


def new_range(chain: Sequence[Function], orders: Tasks, high: float, most: float) -> Range | None:
    """The range below a standard deviation, if polynomials resolve it."""
    wanted = wanted_by(orders)
    roots = high * (MIDDLE + HALF * POINTS)
    try:
        resolved = resolved_spectra(chain, wanted, roots, most, None)
    except KernelInputError:
        return None
    both = np.array([[resolved.pieces[k, p] for p in (0, 1)] for k in range(len(wanted.used))])
    norms = np.sqrt((both**2).sum(axis=(1, 2)))
    ratios = np.maximum(norms[:, 0], TINY) / np.maximum(norms[:, -1], TINY)
    powers = np.rint(np.log(ratios) / math.log(roots[0] / roots[-1])).astype(int).tolist()
    units = np.array([roots**power for power in powers])
    first, second = np.array(wanted.tasks).T
    known = both[:, :, : resolved.length + 1] / units[:, None, None]
    diagonals = resolved.diagonals / (units[first] * units[second])
    coefficients = known.reshape(len(known), -1, PLACES)
    if not settled(coefficients, norms / units, diagonals, ENDS, wanted.tasks):
        return None
    names = sorted({(k, row.parity) for row in resolved.rows for k in wanted.tasks[row.task]})
    pieces = {(k, p): known[k, p] for k, p in names}
    return Range(
        high,
        most,
        resolved._replace(pieces=pieces, powers=powers, diagonals=diagonals),
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


def roots_ahead(known: Range, roots: Array, wanted: Wanted, steps: Iterable[Step]) -> Array:
    """Standard deviations of this layer and of those above that follow in the range, by layer.

    Beyond the range polynomials may give anything, and at a place no number; this is dropped.
    """
    following, low = [roots], LOWEST * known.high
    zero = wanted.used.index(0) if 0 in wanted.used else None
    if zero is not None and (zero, zero) in wanted.tasks:
        row = wanted.tasks.index((zero, zero)) - len(wanted.tasks) - 1
        table = known.table[[row, -1]]
        power = 2 * known.spectra.powers[zero]
        for step in steps:
            mean, one = table.dot(COLUMN / apart_in(known, following[-1]))
            mean /= one
            following.append(np.sqrt(step(mean * following[-1] ** power)))
    layers = np.array(following)
    if low <= layers.min() and layers.max() <= known.high:
        return layers
    inside = ((layers >= low) & (layers <= known.high)).all(axis=1)
    return layers[: max(1, int(inside.argmin()))]


def apart_in(known: Range, roots: Array) -> Array:
    """How far standard deviations are from all places (place, root), in units of half the range."""
    apart: Array = roots * (1.0 / (HALF * known.high)) - CENTRED
    return apart


def coefficients_at(
    known: Range, roots: Array, wanted: Wanted, corner: Triangle | None
) -> list[Coefficients]:
    """Those of some layers from standard deviations (layer, sample), or products for all pairs."""
    pieces, diagonals = interpolated(known, roots.ravel(), wanted)
    split = {name: piece.reshape(-1, *roots.shape) for name, piece in pieces.items()}
    products = None
    if corner is not None:
        rows = [(*wanted.tasks[row.task], row.parity) for row in known.spectra.rows]
        products = [
            split[a, p].take(corner.first, axis=2) * split[b, p].take(corner.second, axis=2)
            for a, b, p in rows
        ]
    means = diagonals.reshape(-1, *roots.shape)
    return [
        Coefficients(
            highest,
            {name: piece[:, k] for name, piece in split.items()} if products is None else {},
            products and [table[:, k] for table in products],
            means[:, k],
        )
        for k, highest in enumerate(roots.max(axis=1).tolist())
    ]


def interpolated(
    known: Range, roots: Array, wanted: Wanted
) -> tuple[dict[tuple[int, int], Array], Array]:
    """The pieces and diagonals at some standard deviations.

    The barycentric formula: sums of w f/(s - place), over the same with ones for f (J.-P. Berrut
    and L. N. Trefethen, SIAM Review 46, 2004). A place that is met is moved by next to nothing.
    """
    apart = apart_in(known, roots)
    apart += TINY
    values = known.table @ (COLUMN / apart)
    values = values[:-1] / values[-1]
    pieces, start = {}, 0
    for name, piece in known.spectra.pieces.items():
        pieces[name] = values[start : start + len(piece)]
        start += len(piece)
    diagonals = values[start:]
    for (a, b), one in zip(wanted.tasks, diagonals, strict=True):
        power = known.spectra.powers[a] + known.spectra.powers[b]
        if power:
            one *= roots**power
    return pieces, diagonals


def spectra_in(known: Range, coefficients: Coefficients, most: float) -> Spectra:
    """The spectra of a layer, for correlations up to the largest."""
    step, _, powers, _, rows, _, end, *_ = known.spectra
    place = min(bisect_left(known.places, coefficients.highest), PLACES - 1) // GROUP
    length = known.lengths[place][math.ceil(STEPS * most / known.most)]
    bound = known.bounds[place]
    return Spectra(
        step,
        coefficients.pieces,
        powers,
        coefficients.diagonals,
        rows,
        bound,
        end,
        length,
        products=coefficients.products,
    )
