"""Legs: the connected pieces of a term that are linear in the random tensor, one factor each."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from symdlt.algebra.canonical import canonical_part, connected_pieces
from symdlt.algebra.contraction import contract_term
from symdlt.algebra.factors import Delta, Factor, Tensor
from symdlt.algebra.heads import Head
from symdlt.algebra.index import Index
from symdlt.algebra.laws import Law
from symdlt.algebra.polynomial import ONE
from symdlt.algebra.term import Term, trusted_term


@dataclass(frozen=True, slots=True, eq=False)
class Leg:
    """A piece with one tensor to be contracted, the other factors, and what tells it apart.

    Attributes:
        drawn: the random tensor.
        rest: the other factors of the piece.
        sums: the dummies of the piece.
        bundle: the free indices that no other piece has, in an order that alike legs share.
        kind: equal for legs that differ in their bundle only.
    """

    drawn: Tensor
    rest: tuple[Tensor, ...]
    sums: tuple[Index, ...]
    bundle: tuple[Index, ...]
    kind: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class LegProduct:
    """A contracted term as a product of legs and of pieces without random tensors."""

    legs: tuple[Leg, ...]
    apart: Term


def split_legs(term: Term, head: Head) -> LegProduct | None:
    """Split a contracted term into legs; None if a piece carries several random tensors."""
    bound = set(term.sums)
    pieces = list(connected_pieces(term.factors, bound))
    used = Counter(
        index for piece in pieces for index in {i for t in piece for i in t.indices} - bound
    )
    used.update(index for delta in term.deltas for index in delta.indices)
    legs = []
    apart: list[Factor] = list(term.deltas)
    for piece in pieces:
        drawn = [tensor for tensor in piece if tensor.head == head]
        if len(drawn) > 1:
            return None
        if drawn:
            legs.append(_make_leg(piece, drawn[0], bound, used))
        else:
            apart.extend(piece)
    inside = {index for leg in legs for index in leg.sums}
    sums = tuple(index for index in term.sums if index not in inside)
    legs.sort(key=lambda leg: (leg.kind, tuple(i.sort_key for i in leg.bundle)))
    return LegProduct(tuple(legs), trusted_term(sums, term.coefficient, tuple(apart)))


def _make_leg(
    piece: tuple[Tensor, ...], drawn: Tensor, bound: set[Index], used: Counter[Index]
) -> Leg:
    indices = dict.fromkeys(index for tensor in piece for index in tensor.indices)
    own = frozenset(i for i in indices if i not in bound and used[i] == 1 and i.number is None)
    part = canonical_part(piece, bound | own, own)
    return Leg(
        drawn,
        tuple(tensor for tensor in piece if tensor is not drawn),
        tuple(index for index in indices if index in bound),
        tuple(index for index in part.dummies if index in own),
        (part.key, part.sign),
    )


def join_legs(legs: Iterable[Leg]) -> Term:
    """Contract the random tensors of legs with each other and carry out the ties."""
    first, *others = legs
    ties = [tie for leg in others for tie in tie_tensors(first.drawn, leg.drawn)]
    rest = [tensor for leg in (first, *others) for tensor in leg.rest]
    sums = first.sums + tuple(index for leg in others for index in leg.sums)
    law = law_of(first.drawn.head)
    cumulant = law.cumulant(1 + len(others))
    joined = contract_term(trusted_term(sums, ONE, (*ties, *rest)))
    return trusted_term(joined.sums, joined.coefficient * cumulant, joined.factors)


def concatenate(terms: Iterable[Term]) -> Term:
    """Multiply terms whose dummies are known to differ."""
    pieces = list(terms)
    coefficient = ONE
    for piece in pieces:
        coefficient = coefficient * piece.coefficient
    return trusted_term(
        tuple([index for piece in pieces for index in piece.sums]),
        coefficient,
        tuple([factor for piece in pieces for factor in piece.factors]),
    )


def tie_tensors(left: Tensor, right: Tensor) -> list[Factor]:
    """Tie the indices of two equal tensors slot by slot."""
    return [Delta(a, b) for a, b in zip(left.indices, right.indices, strict=True) if a != b]


def law_of(head: Head) -> Law:
    """Return the law of a weight or bias."""
    assert head.law is not None
    return head.law
