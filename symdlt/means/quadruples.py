"""Gaussian means of products of four functions, for all quadruples of samples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement, permutations, product
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.means.accuracy import (
    FINE,
    Pattern,
    accuracy_for,
    modelled,
)
from symdlt.means.blocks import (
    Block,
    Means,
    Products,
    Rest,
    Together,
)
from symdlt.means.correlations import Correlations, correlations
from symdlt.means.grids import (
    Array,
    Function,
    KernelInputError,
    check_callable,
    choose_step,
    resolved,
)
from symdlt.means.lines import Lines, lines_of, lowest_eigenvalue
from symdlt.means.pairs import check_orders
from symdlt.means.refinement import resolved_means
from symdlt.means.spectra import tested_step
from symdlt.means.triangle import Indices

Mask = NDArray[np.bool_]
Parts = dict[Pattern, list[tuple[Indices, Array]]]

TOLERANCES = (1e-12, 1e-2)
# Measured: a line has some hundred nodes where a plane has some thousand.
LINE_EFFORT = 0.05


def quadruple_means(
    activation: Sequence[Function],
    K: Array,
    patterns: Sequence[Pattern],
    samples: ArrayLike | None = None,
    tolerance: float = 1e-7,
    together: Together | None = None,
    half: int | None = None,
    after_block: Callable[[float], object] | None = None,
) -> list[Array]:
    """<f_a(z_i) f_b(z_j) f_c(z_k) f_d(z_l)> for z ~ N(0, K) for each (a, b, c, d) in patterns.

    The activation is a smooth function and its derivatives. Each result has the shape
    (N, N, N, N). With samples, an integer array (Q, 4), only the means for these samples in any
    order are computed, and the others are NaN. With half, these are two of the samples before it
    and two of those from it on, and only means with a and b before it are computed. Errors are
    about the tolerance times the norms sqrt(<f^2>) of the four functions. together(z, count)
    returns the first count functions at z,
    where that is faster than one by one.

    Four different samples are averaged given two of them: these are summed over a plane, and the
    other two are correlated Gaussians. If samples repeat, or are multiples of each other, one is
    given, with a finer step.
    """
    check_callable(activation)
    check_orders(len(activation), patterns, 4)
    given = correlations(K)
    asked = asked_for(samples, given.roots.size)
    tolerance = checked_tolerance(tolerance)
    check_together(together)
    if not patterns:
        return []
    with np.errstate(all="ignore"):
        return quadruples_of(
            activation, given, patterns, asked, tolerance, together, half, after_block
        )


def checked_tolerance(tolerance: object) -> float:
    """Refuse tolerances out of reach."""
    low, high = TOLERANCES
    number = tolerance[()] if isinstance(tolerance, np.ndarray) else tolerance
    if not (isinstance(number, Real) and low <= float(number) <= high):
        raise KernelInputError(
            f"The tolerance is {tolerance!r}. It bounds errors in units of the norms sqrt(<f^2>). "
            f"Give a number from {low:g} to {high:g}."
        )
    return float(number)


def check_together(together: object) -> None:
    """Refuse what is neither a function nor nothing."""
    if together is not None and not callable(together):
        raise KernelInputError(
            f"The value {together!r} of together is no function. "
            "It is called with an array and a number of functions. "
            "Give a function that returns sigma, sigma', sigma'', … at z, or nothing."
        )


def asked_for(samples: ArrayLike | None, count: int) -> Indices | None:
    """The samples as an array of integers in range."""
    if samples is None:
        return None
    try:
        rows = np.asarray(samples)
    except ValueError:
        rows = np.array(None)
    if (
        rows.ndim != 2
        or rows.shape[1] != 4
        or rows.dtype.kind not in "iu"
        or (rows.size and not 0 <= rows.min() <= rows.max() < count)
    ):
        raise KernelInputError(
            f"The samples {samples!r} are not quadruples of 0 … {count - 1}. "
            "Each row has the numbers of four samples in K. "
            "Give an array of integers of shape (Q, 4), or nothing for all."
        )
    return rows.astype(np.intp)


def quadruples_of(
    activation: Sequence[Function],
    given: Correlations,
    patterns: Sequence[Pattern],
    asked: Indices | None,
    tolerance: float,
    together: Together | None,
    half: int | None = None,
    after_block: Callable[[float], object] | None = None,
) -> list[Array]:
    """The means from checked input; after_block is told which part of the work is done."""
    lowest_eigenvalue(given.rho)
    lines, place = lines_of(given)
    plain = sorted({tuple(sorted(p)) for p in patterns})
    highest = max(p[-1] for p in plain)
    step = resolving_step(activation[: highest + 1], float(lines.roots.max()) ** 2)
    model, envelope = modelled(activation, lines, plain, together, min(FINE, step))
    accuracy = accuracy_for(model, envelope, plain, tolerance, step)
    wanted = everywhere(None if asked is None else place[asked], lines.roots.size)
    parts: Parts = {p: [] for p in plain}
    live = [p for p in plain if math.prod(model.parities[k] for k in p) >= 0]
    halves = None if half is None else Halves.of(patterns, place, half, lines.roots.size)
    blocks = list(blocks_of(lines, live, wanted, halves))
    efforts = np.cumsum([effort(block) for block in blocks])
    for block, done in zip(blocks, efforts, strict=True):
        added, accuracy = resolved_means(model, accuracy, block)
        collect(parts, lines.roots.size, block, added)
        if after_block is not None:
            after_block(float(done / efforts[-1]))
    count = lines.roots.size
    full = {
        p: assembled(p, parts[p], count) if p in live else np.zeros((count,) * 4) for p in plain
    }
    results = []
    hidden = None if asked is None else ~everywhere(asked, given.roots.size)
    for pattern in patterns:
        order = np.argsort(pattern, kind="stable")
        turned = full[tuple(sorted(pattern))].transpose(np.argsort(order))
        means = turned[np.ix_(place, place, place, place)]
        if hidden is not None:
            means[hidden] = np.nan
        results.append(means)
    return results


def effort(block: Block) -> float:
    """How blocks compare in their work: by pairs and products, and planes have more nodes."""
    share = 1.0 if len(block.leads) == 2 else LINE_EFFORT
    return share * len(block.products) * (1 + block.others.size) ** 2


def resolving_step(chain: Sequence[Function], variance: float) -> float:
    """A step that is right for products of two at a variance, from the last call or chosen."""
    step = tested_step(chain, variance)
    return step if resolved(chain, variance, step) else choose_step(chain, variance)


def everywhere(samples: Indices | None, count: int) -> Mask:
    """Where the quadruples are, in any order."""
    if samples is None:
        return np.ones((count,) * 4, dtype=bool)
    mask = np.zeros((count,) * 4, dtype=bool)
    for order in permutations(range(4)):
        mask[tuple(samples[:, order].T)] = True
    return mask


class Halves(NamedTuple):
    """Which orders can stand at which samples, where these come in two halves.

    Pairs are those of orders before and behind, by pattern; sides are 0 or 1 for each sample, or 2
    for one of both halves.
    """

    pairs: dict[Pattern, frozenset[tuple[Rest, Rest]]]
    sides: list[int]

    @classmethod
    def of(cls, patterns: Sequence[Pattern], place: Indices, half: int, count: int) -> Halves:
        """The halves of the samples, of which equal ones have the same place."""
        pairs: dict[Pattern, set[tuple[Rest, Rest]]] = {}
        for p in patterns:
            both = tuple(sorted(p[:2])), tuple(sorted(p[2:]))
            pairs.setdefault(tuple(sorted(p)), set()).add(both)
        sides = [-1] * count
        for sample, at in enumerate(place.tolist()):
            side = int(sample >= half)
            sides[at] = side if sides[at] in (-1, side) else 2
        return cls({p: frozenset(needed) for p, needed in pairs.items()}, sides)

    def fit(self, pattern: Pattern, orders: tuple[int, ...], chosen: tuple[int, ...]) -> bool:
        """Whether orders can stand at chosen samples."""
        sides = tuple(self.sides[sample] for sample in chosen)
        return 2 in sides or fitting(self.pairs[pattern], orders, sides)


@lru_cache(maxsize=1 << 14)
def fitting(
    pairs: frozenset[tuple[Rest, Rest]], orders: tuple[int, ...], sides: tuple[int, ...]
) -> bool:
    """Whether the orders at each side are among those of one of the pairs."""
    here = [
        Counter(order for order, side in zip(orders, sides, strict=True) if side == n)
        for n in (0, 1)
    ]
    return any(
        all(counted <= Counter(rest) for counted, rest in zip(here, pair, strict=True))
        for pair in pairs
    )


def blocks_of(
    lines: Lines, patterns: Sequence[Pattern], wanted: Mask, halves: Halves | None = None
) -> Iterator[Block]:
    """All that is averaged given one sample or two."""
    members = [np.flatnonzero(lines.line == n).tolist() for n in range(len(lines.leads))]
    for p, lead in enumerate(lines.leads):
        free = lines.line != p
        groups = [c for size in (2, 3, 4) for c in combinations_with_replacement(members[p], size)]
        yield from block_of(lines, patterns, wanted, (lead,), groups, np.outer(free, free), halves)
        for q in range(p + 1, len(members) - 2):
            free = lines.line > q
            apart = np.outer(free, free) & (lines.line[:, None] != lines.line)
            pairs = list(product(members[p], members[q]))
            two = (lead, lines.leads[q])
            yield from block_of(lines, patterns, wanted, two, pairs, apart, halves)


def block_of(
    lines: Lines,
    patterns: Sequence[Pattern],
    wanted: Mask,
    leads: tuple[int, ...],
    groups: Sequence[tuple[int, ...]],
    pairs: Mask,
    halves: Halves | None,
) -> Iterator[Block]:
    """The means with groups of samples on given lines, and pairs of others; none if not wanted."""
    products: Products = {}
    used = np.zeros(lines.roots.size, dtype=bool)
    for group in groups:
        size = 4 - len(group)
        needed = wanted[group] & (pairs, pairs.any(axis=0), True)[2 - size]
        if needed.any():
            add_products(products, patterns, group, halves)
            used |= needed.any(axis=0) if size == 2 else needed & (size == 1)
    if products:
        yield Block(leads, np.flatnonzero(used), pairs, products)


def add_products(
    products: Products,
    patterns: Sequence[Pattern],
    chosen: tuple[int, ...],
    halves: Halves | None,
) -> None:
    """Add all products with outer factors at chosen samples."""
    for pattern in patterns:
        for orders, rest in splits(pattern, len(chosen)):
            if halves is not None and not halves.fit(pattern, orders, chosen):
                continue
            outer = tuple(sorted(zip(orders, chosen, strict=True)))
            rests = products.setdefault(outer, [])
            if rest not in rests:
                rests.append(rest)


@lru_cache(maxsize=256)
def splits(pattern: Pattern, size: int) -> list[tuple[tuple[int, ...], Rest]]:
    """All ways to choose so many orders of a pattern, with the rest."""
    both = {(p[:size], tuple(sorted(p[size:]))) for p in permutations(pattern)}
    return sorted(both)


def collect(parts: Parts, count: int, block: Block, means: Means) -> None:
    """Note means with their places: the samples by order as digits of a number."""
    first, second = np.nonzero(block.pairs[np.ix_(block.others, block.others)])
    left, right = block.others[first], block.others[second]
    for (outer, rest), array in means.items():
        orders = (*(k for k, _ in outer), *rest)
        strides = strides_of(orders, count)
        places = np.array([sum(s * sample for s, (_, sample) in zip(strides, outer, strict=False))])
        if len(rest) == 2:
            places, array = places + strides[2] * left + strides[3] * right, array[first, second]
        elif rest:
            places = places + strides[3] * block.others
        parts[tuple(sorted(orders))].append((places, np.atleast_1d(array)))


@lru_cache(maxsize=256)
def strides_of(orders: tuple[int, ...], count: int) -> list[int]:
    """How far apart the places of samples are whose functions have these orders."""
    axes = np.argsort(np.argsort(orders, kind="stable"))
    return [count ** (3 - axis) for axis in axes.tolist()]


def assembled(pattern: Pattern, parts: list[tuple[Indices, Array]], count: int) -> Array:
    """The means at all places, from those with samples sorted where orders are equal."""
    means = np.full(count**4, np.nan)
    if parts:
        places = np.concatenate([places for places, _ in parts])
        means[sorted_places(pattern, places, count)] = np.concatenate([part for _, part in parts])
    everything = sorted_places(pattern, np.arange(count**4), count)
    return means[everything].reshape((count,) * 4)


def sorted_places(pattern: Pattern, places: Indices, count: int) -> Indices:
    """The places with samples sorted where orders are equal."""
    digits = np.stack(np.unravel_index(places, (count,) * 4), axis=1)
    start = 0
    for k in sorted(set(pattern)):
        stop = start + pattern.count(k)
        digits[:, start:stop].sort(axis=1)
        start = stop
    numbers: Indices = np.ravel_multi_index(tuple(digits.T), (count,) * 4)
    return numbers
