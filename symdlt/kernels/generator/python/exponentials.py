"""Expressions in z as sums of exponentials, and quotients of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from symdlt.activations.sympy_form import Z
from symdlt.errors import ActivationError

# By convention; what people use has far fewer.
MOST_TERMS = 500
Terms = dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Quotient:
    """Polynomials in exp(u) over powers of such polynomials.

    Attributes:
        u: the exponent.
        upper: coefficients by power, which may be negative.
        lower: the same of each denominator; the lowest power is zero.
        powers: to which power each denominator is raised.
    """

    u: Any
    upper: dict[int, Any]
    lower: tuple[dict[int, Any], ...]
    powers: tuple[int, ...]

    @property
    def width(self) -> int:
        """The degree of all denominators together."""
        return sum(max(p) * k for p, k in zip(self.lower, self.powers, strict=True))

    @property
    def ratio(self) -> Any | None:
        """The positive number b/a if every denominator is a + b exp(u) for positive a and b."""
        ratios = set()
        for p in self.lower:
            if set(p) != {0, 1} or not all(c.is_positive and not c.has(Z) for c in p.values()):
                return None
            ratios.add(p[1] / p[0])
        return ratios.pop() if len(ratios) == 1 else None


def quotient(upper: Any, lower: list[tuple[Any, int]]) -> Quotient | None:
    """A quotient by its powers of one exponential, or None if there are several.

    Args:
        upper: the numerator.
        lower: the denominators and their powers.

    >>> found = quotient(sp.sinh(Z), [(sp.cosh(Z), 1)])
    >>> found.u, found.upper, found.lower
    (2*z, {1: 1/2, 0: -1/2}, ({1: 1/2, 0: 1/2},))
    """
    below = [exponentials(base) for base, _ in lower]
    unit = next(v for terms in below for v in terms if v != 0)
    unit = -unit if unit.could_extract_minus_sign() else unit
    polynomials = [_laurent(terms, unit) for terms in below]
    if any(e.has(Z) for p in polynomials for c in p.values() for e in c.atoms(sp.exp)):
        return None
    lowest = [min(p) for p in polynomials]
    shift = sum((m * k for m, (_, k) in zip(lowest, lower, strict=True)), sp.Integer(0))
    top = {m - shift: c for m, c in _laurent(exponentials(upper), unit).items()}
    polynomials = [
        {m - first: c for m, c in p.items()} for p, first in zip(polynomials, lowest, strict=True)
    ]
    step = sp.gcd_list([*top, *(m for p in polynomials for m in p)])
    return Quotient(
        unit * step,
        {int(m / step): c for m, c in top.items()},
        tuple({int(m / step): c for m, c in p.items()} for p in polynomials),
        tuple(k for _, k in lower),
    )


def grows_below(e: Any) -> bool:
    """Whether an expression divides by a sum of exponentials."""
    divides = isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp.is_negative
    return bool(divides and grows(e.base))


def grows(e: Any) -> bool:
    """Whether exponentials stand in an expression, not only inside of other functions."""
    return bool(e.has(sp.exp, sp.sinh, sp.cosh)) and set(exponentials(e)) != {0}


def exponentials(e: Any) -> Terms:
    """Coefficients c by exponent v, for a sum of c exp(v) with no constants in v."""
    if e.has(sp.sinh, sp.cosh):
        e = e.rewrite([sp.sinh, sp.cosh], sp.exp)
    check_size(e)
    terms: Terms = {}
    for term in sp.Add.make_args(sp.expand(e, power_exp=False, power_base=False, log=False)):
        exponent = sp.Integer(0)
        coefficient = sp.Integer(1)
        for factor in sp.Mul.make_args(term):
            if isinstance(factor, sp.exp):
                constant, v = sp.expand(factor.args[0]).as_independent(Z, as_Add=True)
                exponent += v
                coefficient *= sp.exp(constant)
            else:
                coefficient *= factor
        terms[exponent] = terms.get(exponent, sp.Integer(0)) + coefficient
    return {v: c for v, c in terms.items() if c != 0} or {sp.Integer(0): sp.Integer(0)}


def check_size(e: Any) -> None:
    """Refuse what has too many terms when it is multiplied out."""
    if _size(e) > MOST_TERMS:
        raise ActivationError(
            f"The activation has more than {MOST_TERMS} terms when it is multiplied out. "
            "Its derivatives would have many more. Give a function with fewer products of sums."
        )


def _size(e: Any) -> int:
    if e.is_Add:
        return sum(map(_size, e.args))
    if e.is_Mul:
        size = 1
        for factor in e.args:
            size = min(size * _size(factor), MOST_TERMS + 1)
        return size
    if isinstance(e, sp.Pow) and e.exp.is_Integer and e.base.is_Add:
        return int(min(_size(e.base) ** min(abs(int(e.exp)), 20), MOST_TERMS + 1))
    return 1


def _laurent(terms: Terms, unit: Any) -> Terms:
    """The same terms by their rational multiples of one exponent; others stay in coefficients."""
    powers: Terms = {}
    for v, c in terms.items():
        m = sp.cancel(v / unit)
        key, rest = (m, c) if m.is_Rational else (sp.Integer(0), c * sp.exp(v))
        powers[key] = powers.get(key, sp.Integer(0)) + rest
    return powers
