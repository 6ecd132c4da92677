"""Exact Gaussian expectations of polynomial activations.

An activation is the tuple of its Taylor coefficients (s_0, s_1, …), meaning Σ_p s_p z^p / p!, so
its derivatives are the tails of the tuple. Every sample may have an activation of its own: the
theory never uses that they agree, and different ones make it harder for a wrong index to hide.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import factorial

Activation = tuple[Fraction, ...]
Matrix = tuple[tuple[Fraction, ...], ...]
Factor = tuple[int, int]


def matrix(rows: list[list[Fraction | int]]) -> Matrix:
    """The rows as a hashable matrix of fractions."""
    return tuple(tuple(Fraction(x) for x in row) for row in rows)


def powers(activation: Activation, order: int) -> tuple[tuple[int, Fraction], ...]:
    """The pairs (p, coefficient of z^p) of a derivative of an activation, zeros left out.

    >>> powers((0, 1, 4, 6), 1)
    ((0, Fraction(1, 1)), (1, Fraction(4, 1)), (2, Fraction(3, 1)))
    """
    tail = activation[order:]
    return tuple((p, Fraction(s) / factorial(p)) for p, s in enumerate(tail) if s)


@cache
def isserlis(samples: tuple[int, ...], covariance: Matrix) -> Fraction:
    """E[z_a z_b …] of a zero-mean Gaussian, the samples being sorted.

    >>> isserlis((0, 0, 1, 1), matrix([[2, 1], [1, 3]]))
    Fraction(8, 1)
    """
    if not samples:
        return Fraction(1)
    first, rest = samples[0], samples[1:]
    total = Fraction(0)
    for k, other in enumerate(rest):
        total += covariance[first][other] * isserlis(rest[:k] + rest[k + 1 :], covariance)
    return total


def mean(
    factors: tuple[Factor, ...],
    activations: tuple[Activation, ...],
    covariance: Matrix,
    inserted: tuple[int, ...] = (),
) -> Fraction:
    """⟨Π σ_δ^{(k)}(z_δ) Π z_β⟩ for the factors (δ, k) and the inserted samples β.

    >>> mean(((0, 0), (0, 1)), ((0, 1, 2),), matrix([[3]]), inserted=(0,))
    Fraction(57, 1)
    """
    return _mean(tuple(sorted(factors)), activations, covariance, tuple(sorted(inserted)))


@cache
def _mean(
    factors: tuple[Factor, ...],
    activations: tuple[Activation, ...],
    covariance: Matrix,
    inserted: tuple[int, ...],
) -> Fraction:
    total = Fraction(0)
    for choice in product(*(powers(activations[s], k) for s, k in factors)):
        coefficient, samples = Fraction(1), list(inserted)
        for (sample, _), (power, weight) in zip(factors, choice, strict=True):
            coefficient *= weight
            samples += [sample] * power
        total += coefficient * isserlis(tuple(sorted(samples)), covariance)
    return total
