"""Gaussian means of functions with kinks and jumps: panels that end at them, and what they add."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from symdlt.means.grids import (
    TINY,
    Array,
    Function,
    KernelInputError,
    check_callable,
    evaluate,
)

# Where |x|^p exp(-x^2/4), which Hermite coefficients of all degrees have, falls below 1e-17.
EDGE = 13.0
# Off zero, so that odd functions, whose errors cancel on symmetric panels, are tested as well.
CENTRE = 0.37
# From here on the density of a standard Gaussian is no number in double precision.
BEYOND = 38.0
# No panel is wider.
WIDEST_PANEL = 16.0
# The logarithm of the smallest part of a norm that counts: exp(-37) is 1e-16.
FALLEN = 37.0
# The logarithm of TINY: values below count as zero.
LEAST_LOGARITHM = math.log(TINY)
# Where the size of functions is looked at; the shift avoids their zeros, jumps and poles.
LOOKED_AT = 0.4 * np.arange(95) + 0.0371
SOME = np.concatenate([-LOOKED_AT[:16], LOOKED_AT[:16]])
# How much the standard deviation grows from one at which rules are tested to the next.
LADDER = 1.5
# How many of them at most: a factor of 11 000, and beyond it longer steps. Convention.
LADDER_MOST = 24
# The numbers of nodes to try: half as many again each time, for as little work as digits allow.
PANEL_NODES = (32, 48, 72, 108, 162, 243)
# Panels that shrink towards kinks and zero, for functions that change fast there.
GRADED = (-0.3, -1e-2, -3e-4, -1e-5, 1e-5, 3e-4, 1e-2, 0.3)
# Of the absolute means: two rules that agree so far are right to rounding of their sums.
PANEL_AGREEMENT = 1e-13
# Of the absolute means: what a right derivative and right jumps may miss; well above
# rounding, and below what a forgotten kink adds. Convention.
PARTS_AGREEMENT = 1e-9


class Kinks(NamedTuple):
    """Where derivatives jump: places (p), and how far the k-th one does: jumps (p, k)."""

    places: Array
    jumps: Array


class Rule(NamedTuple):
    """Gauss-Legendre nodes on panels: how many, how far panels reach, where they end at kinks."""

    nodes: int
    reach: float = EDGE
    around: tuple[float, ...] = ()


RULES = (
    *map(Rule, PANEL_NODES),
    *(Rule(nodes, EDGE, GRADED) for nodes in PANEL_NODES[:5]),
)


def checked_kinks(
    activation: Sequence[Function], kinks: Sequence[tuple[float, Sequence[float]]]
) -> Kinks:
    """The kinks as arrays."""
    check_callable(activation)
    count = len(activation)
    try:
        kinks = list(kinks)
        places = np.array([place for place, _ in kinks], dtype=np.float64)
        jumps = [np.array(jumps, dtype=np.float64)[:count] for _, jumps in kinks]
        table = np.array(jumps, dtype=np.float64).reshape(len(jumps), count)
    except (TypeError, ValueError, IndexError) as problem:
        raise KernelInputError(
            f"The kinks are {kinks!r}. Each is a position with the jumps of sigma, sigma', …. "
            f"Give as many jumps as functions, {count}, for each."
        ) from problem
    if not (np.isfinite(places).all() and np.isfinite(table).all()):
        raise KernelInputError(
            f"The kinks {kinks!r} are not all finite. Each is a position with the jumps of sigma, "
            "sigma', … there. Give finite numbers."
        )
    if np.unique(places).size < places.size:
        raise KernelInputError(
            f"The kinks {kinks!r} repeat a position. Each is a position with the jumps of sigma, "
            "sigma', … there. Give each position once."
        )
    return Kinks(places, table)


def all_finite(means: list[Array], highest: float) -> list[Array]:
    """Refuse to return what has overflowed."""
    if not all(np.isfinite(mean).all() for mean in means):
        raise KernelInputError(
            "The Gaussian means of the activation overflow. "
            f"The largest variance is {highest:.3g}. "
            "Give variances nearer to one, or lower orders."
        )
    return means


@lru_cache(maxsize=64)
def legendre(count: int) -> tuple[Array, Array]:
    """The Gauss-Legendre rule, its weights from the slopes at the nodes, to the last digits."""
    nodes: Array = np.polynomial.legendre.leggauss(count)[0]
    before, now = np.ones_like(nodes), nodes
    for k in range(2, count + 1):
        before, now = now, ((2 * k - 1) * nodes * now - (k - 1) * before) / k
    slopes = count * (nodes * now - before) / (nodes**2 - 1.0)
    return nodes, 2.0 / ((1.0 - nodes**2) * slopes**2)


def panels(edges: Array, count: int, reach: float = EDGE) -> tuple[Array, Array]:
    """Nodes and weights of a standard Gaussian on panels between edges, along the last axis.

    Gauss-Legendre on each: a function that is smooth between its kinks converges geometrically.
    """
    x, w = legendre(count)
    edges = np.sort(np.clip(edges, -reach, reach), axis=-1)
    widths = np.diff(edges)
    used = widths.any(axis=tuple(range(widths.ndim - 1)))
    half = 0.5 * widths[..., used, None]
    nodes = edges[..., :-1][..., used, None] + half * (1.0 + x)
    weights = half * (w / math.sqrt(2.0 * math.pi)) * np.exp(-0.5 * nodes**2)
    shape = (*edges.shape[:-1], -1)
    return nodes.reshape(shape), weights.reshape(shape)


def panels_of(edges: Array, rule: Rule) -> tuple[Array, Array]:
    """Nodes and weights of a rule, for kinks and other edges along the last axis."""
    return panels(with_ends(edges, rule), rule.nodes, rule.reach)


def with_ends(edges: Array, rule: Rule) -> Array:
    """Edges along the last axis with what a rule has around them, both ends and, for no panel to
    be too wide, the centre.
    """
    shape = edges.shape[:-1]
    centred = np.array([CENTRE] if edges.any() or not edges.size else [])
    between = np.linspace(-1.0, 1.0, 2 * math.ceil(rule.reach / WIDEST_PANEL) + 1)
    ends = np.concatenate([rule.reach * between[between != 0.0], centred, rule.around])
    around = (edges[..., None] + np.array((0.0, *rule.around))).reshape(*shape, -1)
    return np.concatenate([around, np.broadcast_to(ends, (*shape, ends.size))], axis=-1)


def ladder(roots: Array) -> Array:
    """Standard deviations from the largest to the lowest, in steps at which rules are tested."""
    low, high = float(roots[roots > 0.0].min(initial=math.inf)), float(roots.max())
    if not 0.0 < low < high:
        return np.array([high])
    count = 1 + math.ceil(math.log(high / low) / math.log(LADDER))
    return np.geomspace(high, low, min(count, LADDER_MOST))


def reach_for(
    activation: Sequence[Function],
    roots: Array,
    powers: int,
    fallen: float = FALLEN,
    least: float = LEAST_LOGARITHM,
) -> float:
    """How far products of some functions of z = s x matter, in standard deviations.

    With its share of the Gaussian each is negligible where it is below a part, exp(-fallen), of
    its norm sqrt(<f^2>), or below exp(least). Functions may overflow only where they do not matter.
    """
    x = np.concatenate([-LOOKED_AT[::-1], LOOKED_AT])
    values = np.array([evaluate(f, k, roots[:, None] * x) for k, f in enumerate(activation)])
    finite = np.isfinite(values)
    logarithms = np.where(finite, np.log(np.abs(values)), -math.inf)
    halves = logarithms - 0.25 * x**2
    largest = np.maximum(halves.max(axis=-1, keepdims=True), LEAST_LOGARITHM)
    norms = largest + 0.5 * np.log(np.exp(2.0 * (halves - largest)).sum(axis=-1, keepdims=True))
    sizes = logarithms - 0.5 * x**2 / powers
    counts = (sizes > np.maximum(norms - fallen, least)).any(axis=(0, 1))
    reach = float(np.abs(x[counts]).max(initial=0.0) + LOOKED_AT[1] - LOOKED_AT[0])
    first = float(np.abs(x[~finite.all(axis=(0, 1))]).min(initial=math.inf))
    if first <= reach:
        raise KernelInputError(
            f"The activation overflows or is not finite at variance {float(roots.max()) ** 2:.3g}. "
            "It is averaged over a Gaussian. Give a smaller variance or a tamer activation."
        )
    if reach > BEYOND:
        raise KernelInputError(
            f"The Gaussian means of the activation do not converge at variance "
            f"{float(roots.max()) ** 2:.3g}. Products of {powers} of its derivatives still matter "
            f"at {BEYOND:g} standard deviations. Give an activation that grows more slowly, or a "
            "smaller variance."
        )
    return reach


def in_units(places: Array, roots: Array) -> Array:
    """The places (r, p) in units of standard deviations, those beyond any Gaussian at the end."""
    units = np.full((roots.size, places.size), BEYOND)
    np.divide(places, roots[:, None], out=units, where=roots[:, None] != 0.0)
    clipped: Array = np.clip(units, -BEYOND, BEYOND)
    return clipped


def bells(x: Array, count: int) -> Array:
    """The Gaussian density and its derivatives times (-1)^k, in that order along a new axis."""
    table = np.empty((count, *x.shape))
    table[0] = np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi) * (np.abs(x) < BEYOND)
    for k in range(1, count):
        table[k] = x * table[k - 1] - ((k - 1.0) * table[k - 2] if k > 1 else 0.0)
    return table


def panel_rule(activation: Sequence[Function], kinks: Kinks, roots: Array) -> Rule:
    """A rule that is right at standard deviations of all sizes, kept for the next call.

    It is found for somewhat more than these, if there is one; that the functions are still the same
    is told by their values at some places.
    """
    low, high = float(roots[roots > 0.0].min(initial=math.inf)), float(roots.max())
    if not TINY < low <= high < 1.0 / TINY:
        return tested_rule(activation, kinks, roots)
    ends = (
        2.0 ** (0.5 * math.floor(2.0 * math.log2(low))),
        2.0 ** (0.5 * math.ceil(2.0 * math.log2(high))),
    )
    known = tuple(kinks.places.tolist()), tuple(map(tuple, kinks.jumps.tolist()))
    try:
        rule, tried = kept_rule(tuple(activation), known, ends)
    except (TypeError, KernelInputError):
        return tested_rule(activation, kinks, roots)
    if np.array_equal(tried, tried_values(activation, ends[1]), equal_nan=True):
        return rule
    return tested_rule(activation, kinks, roots)


@lru_cache(maxsize=64)
def kept_rule(
    activation: tuple[Function, ...],
    kinks: tuple[tuple[float, ...], tuple[tuple[float, ...], ...]],
    ends: tuple[float, float],
) -> tuple[Rule, Array]:
    """The rule between two standard deviations, and values of the functions."""
    places, jumps = kinks
    table = np.array(jumps).reshape(len(places), len(activation))
    rule = tested_rule(activation, Kinks(np.array(places), table), np.array(ends))
    return rule, tried_values(activation, ends[1])


def tried_values(activation: Sequence[Function], root: float) -> Array:
    """The functions at some places."""
    return np.array([evaluate(f, k, root * SOME) for k, f in enumerate(activation)])


def tested_rule(activation: Sequence[Function], kinks: Kinks, roots: Array) -> Rule:
    """The first rule that agrees with the one before, at standard deviations of all sizes.

    By parts, E[(x-1) e^x f] = s E[e^x f'] + sum over kinks of their jumps times e^x and density,
    which is Stein's lemma: this finds kinks that were not given, wrong jumps, and what is not a
    derivative.
    """
    tested = ladder(roots)
    reach = max(EDGE, reach_for(activation, tested, 2))
    before = wrong = None
    for rule in rules_for(kinks):
        rule = rule._replace(reach=reach)
        x, w = panels_of(in_units(kinks.places, tested), rule)
        values = np.array([evaluate(f, k, tested[:, None] * x) for k, f in enumerate(activation)])
        tilted = w * np.exp(x - 0.5)
        totals, sizes = tested_sums(values, x, w, tilted)
        if not np.isfinite(sizes).all():
            raise KernelInputError(
                f"The activation overflows or is not finite at variance {tested[0] ** 2:.3g}. "
                "It is averaged over a Gaussian. Give a smaller variance or a tamer activation."
            )
        if before is not None and (np.abs(totals - before) <= PANEL_AGREEMENT * sizes + TINY).all():
            wrong = wrong_parts(kinks, tested, values, x, tilted)
            if wrong is None:
                return rule
        before = totals
    if wrong is not None:
        place, root = wrong
        raise KernelInputError(
            f"Function {place + 1} of the activation is not the derivative of function {place}. "
            f"Integration by parts with the given kinks fails for z of variance "
            f"{tested[root] ** 2:.3g}. "
            "Give sigma, sigma', sigma'', … in order, and all kinks with their jumps."
        )
    raise KernelInputError(
        f"The Gaussian means of the activation do not converge at variance {tested[0] ** 2:.3g}. "
        "It is integrated between its kinks. "
        "Give all kinks, or a smoother activation, or a smaller variance."
    )


def rules_for(kinks: Kinks) -> Sequence[Rule]:
    """The rules to try: where panels end because a text says so, they need not shrink once more."""
    laid = not kinks.jumps.any(axis=1).all()
    return RULES[: len(PANEL_NODES)] if laid else RULES


def tested_sums(values: Array, x: Array, w: Array, tilted: Array) -> tuple[Array, Array]:
    """What two rules must agree on, and its absolute size: products, and both sides by parts."""
    products = (values[:, None] * values).reshape(-1, *x.shape)
    totals = [*np.einsum("prx,rx->pr", products, w)]
    sizes = [*np.einsum("prx,rx->pr", np.abs(products), w)]
    absolute = np.einsum("krx,rx->kr", np.abs(values), tilted)
    for weights in (tilted, x * tilted):
        totals += [*np.einsum("krx,rx->kr", values, weights)]
        sizes += [*absolute]
    return np.array(totals), np.array(sizes)


def wrong_parts(
    kinks: Kinks, roots: Array, values: Array, x: Array, tilted: Array
) -> tuple[int, int] | None:
    """The first function, and standard deviation, that fails the test against the next one."""
    units = in_units(kinks.places, roots)
    at_kinks = bells(units, 1)[0] * np.exp(units - 0.5)
    below, above = values[:-1], roots[:, None] * values[1:]
    left = ((x - 1.0) * tilted * below).sum(axis=-1)
    right = (tilted * above).sum(axis=-1) + (at_kinks @ kinks.jumps[:, :-1]).T
    size = (np.abs(x - 1.0) * tilted * np.abs(below) + tilted * np.abs(above)).sum(axis=-1)
    wrong = np.argwhere(~(np.abs(left - right) <= PARTS_AGREEMENT * size + TINY))
    return (int(wrong[0, 0]), int(wrong[0, 1])) if wrong.size else None


def delta_sum(jumps: Array, order: int, term: Callable[[int], Array]) -> Array | float:
    """The sum over r of the jump of function order-1-r times term(r), of one kink.

    That function of the activation, as a distribution, contains this combination of the
    derivatives delta^(r) at the kink.
    """
    total: Array | float = 0.0
    for r in range(order):
        if jumps[order - 1 - r]:
            total = total + jumps[order - 1 - r] * term(r)
    return total


def delta_mean(
    jumps: Array, order: int, unit: Array, root: Array, derivative: Callable[[int], Array]
) -> Array | float:
    """The mean over z = root x of the delta functions of one function at a kink times another.

    The kink is at x = unit, and derivative(c) is the c-th derivative of the other by z.
    """
    table = bells(unit, max(order, 1))

    def term(r: int) -> Array:
        total: Array = sum(
            math.comb(r, c) * (-1.0) ** c * derivative(c) * table[r - c] / root ** (r - c)
            for c in range(r + 1)
        )
        return total / np.abs(root)

    return delta_sum(jumps, order, term)
