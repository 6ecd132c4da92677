"""What every single-input kernel shares; the text below the mark is copied into each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from reprlib import repr as short_repr
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

# ---- copied from here ----

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
PerLayer = float | Sequence[float] | Array

REACH = 12.0
SHIFT = 0.5 * (math.sqrt(5.0) - 1.0)
FIRST_STEP = 0.5
LEAST_STEP = 1e-3
AGREEMENT = 1e-8
VERIFIED = 1e-12
TARGET = 1e-17
CHUNK = 1 << 14
MOST_BYTES = 8e9


class KernelInputError(ValueError):
    """Input that this kernel cannot use."""


class Hyperparameters(NamedTuple):
    """Of layer l+1, one value for each l = 1 … L-1, and r = n_l/n_(l-1)."""

    C_b: Array
    C_W: Array
    lambda_b: Array
    lambda_W: Array
    r: Array


class Grid(NamedTuple):
    """Nodes x and weights w with sum(w f(x)) the mean of f over a standard Gaussian."""

    nodes: Array
    weights: Array


class Rule(NamedTuple):
    """A grid, and the same grid moved by an irrational part of its step to test it with."""

    step: float
    grid: Grid
    moved: Grid


class MeanTable(Protocol):
    """All means from the values of the activation and its derivatives at the nodes."""

    def __call__(self, s: Sequence[Array], weights: Array, centre: float = 1.0) -> Array:
        """One row for each mean; centre = 0 leaves central moments uncentred."""


def trapezoid(step: float, reach: float = REACH, shift: float = 0.0) -> Grid:
    """The truncated trapezoidal rule, which converges geometrically for smooth functions."""
    half = math.ceil(reach / step)
    nodes: Array = step * (np.arange(-half, half + 1, dtype=np.float64) + shift)
    weights: Array = np.exp(-0.5 * nodes**2)
    return Grid(nodes, weights / weights.sum())


def rule(step: float) -> Rule:
    """The rule of a step. The moved grid also ends earlier, so that it tests the tails as well.

    What a grid cannot resolve it takes for something slower, with a phase that depends on where
    the grid begins. Halving the step, or moving by half of it, keeps some of these phases; moving
    by the golden part of a step keeps none.
    """
    return Rule(step, trapezoid(step), trapezoid(step, REACH - 2.0, SHIFT))


def evaluate(activation: Sequence[Function], z: Array) -> list[Array]:
    """The activation and its derivatives at z."""
    values = []
    for order, function in enumerate(activation):
        value = np.asarray(function(z))
        if value.shape not in ((), z.shape) or value.dtype.kind not in "fiub":
            raise KernelInputError(
                f"Derivative {order} of the activation returned {value.dtype} of shape "
                f"{value.shape}. It was called with float64 of shape {z.shape}. "
                "Give functions that act on each element of an array of reals."
            )
        full = value if value.shape == z.shape else np.full(z.shape, value)
        values.append(full.astype(np.float64, copy=False))
    return values


def choose_rule(
    activation: Sequence[Function], K: float, table: MeanTable, layer: int, step: float = FIRST_STEP
) -> Rule:
    """The coarsest trapezoidal rule that is right to about double precision.

    For a smooth function the error of a step h is exp(-c/h) or smaller. Steps are lowered by
    factors of sqrt(2) until no mean moves by more than 1e-8 when the grid is moved; differences
    are measured against the mean of the absolute value. How far they moved gives c, and with it
    the step between h and h/2 that reaches 1e-17. That rule is tested in turn.
    """
    while step > LEAST_STEP:
        moved = farthest(activation, K, table, rule(step))
        if moved == math.inf:
            raise KernelInputError(
                f"The Gaussian means of the activation overflow at layer {layer}. "
                f"The variance K is at most {K:.3g} there. "
                "Give fewer layers, a C_W nearer to its critical value, or a tamer activation."
            )
        if moved <= AGREEMENT:
            found = rule(step * max(0.5, math.log(max(moved, TARGET)) / math.log(TARGET)))
            resolved = farthest(activation, K, table, found) <= VERIFIED
            if resolved and derivatives_resolved(activation, K, found):
                return found
        step /= math.sqrt(2.0)
    raise KernelInputError(
        f"The Gaussian means of the activation do not converge at layer {layer}. "
        f"K is at most {K:.3g} there, and steps of {step:.2g} standard deviations are too coarse. "
        "Give an activation without kinks or jumps that grows or oscillates more slowly, or a "
        "smaller K."
    )


def farthest(activation: Sequence[Function], K: float, table: MeanTable, found: Rule) -> float:
    """How far any mean moves with the grid, infinite if one is not finite."""
    _, moves = tested_means(activation, np.array([K]), table, found)
    return float(moves[0]) if np.isfinite(moves[0]) else math.inf


def tested_means(
    activation: Sequence[Function], K: Array, table: MeanTable, found: Rule
) -> tuple[Array, Array]:
    """All means at every K, and how far they move with the grid, relative to absolute means."""
    roots = np.sqrt(K)[:, None]
    values = evaluate(activation, roots * found.grid.nodes)
    means = table(values, found.grid.weights)
    sizes = table([np.abs(value) for value in values], found.grid.weights, 0.0)
    again = table(evaluate(activation, roots * found.moved.nodes), found.moved.weights)
    moves = np.abs(means - again)
    relative = np.divide(moves, sizes, out=np.zeros_like(moves), where=sizes != 0.0)
    return means, relative.max(axis=0, initial=0.0)


def derivatives_resolved(activation: Sequence[Function], K: float, found: Rule) -> bool:
    """Test each derivative against the one before, if both grids agree on what to compare.

    By parts, E[(x-1) e^x f] = sqrt(K) E[e^x f'].
    """
    (left, right, size), (again, other, _) = (
        tilted_sides(activation, K, grid) for grid in (found.grid, found.moved)
    )
    if np.any(np.maximum(np.abs(left - again), np.abs(right - other)) > AGREEMENT * size):
        return False
    wrong = ~(np.abs(left - right) <= 1e-6 * size)
    if wrong.any():
        order = int(np.argmax(wrong)) + 1
        raise KernelInputError(
            f"Function {order} of the activation is not the derivative of function "
            f"{order - 1}. Integration by parts fails for z of variance {K:.3g}. "
            "Give sigma, sigma', sigma'', … in order; jumps and kinks are not allowed."
        )
    return True


def tilted_sides(
    activation: Sequence[Function], K: float, grid: Grid
) -> tuple[Array, Array, Array]:
    """Both sides of the integration by parts for each derivative, and their absolute size."""
    values = evaluate(activation, math.sqrt(K) * grid.nodes)
    weights = grid.weights * np.exp(grid.nodes - 0.5)
    table = np.stack(values)
    left, right = (grid.nodes - 1.0) * table[:-1], math.sqrt(K) * table[1:]
    size = np.abs(left) @ weights + np.abs(right) @ weights
    return left @ weights, right @ weights, size


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
        self.rules: dict[int, Rule] = {}

    def rule(self, K: float, layer: int) -> Rule:
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

    def _group(self, rows: NDArray[np.intp], K: Array) -> Array:
        found = self.rule(float(K[rows[0]]), int(rows[0]) + 1)
        count = min(rows.size, -(-rows.size * found.grid.nodes.size // CHUNK))
        parts = [self._tested(part, K) for part in np.array_split(rows, count)]
        return np.concatenate(parts, axis=1)

    def _tested(self, rows: NDArray[np.intp], K: Array) -> Array:
        while True:
            layer = int(rows[0]) + 1
            found = self.rule(float(K[rows[0]]), layer)
            means, moves = tested_means(self.activation, K[rows], self.table, found)
            worst = int(np.argmax(moves))
            if moves[worst] <= VERIFIED:
                return means
            self.refine(float(K[rows[worst]]), int(rows[worst]) + 1)


def real_numbers(name: str, value: Any) -> Array:
    """A number or numbers as an array; text, complex numbers, True and None are none."""
    try:
        given = np.asarray(value)
        kind = given.dtype.kind
        if kind in "iuf" or (kind == "O" and all(isinstance(x, Real) for x in given.flat)):
            return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise KernelInputError(
        f"{name} is {short_repr(value)}. It must consist of real numbers in double precision. "
        "Give one number, or a list of numbers where there is one for each layer."
    )


def per_layer(name: str, value: PerLayer | None, depth: int, needed: bool) -> Array:
    """A hyperparameter as one number for each layer."""
    if value is None:
        if needed:
            raise KernelInputError(
                f"{name} is missing. The recursions of this kernel contain it. "
                f"Give a number, or one number for each of the {depth} layers."
            )
        return np.zeros(depth)
    numbers = real_numbers(name, value)
    if numbers.ndim == 0:
        numbers = np.full(depth, float(numbers))
    if numbers.shape != (depth,):
        raise KernelInputError(
            f"{name} has shape {numbers.shape}. The network has {depth} layers. "
            f"Give a number, or one number for each of the {depth} layers."
        )
    bad = ~np.isfinite(numbers) | (name.startswith("C_") & (numbers < 0.0))
    if bad.any():
        layer = int(np.argmax(bad))
        raise KernelInputError(
            f"{name} is {numbers[layer]} at layer {layer + 1}. "
            "Variances must be finite and not negative, learning rates finite. "
            "Correct the value."
        )
    return numbers


def width_ratios(widths: Sequence[float] | Array | None, depth: int) -> Array:
    """n_l/n_(l-1) for l = 1 … L-1; the first one never counts, as inputs do not fluctuate."""
    if widths is None:
        return np.ones(depth - 1)
    numbers = real_numbers("widths", widths)
    if numbers.shape != (depth - 1,):
        raise KernelInputError(
            f"widths has shape {numbers.shape}. The network has {depth} layers and so "
            f"{depth - 1} hidden widths. Give one width for each hidden layer."
        )
    if not (np.isfinite(numbers) & (numbers > 0.0)).all():
        raise KernelInputError(
            f"widths has the smallest member {numbers.min()} and the largest {numbers.max()}. "
            "A width is a positive number. Correct the value."
        )
    return np.concatenate([np.ones(1), numbers[1:] / numbers[:-1]])[: depth - 1]


def check_activation(activation: Sequence[Function], needed: int) -> tuple[Function, ...]:
    """Refuse what is no activation with its derivatives."""
    given = tuple(activation) if isinstance(activation, Iterable) else (activation,)
    if len(given) != needed or not all(callable(function) for function in given):
        raise KernelInputError(
            f"The activation is given by {len(given)} functions. This kernel needs {needed}: "
            f"sigma and its first {needed - 1} derivatives. Give them in order, as callables."
        )
    return given


def check_overlap(overlap: float) -> float:
    """Refuse what is no mean square of an input."""
    number = real_numbers("overlap", overlap)
    if number.ndim or not 0.0 <= number < math.inf:
        raise KernelInputError(
            f"The overlap is {short_repr(overlap)}. It is x.x/n_0, the mean square of the input. "
            "Give a finite number that is not negative."
        )
    return float(number)


def check_depth(depth: int, arrays: int) -> int:
    """Refuse what is no number of layers, and more layers than fit into memory."""
    if not isinstance(depth, Integral) or isinstance(depth, bool) or depth < 1:
        raise KernelInputError(
            f"The depth is {short_repr(depth)}. It is the number of layers L. "
            "Give a positive integer."
        )
    layers = int(depth)
    if layers > MOST_BYTES / (8 * arrays):
        raise KernelInputError(
            f"The depth is {short_repr(layers)}. So many layers would take about "
            f"{8 * arrays * min(layers, 10**30) / 1e9:.2g} GB of memory, and this kernel takes "
            f"{MOST_BYTES / 1e9:.2g} GB at most. Give fewer layers."
        )
    return layers


def check_finite(name: str, values: Array, K: Array) -> None:
    """Refuse a result that has overflowed, and say where."""
    if not np.isfinite(values).all():
        layer = int(np.argmin(np.isfinite(values)))
        raise KernelInputError(
            f"{name} overflows at layer {layer + 1} of {values.size}. "
            f"The variance K was {K[max(layer - 1, 0)]:.3g} in the layer before. "
            "Give fewer layers, a C_W nearer to its critical value, or smaller learning rates."
        )


def scan(gain: Array, source: Array, first: float) -> Array:
    """X at every layer from X[l+1] = gain[l] X[l] + source[l]."""
    value, values = first, [first]
    for factor, term in zip(gain.tolist(), source.tolist(), strict=True):
        value = factor * value + term
        values.append(value)
    return np.array(values)


def variances(
    quadrature: Quadrature,
    advance: Callable[[Sequence[Array], Array, float, float], float],
    first: float,
    C_b: Array,
    C_W: Array,
) -> Array:
    """The variance K at every layer."""
    K, values = first, [first]
    for layer, (b, W) in enumerate(zip(C_b.tolist(), C_W.tolist(), strict=True), 2):
        K = next_variance(quadrature, advance, K, b, W, layer - 1)
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
    advance: Callable[[Sequence[Array], Array, float, float], float],
    K: float,
    C_b: float,
    C_W: float,
    layer: int,
) -> float:
    """The variance one layer up, from a rule on which both grids agree."""
    while True:
        _, *grids = quadrature.rule(K, layer)
        found, again = (
            float(advance(evaluate(quadrature.activation[:1], math.sqrt(K) * x), w, C_b, C_W))
            for x, w in grids
        )
        if not abs(found - again) > VERIFIED * abs(found):
            return found
        quadrature.refine(K, layer)
