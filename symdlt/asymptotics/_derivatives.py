"""A smooth function with many derivatives at numbers of mpmath, straight from its parsed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

from symdlt.asymptotics._jets import jet
from symdlt.networks._activation_text import Node
from symdlt.precision import mp as mpmath

Series = list[Any]


def derivatives(node: Node, order: int) -> Callable[[Any], tuple[Any, ...]]:
    """The function that gives σ, σ', … up to an order, at the precision of mpmath.

    Args:
        node: without cases.
        order: the highest derivative.

    >>> from symdlt.networks._activation_text import parse
    >>> [int(x) for x in derivatives(parse("z**3 - 2*z"), 3)(mpmath.mpf(2))]
    [4, 10, 12, 6]
    """
    factorials = [factorial(k) for k in range(order + 1)]
    function = _series(node, order + 1)

    def values(z: Any) -> tuple[Any, ...]:
        return tuple(c * k for c, k in zip(function(z), factorials, strict=True))

    return values


def _series(node: Node, length: int) -> Callable[[Any], Series]:
    """The function that gives the Taylor coefficients at a point."""
    if node.kind == "variable":
        return lambda z: ([z, mpmath.mpf(1)] + [mpmath.mpf(0)] * length)[:length]
    if node.kind in ("number", "constant"):
        value = jet(node)
        return lambda z: [value(z)[0]] + [mpmath.mpf(0)] * (length - 1)
    parts = [_series(child, length) for child in node.children]
    if node.kind == "add":
        return lambda z: [a + b for a, b in zip(parts[0](z), parts[1](z), strict=True)]
    if node.kind == "multiply":
        return lambda z: _product(parts[0](z), parts[1](z))
    if node.kind == "divide":
        return lambda z: _product(parts[0](z), _power(parts[1](z), -1))
    if node.kind == "power":
        exponent = node.number
        return lambda z: _raised(parts[0](z), exponent.numerator, exponent.denominator)
    outer = _CALLS[node.name]
    return lambda z: outer(parts[0](z))


def _product(first: Series, second: Series) -> Series:
    return [mpmath.fdot((first[i], second[n - i]) for i in range(n + 1)) for n in range(len(first))]


def _raised(base: Series, numerator: int, denominator: int) -> Series:
    if denominator > 1 or numerator < 0:
        return _power(base, mpmath.mpf(numerator) / denominator)
    total = [mpmath.mpf(1)] + [mpmath.mpf(0)] * (len(base) - 1)
    for _ in range(numerator):
        total = _product(total, base)
    return total


def _power(base: Series, exponent: Any) -> Series:
    """The power of a series that does not vanish, from f' u = exponent f u'."""
    found = [base[0] ** exponent]
    for n in range(1, len(base)):
        total = sum((exponent * i - (n - i)) * base[i] * found[n - i] for i in range(1, n + 1))
        found.append(total / (n * base[0]))
    return found


def _integrated(inner: Series, start: Any, slope: Callable[[Series], Any]) -> Series:
    """The series f with f' = g u'; `slope` gives the next coefficient of g from those of f."""
    rates = [k * c for k, c in enumerate(inner)][1:]
    found, slopes = [start], []
    for n in range(1, len(inner)):
        slopes.append(slope(found))
        found.append(mpmath.fdot((slopes[i], rates[n - 1 - i]) for i in range(n)) / n)
    return found


def _given(inner: Series, start: Any, slopes: Sequence[Any]) -> Series:
    return _integrated(inner, start, lambda f: slopes[len(f) - 1])


def _last_square(f: Series) -> Any:
    n = len(f) - 1
    return mpmath.fdot((f[i], f[n - i]) for i in range(n + 1))


def _exp(inner: Series) -> Series:
    return _integrated(inner, mpmath.exp(inner[0]), lambda f: f[-1])


def _tanh(inner: Series) -> Series:
    return _integrated(inner, mpmath.tanh(inner[0]), lambda f: (len(f) == 1) - _last_square(f))


def _sigmoid(inner: Series) -> Series:
    start = 1 / (1 + mpmath.exp(-inner[0]))
    return _integrated(inner, start, lambda f: f[-1] - _last_square(f))


def _bell(inner: Series, sign: int, start: Any) -> Series:
    height = 2 * sign / mpmath.sqrt(mpmath.pi)
    bell = _exp([-c for c in _product(inner, inner)])
    return _given(inner, start, [height * c for c in bell])


def _log(inner: Series) -> Series:
    return _given(inner, mpmath.log(inner[0]), _power(inner, -1))


def _atan(inner: Series) -> Series:
    square = _product(inner, inner)
    return _given(inner, mpmath.atan(inner[0]), _power([square[0] + 1, *square[1:]], -1))


def _wave(inner: Series, sign: int, pair: tuple[Any, Any]) -> tuple[Series, Series]:
    """S and c with s' = c u' and c' = sign s u'."""
    rates = [k * c for k, c in enumerate(inner)][1:]
    s, c = [pair[0](inner[0])], [pair[1](inner[0])]
    for n in range(1, len(inner)):
        up, down = (mpmath.fdot((f[i], rates[n - 1 - i]) for i in range(n)) / n for f in (c, s))
        s.append(up)
        c.append(sign * down)
    return s, c


_CIRCULAR = (lambda u: mpmath.sin(u), lambda u: mpmath.cos(u))
_HYPERBOLIC = (lambda u: mpmath.sinh(u), lambda u: mpmath.cosh(u))
_CALLS: dict[str, Callable[[Series], Series]] = {
    "atan": _atan,
    "cos": lambda u: _wave(u, -1, _CIRCULAR)[1],
    "cosh": lambda u: _wave(u, 1, _HYPERBOLIC)[1],
    "erf": lambda u: _bell(u, 1, mpmath.erf(u[0])),
    "erfc": lambda u: _bell(u, -1, mpmath.erfc(u[0])),
    "exp": _exp,
    "log": _log,
    "sigmoid": _sigmoid,
    "sin": lambda u: _wave(u, -1, _CIRCULAR)[0],
    "sinh": lambda u: _wave(u, 1, _HYPERBOLIC)[0],
    "sqrt": lambda u: _power(u, mpmath.mpf(1) / 2),
    "tanh": _tanh,
}
