"""Expectations as a stream of plain terms, one for each pairing of the random tensors."""

from collections.abc import Iterator
from itertools import combinations

from symdlt.algebra.averages.expectation import DRAWN, check_independence, check_meant, heads_in
from symdlt.algebra.averages.linear_pieces import Leg, concatenate, join_legs, law_of, split_legs
from symdlt.algebra.averages.moments import contract_first, count_factors
from symdlt.algebra.canonical import dummy_name
from symdlt.algebra.contraction import contract_term
from symdlt.algebra.expression import Expression, as_expression
from symdlt.algebra.factors import Factor
from symdlt.algebra.heads import Head, Kind
from symdlt.algebra.index import Index, Species
from symdlt.algebra.polynomial import ONE, Polynomial
from symdlt.algebra.term import (
    Term,
    put_coefficient,
    put_factors,
    put_sums,
    trusted_term,
)
from symdlt.errors import ExpectationError

Pairs = dict[tuple[int, int], tuple[Factor, ...]]
Places = tuple[int, ...]

# Measured on the 135 135 pairings of 14 legs: 6 and 8 are quickest, 4 takes half as long again,
# and 6 keeps less in memory.
_TAIL = 6


def expectation_terms(expression: Expression, over: Head) -> Iterator[Term]:
    """Average over one tensor of weights or biases, or a Gaussian vector, term by term.

    The plain terms add up to the average. Nothing is collected, so each pairing (or each
    partition into even blocks) gives a term of its own, and only a few thousand pieces are kept
    in memory.

    Raises:
        ExpectationError: the tensor is none of these, or other factors depend on it.

    >>> from symdlt.algebra import constant, neurons, weights
    >>> W = weights(1)
    >>> i1, i2, i3, i4 = neurons("i1 i2 i3 i4", "n_1")
    >>> j, = neurons("j", "n_0")
    >>> x = constant("x", j)
    >>> legs = [(W(i, j) * x(j)).sum(j) for i in (i1, i2, i3, i4)]
    >>> sum(1 for _ in expectation_terms(legs[0] * legs[1] * legs[2] * legs[3], over=W))
    3
    """
    if not isinstance(over, Head) or over.kind not in (*DRAWN, Kind.VECTOR):
        raise ExpectationError(
            f"Cannot list pairings of {over!r}. "
            "It was given as `over` to `expectation_terms`. "
            "Give one head of weights, biases or a Gaussian vector."
        )
    contracted = [contract_term(term) for term in as_expression(expression).terms]
    check_meant(heads_in(contracted), (over,))
    check_independence(contracted, over)
    return (piece for term in contracted for piece in _term_pairings(term, over))


def _term_pairings(term: Term, head: Head) -> Iterator[Term]:
    if head.moments:
        return without_zeros(_one_by_one(term, head))
    count = count_factors(term, head)
    if count % 2:
        return iter(())
    split = split_legs(term, head)
    if split is None or not split.legs:
        return without_zeros(_one_by_one(term, head))
    legs = split.legs
    if law_of(head).is_gaussian:
        table = tabulate_pairs(legs, split.apart)
        if table is not None:
            return stream_pairings(len(legs), *table)
    pieces = (concatenate([split.apart, piece]) for piece in _join_blocks(legs, head))
    return without_zeros(pieces)


def without_zeros(terms: Iterator[Term]) -> Iterator[Term]:
    """Leave out terms in which two different numbers were to be equal."""
    return (term for term in terms if term.coefficient)


def _one_by_one(term: Term, head: Head) -> Iterator[Term]:
    if not count_factors(term, head):
        yield contract_term(term)
        return
    for piece in contract_first(term, head):
        yield from _one_by_one(piece, head)


def _join_blocks(legs: tuple[Leg, ...], head: Head) -> Iterator[Term]:
    """Go through the partitions of legs into even blocks, the first leg's block first."""
    if not legs:
        yield trusted_term((), ONE, ())
        return
    law = law_of(head)
    for size in range(1, 2 if law.is_gaussian else len(legs), 2):
        for partners in combinations(range(1, len(legs)), size):
            joined = join_legs([legs[0], *(legs[k] for k in partners)])
            left = tuple(leg for k, leg in enumerate(legs) if k and k not in partners)
            for rest in _join_blocks(left, head):
                yield concatenate([joined, rest])


def tabulate_pairs(legs: tuple[Leg, ...], apart: Term) -> tuple[list[Pairs], Term] | None:
    """Join each two legs once, with names of dummies for each place in a pairing.

    Returns the factors of each pair at each place, and the term that stands before them; None
    if the pairs differ in their coefficient or their sums.
    """
    pairs = {
        (a, b): join_legs((legs[a], legs[b]))
        for a in range(len(legs))
        for b in range(a + 1, len(legs))
    }
    patterns = {
        (piece.coefficient, tuple((i.species, i.size) for i in piece.sums))
        for piece in pairs.values()
    }
    if len(patterns) != 1:
        return None
    ((coefficient, ranges),) = patterns
    if not coefficient:
        return None
    taken = {index.name for index in apart.indices()}
    taken.update(index.name for piece in pairs.values() for index in piece.free_indices)
    taken.update(str(size) for _, size in ranges)
    sums = apart.sums
    table: list[Pairs] = []
    for level in range(len(legs) // 2):
        names = _level_names(level, ranges, taken)
        sums += names
        table.append(
            {
                (a, b): piece.relabel(dict(zip(piece.sums, names, strict=True))).factors
                for (a, b), piece in pairs.items()
                if level <= a <= 2 * level
            }
        )
    scale: Polynomial = apart.coefficient * coefficient ** (len(legs) // 2)
    return table, trusted_term(sums, scale, apart.factors)


def _level_names(
    level: int, ranges: tuple[tuple[Species, int | str | None], ...], taken: set[str]
) -> tuple[Index, ...]:
    places = range(level * len(ranges), (level + 1) * len(ranges))
    return tuple(
        Index(dummy_name(species, place, taken), species, size)
        for place, (species, size) in zip(places, ranges, strict=True)
    )


def stream_pairings(count: int, table: list[Pairs], base: Term) -> Iterator[Term]:
    """Yield a term for each pairing of legs; what the last few legs can do is kept."""
    endings: dict[Places, list[tuple[Factor, ...]]] = {}
    sums, coefficient = base.sums, base.coefficient
    new, blank = object.__new__, Term
    for front, places in _fronts(tuple(range(count)), 0, table, base.factors):
        for ending in _endings(places, table, endings):
            term = new(blank)
            put_sums(term, sums)
            put_coefficient(term, coefficient)
            put_factors(term, front + ending)
            yield term


def _fronts(
    places: Places, level: int, table: list[Pairs], front: tuple[Factor, ...]
) -> Iterator[tuple[tuple[Factor, ...], Places]]:
    if len(places) <= _TAIL:
        yield front, places
        return
    for k in range(1, len(places)):
        pair = table[level][places[0], places[k]]
        yield from _fronts(places[1:k] + places[k + 1 :], level + 1, table, front + pair)


def _endings(
    places: Places, table: list[Pairs], known: dict[Places, list[tuple[Factor, ...]]]
) -> list[tuple[Factor, ...]]:
    if not places:
        return [()]
    endings = known.get(places)
    if endings is None:
        pairs = table[len(table) - len(places) // 2]
        endings = known[places] = [
            pairs[places[0], places[k]] + ending
            for k in range(1, len(places))
            for ending in _endings(places[1:k] + places[k + 1 :], table, known)
        ]
    return endings
