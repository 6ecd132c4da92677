"""A smooth function and its derivative at numbers of mpmath, straight from its parsed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symdlt.networks._activation_text import Node
from symdlt.precision import mp as mpmath

Jet = tuple[Any, Any]
JetFunction = Callable[[Any], Jet]


def jet(node: Node) -> JetFunction:
    """The function that gives a piece and its derivative, at the precision of mpmath.

    Args:
        node: without cases, as the pieces of an activation are.

    >>> from symdlt.networks._activation_text import parse
    >>> jet(parse("z**3 - 2*z"))(mpmath.mpf(2))
    (mpf('4.0'), mpf('10.0'))
    """
    if node.kind == "variable":
        return lambda z: (z, 1)
    if not _has_variable(node):
        return _constant(node)
    first, *others = (jet(child) for child in node.children)
    if node.kind == "power":
        return _power(first, node)
    if node.kind == "call":
        return _called(first, OUTER[node.name])
    return _joined(first, others[0], JOINTS[node.kind])


def _has_variable(node: Node) -> bool:
    return node.kind == "variable" or any(map(_has_variable, node.children))


def _constant(node: Node) -> JetFunction:
    value = _at_each_precision(lambda: _value(node))
    return lambda z: (value(), 0)


def _at_each_precision(compute: Callable[[], Any]) -> Callable[[], Any]:
    known: dict[Any, Any] = {}

    def value() -> Any:
        precision = mpmath.context, mpmath.prec
        if precision not in known:
            known[precision] = compute()
        return known[precision]

    return value


def _value(node: Node) -> Any:
    if node.kind == "number":
        return mpmath.mpf(node.number.numerator) / node.number.denominator
    if node.kind == "constant":
        return +{"pi": mpmath.pi, "e": mpmath.e}[node.name]
    first, *others = (_constant(child) for child in node.children)
    if node.kind == "power":
        return _power(first, node)(None)[0]
    if node.kind == "call":
        return _called(first, OUTER[node.name])(None)[0]
    return _joined(first, others[0], JOINTS[node.kind])(None)[0]


def _joined(first: JetFunction, second: JetFunction, joint: Callable[..., Jet]) -> JetFunction:
    return lambda z: joint(*first(z), *second(z))


def _called(inner: JetFunction, outer: Callable[[Any], Jet]) -> JetFunction:
    def value(z: Any) -> Jet:
        u, slope = inner(z)
        found, rate = outer(u)
        return found, rate * slope

    return value


def _power(inner: JetFunction, node: Node) -> JetFunction:
    whole = node.number.denominator == 1
    numerator, denominator = node.number.numerator, node.number.denominator

    def value(z: Any) -> Jet:
        u, slope = inner(z)
        exponent = numerator if whole else mpmath.mpf(numerator) / denominator
        return u**exponent, exponent * u ** (exponent - 1) * slope if exponent else 0

    return value


def _divided(u: Any, du: Any, v: Any, dv: Any) -> Jet:
    ratio = u / v
    return ratio, (du - ratio * dv) / v


def _tanh(u: Any) -> Jet:
    value = mpmath.tanh(u)
    return value, 1 - value * value


def _sigmoid(u: Any) -> Jet:
    value = 1 / (1 + mpmath.exp(-u))
    return value, value * (1 - value)


def _exp(u: Any) -> Jet:
    value = mpmath.exp(u)
    return value, value


def _sqrt(u: Any) -> Jet:
    value = mpmath.sqrt(u)
    return value, 1 / (2 * value)


_bell_height = _at_each_precision(lambda: 2 / mpmath.sqrt(mpmath.pi))


def _bell(u: Any) -> Any:
    return _bell_height() * mpmath.exp(-u * u)


JOINTS: dict[str, Callable[..., Jet]] = {
    "add": lambda u, du, v, dv: (u + v, du + dv),
    "multiply": lambda u, du, v, dv: (u * v, du * v + u * dv),
    "divide": _divided,
}
OUTER: dict[str, Callable[[Any], Jet]] = {
    "atan": lambda u: (mpmath.atan(u), 1 / (1 + u * u)),
    "cos": lambda u: (mpmath.cos(u), -mpmath.sin(u)),
    "cosh": lambda u: (mpmath.cosh(u), mpmath.sinh(u)),
    "erf": lambda u: (mpmath.erf(u), _bell(u)),
    "erfc": lambda u: (mpmath.erfc(u), -_bell(u)),
    "exp": _exp,
    "log": lambda u: (mpmath.log(u), 1 / u),
    "sigmoid": _sigmoid,
    "sin": lambda u: (mpmath.sin(u), mpmath.cos(u)),
    "sinh": lambda u: (mpmath.sinh(u), mpmath.cosh(u)),
    "sqrt": _sqrt,
    "tanh": _tanh,
}
