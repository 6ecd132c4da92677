"""What kernels for one input share: Gaussian means at one variance, and steps over layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from reprlib import repr as short_repr
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from symdlt.kernels.numpy_target.checks import MOST_BYTES, real_numbers
from symdlt.means import (
    AGREEMENT,
    FAR,
    FIRST_STEP,
    LEAST_STEP,
    QUIET,
    VERIFIED,
    Array,
    Function,
    KernelInputError,
    derivatives_agree,
    evaluate,
    moved_grid,
    seen_step,
    trapezoid,
)

FINEST = 1e-17  # the error that steps are chosen for, below the rounding of a sum
CHUNK = 1 << 14  # values at once: the products of the activation then stay in the cache
ROUNDOFF = 2.0**-53  # the unit roundoff of a double
MULTIPLIED = 4.0  # as many functions are multiplied at most
LOST = 1e-10  # what rounding of z may do to the mean of one function, relative to its norm
FINE = 0.0625  # a step for norms, which need a few digits


class TrapezoidalRule(NamedTuple):
    """A grid, and the same grid moved by an irrational part of its step to test it with.

    Means on both may differ by as much as is allowed.
    """

    step: float
    grid: tuple[Array, Array]
    moved: tuple[Array, Array]
    allowed: float = VERIFIED


class MeanTable(Protocol):
    """All means from the values of the activation and its derivatives at the nodes."""

    def __call__(self, s: Sequence[Array], weights: Array, centre: float = 1.0) -> Array:
        """One row for each mean; centre = 0 leaves central moments uncentred."""


def rule(step: float, allowed: float = VERIFIED) -> TrapezoidalRule:
    """The rule of a step. The moved grid also ends earlier, so that it tests the tails as well.

    What a grid cannot resolve it takes for something slower, with a phase that depends on where
    the grid begins. Halving the step, or moving by half of it, keeps some of these phases; moving
    by the golden part of a step keeps none.
    """
    return TrapezoidalRule(step, trapezoid(step, FAR), moved_grid(step), allowed)


def allowed_moves(activation: Sequence[Function], K: float, layer: int) -> float:
    """How far means may move with the grid: as far as rounding of z alone moves them, or 1e-12.

    z is rounded to a part of itself, and sigma then moves by that of z sigma'.
    """
    nodes, weights = moved_grid(FINE)
    z = math.sqrt(K) * nodes
    values = values_at(activation, z)
    norms = [math.sqrt(value**2 @ weights) for value in values]
    moves = [math.sqrt((z * value) ** 2 @ weights) for value in values[1:]]
    ratios = [b / a for a, b in zip(norms, moves, strict=False) if 0.0 < a < math.inf > b]
    lost = ROUNDOFF * max(ratios, default=0.0)
    if lost > LOST:
        raise KernelInputError(
            f"The Gaussian means of the activation lose their digits at layer {layer}. "
            f"K is at most {K:.3g} there; z has {ROUNDOFF:.2g} of itself as rounding error, and "
            f"sigma or a derivative moves by up to {lost:.2g} of its norm with it. "
            "Give a smaller K, or an activation that oscillates more slowly."
        )
    return max(VERIFIED, MULTIPLIED * lost)


def choose_rule(
    activation: Sequence[Function], K: float, table: MeanTable, layer: int, step: float = FIRST_STEP
) -> TrapezoidalRule:
    """The coarsest trapezoidal rule that is right to about double precision.

    For a smooth function the error of a step h is exp(-c/h) or smaller (Trefethen and Weideman,
    SIAM Review 56, 385, 2014). Steps are lowered by factors of sqrt(2) until no mean moves by more
    than 1e-8 when the grid is moved; differences are measured against the mean of the absolute
    value. How far they moved gives c, and with it the step between h and h/2 that reaches 1e-17.
    That rule is tested in turn.
    """
    allowed = allowed_moves(activation, K, layer)
    step = min(step, seen_step(activation, K))
    while step > LEAST_STEP:
        moved = farthest_move(activation, K, table, rule(step))
        if moved == math.inf:
            raise KernelInputError(
                f"The Gaussian means of the activation overflow at layer {layer}. "
                f"The variance K is at most {K:.3g} there. "
                "Give fewer layers, a C_W nearer to its critical value, or a tamer activation."
            )
        if moved <= AGREEMENT:
            finer = step * max(0.5, math.log(max(moved, FINEST)) / math.log(FINEST))
            chosen = rule(finer, allowed)
            right = farthest_move(activation, K, table, chosen) <= allowed
            if right and derivatives_agree(activation, K, chosen.step):
                return chosen
        step /= math.sqrt(2.0)
    raise KernelInputError(
        f"The Gaussian means of the activation do not converge at layer {layer}. "
        f"K is at most {K:.3g} there, and steps of {step:.2g} standard deviations are too coarse. "
        "Scale the data or C_W down, for a smaller K; or give an activation without kinks or "
        "jumps that grows or oscillates more slowly."
    )


def farthest_move(
    activation: Sequence[Function], K: float, table: MeanTable, used: TrapezoidalRule
) -> float:
    """How far any mean moves with the grid, infinite if one is not finite."""
    _, moves = tested_means(activation, np.array([K]), table, used)
    return float(moves[0]) if np.isfinite(moves[0]) else math.inf


def tested_means(
    activation: Sequence[Function], K: Array, table: MeanTable, used: TrapezoidalRule
) -> tuple[Array, Array]:
    """All means at every K, and how far they move with the grid, relative to absolute means.

    A function near a zero of its own keeps the rounding errors of larger ones that it is made of.
    """
    roots = np.sqrt(K)[:, None]
    nodes, weights = used.grid
    moved, others = used.moved
    values = values_at(activation, roots * nodes)
    means = table(values, weights)
    norms = np.sqrt([value**2 @ weights for value in values])
    noise = np.where(norms < QUIET * norms.max(axis=0), QUIET * norms.max(axis=0), 0.0)
    sizes = table(
        [np.abs(v) + n[:, None] for v, n in zip(values, noise, strict=True)], weights, 0.0
    )
    again = table(values_at(activation, roots * moved), others)
    moves = np.abs(means - again)
    relative = np.divide(moves, sizes, out=np.zeros_like(moves), where=sizes != 0.0)
    return means, relative.max(axis=0, initial=0.0)


def values_at(activation: Sequence[Function], z: Array) -> list[Array]:
    """The activation and its derivatives at z."""
    return [evaluate(function, order, z) for order, function in enumerate(activation)]


def octave(K: float) -> int:
    """A number that changes with every factor of two in K."""
    return math.frexp(max(K, 1e-300))[1]


class Quadrature:
    """The rules in use, one for each factor of two in K, found when they are first needed.

    Every mean that is used is tested at its own K, because a rule that is right at one K may
    mistake a fast oscillation for a slow one at another.
    """

    def __init__(self, activation: Sequence[Function], table: MeanTable) -> None:
        self.activation = activation
        self.table = table
        self.rules: dict[int, TrapezoidalRule] = {}

    def rule(self, K: float, layer: int) -> TrapezoidalRule:
        """The rule for this K, chosen at the upper end of its range of K."""
        key = octave(K)
        if key not in self.rules:
            self.rules[key] = choose_rule(self.activation, 2.0**key, self.table, layer)
        return self.rules[key]

    def refine(self, K: float, layer: int) -> None:
        """Replace the rule for this K, which has failed there, by a finer one."""
        step = self.rules[octave(K)].step / math.sqrt(2.0)
        self.rules[octave(K)] = choose_rule(self.activation, K, self.table, layer, step)

    def means(self, K: Array) -> Array:
        """All means, one row for each, at every K."""
        groups: dict[int, list[int]] = {}
        for index, value in enumerate(K.tolist()):
            groups.setdefault(octave(value), []).append(index)
        parts = [self._group(np.array(rows), K) for rows in groups.values()]
        order = np.argsort(np.array([row for rows in groups.values() for row in rows]))
        return np.concatenate(parts, axis=1)[:, order]

    def at(self, K: float, layer: int) -> Array:
        """All means at the K of one layer."""
        return self._tested(np.array([layer - 1]), np.broadcast_to(K, layer))[:, 0]

    def _group(self, rows: NDArray[np.intp], K: Array) -> Array:
        used = self.rule(float(K[rows[0]]), int(rows[0]) + 1)
        count = min(rows.size, -(-rows.size * used.grid[0].size // CHUNK))
        parts = [self._tested(part, K) for part in np.array_split(rows, count)]
        return np.concatenate(parts, axis=1)

    def _tested(self, rows: NDArray[np.intp], K: Array) -> Array:
        while True:
            layer = int(rows[0]) + 1
            used = self.rule(float(K[rows[0]]), layer)
            means, moves = tested_means(self.activation, K[rows], self.table, used)
            worst = int(np.argmax(moves))
            if moves[worst] <= used.allowed:
                return means
            self.refine(float(K[rows[worst]]), int(rows[worst]) + 1)


def checked_overlap_of_one(overlap: float) -> float:
    """Refuse what is no mean square of an input."""
    number = real_numbers("overlap", overlap)
    if number.ndim or not 0.0 <= number < math.inf:
        raise KernelInputError(
            f"The overlap is {short_repr(overlap)}. It is x.x/n_0, the mean square of the input. "
            "Give a finite number that is not negative."
        )
    return float(number)


def refuse_many_layers(depth: int, arrays: int) -> None:
    """Refuse more layers than fit into memory, with so many arrays over them."""
    if depth > MOST_BYTES / (8 * arrays):
        raise KernelInputError(
            f"The depth is {short_repr(depth)}. So many layers would take about "
            f"{8 * arrays * min(depth, 10**30) / 1e9:.2g} GB of memory, and this kernel takes "
            f"{MOST_BYTES / 1e9:.2g} GB at most. Give fewer layers."
        )


def check_finite(name: str, values: Array, K: Array) -> None:
    """Refuse a result that has overflowed, and say where."""
    if not np.isfinite(values).all():
        layer = int(np.argmin(np.isfinite(values)))
        raise KernelInputError(
            f"{name} overflows at layer {layer + 1} of {values.size}. "
            f"The variance K was {K[max(layer - 1, 0)]:.3g} in the layer before. "
            "Give fewer layers, a variance of the weights nearer to its critical value, or smaller "
            "learning rates."
        )


def scan(gain: Array, source: Array, first: float) -> Array:
    """X at every layer from X[l+1] = gain[l] X[l] + source[l]."""
    value, values = first, [first]
    for factor, term in zip(gain.tolist(), source.tolist(), strict=True):
        value = factor * value + term
        values.append(value)
    return np.array(values)


def variances(
    quadrature: Quadrature, advance: Callable[..., float], first: float, *hyperparameters: Array
) -> Array:
    """The variance K at every layer."""
    K, values = first, [first]
    rows = zip(*(values.tolist() for values in hyperparameters), strict=True)
    for layer, h in enumerate(rows, 2):
        K = next_variance(quadrature, advance, K, h, layer - 1)
        values.append(K)
        if not math.isfinite(K):
            check_finite("G", np.array(values), np.array(values))
        if K < 0.0:
            raise KernelInputError(
                f"The variance K is {K:.3g} at layer {layer}. A variance is never negative. "
                "This is a fault of the kernel or of the activation given to it."
            )
    return np.array(values)


def next_variance(
    quadrature: Quadrature,
    advance: Callable[..., float],
    K: float,
    h: tuple[float, ...],
    layer: int,
) -> float:
    """The variance one layer up, from a rule on which both grids agree."""
    while True:
        used = quadrature.rule(K, layer)
        variance, again = (
            float(advance(values_at(quadrature.activation[:1], math.sqrt(K) * x), w, *h))
            for x, w in (used.grid, used.moved)
        )
        if not abs(variance - again) > used.allowed * abs(variance):
            return variance
        quadrature.refine(K, layer)
