"""Samples on common lines, and what is left of samples given one or two others."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.means.correlations import Correlations
from symdlt.means.grids import Array, KernelInputError
from symdlt.means.triangle import Indices

# A few roundings: samples are then on one line, or one sample.
SAME = 1e-15
# How far below zero rounding of a given K may take an eigenvalue; nine digits, by convention.
INDEFINITE = 1e-9


class Lines(NamedTuple):
    """Samples with |rho| = 1 between them lie on one line; lines have a sample that leads.

    The samples are sorted by line. Each next line has the largest variance given those before, so
    that near duplicates come last. No two samples are equal.
    """

    roots: Array
    rho: Array
    line: Indices
    signs: Array
    leads: list[int]


class Remains(NamedTuple):
    """Samples given those that lead some lines.

    In standard deviations: how much of each white variable is in a sample, and the standard
    deviation and the correlations that are left.
    """

    loads: Array
    spread: Array
    rho: Array


def lowest_eigenvalue(rho: Array) -> float:
    """The lowest eigenvalue of correlations given without their diagonal; not one below zero."""
    lowest = float(np.linalg.eigvalsh(rho).min()) + 1.0
    if lowest < -INDEFINITE:
        raise KernelInputError(
            f"The correlations of the kernel K have the eigenvalue {lowest:.3g}. "
            "K is the covariance of all samples, and has no negative eigenvalues. "
            "Give it with more digits."
        )
    return lowest


def lines_of(given: Correlations) -> tuple[Lines, Indices]:
    """The distinct samples by line, and for each given sample the one among them it is."""
    roots, rho = given.roots, given.rho.copy()
    np.fill_diagonal(rho, 1.0)
    groups: list[list[int]] = []
    for k in np.argsort(-roots, kind="stable").tolist():
        own = (g for g in groups if abs(rho[k, g[0]]) >= 1.0 - SAME or roots[k] == 0.0)
        group = next(own, None)
        if group is None:
            groups.append([k])
        else:
            group.append(k)
    groups = independent_first(groups, roots, rho)
    kept: list[int] = []
    line: list[int] = []
    signs: list[float] = []
    place = np.empty(roots.size, dtype=np.intp)
    for number, group in enumerate(groups):
        first = len(kept)
        for k in group:
            sign = math.copysign(1.0, rho[k, group[0]])
            same = (
                m
                for m in range(first, len(kept))
                if signs[m] == sign and abs(roots[kept[m]] - roots[k]) <= SAME * roots[k]
            )
            place[k] = next(same, len(kept))
            if place[k] == len(kept):
                kept.append(k)
                line.append(number)
                signs.append(sign)
    lead = np.array([groups[number][0] for number in line])
    turned = np.array(signs)
    straight = turned[:, None] * turned * rho[np.ix_(lead, lead)]
    leads = [line.index(number) for number in range(len(groups))]
    return Lines(roots[kept], straight, np.array(line), turned, leads), place


def independent_first(groups: list[list[int]], roots: Array, rho: Array) -> list[list[int]]:
    """The groups in the order of a Cholesky root with pivots."""
    leads = [group[0] for group in groups]
    mixed = rho[np.ix_(leads, leads)] * np.outer(roots[leads], roots[leads])
    order: list[int] = []
    for _ in groups:
        left = mixed.diagonal().copy()
        left[order] = -np.inf
        pivot = int(np.argmax(left))
        order.append(pivot)
        if left[pivot] > 0.0:
            mixed -= np.outer(mixed[pivot], mixed[pivot]) / left[pivot]
    return [groups[number] for number in order]


def remains(lines: Lines, leads: tuple[int, ...]) -> Remains:
    """What is left given one sample or two."""
    x = lines.rho[leads[0]]
    loads = [x]
    left, mixed = (1.0 - x) * (1.0 + x), lines.rho - np.outer(x, x)
    if len(leads) == 2:
        y = mixed[leads[1]] / math.sqrt(left[leads[1]])
        loads.append(y)
        left, mixed = left - y * y, mixed - np.outer(y, y)
    left[np.isin(lines.line, lines.line[list(leads)])] = 0.0
    spread = np.sqrt(np.maximum(left, 0.0))
    sizes = np.outer(spread, spread)
    rho = np.divide(mixed, sizes, out=np.zeros_like(mixed), where=sizes > 0.0)
    np.clip(rho, -1.0, 1.0, out=rho)
    same: NDArray[np.bool_] = lines.line[:, None] == lines.line
    return Remains(np.array(loads), spread, np.where(same, np.outer(lines.signs, lines.signs), rho))


def turned(left: Remains, roots: Array, used: list[int]) -> tuple[Remains, Array]:
    """The white variables turned so that the first is where samples are largest together.

    Returns:
        What remains, in these variables, and the largest standard deviation along each. What
        samples have in common is along the first: where they nearly depend on each other, little
        is left for the second, along which nodes may lie far apart.
    """
    scaled = (roots * left.loads)[:, used]
    if len(scaled) == 1:
        return left, np.abs(scaled).max(axis=1)
    (first, mixed), (_, second) = (scaled @ scaled.T).tolist()
    angle = 0.5 * math.atan2(2.0 * mixed, first - second)
    c, s = math.cos(angle), math.sin(angle)
    axes = np.array([[c, s], [-s, c]])
    return left._replace(loads=axes @ left.loads), np.abs(axes @ scaled).max(axis=1)
