"""The numbers that coefficients of Taylor series are made of: exact ones, and those of mpmath."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, Self, TypeVar

import sympy as sp

from symdlt.activations.exact_numbers import is_zero
from symdlt.activations.functions import TABLE
from symdlt.activations.nodes import Node
from symdlt.errors import ActivationError
from symdlt.precision import Precise, mp


class Element(Protocol):
    """A number that coefficients can be: they are added, multiplied and divided."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self | int, /) -> Self: ...
    def __mul__(self, other: Self | int, /) -> Self: ...
    def __rmul__(self, other: int, /) -> Self: ...
    def __truediv__(self, other: Self | int, /) -> Self: ...


E = TypeVar("E", bound=Element)


@dataclass(frozen=True, slots=True)
class Ring(Generic[E]):
    """What a series needs of its coefficients, besides + - * /.

    Attributes:
        zero: the number 0.
        one: the number 1.
        number: the value of a number or a constant.
        value: an elementary function, by its name, at a number.
        power: a number to a rational power.
        total: the sum of products, from pairs.
        tidy: the same number in a short form.
        is_zero: whether a number is known to be zero.
        is_negative: whether a number is negative.
        precision: what the values of constants depend on.
    """

    zero: E
    one: E
    number: Callable[[Node], E]
    value: Callable[[str, E], E]
    power: Callable[[E, Fraction], E]
    total: Callable[[Iterable[tuple[E, E]]], E]
    tidy: Callable[[E], E]
    is_zero: Callable[[E], bool]
    is_negative: Callable[[E], bool]
    precision: Callable[[], object]


def number(node: Node) -> sp.Expr:
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


def _exact_value(name: str, x: sp.Expr) -> sp.Expr:
    if TABLE[name].positive and not x.is_positive:
        raise singular(f"{name} is taken of a number that is not positive")
    if name == "tanh" and (square := sp.exp(2 * x)).is_Rational:
        return (square - 1) / (square + 1)  # SymPy leaves tanh(log(2)) as it stands
    return getattr(sp, name)(x)


def _exact_power(x: sp.Expr, exponent: Fraction) -> sp.Expr:
    if exponent.denominator > 1 and not x.is_positive:
        raise singular("a root is taken of a number that is not positive")
    if exponent < 0 and is_zero(x):
        raise singular("a denominator vanishes")
    return x ** sp.Rational(exponent.numerator, exponent.denominator)


def _expanded(x: sp.Expr) -> sp.Expr:
    """Multiplied out, so that numbers such as tanh(1/2) stand in polynomials."""
    return x if x.is_Rational else sp.expand(x)


def _digits_of(node: Node) -> Precise:
    if node.kind == "constant":
        return +getattr(mp, node.name)
    return mp.mpf(node.number.numerator) / node.number.denominator


def _digits_power(x: Precise, exponent: Fraction) -> Precise:
    if exponent.denominator == 1:
        return x**exponent.numerator
    return x ** (mp.mpf(exponent.numerator) / exponent.denominator)


EXACT: Ring[sp.Expr] = Ring(
    zero=sp.Integer(0),
    one=sp.Integer(1),
    number=number,
    value=_exact_value,
    power=_exact_power,
    total=lambda pairs: _expanded(sum((a * b for a, b in pairs), sp.Integer(0))),
    tidy=_expanded,
    is_zero=is_zero,
    is_negative=lambda x: bool(x.is_negative),
    precision=lambda: 0,
)
# At the precision of the thread, or for arrays where `mp` stands for these; division by zero is
# Python's error, and roots may be complex.
DIGITS: Ring[Precise] = Ring(
    zero=0,
    one=1,
    number=_digits_of,
    value=lambda name, x: getattr(mp, name)(x),
    power=_digits_power,
    total=lambda pairs: mp.fdot(pairs),
    tidy=lambda x: x,
    is_zero=lambda x: False,
    is_negative=lambda x: bool(x < 0),
    precision=lambda: (mp.context, mp.prec),
)
