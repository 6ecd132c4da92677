"""The search for critical points with K* > 0, and their numbers to many digits."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.fixed_points.critical_points import CriticalPoint
from symdlt.fixed_points.kernel_curve import NOISE, KernelCurve, computed_twice, crossings, solved
from symdlt.fixed_points.kernel_map import KernelMap, KernelNumbers
from symdlt.precision import AnyPrecision, mp

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
        """The K at which neither bias nor weight is negative if χ_⊥ is 1."""
        return tuple(K for K, numbers in self.grid if numbers.allowed(K))


def _sign(numbers: KernelNumbers) -> int:
    mismatch = numbers.mismatch
    return 0 if abs(mismatch) < NOISE else 1 if mismatch > 0 else -1


def scan(
    pieces: tuple[SmoothPiece, ...], search: tuple[float, float] | None, maps: KernelMap
) -> Scan:
    """Look for the K at which the two susceptibilities agree, by their change of order on a grid.

    Args:
        pieces: of an activation that is continuous and not constant.
        search: the lowest and the highest K; the grid ends earlier where the means diverge.
        maps: of the layer.

    Raises:
        MeanError: if the means diverge at the lowest K already.
        ActivationError: if the activation is not real and finite somewhere.
    """
    curve = KernelCurve(pieces, maps)
    low, high = search or (curve.scales[0] / BEYOND, curve.scales[1] * BEYOND)
    curve.at(low)
    grid, stopped = curve.grid(low, high)
    largest = max(curve.at(K).d for K in grid)
    grid = [K for K in grid if curve.at(K).d > FAINT * largest] or grid
    roots = crossings(lambda K: float(curve.at(K).mismatch), grid, NOISE)
    return Scan(tuple((K, curve.at(K)) for K in grid), tuple(roots), stopped, (low * high) ** 0.5)


def half_stable_point(
    pieces: tuple[SmoothPiece, ...],
    rough: float,
    digits: int,
    maps: KernelMap,
    *,
    solve: bool = True,
) -> CriticalPoint:
    """A critical point with K* > 0, computed twice; the difference is its error.

    Args:
        pieces: of the activation.
        rough: near K*.
        digits: how many to return; bias and weight may come out negative.
        maps: of the layer.
        solve: whether K* is to be found; otherwise it is what was given.

    Raises:
        SolutionError: if Newton's iteration does not settle.
    """
    step = (lambda K, at: at.newton_step) if solve else (lambda K, at: 0 * K)

    def compute(near: AnyPrecision, working: int) -> dict[str, AnyPrecision]:
        K, at = solved(pieces, near, working, step, maps)
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
    called: dict[str, str | None] = {"C_b": maps.bias, "C_W": maps.weight}
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
        symbols=(maps.bias, maps.weight),
    )
