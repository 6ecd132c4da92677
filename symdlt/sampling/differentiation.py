r"""Derivatives of real networks, by reverse mode over a nilpotent algebra.

With parameters $θ + \sum_a ε_a u_a$ and $ε_a^2 = 0$, the coefficient of $ε_1 ⋯ ε_k$ in
$z(θ + \sum ε u)$ is $D^k z[u_1, …, u_k]$, and the same coefficient of the gradient is the vector
$D^{k+1} z[u_1, …, u_k, ·]$. A polynomial in the ε is a dictionary from bit masks to arrays, zero
where a mask is missing. Gradients are sums of outer products, layer by layer, and stay so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cache, reduce
from typing import Any, TypeAlias

import numpy.typing as npt

from symdlt.combinatorics import set_partitions
from symdlt.definitions import INPUT, Function
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
FactorKey: TypeAlias = tuple[int, str | None, int]
Directions: TypeAlias = tuple["ParameterVector", ...]


@dataclass(frozen=True, slots=True, eq=False)
class SampledBranch:
    """One summand of a field of given networks.

    Attributes:
        function: what it reads, as numbers with factors (field, activation, derivative); of biases
            the number in front.
        rate: the learning rate of its parameters.
        weights: matrices, one a network, or None.
        biases: vectors, one a network, or None; without both it stays on its neuron.
    """

    function: Function
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
    """A vector in parameter space, for each field one entry a branch."""

    fields: tuple[tuple[BranchVector, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class BasePoint:
    """Values of the networks at the parameters themselves; the sample label is that of vertex 0.

    `derivatives[f][s][k]` is $s^{(k)}$ at the field f, of the activations that are read there.
    """

    fields: tuple[tuple[SampledBranch, ...], ...]
    inputs: Labelled
    values: tuple[Labelled, ...]
    derivatives: tuple[Mapping[str, tuple[Labelled, ...]], ...]
    outputs: Labelled


@dataclass(frozen=True, slots=True, eq=False)
class _Moved:
    """The networks moved along directions: all fields, and functions of them."""

    base: BasePoint
    top: int
    values: list[Polynomial] = dataclass_field(default_factory=list)
    composed: dict[FactorKey, Polynomial] = dataclass_field(default_factory=dict)

    def factor(self, key: FactorKey) -> Polynomial:
        """A function of one field."""
        of, name, order = key
        if of == INPUT:
            return {0: self.base.inputs}
        if name is None:
            return self.values[of]
        if key not in self.composed:
            chain = self.base.derivatives[of][name][order:]
            self.composed[key] = _compose(chain, self.values[of], self.top)
        return self.composed[key]

    def function(self, function: Function) -> Polynomial:
        """A sum of products of functions of fields."""
        terms = [self.product(number, factors) for number, factors in function]
        return terms[0] if len(terms) == 1 else _add_polynomials(terms)

    def product(self, number: float, factors: Sequence[FactorKey]) -> Polynomial:
        """A number times functions of fields."""
        parts = [self.factor(key) for key in factors]
        whole = reduce(lambda p, q: _multiply_polynomials(p, q, self.top), parts)
        return {mask: _scaled(number, one) for mask, one in whole.items()}


def differentiate(base: BasePoint, directions: Directions) -> ParameterVector:
    """Compute $D^{k+1} z_0[u_1, …, u_k, ·]$ for all outputs and samples of vertex 0."""
    top = (1 << len(directions)) - 1
    moved, signals = _propagate(base, directions)
    errors: list[Polynomial] = [{} for _ in base.fields]
    errors[-1] = {0: base.outputs}
    gradients = []
    for place in reversed(range(len(base.fields))):
        branches, error = base.fields[place], errors[place]
        vectors = zip(branches, signals[place], strict=True)
        gradients.append(tuple(_gradient(one, read, error, top) for one, read in vectors))
        for number, branch in enumerate(branches):
            parts = [direction.fields[place][number] for direction in directions]
            _pull_back(moved, branch, parts, error, errors)
    return ParameterVector(tuple(reversed(gradients)))


def _gradient(
    branch: SampledBranch, signal: Polynomial, errors: Polynomial, top: int
) -> BranchVector:
    """The derivative by the parameters of one branch."""
    if branch.biases is not None:
        error = errors.get(top)
        number = branch.function[0][0]
        return BranchVector((), None if error is None else _scaled(number, error))
    if branch.weights is None:
        return BranchVector()
    return BranchVector(
        tuple((error, signal[top ^ mask]) for mask, error in errors.items() if top ^ mask in signal)
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
            for branches, parts in zip(base.fields, vector.fields, strict=True)
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
            for parts in vector.fields
        )
    )


def pair_vectors(left: ParameterVector, right: ParameterVector) -> Labelled | None:
    """Sum the product of two parameter vectors over all parameters."""
    terms = []
    pairs = zip(left.fields, right.fields, strict=True)
    for one, other in (pair for rows in pairs for pair in zip(*rows, strict=True)):
        terms += [
            multiply(contract_neurons(rows, more_rows), contract_neurons(columns, more_columns))
            for rows, columns in one.outer
            for more_rows, more_columns in other.outer
        ]
        if one.bias is not None and other.bias is not None:
            terms.append(contract_neurons(one.bias, other.bias))
    return add_all(terms)


def _propagate(base: BasePoint, directions: Directions) -> tuple[_Moved, list[list[Polynomial]]]:
    """All fields along the directions, and what each of their branches reads."""
    moved = _Moved(base, (1 << len(directions)) - 1)
    signals: list[list[Polynomial]] = []
    for place, at_base in enumerate(base.values):
        branches = base.fields[place]
        read = [{} if one.biases is not None else moved.function(one.function) for one in branches]
        value = {0: at_base}
        for mask in range(1, moved.top + 1):
            terms: list[Labelled] = []
            for number, branch in enumerate(branches):
                parts = [direction.fields[place][number] for direction in directions]
                terms += _push_forward(branch, parts, read[number], mask)
            _store(value, mask, terms)
        signals.append(read)
        moved.values.append(value)
    return moved, signals


def _push_forward(
    branch: SampledBranch, parts: Sequence[BranchVector], signal: Polynomial, mask: int
) -> Iterator[Labelled]:
    """The coefficient of one mask of a branch."""
    if mask in signal:
        still = signal[mask]
        yield still if branch.weights is None else apply_matrices(branch.weights, still)
    for index, rest in _remove_one(mask):
        if rest in signal:
            for left, right in parts[index].outer:
                yield multiply(left, contract_neurons(right, signal[rest]))
        bias = parts[index].bias
        if rest == 0 and bias is not None:
            yield _scaled(branch.function[0][0], bias)


def _pull_back(
    moved: _Moved,
    branch: SampledBranch,
    parts: Sequence[BranchVector],
    error: Polynomial,
    errors: list[Polynomial],
) -> None:
    """Add to the errors of the fields that a branch reads."""
    if branch.biases is not None or not error:
        return
    through = _pull_through(branch, parts, error, moved.top)
    for number, factors in branch.function:
        for place, (of, name, order) in enumerate(factors):
            if of == INPUT:
                continue
            term = {mask: _scaled(number, one) for mask, one in through.items()}
            slopes = [] if name is None else [(of, name, order + 1)]
            for key in (*slopes, *factors[:place], *factors[place + 1 :]):
                term = _multiply_polynomials(term, moved.factor(key), moved.top)
            errors[of] = _add_polynomials([errors[of], term]) if errors[of] else term


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


def _add_polynomials(parts: Sequence[Polynomial]) -> Polynomial:
    result: Polynomial = {}
    for mask in sorted({mask for part in parts for mask in part}):
        _store(result, mask, [part[mask] for part in parts if mask in part])
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
