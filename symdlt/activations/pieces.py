"""Activations with kinks as smooth pieces between exact breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import sympy as sp

from symdlt.activations.exact_numbers import is_zero
from symdlt.activations.functions import FUNCTIONS, TABLE
from symdlt.activations.grammar import rule
from symdlt.activations.nodes import Node
from symdlt.activations.nodes import Z as ARGUMENT
from symdlt.activations.series import series
from symdlt.activations.sympy_form import Z, expression
from symdlt.errors import ActivationError
from symdlt.precision import Precise, modules, mp

# Bounds against activations whose pieces nobody waits for.
MOST_PIECES = 64
HIGHEST_DEGREE = 20  # of polynomials whose roots are looked for
INVERSES = {getattr(sp, name): getattr(sp, f.inverse) for name, f in FUNCTIONS.items() if f.inverse}


@dataclass(frozen=True, slots=True)
class Piece:
    """A smooth function from a point up to where the next piece starts.

    Attributes:
        start: an exact SymPy number, or minus infinity.
        node: the function.
    """

    start: sp.Expr
    node: Node


@dataclass(frozen=True, slots=True)
class Kink:
    r"""A point at which a derivative of the activation jumps.

    Attributes:
        position: the point, an exact SymPy number.
        jumps: $\sigma^{(k)}(z+0) - \sigma^{(k)}(z-0)$ for k = 0, 1, …, exact SymPy numbers.
    """

    position: sp.Expr
    jumps: tuple[sp.Expr, ...]

    @property
    def order(self) -> int:
        """The lowest derivative that jumps: 0 for a jump of the activation, 1 for a kink."""
        return next(k for k, jump in enumerate(self.jumps) if jump != 0)


def pieces(node: Node) -> tuple[Piece, ...]:
    """The smooth pieces of a function, from left to right.

    Raises:
        ActivationError: if it cannot be told where a condition changes.

    >>> from symdlt.activations.grammar import parse
    >>> [str(piece.start) for piece in pieces(parse("max(-1, min(z**2 - 2, 1))"))]
    ['-oo', '-sqrt(3)', '-1', '1', 'sqrt(3)']
    """
    return tuple(_pieces(node, -sp.oo, sp.oo, {"z": [Piece(-sp.oo, ARGUMENT)]}))


def kinks(node: Node, order: int) -> tuple[Kink, ...]:
    """The points where a derivative up to an order jumps, from left to right.

    Raises:
        ActivationError: if they cannot be found, or a piece is not smooth up to its ends.
    """
    listed = []
    parts = pieces(node)
    for left, right in pairwise(parts):
        before, after = (_derivatives(part.node, order, right.start) for part in (left, right))
        jumps = tuple(b - a for a, b in zip(before, after, strict=True))
        jumps = tuple(sp.Integer(0) if is_zero(jump) else jump for jump in jumps)
        if any(jump != 0 for jump in jumps):
            listed.append(Kink(right.start, jumps))
    return tuple(listed)


def _derivatives(node: Node, order: int, point: sp.Expr) -> list[sp.Expr]:
    try:
        return [sp.factorial(k) * c for k, c in enumerate(series(node, order, point))]
    except ActivationError as problem:
        raise ActivationError(
            f"A piece of the activation is not smooth up to its end at z = {point}. "
            "Its derivatives are needed there from both sides. Give other pieces."
        ) from problem


def _pieces(
    node: Node, start: sp.Expr, end: sp.Expr, variables: Mapping[str, list[Piece]]
) -> list[Piece]:
    """The pieces of a function in an open interval, from those of its variables."""
    if node.kind == "variable":
        return variables[node.name]
    if not node.children:
        return [Piece(start, node)]
    inner = [_pieces(child, start, end, variables) for child in node.children]
    if node.kind == "call" and not TABLE[node.name].slope:
        return _pieces(
            rule(TABLE[node.name].form), start, end, dict(zip("uv", inner, strict=False))
        )
    parts: list[Piece] = []
    for begin, stop, nodes in _merged(inner, end):
        if node.kind == "where":
            parts += _chosen(begin, stop, *nodes)
        else:
            parts.append(Piece(begin, Node(node.kind, tuple(nodes), node.number, node.name)))
    joined = [p for k, p in enumerate(parts) if not k or p.node != parts[k - 1].node]
    if len(joined) > MOST_PIECES:
        raise ActivationError(
            f"The activation has more than {MOST_PIECES} pieces. They come from its conditions, "
            "relu, abs, max and min. Give a function with fewer."
        )
    return joined


def _merged(
    parts: list[list[Piece]], end: sp.Expr
) -> Iterator[tuple[sp.Expr, sp.Expr, list[Node]]]:
    """The intervals on which no part changes its piece, each with the pieces that hold there."""
    starts = _ascending([piece.start for part in parts for piece in part])
    for begin, stop in zip(starts, [*starts[1:], end], strict=True):
        yield begin, stop, [[p.node for p in part if p.start <= begin][-1] for part in parts]


def _chosen(start: sp.Expr, end: sp.Expr, u: Node, below: Node, above: Node) -> Iterator[Piece]:
    """The pieces of a function that is chosen by the sign of a smooth one."""
    condition = expression(u)
    zeros = [x for x in roots(condition) if start < x < end]
    starts = _ascending([start, *zeros])
    if condition.has(sp.zoo, sp.nan, sp.oo, -sp.oo):
        raise ActivationError(
            f"A condition of the activation is not finite: {str(condition)[:40]}. "
            "It decides where pieces meet. Give thresholds that are finite numbers."
        )
    function = sp.lambdify(Z, condition, modules())
    for begin, stop in zip(starts, [*starts[1:], end], strict=True):
        value = _value(function, _between(begin, stop))
        if value is None:
            raise ActivationError(
                f"The condition {condition} < 0 of the activation is not a real one everywhere. "
                f"It fails between z = {begin} and {stop}. Give a function that is real there."
            )
        yield Piece(begin, below if value < 0 else above)


def _value(function: Callable[[Precise], Precise], point: sp.Rational) -> Precise | None:
    """The value of a function at a rational number, or None if it is not real."""
    with mp.workdps(50):
        try:
            value = mp.mpmathify(function(mp.mpf(point.p) / point.q))
        except (ZeroDivisionError, OverflowError, ValueError):
            return None
    return value if isinstance(value, mp.mpf) and mp.isfinite(value) else None


def roots(function: sp.Expr) -> list[sp.Expr]:
    """Where a function of z may vanish: all such points, and perhaps more.

    Raises:
        ActivationError: if it cannot be told.
    """
    return _roots(function, sp.Integer(0))


def _roots(function: sp.Expr, value: sp.Expr) -> list[sp.Expr]:
    """Where a function takes a value, with its poles and the ends of its domain, or more points."""
    if not function.has(Z):
        return []
    if function.is_polynomial(Z):
        return _polynomial_roots(function - value)
    independent, rest = function.as_independent(Z, as_Add=function.is_Add)
    if function.is_Add and independent != 0:
        return _roots(rest, value - independent)
    if function.is_Mul and value == 0:
        return [x for factor in rest.as_ordered_factors() for x in _roots(factor, value)]
    if function.is_Mul and independent != 1:
        return _roots(rest, value / independent)
    inner = function.args[0]
    if isinstance(function, sp.Pow) and value == 0:
        return _roots(inner, value)
    if isinstance(function, sp.Pow) and function.exp == -1:
        return _roots(inner, sp.Integer(0)) + _roots(inner, 1 / value)
    if isinstance(function, sp.log):
        return _roots(inner, sp.Integer(0)) + _roots(inner, sp.exp(value))
    if function.func in INVERSES:
        source = INVERSES[function.func](value)
        return _roots(inner, source if source.is_real else sp.Integer(0))
    raise ActivationError(
        f"It cannot be told where {function} is {value}. There the activation would change its "
        "form. Use conditions, relu, abs, max and min of polynomials or of monotonic functions."
    )


def _polynomial_roots(function: sp.Expr) -> list[sp.Expr]:
    polynomial = sp.Poly(function, Z)
    if polynomial.degree() < 1:
        return []
    if polynomial.degree() == 1:
        slope, constant = polynomial.all_coeffs()
        return [-constant / slope]
    rational = polynomial.domain.is_QQ or polynomial.domain.is_ZZ
    if rational and polynomial.degree() <= HIGHEST_DEGREE:
        return list(dict.fromkeys(sp.real_roots(polynomial)))
    if polynomial.degree() == 2:
        return [x for x in sp.roots(polynomial) if x.is_real]
    raise ActivationError(
        f"It cannot be told where {function} vanishes. There the activation would change its "
        f"form. Write rational coefficients and a degree of at most {HIGHEST_DEGREE}."
    )


def _ascending(points: list[sp.Expr]) -> list[sp.Expr]:
    places: list[sp.Expr] = []
    for point in sorted(points, key=sp.N):
        if not places or (point != places[-1] and not is_zero(point - places[-1])):
            places.append(point)
    return places


def _between(start: sp.Expr, end: sp.Expr) -> sp.Rational:
    """A rational number in an open interval."""
    if start == -sp.oo:
        return sp.Integer(0) if end == sp.oo else _whole(end) - 1
    return _whole(start) + 1 if end == sp.oo else sp.Rational(str(((start + end) / 2).evalf(25)))


def _whole(exact: sp.Expr) -> sp.Integer:
    """The integer part of a number; SymPy 1.12 finds none for roots of polynomials."""
    return sp.floor(sp.N(exact, 25))
