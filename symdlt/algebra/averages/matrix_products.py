r"""Traces and strings of matrices, read as cyclic words and written back.

A trace is the cyclic word of its matrices. A string $u^T M_1 \cdots M_k v$ is the trace of
$v u^T M_1 \cdots M_k$, so its two ends make one more letter. An end is a vector, or a free index
of the averaged matrix, which acts as a unit vector.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise

from symdlt.algebra.factors import Delta, Factor, Tensor
from symdlt.algebra.heads import Head
from symdlt.algebra.index import Index

Word = tuple[int, ...]
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A tensor with two open slots; its other indices are free."""

    tensor: Tensor
    slots: tuple[int, int]


@dataclass(frozen=True, slots=True)
class End:
    """What closes a string: a tensor with one open slot, or a free index (slot -1)."""

    tensor: Tensor | None
    slot: int
    index: Index


@dataclass(frozen=True, slots=True)
class Ends:
    """The rank-one letter of a string: the end where it stops and the one where it starts."""

    stop: End
    start: End


@dataclass(slots=True)
class Alphabet:
    """Letters 2h and 2h+1 for matrix h and its transpose; matrix 0 is the one averaged over."""

    averaged: Head
    entries: list[Matrix | Ends | None] = field(default_factory=lambda: [None])
    numbers: dict[object, int] = field(default_factory=dict)
    symmetric: set[int] = field(default_factory=set)

    def matrix(self, tensor: Tensor, slots: tuple[int, int]) -> int:
        """Number a matrix; the same tensor with other dummies has the same number."""
        if tensor.head == self.averaged:
            return 0
        key = (tensor.head, open_indices(tensor, slots))
        return self._number(key, Matrix(tensor, slots), is_symmetric(tensor, slots))

    def ends(self, stop: End, start: End) -> int:
        """Give the letter for two ends, transposed if they are known the other way round."""
        keys = (end_key(stop), end_key(start))
        if keys[::-1] in self.numbers and keys[0] != keys[1]:
            return 2 * self.numbers[keys[::-1]] + 1
        return 2 * self._number(keys, Ends(stop, start), keys[0] == keys[1])

    def _number(self, key: object, entry: Matrix | Ends, symmetric: bool) -> int:
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.entries)
            self.entries.append(entry)
            if symmetric:
                self.symmetric.add(known)
        return known

    def free_names(self) -> set[str]:
        """Collect the names of the indices that letters carry."""
        names: set[str] = set()
        for entry in self.entries:
            if isinstance(entry, Matrix):
                names.update(index.name for index in entry.tensor.indices)
            elif isinstance(entry, Ends):
                for end in (entry.stop, entry.start):
                    names.add(end.index.name)
                    if end.tensor is not None:
                        names.update(index.name for index in end.tensor.indices)
        return names


def open_indices(tensor: Tensor, slots: tuple[int, ...]) -> tuple[Index | None, ...]:
    """List the indices of a tensor with None in the open slots."""
    return tuple(None if k in slots else index for k, index in enumerate(tensor.indices))


def end_key(end: End) -> object:
    """Tell ends apart: by the free index, or by the tensor without its dummy."""
    if end.tensor is None:
        return end.index
    return (end.tensor.head, open_indices(end.tensor, (end.slot,)))


def is_symmetric(tensor: Tensor, slots: tuple[int, int]) -> bool:
    """Tell whether exchanging the open slots leaves a tensor as it is."""
    free = {index: place for place, index in enumerate(dict.fromkeys(tensor.indices))}
    codes = [free[index] for index in tensor.indices]
    codes[slots[0]], codes[slots[1]] = len(free), len(free) + 1
    turned = list(codes)
    turned[slots[0]], turned[slots[1]] = codes[slots[1]], codes[slots[0]]
    least = tensor.head.symmetry.least
    return least(tuple(codes)) == least(tuple(turned))


def read_piece(piece: tuple[Tensor, ...], bound: set[Index], alphabet: Alphabet) -> Word | None:
    """Read a connected piece as a word; None if it is neither a trace nor a string."""
    places: dict[Index, list[Place]] = {}
    for number, tensor in enumerate(piece):
        for slot, index in enumerate(tensor.indices):
            if index in bound:
                places.setdefault(index, []).append((number, slot))
    if any(len(found) != 2 for found in places.values()):
        return None
    opened = [_open_slots(tensor, bound, alphabet.averaged) for tensor in piece]
    if any(not 1 <= len(slots) <= 2 for slots in opened):
        return None
    start = _find_start(piece, bound, opened, places)
    if start is None:
        letters, _ = _walk(piece, (0, opened[0][0]), opened, places, alphabet)
        return letters
    end, entry = start
    letters, stop = _walk(piece, entry, opened, places, alphabet)
    assert stop is not None
    return (alphabet.ends(stop, end), *letters)


def _open_slots(tensor: Tensor, bound: set[Index], averaged: Head) -> tuple[int, ...]:
    if tensor.head == averaged:
        return (0, 1)
    return tuple(slot for slot, index in enumerate(tensor.indices) if index in bound)


def _find_start(
    piece: tuple[Tensor, ...],
    bound: set[Index],
    opened: list[tuple[int, ...]],
    places: dict[Index, list[Place]],
) -> tuple[End, Place] | None:
    """Find an end of a string and where the walk from it enters the first matrix."""
    for number, (tensor, slots) in enumerate(zip(piece, opened, strict=True)):
        if len(slots) == 1:
            index = tensor.indices[slots[0]]
            return End(tensor, slots[0], index), _partner(places[index], (number, slots[0]))
        for slot in slots:
            if tensor.indices[slot] not in bound:
                return End(None, -1, tensor.indices[slot]), (number, slot)
    return None


def _partner(pair: list[Place], place: Place) -> Place:
    return pair[1] if pair[0] == place else pair[0]


def _walk(
    piece: tuple[Tensor, ...],
    entry: Place,
    opened: list[tuple[int, ...]],
    places: dict[Index, list[Place]],
    alphabet: Alphabet,
) -> tuple[Word, End | None]:
    """Follow matrices from one to the next; stop at an end or where the walk began."""
    letters: list[int] = []
    number, slot = entry
    while True:
        tensor, slots = piece[number], opened[number]
        if len(slots) == 1:
            return tuple(letters), End(tensor, slot, tensor.indices[slot])
        letter = alphabet.matrix(tensor, (slots[0], slots[1]))
        turned = slot != slots[0] and letter not in alphabet.symmetric
        letters.append(2 * letter + turned)
        leaving = slots[0] if slot == slots[1] else slots[1]
        index = tensor.indices[leaving]
        if index not in places:
            return tuple(letters), End(None, -1, index)
        number, slot = _partner(places[index], (number, leaving))
        if (number, slot) == entry:
            return tuple(letters), None


def write_words(
    words: list[Word], alphabet: Alphabet, taken: set[str]
) -> tuple[tuple[Index, ...], tuple[Factor, ...]]:
    """Write words back as sums over matrices and vectors."""
    sums: list[Index] = []
    factors: list[Factor] = []
    names = (name for name in (f"t{number}" for number in count()) if name not in taken)
    for word in words:
        for start, letters, stop in strings_of(word, alphabet):
            _write_string(start, letters, stop, alphabet, names, sums, factors)
    return tuple(sums), tuple(factors)


def strings_of(word: Word, alphabet: Alphabet) -> Iterator[tuple[End | None, Word, End | None]]:
    """Cut a word at the letters that hold ends; a trace comes back whole."""
    cuts = [k for k, c in enumerate(word) if isinstance(alphabet.entries[c >> 1], Ends)]
    if not cuts:
        yield None, word, None
        return
    turned = word[cuts[0] :] + word[: cuts[0]]
    cuts = [k - cuts[0] for k in cuts] + [len(word)]
    for here, there in pairwise(cuts):
        _, start = _oriented(turned[here], alphabet)
        stop, _ = _oriented(turned[there % len(word)], alphabet)
        yield start, turned[here + 1 : there], stop


def _oriented(letter: int, alphabet: Alphabet) -> tuple[End, End]:
    entry = alphabet.entries[letter >> 1]
    assert isinstance(entry, Ends)
    return (entry.start, entry.stop) if letter & 1 else (entry.stop, entry.start)


def _write_string(
    start: End | None,
    letters: Word,
    stop: End | None,
    alphabet: Alphabet,
    names: Iterator[str],
    sums: list[Index],
    factors: list[Factor],
) -> None:
    if not letters and start is not None and stop is not None:
        _join_ends(start, stop, names, sums, factors)
        return
    joints = [_entry_index(letter, alphabet) for letter in letters]
    joints = [Index(next(names), joint.species, joint.size) for joint in joints]
    if start is None or stop is None:
        sums += joints
        joints.append(joints[0])
    else:
        joints = _close(start, joints, stop, letters, alphabet, names, sums, factors)
    for place, letter in enumerate(letters):
        pair = (joints[place], joints[place + 1])
        factors.append(_fill(letter, pair[::-1] if letter & 1 else pair, alphabet))


def _close(
    start: End,
    joints: list[Index],
    stop: End,
    letters: Word,
    alphabet: Alphabet,
    names: Iterator[str],
    sums: list[Index],
    factors: list[Factor],
) -> list[Index]:
    """Put the ends of a string onto its first and last joint."""
    last = _entry_index(letters[-1] ^ 1, alphabet)
    inner = joints[1:]
    first = start.index if start.tensor is None else joints[0]
    final = stop.index
    if stop.tensor is not None:
        final = Index(next(names), last.species, last.size)
    sums += inner
    for end, joint in ((start, first), (stop, final)):
        if end.tensor is not None:
            sums.append(joint)
            factors.append(_plug(end, joint))
    return [first, *inner, final]


def _join_ends(
    start: End, stop: End, names: Iterator[str], sums: list[Index], factors: list[Factor]
) -> None:
    """Multiply two ends with no matrix between them."""
    if start.tensor is None and stop.tensor is None:
        factors.append(Delta(start.index, stop.index))
        return
    free = next((end.index for end in (start, stop) if end.tensor is None), None)
    joint = free
    if joint is None:
        joint = Index(next(names), start.index.species, start.index.size)
        sums.append(joint)
    factors += [_plug(end, joint) for end in (start, stop) if end.tensor is not None]


def _plug(end: End, joint: Index) -> Tensor:
    assert end.tensor is not None
    indices = end.tensor.indices
    return Tensor(end.tensor.head, (*indices[: end.slot], joint, *indices[end.slot + 1 :]))


def _entry_index(letter: int, alphabet: Alphabet) -> Index:
    """Return an index with the range of the side on which a letter is entered."""
    entry = alphabet.entries[letter >> 1]
    assert isinstance(entry, Matrix)
    return entry.tensor.indices[entry.slots[letter & 1]]


def _fill(letter: int, pair: tuple[Index, Index], alphabet: Alphabet) -> Tensor:
    entry = alphabet.entries[letter >> 1]
    assert isinstance(entry, Matrix)
    indices = list(entry.tensor.indices)
    indices[entry.slots[0]], indices[entry.slots[1]] = pair
    return Tensor(entry.tensor.head, tuple(indices))
