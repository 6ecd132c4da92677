"""Means over the preactivations of two lines of samples, and of one or two others given these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from symdlt.means.grids import Array, Function, evaluate
from symdlt.means.kinked import hermites
from symdlt.means.lines import Lines
from symdlt.means.panels import BEYOND, Kinks, bells, panels

LineFactors = tuple[tuple[int, int], ...]

# No panel of a plane is wider; where standard Gaussians alone end for the default tolerance.
WIDEST = 8.5
# In standard deviations: a kink blurred over more needs no panels; by convention.
SMOOTH = 0.6
# In widths of what blurs a kink, where it ends: exp(-x^2/2) is 7e-10 there.
BLURRED = 6.5
# Widths of a blur below count as none: smooth factors see their square, 1e-14.
SHARP = 1e-7
# Slopes, and variances that are left, below count as zero; well above rounding, by convention.
FLAT = 1e-9
# Places, and correlations, nearer than this are the same, or zero; above rounding.
NEAR = 1e-12
# Correlations up to which a series is used: 43 terms there at the tolerance of 1e-7.
ALIKE = 0.6
# Nodes at once: 2 MB an array; for memory only.
PIECE = 1 << 18


class Mesh(NamedTuple):
    """How many nodes a panel has, where panels end around each kink, and how far they reach."""

    nodes: int
    around: tuple[float, ...] = (0.0,)
    reach: float = WIDEST


class Setting(NamedTuple):
    """What does not change: functions, kinks, samples, tolerance, norms (function, sample).

    And how many nodes a plane and what is left of others may have.
    """

    functions: Sequence[Function]
    kinks: Kinks
    lines: Lines
    tolerance: float
    norms: Array
    most_work: float = math.inf


class Plane(NamedTuple):
    """Nodes for two lines: x on the first, of shape (n, 1), x on the second and white v, (n, m).

    The last columns and rows belong to delta functions at kinks; atoms and crossing say how many.
    """

    x: Array
    y: Array
    v: Array
    weights: Array
    atoms: Array
    crossing: Array


class LeftLine(NamedTuple):
    """A line given two: its unit variable is a x + b v + spread t."""

    a: float
    b: float
    spread: float


def kinks_of(setting: Setting, line: int) -> Array:
    """Where the functions of samples on a line have kinks, in units of the line."""
    lines = setting.lines
    units = [
        place / (lines.roots[m] * lines.signs[m])
        for m in np.flatnonzero(lines.line == line)
        for place in setting.kinks.places
        if lines.roots[m] > 0.0
    ]
    places: Array = np.unique([unit for unit in units if abs(unit) < BEYOND])
    return places


def line_correlation(setting: Setting, one: int, other: int) -> float:
    """The correlation of the unit variables of two lines."""
    leads = setting.lines.leads
    return float(setting.lines.rho[leads[one], leads[other]])


def rest_of(setting: Setting, leads: tuple[int, int], line: int) -> LeftLine:
    """A line given two others."""
    rho = line_correlation(setting, *leads)
    c = math.sqrt((1.0 - rho) * (1.0 + rho))
    a = line_correlation(setting, leads[0], line)
    b = (line_correlation(setting, leads[1], line) - a * rho) / c
    left = (1.0 - a) * (1.0 + a) - b * b
    return LeftLine(a, b, math.sqrt(left) if left > FLAT else 0.0)


def rest_correlation(setting: Setting, others: Sequence[int], rests: Sequence[LeftLine]) -> float:
    """The correlation of two lines given two others."""
    one, other = rests
    if one.spread * other.spread == 0.0:
        return 0.0
    mixed = line_correlation(setting, *others) - one.a * other.a - one.b * other.b
    return min(max(mixed / (one.spread * other.spread), -1.0), 1.0)


def blurred_edges(place: Array, width: float) -> list[Array]:
    """Edges around a kink that a Gaussian of a certain width has washed out, none if it is wide."""
    if not width < SMOOTH:
        return []
    around = [place - BLURRED * width, place + BLURRED * width] if width > SHARP else []
    return [place, *around]


def mesh_edges(mesh: Mesh, places: Array) -> Array:
    """Where panels end for kinks at certain places (…, kink), or at zero if there are none."""
    centres = places if places.shape[-1] else np.zeros((*places.shape[:-1], 1))
    around = (centres[..., None] + mesh.around).reshape(*centres.shape[:-1], -1)
    between = mesh.reach * np.linspace(-1.0, 1.0, 2 * math.ceil(mesh.reach / WIDEST) + 1)
    ends = np.broadcast_to(between, (*centres.shape[:-1], between.size))
    edges: Array = np.concatenate([ends, np.clip(around, -mesh.reach, mesh.reach)], axis=-1)
    return edges


def plane_nodes(
    setting: Setting, leads: tuple[int, int], rests: Sequence[tuple[int, LeftLine]], mesh: Mesh
) -> Plane:
    """Nodes that end panels at every kink of the lines, and at those of the rest if sharp."""
    first, second = (kinks_of(setting, line) for line in leads)
    rho = line_correlation(setting, *leads)
    c = math.sqrt((1.0 - rho) * (1.0 + rho))
    ours = [(rho, c, 0.0, place) for place in second]
    slants = [(r.a, r.b, r.spread, place) for n, r in rests for place in kinks_of(setting, n)]
    slants += meeting_kinks(setting, rests)
    edges = [*mesh_edges(mesh, first), *outer_edges([*ours, *slants], mesh.reach)]
    regular, weights = panels(np.array(edges), mesh.nodes, mesh.reach)
    x = np.concatenate([regular, first])
    weights = np.concatenate([weights, bells(first, 1)[0]])
    atoms = (second - rho * x[:, None]) / c
    rows = list(mesh_edges(mesh, atoms).T)
    for a, b, spread, place in slants:
        if abs(b) > FLAT:
            rows += blurred_edges((place - a * x) / b, spread / abs(b))
    v, inner = panels(np.stack(rows, axis=-1), mesh.nodes, mesh.reach)
    v = np.concatenate([v, atoms], axis=1)
    inner = np.concatenate([inner, bells(atoms, 1)[0] / c], axis=1)
    y = rho * x[:, None] + c * v
    y[:, v.shape[1] - second.size :] = second
    return Plane(x[:, None], y, v, weights[:, None] * inner, first, second)


def meeting_kinks(
    setting: Setting, rests: Sequence[tuple[int, LeftLine]]
) -> list[tuple[float, float, float, float]]:
    """Where the kinks of two lines that are alike are met together."""
    if len(rests) < 2 or not all(rest.spread for _, rest in rests):
        return []
    (one, first), (other, second) = rests
    rho = rest_correlation(setting, (one, other), (first, second))
    if abs(rho) <= ALIKE:
        return []
    scale = first.spread / (second.spread * rho)
    blur = first.spread * math.sqrt((1.0 - rho) * (1.0 + rho)) / abs(rho)
    return [
        (first.a - scale * second.a, first.b - scale * second.b, blur, place - scale * level)
        for place in kinks_of(setting, one)
        for level in kinks_of(setting, other)
    ]


def outer_edges(slants: list[tuple[float, float, float, float]], reach: float) -> list[float]:
    """Where panels of the first line end because kinks of others are met or crossed there."""
    edges: list[Array] = []
    for number, (a, b, spread, place) in enumerate(slants):
        if abs(a) > FLAT:
            edges += blurred_edges(np.array(place / a), math.hypot(spread, b) / abs(a))
        for other, slope, blur, level in slants[number + 1 :]:
            if abs(b) > FLAT:
                met = other - slope * a / b
                if abs(met) > FLAT:
                    width = (blur + spread * abs(slope / b)) / abs(met)
                    edges += blurred_edges(np.array((level - slope * place / b) / met), width)
    return [min(max(float(edge), -reach), reach) for edge in edges]


def line_values(setting: Setting, factors: LineFactors, x: Array, atoms: Array) -> Array:
    """The product of factors on a line at x; the last columns of x are the atoms."""
    (values,) = products_at(setting, [factors], x[..., : x.shape[-1] - atoms.size])
    masses = np.array([atom_mass(setting, factors, float(atom)) for atom in atoms])
    spread = np.broadcast_to(masses, (*x.shape[:-1], atoms.size))
    return np.concatenate([values, spread], axis=-1)


def atom_mass(setting: Setting, factors: LineFactors, atom: float) -> float:
    """The weight of the delta function that a product of factors has at an atom."""
    lines, kinks = setting.lines, setting.kinks
    total = 0.0
    if factors[0][0] < 0:
        return float(kinks_of(setting, int(lines.line[factors[0][1]]))[-1 - factors[0][0]] == atom)
    for place, (order, m) in enumerate(factors):
        root = float(lines.roots[m])
        kink = kink_at(kinks, root * float(lines.signs[m]) * atom)
        if order and root > 0.0 and kink is not None and kinks.jumps[kink, order - 1]:
            others = factors[:place] + factors[place + 1 :]
            total += kinks.jumps[kink, order - 1] / root * smoothed(setting, others, atom)
    return total


def delta_at(place: int) -> int:
    """What stands for a delta function at a kink of a line, in the place of an order."""
    return -1 - place


def kink_at(kinks: Kinks, z: float) -> int | None:
    """The kink at a preactivation, if there is one."""
    near = np.flatnonzero(np.abs(kinks.places - z) <= NEAR * np.maximum(1.0, np.abs(kinks.places)))
    return int(near[0]) if near.size else None


def smoothed(setting: Setting, factors: LineFactors, atom: float) -> float:
    """The mean of a product while all its jumps at the atom are crossed together."""
    lines, kinks = setting.lines, setting.kinks
    nodes, weights = np.polynomial.legendre.leggauss(3)  # Gauss-Legendre, for up to four jumps
    values = np.ones(nodes.size)
    for order, m in factors:
        sign, z = float(lines.signs[m]), float(lines.roots[m] * lines.signs[m] * atom)
        kink = kink_at(kinks, z)
        if kink is None:
            ends = np.array([z, z])
        else:
            at = kinks.places[kink]
            ends = np.array([np.nextafter(at, -sign * math.inf), np.nextafter(at, sign * math.inf)])
        start, end = evaluate(setting.functions[order], order, ends)
        values = values * (start + (end - start) * 0.5 * (1.0 + nodes))
    return float(0.5 * weights @ values)


def line_coefficients(
    setting: Setting,
    line: int,
    middle: Array,
    spread: float,
    products: Sequence[LineFactors],
    terms: int,
    mesh: Mesh,
) -> list[Array]:
    """Of products on a line of certain mean and spread the normalised Hermite coefficients.

    Two lines that are left are put together from theirs by Mehler's formula.
    """
    if spread == 0.0:
        values = products_at(setting, products, middle)
        return [np.concatenate([v[None], np.zeros((terms - 1, v.size))]) for v in values]
    kinks = kinks_of(setting, line)
    tables = [np.empty((terms, middle.size)) for _ in products]
    for part in pieces(middle.size, mesh.nodes * (kinks.size + 2) * len(mesh.around)):
        here = middle[part, None]
        edges = mesh_edges(mesh, (kinks - here) / spread)
        t, weights = panels(edges, mesh.nodes, mesh.reach)
        values = products_at(setting, products, here + spread * t)
        for m, polynomial in enumerate(hermites(t, terms, weights)):
            for table, value in zip(tables, values, strict=True):
                np.einsum("ij,ij->i", polynomial, value, out=table[m, part])
    return tables


def joint_means(
    setting: Setting,
    lines: tuple[int, int],
    middles: tuple[Array, Array],
    spreads: tuple[float, float],
    rho: float,
    products: tuple[Sequence[LineFactors], Sequence[LineFactors]],
    mesh: Mesh,
) -> Array:
    """Means of products on two lines of a large correlation: (product, product, node)."""
    means = np.empty((len(products[0]), len(products[1]), middles[0].size))
    rest = math.sqrt((1.0 - rho) * (1.0 + rho))
    first, second = (kinks_of(setting, line) for line in lines)
    for part in pieces(middles[0].size, 4 * mesh.nodes * len(mesh.around)):
        one, other = (middle[part, None] for middle in middles)
        rows = list(mesh_edges(mesh, (first - one) / spreads[0]).T)
        for place in second:
            met = (place - other[:, 0]) / (spreads[1] * rho)
            rows += blurred_edges(met, rest / abs(rho))
        t, weights = panels(np.stack(rows, axis=-1), mesh.nodes, mesh.reach)
        left = products_at(setting, products[0], one + spreads[0] * t)
        narrow = spreads[1] * rest if rest > SHARP else 0.0
        given = (other + spreads[1] * rho * t).ravel()
        right = line_coefficients(setting, lines[1], given, narrow, products[1], 1, mesh)
        for row, value in enumerate(left):
            for column, table in enumerate(right):
                mean = table[0].reshape(t.shape)
                means[row, column, part] = np.einsum("ij,ij,ij->i", weights, value, mean)
    return means


def pieces(size: int, width: int) -> Iterator[slice]:
    """Slices of so many rows of a certain width as fit into a piece of memory."""
    height = max(1, PIECE // width)
    for start in range(0, size, height):
        yield slice(start, start + height)


def products_at(setting: Setting, products: Sequence[LineFactors], x: Array) -> list[Array]:
    """Products of factors on a line, without delta functions; each factor is evaluated once."""
    lines = setting.lines
    values = {
        (order, m): evaluate(setting.functions[order], order, lines.roots[m] * lines.signs[m] * x)
        for order, m in {factor for factors in products for factor in factors}
        if order >= 0
    } | {factor: np.zeros_like(x) for factors in products for factor in factors if factor[0] < 0}
    return [np.prod([values[factor] for factor in factors], axis=0) for factors in products]


@lru_cache(maxsize=64)
def terms_for(rho: float, tolerance: float) -> int | None:
    """How many terms a series in a correlation needs, if they are few."""
    if abs(rho) < NEAR:
        return 1
    if abs(rho) > ALIKE:
        return None
    return 2 + math.ceil(math.log(0.01 * tolerance) / math.log(abs(rho)))
