"""Factors of a term: Kronecker deltas and tensors with their indices in place."""

from dataclasses import dataclass

from symdlt.algebra.heads import Head, wrong_count
from symdlt.algebra.index import Index, fixed
from symdlt.algebra.names import refusal
from symdlt.errors import IndexStructureError


@dataclass(frozen=True, slots=True)
class Delta:
    """A Kronecker delta of two indices of one species and one size.

    Raises:
        IndexStructureError: the indices run over different ranges.
    """

    left: Index
    right: Index

    def __post_init__(self) -> None:
        left, right = self.left, self.right
        if not isinstance(left, Index) or not isinstance(right, Index):
            raise IndexStructureError(
                "A Kronecker delta needs two indices. "
                f"It was given {left!r} and {right!r}. "
                "Declare indices with `neurons` or `samples`."
            )
        if left.species is not right.species or left.size != right.size:
            raise IndexStructureError(
                "A Kronecker delta needs two indices of the same species and size. "
                f"It was given {left!r} and {right!r}. "
                "Rename one of them, or declare both with the same species and size."
            )

    def __repr__(self) -> str:
        return f"Delta({self.left}, {self.right})"

    @property
    def indices(self) -> tuple[Index, ...]:
        """List the two indices."""
        return (self.left, self.right)

    def relabel(self, names: dict[Index, Index]) -> "Delta":
        """Replace indices."""
        return Delta(names.get(self.left, self.left), names.get(self.right, self.right))


@dataclass(frozen=True, slots=True)
class Tensor:
    """A head with one index in each slot.

    A number in a slot that takes every size has no size either, so that it is one and the same
    wherever it came from.

    Raises:
        IndexStructureError: the number, species or size of the indices does not fit.
    """

    head: Head
    indices: tuple[Index, ...]

    def __post_init__(self) -> None:
        head, indices = self.head, self.indices
        if not isinstance(head, Head) or not isinstance(indices, tuple):
            raise refusal(
                (head, indices),
                "a head and a tuple of indices",
                "`Tensor`",
                "Call the head instead, as in x(i, j).",
            )
        if len(indices) != len(head.slots):
            raise wrong_count(head, indices)
        for place, (slot, index) in enumerate(zip(head.slots, indices, strict=True)):
            if not isinstance(index, Index) or not slot.takes(index):
                raise IndexStructureError(
                    f"Slot {place} of {head.name} cannot take {index!r}. "
                    f"It takes a {slot.species} index"
                    f"{'' if slot.size is None else f' of size {slot.size}'}. "
                    "Use an index declared so, or declare the tensor with other slots."
                )
        _set(self, "indices", unsized(head, indices))

    def __repr__(self) -> str:
        return f"Tensor({self.head.name}, {', '.join(str(index) for index in self.indices)})"

    def relabel(self, names: dict[Index, Index]) -> "Tensor":
        """Replace indices."""
        return trusted_tensor(self.head, tuple([names.get(i, i) for i in self.indices]))


Factor = Delta | Tensor

_set = object.__setattr__


def unsized(head: Head, indices: tuple[Index, ...]) -> tuple[Index, ...]:
    """Drop the size of a number that stands in a slot without one."""
    if not any(i.number is not None and i.size is not None for i in indices):
        return indices
    return tuple(
        i if i.number is None or slot.size is not None else fixed(i.number, i.species, None)
        for slot, i in zip(head.slots, indices, strict=True)
    )


def trusted_tensor(head: Head, indices: tuple[Index, ...]) -> Tensor:
    """Make a tensor whose indices are known to fit, as relabelling within a range keeps them."""
    tensor = object.__new__(Tensor)
    _set(tensor, "head", head)
    _set(tensor, "indices", indices)
    return tensor
