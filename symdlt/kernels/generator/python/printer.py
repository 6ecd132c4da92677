"""Expressions as NumPy source."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from symdlt.kernels.generator.expressions import (
    Formula,
    Multiple,
    Raised,
    Sum,
    Symbol,
    shared_sums,
)
from symdlt.kernels.generator.python.layout import INSIDE

Names = Mapping[str, str]


def expression_text(expression: Formula, names: Names) -> str:
    """An expression on one line.

    Args:
        expression: what to print.
        names: how a quantity is spelled where it is not by its own name.

    >>> x, y = Symbol("x"), Symbol("y")
    >>> half = Multiple(Fraction(1, 2), (Raised(x, 2), y))
    >>> expression_text(Sum((half, Multiple(Fraction(-1)))), {"y": "m.y"})
    '0.5 * x**2 * m.y - 1.0'
    """
    return _printed(expression, names).text


def assignment(target: str, expression: Formula, names: Names, columns: int) -> str:
    """The lines that assign an expression to a name, or return it."""
    opening = target if target == "return" else f"{target} ="
    printed = _printed(expression, names)
    text = f"{opening} {printed.text}"
    if len(text) <= columns:
        return text
    return f"{opening} (\n{_block(printed, columns - 4)}\n)"


def shared_lines(
    expressions: Sequence[Formula], names: Names, columns: int
) -> tuple[list[str], list[Formula]]:
    """The lines that compute what expressions have in common, and what is left of them."""
    parts, left = shared_sums(expressions)
    return [assignment(part.name, part.value, names, columns) for part in parts], left


def returned(expression: Formula, names: Names, columns: int) -> str:
    """The lines that return an expression.

    >>> x, y = Symbol("x"), Symbol("y")
    >>> both = Sum((Multiple(Fraction(1), (x,)), Multiple(Fraction(1), (y,))))
    >>> print(returned(Multiple(Fraction(2), (both, both)), {}, 80))
    part_1 = x + y
    return 2.0 * part_1 * part_1
    """
    lines, (left,) = shared_lines([expression], names, columns)
    return "\n".join([*lines, assignment("return", left, names, columns)])


def assignment_lines(target: str, expression: Formula, names: Names) -> list[str]:
    """The same in the body of a function, whose lines are as long as those of a kernel."""
    return textwrap.indent(assignment(target, expression, names, INSIDE), "    ").splitlines()


class _Printed(NamedTuple):
    """A sum on one line, and its products, each behind its sign, for when that is too long."""

    text: str
    products: list[tuple[str, _Product]]


class _Product(NamedTuple):
    """A product on one line, and its factors; of a sum in parentheses, what is inside."""

    text: str
    factors: list[tuple[str, _Printed | None]]


def _printed(expression: Formula, names: Names) -> _Printed:
    products = [(sign, _product(product, names)) for sign, product in _signed(expression)]
    return _Printed("".join(sign + product.text for sign, product in products), products)


def _product(product: Multiple, names: Names) -> _Product:
    factors = [_factor(factor, names) for factor in product.factors]
    if abs(product.coefficient) != 1 or not factors:
        factors.insert(0, (number_text(abs(product.coefficient)), None))
    return _Product(" * ".join(text for text, _ in factors), factors)


def _factor(factor: Symbol | Raised | Sum, names: Names) -> tuple[str, _Printed | None]:
    if isinstance(factor, Sum):
        inside = _printed(factor, names)
        return f"({inside.text})", inside
    if isinstance(factor, Raised):
        return f"{names.get(factor.base.name, factor.base.name)}**{factor.exponent}", None
    return names.get(factor.name, factor.name), None


def _signed(expression: Formula) -> Iterator[tuple[str, Multiple]]:
    """The products of a sum, each with the sign before it."""
    terms = expression.terms if isinstance(expression, Sum) else (expression,)
    first, *others = terms or (Multiple(Fraction(0)),)
    yield "-" * (first.coefficient < 0), first
    for term in others:
        yield " - " if term.coefficient < 0 else " + ", term


def _block(printed: _Printed, columns: int) -> str:
    """The inside of a pair of parentheses, indented, one operand a line."""
    text = printed.text
    if len(text) > columns:
        text = "\n".join(_operand(s.lstrip(), p, columns) for s, p in printed.products)
    return textwrap.indent(text, "    ")


def _operand(prefix: str, product: _Product, columns: int) -> str:
    """A product on one line, or one factor a line."""
    if len(prefix + product.text) <= columns:
        return prefix + product.text
    lines: list[str] = []
    for text, inside in product.factors:
        start = "* " if lines else prefix
        if inside and len(start + text) > columns:
            lines.append(f"{start}(\n{_block(inside, columns - 4)}\n)")
        else:
            lines.append(start + text)
    return "\n".join(lines)


def number_text(number: Fraction) -> str:
    """A positive number, exact where a float can be.

    >>> number_text(Fraction(3, 4)), number_text(Fraction(2, 3))
    ('0.75', '(2 / 3)')
    """
    if Fraction(float(number)) == number:
        return repr(float(number))
    return f"({number.numerator} / {number.denominator})"
