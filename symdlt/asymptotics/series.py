"""Truncated series in 1/ℓ whose coefficients are polynomials in log ℓ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import TypeAlias

from sympy import QQ
from sympy.polys.fields import FracElement
from sympy.polys.rings import PolyElement

from symdlt.fixed_points.products import polynomial_product

# A rational function of the symbols of a class, or a polynomial if its numbers are not exact.
FieldElement: TypeAlias = FracElement | PolyElement
Logs = tuple[FieldElement, ...]


@dataclass(frozen=True, slots=True)
class LogSeries:
    r"""The series $\sum_k \ell^{-k} \sum_j c_{kj} \log^j\!\ell$, unknown from some power on.

    Attributes:
        terms: pairs (k, (c_k0, c_k1, …)) in ascending order of k, none of them zero.
        precision: the first power that is not known.
    """

    terms: tuple[tuple[int, Logs], ...]
    precision: int

    @property
    def valuation(self) -> int:
        """The power of the first known term, or the precision if none is known."""
        return self.terms[0][0] if self.terms else self.precision

    def at(self, power: int) -> Logs:
        """The polynomial in log ℓ that multiplies ℓ^-power."""
        return next((logs for k, logs in self.terms if k == power), ())

    def __add__(self, other: LogSeries) -> LogSeries:
        return collected((*self.terms, *other.terms), min(self.precision, other.precision))

    def __mul__(self, other: LogSeries) -> LogSeries:
        precision = min(self.valuation + other.precision, other.valuation + self.precision)
        products = (
            (k + m, polynomial_product(first, second))
            for k, first in self.terms
            for m, second in other.terms
            if k + m < precision
        )
        return collected(tuple(products), precision)

    def scaled(self, number: FieldElement) -> LogSeries:
        """The series times a number."""
        scaled = tuple((k, tuple(number * c for c in logs)) for k, logs in self.terms)
        return collected(scaled, self.precision)

    def truncated(self, precision: int) -> LogSeries:
        """The series with a given precision; what was unknown below it counts as zero."""
        return collected(self.terms, precision)

    def reciprocal(self) -> LogSeries:
        """One over the series, whose first term has no logarithm."""
        k, (first, *_) = self.terms[0]
        start = power(-k, (0 * first + 1) / first, self.precision - 2 * k)
        rest = power(0, 0 * first + 1, self.precision - k) + (self * start).scaled(0 * first - 1)
        total = raised = start
        while rest.terms and (raised := raised * rest).valuation < total.precision:
            total = total + raised
        return total

    def step(self, offset: FieldElement, denominator: int = 1) -> LogSeries:
        r"""How the function changes from ℓ to ℓ+1, if it is the series times $\ell^{-offset}$.

        $$(\ell+1)^{-s}\log^j(\ell+1) - \ell^{-s}\log^j\ell, \qquad s = offset + k/d,$$

        over the same factor, expanded in 1/ℓ; the terms of the series are those of $\ell^{-k/d}$.
        """
        changes: list[tuple[int, Logs]] = []
        for k, logs in self.terms:
            length = -((k - self.precision) // denominator)
            binomials = _binomials(-(offset + QQ(k, denominator)), length)
            for j, coefficient in enumerate(logs):
                for i, moved in enumerate(_moved_logs(j, length)):
                    for m in range(length - i):
                        if i + m and any(moved):
                            scale = coefficient * binomials[m]
                            later = k + denominator * (i + m)
                            changes.append((later, tuple(scale * c for c in moved)))
        return collected(tuple(changes), self.precision)


def collected(terms: Sequence[tuple[int, Logs]], precision: int) -> LogSeries:
    """The series with like terms added and zeros left out."""
    sums: dict[int, list[FieldElement]] = {}
    for k, logs in terms:
        if k < precision:
            total = sums.setdefault(k, [])
            total += [0] * (len(logs) - len(total))
            for j, coefficient in enumerate(logs):
                total[j] = total[j] + coefficient
    kept = []
    for k in sorted(sums):
        total = sums[k]
        while total and total[-1] == 0:
            total.pop()
        if total:
            kept.append((k, tuple(total)))
    return LogSeries(tuple(kept), precision)


def power(exponent: int, coefficient: FieldElement, precision: int) -> LogSeries:
    """One power of 1/ℓ."""
    return collected(((exponent, (coefficient,)),), precision)


def _binomials(exponent: FieldElement, length: int) -> list[FieldElement]:
    """Coefficients of (1 + 1/ℓ)^exponent."""
    coefficients = [exponent * 0 + 1]
    for i in range(1, length):
        coefficients.append(coefficients[-1] * (exponent - i + 1) / i)
    return coefficients


def _moved_logs(degree: int, length: int) -> list[Logs]:
    """The expansion of log^degree (ℓ+1): for each power of 1/ℓ a polynomial in log ℓ."""
    step = [QQ(0)] + [QQ((-1) ** (i + 1), i) for i in range(1, length)]
    steps = [[QQ(1)] + [QQ(0)] * (length - 1)]
    for _ in range(degree):
        last = steps[-1]
        steps.append([sum(last[a] * step[i - a] for a in range(i + 1)) for i in range(length)])
    return [
        tuple(comb(degree, j) * steps[degree - j][i] for j in range(degree + 1))
        for i in range(length)
    ]
