"""Exact numbers of SymPy: whether they are zero, and their sign."""

from __future__ import annotations

import sympy as sp

# Digits at which a number is looked at, and what counts as zero then: half of them may cancel.
DIGITS = 50
TINY = 10.0 ** (-DIGITS // 2)  # a convention: no number of ours is so small and not zero
# Roots of polynomials have no rule that decides; two are taken as one if they agree this far.
TINY_ROOT = sp.Rational(1, 10**40)


def is_zero(number: sp.Expr) -> bool:
    """Whether an exact number is zero; SymPy's rules are asked only if its first digits are.

    >>> is_zero(sp.sqrt(8) - 2 * sp.sqrt(2)), is_zero(sp.pi - sp.Rational(22, 7))
    (True, False)
    """
    if number.is_Rational:
        return bool(number == 0)
    size = abs(number.evalf(DIGITS)) if number.is_number else sp.Integer(0)
    if number.has(sp.CRootOf):
        return bool(size <= TINY_ROOT)
    return bool(size <= TINY and (number.is_zero or sp.simplify(number) == 0))


def is_positive(number: sp.Expr) -> bool:
    """Whether an exact number that is not zero is positive."""
    return bool(number.evalf(DIGITS) > 0)
