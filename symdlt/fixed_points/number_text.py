"""Numbers and formulas of SymPy as text."""

from __future__ import annotations

from typing import Any

import sympy as sp

# A convention: what is longer is not read at a glance.
LONGEST, LONGEST_BRIEF = 30, 19


def text(value: Any) -> str:
    """A number or a formula in full, with ^ for powers.

    >>> text(sp.sqrt(2) * sp.Symbol("K") ** 2)
    'sqrt(2)*K^2'
    """
    return str(sp.sstr(value, full_prec=False)).replace("**", "^")


def brief(value: Any, longest: int = LONGEST_BRIEF, digits: int = 6) -> str:
    """A number or a formula, with a few digits where it is not exact and short."""
    exact = text(value)
    return exact if not value.has(sp.Float) and len(exact) <= longest else text(sp.N(value, digits))


def short(number: Any) -> str:
    """An exact number in SymPy's own form, or its first digits if it is long."""
    exact = str(sp.sstr(number))
    return exact if len(exact) <= LONGEST else str(number.evalf(8))


def power_text(base: str, exponent: Any) -> str:
    """A power in which a base that is to the first stands alone, and a fraction in brackets."""
    if exponent == 1:
        return base
    return f"{base}^{exponent}" if "/" not in str(exponent) else f"{base}^({exponent})"
