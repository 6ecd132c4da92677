"""Averages over the weights or biases of one layer, one tensor contracted at a time."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import product

from symdlt.algebra.averages.linear_pieces import (
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
from symdlt.algebra.heads import Head, Moments
from symdlt.algebra.laws import Law
from symdlt.algebra.polynomial import Polynomial
from symdlt.algebra.term import Term, scale_term, trusted_term
from symdlt.combinatorics import deal_places, partition_types


def average_weights(expression: Expression, head: Head) -> Expression:
    r"""Average over one random tensor: Wick's theorem, in terms of cumulants.

    Entries of weights and biases are independent and alike (for Gaussian vectors see
    `contract_first_leg`). Every partition of the factors into even blocks contributes, each block
    giving its cumulant $\kappa_{2m}$ and tying its indices. Products of pieces
    with one factor each, and of traces and strings of matrices, have quicker ways; in what is
    left the first factor is joined with every set of others, and equal results are added up
    before the next one is.
    """
    done: list[Term] = []
    open_terms: list[Term] = list(expression.terms) if head.moments else []
    for term in () if head.moments else expression.terms:
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
            elif head.moments or count % 2 == 0:
                joined.extend(contract_first(term, head))
        open_terms = list(canonical_terms(joined))
    return Expression(tuple(done))


def average_legs(legs: tuple[Leg, ...]) -> Iterator[Term]:
    """Join legs in even blocks, alike legs by counting."""
    law = law_of(legs[0].drawn.head)
    if len(legs) % 2:
        return
    kinds = list(dict.fromkeys((leg.kind, leg.bundle) for leg in legs))
    classes = tuple([kinds.index((leg.kind, leg.bundle)) for leg in legs])
    counts = tuple([classes.count(number) for number in range(len(kinds))])
    joined: dict[tuple[int, ...], Term] = {}
    for blocks, ways in partition_types(counts, law.allows):
        pieces = []
        for places in deal_places(blocks, classes):
            if places not in joined:
                joined[places] = join_legs([legs[place] for place in places])
            pieces.append(joined[places])
        yield scale_term(concatenate(pieces), Polynomial.number(ways))


def count_factors(term: Term, head: Head) -> int:
    """Count the factors of one head."""
    return sum(isinstance(f, Tensor) and f.head == head for f in term.factors)


def contract_first(term: Term, head: Head) -> Iterator[Term]:
    """Join the first factor of a head with every odd number of the others."""
    if head.moments:
        yield from contract_first_leg(term, head, head.moments)
        return
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


def contract_first_leg(term: Term, head: Head, moments: Moments) -> Iterator[Term]:
    r"""Replace the first factor x by its mean, and with each other one by their covariance.

    By Stein's lemma $E[x_i f] = m_i E[f] + \sum_j C_{ij} E[\partial f/\partial x_j]$.
    """
    places = [k for k, f in enumerate(term.factors) if isinstance(f, Tensor) and f.head == head]
    left = list(term.factors)
    first = left.pop(places[0])
    if moments.mean:
        factors = (Tensor(moments.mean, first.indices), *left)
        yield trusted_term(term.sums, term.coefficient, factors)
    partners = Counter(left[place - 1] for place in places[1:])
    for partner, ways in partners.items():
        rest = list(left)
        rest.remove(partner)
        pair = Tensor(moments.covariance, first.indices + partner.indices)
        base = trusted_term(term.sums, term.coefficient, (pair, *rest))
        yield scale_term(base, Polynomial.number(ways))


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
