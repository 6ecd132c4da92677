"""Polynomials in the inverse widths 1/n_1, 1/n_2, … with exact coefficients.

One is a dictionary from powers (a_1, a_2, …), one for each hidden layer, to the coefficient of
n_1^{-a_1} n_2^{-a_2} …; terms of total power above `order` may be dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

Powers = tuple[int, ...]
WidthPolynomial = dict[Powers, Fraction]


def constant(value: Fraction | int, layers: int) -> WidthPolynomial:
    """A constant as a polynomial in `layers` inverse widths."""
    return {(0,) * layers: Fraction(value)} if value else {}


def add(into: WidthPolynomial, other: WidthPolynomial, factor: Fraction | int = 1) -> None:
    """Add factor·other to the first polynomial, in place."""
    for powers, value in other.items():
        total = into.get(powers, Fraction(0)) + factor * value
        if total:
            into[powers] = total
        else:
            into.pop(powers, None)


def multiply(left: WidthPolynomial, right: WidthPolynomial, order: int | None) -> WidthPolynomial:
    """The product, without the terms of total power above `order`.

    >>> multiply({(0,): 1, (1,): 2}, {(1,): 3}, 1)
    {(1,): Fraction(3, 1)}
    """
    result: WidthPolynomial = {}
    for p, x in left.items():
        for q, y in right.items():
            powers = tuple(a + b for a, b in zip(p, q, strict=True))
            if order is None or sum(powers) <= order:
                add(result, {powers: Fraction(x * y)})
    return result


def evaluate(polynomial: WidthPolynomial, widths: tuple[int, ...]) -> Fraction:
    """The value at given widths n_1, n_2, …."""
    total = Fraction(0)
    for powers, value in polynomial.items():
        term = value
        for width, power in zip(widths, powers, strict=True):
            term /= Fraction(width) ** power
        total += term
    return total


def coincidences(groups: int, legs: int) -> tuple[Fraction, ...]:
    """n(n−1)…(n−groups+1)/n^legs as coefficients of 1, 1/n, 1/n², ….

    >>> [int(c) for c in coincidences(3, 3)]
    [1, -3, 2, 0]
    """
    coefficients = [Fraction(0)] * (legs + 1)
    coefficients[legs - groups] = Fraction(1)
    for k in range(1, groups):
        lowered = [Fraction(0), *coefficients[:-1]]
        coefficients = [c - k * d for c, d in zip(coefficients, lowered, strict=True)]
    return tuple(coefficients)


def set_partitions(items: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every set partition of the items, each block in the order of the items.

    >>> len(list(set_partitions((0, 1, 2, 3))))
    15
    """
    if not items:
        yield ()
        return
    first, rest = items[0], items[1:]
    for partition in set_partitions(rest):
        yield ((first,), *partition)
        for k, block in enumerate(partition):
            yield (*partition[:k], (first, *block), *partition[k + 1 :])


def perfect_matchings(items: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every way to pair the items; none when their number is odd.

    >>> len(list(perfect_matchings((0, 1, 2, 3, 4, 5))))
    15
    """
    if not items:
        yield ()
        return
    first, rest = items[0], items[1:]
    for k, other in enumerate(rest):
        for pairs in perfect_matchings(rest[:k] + rest[k + 1 :]):
            yield ((first, other), *pairs)
