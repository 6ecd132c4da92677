"""Canonical form: the same text for expressions that differ in names and order only."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from symdlt.algebra.contraction import contract_term
from symdlt.algebra.factors import Delta, Factor, Tensor, trusted_tensor
from symdlt.algebra.heads import Head
from symdlt.algebra.index import Index, Species
from symdlt.algebra.labelling import Edge, LabelledPiece, certificate, number_dummies, sign_of
from symdlt.algebra.polynomial import Polynomial
from symdlt.algebra.term import Term, trusted_term
from symdlt.combinatorics import connected_components

# Convention: the letters in which dummies are read most easily; those of widths, layers and
# other quantities of the theory (n, m, ℓ, o, δ, λ, σ) are left out.
_LETTERS = {
    Species.NEURON: "ijklpqrstuvw",
    Species.SAMPLE: "αβγεζηθκμνρτ",
    Species.PARAMETER: "abcdefgh",
}


class Part(NamedTuple):
    """A connected piece of a term in canonical form.

    Attributes:
        key: what decides equality and order.
        dummies: one index of the right species and size for each number; its name is idle.
        factors: each head with its indices, dummies given by number.
        sign: what the tensors gathered where their indices were exchanged.
        vanishes: whether the piece is its own negative.
    """

    key: tuple[object, ...]
    dummies: tuple[Index, ...]
    factors: tuple[tuple[Head, tuple[Index | int, ...]], ...]
    sign: int
    vanishes: bool


class Shape(NamedTuple):
    """A term in canonical form, without its coefficient."""

    key: tuple[object, ...]
    deltas: tuple[Delta, ...]
    parts: tuple[Part, ...]


Memo = dict[tuple[tuple[Tensor, ...], tuple[bool, ...]], Part]


def canonical_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Contract, collect and name terms canonically."""
    return name_shapes(collect_shapes(terms))


def collect_shapes(terms: Iterable[Term]) -> list[tuple[Shape, Polynomial]]:
    """Add up the coefficients of terms of one shape and sort the shapes that are left."""
    memo: Memo = {}
    by_key: dict[tuple[object, ...], tuple[Shape, list[Polynomial]]] = {}
    for term in terms:
        shape, coefficient = shape_of(term, memo)
        by_key.setdefault(shape.key, (shape, []))[1].append(coefficient)
    collected = [(shape, add_up(values)) for shape, values in by_key.values()]
    kept = [(shape, value) for shape, value in collected if value]
    kept.sort(key=lambda item: item[0].key)
    return kept


def add_up(values: list[Polynomial]) -> Polynomial:
    """Add coefficients, equal ones by counting."""
    counts: dict[Polynomial, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    total = Polynomial.number(0)
    for value, count in counts.items():
        total = total + value * count
    return total


def shape_of(term: Term, memo: Memo) -> tuple[Shape, Polynomial]:
    """Contract a term and bring each of its connected pieces into canonical form."""
    term = contract_term(term)
    bound = set(term.sums)
    deltas = tuple(factor for factor in term.factors if isinstance(factor, Delta))
    parts = []
    sign = 1
    for piece in connected_pieces(term.factors, bound):
        key = (piece, tuple(index in bound for tensor in piece for index in tensor.indices))
        part = memo.get(key)
        if part is None:
            part = memo[key] = canonical_part(piece, bound)
        parts.append(part)
        sign *= 0 if part.vanishes else part.sign
    parts.sort(key=lambda part: part.key)
    shape_key = (
        tuple((delta.left.sort_key, delta.right.sort_key) for delta in deltas),
        tuple(part.key for part in parts),
    )
    coefficient = term.coefficient if sign == 1 else term.coefficient * sign
    return Shape(shape_key, deltas, tuple(parts)), coefficient


def connected_pieces(factors: Iterable[Factor], bound: set[Index]) -> Iterator[tuple[Tensor, ...]]:
    """Group the tensors of a term that hang together by dummies."""
    tensors = [factor for factor in factors if isinstance(factor, Tensor)]
    if len(tensors) < 2:
        yield from [tuple(tensors)] if tensors else []
        return
    holder: dict[Index, int] = {}
    links = [
        (holder.setdefault(index, place), place)
        for place, tensor in enumerate(tensors)
        for index in tensor.indices
        if index in bound
    ]
    for group in connected_components(range(len(tensors)), links):
        yield tuple([tensors[place] for place in group])


def canonical_part(
    tensors: tuple[Tensor, ...], bound: set[Index], nameless: frozenset[Index] = frozenset()
) -> Part:
    """Number the dummies of one connected piece and sort its factors.

    Indices that are `nameless` are numbered too but never exchanged with the others.
    """
    seen = dict.fromkeys(index for tensor in tensors for index in tensor.indices)
    free = sorted((i for i in seen if i not in bound), key=lambda i: i.sort_key)
    dummies = [i for i in seen if i in bound]
    heads = sorted({tensor.head for tensor in tensors}, key=lambda head: head.sort_key)
    rank = {head: place for place, head in enumerate(heads)}
    code = {index: place for place, index in enumerate(free + dummies)}
    ranges = [(i in nameless, i.species.value, str(i.size)) for i in dummies]
    colour = {each: place for place, each in enumerate(sorted(set(ranges)))}
    symmetries = [tensor.head.symmetry for tensor in tensors]
    piece = LabelledPiece(
        tuple(
            [
                Edge(
                    rank[t.head],
                    tuple([code[i] for i in t.indices]),
                    s.least,
                    s.sign if s.signs else (),
                )
                for t, s in zip(tensors, symmetries, strict=True)
            ]
        ),
        tuple([colour[each] for each in ranges]),
        len(free),
    )
    numbers, odd = number_dummies(piece)
    by_number = dict(zip(numbers, dummies, strict=True))
    place: dict[int, int] = {}
    factors: list[tuple[Head, tuple[Index | int, ...]]] = []
    for label, codes in certificate(piece, numbers):
        row = [
            free[c] if c < len(free) else place.setdefault(c - len(free), len(place)) for c in codes
        ]
        factors.append((heads[label], tuple(row)))
    ordered = tuple(by_number[number] for number in place)
    key = _part_key(factors, [ranges[dummies.index(dummy)] for dummy in ordered])
    sign = sign_of(piece, numbers) if any(s.signs for s in symmetries) else 1
    return Part(key, ordered, tuple(factors), sign, odd or not sign)


def _part_key(
    factors: list[tuple[Head, tuple[Index | int, ...]]], ranges: list[tuple[bool, str, str]]
) -> tuple[object, ...]:
    return (
        tuple(
            (
                head.sort_key,
                tuple((1, i) if isinstance(i, int) else (0, i.sort_key) for i in row),
            )
            for head, row in factors
        ),
        tuple(ranges),
    )


def name_shapes(shapes: list[tuple[Shape, Polynomial]]) -> tuple[Term, ...]:
    """Give the dummies names that nothing else in the expression bears."""
    taken: set[str] = set()
    for shape, coefficient in shapes:
        taken.update(name for monomial, _ in coefficient.terms for name, _ in monomial)
        taken.update(index.name for delta in shape.deltas for index in delta.indices)
        for part in shape.parts:
            taken.update(str(dummy.size) for dummy in part.dummies)
            taken.update(head.name for head, _ in part.factors)
            taken.update(i.name for _, row in part.factors for i in row if isinstance(i, Index))
    supply: dict[tuple[Species, object], list[Index]] = {}
    return tuple(_name_shape(shape, value, taken, supply) for shape, value in shapes)


def _name_shape(
    shape: Shape,
    coefficient: Polynomial,
    taken: set[str],
    supply: dict[tuple[Species, object], list[Index]],
) -> Term:
    sums: list[Index] = []
    factors: list[Factor] = list(shape.deltas)
    used: dict[Species, int] = {}
    for part in shape.parts:
        names = []
        for dummy in part.dummies:
            place = used.get(dummy.species, 0)
            used[dummy.species] = place + 1
            names.append(_supply(dummy, place, taken, supply))
        sums.extend(names)
        for head, row in part.factors:
            indices = tuple([names[i] if isinstance(i, int) else i for i in row])
            factors.append(trusted_tensor(head, indices))
    return trusted_term(tuple(sums), coefficient, tuple(factors))


def _supply(
    dummy: Index,
    place: int,
    taken: set[str],
    supply: dict[tuple[Species, object], list[Index]],
) -> Index:
    known = supply.setdefault((dummy.species, dummy.size), [])
    while len(known) <= place:
        name = dummy_name(dummy.species, len(known), taken)
        known.append(Index(name, dummy.species, dummy.size))
    return known[place]


def dummy_name(species: Species, place: int, taken: set[str]) -> str:
    """Name the dummy at a place: letters first, then numbered letters, none of them taken.

    >>> [dummy_name(Species.NEURON, place, {"j"}) for place in (0, 1, 11)]
    ['i', 'k', 'i1']
    """
    letters = _LETTERS[species]
    names = [letter for letter in letters if letter not in taken]
    number = 0
    while len(names) <= place:
        number += 1
        if f"{letters[0]}{number}" not in taken:
            names.append(f"{letters[0]}{number}")
    return names[place]
