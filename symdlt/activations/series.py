"""Taylor series of activations over any ring, from the slopes of their functions.

The coefficients of f(w(z)) follow from those of w and of the slope g = f'(w), by f' = g w', one
order after the other; g may hold f itself, as in tanh' = 1 - tanh^2, because its coefficients are
needed one order behind. Products, quotients and powers have recurrences of the same kind. See
Griewank and Walther, "Evaluating Derivatives" (2nd edition), section 13.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import factorial
from threading import local
from typing import Any, Generic, Protocol, TypeVar

import sympy as sp

from symdlt.activations.functions import TABLE
from symdlt.activations.grammar import rule
from symdlt.activations.nodes import ONE, Node
from symdlt.activations.rings import DIGITS, EXACT, E, Ring, singular
from symdlt.errors import ActivationError

T = TypeVar("T")


class KinkError(ActivationError):
    """The activation is not smooth at zero."""


def series(node: Node, order: int, centre: sp.Expr = EXACT.zero) -> list[sp.Expr]:
    """Coefficients of (z − centre)^0 … (z − centre)^order as exact SymPy numbers.

    Raises:
        ActivationError: if the function is not finite or has a kink at the centre.
    """
    return SeriesExpansion(node, EXACT, order).at(centre)


class Jet(Protocol):
    """The function and its derivatives, of numbers of mpmath or of what `mp` stands for."""

    def __call__(self, z: T, /) -> tuple[T, ...]:
        """The values at z."""


def derivatives(node: Node, order: int) -> Jet:
    """The function that gives σ, σ', … up to an order, at the precision of mpmath.

    Args:
        node: without cases, as the pieces of an activation are.
        order: the highest derivative.

    >>> from symdlt.activations.grammar import parse
    >>> from symdlt.precision import mp
    >>> [int(x) for x in derivatives(parse("z**3 - 2*z"), 3)(mp.mpf(2))]
    [4, 10, 12, 6]
    """
    here = local()  # an expansion remembers where it is, so that each thread has its own
    factorials = [factorial(k) for k in range(order + 1)]

    def values(z: T) -> tuple[T, ...]:
        if not hasattr(here, "expansion"):
            here.expansion = SeriesExpansion(node, DIGITS, order)
        coefficients = here.expansion.at(z)
        if order < 2:
            return tuple(coefficients)
        return tuple(c * k for c, k in zip(coefficients, factorials, strict=True))

    return values


class SeriesExpansion(Generic[E]):
    """A function whose Taylor series is taken at one point after the other.

    Args:
        node: the function.
        ring: the numbers that coefficients are made of.
        order: the highest power.
    """

    def __init__(self, node: Node, ring: Ring[E], order: int) -> None:
        self.ring = ring
        self.order = order
        self._parts: list[_Part[E]] = []
        self._calls: dict[tuple[str, _Part[E]], _Part[E]] = {}
        self._z = self._added(_Variable, ())
        self._whole = self._part(node, {"z": self._z})
        self._moving = [part for part in self._parts if not part.constant]
        self._precision: object = None

    def at(self, centre: E) -> list[E]:
        """The coefficients of the powers of z − centre."""
        precision = self.ring.precision()
        for part in self._moving if self._precision == precision else self._parts:
            part.known = []
        self._precision = precision
        self._z.known = [centre, self.ring.one]
        return self._whole.upto(self.order)[: self.order + 1]

    def _added(self, kind: type[_Part[E]], inner: Sequence[_Part[E]], node: Node = ONE) -> _Part[E]:
        part = kind(self.ring, self.order, tuple(inner), node)
        self._parts.append(part)
        return part

    def _part(self, node: Node, variables: Mapping[str, _Part[E]]) -> _Part[E]:
        if node.kind == "variable":
            return variables[node.name]
        inner = [self._part(child, variables) for child in node.children]
        if node.kind == "call":
            made = self._call(node, inner)
        elif node.kind == "power":
            made = self._power(node, inner[0])
        else:
            made = self._added(_KINDS[node.kind], inner, node)
        made.constant = made.constant or all(part.constant for part in inner)
        return made

    def _power(self, node: Node, base: _Part[E]) -> _Part[E]:
        """A whole power by squaring, which needs no division."""
        if node.number.denominator > 1 or node.number < 0:
            return self._added(_Power, [base], node)
        half, odd = divmod(node.number.numerator, 2)
        if not half:
            return base if odd else self._part(ONE, {})
        root = self._power(Node("power", (), Fraction(half)), base)
        square = self._added(_ProductOfSeries, [root, root])
        return self._added(_ProductOfSeries, [square, base]) if odd else square

    def _call(self, node: Node, inner: list[_Part[E]]) -> _Part[E]:
        function, variables = TABLE[node.name], dict(zip("uv", inner, strict=False))
        if not function.slope:
            return self._part(rule(function.form), variables)
        if (node.name, inner[0]) not in self._calls:
            form = [self._part(rule(function.form), variables)] if function.form else []
            call = self._added(_Call, [*inner, *form], node)
            # Known before its slope is read, which may hold it.
            self._calls[node.name, inner[0]] = call
            call.slope = self._part(rule(function.slope), variables)
        return self._calls[node.name, inner[0]]


@dataclass(slots=True, eq=False)
class _Part(ABC, Generic[E]):
    """A part of an expression, with the coefficients of it that are known so far."""

    ring: Ring[E]
    order: int
    inner: tuple[_Part[E], ...]
    node: Node
    constant: bool = False
    known: list[E] = field(default_factory=list)
    slope: _Part[E] = field(init=False, repr=False)
    state: int = 0

    def upto(self, order: int) -> list[E]:
        """The coefficients up to an order, or more of them."""
        known = self.known
        while len(known) <= order:
            moves = not (known and self.constant)
            known.append(self.coefficient(len(known)) if moves else self.ring.zero)
        return known

    @abstractmethod
    def coefficient(self, k: int) -> E:
        """Coefficient k, when all below are known."""


class _Variable(_Part[E]):
    def coefficient(self, k: int) -> E:
        return self.ring.zero


class _Number(_Part[E]):
    def coefficient(self, k: int) -> E:
        return self.ring.number(self.node)


class _Sum(_Part[E]):
    def coefficient(self, k: int) -> E:
        first, second = self.inner
        return first.upto(k)[k] + second.upto(k)[k]


class _ProductOfSeries(_Part[E]):
    def coefficient(self, k: int) -> E:
        one, two = self.inner
        first, second = one.upto(k), two.upto(k)
        if k == 0 or one.constant:
            return self.ring.tidy(first[0] * second[k])
        if two.constant:
            return self.ring.tidy(first[k] * second[0])
        if k == 1:
            return self.ring.tidy(first[0] * second[1] + first[1] * second[0])
        return self.ring.total((first[i], second[k - i]) for i in range(k + 1))


class _Quotient(_Part[E]):
    """A quotient in which both may vanish at the centre, as in sin(z)/z; its state is how often."""

    def coefficient(self, k: int) -> E:
        upper, lower = self.inner
        if k == 0:
            self.state = self._common_power()
        place = k + self.state
        above, below = upper.upto(place)[place], lower.upto(place)
        if k and not lower.constant:
            above = above - self.ring.total((self.known[i], below[place - i]) for i in range(k))
        return self.ring.tidy(above / below[self.state])

    def _common_power(self) -> int:
        """The power of z − centre that both have as a factor."""
        upper, lower = self.inner
        for k in range(self.order + 1):
            if not self.ring.is_zero(lower.upto(k)[k]):
                return k
            if not self.ring.is_zero(upper.upto(k)[k]):
                break
        raise singular("a denominator vanishes")


class _Power(_Part[E]):
    """A power p of u that is no positive integer, from f' u = p f u'."""

    def coefficient(self, k: int) -> E:
        base, p = self.inner[0].upto(k), self.node.number
        if k == 0:
            return self.ring.power(base[0], p)
        number = self.ring.number(Node("number", (), p))
        if k == 1:
            return self.ring.tidy(number * self.ring.power(base[0], p - 1) * base[1])
        pairs = (((number * i - (k - i)) * base[i], self.known[k - i]) for i in range(1, k + 1))
        return self.ring.tidy(self.ring.total(pairs) / (k * base[0]))


class _Call(_Part[E]):
    """A function of the table that has a slope; its second part is its form, if it has one."""

    def coefficient(self, k: int) -> E:
        inner = self.inner[0].upto(k)
        if k == 0:
            form = self.inner[1:]
            return form[0].upto(0)[0] if form else self.ring.value(self.node.name, inner[0])
        slope = self.slope.upto(k - 1)
        if k == 1:
            return self.ring.tidy(slope[0] * inner[1])
        return self.ring.total((slope[i], (k - i) * inner[k - i]) for i in range(k)) / k


class _Choice(_Part[E]):
    """The second part where the first is negative about the centre, the third elsewhere.

    Its state is the sign of the first on both sides, or 0 if it changes or is not known.
    """

    def coefficient(self, k: int) -> E:
        _, below, above = self.inner
        if k == 0:
            self.state = self._side()
        if self.state:
            return (below if self.state < 0 else above).upto(k)[k]
        value = below.upto(k)[k]
        if self.ring.is_zero(value - above.upto(k)[k]):
            return value
        raise KinkError(
            "The activation has a kink at zero and no Taylor series there. "
            "Its argument of relu or abs, or a condition, vanishes at z = 0. "
            "Give a function that is smooth at zero."
        )

    def _side(self) -> int:
        for k in range(self.order + 1):
            first = self.inner[0].upto(k)[k]
            if not self.ring.is_zero(first):
                return 0 if k % 2 else -1 if self.ring.is_negative(first) else 1
        return 0


_KINDS: dict[str, type[_Part[Any]]] = {
    "number": _Number,
    "constant": _Number,
    "add": _Sum,
    "multiply": _ProductOfSeries,
    "divide": _Quotient,
    "where": _Choice,
}
