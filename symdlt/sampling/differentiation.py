r"""Derivatives of real networks, by reverse mode over a nilpotent algebra.

With parameters $θ + \sum_a ε_a u_a$ and $ε_a^2 = 0$, the coefficient of $ε_1 ⋯ ε_k$ in
$z(θ + \sum ε u)$ is $D^k z[u_1, …, u_k]$, and the same coefficient of the gradient is the vector
$D^{k+1} z[u_1, …, u_k, ·]$. A polynomial in the ε is a dictionary from bit masks to arrays, zero
where a mask is missing. Gradients are sums of outer products, layer by layer, and stay so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, TypeAlias

import numpy.typing as npt

from symdlt.combinatorics import set_partitions
from symdlt.definitions import FIELD
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
class SampledBranch:
    """One branch of a layer of given networks, with the numbers of its `Branch`.

    Attributes:
        order: which derivative of σ it reads, `FIELD` for the preactivation itself.
        coefficient: the constant in front.
        rate: the learning rate of its parameters.
        weights: matrices, one a network, or None.
        biases: vectors, one a network, or None; without both it stays on its neuron.
    """

    order: int
    coefficient: float
    rate: float
    weights: Array | None
    biases: Array | None


@dataclass(frozen=True, slots=True, eq=False)
class BranchVector:
    """The part of a parameter vector in one branch: a sum of outer products, or biases."""

    outer: tuple[tuple[Labelled, Labelled], ...] = ()
    bias: Labelled | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ParameterVector:
    """A vector in parameter space, for each layer one entry a branch."""

    layers: tuple[tuple[BranchVector, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class BasePoint:
    """Values of the networks at the parameters themselves; the sample label is that of vertex 0.

    `derivatives[ℓ][k]` is $σ^{(k)}(z^{ℓ+1})$ of the hidden layer ℓ + 1.
    """

    layers: tuple[tuple[SampledBranch, ...], ...]
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
    for layer in reversed(range(len(base.layers))):
        branches = base.layers[layer]
        vectors = zip(branches, signals[layer], strict=True)
        layers.append(tuple(_gradient(one, read, errors, top) for one, read in vectors))
        if layer:
            below = preactivations[layer - 1]
            errors = _pull_back(base, directions, layer, errors, below)
    return ParameterVector(tuple(reversed(layers)))


def _gradient(
    branch: SampledBranch, signal: Polynomial, errors: Polynomial, top: int
) -> BranchVector:
    """The derivative by the parameters of one branch."""
    if branch.biases is not None:
        error = errors.get(top)
        return BranchVector((), None if error is None else _scaled(branch.coefficient, error))
    if branch.weights is None:
        return BranchVector()
    return BranchVector(
        tuple(
            (error, _scaled(branch.coefficient, signal[top ^ mask]))
            for mask, error in errors.items()
            if top ^ mask in signal
        )
    )


def apply_learning_rates(vector: ParameterVector, base: BasePoint) -> ParameterVector:
    r"""Multiply a vector by the learning-rate tensor, $λ_b$ and $λ_W / n_{ℓ-1}$ if dense."""
    return ParameterVector(
        tuple(
            tuple(
                BranchVector(
                    tuple((left, scale(right, one.rate)) for left, right in part.outer),
                    None if part.bias is None else scale(part.bias, one.rate),
                )
                if one.rate
                else BranchVector()
                for one, part in zip(branches, parts, strict=True)
            )
            for branches, parts in zip(base.layers, vector.layers, strict=True)
        )
    )


def shift_vector(vector: ParameterVector, vertices: int) -> ParameterVector:
    """Renumber the vertices v of all labels as v + `vertices`."""
    return ParameterVector(
        tuple(
            tuple(
                BranchVector(
                    tuple(
                        (shift_labels(left, vertices), shift_labels(right, vertices))
                        for left, right in part.outer
                    ),
                    None if part.bias is None else shift_labels(part.bias, vertices),
                )
                for part in parts
            )
            for parts in vector.layers
        )
    )


def pair_vectors(left: ParameterVector, right: ParameterVector) -> Labelled | None:
    """Sum the product of two parameter vectors over all parameters."""
    terms = []
    pairs = zip(left.layers, right.layers, strict=True)
    for one, other in (pair for rows in pairs for pair in zip(*rows, strict=True)):
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
) -> tuple[list[Polynomial], list[list[Polynomial]]]:
    """The preactivations of each layer, and what each of its branches reads."""
    top = (1 << len(directions)) - 1
    preactivations: list[Polynomial] = []
    signals: list[list[Polynomial]] = []
    for layer, at_base in enumerate(base.preactivations):
        read = _signals(base, layer, preactivations, top)
        preactivation = {0: at_base}
        for mask in range(1, top + 1):
            terms = []
            for place, branch in enumerate(base.layers[layer]):
                parts = [direction.layers[layer][place] for direction in directions]
                moved = _push_forward(branch, parts, read[place], mask)
                terms += [_scaled(branch.coefficient, term) for term in moved]
            _store(preactivation, mask, terms)
        signals.append(read)
        preactivations.append(preactivation)
    return preactivations, signals


def _signals(
    base: BasePoint, layer: int, preactivations: Sequence[Polynomial], top: int
) -> list[Polynomial]:
    """What the branches of a layer read of the layer below; biases read nothing."""
    found: dict[int, Polynomial] = {}
    for order in {one.order for one in base.layers[layer] if one.biases is None}:
        if layer == 0:
            found[order] = {0: base.inputs}
        elif order == FIELD:
            found[order] = preactivations[layer - 1]
        else:
            read = base.derivatives[layer - 1][order:]
            found[order] = _compose(read, preactivations[layer - 1], top)
    return [{} if one.biases is not None else found[one.order] for one in base.layers[layer]]


def _push_forward(
    branch: SampledBranch, parts: Sequence[BranchVector], signal: Polynomial, mask: int
) -> Iterator[Labelled]:
    """The coefficient of one mask of a branch, without the constant in front."""
    if mask in signal:
        still = signal[mask]
        yield still if branch.weights is None else apply_matrices(branch.weights, still)
    for index, rest in _remove_one(mask):
        if rest in signal:
            for left, right in parts[index].outer:
                yield multiply(left, contract_neurons(right, signal[rest]))
        bias = parts[index].bias
        if rest == 0 and bias is not None:
            yield bias


def _pull_back(
    base: BasePoint, directions: Directions, layer: int, errors: Polynomial, below: Polynomial
) -> Polynomial:
    """The derivative by the preactivations of the layer below."""
    top = (1 << len(directions)) - 1
    found: dict[int, list[Labelled]] = {}
    for place, branch in enumerate(base.layers[layer]):
        if branch.biases is not None:
            continue
        parts = [direction.layers[layer][place] for direction in directions]
        moved = _pull_through(branch, parts, errors, top)
        if branch.order != FIELD:
            slopes = _compose(base.derivatives[layer - 1][branch.order + 1 :], below, top)
            moved = _multiply_polynomials(moved, slopes, top)
        for mask, term in moved.items():
            found.setdefault(mask, []).append(_scaled(branch.coefficient, term))
    result: Polynomial = {}
    for mask, terms in found.items():
        _store(result, mask, terms)
    return result


def _pull_through(
    branch: SampledBranch, parts: Sequence[BranchVector], errors: Polynomial, top: int
) -> Polynomial:
    """Errors times the transposed weights of a branch, which the directions move."""
    if branch.weights is None:
        return errors
    transposed = branch.weights.swapaxes(1, 2)
    result: Polynomial = {}
    for mask in range(top + 1):
        terms = [apply_matrices(transposed, errors[mask])] if mask in errors else []
        for index, rest in _remove_one(mask):
            if rest in errors:
                terms += [
                    multiply(right, contract_neurons(left, errors[rest]))
                    for left, right in parts[index].outer
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


def _scaled(factor: float, array: Labelled) -> Labelled:
    """Multiply by a constant in front, which is mostly 1."""
    return array if factor == 1.0 else scale(array, factor)


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
    bits = tuple(1 << place for place in range(mask.bit_length()) if mask >> place & 1)
    return tuple(tuple(map(sum, partition)) for partition in set_partitions(bits))
