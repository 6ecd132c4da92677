"""Series in one small variable, over any ring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from symdlt.activations.rings import E
from symdlt.fixed_points.products import series_product


@dataclass(frozen=True, slots=True)
class Laurent(Generic[E]):
    """A series in one variable, known as far as its coefficients go.

    Attributes:
        lowest: the power of the first coefficient.
        coefficients: of that power and those after it.
    """

    lowest: int
    coefficients: tuple[E, ...]

    def __add__(self, other: Laurent[E]) -> Laurent[E]:
        low, high = (self, other) if self.lowest <= other.lowest else (other, self)
        shift = high.lowest - low.lowest
        if not shift:
            pairs = zip(low.coefficients, high.coefficients, strict=False)
            return Laurent(low.lowest, tuple(a + b for a, b in pairs))
        tail = Laurent(high.lowest, low.coefficients[shift:]) + high
        return Laurent(low.lowest, (*low.coefficients[:shift], *tail.coefficients))

    def __mul__(self, other: Laurent[E]) -> Laurent[E]:
        return Laurent(
            self.lowest + other.lowest, series_product(self.coefficients, other.coefficients)
        )

    def scaled(self, number: E) -> Laurent[E]:
        """The series times a number."""
        return Laurent(self.lowest, tuple(number * c for c in self.coefficients))


def composed(outer: Sequence[E], inner: Laurent[E]) -> Laurent[E]:
    """A power series at a series without constant.

    Args:
        outer: its coefficients, as far as the other is known or beyond.
        inner: a series that starts with a positive power, or with a coefficient of zero.

    >>> composed((1, 1, 1), Laurent(0, (0, 2, 1))).coefficients
    (1, 2, 5)
    """
    zeros = (0 * inner.coefficients[0],) * (len(outer) - 1)
    total = Laurent(0, (outer[-1], *zeros))
    for coefficient in reversed(outer[:-1]):
        total = total * inner + Laurent(0, (coefficient, *zeros))
    return total
