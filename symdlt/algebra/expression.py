"""Expressions: sums of terms, with arithmetic and equality up to names and order."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from symdlt.algebra.canonical import canonical_terms
from symdlt.algebra.factors import Delta, Tensor
from symdlt.algebra.heads import Head, wrong_count
from symdlt.algebra.index import Index, as_index
from symdlt.algebra.names import refusal
from symdlt.algebra.polynomial import ONE, Number, Polynomial, as_polynomial
from symdlt.algebra.printing import LatexWriter, Writer, shortened
from symdlt.algebra.sympy_form import sum_in_sympy
from symdlt.algebra.term import (
    Term,
    check_names,
    multiply_terms,
    rename_dummies,
    scale_term,
    sum_term,
)
from symdlt.errors import IndexStructureError

Operand = "Expression | Polynomial | Number"

# More terms than this fill a screen and take time to write; convention.
_MANY_TERMS = 200


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expression:
    """A sum of terms; `+ - *`, division by constants and powers build new ones.

    Arithmetic only puts terms side by side. Equality, hash and print go by the canonical
    form, which is found once and kept.

    >>> from symdlt.algebra import delta, neurons
    >>> i, j = neurons("i j", "n")
    >>> print((delta(i, j) + 1).sum(i, j))
    n² + n
    """

    terms: tuple[Term, ...] = ()
    _canonical: tuple[Term, ...] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.terms, tuple) or not all(isinstance(t, Term) for t in self.terms):
            raise refusal(
                self.terms, "a tuple of terms", "`Expression`", "Use `as_expression` or arithmetic."
            )
        check_names(i for term in self.terms for i in term.free_indices)

    @property
    def free_indices(self) -> tuple[Index, ...]:
        """List the indices that are free in some term, in order."""
        free = {i for term in self.terms for i in term.free_indices}
        return tuple(sorted(free, key=lambda i: i.sort_key))

    @property
    def canonical_terms(self) -> tuple[Term, ...]:
        """List the terms of the canonical form."""
        if self._canonical is None:
            object.__setattr__(self, "_canonical", canonical_terms(self.terms))
        assert self._canonical is not None
        return self._canonical

    def sum(self, *indices: Index) -> "Expression":
        """Sum over indices, each over its whole range.

        >>> from symdlt.algebra import neurons, constant
        >>> i, j = neurons("i j", 5)
        >>> print(constant("s", i)(i).sum(i, j))
        5 Σ_i s_i
        """
        for index in indices:
            check_index(index, "a sum")
        terms = self.terms
        for index in indices:
            terms = tuple(sum_term(term, index) for term in terms)
        return Expression(terms)

    def relabel(self, names: Mapping[Index, Index | int]) -> "Expression":
        """Rename free indices, or fix them to numbers; dummies step aside.

        Raises:
            IndexStructureError: an index would get another species or size.
        """
        if not isinstance(names, Mapping):
            raise refusal(names, "a mapping of indices", "`relabel`", "Give one such as {i: j}.")
        moves: dict[Index, Index] = {}
        for old, value in names.items():
            check_index(old, "`relabel`")
            moves[old] = new = as_index(value, old.species, old.size)
            check_index(new, "`relabel`")
            if (old.species, old.size) != (new.species, new.size):
                raise IndexStructureError(
                    f"Cannot rename {old!r} to {new!r}. "
                    "The two indices run over different ranges. "
                    "Rename an index to one of the same species and size."
                )
        return Expression(tuple(relabel_term(term, moves) for term in self.terms))

    def __add__(self, other: "Expression | Polynomial | Number") -> "Expression":
        if not is_operand(other):
            return NotImplemented
        return Expression(self.terms + as_expression(other).terms)

    __radd__ = __add__

    def __neg__(self) -> "Expression":
        return Expression(tuple(scale_term(term, as_polynomial(-1)) for term in self.terms))

    def __sub__(self, other: "Expression | Polynomial | Number") -> "Expression":
        return self + -as_expression(other) if is_operand(other) else NotImplemented

    def __rsub__(self, other: "Polynomial | Number") -> "Expression":
        return as_expression(other) + -self

    def __mul__(self, other: "Expression | Polynomial | Number") -> "Expression":
        if not is_operand(other):
            return NotImplemented
        if not isinstance(other, Expression):
            scale = as_polynomial(other)
            return Expression(tuple(scale_term(t, scale) for t in self.terms) if scale else ())
        return Expression(tuple(multiply_terms(a, b) for a in self.terms for b in other.terms))

    __rmul__ = __mul__

    def __truediv__(self, other: "Polynomial | Number") -> "Expression":
        if not isinstance(other, Polynomial | int | Fraction):
            return NotImplemented
        return self * as_polynomial(other).inverse()

    def __pow__(self, exponent: int) -> "Expression":
        if not isinstance(exponent, int) or exponent < 0:
            raise IndexStructureError(
                f"Cannot raise an expression to the power {exponent!r}. "
                f"The expression is {self!r}. "
                "Powers are 0, 1, 2, …; divide by constants and widths with '/'."
            )
        result = self if exponent else as_expression(1)
        for _ in range(1, exponent):
            if len(result.terms) > 1:
                result = Expression(result.canonical_terms)
            result = result * self
        return result

    def __eq__(self, other: object) -> bool:
        if not is_operand(other):
            return NotImplemented
        return self.canonical_terms == as_expression(other).canonical_terms

    def __hash__(self) -> int:
        terms = self.canonical_terms
        if not terms:
            return 0
        if len(terms) == 1 and not terms[0].factors:
            return hash(terms[0].coefficient)
        return hash(terms)

    def __bool__(self) -> bool:
        return bool(self.canonical_terms)

    def __str__(self) -> str:
        return Writer().sum(self.printed_terms())

    def __repr__(self) -> str:
        many = len(self.terms) > _MANY_TERMS
        return f"Expression({f'{len(self.terms)} terms' if many else shortened(str(self))})"

    def latex(self) -> str:
        """Write the expression in LaTeX."""
        return LatexWriter().sum(self.printed_terms())

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def to_sympy(self) -> object:
        """Translate the canonical form into SymPy, with Sum, Indexed and KroneckerDelta.

        Sums run from 1 to the size of their range; indices are integer symbols, widths and
        constants plain ones; heads become `IndexedBase` (or `Symbol` if they take no index) named
        as they print.

        Raises:
            IndexStructureError: one name stands for two things that SymPy would not tell apart.

        >>> from symdlt.algebra import constant, neurons
        >>> i, j = neurons("i j", "n")
        >>> constant("g", i, j)(i, j).sum(j).to_sympy()
        Sum(g[i, j], (j, 1, n))
        """
        return sum_in_sympy(self.canonical_terms)

    def printed_terms(self) -> Iterator[Term]:
        """Go through the canonical terms, a coefficient that stands alone cut at its signs."""
        for term in self.canonical_terms:
            if term.factors:
                yield term
            else:
                yield from (Term((), Polynomial((piece,))) for piece in term.coefficient.terms)


class Letter(Head):
    """A head that is called with indices, W(i, j), and gives an expression.

    Make one with `constant`, `gaussian_vector`, `weights`, `biases`, `preactivations` or
    `activation`.
    """

    __slots__ = ()

    def __call__(self, *indices: Index | int) -> Expression:
        """Put indices, or the numbers they are fixed to, into the slots."""
        if len(indices) != len(self.slots):
            raise wrong_count(self, indices)
        slots = zip(self.slots, indices, strict=True)
        return single(Tensor(self, tuple(as_index(i, s.species, s.size) for s, i in slots)))


def check_index(value: object, place: str) -> None:
    """Refuse what is not an index."""
    if not isinstance(value, Index):
        raise refusal(value, "an index", place, "Declare indices with `neurons` or `samples`.")


def is_operand(value: object) -> bool:
    """Tell whether a value can take part in arithmetic with expressions."""
    return isinstance(value, Expression | Polynomial | int | Fraction)


def as_expression(value: object) -> Expression:
    """Read a number or a coefficient as an expression without indices."""
    if isinstance(value, Expression):
        return value
    if not isinstance(value, Polynomial | int | Fraction):
        raise IndexStructureError(
            f"{value!r} is not an expression. "
            "It was used where an expression of indexed tensors is needed. "
            "Give an expression, a symbol, an integer or a Fraction; floats are not exact."
        )
    coefficient = as_polynomial(value)
    return Expression((Term((), coefficient, ()),) if coefficient else ())


def single(factor: Delta | Tensor) -> Expression:
    """Make the expression that is one factor."""
    return Expression((Term((), ONE, (factor,)),))


def delta(left: Index | int, right: Index | int) -> Expression:
    """Make a Kronecker delta of two indices, or of an index and a number.

    >>> from symdlt.algebra import neurons
    >>> i, j = neurons("i j", "n")
    >>> print(delta(i, j) * delta(j, i))
    δ_{i j}
    >>> print(delta(1, i) + delta(1, i).relabel({i: 2}) + delta(1, i).sum(i))
    1 + δ_{1 i}
    """
    if isinstance(right, Index):
        left = as_index(left, right.species, right.size)
    if isinstance(left, Index):
        right = as_index(right, left.species, left.size)
    return single(Delta(left, right))  # type: ignore[arg-type]  # Delta refuses two numbers


def relabel_term(term: Term, names: Mapping[Index, Index]) -> Term:
    """Rename the free indices of a term, moving its dummies out of the way."""
    moving = {old: new for old, new in names.items() if old in term.free_indices}
    if not moving:
        return term
    term = rename_dummies(term, {new.name for new in moving.values()})
    return term.relabel(moving)


def add_all(expressions: Iterable[Expression]) -> Expression:
    """Add many expressions at once."""
    return Expression(tuple(term for piece in expressions for term in piece.terms))
