"""Activations that are not in the plain K* = 0 class: where their critical point lies."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from symdlt.activations import Activation
from symdlt.activations.exact_numbers import is_positive
from symdlt.activations.smooth_pieces import smooth_pieces
from symdlt.asymptotics.classes import (
    ELSEWHERE,
    KINKED,
    MARGINAL,
    Universality,
    shown,
)
from symdlt.asymptotics.half_stable import half_stable
from symdlt.asymptotics.kinked_means import first_jump
from symdlt.errors import SolutionError
from symdlt.fixed_points.critical_points import HALF_STABLE
from symdlt.fixed_points.number_text import short
from symdlt.fixed_points.origin import Origin, origin_of


def with_critical_point(universality: Universality) -> Universality:
    """The class with its critical point, if `classify` has left that open.

    Args:
        universality: a class, or an activation that is not in the plain K* = 0 one.

    Raises:
        SolutionError: if there is no critical point, or its expansion is not one that is solved.
    """
    named = universality.activation
    if named is None or universality.kind not in (ELSEWHERE, KINKED, MARGINAL):
        return universality
    if universality.kind == ELSEWHERE:
        return _half_stable(universality, named, universality.reason)
    pieces = smooth_pieces(named)
    origin = origin_of(pieces)
    if isinstance(origin, str):
        return _half_stable(
            universality, named, f"{shown(named)} is not in the K*=0 class: {origin}."
        )
    if origin.power is None:
        raise SolutionError(
            f"The kernel of {shown(named)} does not move at the orders of K that are looked at. "
            "Its Taylor series at zero is like that of a linear function. "
            "Give an activation that is less flat."
        )
    if is_positive(origin.a):
        reason = (
            f"{shown(named)} is not in the K*=0 class: K' - K = {short(origin.a)} "
            f"K^({origin.power}) is positive. The fixed point K* = 0 is unstable."
        )
        return _half_stable(universality, named, reason)
    if universality.kind == KINKED:
        return _kinked(universality, named, origin)
    return replace(universality, a_1=origin.a, rate=int(origin.power) - 1)


def _half_stable(universality: Universality, named: Activation, reason: str) -> Universality:
    point = half_stable(named, reason)
    return replace(universality, name=HALF_STABLE, kind=HALF_STABLE, point=point, a_1=point.a_1)


def _kinked(universality: Universality, named: Activation, origin: Origin) -> Universality:
    jump = first_jump(smooth_pieces(named))
    if jump not in (1, 2) or origin.power != sp.Rational(3, 2):
        raise SolutionError(
            f"{shown(named)} has a kink at zero at which derivative {jump} is the first to jump, "
            f"and its kernel moves at order K^({origin.power}). Only kinks whose first or second "
            "derivative jumps and moves the kernel at order K^(3/2) are solved here. "
            "Give a smooth activation, or one such as elu or selu."
        )
    name = f"K*=0, jump in sigma{jump * chr(39)}"
    return replace(universality, name=name, a_1=origin.a, jump=jump)
