"""From elements of the solver's field to SymPy expressions in the words of the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import sympy as sp

from symdlt.activations import Activation
from symdlt.asymptotics.classes import Universality
from symdlt.asymptotics.layer_series import Solution, UndeterminedError
from symdlt.asymptotics.parameters import (
    A_1,
    INVERSE,
    P_PERP,
    SIGMA_1,
    Parameters,
    ratio_symbol,
    taylor_symbol,
)
from symdlt.asymptotics.series import FieldElement

# Square roots of primes stand for symbols: their products are independent over the rationals
# (A. S. Besicovitch, J. London Math. Soc. 15, 1940), so that what is of first order in each symbol
# vanishes by no chance.
PROBES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)
# What is zero to half of these digits is zero.
DIGITS = 50


@dataclass(frozen=True, slots=True)
class Leading:
    """The first term of a solution that does not vanish: coefficient · ℓ^-power log^log_power.

    Attributes:
        power: in powers of 1/ℓ.
        log_power: of the logarithm.
        coefficient: as an expression.
        element: as an element of the field.
    """

    power: sp.Rational
    log_power: int
    coefficient: sp.Expr
    element: FieldElement


@dataclass(frozen=True, slots=True)
class Translation:
    """Substitutions that turn elements of the field into expressions.

    Attributes:
        universality: the class, with the activation if one was named.
        parameters: the field.
        rates: values of learning rates that were given.
        square: what stands for (σ_2/σ_1)² in a whole class, or None.
    """

    universality: Universality
    parameters: Parameters
    rates: tuple[tuple[sp.Symbol, sp.Expr], ...]
    square: sp.Expr | None = None

    def __call__(self, element: FieldElement) -> sp.Expr:
        """The element as a SymPy expression, factored."""
        expression = element.as_expr()
        if self.square is not None:
            expression = expression.subs(ratio_symbol(2) ** 2, self.square)
        if self.parameters.inexact:
            known = dict(self.rates) | dict(self.parameters.values)
            return _square_free(expression.subs(known))
        expression = sp.factor(expression)
        values = dict(self.rates) | dict(self.parameters.values) | self._taylor(expression)
        return sp.factor(expression.subs(values)) if values else expression

    def _taylor(self, expression: sp.Expr) -> dict[sp.Symbol, sp.Expr]:
        """Values for the Taylor coefficients that stand in an expression."""
        orders = {ratio_symbol(p): p for p in range(2, 40)}
        used = {orders[s]: s for s in expression.free_symbols if s in orders}
        named, a_1 = self.universality.activation, self.universality.a_1
        if not self.parameters.taylor:
            return {}
        if named is None or a_1 is None:
            return {s: taylor_symbol(p) / SIGMA_1 for p, s in sorted(used.items())}
        taylor = _numbers(named, max([5, *used]))
        ratios = {s: taylor[p] / taylor[1] for p, s in sorted(used.items())}
        rate = self.universality.rate
        moving = {A_1: a_1} if rate == 1 else {INVERSE: sp.root(-rate * a_1, rate)}
        return ratios | {SIGMA_1: taylor[1]} | moving


def _square_free(expression: sp.Expr) -> sp.Expr:
    """Factors that are powers; primes of many digits would take long to find."""
    above, below = sp.fraction(sp.together(expression))
    if not expression.free_symbols:
        return expression
    return sp.sqf(above) / sp.sqf(below)


@lru_cache(maxsize=64)
def _numbers(activation: Activation, order: int) -> tuple[sp.Expr, ...]:
    return activation.taylor(order)


def translation(
    universality: Universality,
    parameters: Parameters,
    perpendicular: FieldElement,
    rates: Mapping[sp.Symbol, sp.Expr],
) -> Translation:
    """The translation for an activation, or for a class: then σ_2 is expressed by p_⊥.

    Args:
        universality: the class, with the activation if one was named.
        parameters: the field.
        perpendicular: p_⊥ in the field.
        rates: values for the symbols of the learning rates.
    """
    given = tuple(rates.items())
    if universality.activation is not None or not universality.curved:
        return Translation(universality, parameters, given)
    number, slope = parameters.affine(perpendicular)
    return Translation(universality, parameters, given, (P_PERP - number) * A_1 / slope)


def leading(solution: Solution, translate: Translation) -> Leading:
    """The leading term of a tensor for an activation or class.

    A coefficient may vanish for one activation where it does not for its class.

    Raises:
        UndeterminedError: if all known terms vanish.
    """
    for power, logs in solution.series.terms:
        for j in reversed(range(len(logs))):
            coefficient = translate(logs[j])
            if not _vanishes(coefficient, translate.parameters.inexact):
                depth = sp.Rational(power, translate.parameters.denominator)
                return Leading(depth, j, coefficient, logs[j])
    raise UndeterminedError(solution.equation.name)


def _vanishes(expression: sp.Expr, inexact: bool) -> bool:
    """Whether an expression is zero for all values of its symbols."""
    if expression == 0 or (expression.is_Rational and not inexact):
        return bool(expression == 0)
    symbols = sorted(expression.free_symbols, key=str)
    number = expression.subs(dict(zip(symbols, map(sp.sqrt, PROBES), strict=False)))
    return bool(abs(number.evalf(DIGITS)) < sp.Float(10) ** (-DIGITS // 2))
