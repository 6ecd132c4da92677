"""Exact Gaussian expectations of polynomial activations.

An activation is the tuple of its Taylor coefficients (s_0, s_1, …), meaning Σ_p s_p z^p / p!, so
its derivatives are the tails of the tuple. Every sample may have an activation of its own: the
theory never uses that they agree, and different ones make it harder for a wrong index to hide.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import product
from math import factorial

Number = int | Fraction
Activation = tuple[Number, ...]
Factor = tuple[int, int]


def number(x: Number) -> Number:
    """The same number, as an integer if it is one: integers are much faster."""
    x = Fraction(x)
    return x.numerator if x.denominator == 1 else x


class Rows(tuple):
    """A tuple of tuples that remembers its hash: it is the key of every cache here."""

    def __new__(cls, rows: Iterable[Iterable[Number]]) -> Rows:
        """Keep the entries as exact numbers."""
        self = super().__new__(cls, (tuple(number(x) for x in row) for row in rows))
        self.kept = tuple.__hash__(self)
        return self

    def __hash__(self) -> int:
        return self.kept


Matrix = Rows


def matrix(rows: Iterable[Iterable[Number]]) -> Matrix:
    """The rows as a hashable matrix of exact numbers."""
    return Rows(rows)


@cache
def powers(activation: Activation, order: int) -> tuple[tuple[int, Number], ...]:
    """The pairs (p, coefficient of z^p) of a derivative of an activation, zeros left out.

    >>> powers((0, 1, 4, 6), 1)
    ((0, 1), (1, 4), (2, 3))
    """
    tail = activation[order:]
    return tuple((p, number(Fraction(s) / factorial(p))) for p, s in enumerate(tail) if s)


@cache
def isserlis(samples: tuple[int, ...], covariance: Matrix) -> Number:
    """E[z_a z_b …] of a zero-mean Gaussian, the samples being sorted.

    >>> isserlis((0, 0, 1, 1), matrix([[2, 1], [1, 3]]))
    8
    """
    if not samples:
        return 1
    first, rest = samples[0], samples[1:]
    total: Number = 0
    for k, other in enumerate(rest):
        total += covariance[first][other] * isserlis(rest[:k] + rest[k + 1 :], covariance)
    return total


def mean(
    factors: tuple[Factor, ...],
    activations: Rows,
    covariance: Matrix,
    inserted: tuple[int, ...] = (),
) -> Number:
    """⟨Π σ_δ^{(k)}(z_δ) Π z_β⟩ for the factors (δ, k) and the inserted samples β.

    >>> mean(((0, 0), (0, 1)), Rows([(0, 1, 2)]), matrix([[3]]), inserted=(0,))
    57
    """
    return _mean(tuple(sorted(factors)), activations, covariance, tuple(sorted(inserted)))


@cache
def _mean(
    factors: tuple[Factor, ...],
    activations: Rows,
    covariance: Matrix,
    inserted: tuple[int, ...],
) -> Number:
    total: Number = 0
    for choice in product(*(powers(activations[s], k) for s, k in factors)):
        samples = list(inserted)
        coefficient: Number = 1
        for (sample, _), (power, weight) in zip(factors, choice, strict=True):
            coefficient *= weight
            samples += [sample] * power
        total += coefficient * isserlis(tuple(sorted(samples)), covariance)
    return total
