"""Heads of tensors: what stands in front of the indices, and which indices it takes."""

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Self

from symdlt.algebra.index import Index, Size, Species, check_size, check_species
from symdlt.algebra.laws import Law
from symdlt.algebra.layer_labels import Layer, split_layer
from symdlt.algebra.symmetry import NO_SYMMETRY, Symmetry
from symdlt.errors import IndexStructureError


class Kind(IntEnum):
    """What kind of quantity a head is; the order is the order of factors in print."""

    CONSTANT = 0
    VECTOR = 1
    WEIGHT = 2
    BIAS = 3
    PREACTIVATION = 4
    ACTIVATION = 5
    AVERAGE = 6

    @property
    def noun(self) -> str:
        """Name the kind with its article."""
        return f"{'an' if self.name[0] in 'AEIOU' else 'a'} {self.name.lower()}"


@dataclass(frozen=True, slots=True)
class Slot:
    """One place for an index: its species and, for neurons, its size."""

    species: Species
    size: Size = None

    def __post_init__(self) -> None:
        check_species(self.species, "a slot")
        check_size(self.size, f"a {self.species} slot")

    @property
    def sort_key(self) -> tuple[str, str]:
        """Order slots by species and size."""
        return (self.species.value, str(self.size))

    def takes(self, index: Index) -> bool:
        """Tell whether an index fits; a slot without a size takes every size."""
        return index.species is self.species and self.size in (None, index.size)


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """A tensor without its indices.

    Attributes:
        kind: constant, vector, weight, bias, preactivation, activation or average.
        name: the letter in print.
        slots: which indices it takes.
        layer: the layer of the network it belongs to, if any.
        symmetry: permutations of the slots that leave it unchanged or change its sign.
        order: how often an activation is differentiated.
        law: how a weight or bias is distributed.
        members: the functions inside an average ⟨…⟩; the field that an activation is of, unless
            that is z.
        moments: the mean and covariance of a Gaussian vector.
    """

    kind: Kind
    name: str
    slots: tuple[Slot, ...] = ()
    layer: Layer | None = None
    symmetry: Symmetry = NO_SYMMETRY
    order: int = 0
    law: Law | None = None
    members: tuple["Head", ...] = ()
    moments: "Moments | None" = None
    sort_key: tuple[object, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.symmetry is not NO_SYMMETRY and self.kind is not Kind.AVERAGE:
            check_symmetry(self)
        key = (
            self.kind.value,
            self.name,
            ("", -1) if self.layer is None else split_layer(self.layer),
            self.order,
            tuple(member.sort_key for member in self.members),
            tuple(slot.sort_key for slot in self.slots),
            (self.symmetry.blocks, self.symmetry.elements, self.symmetry.signs),
            () if self.law is None else self.law.sort_key,
            () if self.moments is None else self.moments.sort_key,
        )
        object.__setattr__(self, "sort_key", key)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self.sort_key == other.sort_key if isinstance(other, Head) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, self.order, len(self.slots)))

    def derivative(self, times: int = 1) -> Self:
        """Differentiate an activation.

        Raises:
            IndexStructureError: the head is not an activation.
        """
        if self.kind is not Kind.ACTIVATION or not isinstance(times, int) or times < 0:
            raise IndexStructureError(
                f"Cannot take {times!r} derivatives of {self.name}. "
                f"It is {self.kind.noun}. "
                "Only an activation has derivatives, and only 0, 1, 2, … of them."
            )
        return replace(self, order=self.order + times)

    def __repr__(self) -> str:
        layer = "" if self.layer is None else f", layer {self.layer}"
        order = f", derivative {self.order}" if self.order else ""
        return f"Head({self.name!r}, {self.kind.name.lower()}{layer}{order}, rank {self.rank})"

    @property
    def rank(self) -> int:
        """Count the slots."""
        return len(self.slots)


@dataclass(frozen=True, slots=True)
class Moments:
    """What a Gaussian vector is known by: its covariance, and its mean unless that is zero."""

    covariance: Head
    mean: Head | None

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Order moments by their tensors."""
        return (self.covariance.sort_key, () if self.mean is None else self.mean.sort_key)


def wrong_count(head: Head, indices: tuple[Index | int, ...]) -> IndexStructureError:
    """Say that a tensor was given more or fewer indices than it takes."""
    return IndexStructureError(
        f"{head.name} takes {len(head.slots)} indices and was given {len(indices)}. "
        f"The indices were ({', '.join(str(i) for i in indices)}). "
        f"Give one for each of {', '.join(s.species for s in head.slots) or 'no slot'}."
    )


def check_symmetry(head: Head) -> None:
    """Refuse a symmetry that mixes slots of different kinds or names slots that are not there."""
    for left, right in head.symmetry.slots_moved():
        if right >= head.rank or left >= head.rank or head.slots[left] != head.slots[right]:
            raise IndexStructureError(
                f"The symmetry of {head.name} exchanges slots {left} and {right}. "
                f"Its slots are {tuple(slot.sort_key for slot in head.slots)}. "
                "Only slots of one species and one size can be exchanged."
            )
