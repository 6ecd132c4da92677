r"""Derivatives of real networks, by reverse mode over a nilpotent algebra.

With parameters $θ + \sum_a ε_a u_a$ and $ε_a^2 = 0$, the coefficient of $ε_1 ⋯ ε_k$ in
$z(θ + \sum ε u)$ is $D^k z[u_1, …, u_k]$, and the same coefficient of the gradient is the vector
$D^{k+1} z[u_1, …, u_k, ·]$. A polynomial in the ε is a dictionary from bit masks to arrays, zero
where a mask is missing. Gradients are sums of outer products, layer by layer, and stay so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, TypeAlias

import numpy.typing as npt

from symdlt.sampling.ensemble import NetworkEnsemble, NetworkParameters
from symdlt.sampling.labelled import (
    Labelled,
    add_all,
    apply_matrices,
    contract_neurons,
    multiply,
    scale,
    shift_labels,
)

Array = npt.NDArray[Any]
Polynomial: TypeAlias = dict[int, Labelled]
Directions: TypeAlias = tuple["ParameterVector", ...]


@dataclass(frozen=True, slots=True, eq=False)
class LayerVector:
    """One layer of a parameter vector: weights as a sum of outer products, and biases."""

    outer: tuple[tuple[Labelled, Labelled], ...]
    bias: Labelled | None


@dataclass(frozen=True, slots=True, eq=False)
class ParameterVector:
    """A vector in parameter space, layer by layer."""

    layers: tuple[LayerVector, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BasePoint:
    """Values of the networks at the parameters themselves; the sample label is that of vertex 0.

    `derivatives[ℓ][k]` is $σ^{(k)}(z^{ℓ+1})$ of the hidden layer ℓ + 1.
    """

    parameters: NetworkParameters
    inputs: Labelled
    preactivations: tuple[Labelled, ...]
    derivatives: tuple[tuple[Labelled, ...], ...]
    outputs: Labelled


def differentiate(base: BasePoint, directions: Directions) -> ParameterVector:
    """Compute $D^{k+1} z_0[u_1, …, u_k, ·]$ for all outputs and samples of vertex 0."""
    top = (1 << len(directions)) - 1
    preactivations, signals = _propagate(base, directions)
    errors: Polynomial = {0: base.outputs}
    layers = []
    for layer in reversed(range(len(base.preactivations))):
        outer = tuple(
            (error, signals[layer][top ^ mask])
            for mask, error in errors.items()
            if top ^ mask in signals[layer]
        )
        layers.append(LayerVector(outer, errors.get(top)))
        if layer:
            slopes = _compose(base.derivatives[layer - 1][1:], preactivations[layer - 1], top)
            errors = _multiply_polynomials(_pull_back(base, directions, layer, errors), slopes, top)
    return ParameterVector(tuple(reversed(layers)))


def apply_learning_rates(vector: ParameterVector, ensemble: NetworkEnsemble) -> ParameterVector:
    r"""Multiply a vector by the learning-rate tensor, $λ_b$ and $λ_W / n_{ℓ-1}$."""
    layers = []
    for index, layer in enumerate(vector.layers):
        rate = ensemble.lambda_W[index] / ensemble.widths[index]
        bias_rate = ensemble.lambda_b[index]
        outer = tuple((left, scale(right, rate)) for left, right in layer.outer)
        bias = scale(layer.bias, bias_rate) if layer.bias is not None and bias_rate else None
        layers.append(LayerVector(outer if rate else (), bias))
    return ParameterVector(tuple(layers))


def shift_vector(vector: ParameterVector, vertices: int) -> ParameterVector:
    """Renumber the vertices v of all labels as v + `vertices`."""
    return ParameterVector(
        tuple(
            LayerVector(
                tuple(
                    (shift_labels(left, vertices), shift_labels(right, vertices))
                    for left, right in layer.outer
                ),
                None if layer.bias is None else shift_labels(layer.bias, vertices),
            )
            for layer in vector.layers
        )
    )


def pair_vectors(left: ParameterVector, right: ParameterVector) -> Labelled | None:
    """Sum the product of two parameter vectors over all parameters."""
    terms = []
    for one, other in zip(left.layers, right.layers, strict=True):
        terms += [
            multiply(contract_neurons(rows, more_rows), contract_neurons(columns, more_columns))
            for rows, columns in one.outer
            for more_rows, more_columns in other.outer
        ]
        if one.bias is not None and other.bias is not None:
            terms.append(contract_neurons(one.bias, other.bias))
    return add_all(terms)


def _propagate(
    base: BasePoint, directions: Directions
) -> tuple[tuple[Polynomial, ...], tuple[Polynomial, ...]]:
    top = (1 << len(directions)) - 1
    signal: Polynomial = {0: base.inputs}
    preactivations, signals = [], []
    for layer, at_base in enumerate(base.preactivations):
        signals.append(signal)
        preactivation = {0: at_base}
        for mask in range(1, top + 1):
            terms = list(_push_forward(base, directions, layer, signal, mask))
            _store(preactivation, mask, terms)
        preactivations.append(preactivation)
        if layer + 1 < len(base.preactivations):
            signal = _compose(base.derivatives[layer], preactivation, top)
    return tuple(preactivations), tuple(signals)


def _push_forward(
    base: BasePoint, directions: Directions, layer: int, signal: Polynomial, mask: int
) -> Iterator[Labelled]:
    if mask in signal:
        yield apply_matrices(base.parameters.weights[layer], signal[mask])
    for index, rest in _remove_one(mask):
        vector = directions[index].layers[layer]
        if rest in signal:
            for left, right in vector.outer:
                yield multiply(left, contract_neurons(right, signal[rest]))
        if rest == 0 and vector.bias is not None:
            yield vector.bias


def _pull_back(
    base: BasePoint, directions: Directions, layer: int, errors: Polynomial
) -> Polynomial:
    transposed = base.parameters.weights[layer].swapaxes(1, 2)
    result: Polynomial = {}
    for mask in range(1 << len(directions)):
        terms = [apply_matrices(transposed, errors[mask])] if mask in errors else []
        for index, rest in _remove_one(mask):
            if rest in errors:
                terms += [
                    multiply(right, contract_neurons(left, errors[rest]))
                    for left, right in directions[index].layers[layer].outer
                ]
        _store(result, mask, terms)
    return result


def _compose(derivatives: tuple[Labelled, ...], inner: Polynomial, top: int) -> Polynomial:
    result: Polynomial = {}
    for mask in range(top + 1):
        terms = [
            reduce(multiply, (inner[block] for block in blocks), derivatives[len(blocks)])
            for blocks in list_mask_partitions(mask)
            if all(block in inner for block in blocks)
        ]
        _store(result, mask, terms)
    return result


def _multiply_polynomials(left: Polynomial, right: Polynomial, top: int) -> Polynomial:
    result: Polynomial = {}
    for mask in range(top + 1):
        terms = [
            multiply(left[part], right[mask ^ part])
            for part in range(mask + 1)
            if part & mask == part and part in left and mask ^ part in right
        ]
        _store(result, mask, terms)
    return result


def _store(polynomial: Polynomial, mask: int, terms: list[Labelled]) -> None:
    total = add_all(terms)
    if total is not None:
        polynomial[mask] = total


def _remove_one(mask: int) -> Iterator[tuple[int, int]]:
    for index in range(mask.bit_length()):
        if mask >> index & 1:
            yield index, mask ^ (1 << index)


@cache
def list_mask_partitions(mask: int) -> tuple[tuple[int, ...], ...]:
    """List the set partitions of the bits of a mask, as tuples of masks.

    >>> list_mask_partitions(0b11)
    ((3,), (1, 2))
    """
    if mask == 0:
        return ((),)
    lowest = mask & -mask
    rest = mask ^ lowest
    subsets = sorted((part for part in range(rest + 1) if part & rest == part), reverse=True)
    return tuple(
        (lowest | part, *others) for part in subsets for others in list_mask_partitions(rest ^ part)
    )
