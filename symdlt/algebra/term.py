"""A term: sums over dummy indices, an exact coefficient, and factors."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from symdlt.algebra.factors import Delta, Factor
from symdlt.algebra.index import Index, Size
from symdlt.algebra.names import refusal
from symdlt.algebra.polynomial import ONE, Polynomial, as_polynomial
from symdlt.algebra.printing import Writer, shortened
from symdlt.errors import IndexStructureError


@dataclass(frozen=True, slots=True)
class Term:
    """A product of factors with some indices summed; the other indices are free.

    A sum over an index that no factor carries is allowed: it stands for the size of its range.

    Raises:
        IndexStructureError: an index is summed twice or without a size, or a name is used
            for two different indices.
    """

    sums: tuple[Index, ...] = ()
    coefficient: Polynomial = ONE
    factors: tuple[Factor, ...] = ()

    def __post_init__(self) -> None:
        try:
            check_sums(self.sums)
            check_names(self.indices())
        except (AttributeError, TypeError):
            raise not_parts(self) from None
        parts = (self.sums, self.coefficient, self.factors)
        if tuple(map(type, parts)) != (tuple, Polynomial, tuple):
            raise not_parts(self)

    def indices(self) -> Iterator[Index]:
        """Go through all indices, summed or free, as often as they occur."""
        yield from self.sums
        for factor in self.factors:
            yield from factor.indices

    @property
    def free_indices(self) -> tuple[Index, ...]:
        """List the indices that are neither summed nor fixed to a number, in order."""
        present = dict.fromkeys(i for factor in self.factors for i in factor.indices)
        free = (i for i in present if i.number is None and i not in self.sums)
        return tuple(sorted(free, key=lambda i: i.sort_key))

    @property
    def deltas(self) -> tuple[Delta, ...]:
        """List the Kronecker deltas among the factors."""
        return tuple(factor for factor in self.factors if isinstance(factor, Delta))

    def __repr__(self) -> str:
        return f"Term({shortened(Writer().sum([self]))})"

    def relabel(self, names: dict[Index, Index]) -> "Term":
        """Rename indices everywhere, dummies included; the caller avoids clashes."""
        return Term(
            tuple(names.get(i, i) for i in self.sums),
            self.coefficient,
            tuple(factor.relabel(names) for factor in self.factors),
        )


def not_parts(term: Term) -> IndexStructureError:
    """Say that a term cannot be made of what was given."""
    return refusal(
        (term.sums, term.coefficient, term.factors),
        "what a term is made of",
        "`Term`",
        "Give a tuple of indices, a Polynomial, and a tuple of deltas and tensors.",
    )


def check_sums(sums: tuple[Index, ...]) -> None:
    """Refuse a sum that occurs twice or whose range is not known."""
    for index in sums:
        if index.number is not None:
            raise IndexStructureError(
                f"Cannot sum over the number {index.number}. "
                f"It stands where a {index.species} index is summed. "
                "Sum over an index, and fix it to a number in another expression."
            )
        if index.size is None:
            raise IndexStructureError(
                f"Cannot sum over {index.name}, whose range has no size. "
                f"It is a {index.species} index declared without one. "
                f"Declare it with a size, as in {index.species}({index.name!r}, size=4)."
            )
    if len({index.name for index in sums}) != len(sums):
        raise IndexStructureError(
            f"An index is summed twice in ({', '.join(index.name for index in sums)}). "
            "The sums belong to one term. "
            "Name each summed index once."
        )


def check_names(indices: Iterable[Index]) -> None:
    """Refuse one name for two different indices."""
    known: dict[str, Index] = {}
    for index in indices:
        other = known.setdefault(index.name, index)
        if other is not index and other != index and index.number is None:
            raise IndexStructureError(
                f"The name {index.name!r} stands for two different indices. "
                f"They are {other!r} and {index!r}. "
                "Rename one of them with `.relabel`."
            )


def trusted_term(
    sums: tuple[Index, ...], coefficient: Polynomial, factors: tuple[Factor, ...]
) -> Term:
    """Make a term from parts that are known to fit; inner loops build millions of them."""
    term = _new(Term)
    put_sums(term, sums)
    put_coefficient(term, coefficient)
    put_factors(term, factors)
    return term


_new = object.__new__
put_sums = Term.__dict__["sums"].__set__
put_coefficient = Term.__dict__["coefficient"].__set__
put_factors = Term.__dict__["factors"].__set__


def multiply_terms(left: Term, right: Term) -> Term:
    """Multiply two terms, with the dummies of either renamed away from the other's indices."""
    right = rename_dummies(right, {i.name for i in left.indices()})
    left = rename_dummies(left, {i.name for i in right.indices()})
    return Term(
        left.sums + right.sums,
        left.coefficient * right.coefficient,
        left.factors + right.factors,
    )


def rename_dummies(term: Term, taken: set[str]) -> Term:
    """Rename the dummies of a term whose names are taken."""
    clashing = [index for index in term.sums if index.name in taken]
    if not clashing:
        return term
    taken = taken | {index.name for index in term.indices()}
    names = {}
    for index in clashing:
        names[index] = fresh_index(index, taken)
        taken.add(names[index].name)
    return term.relabel(names)


def fresh_index(index: Index, taken: set[str]) -> Index:
    """Put primes on a name until it is not taken."""
    name = index.name
    while name in taken:
        name += "'"
    return Index(name, index.species, index.size)


def sum_term(term: Term, index: Index) -> Term:
    """Sum a term over one more index; a dummy of the same name inside is another index."""
    term = rename_dummies(term, {index.name})
    return Term((*term.sums, index), term.coefficient, term.factors)


def scale_term(term: Term, factor: Polynomial) -> Term:
    """Multiply the coefficient of a term."""
    return trusted_term(term.sums, term.coefficient * factor, term.factors)


@cache
def size_polynomial(size: Size) -> Polynomial:
    """Read the size of a range as a coefficient."""
    if size is None:
        raise IndexStructureError(
            "A range without a size was counted. "
            "It belongs to a sum over samples or parameters. "
            "Declare the index with a size."
        )
    return Polynomial.symbol(size) if isinstance(size, str) else as_polynomial(size)
