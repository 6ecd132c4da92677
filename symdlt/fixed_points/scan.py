"""The search for critical points with K* > 0, and their numbers to many digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.fixed_points.critical_points import CriticalPoint
from symdlt.fixed_points.kernel_curve import NOISE, KernelCurve, computed_twice, crossings, solved
from symdlt.fixed_points.kernel_map import KernelNumbers
from symdlt.precision import mp

# How far K is sought below the smallest and above the largest scale of the activation: where
# g' - d is a ten-thousandth of d, it has the sign that it has at the end.
BEYOND = 1e4
# Half of the digits with which a point is computed at least.
DECIDED = 1e-11
# Means of so small a part come from tails of the Gaussian that are known to few digits.
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
        """The K at which C_b is not negative if χ_⊥ is 1."""
        return tuple(K for K, numbers in self.grid if 0 < numbers.g <= K * numbers.d)


def _sign(numbers: KernelNumbers) -> int:
    mismatch = numbers.mismatch
    return 0 if abs(mismatch) < NOISE else 1 if mismatch > 0 else -1


def scan(pieces: tuple[SmoothPiece, ...], search: tuple[float, float] | None) -> Scan:
    """Look for the K at which the two susceptibilities agree, by their change of order on a grid.

    Args:
        pieces: of an activation that is continuous and not constant.
        search: the lowest and the highest K; the grid ends earlier where the means diverge.

    Raises:
        MeanError: if the means diverge at the lowest K already.
        ActivationError: if the activation is not real and finite somewhere.
    """
    curve = KernelCurve(pieces)
    low, high = search or (curve.scales[0] / BEYOND, curve.scales[1] * BEYOND)
    curve.at(low)
    grid, stopped = curve.grid(low, high)
    largest = max(curve.at(K).d for K in grid)
    grid = [K for K in grid if curve.at(K).d > FAINT * largest] or grid
    roots = crossings(lambda K: float(curve.at(K).mismatch), grid, NOISE)
    return Scan(tuple((K, curve.at(K)) for K in grid), tuple(roots), stopped, (low * high) ** 0.5)


def half_stable_point(
    pieces: tuple[SmoothPiece, ...], rough: float, digits: int, *, solve: bool = True
) -> CriticalPoint:
    """A critical point with K* > 0, computed twice; the difference is its error.

    Args:
        pieces: of the activation.
        rough: near K*.
        digits: how many to return; C_b may come out negative.
        solve: whether K* is to be found; otherwise it is what was given.

    Raises:
        SolutionError: if Newton's iteration does not settle.
    """
    found, errors = computed_twice(lambda working: _numbers(pieces, rough, working, solve), digits)
    decided = abs(found["a_1"] * found["K"]) > DECIDED
    side = "from above" if found["a_1"] < 0 else "from below"
    return CriticalPoint(
        **found,
        kernel_power=sp.Integer(2),
        perp_power=sp.Integer(1),
        stability="half-stable" if decided else "undecided",
        approached=side if decided else "undecided",
        errors=errors,
    )


def solved_point(pieces: tuple[SmoothPiece, ...], rough: Any, digits: int) -> Any:
    """K* to many digits, from a number near it."""
    return solved(pieces, rough, digits, lambda K, at: at.newton_step)[0]


def _numbers(
    pieces: tuple[SmoothPiece, ...], rough: Any, digits: int, solve: bool
) -> dict[str, Any]:
    step = (lambda K, at: at.newton_step) if solve else (lambda K, at: 0 * K)
    K, at = solved(pieces, rough, digits, step)
    with mp.workdps(digits):
        C_W = 1 / at.d
        return {
            "K": K,
            "C_b": K - at.next_kernel(0, C_W),
            "C_W": C_W,
            "chi_parallel": C_W * at.g_1,
            "chi_perp": C_W * at.d,
            "a_1": C_W * at.g_2 / 2,
            "b_1": C_W * at.d_1,
        }
