"""Gaussian means of all pairs of samples for activations with kinks, delta functions included."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from symdlt.means.coincident import MATCH, coincident_means
from symdlt.means.correlations import Pairs, Upper, correlations, upper
from symdlt.means.grids import TINY, Array, Function, KernelInputError, evaluate
from symdlt.means.narrow import with_narrow
from symdlt.means.pairs import (
    above,
    check_orders,
    thresholds,
    upper_sums,
    wanted_by,
    whole_means,
)
from symdlt.means.panels import (
    BEYOND,
    Kinks,
    Rule,
    all_finite,
    bells,
    checked_kinks,
    delta_mean,
    delta_sum,
    in_units,
    panel_rule,
    panels_of,
    rules_for,
)
from symdlt.means.spectra import (
    Spectra,
    Tasks,
    Wanted,
    bounds,
    by_parity,
    first_terms,
    series_length,
)

# Terms of a series that falls off slowly: it is right up to a correlation of about 0.85.
KINKED_TERMS = 256
# What Hermite polynomials of up to KINKED_TERMS add to the nodes of a panel: their product with
# exp(-x^2/4) has frequencies up to sqrt(2 KINKED_TERMS) on half a panel, 147, two nodes for pi.
HERMITE_NODES = 80
# 1 - |rho| of samples that are the same, by a few roundings of the correlation.
COINCIDENT = 4.0 * float(np.finfo(np.float64).eps)
# Widths around the image of a kink that its panels have: exp(-x^2/2) is 1e-14 there.
IMAGE = 8.0
# Measured: right rules are below 1e-14 but for rounding, which bells of width c enlarge by 1/c.
TILTED_AGREEMENT = 1e-12
# What rounding adds to it over a bell of width one.
BELL_ROUNDING = 1e-15
# Nodes at once: 1 MB an array, for the cache.
WORK = 1 << 17


def kinked_pair_means(
    activation: Sequence[Function],
    kinks: Sequence[tuple[float, Sequence[float]]],
    K: Array,
    orders: Sequence[tuple[int, int]],
    zero_slopes: bool = False,
) -> list[Array]:
    """<f_a(z_i) f_b(z_j)> for z ~ N(0, K) as an N×N array for each (a, b) in orders.

    The activation is a function that is smooth between kinks, and its derivatives there. A kink is
    a position with the jumps of all of them. Means are those of the distributions: f_1 of a
    function that jumps, f_2 of one with a kink, … have delta functions.

    Where samples coincide, |rho| = 1, some means are infinite, and are given without the infinite
    part, such that Leibniz' rule holds: d(f_a f_b) = f_{a+1} f_b + f_a f_{b+1}.

    Samples of variance zero are refused if there is a kink at zero. With zero_slopes, means with
    derivatives at them are zero: right where all that these multiply vanishes.
    """
    places = checked_kinks(activation, kinks)
    check_orders(len(activation), orders)
    given = upper(correlations(K))
    if not orders:
        return []
    check_orders_of_kinks(len(activation), places, orders)
    check_samples(given, places, orders, zero_slopes)
    with np.errstate(all="ignore"):
        places = with_narrow(places, activation, given.roots)
        means = kinked_means(activation, places, given, orders)
    if zero_slopes:
        without_slopes(means, orders, given.roots == 0.0)
    return all_finite(means, float(given.roots.max()) ** 2)


def without_slopes(
    tables: Sequence[Array], orders: Sequence[tuple[int, ...]], zero: NDArray[np.bool_]
) -> None:
    """Set means with derivatives at some samples to zero."""
    for table, order in zip(tables, orders, strict=True):
        for axis, k in enumerate(order):
            if k:
                np.moveaxis(table, axis, 0)[zero] = 0.0


def has_infinite_pair(jumps: Array, orders: Sequence[tuple[int, ...]]) -> bool:
    """Whether a mean of two delta functions, from the jumps (kink, k), is infinite where samples
    meet, and stands without the mean with which Leibniz' rule makes it finite.
    """
    return any(
        min(order) > 0
        and all(jumps[:, k - 1].any() for k in order)
        and not {(order[0] - 1, order[1] + 1), (order[0] + 1, order[1] - 1)} & set(orders)
        for order in orders
        if len(order) == 2
    )


def meeting_jumps(kinks: Sequence[tuple[float, Sequence[float]]], K: Array) -> NDArray[np.bool_]:
    """The pairs of samples, |rho| = 1, that are at a jump of the function together.

    <f'(z_i) f'(z_j)> is infinite there.
    """
    given = correlations(K)
    jumps = np.array([place for place, row in kinks if row[0]])
    rho = given.rho.copy()
    np.fill_diagonal(rho, 1.0)
    units = in_units(jumps, given.roots)
    apart = np.abs(units[:, None, :, None] - np.sign(rho)[..., None, None] * units[:, None, :])
    inside = np.abs(units) < BEYOND
    meet = (apart <= MATCH * np.abs(units)[:, None, :, None]) & inside[:, None, :, None]
    meeting: NDArray[np.bool_] = meet.any(axis=(2, 3)) & (np.abs(rho) >= 1.0 - COINCIDENT)
    return meeting


def check_orders_of_kinks(count: int, kinks: Kinks, orders: Tasks) -> None:
    """Derivatives of delta functions act on the other function, which must be given so far."""
    first = min((int(np.argmax(row != 0.0)) for row in kinks.jumps if row.any()), default=count)
    for a, b in orders:
        if max(a, b) > first and a + b - 1 - first >= count:
            raise KernelInputError(
                f"The orders ({a}, {b}) need {a + b - first} functions. "
                f"The activation has kinks and is given by {count} functions. "
                "Give more derivatives, or lower orders."
            )


def check_samples(
    given: Upper, kinks: Kinks, orders: Sequence[tuple[int, ...]], zero_slopes: bool
) -> None:
    """Refuse to evaluate an activation at its kink."""
    highest = 0 if zero_slopes else max(max(order) for order in orders)
    if not given.roots.all() and kinks.jumps[kinks.places == 0.0, : highest + 1].any():
        raise KernelInputError(
            "The kernel K has samples of variance zero. The activation has a kink at zero, where "
            "not all of its derivatives are defined. Give samples that are not zero, or a bias."
        )


def kinked_means(
    activation: Sequence[Function], kinks: Kinks, given: Upper, orders: Tasks
) -> list[Array]:
    """The means from a checked K."""
    wanted = wanted_by(tuple(map(tuple, orders)))._replace(slopes={})
    named = [(wanted.used[a], wanted.used[b]) for a, b in wanted.tasks]
    rule = panel_rule(activation, kinks, given.roots)
    spectra = kinked_spectra(activation, wanted, kinks, given, rule)
    diagonals = coincident_means(activation, kinks, named, given.roots, given.roots, rule)
    spectra = spectra._replace(diagonals=diagonals)
    bulk, limit = thresholds(given, spectra)
    sums = upper_sums(given, spectra, wanted, bulk, limit)
    if limit < given.most:
        fill_near(sums, activation, kinks, given, named, limit, rule)
    sums[:, given.corner.diagonal] = spectra.diagonals
    return whole_means(sums, wanted, given.corner)


def kinked_spectra(
    activation: Sequence[Function], wanted: Wanted, kinks: Kinks, given: Upper, rule: Rule
) -> Spectra:
    """Hermite coefficients, which fall off slowly: the series is for correlations not near one.

    They are summed by Mehler's formula, as those of smooth functions.
    """
    terms = first_terms(given.most, KINKED_TERMS)
    roots, used = given.roots, wanted.used
    finer = rule._replace(nodes=rule.nodes + HERMITE_NODES)
    x, w = panels_of(in_units(kinks.places, roots), finer)
    values = np.array([w * evaluate(activation[k], k, roots[:, None] * x) for k in used])
    smooth = np.empty((terms, *values.shape[:2]))
    for m, hermite in enumerate(hermites(x, terms)):
        np.einsum("kij,ij->ki", values, hermite, out=smooth[m])
    coefficients = smooth.transpose(1, 0, 2)
    if used[-1] and kinks.places.size:
        coefficients = coefficients + delta_coefficients(used, kinks, roots, terms)
    coefficients = np.ascontiguousarray(coefficients)
    norms = np.sqrt((coefficients[:, :64] ** 2).sum(axis=1))
    rows, bound, end = bounds(coefficients, norms, wanted, roots, given.most)
    powers, length = [0] * len(used), series_length(bound, given.most)
    return Spectra(0.0, by_parity(coefficients), powers, norms, rows, bound, 16.0 * end, length)


def hermites(x: Array, terms: int, weights: Array | float = 1.0) -> Iterator[Array]:
    """The normalised Hermite polynomials times weights, one by one, by their recurrence."""
    before, now = np.zeros_like(x), weights * np.ones_like(x)
    for m in range(terms):
        yield now
        before, now = now, (x * now - math.sqrt(m) * before) / math.sqrt(m + 1.0)


def delta_coefficients(used: list[int], kinks: Kinks, roots: Array, terms: int) -> Array:
    """What the delta functions add to the Hermite coefficients."""
    most = used[-1]
    units = in_units(kinks.places, roots)
    table = np.array(list(hermites(units, terms + most))) * bells(units, 1)[0]
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0.0)
    degrees = np.arange(terms, dtype=np.float64)
    coefficients = np.zeros((len(used), terms, roots.size))
    for r in range(most):
        scale = np.sqrt(np.prod([degrees + c + 1.0 for c in range(r)], axis=0))
        scaled = np.multiply.outer(scale, inverse ** (r + 1))
        for index, k in enumerate(used):
            if k > r:
                coefficients[index] += scaled * (table[r : r + terms] @ kinks.jumps[:, k - 1 - r])
    return coefficients


def fill_near(
    sums: Array,
    activation: Sequence[Function],
    kinks: Kinks,
    given: Upper,
    named: Tasks,
    rho: float,
    rule: Rule,
) -> None:
    """Pairs too near to |rho| = 1 for the series."""
    places = above(given, rho)
    same = np.abs(given.pairs.rho[places]) >= 1.0 - COINCIDENT
    if same.any():
        here = given.pairs.at(places[same])
        other = np.copysign(given.roots[here.j], here.rho)
        sums[:, places[same]] = coincident_means(
            activation, kinks, named, given.roots[here.i], other, rule
        )
    places = places[~same]
    height = max(1, WORK // nodes_of_a_pair(kinks, rule))
    for start in range(0, places.size, height):
        part = places[start : start + height]
        sums[:, part] = tested_near(activation, kinks, given.pairs.at(part), named, rule)


def nodes_of_a_pair(kinks: Kinks, rule: Rule) -> int:
    """About how many nodes near_means has for a pair."""
    each = 1 + len(rule.around)
    inner, outer = each * kinks.places.size + 1, 4 * each * kinks.places.size + 1
    return inner * outer * rule.nodes**2


def tested_near(
    activation: Sequence[Function], kinks: Kinks, pairs: Pairs, named: Tasks, rule: Rule
) -> Array:
    """Means of pairs from the first rule, from the given one on, that passes a test."""
    rules = rules_for(kinks)
    first = next(k for k, one in enumerate(rules) if one[::2] == rule[::2])
    means = np.empty((len(named), pairs.rho.size))
    left = np.arange(pairs.rho.size)
    for one in rules[first:]:
        here = pairs.at(left)
        means[:, left], right = near_means(
            activation, kinks, here, named, one._replace(reach=rule.reach)
        )
        left = left[~right]
        if not left.size:
            return means
    worst = pairs.at(left[:1])
    raise KernelInputError(
        f"The Gaussian means of the activation do not converge for samples of correlation "
        f"{float(worst.rho[0]):.12g} and variances {worst.roots[worst.i[0]] ** 2:.3g} and "
        f"{worst.roots[worst.j[0]] ** 2:.3g}. It is integrated between its kinks. "
        "Give a smoother activation, or a smaller variance."
    )


def near_means(
    activation: Sequence[Function], kinks: Kinks, pairs: Pairs, named: Tasks, rule: Rule
) -> tuple[Array, NDArray[np.bool_]]:
    """Means of pairs by panels in x, and in y for each x; z_i = s_i x, z_j = s_j (rho x + c y).

    Given x, the mean over y is smooth in x but changes fast where z_j has its kinks for y = 0.
    Whether each pair passes is told as well: with e^x for the first function, sums must be means
    over the second variable alone.
    """
    rho, si, sj = pairs.rho, pairs.roots[pairs.i], pairs.roots[pairs.j]
    c = np.sqrt((1.0 - rho) * (1.0 + rho))
    if rule.around:
        kinks = with_zero(kinks)
    own, images = in_units(kinks.places, si), in_units(kinks.places, rho * sj)
    reach = IMAGE * (c / np.abs(rho))[:, None]
    edges = np.concatenate([own, images - reach, images, images + reach], axis=1)
    x, w = panels_of(edges, rule)
    places = kinks.places.size
    all_x = np.concatenate([x, own], axis=1)
    mean = conditional_means(activation, kinks, rho[:, None] * sj[:, None] * all_x, c * sj, rule)
    outer = {a: w * evaluate(activation[a], a, si[:, None] * x) for a in {a for a, _ in named}}
    slope = rho * sj / si

    def at_kink(p: int, b: int) -> Callable[[int], Array]:
        return lambda order: slope**order * mean(b + order)[:, x.shape[1] + p]

    means = np.empty((len(named), rho.size))
    for index, (a, b) in enumerate(named):
        means[index] = np.einsum("ij,ij->i", outer[a], mean(b)[:, : x.shape[1]])
        for p in range(places):
            means[index] += delta_mean(kinks.jumps[p], a, own[:, p], si, at_kink(p, b))
    right = np.ones(rho.size, dtype=bool)
    tilted = w * np.exp(x - 0.5)
    allowed = TILTED_AGREEMENT + BELL_ROUNDING / c
    for b in sorted({b for _, b in named}):
        parts = tilted * mean(b)[:, : x.shape[1]]
        off = np.abs(parts.sum(axis=1) - tilted_means(activation, kinks, b, rho, sj, rule))
        right &= off <= allowed * np.abs(parts).sum(axis=1) + TINY
    return means, right


def with_zero(kinks: Kinks) -> Kinks:
    """The kinks and zero, where activations may change fast as well."""
    if not kinks.places.all():
        return kinks
    nothing = np.zeros((1, kinks.jumps.shape[1]))
    return Kinks(np.append(kinks.places, 0.0), np.concatenate([kinks.jumps, nothing]))


def tilted_means(
    activation: Sequence[Function], kinks: Kinks, b: int, rho: Array, root: Array, rule: Rule
) -> Array:
    """E[e^(x - 1/2) f_b(z_j)] = E[e^(rho x - rho^2/2) f_b(s_j x)], from nodes for one variable."""
    own = in_units(kinks.places, root)
    x, w = panels_of(own, rule)
    values = evaluate(activation[b], b, root[:, None] * x)
    means: Array = np.einsum(
        "ij,ij,ij->i", w, values, np.exp(rho[:, None] * (x - 0.5 * rho[:, None]))
    )
    for p, jumps in enumerate(kinks.jumps if b else ()):
        tilt = np.exp(rho * (own[:, p] - 0.5 * rho))

        def derivative(order: int, tilt: Array = tilt) -> Array:
            value: Array = (rho / root) ** order * tilt
            return value

        means += delta_mean(jumps, b, own[:, p], root, derivative)
    return means


def conditional_means(
    activation: Sequence[Function], kinks: Kinks, centre: Array, tau: Array, rule: Rule
) -> Callable[[int], Array]:
    """The means of the functions, by their order, over z of mean centre and deviation tau."""
    tau = tau[:, None]
    units = np.clip((kinks.places - centre[..., None]) / tau[..., None], -BEYOND, BEYOND)
    y, w = panels_of(units, rule)
    z = centre[..., None] + tau[..., None] * y
    table = bells(units, len(activation))
    known: dict[int, Array] = {}

    def bell(p: int, r: int) -> Array:
        value: Array = table[r, ..., p] / tau ** (r + 1)
        return value

    def mean(b: int) -> Array:
        if b not in known:
            value = np.einsum("ijk,ijk->ij", w, evaluate(activation[b], b, z))
            for p, jumps in enumerate(kinks.jumps):
                value += delta_sum(jumps, b, partial(bell, p))
            known[b] = value
        return known[b]

    return mean
