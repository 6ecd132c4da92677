"""Orbits of pairings: alike legs joined in even blocks, one orbit for each type of partition."""

from collections.abc import Iterator

from symdlt.algebra.averages.moments import count_factors
from symdlt.algebra.averages.orbits import Orbit, Tree, tree_multiplicity
from symdlt.algebra.averages.random_pieces import (
    Leg,
    LegProduct,
    concatenate,
    join_legs,
    law_of,
    split_legs,
)
from symdlt.algebra.expression import Expression
from symdlt.algebra.heads import Head
from symdlt.algebra.index import Index
from symdlt.algebra.polynomial import Polynomial
from symdlt.algebra.term import Term, scale_term
from symdlt.combinatorics import Counts, partition_types
from symdlt.errors import ExpectationError


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


def deal_places(blocks: tuple[Counts, ...], classes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Give each block the first places of each class that are left."""
    supply = [
        iter([place for place, number in enumerate(classes) if number == wanted])
        for wanted in range(max(classes, default=-1) + 1)
    ]
    return [
        tuple(next(places) for places, n in zip(supply, block, strict=True) for _ in range(n))
        for block in blocks
    ]


def _join_type(
    split: LegProduct, classes: tuple[int, ...], places: list[tuple[int, ...]], ways: int
) -> Orbit:
    pieces = [join_legs([split.legs[place] for place in block]) for block in places]
    tree: list[Tree] = []
    for block, piece in zip(places, pieces, strict=True):
        tree.extend(visible_groups(block, split.legs, piece))
    bundles = tuple(leg.bundle for leg in split.legs)
    factor = ways // tree_multiplicity(tuple(tree), classes)
    term = concatenate([split.apart, *pieces])
    return Orbit(scale_term(term, Polynomial.number(factor)), bundles, classes, tuple(tree))


def visible_groups(block: tuple[int, ...], legs: tuple[Leg, ...], piece: Term) -> Iterator[Tree]:
    """Group the legs of a block that the contracted piece holds together."""
    owners = {index: place for place in block for index in legs[place].bundle}
    for group in linked_groups(piece, owners, block):
        members = tuple(place for place in group if legs[place].bundle)
        if len(members) > 1:
            yield members
        else:
            yield from members


def linked_groups(
    term: Term, owners: dict[Index, int], places: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """Group places whose indices hang together by factors and dummies of a term."""
    group_of: dict[Index | int, int] = {}
    members: dict[int, list[Index | int]] = {}
    for number, place in enumerate(places):
        group_of[place] = number
        members[number] = [place]
    for index in term.sums:
        group_of[index] = len(members)
        members[len(members)] = [index]
    for factor in term.factors:
        keys = [owners.get(index, index) for index in factor.indices]
        numbers = sorted({group_of[key] for key in keys if key in group_of})
        for other in numbers[1:]:
            for key in members[other]:
                group_of[key] = numbers[0]
            members[numbers[0]] += members.pop(other)
    groups = [tuple(k for k in keys if isinstance(k, int)) for keys in members.values()]
    return [group for group in groups if group]
