r"""Chains: pieces of a term that are products of matrices and vectors.

Matrices follow each other by the dummies they share, around a trace
$\mathrm{tr}(M_1 \cdots M_k)$ or from end to end of $u^T M_1 \cdots M_k v$, where an end is a
vector, or a free index, which acts as a unit vector.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from symdlt.algebra.factors import Tensor
from symdlt.algebra.index import Index


class Place(NamedTuple):
    """A slot of one of the tensors of a piece, these being numbered."""

    tensor: int
    slot: int


class Link(NamedTuple):
    """A matrix on the way along a chain, with the slots where it is entered and left."""

    tensor: Tensor
    enter: int
    leave: int


@dataclass(frozen=True, slots=True)
class End:
    """What closes a chain: a tensor with one open slot, or a free index (slot -1)."""

    tensor: Tensor | None
    slot: int
    index: Index


class Chain(NamedTuple):
    """A trace, which has no ends, or a product of matrices between two ends."""

    start: End | None
    links: tuple[Link, ...]
    stop: End | None


OpenSlots = Callable[[Tensor], tuple[int, ...]]


def summed_slots(tensor: Tensor, bound: set[Index]) -> tuple[int, ...]:
    """List the slots of a tensor in which dummies stand."""
    return tuple(slot for slot, index in enumerate(tensor.indices) if index in bound)


def read_chain(piece: tuple[Tensor, ...], bound: set[Index], open_slots: OpenSlots) -> Chain | None:
    """Read a connected piece as a chain; None if it is no product of matrices and vectors.

    The open slots of a tensor, two of a matrix and one of a vector, are those where the chain
    runs through; they hold all dummies.
    """
    places: dict[Index, list[Place]] = {}
    for number, tensor in enumerate(piece):
        for slot in summed_slots(tensor, bound):
            places.setdefault(tensor.indices[slot], []).append(Place(number, slot))
    opened = [open_slots(tensor) for tensor in piece]
    if any(len(pair) != 2 for pair in places.values()) or any(
        not 1 <= len(slots) <= 2 for slots in opened
    ):
        return None
    for end, entry in _ends(piece, opened, places):
        links, stop = _walk(piece, entry, opened, places)
        return Chain(end, links, stop)
    links, _ = _walk(piece, Place(0, opened[0][0]), opened, places)
    return Chain(None, links, None)


def _ends(
    piece: tuple[Tensor, ...],
    opened: list[tuple[int, ...]],
    places: dict[Index, list[Place]],
) -> Iterator[tuple[End, Place]]:
    """Go through the ends of a chain, each with where the walk from it enters a tensor."""
    for number, (tensor, slots) in enumerate(zip(piece, opened, strict=True)):
        for slot in slots:
            index = tensor.indices[slot]
            if len(slots) == 1:
                yield End(tensor, slot, index), _partner(places[index], Place(number, slot))
            elif index not in places:
                yield End(None, -1, index), Place(number, slot)


def _partner(pair: list[Place], place: Place) -> Place:
    return pair[1] if pair[0] == place else pair[0]


def _walk(
    piece: tuple[Tensor, ...],
    entry: Place,
    opened: list[tuple[int, ...]],
    places: dict[Index, list[Place]],
) -> tuple[tuple[Link, ...], End | None]:
    """Follow matrices from one to the next; stop at an end or where the walk began."""
    links: list[Link] = []
    here = entry
    while True:
        tensor, slots = piece[here.tensor], opened[here.tensor]
        if len(slots) == 1:
            return tuple(links), End(tensor, here.slot, tensor.indices[here.slot])
        leave = slots[0] if here.slot == slots[1] else slots[1]
        links.append(Link(tensor, here.slot, leave))
        index = tensor.indices[leave]
        if index not in places:
            return tuple(links), End(None, -1, index)
        here = _partner(places[index], Place(here.tensor, leave))
        if here == entry:
            return tuple(links), None


def exchange_sign(link: Link) -> int:
    """Tell how a matrix changes when it is transposed: 1 not at all, -1 its sign, 0 otherwise."""
    number = {index: place for place, index in enumerate(dict.fromkeys(link.tensor.indices))}
    there = [number[index] for index in link.tensor.indices]
    back = list(there)
    there[link.enter] = back[link.leave] = len(number)
    there[link.leave] = back[link.enter] = len(number) + 1
    symmetry = link.tensor.head.symmetry
    if symmetry.least(tuple(there)) != symmetry.least(tuple(back)):
        return 0
    return symmetry.sign(tuple(there)) * symmetry.sign(tuple(back)) if symmetry.signs else 1
