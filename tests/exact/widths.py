"""Polynomials in the inverse widths 1/n_1, 1/n_2, … with exact coefficients.

One is a dictionary from powers (a_1, a_2, …), one for each hidden layer, to the coefficient of
n_1^{-a_1} n_2^{-a_2} …; terms of total power above `order` may be dropped.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from .gaussian import Number

Powers = tuple[int, ...]
WidthPolynomial = dict[Powers, Number]


def constant(value: Number, layers: int) -> WidthPolynomial:
    """A constant as a polynomial in `layers` inverse widths."""
    return {(0,) * layers: value} if value else {}


def add(into: WidthPolynomial, other: WidthPolynomial, factor: Number = 1) -> None:
    """Add factor·other to the first polynomial, in place."""
    for powers, value in other.items():
        total = into.get(powers, 0) + factor * value
        if total:
            into[powers] = total
        else:
            into.pop(powers, None)


def multiply(left: WidthPolynomial, right: WidthPolynomial, order: int | None) -> WidthPolynomial:
    """The product, without the terms of total power above `order`.

    >>> multiply({(0,): 1, (1,): 2}, {(1,): 3}, 1)
    {(1,): 3}
    """
    result: WidthPolynomial = {}
    for p, x in left.items():
        for q, y in right.items():
            powers = tuple(a + b for a, b in zip(p, q, strict=True))
            if order is None or sum(powers) <= order:
                add(result, {powers: x * y})
    return result


def evaluate(polynomial: WidthPolynomial, widths: tuple[int, ...]) -> Fraction:
    """The value at given widths n_1, n_2, …."""
    total = Fraction(0)
    for powers, value in polynomial.items():
        term = Fraction(value)
        for width, power in zip(widths, powers, strict=True):
            term /= Fraction(width) ** power
        total += term
    return total


@cache
def coincidences(groups: int, legs: int) -> tuple[int, ...]:
    """n(n−1)…(n−groups+1)/n^legs as coefficients of 1, 1/n, 1/n², ….

    >>> coincidences(3, 3)
    (1, -3, 2, 0)
    """
    coefficients = [0] * (legs + 1)
    coefficients[legs - groups] = 1
    for k in range(1, groups):
        lowered = [0, *coefficients[:-1]]
        coefficients = [c - k * d for c, d in zip(coefficients, lowered, strict=True)]
    return tuple(coefficients)


@cache
def set_partitions(items: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Every set partition of the items, each block in the order of the items.

    >>> len(set_partitions((0, 1, 2, 3)))
    15
    """
    if not items:
        return ((),)
    first, rest = items[0], items[1:]
    found: list[tuple[tuple[int, ...], ...]] = []
    for partition in set_partitions(rest):
        found.append(((first,), *partition))
        for k, block in enumerate(partition):
            found.append((*partition[:k], (first, *block), *partition[k + 1 :]))
    return tuple(found)


@cache
def perfect_matchings(items: tuple[int, ...]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Every way to pair the items; none when their number is odd.

    >>> len(perfect_matchings((0, 1, 2, 3, 4, 5)))
    15
    """
    if not items:
        return ((),)
    first, rest = items[0], items[1:]
    return tuple(
        ((first, other), *pairs)
        for k, other in enumerate(rest)
        for pairs in perfect_matchings(rest[:k] + rest[k + 1 :])
    )
