"""Gaussian means of all pairs of samples for activations with kinks, delta functions included."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from symdlt.means._coincident import coincident_means
from symdlt.means._correlations import Pairs, Upper, correlations, upper
from symdlt.means._grids import Array, Function, KernelInputError, evaluate
from symdlt.means._pairs import (
    above,
    check_orders,
    thresholds,
    upper_sums,
    wanted_by,
    whole_means,
)
from symdlt.means._panels import (
    BEYOND,
    Kinks,
    all_finite,
    bells,
    checked_kinks,
    delta_mean,
    delta_sum,
    in_units,
    panel_nodes,
    panels,
    with_ends,
)
from symdlt.means._spectra import (
    Spectra,
    Tasks,
    Wanted,
    bounds,
    by_parity,
    first_terms,
    series_length,
)

KINKED_TERMS = 256
COEFFICIENT_NODES = 128
COINCIDENT = 4.0 * float(np.finfo(np.float64).eps)
IMAGE = 8.0
WORK = 1 << 17


def kinked_pair_means(
    activation: Sequence[Function],
    kinks: Sequence[tuple[float, Sequence[float]]],
    K: Array,
    orders: Sequence[tuple[int, int]],
) -> list[Array]:
    """<f_a(z_i) f_b(z_j)> for z ~ N(0, K) as an N×N array for each (a, b) in orders.

    The activation is a function that is smooth between kinks, and its derivatives there. A kink is
    a position with the jumps of all of them. Means are those of the distributions: f_1 of a
    function that jumps, f_2 of one with a kink, … have delta functions.

    Where samples coincide, |rho| = 1, some means are infinite, and are given without the infinite
    part, such that Leibniz' rule holds: d(f_a f_b) = f_{a+1} f_b + f_a f_{b+1}.
    """
    places = checked_kinks(activation, kinks)
    check_orders(len(activation), orders)
    given = upper(correlations(K))
    if not orders:
        return []
    check_orders_of_kinks(len(activation), places, orders)
    check_samples(given, places, orders)
    with np.errstate(all="ignore"):
        means = kinked_means(activation, places, given, orders)
    return all_finite(means, float(given.roots.max()) ** 2)


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


def check_samples(given: Upper, kinks: Kinks, orders: Tasks) -> None:
    """Refuse to evaluate an activation at its kink."""
    highest = max(max(order) for order in orders)
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
    count = panel_nodes(activation, kinks, float(given.roots.max()))
    spectra = kinked_spectra(activation, wanted, kinks, given)
    diagonals = coincident_means(activation, kinks, named, given.roots, given.roots, count)
    spectra = spectra._replace(diagonals=diagonals)
    bulk, limit = thresholds(given, spectra)
    sums = upper_sums(given, spectra, wanted, bulk, limit)
    if limit < given.most:
        fill_near(sums, activation, kinks, given, named, limit, count)
    sums[:, given.corner.diagonal] = spectra.diagonals
    return whole_means(sums, wanted, given.corner)


def kinked_spectra(
    activation: Sequence[Function], wanted: Wanted, kinks: Kinks, given: Upper
) -> Spectra:
    """Hermite coefficients, which fall off slowly: the series is for correlations not near one."""
    terms = first_terms(given.most, KINKED_TERMS)
    roots, used = given.roots, wanted.used
    x, w = panels(with_ends(in_units(kinks.places, roots)), COEFFICIENT_NODES)
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


def hermites(x: Array, terms: int) -> Iterator[Array]:
    """The normalised Hermite polynomials, one after the other."""
    before, now = np.zeros_like(x), np.ones_like(x)
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
    found = np.zeros((len(used), terms, roots.size))
    for r in range(most):
        scale = np.sqrt(np.prod([degrees + c + 1.0 for c in range(r)], axis=0))
        scaled = np.multiply.outer(scale, inverse ** (r + 1))
        for index, k in enumerate(used):
            if k > r:
                found[index] += scaled * (table[r : r + terms] @ kinks.jumps[:, k - 1 - r])
    return found


def fill_near(
    sums: Array,
    activation: Sequence[Function],
    kinks: Kinks,
    given: Upper,
    named: Tasks,
    rho: float,
    count: int,
) -> None:
    """Pairs too near to |rho| = 1 for the series."""
    places = above(given, rho)
    same = np.abs(given.pairs.rho[places]) >= 1.0 - COINCIDENT
    if same.any():
        here = given.pairs.at(places[same])
        other = np.copysign(given.roots[here.j], here.rho)
        sums[:, places[same]] = coincident_means(
            activation, kinks, named, given.roots[here.i], other, count
        )
    places = places[~same]
    inner, outer = kinks.places.size + 1, 4 * kinks.places.size + 1
    height = max(1, WORK // (inner * outer * count**2))
    for start in range(0, places.size, height):
        part = places[start : start + height]
        sums[:, part] = near_means(activation, kinks, given.pairs.at(part), named, count)


def near_means(
    activation: Sequence[Function], kinks: Kinks, pairs: Pairs, named: Tasks, count: int
) -> Array:
    """Means of pairs by panels in x, and in y for each x; z_i = s_i x, z_j = s_j (rho x + c y).

    Given x, the mean over y is smooth in x but changes fast where z_j has its kinks for y = 0.
    """
    rho, si, sj = pairs.rho, pairs.roots[pairs.i], pairs.roots[pairs.j]
    c = np.sqrt((1.0 - rho) * (1.0 + rho))
    own, images = in_units(kinks.places, si), in_units(kinks.places, rho * sj)
    reach = IMAGE * (c / np.abs(rho))[:, None]
    edges = with_ends(np.concatenate([own, images - reach, images, images + reach], axis=1))
    x, w = panels(edges, count)
    places = kinks.places.size
    all_x = np.concatenate([x, own], axis=1)
    mean = conditional_means(activation, kinks, rho[:, None] * sj[:, None] * all_x, c * sj, count)
    outer = {a: w * evaluate(activation[a], a, si[:, None] * x) for a in {a for a, _ in named}}
    slope = rho * sj / si

    def at_kink(p: int, b: int) -> Callable[[int], Array]:
        return lambda order: slope**order * mean(b + order)[:, x.shape[1] + p]

    found = np.empty((len(named), rho.size))
    for index, (a, b) in enumerate(named):
        found[index] = np.einsum("ij,ij->i", outer[a], mean(b)[:, : x.shape[1]])
        for p in range(places):
            found[index] += delta_mean(kinks.jumps[p], a, own[:, p], si, at_kink(p, b))
    return found


def conditional_means(
    activation: Sequence[Function], kinks: Kinks, centre: Array, tau: Array, count: int
) -> Callable[[int], Array]:
    """The means of the functions, by their order, over z of mean centre and deviation tau."""
    tau = tau[:, None]
    units = np.clip((kinks.places - centre[..., None]) / tau[..., None], -BEYOND, BEYOND)
    y, w = panels(with_ends(units), count)
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
