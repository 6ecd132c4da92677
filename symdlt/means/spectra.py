"""Hermite coefficients of the activation and its derivatives at the variances of all samples.

With normalised Hermite polynomials h_m, and x a standard Gaussian, f(s x) is the sum of
f_m(s) h_m(x), where f_m(s) = <f(s x) h_m(x)> depends on nothing but the standard deviation s. For
two samples of correlation rho <h_m(x) h_n(y)> is rho^m if m = n and else zero, so that <f g> is the
sum of f_m(s_i) g_m(s_j) rho^m (F. G. Mehler 1866). So work that is done once for each sample, on a
grid, serves all of its pairs, which differ in powers of rho alone.

A layer hands on its kernel, bias variance and all: the diagonal gives the standard deviations, and
with them the coefficients, of the layer above; what is beside it gives the correlations. As
coefficients are smooth in s, those of many samples are interpolated from those at few places.
Those of f' are tied to them: by Stein's lemma sqrt(m) f_m = s f'_(m-1), and so <f' g'> is the slope
of <f g> in the covariance (R. Price 1958). Where rounding allows, products of the coefficients of f
and g serve both sums.

Nothing here is taken on trust. Terms are doubled until what is beyond them is negligible; the sum
of squares (Parseval) tells of coefficients beyond the last; a grid that is too coarse is told by
one that is moved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.means.grids import (
    FIRST_STEP,
    PROBES,
    QUIET,
    RESOLVED,
    TINY,
    VERIFIED,
    Array,
    Function,
    KernelInputError,
    choose_step,
    derivatives_agree,
    evaluate,
    moved_grid,
    probed_grid,
    seen_step,
    whole_table,
)

Tasks = Sequence[tuple[int, int]]

# Of the norms: a few roundings, left out of a series.
NEGLIGIBLE = 1e-15
# Terms to begin with, and to double until the rest is negligible; convention.
FEWEST_TERMS = 64
# What a step of 0.035 resolves; nearer correlations are summed directly. A bound of the work.
MOST_TERMS = 8192
# The lowest standard deviation over the highest: 29 places serve all samples there. Convention.
NARROW = 0.4
# The logarithm of what is left of a polynomial of high degree: exp(-37) is 1e-16.
DIGITS = 37.0
# Of the norms: highest degrees below are rounding.
SETTLED = 1e-14
# Of the norms: what Parseval's sum lacks by rounding is below it.
UNSEEN = 1e-12
# Of the norms, in a sum: the error for which the series of f serves f' as well.
LOSSLESS = 1e-14


class Wanted(NamedTuple):
    """The functions in use, and by their numbers the pairs to sum and those that are asked for.

    Slopes are tasks whose functions are the derivatives of those of another, from that to those.
    """

    used: list[int]
    tasks: list[tuple[int, int]]
    asked: list[tuple[int, int]]
    slopes: dict[int, int]


class Row(NamedTuple):
    """The even or odd part of the series of a task, and the slope that has the same coefficients.

    Price's theorem: <f_a' f_b'> is the derivative of <f_a f_b> with respect to the covariance.
    """

    task: int
    parity: int
    slope: int | None


class Spectra(NamedTuple):
    """Hermite coefficients (m, place) by function and parity of m; means at each sample by task.

    Functions are in units of powers of the standard deviation. bound[m] is the largest product of
    two coefficients of any places in any task, in units of their norms, and end that of the last
    or, if larger, of what is beyond; length is that of the series at the largest correlation.
    Places are the samples, unless a matrix from places to samples is given. In place of pieces
    there may be the products of both coefficients (t, pair) of each row.
    """

    step: float
    pieces: Mapping[tuple[int, int], Array]
    powers: list[int]
    diagonals: Array
    rows: list[Row]
    bound: Array
    end: float
    length: int
    spread: Array | None = None
    products: list[Array] | None = None


class Places(NamedTuple):
    """Standard deviations to work at; how all samples, and the last two degrees, follow."""

    roots: Array
    spread: Array
    ends: Array


def resolved_spectra(
    activation: Sequence[Function],
    wanted: Wanted,
    roots: Array,
    most: float,
    step: float | None,
) -> Spectra:
    """The coefficients, on a grid that resolves every function at every variance."""
    chain = activation[: wanted.used[-1] + 1]
    if step is None:
        step = tested_step(chain, float(roots.max()) ** 2)
    elif not (isinstance(step, (int, float)) and math.isfinite(step) and step > 0.0):
        raise KernelInputError(
            f"The step is {step}. It is a step of a grid in standard deviations. "
            "Give what choose_step returns, or nothing."
        )
    step = min(step, FIRST_STEP, seen_step(chain, float(roots.max()) ** 2))
    places = few_places(roots)
    while True:
        spectra = spectra_at(activation, wanted, roots, most, step, places)
        if isinstance(spectra, Spectra):
            return spectra
        if spectra is None:
            places = None
        else:
            step = choose_step(chain, spectra**2, 2, step / math.sqrt(2.0))


def few_places(roots: Array) -> Places | None:
    """Chebyshev points from which polynomials give what is smooth in the standard deviation.

    What is analytic but for a standard deviation of zero converges at a known rate: that of the
    ellipse through zero (S. Bernstein).
    """
    low, high = float(roots.min()), float(roots.max())
    if not low > NARROW * high:
        return None
    middle, half = 0.5 * (high + low), max(0.5 * (high - low), 1e-8 * high)
    ratio = middle / half
    count = 4 + math.ceil(DIGITS / math.log(ratio + math.sqrt(ratio**2 - 1.0)))
    if 2 * count > roots.size:
        return None
    places, _, highest = chebyshev(count)
    spread = barycentric((roots - middle) / half, count)
    spread /= spread.sum(axis=0)
    return Places(middle + half * places, spread, highest)


def barycentric(x: Array, count: int) -> Array:
    """What interpolates from Chebyshev points (place, x), once divided by its sum over places."""
    places, weights, _ = chebyshev(count)
    apart: Array = x - places[:, None]
    apart += TINY
    return weights[:, None] / apart


@lru_cache(maxsize=32)
def chebyshev(count: int) -> tuple[Array, Array, Array]:
    """Chebyshev points; their weights in the barycentric formula; what gives two coefficients.

    These are the Chebyshev coefficients of the highest degrees, from values at the points. For the
    formula and these weights see J.-P. Berrut and L. N. Trefethen, SIAM Review 46, 2004.
    """
    angles: Array = math.pi * (np.arange(count) + 0.5) / count
    highest = 2.0 / count * np.cos(angles[:, None] * [count - 2, count - 1])
    return np.cos(angles), np.sin(angles) * (-1.0) ** np.arange(count), highest


def spectra_at(
    activation: Sequence[Function],
    wanted: Wanted,
    roots: Array,
    most: float,
    step: float,
    places: Places | None,
) -> Spectra | float | None:
    """The coefficients on one grid.

    A standard deviation, if the grid is too coarse there; nothing, if there are too few places. A
    grid that is right for products of two functions is right for coefficients up to (pi/h)^2.
    """
    skip = len(PROBES)
    points = roots if places is None else places.roots
    values, weighted, norms = sampled(activation, wanted.used, points, step)
    largest = int(np.argmax(points))
    if moves(activation, wanted.used, float(points[largest]), step, values[:, largest]):
        return float(points[largest])
    resolvable = 2 * int(0.5 * (math.pi / step) ** 2)
    terms = min(FEWEST_TERMS, resolvable)
    while True:
        table = whole_table(step, terms)[: skip + first_terms(most, terms)]
        both = table @ values.transpose(0, 2, 1)
        misfit = np.abs(both[:, :skip]).max(axis=1) - RESOLVED * norms
        if misfit.max() > TINY:
            return float(points[np.argmax(misfit.max(axis=0))])
        coefficients = both[:, skip:]
        rows, bound, end = bounds(coefficients, norms, wanted, points, most)
        if end * rest(most, bound.size) <= NEGLIGIBLE or terms == MOST_TERMS:
            break
        if terms == resolvable:
            return float(points[largest])
        terms = min(2 * terms, resolvable, MOST_TERMS)
    diagonals = coincident_products(weighted, values, wanted.tasks)
    pieces = by_parity(coefficients)
    powers = [0] * len(wanted.used)
    length = series_length(bound, most)
    spectra = Spectra(step, pieces, powers, diagonals, rows, bound, end, length)
    if places is None:
        return spectra
    if not settled(coefficients, norms, diagonals, places.ends, wanted.tasks):
        return None
    return spectra._replace(diagonals=diagonals @ places.spread, spread=places.spread)


def by_parity(coefficients: Array) -> dict[tuple[int, int], Array]:
    """The even and the odd ones of each function."""
    return {(k, p): one[p::2] for k, one in enumerate(coefficients) for p in (0, 1)}


def bounds(
    coefficients: Array, norms: Array, wanted: Wanted, roots: Array, most: float
) -> tuple[list[Row], Array, float]:
    """The rows, bound and end of spectra.

    A series may begin where the coefficients that are known end; Parseval's sum tells.
    """
    first, second = np.array(wanted.tasks).T
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    relative = np.abs(coefficients) * inverse[:, None]
    sizes = relative.max(axis=2)
    terms = sizes[first] * sizes[second]
    matter = terms.reshape(len(first), -1, 2).sum(axis=1) > NEGLIGIBLE
    bound = terms.max(axis=0)
    unseen = ((norms > 0.0) - np.einsum("kmi,kmi->ki", relative, relative)).max(axis=1)
    left = math.sqrt(max(0.0, float((unseen[first] * unseen[second]).max())))
    end = max(float(bound[-8:].max()), left if left > UNSEEN else 0.0)
    pairs = {(k, k + 1) for task in wanted.slopes for k in wanted.tasks[task]}
    clean = {k for k, j in pairs if agree(coefficients[k], coefficients[j], norms[j], roots, most)}
    return rows_of(matter.tolist(), clean, wanted), bound, end


def agree(below: Array, above: Array, norms: Array, roots: Array, most: float) -> bool:
    """Whether the coefficients of f tell those of f' without loss: sqrt(m) f_m = s f'_(m-1).

    Those of f are right to a part of its norm, or of larger numbers that f is made of; next to
    them s f' may be small. What counts is the error in the sum over m.
    """
    if not roots.min() > TINY or not norms.min() > 0.0:
        return False
    degrees = np.arange(1.0, len(below))
    misfits = np.abs(np.sqrt(degrees)[:, None] * below[1:] / roots - above[:-1]) / norms
    misfits = np.minimum(misfits, 1.0)
    errors = misfits * (np.abs(above[:-1]) / norms + misfits)
    return bool((most ** (degrees - 1.0) @ errors <= LOSSLESS).all())


def rows_of(matter: list[list[bool]], clean: set[int], wanted: Wanted) -> list[Row]:
    """The rows that matter; slopes go with their tasks where this costs no digits."""
    rows = []
    done = set()
    for task, (a, b) in enumerate(wanted.tasks):
        if task in done:
            continue
        slope = wanted.slopes.get(task) if a in clean and b in clean else None
        for parity in (0, 1):
            if matter[task][parity] or (slope is not None and matter[slope][1 - parity]):
                rows.append(Row(task, parity, slope))
        done.add(slope)
    return rows


def tested_step(chain: Sequence[Function], variance: float) -> float:
    """A step at which derivatives are those of each other; what is left is tested with it."""
    step = guessed_step(tuple(chain), variance)
    return step if derivatives_agree(chain, variance, step) else choose_step(chain, variance)


def guessed_step(chain: tuple[Function, ...], variance: float) -> float:
    """The step that was chosen, now or before, for a larger variance, where functions are rougher.

    It is to be tested.
    """
    if not TINY < variance < 1.0 / TINY:
        return choose_step(chain, variance)
    try:
        return kept_step(chain, math.exp2(math.ceil(2.0 * math.log2(variance)) / 2.0))
    except (TypeError, KernelInputError):
        return choose_step(chain, variance)


@lru_cache(maxsize=64)
def kept_step(chain: tuple[Function, ...], variance: float) -> float:
    """The choice of a step, kept for the next call."""
    return choose_step(chain, variance)


def coincident_products(weighted: Array, values: Array, tasks: Tasks) -> Array:
    """The means at each sample, by task."""
    return np.array([np.einsum("ij,ij->i", weighted[a], values[b]) for a, b in tasks])


def series_length(bound: Array, rho: float) -> int:
    """How many terms of one parity matter at a correlation."""
    left = (bound * rho ** np.arange(bound.size))[::-1].cumsum()
    return max(1, (bound.size - int(left.searchsorted(NEGLIGIBLE, "right")) + 1) // 2)


def needed(bound: Array, powers: Array) -> NDArray[np.intp]:
    """How many terms matter at each rho, with the powers of each in a row."""
    left = np.cumsum((bound * powers)[:, ::-1], axis=1)
    counts: NDArray[np.intp] = np.maximum(1, np.count_nonzero(left > NEGLIGIBLE, axis=1))
    return counts


def settled(coefficients: Array, norms: Array, diagonals: Array, ends: Array, tasks: Tasks) -> bool:
    """Whether the highest degrees of the polynomials that give all samples vanish."""
    first, second = np.array(tasks).T
    scale = norms.max(axis=1)
    above = np.abs(coefficients @ ends).max(axis=(1, 2)) > SETTLED * scale
    squares = np.abs(diagonals @ ends).max(axis=1) > SETTLED * scale[first] * scale[second]
    return not (above.any() or squares.any())


def moves(
    activation: Sequence[Function], used: list[int], root: float, step: float, here: Array
) -> bool:
    """Whether any mean or mean square at one standard deviation moves with the grid."""
    weights = probed_grid(step).weights
    nodes, others = moved_grid(step)
    there = np.array([evaluate(activation[k], k, root * nodes) for k in used])
    squares = here**2 @ weights
    noise = QUIET * math.sqrt(float(squares.max()))
    means_move = np.abs(here @ weights - there @ others)
    squares_move = np.abs(squares - there**2 @ others)
    return bool(
        (means_move > VERIFIED * (np.sqrt(squares) + noise) + TINY).any()
        or (squares_move > VERIFIED * np.sqrt(squares) * (np.sqrt(squares) + noise) + TINY).any()
    )


def sampled(
    activation: Sequence[Function], used: list[int], roots: Array, step: float
) -> tuple[Array, Array, Array]:
    """The functions in use at all nodes, the same with weights, and their norms."""
    nodes, weights, _ = probed_grid(step)
    z = roots[:, None] * nodes
    values = np.empty((len(used), *z.shape))
    for index, k in enumerate(used):
        values[index] = evaluate(activation[k], k, z)
    weighted = values * weights
    norms = np.sqrt(np.einsum("kij,kij->ki", weighted, values))
    if not math.isfinite(norms.max()):
        index, sample = np.argwhere(~np.isfinite(norms))[0]
        raise KernelInputError(
            f"Derivative {used[index]} of the activation is not finite or overflows. "
            f"The variance K_ii is {roots[sample] ** 2:.3g}. "
            "Give a smaller variance or a tamer activation that is finite everywhere."
        )
    return values, weighted, norms


def first_terms(most: float, terms: int) -> int:
    """An even number of terms, not more than are needed if no coefficient were below 1."""
    if most >= 1.0 or most**terms > NEGLIGIBLE:
        return terms
    return min(terms, 8 + 2 * math.ceil(0.5 * math.log(NEGLIGIBLE) / math.log(max(most, 1e-9))))


def rest(rho: float, terms: int) -> float:
    """The sum of rho^m from m = terms on, or over as many terms again."""
    return float(rho**terms * min(terms, 1.0 / max(1.0 - rho, 1e-9)))
