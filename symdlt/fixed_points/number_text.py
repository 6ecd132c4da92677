"""Numbers and formulas of SymPy, and layers, as text."""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from symdlt.definitions import DENSE, Layer, Stack

# A convention: what is longer is not read at a glance.
LONGEST, LONGEST_BRIEF, LONGEST_SHOWN = 30, 19, 60


def text(value: sp.Expr) -> str:
    """A number or a formula in full, with ^ for powers.

    >>> text(sp.sqrt(2) * sp.Symbol("K") ** 2)
    'sqrt(2)*K^2'
    """
    return str(sp.sstr(value, full_prec=False)).replace("**", "^")


def brief(value: sp.Expr, longest: int = LONGEST_BRIEF, digits: int = 6) -> str:
    """A number or a formula, with a few digits where it is not exact and short."""
    exact = text(value)
    return exact if not value.has(sp.Float) and len(exact) <= longest else text(sp.N(value, digits))


def shown(value: sp.Expr) -> str:
    """A number in a table: with all digits that were asked for, exact ones if they are short.

    >>> shown(sp.Rational(1, 3)), shown(sp.Rational(1, 7**80)), len(shown(sp.pi.n(100)))
    ('1/3', '2.46692984352107593747672086248e-68', 101)
    """
    exact = text(value).removesuffix(".0")
    few = len(exact) <= LONGEST_SHOWN or value.is_Float
    return exact if few else f"{sp.sstr(value.evalf(LONGEST), full_prec=False)}"


def of_layers(layer: Layer | Stack) -> str:
    """What is added to a headline for layers that are not dense."""
    return "" if layer == DENSE else f", of layers {layer}"


def layer_entries(
    layer: Layer | Stack, values: Iterable[tuple[str, sp.Expr]] | None = None
) -> dict[str, str | dict[str, str]]:
    """What a dictionary has besides for layers that are not dense."""
    if layer == DENSE:
        return {}
    numbers = {} if values is None else {"values": {name: text(value) for name, value in values}}
    return {"layer": str(layer), **numbers}


def short(number: sp.Expr) -> str:
    """An exact number in SymPy's own form, or its first digits if it is long."""
    exact = str(sp.sstr(number))
    return exact if len(exact) <= LONGEST else str(number.evalf(8))


def power_text(base: str, exponent: sp.Expr) -> str:
    """A power in which a base that is to the first stands alone, and a fraction in brackets."""
    if exponent == 1:
        return base
    return f"{base}^{exponent}" if "/" not in str(exponent) else f"{base}^({exponent})"
