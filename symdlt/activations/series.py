"""Taylor series of activations, with exact coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import sympy as sp

from symdlt.activations.grammar import Node
from symdlt.errors import ActivationError

Series = list[Any]
ZERO = sp.Integer(0)
DIGITS = 50


class KinkError(ActivationError):
    """The activation is not smooth at zero."""


def series(node: Node, order: int, centre: Any = ZERO) -> Series:
    """Coefficients of (z − centre)^0 … (z − centre)^order as exact SymPy numbers.

    Raises:
        ActivationError: if the function is not finite or has a kink at the centre.
    """
    if node.kind == "variable":
        return _constant(centre, order, slope=1)
    if node.kind in ("number", "constant"):
        return _constant(number(node), order)
    if node.kind == "divide":
        upper, lower = node.children
        return _quotient(upper, lower, order, centre)
    if node.kind == "where":
        u, below, above = (partial(series, child, order, centre) for child in node.children)
        return _chosen(u, below, above)
    parts = [series(child, order, centre) for child in node.children]
    if node.kind == "add":
        return [a + b for a, b in zip(*parts, strict=True)]
    if node.kind == "multiply":
        return multiplied(*parts)
    if node.kind == "power":
        return _raised(parts[0], node.number)
    return _CALLS[node.name](*parts)


def number(node: Node) -> Any:
    """The value of a number or a constant."""
    if node.kind == "constant":
        return {"pi": sp.pi, "e": sp.E}[node.name]
    return sp.Rational(node.number.numerator, node.number.denominator)


def _constant(value: Any, order: int, slope: int = 0) -> Series:
    return ([value, sp.Integer(slope)] + [ZERO] * order)[: order + 1]


def multiplied(first: Series, second: Series) -> Series:
    """The product of two series, cut off at their common order."""
    return [_total(first[i] * second[k - i] for i in range(k + 1)) for k in range(len(first))]


def _quotient(upper: Node, lower: Node, order: int, centre: Any) -> Series:
    """A quotient in which both may vanish at the centre, as in sin(z)/z."""
    below = series(lower, order, centre)
    shared = next((k for k, c in enumerate(below) if not vanishes(c)), order + 1)
    above = series(upper, order + shared, centre)
    if shared > order or not all(vanishes(c) for c in above[:shared]):
        raise _singular("a denominator vanishes")
    return _divided(above[shared:], series(lower, order + shared, centre)[shared:])


def _divided(upper: Series, lower: Series) -> Series:
    if vanishes(lower[0]):
        raise _singular("a denominator vanishes")
    quotient: Series = []
    for k in range(len(upper)):
        rest = upper[k] - sum(quotient[i] * lower[k - i] for i in range(k))
        quotient.append(_tidy(rest / lower[0]))
    return quotient


def _raised(base: Series, exponent: Fraction) -> Series:
    order = len(base) - 1
    if exponent.denominator == 1:
        power = reduce(multiplied, [base] * abs(int(exponent)), _constant(sp.Integer(1), order))
        return power if exponent >= 0 else _divided(_constant(sp.Integer(1), order), power)
    if not base[0].is_positive:
        raise _singular("a root is taken of a number that is not positive")
    rational = sp.Rational(exponent.numerator, exponent.denominator)
    power = [base[0] ** rational]
    for k in range(1, order + 1):
        total = sum((rational * i - (k - i)) * base[i] * power[k - i] for i in range(1, k + 1))
        power.append(_tidy(total / (k * base[0])))
    return power


def _integrated(start: Any, slope: Callable[[Series], Series], inner: Series) -> Series:
    """The series f with f(0) given and f' = slope(f)·inner', found order by order."""
    rates = [*(k * c for k, c in enumerate(inner) if k), ZERO]
    found = [start]
    for k in range(1, len(inner)):
        padded = found + [ZERO] * (len(inner) - k)
        factor = slope(padded)
        found.append(_total(factor[i] * rates[k - 1 - i] for i in range(k)) / k)
    return found


def _exp(inner: Series) -> Series:
    return _integrated(sp.exp(inner[0]), lambda f: f, inner)


def _tanh(inner: Series) -> Series:
    def slope(f: Series) -> Series:
        return [int(k == 0) - c for k, c in enumerate(multiplied(f, f))]

    square = sp.exp(2 * inner[0])
    start = (square - 1) / (square + 1) if square.is_Rational else sp.tanh(inner[0])
    return _integrated(start, slope, inner)


def _sigmoid(inner: Series) -> Series:
    start = 1 / (1 + sp.exp(-inner[0]))
    return _integrated(
        start, lambda f: [a - b for a, b in zip(f, multiplied(f, f), strict=True)], inner
    )


def _circular(sign: int, first: str, second: str) -> tuple[Callable[[Series], Series], ...]:
    """Sin and cos, or sinh and cosh: s' = c·inner' and c' = sign·s·inner'."""

    def both(inner: Series) -> tuple[Series, Series]:
        rates = [k * c for k, c in enumerate(inner)][1:]
        s, c = [getattr(sp, first)(inner[0])], [getattr(sp, second)(inner[0])]
        for k in range(1, len(inner)):
            pair = [_total(f[i] * rates[k - 1 - i] for i in range(k)) / k for f in (c, s)]
            s.append(pair[0])
            c.append(sign * pair[1])
        return s, c

    return (lambda inner: both(inner)[0]), (lambda inner: both(inner)[1])


def _erf(inner: Series) -> Series:
    bell = _exp([-c for c in multiplied(inner, inner)])
    factor = 2 / sp.sqrt(sp.pi)
    return _integrated(sp.erf(inner[0]), lambda f: [factor * c for c in bell], inner)


def _log(inner: Series) -> Series:
    if not inner[0].is_positive:
        raise _singular("a logarithm is taken of a number that is not positive")
    inverse = _divided(_constant(sp.Integer(1), len(inner) - 1), inner)
    return _integrated(sp.log(inner[0]), lambda f: inverse, inner)


def _atan(inner: Series) -> Series:
    one = _constant(sp.Integer(1), len(inner) - 1)
    below = [a + b for a, b in zip(one, multiplied(inner, inner), strict=True)]
    inverse = _divided(one, below)
    return _integrated(sp.atan(inner[0]), lambda f: inverse, inner)


def _chosen(
    u: Callable[[], Series], below: Callable[[], Series], above: Callable[[], Series]
) -> Series:
    """The second series if the first is negative about the centre, the third if it is positive."""
    side = _side(u())
    if side:
        return below() if side < 0 else above()
    found = below()
    if all(vanishes(a - b) for a, b in zip(found, above(), strict=True)):
        return found
    raise KinkError(
        "The activation has a kink at zero and no Taylor series there. "
        "Its argument of relu or abs, or a condition, vanishes at z = 0. "
        "Give a function that is smooth at zero."
    )


def _side(u: Series) -> int:
    """The sign of a series on both sides of its centre, or 0 if it changes or is not known."""
    order, first = next(((k, c) for k, c in enumerate(u) if not vanishes(c)), (1, ZERO))
    if order % 2:
        return 0
    return -1 if first.is_negative else 1


def _cases(
    below: Callable[[Series], Series], above: Callable[[Series], Series]
) -> Callable[[Series], Series]:
    """A function of u that has one form for u < 0 and another for u > 0."""
    return lambda u: _chosen(lambda: u, lambda: below(u), lambda: above(u))


def _larger(first: Series, second: Series, sign: int = 1) -> Series:
    return _chosen(
        lambda: [sign * (a - b) for a, b in zip(first, second, strict=True)],
        lambda: second,
        lambda: first,
    )


def _leaky_relu(inner: Series, slope: Series) -> Series:
    return _cases(lambda u: multiplied(slope, u), lambda u: u)(inner)


def _elu(inner: Series, alpha: Series) -> Series:
    def below(u: Series) -> Series:
        rise = _exp(u)
        return multiplied(alpha, [rise[0] - 1, *rise[1:]])

    return _cases(below, lambda u: u)(inner)


def _total(values: Iterable[Any]) -> Any:
    return _tidy(sum(values))


def _tidy(value: Any) -> Any:
    """Multiplied out, so that numbers such as tanh(1/2) stand in polynomials."""
    return value if getattr(value, "is_Rational", True) else sp.expand(value)


def vanishes(value: Any) -> bool:
    """Whether an exact number is zero; SymPy's rules are asked only if its first digits are."""
    if value == 0 or value.is_Rational:
        return bool(value == 0)
    if value.is_number and abs(value.evalf(DIGITS)) > 10.0 ** (-DIGITS // 2):
        return False
    return bool(sp.simplify(value) == 0)


def _singular(reason: str) -> ActivationError:
    return ActivationError(
        f"The activation is not finite and smooth at zero: {reason}. "
        "Its Taylor series is taken at z = 0. Give a function that is analytic there."
    )


_sin, _cos = _circular(-1, "sin", "cos")
_sinh, _cosh = _circular(1, "sinh", "cosh")
_CALLS: dict[str, Callable[..., Series]] = {
    "abs": _cases(lambda u: [-c for c in u], lambda u: u),
    "atan": _atan,
    "cos": _cos,
    "cosh": _cosh,
    "elu": _elu,
    "erf": _erf,
    "erfc": lambda inner: [int(k == 0) - c for k, c in enumerate(_erf(inner))],
    "exp": _exp,
    "leaky_relu": _leaky_relu,
    "log": _log,
    "max": _larger,
    "min": lambda a, b: _larger(a, b, -1),
    "relu": _cases(lambda u: [ZERO] * len(u), lambda u: u),
    "sigmoid": _sigmoid,
    "sin": _sin,
    "sinh": _sinh,
    "sqrt": lambda inner: _raised(inner, Fraction(1, 2)),
    "tanh": _tanh,
}
