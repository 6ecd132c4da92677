"""Averages over the weights or biases of one layer, one tensor contracted at a time."""

import math
from collections.abc import Iterator
from itertools import product

from symdlt.algebra.averages.random_pieces import (
    Leg,
    concatenate,
    join_legs,
    law_of,
    split_legs,
    tie_tensors,
)
from symdlt.algebra.averages.traces import average_traces
from symdlt.algebra.canonical import canonical_terms
from symdlt.algebra.contraction import contract_term
from symdlt.algebra.expression import Expression
from symdlt.algebra.factors import Tensor
from symdlt.algebra.heads import Head
from symdlt.algebra.laws import Law
from symdlt.algebra.polynomial import Polynomial
from symdlt.algebra.term import Term, scale_term, trusted_term
from symdlt.combinatorics import partition_types


def average_weights(expression: Expression, head: Head) -> Expression:
    r"""Average over one random tensor with independent, identically distributed entries.

    Every partition of its factors into even blocks contributes, each block giving its cumulant
    $\kappa_{2m}$ and tying its indices. Products of pieces with one factor each, and of traces
    and strings of matrices, have quicker ways; in what is left the first factor is joined with
    every set of others, and equal results are added up before the next one is.
    """
    done: list[Term] = []
    open_terms: list[Term] = []
    for term in expression.terms:
        contracted = contract_term(term)
        split = split_legs(contracted, head)
        if split is not None and split.legs:
            done.extend(concatenate([split.apart, t]) for t in average_legs(split.legs))
        else:
            open_terms.extend(average_traces(contracted, head))
    while open_terms:
        joined: list[Term] = []
        for term in open_terms:
            count = count_factors(term, head)
            if not count:
                done.append(term)
            elif count % 2 == 0:
                joined.extend(contract_first(term, head))
        open_terms = list(canonical_terms(joined))
    return Expression(tuple(done))


def average_legs(legs: tuple[Leg, ...]) -> Iterator[Term]:
    """Join legs in even blocks, alike legs by counting."""
    law = law_of(legs[0].drawn.head)
    if len(legs) % 2:
        return
    classes: dict[tuple[object, ...], list[Leg]] = {}
    for leg in legs:
        classes.setdefault((leg.kind, leg.bundle), []).append(leg)
    counts = tuple(len(members) for members in classes.values())
    known: dict[tuple[Leg, ...], Term] = {}
    for blocks, ways in partition_types(counts, law.allows):
        supply = [iter(members) for members in classes.values()]
        pieces = []
        for block in blocks:
            chosen = tuple(
                next(members) for members, n in zip(supply, block, strict=True) for _ in range(n)
            )
            if chosen not in known:
                known[chosen] = join_legs(chosen)
            pieces.append(known[chosen])
        yield scale_term(concatenate(pieces), Polynomial.number(ways))


def count_factors(term: Term, head: Head) -> int:
    """Count the factors of one head."""
    return sum(isinstance(f, Tensor) and f.head == head for f in term.factors)


def contract_first(term: Term, head: Head) -> Iterator[Term]:
    """Join the first factor of a head with every odd number of the others."""
    law = law_of(head)
    drawn = [f for f in term.factors if isinstance(f, Tensor) and f.head == head]
    rest = tuple(f for f in term.factors if not (isinstance(f, Tensor) and f.head == head))
    first, others = drawn[0], drawn[1:]
    distinct = list(dict.fromkeys(others))
    counts = [others.count(tensor) for tensor in distinct]
    for chosen, block in choose_partners(counts, law, len(drawn)):
        ways = math.prod(math.comb(n, k) for n, k in zip(counts, chosen, strict=True))
        ties = [
            tie
            for tensor, k in zip(distinct, chosen, strict=True)
            if k
            for tie in tie_tensors(first, tensor)
        ]
        left = [
            tensor
            for tensor, n, k in zip(distinct, counts, chosen, strict=True)
            for _ in range(n - k)
        ]
        factors = (*ties, *left, *rest)
        base = trusted_term(term.sums, term.coefficient, factors)
        yield scale_term(base, law.cumulant(block) * ways)


def choose_partners(
    counts: list[int], law: Law, total: int
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Go through the numbers of partners of each sort, and the size of the block they make."""
    if law.is_gaussian:
        for place in range(len(counts)):
            yield tuple(int(k == place) for k in range(len(counts))), 2
        return
    for chosen in product(*(range(count + 1) for count in counts)):
        if sum(chosen) % 2 and (total - sum(chosen) - 1) % 2 == 0:
            yield chosen, sum(chosen) + 1
