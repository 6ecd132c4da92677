"""Expressions as NumPy source."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from fractions import Fraction

from symdlt.kernels.generator.expressions import Formula, Multiple, Raised, Sum, Symbol
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
    return "".join(f"{sign}{' * '.join(_factors(p, names))}" for sign, p in _signed(expression))


def assignment(target: str, expression: Formula, names: Names, columns: int) -> str:
    """The lines that assign an expression to a name, or return it."""
    opening = target if target == "return" else f"{target} ="
    text = f"{opening} {expression_text(expression, names)}"
    if len(text) <= columns:
        return text
    return f"{opening} (\n{_block(expression, names, columns - 4)}\n)"


def assignment_lines(target: str, expression: Formula, names: Names) -> list[str]:
    """The same in the body of a function, whose lines are as long as those of a kernel."""
    return textwrap.indent(assignment(target, expression, names, INSIDE), "    ").splitlines()


def _block(expression: Formula, names: Names, columns: int) -> str:
    """The inside of a pair of parentheses, indented, one operand a line."""
    text = expression_text(expression, names)
    if len(text) > columns:
        lines = (_product(s.lstrip(), p, names, columns) for s, p in _signed(expression))
        text = "\n".join(lines)
    return textwrap.indent(text, "    ")


def _product(prefix: str, product: Multiple, names: Names, columns: int) -> str:
    """A product on one line, or one factor a line."""
    text = prefix + " * ".join(_factors(product, names))
    if len(text) <= columns:
        return text
    lines: list[str] = []
    texts = _factors(product, names)
    factors: list[Symbol | Raised | Sum | None] = list(product.factors)
    if len(texts) > len(factors):
        factors.insert(0, None)  # the number
    for factor, one in zip(factors, texts, strict=True):
        start = "* " if lines else prefix
        if isinstance(factor, Sum) and len(start + one) > columns:
            lines.append(f"{start}(\n{_block(factor, names, columns - 4)}\n)")
        else:
            lines.append(start + one)
    return "\n".join(lines)


def _signed(expression: Formula) -> Iterator[tuple[str, Multiple]]:
    """The products of a sum, each with the sign before it."""
    terms = expression.terms if isinstance(expression, Sum) else (expression,)
    first, *others = terms or (Multiple(Fraction(0)),)
    yield "-" * (first.coefficient < 0), first
    for term in others:
        yield " - " if term.coefficient < 0 else " + ", term


def _factors(product: Multiple, names: Names) -> list[str]:
    texts = [_factor(factor, names) for factor in product.factors]
    if abs(product.coefficient) != 1 or not texts:
        texts.insert(0, number_text(abs(product.coefficient)))
    return texts


def _factor(factor: Symbol | Raised | Sum, names: Names) -> str:
    if isinstance(factor, Sum):
        return f"({expression_text(factor, names)})"
    if isinstance(factor, Raised):
        return f"{_factor(factor.base, names)}**{factor.exponent}"
    return names.get(factor.name, factor.name)


def number_text(number: Fraction) -> str:
    """A positive number, exact where a float can be.

    >>> number_text(Fraction(3, 4)), number_text(Fraction(2, 3))
    ('0.75', '(2 / 3)')
    """
    if Fraction(float(number)) == number:
        return repr(float(number))
    return f"({number.numerator} / {number.denominator})"
