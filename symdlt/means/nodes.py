"""Nodes for means over one or two white variables, and for what is left of two samples."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.means.grids import FAR, Array, trapezoid
from symdlt.means.steps import BELL
from symdlt.means.triangle import Indices


class Cloud(NamedTuple):
    """Nodes (variable, node), their weights, and the signs of the sublattices of twice the step.

    With the signs for weights, a sum shows how far that of twice the step is off: along each axis,
    and in a plane along both, for samples that vary along its diagonal have nothing on the axes.
    """

    nodes: Array
    weights: Array
    signs: Array


class Oscillator(NamedTuple):
    """Nodes t, a table and powers such that two functions of correlated standard Gaussians have
    the mean sum_m (table f)_m (table g)_m rho^powers_m; odd m change sign with rho.

    The mean of the product for correlation exp(-τ) is that of exp(-τ H), where H is the
    Hamiltonian of the harmonic oscillator without its ground state energy. On the grid, with the
    derivatives of cardinal series, the powers are the eigenvalues. Right at all rho for functions
    that the grid resolves, and for rho = ±1 the plain sum over the nodes. On a grid without end
    this is Mehler's formula; the second derivative of cardinal series is that of D. T. Colbert and
    W. H. Miller, Journal of Chemical Physics 96, 1992.
    """

    nodes: Array
    table: Array
    powers: Array
    odd: NDArray[np.bool_]


def lattice_sum(step: float) -> float:
    """The sum of exp(-x^2/2) over all multiples of a step.

    Nodes that end where functions are negligible, not the Gaussian, have weights that add up to
    less than one.
    """
    count = math.ceil(FAR / step)
    return float(np.exp(-0.5 * (step * np.arange(-count, count + 1)) ** 2).sum())


@lru_cache(maxsize=32)
def cloud(steps: tuple[float, ...], reach: float, half: bool, stretch: float = math.inf) -> Cloud:
    """Nodes with a step along each axis, up to a distance; half of them if f(-x) = f(x).

    They are those of the trapezoidal rule, which needs no others for what is smooth. With a stretch
    c those along the first axis are at c sinh(t/c), t a lattice: as near as the step about zero,
    where functions are steep, and farther apart beyond c.
    """
    stretches = (stretch, *(math.inf,) * (len(steps) - 1))
    lines = [lattice(step, reach, c) for step, c in zip(steps, stretches, strict=True)]
    places = np.array([p.ravel() for p in np.meshgrid(*(p for p, _, _ in lines), indexing="ij")])
    nodes = np.array([x.ravel() for x in np.meshgrid(*(x for _, x, _ in lines), indexing="ij")])
    weights = np.prod(np.meshgrid(*(w for _, _, w in lines), indexing="ij"), axis=0).ravel()
    near = np.sqrt((nodes**2).sum(axis=0)) <= reach + 0.5 * min(steps)
    places, nodes, weights = places[:, near], nodes[:, near], weights[near]
    if half:
        middle = weights.size // 2
        places, nodes, weights = places[:, middle:], nodes[:, middle:], 2.0 * weights[middle:]
        weights[0] *= 0.5
    both = [*places, places.sum(axis=0)][: 2 * len(steps) - 1]
    return Cloud(nodes, weights, 1.0 - 2.0 * (np.array(both) % 2))


def lattice(
    step: float, reach: float, stretch: float, moved: float = 0.0
) -> tuple[Indices, Array, Array]:
    """The numbers of nodes, the nodes, and their weights for one variable; moved by part of a step.

    Weights of a plain lattice add up to one, so that constants and squares are exact.
    """
    longest = reach if stretch == math.inf else stretch * math.asinh(reach / stretch)
    count = math.ceil(longest / step)
    places: Indices = np.arange(-count, count + 1)
    x: Array = np.asarray(step * (places + moved))
    if stretch == math.inf:
        return places, x, np.exp(-0.5 * x**2) / lattice_sum(step)
    slopes = np.cosh(x / stretch)
    x = stretch * np.sinh(x / stretch)
    weights: Array = BELL * step * slopes * np.exp(-0.5 * x**2)
    return places, x, weights


@lru_cache(maxsize=32)
def oscillator(step: float, reach: float) -> Oscillator:
    """The oscillator on a grid."""
    nodes, _ = trapezoid(step, reach)
    weights = np.exp(-0.5 * nodes**2) / lattice_sum(step)
    count = nodes.size // 2
    place = np.arange(-count, count + 1)
    apart = place[:, None] - place
    kinetic = 2.0 * (1.0 - 2.0 * (apart % 2)) / np.where(apart == 0, 1, apart) ** 2
    np.fill_diagonal(kinetic, math.pi**2 / 3.0)
    energy = kinetic / step**2 + np.diag(0.25 * nodes**2 - 0.5)
    mirror = np.eye(nodes.size)[:, ::-1]
    even = math.sqrt(0.5) * (np.eye(nodes.size) + mirror)[:, : count + 1]
    even[count, count] = 1.0
    odd = math.sqrt(0.5) * (np.eye(nodes.size) - mirror)[:, :count]
    levels, states = zip(
        *(np.linalg.eigh(basis.T @ energy @ basis) for basis in (even, odd)), strict=True
    )
    table = np.vstack([(even @ states[0]).T, (odd @ states[1]).T]) * np.sqrt(weights)
    powers = np.maximum(np.concatenate(levels), 0.0)
    powers[0] = 0.0
    return Oscillator(nodes, table, powers, np.arange(nodes.size) > count)


def kept_terms(given: Oscillator, rho: float, least: float) -> Oscillator:
    """Without the terms whose powers of rho are negligible."""
    kept = rho**given.powers >= least
    return Oscillator(given.nodes, given.table[kept], given.powers[kept], given.odd[kept])


def largest_terms(given: Oscillator, sizes: Array, least: float) -> Oscillator:
    """The terms without the smallest that together have less; the first is always one of them."""
    order = np.argsort(sizes)
    dropped = order[np.cumsum(sizes[order]) < least]
    kept = np.ones(sizes.size, dtype=bool)
    kept[dropped] = False
    kept[:1] = True
    return Oscillator(given.nodes, given.table[kept], given.powers[kept], given.odd[kept])
