"""Expressions in named quantities: polynomials with common factors taken out, and their cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named quantity."""

    name: str


@dataclass(frozen=True, slots=True)
class Raised:
    """A named quantity to a power above one."""

    base: Symbol
    exponent: int


@dataclass(frozen=True, slots=True)
class Multiple:
    """A number times factors; no factors for a constant."""

    coefficient: Fraction
    factors: tuple[Symbol | Raised | Sum, ...] = ()


@dataclass(frozen=True, slots=True)
class Sum:
    """Two or more products, or none for zero."""

    terms: tuple[Multiple, ...]


Factor = Symbol | Raised | Sum
Formula = Multiple | Sum


@dataclass(frozen=True, slots=True)
class Cost:
    """Operations of a straight evaluation."""

    multiplications: int = 0
    additions: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.multiplications + other.multiplications, self.additions + other.additions)


def cost(expression: Formula) -> Cost:
    """The operations of an expression as it is written; signs are free.

    >>> x = Symbol("x")
    >>> cost(Sum((Multiple(Fraction(2), (Raised(x, 2),)), Multiple(Fraction(1)))))
    Cost(multiplications=2, additions=1)
    """
    if isinstance(expression, Sum):
        inner = sum((cost(term) for term in expression.terms), Cost())
        return inner + Cost(0, max(len(expression.terms) - 1, 0))
    total = Cost(max(len(expression.factors) - 1, 0))
    if abs(expression.coefficient) != 1 and expression.factors:
        total += Cost(1)
    for factor in expression.factors:
        if isinstance(factor, Raised):
            total += Cost(factor.exponent - 1)
        elif isinstance(factor, Sum):
            total += cost(factor)
    return total


def symbols(expression: Formula) -> frozenset[str]:
    """The names that an expression reads."""
    if isinstance(expression, Sum):
        return frozenset(name for term in expression.terms for name in symbols(term))
    names: set[str] = set()
    for factor in expression.factors:
        if isinstance(factor, Sum):
            names |= symbols(factor)
        else:
            names.add(factor.base.name if isinstance(factor, Raised) else factor.name)
    return frozenset(names)


class SharedSum(NamedTuple):
    """A sum that stands more than once, and its name."""

    name: str
    value: Sum


def shared_sums(expressions: Sequence[Formula]) -> tuple[list[SharedSum], list[Formula]]:
    """Give a name to each sum in parentheses that stands more than once.

    Returns:
        The sums in the order of computation, and the expressions that read them by their names.

    >>> x, y = Symbol("x"), Symbol("y")
    >>> both = Sum((Multiple(Fraction(1), (x,)), Multiple(Fraction(1), (y,))))
    >>> (part,), (square,) = shared_sums([Multiple(Fraction(1), (both, both))])
    >>> part.value == both, square.factors
    (True, (Symbol(name='part_1'), Symbol(name='part_1')))
    """
    known: dict[Sum, Symbol] = {}  # each sum once, with numbers for the sums inside it

    def numbered(factor: Factor) -> Factor:
        if not isinstance(factor, Sum):
            return factor
        return known.setdefault(_mapped_sum(factor, numbered), Symbol(f"#{len(known)}"))

    numbered_ones = [_mapped(one, numbered) for one in expressions]
    sums: dict[Factor, Sum] = {number: one for one, number in known.items()}
    uses = Counter(f for one in (*known, *numbered_ones) for t in _terms(one) for f in t.factors)
    taken = frozenset().union(*map(symbols, expressions))
    free = (Symbol(name) for k in count(1) if (name := f"part_{k}") not in taken)
    names = {number: next(free) for number in sums if uses[number] > 1}

    def written(factor: Factor) -> Factor:
        if factor not in sums or factor in names:
            return names.get(factor, factor)
        return _mapped_sum(sums[factor], written)

    parts = [
        SharedSum(name.name, _mapped_sum(sums[number], written)) for number, name in names.items()
    ]
    return parts, [_mapped(one, written) for one in numbered_ones]


def _terms(expression: Formula) -> tuple[Multiple, ...]:
    return expression.terms if isinstance(expression, Sum) else (expression,)


def _mapped(expression: Formula, change: Callable[[Factor], Factor]) -> Formula:
    """The same with other factors."""
    one = expression
    return _mapped_sum(one, change) if isinstance(one, Sum) else _mapped_product(one, change)


def _mapped_sum(one: Sum, change: Callable[[Factor], Factor]) -> Sum:
    return Sum(tuple(_mapped_product(term, change) for term in one.terms))


def _mapped_product(one: Multiple, change: Callable[[Factor], Factor]) -> Multiple:
    return Multiple(one.coefficient, tuple(map(change, one.factors)))


Monomial = tuple[tuple[str, int], ...]
Coefficients = Mapping[Monomial, Fraction]


def monomial(powers: Mapping[str, int]) -> Monomial:
    """The powers in canonical order, zeros left out.

    >>> monomial({"b": 1, "a": 2, "c": 0})
    (('a', 2), ('b', 1))
    """
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def factored(polynomial: Coefficients, rank: Callable[[str], tuple[int, str]]) -> Formula:
    """Take out what all terms share, then again and again what most terms share.

    Args:
        polynomial: coefficients by monomial.
        rank: the place of a name within a product, which also settles ties.

    >>> terms = {(("a", 2),): Fraction(1), (("a", 1), ("b", 1)): Fraction(2)}
    >>> outer, inner = factored(terms, lambda name: (0, name)).factors
    >>> outer, len(inner.terms)
    (Symbol(name='a'), 2)
    """
    terms = {key: number for key, number in polynomial.items() if number}
    if not terms:
        return Sum(())
    shared = _content(terms)
    rest = {_divided(key, shared): number for key, number in terms.items()}
    outer = [_raised(name, shared[name]) for name in sorted(shared, key=rank)]
    if len(rest) == 1:
        return Multiple(next(iter(rest.values())), tuple(outer))
    inner = _split(rest, rank)
    return Multiple(Fraction(1), (*outer, inner)) if outer else inner


def _split(terms: Coefficients, rank: Callable[[str], tuple[int, str]]) -> Sum:
    """A sum without common factors, the most frequent name taken out of the terms that have it."""
    counts = Counter(name for key in terms for name, _ in key)
    popular = min(counts, key=lambda name: (-counts[name], rank(name)))
    if counts[popular] < 2:
        products = [factored({key: number}, rank) for key, number in _sorted(terms, rank)]
        return _sum(products)
    having = {key: number for key, number in terms.items() if popular in dict(key)}
    others = {key: number for key, number in terms.items() if key not in having}
    return _sum([factored(having, rank), factored(others, rank)])


def _sum(parts: list[Formula]) -> Sum:
    products: list[Multiple] = []
    for part in parts:
        products += part.terms if isinstance(part, Sum) else [part]
    return Sum(tuple(sorted(products, key=lambda product: product.coefficient < 0)))


def _sorted(
    terms: Coefficients, rank: Callable[[str], tuple[int, str]]
) -> list[tuple[Monomial, Fraction]]:
    def key(item: tuple[Monomial, Fraction]) -> list[tuple[tuple[int, str], int]]:
        return sorted((rank(name), power) for name, power in item[0])

    return sorted(terms.items(), key=key)


def _content(terms: Coefficients) -> dict[str, int]:
    keys = [dict(key) for key in terms]
    shared = {name: min(key.get(name, 0) for key in keys) for name in keys[0]}
    return {name: power for name, power in shared.items() if power}


def _divided(key: Monomial, shared: Mapping[str, int]) -> Monomial:
    powers = Counter(dict(key))
    powers.subtract(shared)  # also of names that the key has not, whose shared power is negative
    return monomial(powers)


def _raised(name: str, power: int) -> Symbol | Raised:
    return Symbol(name) if power == 1 else Raised(Symbol(name), power)
