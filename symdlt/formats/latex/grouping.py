"""Collecting terms that share their prefactors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from symdlt.formats.latex.lines import Group, Product, equation_lines
from symdlt.formats.latex.notation import Conventions, powers, rational

Term = TypeVar("Term")


@dataclass(frozen=True, slots=True)
class Summand:
    """A term ready for print: its number, what its group is, and its factors.

    Attributes:
        number: the coefficient.
        family: terms of one family share a group.
        prefix: factors that all terms of the family have.
        middle: factors that go to the prefix if the family has several terms, and otherwise
            between `left` and `right`.
        left: factors, brackets of them first.
        right: more factors.
        below: the denominator under the last of them, or under the prefix of a larger family.
    """

    number: Fraction
    family: Hashable
    prefix: tuple[str, ...]
    middle: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]
    below: str = ""


def equation_latex(
    head: str,
    terms: Sequence[Term],
    printed: Callable[[Term], Summand],
    use: Conventions,
    most: int | None,
) -> str:
    """The equation `head = terms` as lines of an `align` body.

    Args:
        head: the left-hand side.
        terms: of the right-hand side.
        printed: what a term is in print.
        use: choices of notation.
        most: how many terms are printed at most; the others are counted.
    """
    body = equation_lines(head, grouped(map(printed, terms[:most])), use.points)
    more = 0 if most is None else len(terms) - most
    counted = " \\\\\n" + rf"&\quad + \cdots\ \text{{({more} more terms)}}"
    return body + counted * (more > 0)


def grouped(summands: Iterable[Summand]) -> tuple[Group, ...]:
    """One group a family, in the order in which the families first appear."""
    families: dict[Hashable, list[Summand]] = {}
    for summand in summands:
        families.setdefault(summand.family, []).append(summand)
    groups = tuple(_group(members) for members in families.values())
    return tuple(sorted(groups, key=lambda group: group.negative)) if groups else ()


def _group(members: Sequence[Summand]) -> Group:
    """The group of a family, with its common number and common factors in front."""
    negative = all(member.number < 0 for member in members)
    common = _number_in_front([abs(member.number) for member in members])
    if len(members) == 1:
        (only,) = members
        tail = (*only.middle, *powers(only.right))
        if only.below:
            tail = (*tail[:-1], rf"\frac{{{tail[-1]}}}{{{only.below}}}")
        front = (*rational(common), *only.prefix)
        return Group(negative, front, (Product(False, powers(only.left), tail),))
    shared = _shared([(*member.left, *member.right) for member in members])
    front = (*rational(common), *members[0].prefix, *members[0].middle)
    if members[0].below:
        front += (rf"\frac{{1}}{{{members[0].below}}}",)
    front += powers(tuple(shared.elements()))
    products = []
    for member in sorted(members, key=lambda m: (m.number < 0) != negative):
        rest = _without((*member.left, *member.right), shared)
        factors = (*rational(abs(member.number) / common), *powers(rest))
        products.append(Product((member.number < 0) != negative, factors))
    return Group(negative, front, tuple(products))


def _number_in_front(numbers: Sequence[Fraction]) -> Fraction:
    """The common factor of all, if less has to be written with it in front than without.

    >>> _number_in_front([Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)])
    Fraction(1, 4)
    >>> _number_in_front([Fraction(1), Fraction(1, 8), Fraction(1)])
    Fraction(1, 1)
    """
    common = Fraction(
        math.gcd(*(number.numerator for number in numbers)),
        math.lcm(*(number.denominator for number in numbers)),
    )
    inside = sum(number != common for number in numbers)
    without = sum(number != 1 for number in numbers)
    return common if inside + 1 < without or inside == 0 else Fraction(1)


def _shared(products: Sequence[tuple[str, ...]]) -> Counter[str]:
    shared = Counter(products[0])
    for factors in products[1:]:
        if not shared:
            break
        shared &= Counter(factors)
    return shared


def _without(factors: tuple[str, ...], shared: Counter[str]) -> tuple[str, ...]:
    if not shared:
        return factors
    left = Counter(shared)
    kept = []
    for factor in factors:
        if left[factor]:
            left[factor] -= 1
        else:
            kept.append(factor)
    return tuple(kept)
