r"""Gaussian averages of products of traces, by cutting and joining cyclic words.

Contracting $W_{ij}$ in $\mathrm{tr}(W u)$ with another $W$ gives, by Wick's theorem,
$\mathrm{tr}(W a W^T b) \to \mathrm{tr}(a)\,\mathrm{tr}(b)$, $\mathrm{tr}(W a W b) \to
\mathrm{tr}(a b^T)$ and $\mathrm{tr}(W u)\,\mathrm{tr}(W v) \to \mathrm{tr}(u v^T)$.
The traces that are left are again products of traces, so each is averaged only once.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

from symdlt.algebra.averages.trace_words import Alphabet, Word, write_words
from symdlt.algebra.canonical import connected_pieces
from symdlt.algebra.factors import Delta, Factor, Tensor
from symdlt.algebra.heads import Head
from symdlt.algebra.index import Size
from symdlt.algebra.matrix_chains import read_chain, summed_slots
from symdlt.algebra.polynomial import Polynomial, gather
from symdlt.algebra.term import Term

State = tuple[int, ...]
Packed = dict[State, int]


@dataclass(slots=True)
class TraceAlgebra:
    """Words over letters 2h and 2h+1, for matrix h and its transpose; matrix 0 is averaged.

    A word is the trace of its letters, known by its number. Polynomials in the two widths are
    packed into one integer, a width being a power of two beyond all coefficients.
    """

    rows: int
    columns: int
    symmetric: frozenset[int] = frozenset()
    words: list[Word] = field(default_factory=list)
    numbers: dict[Word, int] = field(default_factory=dict)
    cuts: dict[int, list[tuple[State, int]]] = field(default_factory=dict)
    joins: dict[tuple[int, int], list[tuple[State, int]]] = field(default_factory=dict)
    values: dict[State, Packed] = field(default_factory=dict)

    def transpose(self, word: Word) -> Word:
        """Reverse a word and transpose its letters."""
        return tuple([c if c >> 1 in self.symmetric else c ^ 1 for c in reversed(word)])

    def number(self, word: Word) -> int:
        """Number a cyclic word, the same for its rotations and its transpose."""
        known = self.numbers.get(word)
        if known is None:
            turned = [
                w[place:] + w[:place]
                for w in (word, self.transpose(word))
                for place in range(len(w))
            ]
            least = min(turned)
            known = self.numbers.get(least)
            if known is None:
                known = len(self.words)
                self.words.append(least)
            for each in turned:
                self.numbers[each] = known
        return known

    def openings(self, number: int) -> list[Word]:
        """Open a word at each of its letters W, leaving what follows W around the trace."""
        word = self.words[number]
        opened = []
        for place, letter in enumerate(word):
            if letter >> 1 == 0:
                rest = word[place + 1 :] + word[:place]
                opened.append(rest if letter == 0 else self.transpose(rest))
        return opened

    def cut(self, number: int) -> list[tuple[State, int]]:
        """Contract the first W of a word with each other W in it."""
        known = self.cuts.get(number)
        if known is None:
            rest = self.openings(number)[0]
            counts: Counter[tuple[State, int]] = Counter()
            for place, letter in enumerate(rest):
                before, after = rest[:place], rest[place + 1 :]
                if letter == 1:
                    scale = (1 if before else self.columns) * (1 if after else self.rows)
                    state = tuple(sorted(self.number(w) for w in (before, after) if w))
                    counts[state, scale] += 1
                elif letter == 0:
                    joined = before + self.transpose(after)
                    counts[self._closed(joined)] += 1
            known = self.cuts[number] = [(s, scale * n) for (s, scale), n in counts.items()]
        return known

    def join(self, number: int, other: int) -> list[tuple[State, int]]:
        """Contract the first W of a word with each W of another word."""
        known = self.joins.get((number, other))
        if known is None:
            rest = self.openings(number)[0]
            counts = Counter(
                self._closed(rest + self.transpose(piece)) for piece in self.openings(other)
            )
            known = [(s, scale * n) for (s, scale), n in counts.items()]
            self.joins[number, other] = known
        return known

    def _closed(self, word: Word) -> tuple[State, int]:
        return ((self.number(word),), 1) if word else ((), self.rows)

    def average(self, state: State) -> Packed:
        """Average a product of traces: packed polynomials by the traces that are left."""
        known = self.values.get(state)
        if known is not None:
            return known
        place = next((k for k, word in enumerate(state) if self.words[word][0] <= 1), None)
        if place is None:
            return {state: 1}
        word, others = state[place], state[:place] + state[place + 1 :]
        total: Packed = {}
        for left, scale in self.cut(word):
            _add(total, self.average(_merge(others, left)), scale)
        for other in dict.fromkeys(others):
            if self.words[other][0] > 1:
                continue
            rest = list(others)
            rest.remove(other)
            for left, scale in self.join(word, other):
                _add(total, self.average(_merge(tuple(rest), left)), scale * others.count(other))
        self.values[state] = total
        return total


def _merge(left: State, right: State) -> State:
    return tuple(sorted(left + right))


def _add(total: Packed, values: Packed, scale: int) -> None:
    for state, value in values.items():
        total[state] = total.get(state, 0) + value * scale


def average_traces(term: Term, head: Head) -> list[Term]:
    """Average the traces and strings of a Gaussian weight matrix in a contracted term.

    A term in which the matrix also stands in other ways comes back as it is.
    """
    if head.rank != 2 or head.law is None or not head.law.is_gaussian:
        return [term]
    bound = set(term.sums)
    alphabet = Alphabet(head)
    words: list[Word] = []

    def open_slots(tensor: Tensor) -> tuple[int, ...]:
        return (0, 1) if tensor.head == head else summed_slots(tensor, bound)

    apart: list[Factor] = [f for f in term.factors if isinstance(f, Delta)]
    for piece in connected_pieces(term.factors, bound):
        if any(tensor.head == head for tensor in piece):
            chain = read_chain(piece, bound, open_slots)
            if chain is None:
                return [term]
            words.append(alphabet.word(chain))
        else:
            apart.extend(piece)
    count = sum(letter >> 1 == 0 for word in words for letter in word)
    if count == 0:
        return [term]
    if count % 2:
        return []
    kept = {index for factor in apart for index in factor.indices}
    sums = tuple(index for index in term.sums if index in kept)
    scale = term.coefficient * head.law.cumulant(2) ** (count // 2)
    return average_words(Term(sums, scale, tuple(apart)), words, alphabet, count // 2)


def average_words(base: Term, words: list[Word], alphabet: Alphabet, pairs: int) -> list[Term]:
    """Average a product of words and multiply what comes out onto a base term."""
    rows, columns = (slot.size for slot in alphabet.averaged.slots)
    packing = Packing.choose(rows, columns, pairs)
    symmetric = frozenset(alphabet.symmetric)
    algebra = TraceAlgebra(packing.rows, packing.columns, symmetric)
    state = tuple(sorted([algebra.number(word) for word in words]))
    taken = {index.name for index in base.indices()} | alphabet.index_names()
    results = []
    for left, packed in algebra.average(state).items():
        sums, factors = write_words([algebra.words[word] for word in left], alphabet, taken)
        coefficient = base.coefficient * packing.unpack(packed)
        results.append(Term(base.sums + sums, coefficient, base.factors + factors))
    return results


@dataclass(frozen=True, slots=True)
class Packing:
    """How polynomials in the two widths of a matrix are packed into integers."""

    rows: int
    columns: int
    bits: int
    names: tuple[str, ...]
    degree: int

    @staticmethod
    def choose(rows: Size, columns: Size, pairs: int) -> "Packing":
        """Leave room for all pairings in a coefficient and for one loop a pair in a power."""
        numbers = [size for size in (rows, columns) if isinstance(size, int)]
        most: int = math.factorial(2 * pairs) * math.prod(numbers) ** pairs
        bits = most.bit_length() + 1
        names = tuple(dict.fromkeys(s for s in (rows, columns) if isinstance(s, str)))
        degree = (pairs if len(names) == 2 else 2 * pairs) + 1

        def pack(size: Size) -> int:
            if isinstance(size, str):
                place = degree if names.index(size) else 1
                return 1 << (bits * place)
            assert size is not None
            return size

        return Packing(pack(rows), pack(columns), bits, names, degree)

    def unpack(self, packed: int) -> Polynomial:
        """Read a packed polynomial."""
        mask = (1 << self.bits) - 1
        terms = []
        place = 0
        while packed:
            value = packed & mask
            if value:
                powers = zip(self.names, (place % self.degree, place // self.degree), strict=False)
                monomial = tuple(sorted((name, power) for name, power in powers if power))
                terms.append((monomial, value))
            packed >>= self.bits
            place += 1
        return gather(terms)
