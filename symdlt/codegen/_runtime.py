"""What every single-input kernel shares; the text below the mark is copied into each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

# ---- copied from here ----

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
PerLayer = float | Sequence[float] | Array

REACH = 12.0
FIRST_STEP = 0.5
MOST_STEPS = 17
AGREEMENT = 1e-8
TARGET = 1e-17
CHUNK = 1 << 14


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


class MeanTable(Protocol):
    """All means from the values of the activation and its derivatives at the nodes."""

    def __call__(self, s: Sequence[Array], weights: Array, centre: float = 1.0) -> Array:
        """One row for each mean; centre = 0 leaves central moments uncentred."""


def trapezoid(step: float, reach: float = REACH) -> Grid:
    """The truncated trapezoidal rule, which converges geometrically for smooth functions."""
    half = math.ceil(reach / step)
    nodes: Array = step * np.arange(-half, half + 1, dtype=np.float64)
    weights: Array = np.exp(-0.5 * nodes**2)
    return Grid(nodes, weights / weights.sum())


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


def choose_grid(activation: Sequence[Function], K: float, table: MeanTable, layer: int) -> Grid:
    """The coarsest trapezoidal rule that is right to about double precision.

    For a smooth function the error of a step h is exp(-c/h) or smaller. Steps are lowered by
    factors of sqrt(2) until no mean moves by more than 1e-8 when the step is halved; differences
    are measured against the mean of the absolute value. How far they moved gives c, and with it
    the step between h and h/2 that reaches 1e-17. The rule that is tested also ends earlier, so
    the tails are tested as well.
    """
    step = FIRST_STEP
    for _ in range(MOST_STEPS):
        moved = difference(activation, K, table, step)
        if moved <= AGREEMENT:
            finer = max(0.5, math.log(max(moved, TARGET)) / math.log(TARGET))
            grid = trapezoid(step * finer)
            check_derivatives(evaluate(activation, math.sqrt(K) * grid.nodes), grid, K)
            return grid
        if moved == math.inf:
            raise KernelInputError(
                f"The Gaussian means of the activation overflow at layer {layer}. "
                f"The variance K is about {K:.3g} there. "
                "Give fewer layers, a C_W nearer to its critical value, or a tamer activation."
            )
        step /= math.sqrt(2.0)
    raise KernelInputError(
        f"The Gaussian means of the activation do not converge at layer {layer}. "
        f"K is about {K:.3g} there, and steps of {step:.2g} standard deviations are too coarse. "
        "Give an activation without kinks or jumps that grows more slowly, or a smaller K."
    )


def difference(activation: Sequence[Function], K: float, table: MeanTable, step: float) -> float:
    """How far the means move from a step to half of it, relative to their absolute means."""
    fine, coarse = trapezoid(step / 2.0), trapezoid(step, REACH - 2.0)
    values = evaluate(activation, math.sqrt(K) * fine.nodes)
    means = table(values, fine.weights)
    sizes = table([np.abs(value) for value in values], fine.weights, 0.0)
    moves = np.abs(means - table(evaluate(activation, math.sqrt(K) * coarse.nodes), coarse.weights))
    relative = np.divide(moves, sizes, out=np.zeros_like(moves), where=sizes != 0.0)
    return float(relative.max()) if np.isfinite(relative).all() else math.inf


def check_derivatives(values: Sequence[Array], grid: Grid, K: float) -> None:
    """Test each derivative against the one before, by parts: E[(x-1) e^x f] = sqrt(K) E[e^x f']."""
    x = grid.nodes
    tilted = grid.weights * np.exp(x - 0.5)
    for order, (lower, upper) in enumerate(pairwise(values), 1):
        left, right = (x - 1.0) * lower, math.sqrt(K) * upper
        size = np.abs(left) @ tilted + np.abs(right) @ tilted
        if not abs(left @ tilted - right @ tilted) <= 1e-6 * size:
            raise KernelInputError(
                f"Function {order} of the activation is not the derivative of function "
                f"{order - 1}. Integration by parts fails for z of variance {K:.3g}. "
                "Give sigma, sigma', sigma'', … in order; jumps and kinks are not allowed."
            )


def octave(K: float) -> int:
    """A number that changes with every factor of two in K."""
    return math.frexp(max(K, 1e-300))[1]


class Quadrature:
    """The grids in use, one for each factor of two in K, found when they are first needed."""

    def __init__(self, activation: Sequence[Function], table: MeanTable) -> None:
        self.activation = activation
        self.table = table
        self.grids: dict[int, Grid] = {}

    def grid(self, K: float, layer: int) -> Grid:
        """The grid for this K, tested at the upper end of its range of K."""
        key = octave(K)
        if key not in self.grids:
            self.grids[key] = choose_grid(self.activation, 2.0**key, self.table, layer)
        return self.grids[key]

    def means(self, K: Array) -> Array:
        """All means, one row for each, at every K."""
        groups: dict[int, list[int]] = {}
        for index, value in enumerate(K.tolist()):
            groups.setdefault(octave(value), []).append(index)
        parts = [self._group(np.array(rows), K) for rows in groups.values()]
        order = np.argsort(np.array([row for rows in groups.values() for row in rows]))
        return np.concatenate(parts, axis=1)[:, order]

    def _group(self, rows: NDArray[np.intp], K: Array) -> Array:
        grid = self.grid(float(K[rows[0]]), int(rows[0]) + 1)
        count = -(-rows.size * grid.nodes.size // CHUNK)
        parts = []
        for part in np.array_split(rows, count):
            z = np.sqrt(K[part])[:, None] * grid.nodes
            parts.append(self.table(evaluate(self.activation, z), grid.weights))
        return np.concatenate(parts, axis=1)


def per_layer(name: str, value: PerLayer | None, depth: int, needed: bool) -> Array:
    """A hyperparameter as one number for each layer."""
    if value is None:
        if needed:
            raise KernelInputError(
                f"{name} is missing. The recursions of this kernel contain it. "
                f"Give a number, or one number for each of the {depth} layers."
            )
        return np.zeros(depth)
    numbers = np.asarray(value, dtype=np.float64)
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
    numbers = np.asarray(widths, dtype=np.float64)
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


def check_input(activation: Sequence[Function], overlap: float, depth: int, needed: int) -> None:
    """Refuse what is no activation, no input, or no network."""
    if len(activation) != needed or not all(callable(function) for function in activation):
        raise KernelInputError(
            f"The activation is given by {len(activation)} functions. This kernel needs {needed}: "
            f"sigma and its first {needed - 1} derivatives. Give them in order, as callables."
        )
    if not (math.isfinite(overlap) and overlap >= 0.0):
        raise KernelInputError(
            f"The overlap is {overlap}. It is x.x/n_0, the mean square of the input. "
            "Give a finite number that is not negative."
        )
    if depth != int(depth) or depth < 1:
        raise KernelInputError(
            f"The depth is {depth}. It is the number of layers L. Give a positive integer."
        )


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
        grid = quadrature.grid(K, layer - 1)
        s = evaluate(quadrature.activation[:1], math.sqrt(K) * grid.nodes)
        K = float(advance(s, grid.weights, b, W))
        values.append(K)
        if not math.isfinite(K):
            check_finite("G", np.array(values), np.array(values))
        if K < 0.0:
            raise KernelInputError(
                f"The variance K is {K:.3g} at layer {layer}. A variance is never negative. "
                "This is a fault of the kernel or of the activation given to it."
            )
    return np.array(values)
