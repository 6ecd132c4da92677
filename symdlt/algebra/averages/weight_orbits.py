"""Orbits of pairings: alike legs joined in even blocks, one orbit for each type of partition."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from symdlt.algebra.averages.linear_pieces import (
    LegProduct,
    concatenate,
    join_legs,
    law_of,
    split_legs,
)
from symdlt.algebra.averages.moments import count_factors
from symdlt.algebra.averages.orbits import Orbit, Tree, tree_multiplicity
from symdlt.algebra.canonical import canonical_part
from symdlt.algebra.expression import Expression
from symdlt.algebra.factors import Delta, Factor, Tensor
from symdlt.algebra.heads import Head, Kind, Slot
from symdlt.algebra.index import Index
from symdlt.algebra.polynomial import Polynomial
from symdlt.algebra.symmetry import symmetric
from symdlt.algebra.term import Term, scale_term
from symdlt.combinatorics import connected_components, deal_places, partition_types
from symdlt.errors import ExpectationError

Owners = dict[Index, int]


def refuse(term: Term, why: str) -> ExpectationError:
    """Say why a term has no orbit form."""
    return ExpectationError(
        f"The term has no orbit form: {why}. "
        f"It is {Expression((term,))!r}. "
        "Take the plain `expectation`, of `.expand()` if it came from orbits."
    )


def weight_orbits(orbit: Orbit, head: Head) -> Iterator[Orbit]:
    """Join the legs of a term in even blocks, one orbit for each type of partition."""
    term = orbit.representative
    if not count_factors(term, head):
        yield orbit
        return
    if orbit.tree:
        raise refuse(term, f"it is an orbit already and {head.name} ties its legs again")
    split = split_legs(term, head)
    if split is None:
        raise refuse(term, f"a connected piece has several factors {head.name}")
    if len(split.legs) % 2:
        return
    kinds = list(dict.fromkeys(leg.kind for leg in split.legs))
    classes = tuple(kinds.index(leg.kind) for leg in split.legs)
    counts = tuple(classes.count(number) for number in range(len(kinds)))
    for blocks, ways in partition_types(counts, law_of(head).allows):
        yield _join_type(split, classes, deal_places(blocks, classes), ways)


def _join_type(
    split: LegProduct, classes: tuple[int, ...], places: list[tuple[int, ...]], ways: int
) -> Orbit:
    pieces = [join_legs([split.legs[place] for place in block]) for block in places]
    marks = Marks()
    tree: list[Tree] = []
    for block, piece in zip(places, pieces, strict=True):
        owners = {index: place for place in block for index in split.legs[place].bundle}
        for group in linked_groups(piece, owners, block):
            members = tuple(place for place in group if split.legs[place].bundle)
            if members:
                tree.append(mark(members, marks.of_group(piece, owners, members)))
    bundles = tuple(leg.bundle for leg in split.legs)
    factor = ways // tree_multiplicity(tuple(tree), classes)
    term = concatenate([split.apart, *pieces])
    return Orbit(scale_term(term, Polynomial.number(factor)), bundles, classes, tuple(tree))


def mark(members: tuple[Tree, ...], marks: list[int]) -> Tree:
    """Make a group of its members and marks; a single leg without marks is no group."""
    whole = (*members, *marks)
    return whole if len(whole) > 1 else whole[0]


@dataclass(slots=True)
class Marks:
    """Numbers below -first, one for each thing that groups may hang on."""

    first: int = 0
    numbers: dict[object, int] = field(default_factory=dict)

    def number(self, key: object) -> int:
        """Number a thing, the same for equal ones."""
        return self.numbers.setdefault(key, -1 - self.first - len(self.numbers))

    def of_group(self, term: Term, owners: Owners, members: tuple[int, ...]) -> list[int]:
        """Mark a group by the factors it stands in, if they hold numbers or indices of others."""
        factors = linked_factors(term, owners, members)
        own = frozenset(index for index, place in owners.items() if place in members)
        bound = {*term.sums, *own}
        if all(index in bound for factor in factors for index in factor.indices):
            return []
        tensors = tuple(
            f if isinstance(f, Tensor) else Tensor(delta_head(f), f.indices) for f in factors
        )
        part = canonical_part(tensors, bound, own)
        return [self.number((part.key, part.sign))]


def delta_head(delta: Delta) -> Head:
    """Write a Kronecker delta as a symmetric tensor, to be brought into canonical form."""
    slot = Slot(delta.left.species, delta.left.size)
    return Head(Kind.CONSTANT, "δ", (slot, slot), symmetry=symmetric(2))


def linked_factors(term: Term, owners: Owners, members: tuple[int, ...]) -> list[Factor]:
    """List the factors that hang on a group by its own indices and by dummies."""
    reached = {index for index, place in owners.items() if place in members}
    left = list(term.factors)
    factors: list[Factor] = []
    while True:
        near = [f for f in left if not reached.isdisjoint(f.indices)]
        if not near:
            return factors
        factors += near
        left = [f for f in left if reached.isdisjoint(f.indices)]
        reached.update(i for f in near for i in f.indices if i in term.sums)


def linked_groups(term: Term, owners: Owners, places: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Group places whose indices hang together by factors and dummies of a term."""
    node_of = {key: node for node, key in enumerate((*places, *term.sums))}
    links = [
        [node_of[key] for key in (owners.get(i, i) for i in factor.indices) if key in node_of]
        for factor in term.factors
    ]
    groups = connected_components(range(len(node_of)), filter(None, links))
    visible = [tuple(places[k] for k in group if k < len(places)) for group in groups]
    return [group for group in visible if group]
