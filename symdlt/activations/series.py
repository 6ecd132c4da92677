"""Taylor series of activations over any ring, from the slopes of their functions.

The coefficients of f(w(z)) follow from those of w and of the slope g = f'(w), by f' = g w', one
order after the other; g may hold f itself, as in tanh' = 1 - tanh^2, because its coefficients are
needed one order behind. Products, quotients and powers have recurrences of the same kind. See
Griewank and Walther, "Evaluating Derivatives" (2nd edition), section 13.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import factorial
from typing import Any

from symdlt.activations.functions import TABLE
from symdlt.activations.grammar import Node, rule
from symdlt.activations.rings import DIGITS, EXACT, Ring, singular
from symdlt.errors import ActivationError


class KinkError(ActivationError):
    """The activation is not smooth at zero."""


def series(node: Node, order: int, centre: Any = EXACT.zero) -> list[Any]:
    """Coefficients of (z − centre)^0 … (z − centre)^order as exact SymPy numbers.

    Raises:
        ActivationError: if the function is not finite or has a kink at the centre.
    """
    return Expansion(node, EXACT, order).at(centre)


def derivatives(node: Node, order: int) -> Callable[[Any], tuple[Any, ...]]:
    """The function that gives σ, σ', … up to an order, at the precision of mpmath.

    Args:
        node: without cases, as the pieces of an activation are.
        order: the highest derivative.

    >>> import mpmath
    >>> from symdlt.activations.grammar import parse
    >>> [int(x) for x in derivatives(parse("z**3 - 2*z"), 3)(mpmath.mpf(2))]
    [4, 10, 12, 6]
    """
    expansion = Expansion(node, DIGITS, order)
    if order < 2:
        return lambda z: tuple(expansion.at(z))
    factorials = [factorial(k) for k in range(order + 1)]
    return lambda z: tuple(c * k for c, k in zip(expansion.at(z), factorials, strict=True))


class Expansion:
    """A function whose Taylor series is taken at one point after the other.

    Args:
        node: the function.
        ring: the numbers that coefficients are made of.
        order: the highest power.
    """

    def __init__(self, node: Node, ring: Ring, order: int) -> None:
        self.ring = ring
        self.order = order
        self._parts: list[_Part] = []
        self._calls: dict[tuple[str, _Part], _Part] = {}
        self._z = self._added(_Variable(ring))
        self._whole = self._part(node, {"z": self._z})
        self._moving = [part for part in self._parts if not part.constant]
        self._precision = -1

    def at(self, centre: Any) -> list[Any]:
        """The coefficients of the powers of z − centre."""
        known_constants = self._precision == self.ring.precision
        for part in self._moving if known_constants else self._parts:
            part.known = []
        self._precision = self.ring.precision
        self._z.known = [centre, self.ring.one]
        return self._whole.upto(self.order)[: self.order + 1]

    def _added(self, part: _Part) -> _Part:
        self._parts.append(part)
        return part

    def _part(self, node: Node, variables: Mapping[str, _Part]) -> _Part:
        if node.kind == "variable":
            return variables[node.name]
        if node.kind in ("number", "constant"):
            return self._added(_Number(self.ring, node))
        inner = [self._part(child, variables) for child in node.children]
        made = self._made(node, inner)
        made.constant = all(part.constant for part in inner)
        return made

    def _made(self, node: Node, inner: list[_Part]) -> _Part:
        if node.kind == "where":
            return self._added(_Choice(self.ring, self.order, *inner))
        if node.kind == "call":
            return self._call(node.name, inner)
        if node.kind == "divide":
            return self._added(_Quotient(self.ring, self.order, *inner))
        if node.kind == "power":
            return self._power(inner[0], node.number)
        return self._added((_Sum if node.kind == "add" else _Product)(self.ring, *inner))

    def _power(self, base: _Part, exponent: Fraction) -> _Part:
        if exponent.denominator > 1 or exponent < 1:
            return self._added(_Power(self.ring, base, exponent))
        half, odd = divmod(exponent.numerator, 2)
        if not half:
            return base
        root = self._power(base, Fraction(half))
        square = self._added(_Product(self.ring, root, root))
        return self._added(_Product(self.ring, square, base)) if odd else square

    def _call(self, name: str, inner: list[_Part]) -> _Part:
        function, variables = TABLE[name], dict(zip("uv", inner, strict=False))
        if not function.slope:
            return self._part(rule(function.form), variables)
        if (name, inner[0]) not in self._calls:
            form = self._part(rule(function.form), variables) if function.form else None
            call = _Call(self.ring, inner[0], name, form)
            # Known before its slope is read, which may hold it.
            self._calls[name, inner[0]] = self._added(call)
            call.slope = self._part(rule(function.slope), variables)
        return self._calls[name, inner[0]]


class _Part(ABC):
    """A part of an expression, with the coefficients of it that are known so far."""

    __slots__ = ("constant", "known", "ring")

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.constant = False
        self.known: list[Any] = []

    def upto(self, order: int) -> list[Any]:
        """The coefficients up to an order, or more of them."""
        known = self.known
        while len(known) <= order:
            moves = not (known and self.constant)
            known.append(self.coefficient(len(known)) if moves else self.ring.zero)
        return known

    @abstractmethod
    def coefficient(self, k: int) -> Any:
        """Coefficient k, when all below are known."""


class _Variable(_Part):
    __slots__ = ()

    def coefficient(self, k: int) -> Any:
        return self.ring.zero


class _Number(_Part):
    __slots__ = ("node",)

    def __init__(self, ring: Ring, node: Node) -> None:
        super().__init__(ring)
        self.constant = True
        self.node = node

    def coefficient(self, k: int) -> Any:
        return self.ring.number(self.node)


class _Pair(_Part):
    __slots__ = ("first", "second")

    def __init__(self, ring: Ring, first: _Part, second: _Part) -> None:
        super().__init__(ring)
        self.first = first
        self.second = second


class _Sum(_Pair):
    __slots__ = ()

    def coefficient(self, k: int) -> Any:
        return self.first.upto(k)[k] + self.second.upto(k)[k]


class _Product(_Pair):
    __slots__ = ()

    def coefficient(self, k: int) -> Any:
        first, second = self.first.upto(k), self.second.upto(k)
        if k == 0 or self.first.constant:
            return self.ring.tidy(first[0] * second[k])
        if self.second.constant:
            return self.ring.tidy(first[k] * second[0])
        if k == 1:
            return self.ring.tidy(first[0] * second[1] + first[1] * second[0])
        return self.ring.total((first[i], second[k - i]) for i in range(k + 1))


class _Quotient(_Pair):
    """A quotient in which both may vanish at the centre, as in sin(z)/z."""

    __slots__ = ("order", "shared")

    def __init__(self, ring: Ring, order: int, first: _Part, second: _Part) -> None:
        super().__init__(ring, first, second)
        self.order = order
        self.shared = 0

    def coefficient(self, k: int) -> Any:
        if k == 0:
            self.shared = self._common_power()
        place = k + self.shared
        above = self.first.upto(place)[place]
        if self.second.constant:
            return self.ring.tidy(above / self.second.upto(0)[0])
        below = self.second.upto(place)
        if k:
            above = above - self.ring.total((self.known[i], below[place - i]) for i in range(k))
        return self.ring.tidy(above / below[self.shared])

    def _common_power(self) -> int:
        """The power of z − centre that both have as a factor."""
        for k in range(self.order + 1):
            if not self.ring.is_zero(self.second.upto(k)[k]):
                return k
            if not self.ring.is_zero(self.first.upto(k)[k]):
                break
        raise singular("a denominator vanishes")


class _Power(_Part):
    """A power p of u that is no positive integer, from f' u = p f u'."""

    __slots__ = ("base", "exponent")

    def __init__(self, ring: Ring, base: _Part, exponent: Fraction) -> None:
        super().__init__(ring)
        self.base = base
        self.exponent = exponent

    def coefficient(self, k: int) -> Any:
        base, p = self.base.upto(k), self.exponent
        if k == 0:
            return self.ring.power(base[0], p)
        number = self.ring.number(Node("number", (), p))
        if k == 1:
            return self.ring.tidy(number * self.ring.power(base[0], p - 1) * base[1])
        pairs = (((number * i - (k - i)) * base[i], self.known[k - i]) for i in range(1, k + 1))
        return self.ring.tidy(self.ring.total(pairs) / (k * base[0]))


class _Call(_Part):
    """A function of the table that has a slope."""

    __slots__ = ("form", "inner", "name", "slope")

    def __init__(self, ring: Ring, inner: _Part, name: str, form: _Part | None) -> None:
        super().__init__(ring)
        self.inner = inner
        self.name = name
        self.form = form
        self.slope: _Part = self

    def coefficient(self, k: int) -> Any:
        inner = self.inner.upto(k)
        if k == 0:
            return self.form.upto(0)[0] if self.form else self.ring.value(self.name, inner[0])
        slope = self.slope.upto(k - 1)
        if k == 1:
            return self.ring.tidy(slope[0] * inner[1])
        return self.ring.total((slope[i], (k - i) * inner[k - i]) for i in range(k)) / k


class _Choice(_Part):
    """The second part where the first is negative about the centre, the third elsewhere."""

    __slots__ = ("above", "below", "condition", "order", "side")

    def __init__(
        self, ring: Ring, order: int, condition: _Part, below: _Part, above: _Part
    ) -> None:
        super().__init__(ring)
        self.condition = condition
        self.below = below
        self.above = above
        self.order = order
        self.side = 0

    def coefficient(self, k: int) -> Any:
        if k == 0:
            self.side = self._side()
        if self.side:
            return (self.below if self.side < 0 else self.above).upto(k)[k]
        found = self.below.upto(k)[k]
        if self.ring.is_zero(found - self.above.upto(k)[k]):
            return found
        raise KinkError(
            "The activation has a kink at zero and no Taylor series there. "
            "Its argument of relu or abs, or a condition, vanishes at z = 0. "
            "Give a function that is smooth at zero."
        )

    def _side(self) -> int:
        """The sign of the condition on both sides, or 0 if it changes or is not known."""
        for k in range(self.order + 1):
            first = self.condition.upto(k)[k]
            if not self.ring.is_zero(first):
                return 0 if k % 2 else -1 if self.ring.is_negative(first) else 1
        return 0
