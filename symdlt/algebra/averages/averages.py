"""Averages over the preactivations of one layer: angle brackets of one neuron each."""

from collections.abc import Iterator
from dataclasses import dataclass

from symdlt.algebra.contraction import contract_term
from symdlt.algebra.expression import Expression, as_expression
from symdlt.algebra.factors import Delta, Factor, Tensor, trusted_tensor
from symdlt.algebra.heads import Head, Kind
from symdlt.algebra.index import Index
from symdlt.algebra.model import average_of
from symdlt.algebra.polynomial import Polynomial, falling_factorial
from symdlt.algebra.term import Term, scale_term, size_polynomial, trusted_term
from symdlt.combinatorics import mobius, partition_types, set_partitions
from symdlt.errors import ExpectationError

Function = tuple[Head, tuple[Index, ...]]
Functions = tuple[Function, ...]

FUNCTIONS = (Kind.PREACTIVATION, Kind.ACTIVATION)


@dataclass(frozen=True, slots=True)
class NeuronSplit:
    """The factors of a term that depend on one layer's preactivations, neuron by neuron.

    Attributes:
        alone: the functions of each summed neuron that nothing else depends on.
        tied: other neurons, free or shared with other factors, with their functions.
        rest: the other factors.
    """

    alone: tuple[tuple[Index, Functions], ...]
    tied: tuple[tuple[Index, Functions], ...]
    rest: tuple[Factor, ...]


def average_preactivations(expression: Expression, head: Head) -> Expression:
    """Average over the preactivations of one layer, whose neurons are alike and independent."""
    return Expression(
        tuple(piece for term in expression.terms for piece in average_term(term, head))
    )


def depends_on(factor: Factor, head: Head) -> bool:
    """Tell whether a factor is a preactivation of the head's layer or a function of one."""
    return (
        isinstance(factor, Tensor)
        and factor.head.kind in FUNCTIONS
        and factor.head.layer == head.layer
    )


def split_neurons(term: Term, head: Head) -> NeuronSplit:
    """Sort the factors of a contracted term by the neuron they depend on."""
    functions: dict[Index, list[Function]] = {}
    rest: list[Factor] = []
    for factor in term.factors:
        if isinstance(factor, Tensor) and depends_on(factor, head):
            neuron, *samples = factor.indices
            functions.setdefault(neuron, []).append((factor.head, tuple(samples)))
        else:
            rest.append(factor)
    bound = set(term.sums)
    elsewhere = {index for factor in rest for index in factor.indices}
    sorted_functions = {
        neuron: tuple(sorted(unsorted, key=function_key)) for neuron, unsorted in functions.items()
    }
    alone = {i: f for i, f in sorted_functions.items() if i in bound and i not in elsewhere}
    tied = {i: f for i, f in sorted_functions.items() if i not in alone}
    return NeuronSplit(tuple(alone.items()), tuple(tied.items()), tuple(rest))


def function_key(function: Function) -> tuple[object, ...]:
    """Order functions by head, then by sample."""
    return (function[0].sort_key, tuple(index.sort_key for index in function[1]))


def average_term(term: Term, head: Head) -> Iterator[Term]:
    r"""Split the neurons of a term by coincidence and average each distinct one.

    A neuron that stands alone under a sum is counted by the falling factorial
    $(n-q)(n-q-1)\cdots$ beside the q others; neurons seen elsewhere are kept apart with
    Kronecker deltas by Möbius inversion over their coincidences.
    """
    term = contract_term(term)
    split = split_neurons(term, head)
    if not split.alone and not split.tied:
        yield term
        return
    classes: dict[tuple[Index | None, Functions], int] = {}
    for _, functions in split.alone:
        classes[None, functions] = classes.get((None, functions), 0) + 1
    for neuron, functions in split.tied:
        classes[neuron, functions] = 1
    width = size_polynomial(head.slots[0].size)
    gone = {neuron for neuron, _ in split.alone}
    sums = tuple(index for index in term.sums if index not in gone)
    averages: dict[Functions, Tensor | None] = {}
    for blocks, ways in partition_types(tuple(classes.values())):
        held, brackets = _fill_blocks(blocks, tuple(classes), averages)
        if None in brackets:
            continue
        shared = [neurons for neurons in held if neurons]
        count = falling_factorial(width - len(shared), len(held) - len(shared)) * ways
        factors = (*split.rest, *(b for b in brackets if b is not None))
        base = trusted_term(sums, term.coefficient * count, factors)
        yield from keep_apart(base, tuple(shared))


def _fill_blocks(
    blocks: tuple[tuple[int, ...], ...],
    classes: tuple[tuple[Index | None, Functions], ...],
    averages: dict[Functions, Tensor | None],
) -> tuple[list[tuple[Index, ...]], list[Tensor | None]]:
    held = []
    brackets = []
    for block in blocks:
        inside = [(each, count) for each, count in zip(classes, block, strict=True) if count]
        held.append(tuple(neuron for (neuron, _), _ in inside if neuron is not None))
        functions = tuple(f for (_, alike), count in inside for f in alike * count)
        if functions not in averages:
            averages[functions] = bracket_of(functions)
        brackets.append(averages[functions])
    return held, brackets


def keep_apart(base: Term, groups: tuple[tuple[Index, ...], ...]) -> Iterator[Term]:
    """Multiply a term by the indicator that groups of equal indices differ between groups."""
    inside: list[Factor] = [Delta(g[0], other) for g in groups for other in g[1:]]
    for partition in set_partitions(groups):
        ties = [Delta(b[0][0], group[0]) for b in partition for group in b[1:]]
        sign = mobius(tuple(len(block) for block in partition))
        factors = (*inside, *ties, *base.factors)
        term = trusted_term(base.sums, base.coefficient, factors)
        yield scale_term(term, Polynomial.number(sign))


def bracket_of(functions: Functions) -> Tensor | None:
    """Make the average of functions of one neuron; an odd number of z alone gives None."""
    if len(functions) % 2 and all(head.kind is Kind.PREACTIVATION for head, _ in functions):
        return None
    ordered = sorted(functions, key=function_key)
    members = tuple(head for head, _ in ordered)
    indices = tuple(index for _, samples in ordered for index in samples)
    return Tensor(average_of(members, members[0].layer), indices)


def bracket_like(known: Tensor, functions: Functions) -> Tensor:
    """Make the average of functions that have the heads of a known average."""
    head = known.head
    exchangeable = head.rank == sum(len(block) for block in head.symmetry.blocks[:1])
    ordered = functions if exchangeable else sorted(functions, key=function_key)
    return trusted_tensor(head, tuple([index for _, samples in ordered for index in samples]))


def bracket(factors: Expression) -> Expression:
    r"""Write the angle bracket ⟨…⟩ of a product of functions of one neuron.

    >>> from symdlt.algebra import activation, neuron, preactivations, samples
    >>> z = preactivations(1)
    >>> i, (α, β) = neuron("i", "n_1"), samples("α β")
    >>> σ = activation("σ", z)
    >>> print(bracket(σ(i, α) * σ.derivative()(i, β)))
    ⟨σ_α σ'_β⟩^(1)

    Raises:
        ExpectationError: the expression is not a product of functions of one neuron.
    """
    factors = as_expression(factors)
    factors_seen = factors.terms[0].factors if len(factors.terms) == 1 else ()
    tensors = [f for f in factors_seen if isinstance(f, Tensor) and f.head.kind in FUNCTIONS]
    neurons = {(t.head.layer, t.indices[0]) for t in tensors}
    if len(tensors) != len(factors_seen) or len(neurons) != 1 or factors.terms[0].sums:
        raise ExpectationError(
            "A bracket holds a product of functions of one neuron's preactivations. "
            f"It was given {factors!r}. "
            "Multiply z(i, α), σ(i, α), … with one neuron index, or use `expectation`."
        )
    tensor = bracket_of(tuple((t.head, t.indices[1:]) for t in tensors))
    factor = () if tensor is None else (tensor,)
    coefficient = factors.terms[0].coefficient * int(tensor is not None)
    return Expression((Term((), coefficient, factor),))
