"""Whether an activation has Gaussian means at all: its poles, and how fast it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import sympy as sp

from symdlt.activations.functions import FUNCTIONS
from symdlt.activations.nodes import Node
from symdlt.activations.pieces import roots
from symdlt.activations.series import Jet, series
from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.activations.sympy_form import Z, expression
from symdlt.errors import ActivationError, SolutionError
from symdlt.precision import Precise, modules
from symdlt.precision import mp as mpmath

SINGULAR = {name for name, function in FUNCTIONS.items() if function.positive}
# Where growth is looked at, by convention.
FAR = (64, 1000, 10**6)
# log|exp(c z^2)| grows fourfold as z doubles; the rest leaves room for factors beside it.
STEEP = 4.5
# Changes of sign are sought at |z| < NEAR, DENSITY points a unit, moved off the integers.
NEAR, DENSITY, OFFSET = 30, 16, 0.01
# A value at a pole that was found in double precision is larger than that.
HUGE = 1e10


def check_growth(pieces: tuple[SmoothPiece, ...]) -> None:
    """Refuse what grows faster than the exponential of any multiple of z².

    Where log|σ| grows more than fourfold as z doubles, Gaussian means diverge at every K, while
    sums over nodes near zero would still settle.

    Raises:
        SolutionError: if it does.
    """
    for sign, piece in ((-1, pieces[0]), (1, pieces[-1])):
        for place in FAR:
            near, far = (_logarithm(piece.values, sign * z) for z in (place // 2, place))
            if far > 10 and far > STEEP * near:
                raise SolutionError(
                    "The Gaussian means of the activation diverge. It grows faster than "
                    f"exp(c z^2) for every c, as it does near z = {sign * place}. "
                    "Give an activation that grows slower."
                )


def _logarithm(values: Jet, z: int) -> Precise:
    """The logarithm of |σ|, at least 1; infinite where it is too large for a number."""
    with mpmath.workdps(15):
        try:
            size = abs(values(mpmath.mpf(z))[0])
            return max(mpmath.log(size), 1) if size > 0 else 1
        except (OverflowError, MemoryError):
            return mpmath.inf
        except (ZeroDivisionError, ValueError):
            return 1


def check_poles(pieces: tuple[SmoothPiece, ...]) -> None:
    """Refuse poles on the real axis, which a Gaussian of small variance would hide.

    Zeros of denominators that are not found exactly are sought by their change of sign.

    Raises:
        ActivationError: if the activation is not finite at a point.
    """
    ends = [*(piece.start for piece in pieces), sp.oo]
    for (start, end), piece in zip(pairwise(ends), pieces, strict=True):
        for denominator in _denominators(piece.node):
            for place in _real_zeros(denominator):
                if start <= place <= end:
                    _check_finite_at(piece, place)


def _denominators(node: Node) -> Iterator[Node]:
    if node.kind == "divide":
        yield node.children[1]
    elif node.number < 0 if node.kind == "power" else node.name in SINGULAR:
        yield node.children[0]
    for child in node.children:
        yield from _denominators(child)


def _real_zeros(node: Node) -> list[sp.Expr]:
    try:
        return [place for place in roots(expression(node)) if place.is_real]
    except ActivationError:
        return _changes_of_sign(sp.lambdify(Z, expression(node), modules()))


def _changes_of_sign(function: Callable[[Precise], Precise]) -> list[sp.Float]:
    points = [mpmath.mpf(k) / DENSITY + OFFSET for k in range(-NEAR * DENSITY, NEAR * DENSITY)]
    values = [mpmath.re(function(point)) for point in points]
    return [
        sp.Float(mpmath.findroot(function, pair, solver="anderson", verify=False))
        for pair, (a, b) in zip(pairwise(points), pairwise(values), strict=True)
        if a * b < 0
    ]


def _check_finite_at(piece: SmoothPiece, place: sp.Expr) -> None:
    try:
        if not place.is_Float:
            series(piece.node, 1, place)
            return
        finite = abs(piece.values(place._to_mpmath(53))[0]) < HUGE
    except (ActivationError, ZeroDivisionError):
        finite = False
    if not finite:
        raise ActivationError(
            f"The activation is not finite at z = {sp.sstr(place)[:20]}. "
            "Gaussian means need it on the whole real axis. Give a function that is finite there."
        )
