"""Gaussian means of products of four functions with kinks, for all quadruples of samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations, permutations

import numpy as np
from numpy.typing import ArrayLike

from symdlt.errors import InfiniteMeanError, KernelInputError
from symdlt.means.correlations import correlations, upper
from symdlt.means.grids import TINY, Array, Function, evaluate
from symdlt.means.kinked import check_samples, with_zero, without_slopes
from symdlt.means.kinked_planes import (
    LeftLine,
    LineFactors,
    Mesh,
    Plane,
    Setting,
    joint_means,
    kinks_of,
    line_coefficients,
    line_correlation,
    line_values,
    mesh_edges,
    plane_nodes,
    rest_correlation,
    rest_of,
    terms_for,
)
from symdlt.means.lines import lines_of, lowest_eigenvalue
from symdlt.means.met_deltas import Product4, parts_of
from symdlt.means.narrow import with_narrow
from symdlt.means.pairs import check_orders
from symdlt.means.panels import (
    EDGE,
    GRADED,
    LEAST_LOGARITHM,
    Kinks,
    Rule,
    bells,
    checked_kinks,
    in_units,
    ladder,
    panel_rule,
    panels,
    panels_of,
    reach_for,
)
from symdlt.means.quadruples import Mask, asked_for, assembled, checked_tolerance, everywhere
from symdlt.means.triangle import Indices

FINE_MESH = (-3.0, 0.0, 3.0)
FINEST_MESH = (-4.0, -1.5, -0.4, -0.1, 0.0, 0.1, 0.4, 1.5, 4.0)
# The part of the tolerance that what is beyond the reach may have, in four dimensions.
MARGIN = 1e4
# Means are right to a tolerance of the norms; where they are much larger, to this part of them.
ROUNDED = 1e-11
MESHES = (
    *(Mesh(count) for count in (10, 14, 20, 28)),
    *(Mesh(count, FINE_MESH) for count in (20, 28)),
    *(Mesh(count, FINEST_MESH) for count in (20, 28)),
    *(Mesh(count, tuple(sorted((0.0, *GRADED)))) for count in (20, 28)),
)
# For panels that a text has laid.
LAID = tuple(Mesh(count) for count in (10, 14, 20, 28, 40, 56))
# Nodes for a mesh of panels that a text has laid: about ten seconds.
MOST_WORK = 1e7
# How many nodes on one panel functions may need for the first meshes; others have fine ones, and
# ends of panels at zero.
PLAIN = 72
# Panels of narrow features are laid for 21 nodes and one function.
JOINED_FOUR = 2.0


def kinked_quadruple_means(
    activation: Sequence[Function],
    kinks: Sequence[tuple[float, Sequence[float]]],
    K: Array,
    patterns: Sequence[tuple[int, ...]],
    samples: ArrayLike | None = None,
    tolerance: float = 1e-7,
    zero_slopes: bool = False,
    square: float | None = None,
) -> list[Array]:
    """<f_a(z_i) f_b(z_j) f_c(z_k) f_d(z_l)> for an activation with kinks, as quadruple_means.

    Two of the samples are averaged over panels that end at their kinks, with delta functions as
    single nodes; one or two others are integrated given these. Where a delta function meets jumps
    of other functions at the same sample, the product is the limit of a smoothed activation.
    With a square, two functions with delta functions may meet, or one with the derivative of one:
    it is what stands for the infinite square of a delta function.
    Samples of variance zero are treated as in kinked_pair_means.
    """
    places = checked_kinks(activation, kinks)
    check_orders(len(activation), patterns, 4)
    given = correlations(K)
    asked = asked_for(samples, given.roots.size)
    tolerance = checked_tolerance(tolerance)
    if square is None:
        check_deltas(places, patterns)
    if not patterns:
        return []
    check_samples(upper(given), places, patterns, zero_slopes)
    with np.errstate(all="ignore"):
        plain, places = places, with_narrow(places, activation, given.roots, JOINED_FOUR)
        rule = panel_rule(activation, places, given.roots)
        lowest_eigenvalue(given.rho)
        lines, place = lines_of(given)
        wanted = everywhere(None if asked is None else place[asked], lines.roots.size)
        norms = norms_of(activation, places, lines.roots, rule)
        used = activation[: 1 + max(max(pattern) for pattern in patterns)]
        fallen = 0.25 * math.log(MARGIN / tolerance)
        reach = reach_for(used, ladder(given.roots), 4, fallen, 0.25 * LEAST_LOGARITHM)
        narrow = places is not plain
        reach = max(reach, EDGE) if narrow else reach  # looking here and there may miss it
        meshes = [m._replace(reach=reach) for m in (LAID if narrow else meshes_for(rule))]
        usual = narrow or (rule.nodes <= PLAIN and not rule.around)
        ends = places if usual else with_zero(places)
        most_work = MOST_WORK if narrow else math.inf
        setting = Setting(activation, ends, lines, tolerance, norms, most_work)
        means = means_by_product(setting, patterns, wanted, meshes, square)
    hidden = None if asked is None else ~everywhere(asked, given.roots.size)
    tables = [table_of(means, pattern, place, lines.roots.size, hidden) for pattern in patterns]
    if zero_slopes:
        without_slopes(tables, patterns, given.roots == 0.0)
    return tables


def meshes_for(rule: Rule) -> Sequence[Mesh]:
    """The meshes that may be right for functions that need some rule."""
    if rule.around:
        return MESHES[8:]
    return MESHES[4:8] if rule.nodes > PLAIN else MESHES[:8]


def norms_of(activation: Sequence[Function], kinks: Kinks, roots: Array, rule: Rule) -> Array:
    """The sizes of all functions at all samples: norms, and densities at delta functions."""
    units = in_units(kinks.places, roots)
    x, w = panels_of(units, rule)
    z = roots[:, None] * x
    norms = np.array(
        [np.sqrt((w * evaluate(f, k, z) ** 2).sum(1)) for k, f in enumerate(activation)]
    )
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0.0)
    norms[1:] += (bells(units, 1)[0] @ np.abs(kinks.jumps[:, :-1])).T * inverse
    return norms


def check_deltas(kinks: Kinks, patterns: Sequence[tuple[int, ...]]) -> None:
    """Refuse what diverges where samples meet: two delta functions, or derivatives of one."""
    for pattern in patterns:
        if has_infinite_mean(kinks.jumps, pattern):
            raise InfiniteMeanError(
                f"The mean of functions {pattern} is infinite where samples meet. "
                "The activation has kinks, whose delta functions are in it more than once or "
                "differentiated. Give a smoother activation, or ask for tensors without this mean."
            )


def has_infinite_mean(jumps: Array, pattern: Sequence[int]) -> bool:
    """Whether a mean of four functions is infinite where samples meet, from the jumps (kink, k)."""
    deltas = sum(bool(jumps[:, k - 1].any()) for k in pattern if k)
    return deltas > 1 or any(jumps[:, : k - 1].any() for k in pattern if k > 1)


def means_by_product(
    setting: Setting,
    patterns: Sequence[tuple[int, ...]],
    wanted: Mask,
    meshes: Sequence[Mesh],
    square: float | None = None,
) -> dict[Product4, float]:
    """All means, by their factors (order, sample) in order."""
    groups: dict[tuple[tuple[int, ...], tuple[int, ...]], list[Product4]] = {}
    products = wanted_products(patterns, wanted)
    if square is not None:
        made_of = {product: parts_of(setting, product, square) for product in products}
        products = sorted({part for parts in made_of.values() for part in parts})
    for product in products:
        lines = tuple(sorted({int(setting.lines.line[m]) for _, m in product}))
        groups.setdefault((lines, delta_lines(setting, product)), []).append(product)
    means: dict[Product4, float] = {}
    # Over the most samples first: what takes too long is refused before the others are waited for.
    hardest = sorted(groups.items(), key=lambda group: -len(group[0][0]))
    for (lines, deltas), products in hardest:
        means.update(group_means(setting, lines, deltas, products, meshes))
    if square is None:
        return means
    return {
        product: sum(number * means[part] for part, number in parts.items())
        for product, parts in made_of.items()
    }


def wanted_products(patterns: Sequence[tuple[int, ...]], wanted: Mask) -> list[Product4]:
    """Each product once."""
    count = len(wanted)
    chosen = [row for row in np.argwhere(wanted).tolist() if row == sorted(row)]
    arranged = {p for pattern in patterns for p in permutations(pattern)}
    return (
        sorted(
            {tuple(sorted(zip(orders, row, strict=True))) for row in chosen for orders in arranged}
        )
        if count
        else []
    )


def delta_lines(setting: Setting, product: Product4) -> tuple[int, ...]:
    """The lines with delta functions."""
    jumps = setting.kinks.jumps
    return tuple(
        sorted(
            {
                int(setting.lines.line[m])
                for k, m in product
                if k < 0 or (k and jumps[:, k - 1].any())
            }
        )
    )


def group_means(
    setting: Setting,
    lines: tuple[int, ...],
    deltas: tuple[int, ...],
    products: list[Product4],
    meshes: Sequence[Mesh],
) -> dict[Product4, float]:
    """The means of products on the same lines, with more and more nodes until they agree."""
    split = [by_line(setting, lines, product) for product in products]
    before = None
    sizes = [
        math.prod(float(setting.norms[k, m]) for k, m in product if k >= 0) for product in products
    ]
    allowed = setting.tolerance * np.array(sizes) + TINY
    for mesh in meshes:
        values = np.array(line_means(setting, lines, deltas, split, mesh))
        if before is not None:
            moved = np.abs(values - before)
            if (moved <= np.maximum(allowed, ROUNDED * np.abs(values))).all():
                return dict(zip(products, values.tolist(), strict=True))
        before = values
    raise KernelInputError(
        "The means over four samples of an activation with kinks do not converge. "
        f"{meshes[-1].nodes} nodes in each of many panels are too few for a tolerance "
        f"of {setting.tolerance:.3g}. Give a larger tolerance, or an activation that varies slower."
    )


def by_line(setting: Setting, lines: tuple[int, ...], product: Product4) -> dict[int, LineFactors]:
    """The factors of a product on each line."""
    return {
        line: tuple(factor for factor in product if setting.lines.line[factor[1]] == line)
        for line in lines
    }


def line_means(
    setting: Setting,
    lines: tuple[int, ...],
    deltas: tuple[int, ...],
    products: list[dict[int, LineFactors]],
    mesh: Mesh,
) -> list[float]:
    """The means of products over one line, or over two and what is left of others."""
    if len(lines) == 1:
        return [one_line(setting, lines[0], product[lines[0]], mesh) for product in products]
    leads, others = chosen_leads(setting, lines, deltas)
    rests = [(line, rest_of(setting, leads, line)) for line in others]
    ends = [mesh_edges(mesh, kinks_of(setting, line)).size - 1 for line in leads]
    check_work(setting, math.prod(ends) * mesh.nodes**2, others, mesh)  # before all are laid
    plane = plane_nodes(setting, leads, rests, mesh)
    check_work(setting, plane.v.size, others, mesh)
    first = {
        f: line_values(setting, f, plane.x[:, 0], plane.atoms)
        for f in sorted({p[leads[0]] for p in products})
    }
    second = {
        f: plane.weights * line_values(setting, f, plane.y, plane.crossing)
        for f in sorted({p[leads[1]] for p in products})
    }
    left = rest_tables(setting, plane, rests, products, mesh)
    means = []
    for product in products:
        weights = first[product[leads[0]]][:, None] * second[product[leads[1]]]
        means.append(float(weights.ravel() @ left[tuple(product[line] for line in others)]))
    return means


def one_line(setting: Setting, line: int, factors: LineFactors, mesh: Mesh) -> float:
    """The mean over one line."""
    kinks = kinks_of(setting, line)
    x, weights = panels(mesh_edges(mesh, kinks), mesh.nodes, mesh.reach)
    nodes, weights = np.concatenate([x, kinks]), np.concatenate([weights, bells(kinks, 1)[0]])
    return float(weights @ line_values(setting, factors, nodes, kinks))


def chosen_leads(
    setting: Setting, lines: tuple[int, ...], deltas: tuple[int, ...]
) -> tuple[tuple[int, int], tuple[int, ...]]:
    """Two lines with the delta functions on them, given which the others are least alike."""
    best = None
    for pair in combinations(lines, 2):
        if not set(deltas) <= set(pair):
            continue
        others = tuple(line for line in lines if line not in pair)
        rests = [rest_of(setting, pair, line) for line in others]
        alike = abs(rest_correlation(setting, others, rests)) if len(rests) == 2 else 0.0
        narrow = sum(1.0 - rest.spread for rest in rests)
        score = 4.0 * alike + line_correlation(setting, *pair) ** 2 + narrow
        if best is None or score < best[0]:
            best = score, pair, others
    assert best is not None
    return best[1], best[2]


def check_work(setting: Setting, nodes: int, others: tuple[int, ...], mesh: Mesh) -> None:
    """Refuse what takes too long, as three samples do if there are many panels for each.

    The plane of the first two has so many nodes, or more.
    """
    panels_of_rest = sum(len(mesh.around) * kinks_of(setting, n).size + 2 for n in others)
    work = float(nodes) * panels_of_rest * mesh.nodes
    if work > setting.most_work:
        raise KernelInputError(
            f"The means over {2 + len(others)} different samples take too long: {work:.2g} nodes, "
            f"as panels end at {setting.kinks.places.size} places for each sample. "
            "Give an activation with nothing narrow, or two samples at once."
        )


def rest_tables(
    setting: Setting,
    plane: Plane,
    rests: Sequence[tuple[int, LeftLine]],
    products: Iterable[dict[int, LineFactors]],
    mesh: Mesh,
) -> dict[tuple[LineFactors, ...], Array]:
    """For the factors on the other lines their mean at every node."""
    if not rests:
        return {(): np.ones(plane.v.size)}
    keys = sorted({tuple(product[line] for line, _ in rests) for product in products})
    sets = [sorted({key[place] for key in keys}) for place in range(len(rests))]
    middles = [(rest.a * plane.x + rest.b * plane.v).ravel() for _, rest in rests]
    rho = 0.0
    if len(rests) == 2:
        rho = rest_correlation(setting, [n for n, _ in rests], [r for _, r in rests])
    terms = terms_for(rho, setting.tolerance)
    if terms is None:
        (one, first), (other, second) = rests
        spreads = first.spread, second.spread
        joint = joint_means(
            setting, (one, other), (middles[0], middles[1]), spreads, rho, (sets[0], sets[1]), mesh
        )
        return {key: joint[sets[0].index(key[0]), sets[1].index(key[1])] for key in keys}
    terms += mesh.nodes // 6 - 1
    inner = mesh._replace(nodes=max(mesh.nodes, 16 + terms))
    tables = [
        dict(zip(s, line_coefficients(setting, n, z, rest.spread, s, terms, inner), strict=True))
        for (n, rest), s, z in zip(rests, sets, middles, strict=True)
    ]
    if len(rests) == 1:
        return {key: tables[0][key[0]][0] for key in keys}
    powers = rho ** np.arange(terms)
    return {
        key: np.einsum("m,mn,mn->n", powers, tables[0][key[0]], tables[1][key[1]]) for key in keys
    }


def table_of(
    numbers: dict[Product4, float],
    pattern: tuple[int, ...],
    place: Indices,
    count: int,
    hidden: Mask | None,
) -> Array:
    """The means of one pattern for the given samples."""
    plain = tuple(sorted(pattern))
    own = [p for p in numbers if tuple(order for order, _ in p) == plain]
    strides = count ** np.arange(3, -1, -1)
    places = np.array([[m for _, m in p] for p in own], np.intp).reshape(-1, 4) @ strides
    full = assembled(plain, [(places, np.array([numbers[p] for p in own]))], count)
    turned = full.transpose(np.argsort(np.argsort(pattern, kind="stable")))
    means: Array = turned[np.ix_(place, place, place, place)]
    if hidden is not None:
        means[hidden] = np.nan
    return means
