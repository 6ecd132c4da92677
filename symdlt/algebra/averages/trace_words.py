r"""Traces and strings of matrices as cyclic words, and back.

A trace is the cyclic word of its matrices. A string $u^T M_1 \cdots M_k v$ is the trace of
$v u^T M_1 \cdots M_k$, so its two ends make one more letter.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import NamedTuple

from symdlt.algebra.factors import Delta, Factor, Tensor
from symdlt.algebra.heads import Head
from symdlt.algebra.index import Index
from symdlt.algebra.matrix_chains import Chain, End, Link, exchange_sign

Word = tuple[int, ...]


class Ends(NamedTuple):
    """The rank-one letter of a string: the end where it stops and the one where it starts."""

    stop: End
    start: End


@dataclass(slots=True)
class Alphabet:
    """Letters 2h and 2h+1 for matrix h and its transpose; matrix 0 is the one averaged over.

    A matrix is kept as the link that runs through it from its first open slot to its second.
    """

    averaged: Head
    entries: list[Link | Ends | None] = field(default_factory=lambda: [None])
    numbers: dict[object, int] = field(default_factory=dict)
    symmetric: set[int] = field(default_factory=set)

    def word(self, chain: Chain) -> Word:
        """Spell a chain."""
        letters = tuple([self.matrix(link) for link in chain.links])
        if chain.start is None or chain.stop is None:
            return letters
        return (self.ends(Ends(chain.stop, chain.start)), *letters)

    def matrix(self, link: Link) -> int:
        """Give the letter of a matrix; the same tensor with other dummies has the same one."""
        tensor, turned = link.tensor, link.enter > link.leave
        if tensor.head == self.averaged:
            return int(turned)
        forth = Link(tensor, link.leave, link.enter) if turned else link
        key = (tensor.head, closed_indices(tensor, (forth.enter, forth.leave)))
        number = self._number(key, forth, exchange_sign(forth) == 1)
        return 2 * number + (turned and number not in self.symmetric)

    def ends(self, ends: Ends) -> int:
        """Give the letter for two ends, transposed if they are known the other way round."""
        keys = (end_key(ends.stop), end_key(ends.start))
        if keys[::-1] in self.numbers and keys[0] != keys[1]:
            return 2 * self.numbers[keys[::-1]] + 1
        return 2 * self._number(keys, ends, keys[0] == keys[1])

    def _number(self, key: object, entry: Link | Ends, symmetric: bool) -> int:
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.entries)
            self.entries.append(entry)
            if symmetric:
                self.symmetric.add(known)
        return known

    def index_names(self) -> set[str]:
        """Collect the names of the indices that letters carry."""
        ends = [end for entry in self.entries if isinstance(entry, Ends) for end in entry]
        tensors = [entry.tensor for entry in self.entries if isinstance(entry, Link)]
        tensors += [end.tensor for end in ends if end.tensor is not None]
        indices = [end.index for end in ends] + [i for tensor in tensors for i in tensor.indices]
        return {index.name for index in indices}

    def link(self, letter: int) -> Link:
        """Return the matrix of a letter, run through backwards if it is a transpose."""
        entry = self.entries[letter >> 1]
        assert isinstance(entry, Link)
        return Link(entry.tensor, entry.leave, entry.enter) if letter & 1 else entry


def closed_indices(tensor: Tensor, open_slots: tuple[int, ...]) -> tuple[Index | None, ...]:
    """List the indices of a tensor with None in the open slots."""
    return tuple(None if k in open_slots else index for k, index in enumerate(tensor.indices))


def end_key(end: End) -> object:
    """Tell ends apart: by the free index, or by the tensor without its dummy."""
    if end.tensor is None:
        return end.index
    return (end.tensor.head, closed_indices(end.tensor, (end.slot,)))


def write_words(
    words: list[Word], alphabet: Alphabet, taken: set[str]
) -> tuple[tuple[Index, ...], tuple[Factor, ...]]:
    """Write words back as sums over matrices and vectors."""
    sums: list[Index] = []
    factors: list[Factor] = []
    names = (name for name in (f"t{number}" for number in count()) if name not in taken)
    for word in words:
        for chain in chains_of(word, alphabet):
            write_chain(chain, names, sums, factors)
    return tuple(sums), tuple(factors)


def chains_of(word: Word, alphabet: Alphabet) -> Iterator[Chain]:
    """Cut a word at the letters that hold ends; a trace comes back whole."""
    cuts = [k for k, letter in enumerate(word) if isinstance(alphabet.entries[letter >> 1], Ends)]
    if not cuts:
        yield Chain(None, tuple(alphabet.link(letter) for letter in word), None)
        return
    turned = word[cuts[0] :] + word[: cuts[0]]
    for here, there in pairwise([*(k - cuts[0] for k in cuts), len(word)]):
        _, start = _stop_and_start(turned[here], alphabet)
        stop, _ = _stop_and_start(turned[there % len(word)], alphabet)
        yield Chain(start, tuple(map(alphabet.link, turned[here + 1 : there])), stop)


def _stop_and_start(letter: int, alphabet: Alphabet) -> tuple[End, End]:
    entry = alphabet.entries[letter >> 1]
    assert isinstance(entry, Ends)
    return (entry.start, entry.stop) if letter & 1 else (entry.stop, entry.start)


def write_chain(
    chain: Chain, names: Iterator[str], sums: list[Index], factors: list[Factor]
) -> None:
    """Write a chain with dummies of the names given where its matrices meet."""
    start, links, stop = chain
    ranges = [link.tensor.indices[link.enter] for link in links]
    ranges += [link.tensor.indices[link.leave] for link in links[-1:]] or [start_index(start)]
    joints: list[Index | None] = [None] * len(ranges)
    for place, end in ((0, start), (-1, stop)):
        if end is not None and end.tensor is None:
            other = joints[place]
            if other is not None:
                factors.append(Delta(other, end.index))
            joints[place] = end.index
    summed = len(ranges) if start is not None else len(ranges) - 1
    for place in range(summed):
        if joints[place] is None:
            joint = Index(next(names), ranges[place].species, ranges[place].size)
            joints[place] = joint
            sums.append(joint)
    if start is None:
        joints[-1] = joints[0]
    plugs = [(start, joints[0]), (stop, joints[-1])]
    factors += [
        plug(end.tensor, {end.slot: joint})
        for end, joint in plugs
        if end is not None and end.tensor
    ]
    factors += [
        plug(link.tensor, {link.enter: joints[k], link.leave: joints[k + 1]})
        for k, link in enumerate(links)
    ]


def start_index(start: End | None) -> Index:
    """Return an index with the range where two ends meet without a matrix between them."""
    assert start is not None
    return start.index


def plug(tensor: Tensor, joints: dict[int, Index | None]) -> Tensor:
    """Put indices into some slots of a tensor."""
    indices = [joints.get(slot) or index for slot, index in enumerate(tensor.indices)]
    return Tensor(tensor.head, tuple(indices))
