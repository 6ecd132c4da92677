"""Activation functions to and from SymPy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add, mul

import sympy as sp
from sympy.core.function import Application
from sympy.printing.str import StrPrinter

from symdlt.activations.functions import TABLE, known_name
from symdlt.activations.grammar import NAMES, rule
from symdlt.activations.nodes import Node
from symdlt.activations.rings import number
from symdlt.errors import ActivationError

Z = sp.Symbol("z", real=True)
CASES = {"And", "ExprCondPair", "Or", "Piecewise"}


def real_expression(node: Node) -> sp.Expr:
    """The same as `expression`, for a function that may hold cases.

    Raises:
        ActivationError: if SymPy finds that it is not real.
    """
    try:
        read = expression(node)
    except (TypeError, ValueError) as problem:
        raise ActivationError(
            f"The activation compares what is not real: {str(problem)[:60]}. "
            "Its conditions need real numbers. Give a real function of a real variable."
        ) from problem
    check_real(read)
    return read


def expression(node: Node, variables: Mapping[str, sp.Expr] | None = None) -> sp.Expr:
    """A function as a SymPy expression in the real symbol z, or in what its variables stand for."""
    variables = variables or {"z": Z}
    if node.kind == "variable":
        return variables[node.name]
    if node.kind in ("number", "constant"):
        return number(node)
    parts = [expression(child, variables) for child in node.children]
    if node.kind in ("add", "multiply"):
        return reduce(add if node.kind == "add" else mul, parts)
    if node.kind == "divide":
        return parts[0] / parts[1]
    if node.kind == "power":
        return parts[0] ** sp.Rational(node.number.numerator, node.number.denominator)
    if node.kind == "where":
        return sp.Piecewise((parts[1], parts[0] < 0), (parts[2], True))
    function, arguments = TABLE[node.name], dict(zip("uv", parts, strict=False))
    if function.sympy:
        head, *places = function.sympy
        given = (arguments[p] if p in arguments else sp.Integer(p) for p in places)
        return getattr(sp, head)(*given)
    if function.form:
        return expression(rule(function.form), arguments)
    return getattr(sp, node.name)(*parts)


def text_of(function: sp.Expr) -> str:
    """A SymPy expression in at most one symbol, written in the grammar of activations.

    Raises:
        ActivationError: if it has more symbols, is not real, or holds functions outside of it.

    >>> x = sp.Symbol("x")
    >>> text_of(sp.Piecewise((x, x > 0), (0.1 * sp.erfc(x), True)))
    'Piecewise((z, z > 0), (0.1*erfc(z), True))'
    """
    symbols = sorted(function.free_symbols, key=str)
    if len(symbols) > 1:
        names = ", ".join(map(str, symbols))
        raise ActivationError(
            f"The activation has the symbols {names}. It must be a function of one preactivation. "
            "Substitute numbers for the parameters."
        )
    if not isinstance(function, sp.Expr):
        raise ActivationError(
            f"An activation cannot be made of {type(function).__name__}. "
            "It must have numbers as values. Give an expression such as sympy.tanh(x)."
        )
    check_real(function)
    heads = {type(head).__name__ for head in function.atoms(Application)}
    unknown = sorted(head for head in heads - CASES if not known_name(head))
    if unknown:
        raise ActivationError(
            f"The activation holds the function {unknown[0]}. It is not among those that an "
            f"activation can have: {' '.join(NAMES)}. Rewrite it in these."
        )
    return str(_Printer().doprint(function.subs({symbol: sp.Symbol("z") for symbol in symbols})))


def check_real(function: sp.Expr) -> None:
    """Refuse imaginary and infinite constants."""
    for constant in (sp.I, sp.oo, -sp.oo, sp.zoo, sp.nan):
        if function.has(constant):
            raise ActivationError(
                f"The activation holds {constant}. Its values must be real numbers. "
                "Give a real function of a real variable."
            )


class _Printer(StrPrinter):  # type: ignore[misc]
    def _print_Float(self, number: sp.Float) -> str:  # noqa: N802
        return repr(float(number)) if number._prec <= 53 else str(sp.Rational(str(number)))
