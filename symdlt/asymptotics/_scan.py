"""The search for critical points with K* > 0, and their numbers to many digits."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log10
from typing import Any

import mpmath
import sympy as sp

from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.asymptotics._critical_points import CriticalPoint
from symdlt.asymptotics._gaussian_means import GaussianMeans, MeanError
from symdlt.asymptotics._kernel_map import KernelNumbers, kernel_map, numbers_at
from symdlt.errors import SolutionError

ROUGH = 9
NOISE = 1e-8
POINTS_PER_DECADE = 8
MOST_STEPS = 60
GUARD = 4


@dataclass(frozen=True, slots=True)
class Scan:
    """The kernel map on a grid of K.

    Attributes:
        grid: each K with g, d and their derivatives, in floating point.
        roots: where the two susceptibilities agree, roughly.
        stopped: why the grid ends before the range that was asked for, or None.
    """

    grid: tuple[tuple[float, KernelNumbers], ...]
    roots: tuple[float, ...]
    stopped: str | None

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
        return tuple(K for K, numbers in self.grid if numbers.g <= K * numbers.d)


def _sign(numbers: KernelNumbers) -> int:
    mismatch = numbers.mismatch
    return 0 if abs(mismatch) < NOISE else 1 if mismatch > 0 else -1


def scan(pieces: tuple[SmoothPiece, ...], low: float, high: float) -> Scan:
    """Look for the K at which the two susceptibilities agree, by their change of order on a grid.

    Args:
        pieces: of an activation that is continuous and not constant.
        low: the lowest K.
        high: the highest K; the grid ends earlier where the means diverge.

    Raises:
        MeanError: if the means diverge or do not settle at the lowest K already.
        ActivationError: if the activation is not real and finite somewhere.
    """
    means = GaussianMeans(pieces, kernel_map().products, ROUGH)
    count = max(2, ceil(POINTS_PER_DECADE * log10(high / low)))
    grid: list[tuple[float, KernelNumbers]] = []
    stopped = None
    for k in range(count + 1):
        K = low * (high / low) ** (k / count)
        try:
            grid.append((K, numbers_at(K, means(K))))
        except MeanError as problem:
            if not grid:
                raise
            stopped = str(problem).partition(". ")[0]
            break
    roots = [_bisected(means, a, b) for a, b in _brackets(grid)]
    return Scan(tuple(grid), tuple(roots), stopped)


def _brackets(grid: list[tuple[float, KernelNumbers]]) -> list[tuple[float, float]]:
    """Neighbours on the grid, or with one point between them on a root, of opposite sign."""
    found = []
    signs = [_sign(numbers) for _, numbers in grid]
    for k in range(len(grid) - 1):
        after = k + 1 if signs[k + 1] or k + 2 == len(grid) else k + 2
        if signs[k] * signs[after] < 0:
            found.append((grid[k][0], grid[after][0]))
    return found


def _bisected(means: GaussianMeans, low: float, high: float) -> float:
    """Close enough to the zero of χ_∥ − χ_⊥ for Newton's iteration."""
    below = numbers_at(low, means(low)).mismatch
    for _ in range(MOST_STEPS):
        middle = (low * high) ** 0.5
        numbers = numbers_at(middle, means(middle))
        step = numbers.newton_step
        if abs(step) < 1e-3 * middle and low < middle + step < high:
            return float(middle + step)
        if numbers.mismatch * below > 0:
            low = middle
        else:
            high = middle
    return float((low * high) ** 0.5)


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
    working = max(digits, 2 * ROUGH) + GUARD
    first = _solved(pieces, mpmath.mpf(rough), working, solve)
    second = _solved(pieces, first["K"], 2 * working, solve)
    with mpmath.workdps(2 * working):
        errors = tuple((name, sp.Float(abs(second[name] - first[name]), 2)) for name in first)
        rounded = {name: sp.Float(value, digits) for name, value in second.items()}
    decided = abs(second["a_1"]) > mpmath.mpf(10) ** (-working / 2)
    side = "from above" if second["a_1"] < 0 else "from below"
    return CriticalPoint(
        **rounded,
        kernel_power=sp.Integer(2),
        perp_power=sp.Integer(1),
        stability="half-stable" if decided else "undecided",
        approached=side if decided else "undecided",
        errors=errors,
    )


def solved_point(pieces: tuple[SmoothPiece, ...], K: Any, digits: int) -> Any:
    """K* to many digits.

    Args:
        pieces: of the activation.
        K: near K*, a number of mpmath.
        digits: how many digits to work with.

    Raises:
        SolutionError: if Newton's iteration does not settle.
    """
    return _solved(pieces, K, digits, True)["K"]


def _solved(pieces: tuple[SmoothPiece, ...], K: Any, digits: int, solve: bool) -> dict[str, Any]:
    means = GaussianMeans(pieces, kernel_map().products, digits)
    with mpmath.workdps(digits):
        if not solve:
            return _numbers(K, numbers_at(K, means(K)))
        for _ in range(MOST_STEPS):
            step = numbers_at(K, means(K)).newton_step
            K = K + step
            if abs(step) < abs(K) * mpmath.mpf(10) ** (-digits / 2 - 1):
                return _numbers(K, numbers_at(K, means(K)))
    raise SolutionError(
        f"The critical point near K = {mpmath.nstr(K, 6)} is not found to {digits} digits. "
        "There chi_parallel and chi_perp touch rather than cross. Give fewer digits."
    )


def _numbers(K: Any, at: KernelNumbers) -> dict[str, Any]:
    C_W = 1 / at.d
    return {
        "K": K,
        "C_b": K - C_W * at.g,
        "C_W": C_W,
        "chi_parallel": C_W * at.g_1,
        "chi_perp": C_W * at.d,
        "a_1": C_W * at.g_2 / 2,
        "b_1": C_W * at.d_1,
    }
