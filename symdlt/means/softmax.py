r"""Means over softmax, which joins as many Gaussian scores as there are positions.

With $ζ = e^{x}/\sum_s e^{x_s}$ of the scores x of one row, the mean of
$\sum_{rr'} ζ_r V_{rr'} ζ'_{r'}$ for two rows is one over up to $2(P-1)$ independent Gaussian
variables: softmax does not see what all scores of a row have in common. Up to four are summed over
by the trapezoidal rule, which converges faster than any power. More are averaged over rank-1
lattices of a few random shifts (R. Cranley and T. Patterson, 1976), whose scatter is the error,
with generators made component by component (I. Sloan and A. Reztsov, 2002), and folded by the tent
transformation, which takes away the leading error of functions that are not periodic
(F. Hickernell, 2002).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import KernelError
from symdlt.means.grids import Array

Indices = NDArray[np.intp]

FEW = 4  # variables that a grid is taken over: with five, nodes of a grid are millions
COARSEST, FINER = (
    6.0,
    1.4,
)  # errors e^-6 of the first grid; each has so many more digits. Convention
MOST_NODES = 2**20  # of one pair of rows: with eight positions 0.35 s, measured
SIZES = (2**12, 2**14, 2**16, 2**17)  # of lattices, up to that bound for all shifts together
SHIFTS = 8  # a scatter of eight is known to a quarter
ERRORS = 3.0  # convention: standard errors within which a mean is said to be known
CANDIDATES = 32  # generators that are tried for a component; more gain little, measured
CHUNK = 2**13  # nodes that are looked at together: arrays of a few megabytes
TAIL = 1e-3  # how much of the tolerance a grid leaves out; convention
SINGULAR = 1e-14  # of the largest variance: below, a variance is rounding


class Pair(NamedTuple):
    """Two rows: how their scores follow from independent variables, and the forms of both."""

    roots: Array
    values: Array
    edges: Array
    ntk: Array

    @property
    def halves(self) -> list[Array]:
        """What makes the scores of either row."""
        return np.split(self.roots, [len(self.values)])


def softmax_means(
    covariance: Array,
    values: Array,
    edges: Array,
    ntk: Array,
    keys: Sequence[int],
    tolerance: float,
) -> tuple[Array, Array]:
    r"""The means of $\sum ζ_r V_{rr'} ζ'_{r'}$ for all pairs of rows, and with an edge.

    That with an edge is
    $\sum ζ_r E_{rr'} ζ'_{r'} + \sum V_{rr'}\,∂_sζ_r\,∂_{s'}ζ'_{r'}\,Θ_{ss'}$.

    Args:
        covariance: of the scores, with the axes row, position, row, position.
        values: V, with the same axes.
        edges: E.
        ntk: Θ.
        keys: of each row, of how many of its scores, the first ones, softmax is taken.
        tolerance: of each mean, relative to the largest entries of what it is a mean of.

    Raises:
        KernelError: if the tolerance is not reached.

    >>> half = softmax_means(*np.ones((4, 1, 2, 1, 2)), [2], 1e-7)[0]
    >>> float(half[0, 0])
    1.0
    """
    rows = len(covariance)
    places = [(i, j) for i in range(rows) for j in range(i + 1)]
    sizes = np.abs(values).max(), np.abs(edges).max() + np.abs(values).max() * np.abs(ntk).max()
    scale = np.array([size or 1.0 for size in sizes])
    means = np.empty((2, rows, rows))
    groups: dict[int, list[tuple[int, int]]] = {}
    pairs: dict[tuple[int, int], Pair] = {}
    for i, j in places:
        a, b = keys[i], keys[j]
        roots = _roots(covariance, (i, j), (a, b))
        pair = Pair(roots, *(form[i, :a, j, :b] for form in (values, edges, ntk)))
        variables = roots.shape[1]
        on_grid = _on_grid(pair, scale, tolerance) if variables <= FEW else None
        if on_grid is None:
            pairs[i, j] = pair
            groups.setdefault(variables, []).append((i, j))
        else:
            means[:, i, j] = means[:, j, i] = on_grid
    for variables, members in groups.items():
        found = _on_lattices([pairs[place] for place in members], variables, scale, tolerance)
        for (i, j), both in zip(members, found, strict=True):
            means[:, i, j] = means[:, j, i] = both
    return means[0], means[1]


def _roots(covariance: Array, rows: tuple[int, int], keys: tuple[int, int]) -> Array:
    """A matrix that makes the scores of two rows of independent variables, the largest first."""
    blocks = [
        [covariance[i, :a, j, :b] for j, b in zip(rows, keys, strict=True)]
        for i, a in zip(rows, keys, strict=True)
    ]
    joint = np.block(blocks)
    trace = float(np.trace(joint))
    for part in (slice(keys[0]), slice(keys[0], None)):  # what a row has in common does nothing
        joint[part] -= joint[part].mean(axis=0)
        joint[:, part] -= joint[:, part].mean(axis=1, keepdims=True)
    variances, vectors = np.linalg.eigh(joint)
    kept = variances > SINGULAR * trace
    roots: Array = (vectors[:, kept] * np.sqrt(variances[kept]))[:, ::-1]
    return roots


def _on_grid(pair: Pair, scale: Array, tolerance: float) -> Array | None:
    """Means of a pair by the trapezoidal rule, refined until they stay; None if it takes long."""
    reach = math.sqrt(-2.0 * math.log(TAIL * tolerance))
    digits, before = COARSEST, np.full(2, np.inf)
    while True:
        steps = _steps(pair, digits)
        # The volume of a ball over that of a cell: about how many nodes there are.
        ball = (math.pi**0.5 * reach) ** len(steps) / math.gamma(0.5 * len(steps) + 1.0)
        if ball / steps.prod() > MOST_NODES:
            return None
        nodes, weights = _grid(steps, reach)
        found = _mean(pair, nodes, weights)
        if (np.abs(found - before) <= tolerance * scale).all():
            return found
        digits, before = FINER * digits, found


def _steps(pair: Pair, digits: float) -> Array:
    r"""Steps of each variable for errors $e^{-d}$.

    A step h leaves $\exp(-2\piη/h + η^2/2)$ for every η up to which the function is analytic: the
    sum of powers may vanish where two scores differ by $i\pi$. The best η without that is
    $2\pi/h$.
    """
    spread = np.max([np.ptp(half, axis=0) for half in pair.halves], axis=0)
    analytic = math.pi / np.maximum(spread, SINGULAR)
    smooth = np.minimum(analytic, math.sqrt(2.0 * digits))
    steps: Array = 2.0 * math.pi * smooth / (digits + 0.5 * smooth**2)
    return steps


def _grid(steps: Array, reach: float) -> tuple[Array, Array]:
    """The nodes of a grid in a ball, and their weights for independent Gaussian variables."""
    nodes, squares = np.zeros((1, 0)), np.zeros(1)
    for step in steps:
        axis = step * np.arange(-int(reach / step), int(reach / step) + 1)
        longer = squares[:, None] + axis**2
        inside, place = np.nonzero(longer <= reach**2)
        nodes, squares = np.column_stack([nodes[inside], axis[place]]), longer[inside, place]
    weights = np.exp(-0.5 * squares)
    return nodes, weights / weights.sum()


def _on_lattices(pairs: Sequence[Pair], variables: int, scale: Array, tolerance: float) -> Array:
    """Means of some pairs over shifted lattices, larger ones for those whose scatter is large."""
    means, wanted = np.empty((len(pairs), 2)), [*range(len(pairs))]
    for size in SIZES:
        weights = np.full(size, 1.0 / size)
        shifted = np.array(
            [
                [_mean(pairs[place], nodes, weights) for place in wanted]
                for nodes in _lattices(variables, size)
            ]
        )
        means[wanted] = shifted.mean(axis=0)
        scatter = shifted.std(axis=0, ddof=1) / math.sqrt(SHIFTS)
        errors = ERRORS * (scatter / scale).max(axis=1)
        wanted = [place for place, one in zip(wanted, errors, strict=True) if one > tolerance]
        if not wanted:
            return means
        # The error of lattices falls like 1/size at best, as far as was seen.
        reached = float(errors.max()) * size / SIZES[-1]
        if reached > tolerance:
            break
    raise _refused(pairs[wanted[0]], reached, tolerance)


def _lattices(variables: int, size: int) -> Iterator[Array]:
    """The nodes of a lattice under each of its shifts, as Gaussian variables."""
    generator, table = _generator(variables, size), _folded(size)
    rng = np.random.default_rng(0)  # the same shifts for the same question
    for _ in range(SHIFTS):
        places = np.outer(np.arange(size), generator) + rng.integers(0, size, variables)
        yield table[places % size]


@lru_cache(maxsize=8)
def _folded(size: int) -> Array:
    """The Gaussian variable of each place on an axis, after the tent transformation."""
    quantile = NormalDist().inv_cdf
    return np.array([quantile(1.0 - abs((2 * k + 1) / size - 1.0)) for k in range(size)])


@lru_cache(maxsize=16)
def _generator(variables: int, size: int) -> Indices:
    """A generator of a lattice, each component the best of some for those before."""
    numbers = np.arange(size)
    # The kernel of the worst-case error of periodic functions, 2π² B_2; weights 1/j² as the
    # variables come with falling variances.
    kernel = 2.0 * np.pi**2 * ((numbers / size) ** 2 - numbers / size + 1.0 / 6.0)
    rng = np.random.default_rng(1)
    chosen, product = [1], 1.0 + kernel
    for component in range(2, variables + 1):
        candidates = rng.choice(np.arange(1, size, 2), CANDIDATES, replace=False)
        parts = [1.0 + kernel[numbers * one % size] / component**2 for one in candidates]
        best = int(np.argmin([np.dot(product, part) for part in parts]))
        chosen.append(int(candidates[best]))
        product = product * parts[best]
    return np.array(chosen)


def _mean(pair: Pair, nodes: Array, weights: Array) -> Array:
    """The means of one pair of rows over some nodes: of values, and with an edge."""
    total = np.zeros(2)
    left, right = pair.halves
    joined = pair.edges + pair.ntk * pair.values
    for start in range(0, len(nodes), CHUNK):
        some, weight = nodes[start : start + CHUNK], weights[start : start + CHUNK]
        a, b = _softmax(some @ left.T), _softmax(some @ right.T)
        by_value, by_key, moved = b @ pair.values.T, a @ pair.values, b @ pair.ntk.T
        form = np.einsum("nr,nr->n", a, by_value)
        # ∂_s ζ_r = ζ_r (δ_rs - ζ_s) at both ends: four terms.
        edge = np.einsum("nr,nr->n", a @ joined, b)
        edge -= np.einsum("nr,nr,nr->n", a, by_value, moved)
        edge -= np.einsum("nr,nr,nr->n", b, by_key, a @ pair.ntk)
        edge += form * np.einsum("nr,nr->n", a, moved)
        total += weight @ form, weight @ edge
    return total


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    parts: Array = powers / powers.sum(axis=1, keepdims=True)
    return parts


def _refused(pair: Pair, error: float, tolerance: float) -> KernelError:
    positions = max(pair.values.shape)
    advice = (
        f"`propagate` tolerance={10 ** math.ceil(math.log10(error)):g}, "
        if error < math.inf
        else ""
    )
    return KernelError(
        f"Means of softmax over {positions} positions could be had to about {error:.0e} of their "
        f"size with {MOST_NODES} nodes, and {tolerance:g} was asked for. Each is one over up to "
        f"{2 * positions - 2} Gaussian variables. Give {advice}fewer positions, or a function of "
        "each score by itself, such as tanh(q.k)."
    )
