"""The search for critical points with K* > 0, and their numbers to many digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt

import sympy as sp

from symdlt.fixed_points.critical_points import CriticalPoint
from symdlt.fixed_points.kernel_curve import (
    NOISE,
    Curve,
    NumbersAt,
    computed_twice,
    crossings,
    solved,
)
from symdlt.fixed_points.kernel_map import KernelNumbers
from symdlt.precision import AnyPrecision, mp

# How far K is sought below the smallest and above the largest scale of the activation: where
# g' - d is a ten-thousandth of d, it has the sign that it has at the end.
BEYOND = 1e4
# Half of the digits with which a point is computed at least.
DECIDED = 1e-11
# Means of so small a part of one between the scales of the activation come from tails of the
# Gaussian that are known to few digits. Far above, as of exp, they may be larger by any factor.
FAINT = 1e-60


@dataclass(frozen=True, slots=True)
class Scan:
    """The kernel map on a grid of K.

    Attributes:
        grid: each K with g, d and their derivatives, in floating point.
        roots: where the two susceptibilities agree, roughly.
        stopped: why the grid ends before the range that was asked for, or None.
        middle: of that range, between the scales of the activation.
    """

    grid: tuple[tuple[float, KernelNumbers], ...]
    roots: tuple[float, ...]
    stopped: str | None
    middle: float

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest K of the grid."""
        return self.grid[0][0], self.grid[-1][0]

    @property
    def sign(self) -> int:
        """Whether χ_∥ − χ_⊥ is positive or negative all over, or zero, or (2) neither."""
        signs = {_sign(numbers) for _, numbers in self.grid} - {0}
        return 2 if len(signs) == 2 else signs.pop() if signs else 0

    @property
    def usable(self) -> tuple[float, ...]:
        """The K at which neither bias nor weight is negative if χ_⊥ is 1."""
        return tuple(K for K, numbers in self.grid if numbers.allowed(K))


def _sign(numbers: KernelNumbers) -> int:
    mismatch = numbers.mismatch
    return 0 if abs(mismatch) < NOISE else 1 if mismatch > 0 else -1


def scan(curve: Curve, search: tuple[float, float] | None) -> Scan:
    """Look for the K at which the two susceptibilities agree, by their change of order on a grid.

    Args:
        curve: of a layer whose functions are continuous and not constant.
        search: the lowest and the highest K; the grid ends earlier where the means diverge.

    Raises:
        MeanError: if the means diverge at the lowest K already.
        ActivationError: if the activation is not real and finite somewhere.
    """
    low, high = search or (curve.scales[0] / BEYOND, curve.scales[1] * BEYOND)
    curve.at(low)
    grid, stopped = curve.grid(low, high)
    between = sqrt(curve.scales[0] * curve.scales[1])
    usual = curve.at(min(grid, key=lambda K: abs(log(K / between)))).d
    grid = [K for K in grid if curve.at(K).d > FAINT * usual] or grid
    roots = crossings(lambda K: float(curve.at(K).mismatch), grid, NOISE)
    return Scan(tuple((K, curve.at(K)) for K in grid), tuple(roots), stopped, (low * high) ** 0.5)


@dataclass(frozen=True, slots=True)
class Beyond:
    """What a search for points with K* > 0 has found.

    Attributes:
        scanned: the grid.
        points: those that networks have.
        refused: why others are none.
        about: what the search itself says, sentences.
    """

    scanned: Scan
    points: tuple[CriticalPoint, ...]
    refused: tuple[str, ...]
    about: tuple[str, ...]


def points_beyond(
    curve: Curve,
    numbers_to: Callable[[int], NumbersAt],
    symbols: tuple[str | None, str],
    search: tuple[float, float] | None,
    digits: int,
    *,
    alone: bool,
) -> Beyond:
    """The critical points with K* > 0.

    Args:
        curve: the kernel map in floating point.
        numbers_to: the same to so many digits.
        symbols: what the layer calls C_b, None if it has no biases, and C_W.
        search: the lowest and the highest K, or None.
        digits: how many to return.
        alone: whether a point is wanted where both susceptibilities agree all over.

    Raises:
        MeanError: if the means diverge at the lowest K already.
        ActivationError: if the activation is not real and finite somewhere.
        SolutionError: if Newton's iteration does not settle.
    """
    scanned = scan(curve, search)
    found = [_half_stable_point(numbers_to, K, digits, symbols) for K in scanned.roots]
    if scanned.sign == 0 and alone and scanned.usable:
        nearest = min(max(scanned.middle, scanned.usable[0]), scanned.usable[-1])
        found.append(_half_stable_point(numbers_to, nearest, digits, symbols, solve=False))
    refused = {k: why for k, point in enumerate(found) if (why := _unusable(point, symbols))}
    usable = tuple(point for k, point in enumerate(found) if k not in refused)
    about = _about(scanned, bool(found), symbols)
    return Beyond(scanned, usable, tuple(refused.values()), about)


def _half_stable_point(
    numbers_to: Callable[[int], NumbersAt],
    rough: float,
    digits: int,
    symbols: tuple[str | None, str],
    *,
    solve: bool = True,
) -> CriticalPoint:
    """A critical point with K* > 0, computed twice; the difference is its error.

    Bias and weight may come out negative; without `solve` K* is what was given.
    """
    step = (lambda K, at: at.newton_step) if solve else (lambda K, at: 0 * K)

    def compute(near: AnyPrecision, working: int) -> dict[str, AnyPrecision]:
        K, at = solved(numbers_to(working), near, working, step)
        with mp.workdps(working):
            weight = at.critical_weight
            return {
                "K": K,
                "C_b": at.critical_bias(K),
                "C_W": weight,
                "chi_parallel": at.chi_parallel(weight),
                "chi_perp": at.chi_perp(weight),
                "a_1": (weight * at.g_2 + at.kept[2]) / 2,
                "b_1": weight * at.d_1 + at.moved[1],
            }

    numbers, errors = computed_twice(compute, rough, digits)
    called: dict[str, str | None] = dict(zip(("C_b", "C_W"), symbols, strict=True))
    names = [(called.get(name, name), error) for name, error in errors]
    decided = abs(numbers["a_1"] * numbers["K"]) > DECIDED
    side = "from above" if numbers["a_1"] < 0 else "from below"
    return CriticalPoint(
        **numbers,
        kernel_power=sp.Integer(2),
        perp_power=sp.Integer(1),
        stability="half-stable" if decided else "undecided",
        approached=side if decided else "undecided",
        errors=tuple((name, error) for name, error in names if name is not None),
        symbols=symbols,
    )


def _unusable(point: CriticalPoint, symbols: tuple[str | None, str]) -> str:
    """Why no network has a point of the scan, or nothing if one has."""
    assert point.K is not None  # of a scan
    called, named = symbols
    K, bias, weight = (f"{float(x):.6g}" for x in (point.K, point.C_b, point.C_W))
    if point.C_W <= 0:
        return f"At K = {K} both susceptibilities are 1, but {named} = {weight} there."
    if called is None and abs(point.C_b) > DECIDED * point.K:
        return (
            f"At K = {K} both susceptibilities are 1, but K is no fixed point there: it lacks a "
            f"constant of {bias}."
        )
    if called is not None and point.C_b < 0:
        return f"At K = {K} both susceptibilities are 1, but {called} = {bias} is negative there."
    return ""


def _about(scanned: Scan, found: bool, symbols: tuple[str | None, str]) -> tuple[str, ...]:
    bias, weight = symbols
    low, high = (f"{end:g}" for end in scanned.range)
    said = []
    if not found and scanned.sign in (-1, 1):
        relation = "below" if scanned.sign < 0 else "above"
        said.append(
            f"For every K from {low} to {high} chi_parallel is {relation} chi_perp, so that no "
            f"{weight} makes both 1."
        )
    if scanned.sign == 0:
        said.append(
            f"At every K from {low} to {high} chi_parallel equals chi_perp; "
            + (
                f"{bias} >= 0 then for K from {scanned.usable[0]:g} to "
                f"{scanned.usable[-1]:g}, and each such K can be K*."
                if scanned.usable
                else f"but {bias or weight} would be negative."
            )
        )
    if scanned.stopped:
        said.append(f"The search ended at K = {high}. {scanned.stopped}.")
    return tuple(said)
