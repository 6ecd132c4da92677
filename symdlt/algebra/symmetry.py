"""Permutations of its legs that leave a tensor unchanged, or change its sign."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod

from symdlt.algebra.names import refusal
from symdlt.errors import IndexStructureError

# 7!, convention: a canonical form goes through the whole group for each factor.
_LARGEST_GROUP = 5040


@dataclass(frozen=True, slots=True)
class Symmetry:
    """Either blocks of freely exchangeable slots, or the elements of a permutation group.

    Make one with `symmetric`, `antisymmetric` or `generated`; the default is no symmetry. The
    `signs` belong to the blocks, or to the elements, and are left out where all are 1; -1 marks a
    block whose exchanges change the sign, or an element that does.

    >>> symmetric(3).least((2, 0, 1))
    (0, 1, 2)
    """

    blocks: tuple[tuple[int, ...], ...] = ()
    elements: tuple[tuple[int, ...], ...] = ()
    signs: tuple[int, ...] = ()

    def least(self, labels: tuple[int, ...]) -> tuple[int, ...]:
        """Return the smallest arrangement of the labels that the symmetry allows."""
        if self.elements:
            return min(tuple([labels[slot] for slot in move]) for move in self.elements)
        if not self.blocks:
            return labels
        arranged = list(labels)
        for block in self.blocks:
            for slot, label in zip(block, sorted([labels[s] for s in block]), strict=True):
                arranged[slot] = label
        return tuple(arranged)

    def sign(self, labels: tuple[int, ...]) -> int:
        """Return the sign with which labels come to their smallest arrangement.

        It is 0 where an exchange of equal labels changes the sign, so that the tensor vanishes.

        >>> [antisymmetric(3).sign(labels) for labels in ((2, 0, 1), (1, 0, 2), (1, 1, 2))]
        [1, -1, 0]
        """
        if self.elements:
            least = self.least(labels)
            signs = {
                sign
                for move, sign in zip(self.elements, self.signs, strict=True)
                if tuple([labels[slot] for slot in move]) == least
            }
            return signs.pop() if len(signs) == 1 else 0
        total = 1
        for block, sign in zip(self.blocks, self.signs, strict=True):
            if sign < 0:
                pairs = combinations([labels[slot] for slot in block], 2)
                total *= prod((a < b) - (a > b) for a, b in pairs)
        return total

    def moves(self, rank: int) -> Iterator[tuple[tuple[int, ...], int]]:
        """Go through permutations of the slots that generate the symmetry, with their signs."""
        yield from zip(self.elements, self.signs or (1,) * len(self.elements), strict=False)
        for block, sign in zip(self.blocks, self.signs or (1,) * len(self.blocks), strict=False):
            for left, right in pairwise(block):
                slots = list(range(rank))
                slots[left], slots[right] = right, left
                yield tuple(slots), sign

    def slots_moved(self) -> tuple[tuple[int, int], ...]:
        """List the pairs of slots that the symmetry may exchange."""
        pairs = {(block[0], slot) for block in self.blocks for slot in block[1:]}
        pairs |= {(a, b) for move in self.elements for a, b in enumerate(move) if a != b}
        return tuple(sorted(pairs))


NO_SYMMETRY = Symmetry()


def symmetric(*slots: int | Sequence[int]) -> Symmetry:
    """Let slots be exchanged freely: all of the first r, or the slots of each block given.

    >>> symmetric(2) == symmetric((0, 1))
    True
    >>> symmetric((0, 1), (2, 3)).least((1, 0, 5, 4))
    (0, 1, 4, 5)
    """
    return Symmetry(blocks=read_blocks(slots, "symmetric"))


def antisymmetric(*slots: int | Sequence[int]) -> Symmetry:
    """Let every exchange change the sign: of the first r slots, or of the slots of each block.

    >>> from symdlt.algebra import constant, neurons
    >>> i, j = neurons("i j", "n")
    >>> A = constant("A", i, j, symmetry=antisymmetric(2))
    >>> print(A(j, i) + 3 * A(i, j) + A(i, i))
    2 A_{i j}
    """
    blocks = read_blocks(slots, "antisymmetric")
    return Symmetry(blocks=blocks, signs=(-1,) * len(blocks))


def read_blocks(slots: tuple[object, ...], place: str) -> tuple[tuple[int, ...], ...]:
    """Read blocks of slots, a number standing for the first so many of them."""
    listed = [range(s) if isinstance(s, int) and s >= 0 else s for s in slots]
    blocks = [tuple(sorted(read_slots(each))) for each in listed]
    flat = [slot for block in blocks for slot in block]
    if len(set(flat)) != len(flat) or any(slot < 0 for slot in flat):
        raise IndexStructureError(
            f"The blocks {tuple(blocks)} share a slot or name a negative one. "
            f"They were given to `{place}`. "
            "Give each slot to one block, or use `generated` for other symmetries."
        )
    return tuple(sorted(block for block in blocks if len(block) > 1))


def read_slots(slots: object) -> tuple[int, ...]:
    """Read the numbers of slots."""
    if not isinstance(slots, Sequence) or not all(isinstance(slot, int) for slot in slots):
        raise refusal(
            slots,
            "a number of slots or a list of them",
            "a symmetry",
            "Give a number such as 2, or slots such as (0, 1).",
        )
    return tuple(slots)


def generated(*moves: Sequence[int], signs: Sequence[int] | None = None) -> Symmetry:
    r"""Make the group generated by permutations of the slots.

    A move m sends the legs $(t_0, t_1, \ldots)$ to $(t_{m_0}, t_{m_1}, \ldots)$.

    Args:
        moves: the permutations, each as the list of the slots.
        signs: 1 or -1 for each move, by which the tensor is multiplied; 1 unless told.

    >>> swap_pairs = generated((1, 0, 2, 3), (2, 3, 0, 1))
    >>> swap_pairs.least((7, 6, 1, 0))
    (0, 1, 6, 7)
    >>> curvature = generated((1, 0, 2, 3), (2, 3, 0, 1), signs=(-1, 1))
    >>> curvature.sign((0, 1, 3, 2)), curvature.sign((5, 5, 1, 2))
    (-1, 0)
    """
    turns = [read_slots(move) for move in moves]
    rank = len(turns[0]) if turns else 0
    identity = tuple(range(rank))
    for move in turns:
        if tuple(sorted(move)) != identity:
            raise IndexStructureError(
                f"{move} is not a permutation of {rank} slots. "
                "It was given to `generated`. "
                "List each slot 0, 1, … once."
            )
    group = {identity: 1}
    border = [identity]
    while border:
        last = border.pop()
        for move, sign in zip(turns, read_signs(signs, len(turns)), strict=True):
            image = tuple([last[slot] for slot in move])
            if image not in group:
                group[image] = group[last] * sign
                border.append(image)
            elif group[image] != group[last] * sign:
                raise IndexStructureError(
                    "A tensor of this symmetry is its own negative. "
                    f"The moves {tuple(turns)} with the signs {signs} were given to `generated`. "
                    "Change a sign, or leave the tensor out, since it is zero."
                )
        if len(group) > _LARGEST_GROUP:
            raise IndexStructureError(
                f"The moves generate more than {_LARGEST_GROUP} permutations. "
                "They were given to `generated`. "
                "Use `symmetric` for slots that exchange freely."
            )
    if len(group) == 1:
        return NO_SYMMETRY
    elements = tuple(sorted(group))
    signed = tuple(group[element] for element in elements)
    return Symmetry(elements=elements, signs=signed if -1 in signed else ())


def read_signs(signs: object, count: int) -> tuple[int, ...]:
    """Read one sign for each move."""
    if signs is None:
        return (1,) * count
    if not isinstance(signs, Sequence) or any(sign not in (1, -1) for sign in signs):
        raise refusal(signs, "a list of signs", "`generated`", "Give 1 or -1 for each move.")
    if len(signs) != count:
        raise IndexStructureError(
            f"There are {len(signs)} signs for {count} moves. "
            "They were given to `generated`. "
            "Give 1 or -1 for each move."
        )
    return tuple(signs)
