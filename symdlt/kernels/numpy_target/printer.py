"""The kernel IR as NumPy source, laid out to 100 columns."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symdlt.codegen._ir import Expression, Power, Product, Sum, Symbol

COLUMNS = 100
Names = Mapping[str, str]


def expression_text(expression: Expression, names: Names) -> str:
    """An expression on one line.

    Args:
        expression: what to print.
        names: how a quantity is spelled where it is not by its own name.

    >>> x, y = Symbol("x"), Symbol("y")
    >>> half = Product(Fraction(1, 2), (Power(x, 2), y))
    >>> expression_text(Sum((half, Product(Fraction(-1)))), {"y": "m.y"})
    '0.5 * x**2 * m.y - 1.0'
    """
    if isinstance(expression, Sum):
        first, *others = expression.terms or (Product(Fraction(0)),)
        text = expression_text(first, names)
        for term in others:
            text += f" {_sign(term)} {' * '.join(_factors(term, names))}"
        return text
    return ("-" if expression.coefficient < 0 else "") + " * ".join(_factors(expression, names))


def assignment(target: str, expression: Expression, names: Names, indent: int = 4) -> list[str]:
    """The lines that assign an expression to a name."""
    pad = " " * indent
    text = f"{pad}{target} = {expression_text(expression, names)}"
    if len(text) <= COLUMNS:
        return [text]
    return [f"{pad}{target} = (", *_block(expression, names, indent + 4), f"{pad})"]


def _block(expression: Expression, names: Names, indent: int) -> list[str]:
    """The inside of a pair of parentheses, one operand a line."""
    pad = " " * indent
    text = pad + expression_text(expression, names)
    if len(text) <= COLUMNS:
        return [text]
    if isinstance(expression, Product):
        return _product_lines("-" if expression.coefficient < 0 else "", expression, names, indent)
    first, *others = expression.terms
    lines = _product_lines("-" if first.coefficient < 0 else "", first, names, indent)
    for term in others:
        lines += _product_lines(f"{_sign(term)} ", term, names, indent)
    return lines


def _product_lines(prefix: str, product: Product, names: Names, indent: int) -> list[str]:
    pad = " " * indent
    text = pad + prefix + " * ".join(_factors(product, names))
    if len(text) <= COLUMNS:
        return [text]
    lines: list[str] = []
    factors: list[Symbol | Power | Sum | None] = list(product.factors)
    if abs(product.coefficient) != 1 or not factors:
        factors.insert(0, None)
    for number, factor in enumerate(factors):
        start = pad + (prefix if number == 0 else "* ")
        if factor is None:
            lines.append(start + number_text(abs(product.coefficient)))
        elif isinstance(factor, Sum) and len(start + _factor(factor, names)) > COLUMNS:
            lines += [start + "(", *_block(factor, names, indent + 4), pad + ")"]
        else:
            lines.append(start + _factor(factor, names))
    return lines


def _factors(product: Product, names: Names) -> list[str]:
    texts = [_factor(factor, names) for factor in product.factors]
    if abs(product.coefficient) != 1 or not texts:
        texts.insert(0, number_text(abs(product.coefficient)))
    return texts


def _factor(factor: Symbol | Power | Sum, names: Names) -> str:
    if isinstance(factor, Sum):
        return f"({expression_text(factor, names)})"
    if isinstance(factor, Power):
        return f"{_factor(factor.base, names)}**{factor.exponent}"
    return names.get(factor.name, factor.name)


def _sign(term: Product) -> str:
    return "-" if term.coefficient < 0 else "+"


def number_text(number: Fraction) -> str:
    """A positive number, exact where a float can be.

    >>> number_text(Fraction(3, 4)), number_text(Fraction(2, 3))
    ('0.75', '(2 / 3)')
    """
    if Fraction(float(number)) == number:
        return repr(float(number))
    return f"({number.numerator} / {number.denominator})"
