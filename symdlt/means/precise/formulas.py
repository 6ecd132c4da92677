r"""Closed forms of Gaussian means of one and two samples with means, in SymPy.

A function is a sum of terms $c\, z^n e^{qz^2 + kz}$, each perhaps times erf(bz + c), on the whole
line, or of terms without erf on each of several pieces of it. Exponentials tilt the Gaussian:

$$\langle e^{qz^2+kz} g \rangle_{m,v} = \frac{\exp\frac{qm^2 + km + k^2v/2}{1-2qv}}{\sqrt{1-2qv}}
  \langle g \rangle_{m',v'}, \qquad v' = \frac{v}{1-2qv}, \quad m' = \frac{m + kv}{1-2qv}$$

and powers are removed by Stein's lemma, $\langle zg\rangle = m\langle g\rangle +
v\langle g'\rangle$, where g′ holds a Gaussian for an erf, and delta functions at the ends of a
piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import sympy as sp

from symdlt.activations.nodes import Node
from symdlt.activations.pieces import pieces
from symdlt.activations.sympy_form import Z, expression
from symdlt.errors import SolutionError


class NoClosedFormError(SolutionError):
    """A Gaussian mean for which no closed form is known here, and why."""


@dataclass(frozen=True, slots=True)
class ClosedTerm:
    """The function c z^n exp(q z² + k z), times erf(b z + a) unless erf is None.

    Attributes:
        number: c.
        power: n.
        square: q.
        rate: k, complex for sines and cosines.
        erf: b and a.
    """

    number: sp.Expr
    power: int
    square: sp.Expr
    rate: sp.Expr
    erf: tuple[sp.Expr, sp.Expr] | None = None


@dataclass(frozen=True, slots=True)
class ClosedPiece:
    """Terms of a function from one place to another, perhaps infinite, exact numbers both."""

    left: sp.Expr
    right: sp.Expr
    terms: tuple[ClosedTerm, ...]


def closed_pieces(node: Node) -> tuple[ClosedPiece, ...]:
    """A function in terms whose means have a closed form.

    Raises:
        NoClosedFormError: if one has none, with the reason.
    """
    parts = pieces(node)
    ends = [part.start for part in parts] + [sp.oo]
    closed = []
    for part, (left, right) in zip(parts, pairwise(ends), strict=True):
        terms = tuple(_terms(expression(part.node)))
        cut = left != -sp.oo or right != sp.oo
        for term in terms:
            if cut and (term.erf or not _real(term.rate)):
                _refuse("erf, sin or cos on a part of the line has none in erf and exp")
        closed.append(ClosedPiece(left, right, terms))
    return tuple(closed)


def mean_of_one(function: Sequence[ClosedPiece], m: sp.Expr, v: sp.Expr) -> sp.Expr:
    """The mean of a function of z ~ N(m, v); the mean m may be complex, v a positive symbol."""
    total = sp.Integer(0)
    for piece in function:
        for term in piece.terms:
            factor, tilted = _tilt(term.square, term.rate, m, v)
            if term.erf:
                if not _real(tilted[0]):
                    _refuse("erf times sin or cos has none in real functions")
                mean = _with_erf(term.power, *term.erf, *tilted)
            elif piece.left == -sp.oo and piece.right == sp.oo:
                mean = _moment(term.power, *tilted)
            else:
                if not _real(tilted[0]):
                    _refuse("a piece times sin or cos has none in erf and exp")
                mean = _on_piece(term.power, piece.left, piece.right, *tilted)
            total += term.number * factor * mean
    return total


def mean_of_two(
    functions: tuple[Sequence[ClosedPiece], Sequence[ClosedPiece]],
    m: tuple[sp.Expr, sp.Expr],
    K: tuple[sp.Expr, sp.Expr, sp.Expr],
) -> sp.Expr:
    r"""The mean of f(z_1) g(z_2), where one of the two has only powers and exponentials.

    $$\langle z_1^n e^{kz_1} g(z_2)\rangle = e^{km_1 + k^2K_{11}/2}\,
      \langle \langle z_1^n | z_2\rangle\, g(z_2) \rangle \quad\text{at the means } m_i + kK_{1i}$$

    Args:
        functions: f and g.
        m: the means of both samples.
        K: the variances and, in the middle, the covariance.
    """
    first, second = functions
    if not _elementary(first):
        if not _elementary(second):
            _refuse("one of the two functions must be a sum of powers times exponentials")
        return mean_of_two((second, first), m[::-1], K[::-1])
    one, both, other = K
    total = sp.Integer(0)
    for term in first[0].terms:
        shifts = m[0] + term.rate * one, m[1] + term.rate * both
        factor = term.number * sp.exp(term.rate * m[0] + term.rate**2 * one / 2)
        slope = both / other
        given = _moment(term.power, shifts[0] + slope * (Z - shifts[1]), one - slope * both)
        for (power,), number in sp.Poly(given, Z).terms():
            raised = [_raised(piece, power) for piece in second]
            total += factor * number * mean_of_one(raised, shifts[1], other)
    return total


def tidy(formula: sp.Expr) -> sp.Expr:
    """A real formula without the imaginary unit, multiplied out if that makes it shorter."""
    if formula.has(sp.I):  # sines were written as exponentials
        return sp.expand(sp.powsimp(formula), complex=True).as_real_imag()[0]
    kept = {head: sp.Dummy() for head in formula.atoms(sp.exp, sp.erf)}
    expanded = sp.expand(formula.xreplace(kept)).xreplace({d: head for head, d in kept.items()})
    return min(formula, expanded, key=sp.count_ops)


def _elementary(function: Sequence[ClosedPiece]) -> bool:
    return len(function) == 1 and not any(t.erf or t.square for t in function[0].terms)


def _raised(piece: ClosedPiece, power: int) -> ClosedPiece:
    terms = (ClosedTerm(t.number, t.power + power, t.square, t.rate, t.erf) for t in piece.terms)
    return ClosedPiece(piece.left, piece.right, tuple(terms))


def _real(number: sp.Expr) -> bool:
    return not number.has(sp.I)


def _refuse(reason: str) -> None:
    raise NoClosedFormError(
        f"The Gaussian mean has no closed form here: {reason}. Formulas are for polynomials times "
        "exp, sin, cos, sinh, cosh, erf, and for pieces of polynomials times exp. "
        "Give numbers for all means and variances."
    )


def _terms(function: sp.Expr) -> Iterator[ClosedTerm]:
    """The terms of a smooth function of `Z`, multiplied out."""
    rewritten = function.rewrite(sp.erfc, sp.erf)
    for head in (sp.sin, sp.cos, sp.sinh, sp.cosh):
        rewritten = rewritten.replace(head, lambda u, head=head: head(u).rewrite(sp.exp))
    for part in sp.Add.make_args(sp.expand(rewritten)):
        if part != 0:
            yield _term(part)


def _term(part: sp.Expr) -> ClosedTerm:
    number, factors = part.as_independent(Z, as_Add=False)
    power, exponent, inside = 0, sp.Integer(0), None
    for factor in sp.Mul.make_args(factors):
        base, degree = factor.as_base_exp()
        if base == Z and degree.is_Integer and degree > 0:
            power += int(degree)
        elif base == sp.E and degree.is_polynomial(Z):
            exponent += degree
        elif isinstance(factor, sp.erf) and factor.args[0].is_polynomial(Z) and inside is None:
            inside = sp.Poly(factor.args[0], Z)
        elif factor != 1:
            _refuse(f"its term {str(part)[:60]} holds {str(factor)[:40]}")
    rates = sp.Poly(exponent, Z)
    if rates.degree() > 2 or (inside is not None and inside.degree() > 1):
        _refuse(f"its term {str(part)[:60]} has too high a power inside of a function")
    square, rate, constant = (rates.coeff_monomial(Z**k) for k in (2, 1, 0))
    linear = (inside.coeff_monomial(Z), inside.coeff_monomial(1)) if inside else None
    return ClosedTerm(number * sp.exp(constant), power, square, rate, linear)


def _tilt(
    square: sp.Expr, rate: sp.Expr, m: sp.Expr, v: sp.Expr
) -> tuple[sp.Expr, tuple[sp.Expr, sp.Expr]]:
    """What is in front, and the mean and the variance of the Gaussian times an exponential."""
    left = 1 - 2 * square * v
    if square and not (_real(rate) or square < 0):
        _refuse("sin or cos times a growing Gaussian is not taken")
    front = sp.exp((square * m**2 + rate * m + rate**2 * v / 2) / left) / sp.sqrt(left)
    return front, ((m + rate * v) / left, v / left)


def _moment(power: int, m: sp.Expr, v: sp.Expr) -> sp.Expr:
    before, here = sp.Integer(0), sp.Integer(1)
    for n in range(1, power + 1):
        before, here = here, sp.expand(m * here + (n - 1) * v * before)
    return here


def _with_erf(power: int, b: sp.Expr, a: sp.Expr, m: sp.Expr, v: sp.Expr) -> sp.Expr:
    front, tilted = _tilt(-(b**2), -2 * a * b, m, v)
    before, here = sp.Integer(0), sp.erf((b * m + a) / sp.sqrt(1 + 2 * b**2 * v))
    for n in range(1, power + 1):
        slope = 2 * b / sp.sqrt(sp.pi) * sp.exp(-(a**2)) * front * _moment(n - 1, *tilted)
        before, here = here, m * here + (n - 1) * v * before + v * slope
    return here


def _on_piece(power: int, left: sp.Expr, right: sp.Expr, m: sp.Expr, v: sp.Expr) -> sp.Expr:
    def bell(place: sp.Expr, n: int) -> sp.Expr:
        if place in (sp.oo, -sp.oo):
            return sp.Integer(0)
        density = sp.exp(-((place - m) ** 2) / (2 * v)) / sp.sqrt(2 * sp.pi * v)
        return place**n * density

    def below(place: sp.Expr) -> sp.Expr:
        if place in (sp.oo, -sp.oo):
            return sp.Integer(int(place == sp.oo))
        return (1 + sp.erf((place - m) / sp.sqrt(2 * v))) / 2

    before, here = sp.Integer(0), below(right) - below(left)
    for n in range(1, power + 1):
        ends = bell(right, n - 1) - bell(left, n - 1)
        before, here = here, m * here + (n - 1) * v * before - v * ends
    return here
