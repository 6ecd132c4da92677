"""The numbers that coefficients of Taylor series are made of: exact ones, and those of mpmath."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Protocol

import mpmath
import sympy as sp

from symdlt.activations.exact_numbers import is_zero
from symdlt.activations.functions import TABLE
from symdlt.activations.grammar import Node
from symdlt.errors import ActivationError


class Ring(Protocol):
    """What a series needs of its coefficients, besides + - * /.

    Attributes:
        zero: the number 0.
        one: the number 1.
    """

    zero: Any
    one: Any

    @property
    def precision(self) -> int:
        """What the values of constants depend on."""

    def number(self, node: Node) -> Any:
        """A number or a constant."""

    def value(self, name: str, x: Any) -> Any:
        """An elementary function at a number."""

    def power(self, x: Any, exponent: Fraction) -> Any:
        """A number to a rational power."""

    def total(self, pairs: Iterable[tuple[Any, Any]]) -> Any:
        """The sum of products."""

    def tidy(self, x: Any) -> Any:
        """The same number in a short form."""

    def is_zero(self, x: Any) -> bool:
        """Whether a number is known to be zero."""

    def is_negative(self, x: Any) -> bool:
        """Whether a number is negative."""


class _ExactNumbers:
    """Exact numbers of SymPy."""

    zero = sp.Integer(0)
    one = sp.Integer(1)
    precision = 0

    def number(self, node: Node) -> Any:
        return number(node)

    def value(self, name: str, x: Any) -> Any:
        if TABLE[name].positive and not x.is_positive:
            raise singular(f"{name} is taken of a number that is not positive")
        if name == "tanh" and (square := sp.exp(2 * x)).is_Rational:
            return (square - 1) / (square + 1)  # SymPy leaves tanh(log(2)) as it stands
        return getattr(sp, name)(x)

    def power(self, x: Any, exponent: Fraction) -> Any:
        if exponent.denominator > 1 and not x.is_positive:
            raise singular("a root is taken of a number that is not positive")
        if exponent < 0 and is_zero(x):
            raise singular("a denominator vanishes")
        return x ** sp.Rational(exponent.numerator, exponent.denominator)

    def total(self, pairs: Iterable[tuple[Any, Any]]) -> Any:
        return self.tidy(sum((a * b for a, b in pairs), sp.Integer(0)))

    def tidy(self, x: Any) -> Any:
        """Multiplied out, so that numbers such as tanh(1/2) stand in polynomials."""
        return x if x.is_Rational else sp.expand(x)

    def is_zero(self, x: Any) -> bool:
        return is_zero(x)

    def is_negative(self, x: Any) -> bool:
        return bool(x.is_negative)


class _Digits:
    """Numbers of mpmath at its precision; division by zero is an error, roots may be complex."""

    zero = 0
    one = 1

    @property
    def precision(self) -> int:
        return int(mpmath.mp.prec)

    def number(self, node: Node) -> Any:
        if node.kind == "constant":
            return +getattr(mpmath, node.name)
        return mpmath.mpf(node.number.numerator) / node.number.denominator

    def value(self, name: str, x: Any) -> Any:
        return getattr(mpmath, name)(x)

    def power(self, x: Any, exponent: Fraction) -> Any:
        if exponent.denominator == 1:
            return x**exponent.numerator
        return x ** (mpmath.mpf(exponent.numerator) / exponent.denominator)

    def total(self, pairs: Iterable[tuple[Any, Any]]) -> Any:
        return mpmath.fdot(pairs)

    def tidy(self, x: Any) -> Any:
        return x

    def is_zero(self, x: Any) -> bool:
        return False

    def is_negative(self, x: Any) -> bool:
        return bool(x < 0)


EXACT: Ring = _ExactNumbers()
DIGITS: Ring = _Digits()


def number(node: Node) -> Any:
    """The value of a number or a constant in SymPy."""
    if node.kind == "constant":
        return {"pi": sp.pi, "e": sp.E}[node.name]
    return sp.Rational(node.number.numerator, node.number.denominator)


def singular(reason: str) -> ActivationError:
    """The error for a function that has no Taylor series."""
    return ActivationError(
        f"The activation is not finite and smooth at zero: {reason}. "
        "Its Taylor series is taken at z = 0. Give a function that is analytic there."
    )
