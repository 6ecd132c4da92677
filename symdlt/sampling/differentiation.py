r"""Derivatives of real networks, by reverse mode over a nilpotent algebra.

With parameters $θ + \sum_a ε_a u_a$ and $ε_a^2 = 0$, the coefficient of $ε_1 ⋯ ε_k$ in
$z(θ + \sum ε u)$ is $D^k z[u_1, …, u_k]$, and the same coefficient of the gradient is the vector
$D^{k+1} z[u_1, …, u_k, ·]$. A polynomial in the ε is a dictionary from bit masks to arrays, zero
where a mask is missing. Gradients are sums of outer products, layer by layer, and stay so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import reduce
from typing import Any, TypeAlias

import numpy.typing as npt

from symdlt.definitions import INPUT, MASK, SOFTMAXES, Function
from symdlt.sampling.labelled import (
    Labelled,
    WindowRead,
    add_all,
    apply_matrices,
    contract_neurons,
    multiply_over_positions,
    place_labels,
    scale,
    sum_positions,
)
from symdlt.sampling.normalisation import (
    normalised,
    pull_through_norm,
    pull_through_softmax,
    softmax,
)
from symdlt.sampling.polynomials import (
    Polynomial,
    add_polynomials,
    compose,
    multiply_polynomials,
    remove_one,
    scaled,
    store,
)

Array = npt.NDArray[Any]
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
        norm: how what stays is normalised over the neurons, if it is.
        window: the positions that are read, if they are several or others.
        shared: the name of a tensor that several branches have, if they do.
    """

    function: Function
    rate: float
    weights: Array | None
    biases: Array | None
    norm: str | None = None
    window: WindowRead | None = None
    shared: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BranchVector:
    """The part of a parameter vector in one branch: a sum of outer products, or biases."""

    outer: tuple[tuple[Labelled, Labelled], ...] = ()
    bias: Labelled | None = None

    def scaled(self, rate: float) -> "BranchVector":
        """The same times a number."""
        if not rate:
            return BranchVector()
        bias = None if self.bias is None else scale(self.bias, rate)
        return BranchVector(tuple((left, scale(right, rate)) for left, right in self.outer), bias)

    def placed(self, first: int, neurons: Sequence[int]) -> "BranchVector":
        """The same with other vertices, as `place_labels` numbers them."""
        bias = None if self.bias is None else place_labels(self.bias, first, neurons)
        placed = (tuple(place_labels(a, first, neurons) for a in pair) for pair in self.outer)
        return BranchVector(tuple((left, right) for left, right in placed), bias)


@dataclass(frozen=True, slots=True, eq=False)
class ParameterVector:
    """A vector in parameter space, for each field one entry a branch.

    That of a tensor which several branches share is at the first of them.
    """

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

    def first(self, place: int, number: int) -> tuple[int, int]:
        """The first branch, by its field and its number, that has the tensor of a branch."""
        name = self.fields[place][number].shared
        if name is None:
            return place, number
        return next(
            (field, at)
            for field, branches in enumerate(self.fields)
            for at, one in enumerate(branches)
            if one.shared == name
        )

    def parts(
        self, directions: Sequence[ParameterVector], place: int, number: int
    ) -> list[BranchVector]:
        """The parts of vectors that move the tensor of a branch."""
        field, at = self.first(place, number)
        return [direction.fields[field][at] for direction in directions]


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
        if name is None or name == MASK:
            return self.values[of]
        if name in SOFTMAXES and key not in self.composed:
            self.composed[key] = softmax(self.values[of], name, self.top)
        if key not in self.composed:
            chain = self.base.derivatives[of][name][order:]
            self.composed[key] = compose(chain, self.values[of], self.top)
        return self.composed[key]

    def function(self, function: Function) -> Polynomial:
        """A sum of products of functions of fields."""
        terms = [self.product(number, factors) for number, factors in function]
        return terms[0] if len(terms) == 1 else add_polynomials(terms)

    def read(self, branch: SampledBranch) -> Polynomial:
        """What a branch reads, at all positions of its window."""
        values = self.function(branch.function)
        if branch.window is None:
            return values
        return {mask: branch.window.read(one) for mask, one in values.items()}

    def product(self, number: float, factors: Sequence[FactorKey]) -> Polynomial:
        """A number times functions of fields."""
        parts = [self.factor(key) for key in factors]
        whole = reduce(lambda p, q: multiply_polynomials(p, q, self.top), parts)
        return {mask: scaled(number, one) for mask, one in whole.items()}


def differentiate(base: BasePoint, directions: Directions) -> ParameterVector:
    """Compute $D^{k+1} z_0[u_1, …, u_k, ·]$ for all outputs and samples of vertex 0."""
    top = (1 << len(directions)) - 1
    moved, signals = _propagate(base, directions)
    errors: list[Polynomial] = [{} for _ in base.fields]
    errors[-1] = {0: base.outputs}
    gradients = [[BranchVector() for _ in branches] for branches in base.fields]
    for place in reversed(range(len(base.fields))):
        error = errors[place]
        for number, branch in enumerate(base.fields[place]):
            field, at = base.first(place, number)
            own = _gradient(branch, signals[place][number], error, top)
            gradients[field][at] = _sum_of(own, gradients[field][at])
            _pull_back(moved, branch, base.parts(directions, place, number), error, errors)
    return ParameterVector(tuple(map(tuple, gradients)))


def _sum_of(one: BranchVector, other: BranchVector) -> BranchVector:
    """What two uses of a tensor contribute together."""
    biases = [each.bias for each in (one, other) if each.bias is not None]
    return BranchVector(one.outer + other.outer, add_all(biases))


def _gradient(
    branch: SampledBranch, signal: Polynomial, errors: Polynomial, top: int
) -> BranchVector:
    """The derivative by the parameters of one branch."""
    if branch.biases is not None:
        error = errors.get(top)
        number = branch.function[0][0]
        if error is None:
            return BranchVector()
        return BranchVector((), scaled(number, sum_positions(error, None)))
    if branch.weights is None:
        return BranchVector()
    return BranchVector(
        tuple((error, signal[top ^ mask]) for mask, error in errors.items() if top ^ mask in signal)
    )


def apply_learning_rates(vector: ParameterVector, base: BasePoint) -> ParameterVector:
    r"""Multiply a vector by the learning-rate tensor, $λ_b$ and $λ_W / n_{ℓ-1}$ if dense."""
    return ParameterVector(
        tuple(
            tuple(part.scaled(one.rate) for one, part in zip(branches, parts, strict=True))
            for branches, parts in zip(base.fields, vector.fields, strict=True)
        )
    )


def place_vector(vector: ParameterVector, first: int, neurons: Sequence[int]) -> ParameterVector:
    """Renumber the vertices of all labels, as `place_labels` does."""
    fields = (tuple(part.placed(first, neurons) for part in parts) for parts in vector.fields)
    return ParameterVector(tuple(fields))


def pair_vectors(left: ParameterVector, right: ParameterVector) -> Labelled | None:
    """Sum the product of two parameter vectors over all parameters."""
    terms = []
    pairs = zip(left.fields, right.fields, strict=True)
    for one, other in (pair for rows in pairs for pair in zip(*rows, strict=True)):
        terms += [
            multiply_over_positions(
                contract_neurons(rows, more_rows), contract_neurons(columns, more_columns), None
            )
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
        read = [{} if one.biases is not None else moved.read(one) for one in branches]
        value = {0: at_base}
        norm = branches[0].norm if branches else None
        if norm:
            value = normalised(norm, read[0], moved.top)
        for mask in range(1, moved.top + 1) if norm is None else ():
            terms: list[Labelled] = []
            for number, branch in enumerate(branches):
                parts = base.parts(directions, place, number)
                terms += _push_forward(branch, parts, read[number], mask)
            store(value, mask, terms)
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
    for index, rest in remove_one(mask):
        if rest in signal:
            for left, right in parts[index].outer:
                yield multiply_over_positions(left, contract_neurons(right, signal[rest]))
        bias = parts[index].bias
        if rest == 0 and bias is not None:
            yield scaled(branch.function[0][0], bias)


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
    if branch.norm:
        through = pull_through_norm(branch.norm, moved.function(branch.function), error, moved.top)
    else:
        through = _pull_through(branch, parts, error, moved.top)
        if branch.window is not None:
            through = {mask: branch.window.spread(one) for mask, one in through.items()}
    for number, factors in branch.function:
        for place, (of, name, order) in enumerate(factors):
            if of == INPUT or name == MASK:
                continue
            term = {mask: scaled(number, one) for mask, one in through.items()}
            slopes = [] if name in (None, *SOFTMAXES) else [(of, name, order + 1)]
            for key in (*slopes, *factors[:place], *factors[place + 1 :]):
                term = multiply_polynomials(term, moved.factor(key), moved.top)
            if name in SOFTMAXES:
                term = pull_through_softmax(moved.factor((of, name, order)), term, moved.top)
            errors[of] = add_polynomials([errors[of], term]) if errors[of] else term


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
        for index, rest in remove_one(mask):
            if rest in errors:
                terms += [
                    multiply_over_positions(right, contract_neurons(left, errors[rest]))
                    for left, right in parts[index].outer
                ]
        store(result, mask, terms)
    return result
