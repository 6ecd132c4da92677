"""Translation into SymPy; the only module here that imports it, and only when called."""

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from symdlt.algebra.factors import Delta, Factor, Tensor
from symdlt.algebra.index import Index
from symdlt.algebra.polynomial import Polynomial
from symdlt.algebra.printing import head_label
from symdlt.algebra.term import Term
from symdlt.errors import IndexStructureError

if TYPE_CHECKING:
    import sympy as sp


def sum_in_sympy(terms: tuple[Term, ...]) -> "sp.Expr":
    """Translate terms into an equivalent SymPy expression; see `Expression.to_sympy`."""
    import sympy

    check_labels(terms)
    return sympy.Add(*(_term(term, sympy) for term in terms))


def check_labels(terms: Iterable[Term]) -> None:
    """Refuse one name for two things, be they tensors, indices, constants or widths."""
    owners: dict[str, object] = {}
    for name, owner in _labelled(terms):
        known = owners.setdefault(name, owner)
        if known != owner:
            raise IndexStructureError(
                f"The name {name!r} stands for two things: {known} and {owner}. "
                "Both stand in an expression to be translated into SymPy, which knows them by "
                "name. "
                "Rename one of them."
            )


def _labelled(terms: Iterable[Term]) -> Iterator[tuple[str, object]]:
    for term in terms:
        for monomial, _ in term.coefficient.terms:
            yield from ((name, "a symbol") for name, _ in monomial)
        for index in term.indices():
            if index.number is None:
                yield index.name, "an index"
        yield from ((i.size, "a symbol") for i in term.sums if isinstance(i.size, str))
        for factor in term.factors:
            if isinstance(factor, Tensor):
                yield head_label(factor.head), factor.head


def _term(term: Term, sympy: ModuleType) -> "sp.Expr":
    body = sympy.Mul(*[_factor(factor, sympy) for factor in term.factors])
    if term.sums:
        body = sympy.Sum(body, *[(_index(i, sympy), 1, _size(i, sympy)) for i in term.sums])
    return _coefficient(term.coefficient, sympy) * body


def _factor(factor: Factor, sympy: ModuleType) -> "sp.Expr":
    if isinstance(factor, Delta):
        return sympy.KroneckerDelta(_index(factor.left, sympy), _index(factor.right, sympy))
    name = head_label(factor.head)
    if not factor.indices:
        return sympy.Symbol(name)
    return sympy.IndexedBase(name)[tuple(_index(i, sympy) for i in factor.indices)]


def _index(index: Index, sympy: ModuleType) -> "sp.Expr":
    if index.number is not None:
        return sympy.Integer(index.number)
    return sympy.Symbol(index.name, integer=True)


def _size(index: Index, sympy: ModuleType) -> "sp.Expr":
    return sympy.Symbol(index.size) if isinstance(index.size, str) else sympy.Integer(index.size)


def _coefficient(coefficient: Polynomial, sympy: ModuleType) -> "sp.Expr":
    pieces = []
    for monomial, value in coefficient.terms:
        factors = [sympy.Symbol(name) ** power for name, power in monomial]
        pieces.append(sympy.Mul(sympy.Rational(value.numerator, value.denominator), *factors))
    return sympy.Add(*pieces)
