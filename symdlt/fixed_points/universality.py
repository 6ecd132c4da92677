"""From an activation to its universality class and its critical hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from numbers import Real
from reprlib import repr as short_repr
from typing import Any

import sympy as sp

from symdlt.activations import Activation
from symdlt.activations import activation as read_activation
from symdlt.activations.finiteness import check_growth, check_poles
from symdlt.activations.smooth_pieces import SmoothPiece, smooth_pieces, straight_slopes
from symdlt.errors import SolutionError
from symdlt.fixed_points.critical_points import (
    HALF_STABLE,
    NONE,
    SCALE_INVARIANT,
    ZERO,
    Criticality,
    CriticalPoint,
)
from symdlt.fixed_points.kernel_curve import NOISE
from symdlt.fixed_points.origin import Origin, origin_of, short
from symdlt.fixed_points.scan import Scan, half_stable_point, scan

DIGITS = 30
MOST_DIGITS = 300
# Squares of what floating point holds with room for sums.
LOWEST, HIGHEST = 1e-200, 1e200
ONE = sp.Integer(1)


def criticality(
    activation: Any, *, digits: int = DIGITS, search: Sequence[float] | None = None
) -> Criticality:
    r"""Whether a network can be critical, and at which $C_b$ and $C_W$.

    At a critical point the kernel is fixed, $K^* = C_b + C_W \langle\sigma\sigma\rangle_{K^*}$, and
    both susceptibilities are 1. The maps are those of the recursions of G and H; the class follows
    from the activation.

    Args:
        activation: a name such as "gelu", or an expression in z as text or from SymPy.
        digits: how many digits of what is not exact.
        search: the lowest and the highest K between which points with K* > 0 are sought; if it
            is not given, ten thousand times beyond the scales in the text of the activation.

    Returns:
        The class, all points found, and the reason if there is none.

    Raises:
        ActivationError: if the activation cannot be read, or is not finite at zero or elsewhere.
        SolutionError: if its Gaussian means diverge, or the digits or the range are unusable.

    >>> found = criticality("gelu", digits=12)
    >>> found.universality, found.points[0].K, found.points[0].C_b, found.points[0].C_W
    ('half-stable', 3.56155281281, 0.172922390756, 1.98305825744)
    >>> criticality("tanh").points[0].a_1
    -2
    """
    _check(digits, search)
    found = read_activation(activation)
    pieces = smooth_pieces(found)
    check_growth(pieces)
    check_poles(pieces)
    early = _without_scan(found, pieces)
    if early is not None:
        return Criticality(found.name, *early, None, digits)
    origin = origin_of(pieces)
    scanned = scan(pieces, None if search is None else (float(search[0]), float(search[1])))
    at_zero = [] if isinstance(origin, str) else [_point_at_zero(origin, scanned)]
    beyond = [half_stable_point(pieces, K, digits) for K in scanned.roots]
    if scanned.sign == 0 and isinstance(origin, str) and scanned.usable:
        nearest = min(max(scanned.middle, scanned.usable[0]), scanned.usable[-1])
        beyond.append(half_stable_point(pieces, nearest, digits, solve=False))
    usable = [point for point in beyond if point.C_b >= 0]
    reasons = [f"{origin}."] if isinstance(origin, str) else []
    reasons += [_negative_bias(point) for point in beyond if point.C_b < 0]
    reasons += [_unstable(point) for point in at_zero if point.stability == "unstable"]
    reasons += _about_scan(scanned, beyond)
    stable = [point for point in at_zero if point.stability == "stable"]
    universality = ZERO if stable else HALF_STABLE if usable else NONE
    points = (*stable, *usable, *(point for point in at_zero if point not in stable))
    return Criticality(found.name, universality, points, tuple(reasons), scanned.range, digits)


def _check(digits: Any, search: Any) -> None:
    if type(digits) is not int or not 1 <= digits <= MOST_DIGITS:
        raise SolutionError(
            f"{short_repr(digits)} is not a number of digits. It stands as digits in the call. "
            f"Give a whole number from 1 to {MOST_DIGITS}."
        )
    if search is None:
        return
    ends = list(search) if isinstance(search, list | tuple) else []
    real = all(isinstance(end, Real) and isfinite(end) for end in ends)
    if len(ends) != 2 or not real or not LOWEST <= ends[0] < ends[1] <= HIGHEST:
        raise SolutionError(
            f"{short_repr(search)} is not a range of K. It stands as search in the call. "
            f"Give the lowest and the highest K, from {LOWEST} to {HIGHEST}, such as (0.001, 1000)."
        )


def _without_scan(
    found: Activation, pieces: tuple[SmoothPiece, ...]
) -> tuple[str, tuple[CriticalPoint, ...], tuple[str, ...]] | None:
    """What is decided by the form of the activation alone."""
    jumps = found.kinks(0) if len(pieces) > 1 else ()
    if jumps:
        place, step = short(jumps[0].position), short(jumps[0].jumps[0])
        reason = (
            f"The activation jumps by {step} at z = {place}, so that <sigma' sigma'> diverges. "
            "No C_W then makes chi_perp 1."
        )
        return NONE, (), (reason,)
    if all(piece.constant for piece in pieces):
        return NONE, (), ("The activation is constant. chi_perp is then 0 for every C_W.",)
    if (slopes := straight_slopes(pieces)) is not None:
        return SCALE_INVARIANT, (_scale_invariant(*slopes),), ()
    return None


def _scale_invariant(left: Any, right: Any) -> CriticalPoint:
    return CriticalPoint(
        K=None,
        C_b=sp.Integer(0),
        C_W=sp.factor(2 / (left**2 + right**2)),
        chi_parallel=ONE,
        chi_perp=ONE,
        kernel_power=None,
        a_1=sp.Integer(0),
        perp_power=None,
        b_1=sp.Integer(0),
        stability="neutral",
        approached="every K stays",
    )


def _point_at_zero(origin: Origin, scanned: Scan) -> CriticalPoint:
    falling = origin.a < 0 if origin.power is not None else _falls(origin, scanned)
    stability = "undecided" if falling is None else "stable" if falling else "unstable"
    approached = {"stable": "from above", "unstable": "from nowhere", "undecided": "undecided"}
    return CriticalPoint(
        K=sp.Integer(0),
        C_b=sp.Integer(0),
        C_W=origin.C_W,
        chi_parallel=ONE,
        chi_perp=ONE,
        kernel_power=origin.power,
        a_1=origin.a,
        perp_power=origin.perpendicular_power,
        b_1=origin.b,
        stability=stability,
        approached=approached[stability],
    )


def _falls(origin: Origin, scanned: Scan) -> bool | None:
    """Whether small kernels shrink, from the first K of the grid at which they move."""
    for K, numbers in scanned.grid:
        change = float(origin.C_W) * numbers.g / K - 1
        if abs(change) > NOISE:
            return bool(change < 0)
    return None


def _about_scan(scanned: Scan, beyond: list[CriticalPoint]) -> list[str]:
    low, high = (f"{end:g}" for end in scanned.range)
    said = []
    if not beyond and scanned.sign in (-1, 1):
        relation = "below" if scanned.sign < 0 else "above"
        said.append(
            f"For every K from {low} to {high} chi_parallel is {relation} chi_perp, so that no C_W "
            "makes both 1."
        )
    if scanned.sign == 0:
        said.append(
            f"At every K from {low} to {high} chi_parallel equals chi_perp; "
            + (
                f"C_b >= 0 then for K from {scanned.usable[0]:g} to {scanned.usable[-1]:g}, and "
                "each such K can be K*."
                if scanned.usable
                else "but C_b would be negative."
            )
        )
    if scanned.stopped:
        said.append(f"The search ended at K = {high}. {scanned.stopped}.")
    return said


def _negative_bias(point: CriticalPoint) -> str:
    K, C_b = (f"{float(x):.6g}" for x in (point.K, point.C_b))
    return f"At K = {K} both susceptibilities are 1, but C_b = {C_b} is negative there."


def _unstable(point: CriticalPoint) -> str:
    return (
        f"The fixed point K* = 0 is unstable: a_1 = {short(point.a_1)} is positive, and a small "
        "kernel grows away from it."
    )
