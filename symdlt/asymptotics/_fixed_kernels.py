"""The fixed points of the kernel at any variances, and the one that a kernel goes to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, log
from typing import Any

import mpmath
import sympy as sp

from symdlt.activations.exact_numbers import is_zero
from symdlt.activations.smooth_pieces import SmoothPiece, sides
from symdlt.asymptotics._gaussian_means import GaussianMeans, MeanError
from symdlt.asymptotics._kernel_map import KernelNumbers, kernel_map, numbers_at
from symdlt.asymptotics._phase_result import FixedKernel
from symdlt.asymptotics._scan import GUARD, MOST_STEPS, NOISE, ROUGH
from symdlt.errors import SolutionError

LOWEST, HIGHEST, FARTHEST = 1e-8, 1e4, 1e14
POINTS_PER_DECADE = 4
TOUCHING = 1e-11
HALVINGS = 28
HARDLY, FINER = 1e-2, 8
FAR = (mpmath.mpf(10) ** 20, mpmath.mpf(10) ** 40)
ENDS = (sp.Integer(0), sp.oo)

Variances = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Slopes:
    """The slopes of an activation to the left and to the right.

    Attributes:
        near: at zero, exact.
        far: σ(z)/z at large z; infinity if it grows, None if it does not settle.
        value: σ(0).
        scale_invariant: whether the activation is a straight line on each side of zero.
    """

    near: tuple[Any, Any]
    far: tuple[Any, Any]
    value: Any
    scale_invariant: bool

    def growth(self, C_W: Any) -> Any:
        """What a large kernel is multiplied by, or None if that is not known."""
        left, right = self.far
        if None in self.far:
            return None
        return sp.oo if sp.oo in self.far else C_W * (left**2 + right**2) / 2

    def decay(self, C_W: Any) -> Any:
        """What a small kernel is multiplied by, without biases."""
        return C_W * (self.near[0] ** 2 + self.near[1] ** 2) / 2


def slopes_of(pieces: tuple[SmoothPiece, ...]) -> Slopes:
    """The slopes at zero and far from it."""
    left, right = sides(pieces)
    value, slope = right.series(1)
    straight = all(piece.slope is not None for piece in pieces)
    return Slopes(
        near=(left.series(1)[1], slope),
        far=(_far_slope(pieces[0], -1), _far_slope(pieces[-1], 1)),
        value=sp.Integer(0) if is_zero(value) else value,
        scale_invariant=straight and all(piece.start in (-sp.oo, 0) for piece in pieces),
    )


def _far_slope(piece: SmoothPiece, sign: int) -> Any:
    if piece.slope is not None:
        return piece.slope
    with mpmath.workdps(60):
        try:
            near, far = (piece.values(sign * z)[0] / (sign * z) for z in FAR)
        except (OverflowError, MemoryError):
            return sp.oo
        except (ZeroDivisionError, ValueError):
            return None
        if abs(far - near) < 1e-9 * (1 + abs(far)):
            nearest = mpmath.nint(far)
            return sp.Integer(int(nearest)) if abs(far - nearest) < 1e-15 else sp.Float(far, 15)
        return sp.oo if abs(far) > 1.5 * abs(near) else None


def fixed_kernels(
    pieces: tuple[SmoothPiece, ...], C_W: Any, C_b: Any, start: float, digits: int
) -> tuple[list[FixedKernel], int]:
    """All fixed points in ascending order, and the number of the one that a kernel goes to.

    Args:
        pieces: of a continuous activation.
        C_W: the variance of the weights.
        C_b: the variance of the biases.
        start: the kernel of the first layer.
        digits: how many of what is not exact.

    Raises:
        SolutionError: if the Gaussian means diverge at the start, or no fixed point is found
            where there is one.
    """
    slopes = slopes_of(pieces)
    if slopes.scale_invariant:
        return [_scale_invariant(slopes, C_W, C_b, start)], 0
    search = _Search(pieces, C_W, C_b, slopes)
    try:
        rise = search.at(start)[0]
    except MeanError as reason:
        raise SolutionError(
            f"{str(reason).partition('. ')[0]}. The kernel starts from there. "
            "Give a smaller start, or an activation that grows slower."
        ) from None
    grid = search.grid(start)
    places = search.zeros(grid)
    found = [_numerical(pieces, place, (C_W, C_b), digits) for place in places]
    if C_b == 0 and slopes.value == 0:
        decay = slopes.decay(C_W)
        zero = sp.Integer(0)
        found.insert(0, FixedKernel(zero, decay, decay, zero))
        places.insert(0, (0.0, False))
    if grid[-1].excess > 0:
        found.append(_unbounded(slopes.growth(C_W), grid[-1].K))
        places.append((inf, False))
    ahead = [k for k, (K, _) in enumerate(places) if (K - start) * rise > 0]
    if abs(rise) < TOUCHING:
        ahead = [min(range(len(places)), key=lambda k: abs(log(max(places[k][0], LOWEST) / start)))]
    if not ahead:
        raise SolutionError(
            f"No fixed point of the kernel is found from K = {start:g} on. It was sought for K "
            f"from {grid[0].K:.3g} to {grid[-1].K:.3g}. Give another start, or another C_W."
        )
    return found, ahead[0] if rise > 0 or len(ahead) == 1 else ahead[-1]


def _unbounded(growth: Any, highest: float) -> FixedKernel:
    if growth is None or growth < 1:
        raise SolutionError(
            f"The kernel still grows at K = {highest:.3g}, and its rate is not known: there the "
            "Gaussian means end, or sigma(z)/z does not settle at large z. "
            "Give a smaller C_W, or another activation."
        )
    return FixedKernel(sp.oo, growth, growth, sp.oo)


def _scale_invariant(slopes: Slopes, C_W: Any, C_b: Any, start: float) -> FixedKernel:
    """K' = C_b + χ K, exactly."""
    factor = slopes.decay(C_W)
    if factor < 1:
        K = C_b / (1 - factor)
    elif factor == 1 and C_b == 0:
        K = sp.Float(start, 15)
    else:
        K = sp.oo
    return FixedKernel(K, factor, factor, K if K is sp.oo else K * factor / C_W)


@dataclass(frozen=True, slots=True)
class _Place:
    K: float
    excess: float
    slope: float


class _Search:
    """The excess C_b/K + C_W g/K − 1 of the next kernel, in floating point."""

    def __init__(self, pieces: tuple[SmoothPiece, ...], C_W: Any, C_b: Any, slopes: Slopes) -> None:
        self.C_W, self.C_b, self.slopes = float(C_W), float(C_b), slopes
        self.pieces = pieces
        self.forget()

    def forget(self) -> None:
        """Drop the nodes, of which some lie where the activation is too large for a number."""
        self.means = GaussianMeans(self.pieces, kernel_map().products, ROUGH)

    def at(self, K: float) -> tuple[float, float]:
        """By which part of itself a kernel grows, and the slope of that in log K."""
        numbers = numbers_at(K, self.means(K))
        ratio = (self.C_b + self.C_W * float(numbers.g)) / K
        return ratio - 1, self.C_W * float(numbers.g_1) - ratio

    def grid(self, start: float) -> list[_Place]:
        """The excess from low to high K, or to where the means end."""
        floor = self.C_b + self.C_W * float(self.slopes.value) ** 2
        K = min(floor / 4, start / 10) if floor else LOWEST
        growth = self.slopes.growth(sp.Float(self.C_W))
        bounded = growth is not None and growth < 1
        found: list[_Place] = []
        while K < HIGHEST or (bounded and found[-1].excess > 0 and K < FARTHEST):
            try:
                found.append(_Place(K, *self.at(K)))
            except MeanError:
                self.forget()
                break
            K *= 10 ** (1 / POINTS_PER_DECADE)
        return found

    def zeros(self, grid: list[_Place]) -> list[tuple[float, bool]]:
        """Where the excess changes its sign, or (True) touches zero."""
        touching, places = [], self._finer(grid)
        for low, high in pairwise(tuple(places)):
            if min(abs(low.slope), abs(high.slope)) > NOISE and low.slope * high.slope < 0:
                K = self._bisected(low.K, high.K, 1)
                place = _Place(K, *self.at(K))
                if abs(place.excess) < TOUCHING:
                    touching.append((K, True))
                else:
                    places.append(place)
        moving = sorted((p for p in places if abs(p.excess) > TOUCHING), key=lambda p: p.K)
        crossing = [
            (self._bisected(low.K, high.K, 0), False)
            for low, high in pairwise(moving)
            if low.excess * high.excess < 0
        ]
        return sorted([*touching, *crossing])

    def _finer(self, grid: list[_Place]) -> list[_Place]:
        """More places where the kernel hardly moves, and may cross the diagonal more than once."""
        found = grid[:1]
        for low, high in pairwise(grid):
            still = max(abs(x) for place in (low, high) for x in (place.excess, place.slope))
            if still < HARDLY and low.K > 100 * LOWEST:
                steps = [low.K * (high.K / low.K) ** (k / FINER) for k in range(1, FINER)]
                found += [_Place(K, *self.at(K)) for K in steps]
            found.append(high)
        return found

    def _bisected(self, low: float, high: float, which: int) -> float:
        """Where the excess (0) or its slope (1) is zero, roughly."""
        below = self.at(low)[which]
        for _ in range(HALVINGS):
            middle = (low * high) ** 0.5
            if self.at(middle)[which] * below > 0:
                low = middle
            else:
                high = middle
        return float((low * high) ** 0.5)


def _numerical(
    pieces: tuple[SmoothPiece, ...], place: tuple[float, bool], variances: Variances, digits: int
) -> FixedKernel:
    """A fixed point computed twice; the difference is its error."""
    working = max(digits, 2 * ROUGH) + GUARD
    rough, touching = place
    rows = []
    for precision in (working, 2 * working):
        K, at = refined(pieces, rough, variances, precision, touching=touching)
        with mpmath.workdps(precision):
            C_W = _number(variances[0])
            rows.append((K, C_W * at.g_1, C_W * at.d, at.g))
    names = ("K", "chi_parallel", "chi_perp", "mean_square")
    with mpmath.workdps(2 * working):
        errors = tuple(
            (name, sp.Float(abs(a - b), 2)) for name, a, b in zip(names, *rows, strict=True)
        )
        K, parallel, perpendicular, g = (sp.Float(value, digits) for value in rows[1])
        return FixedKernel(K, parallel, perpendicular, g, errors)


def refined(
    pieces: tuple[SmoothPiece, ...],
    rough: Any,
    variances: Variances,
    digits: int,
    *,
    touching: bool = False,
) -> tuple[Any, KernelNumbers]:
    """A fixed point and the kernel map there, by Newton's iteration.

    Args:
        pieces: of the activation.
        rough: near the fixed point.
        variances: C_W and C_b.
        digits: how many to work with.
        touching: whether the kernel map touches the diagonal there, so that its slope is 1.

    Raises:
        SolutionError: if the iteration does not settle.
    """
    means = GaussianMeans(pieces, kernel_map().products, digits)
    with mpmath.workdps(digits):
        C_W, C_b = map(_number, variances)
        K = _number(sp.Float(rough, digits))
        for _ in range(MOST_STEPS):
            at = numbers_at(K, means(K))
            slope = C_W * at.g_1 - 1
            step = -slope / (C_W * at.g_2) if touching else (K - C_b - C_W * at.g) / slope
            K = K + step
            if abs(step) < abs(K) * mpmath.mpf(10) ** (-digits / 2 - 1):
                return K, numbers_at(K, means(K))
    raise SolutionError(
        f"The fixed point near K = {float(rough):.6g} is not found to {digits} digits. "
        "The kernel map almost touches the diagonal there. Give fewer digits, or another C_W."
    )


def _number(exact: Any) -> Any:
    return sp.N(exact, mpmath.mp.dps + 5)._to_mpmath(mpmath.mp.prec)
