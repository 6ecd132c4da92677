"""The fixed points of the kernel at any variances, and the one that a kernel goes to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, log

import sympy as sp

from symdlt.activations.exact_numbers import is_zero
from symdlt.activations.smooth_pieces import SmoothPiece, sides
from symdlt.errors import SolutionError
from symdlt.fixed_points.kernel_curve import (
    NOISE,
    KernelCurve,
    computed_twice,
    crossings,
    numbers_of,
    solved,
)
from symdlt.fixed_points.kernel_map import KernelMap, KernelNumbers
from symdlt.fixed_points.origin import origin_of
from symdlt.fixed_points.phase_result import FixedKernel
from symdlt.means.precise import MeanError, lengths
from symdlt.precision import AnyPrecision, Precise, mp, number, rounded

# Below the smallest scale of the activation by so much the first term of the map's expansion at
# K = 0 is the map but for some 1e-4, and above the largest only its growth matters.
BELOW, ABOVE = 1e-9, 1e5
# Squares of the activation stay in floating point, with room for one more step of the search.
FARTHEST = 1e200
# A part of the kernel: means have 13 digits, and differences lose a few.
TOUCHING = 1e-11
# Where kernel and slope move by less than this part between neighbours, eight places are more.
HARDLY, FINER = 1e-2, 8
# A bound: deeper than networks that are built.
MOST_LAYERS = 1000
# Far more than what a place is found to, see `SETTLED`.
ARRIVED = 1e-6
# Powers of ten; oscillations do not rise six times in a row, and z log z rises by more than this.
FAR, GROWING = range(20, 45, 4), 1.05
ENDS = (sp.Integer(0), sp.oo)


@dataclass(frozen=True, slots=True)
class Slopes:
    """The slopes of an activation to the left and to the right.

    Attributes:
        near: at zero, exact.
        far: σ(z)/z at large z; infinity if it grows, None if it does not settle.
        value: σ(0).
        scale_invariant: whether the activation is a straight line on each side of zero.
    """

    near: tuple[sp.Expr, sp.Expr]
    far: tuple[sp.Expr | None, sp.Expr | None]
    value: sp.Expr
    scale_invariant: bool

    @property
    def large(self) -> sp.Expr | None:
        """The mean square of a large σ(z) over that of z, or None if it is not known."""
        left, right = self.far
        if left is None or right is None:
            return None
        return sp.oo if sp.oo in self.far else (left**2 + right**2) / 2

    @property
    def small(self) -> sp.Expr:
        """The mean square of a small σ(z) over that of z, where σ(0) = 0."""
        return (self.near[0] ** 2 + self.near[1] ** 2) / 2


@dataclass(frozen=True, slots=True)
class Repeated:
    """A layer with numbers, of which a network has many.

    Attributes:
        maps: of the layer.
        C_W: the variance of the weights.
        C_b: the variance of the biases.
    """

    maps: KernelMap
    C_W: sp.Expr
    C_b: sp.Expr

    def growth(self, slopes: Slopes) -> sp.Expr | None:
        """What a large kernel is multiplied by, or None if that is not known."""
        _, kept, drawn = self.maps.parts(self.C_b, self.C_W)
        return None if slopes.large is None else kept + drawn * slopes.large

    def decay(self, slopes: Slopes) -> sp.Expr:
        """What a small kernel is multiplied by, without biases."""
        _, kept, drawn = self.maps.parts(self.C_b, self.C_W)
        return kept + drawn * slopes.small

    def floor(self, slopes: Slopes) -> sp.Expr:
        """The next kernel of K = 0."""
        constant, _, drawn = self.maps.parts(self.C_b, self.C_W)
        return constant + drawn * slopes.value**2


def slopes_of(pieces: tuple[SmoothPiece, ...]) -> Slopes:
    """The slopes at zero and far from it."""
    left, right = sides(pieces)
    longest = lengths(pieces)[1]
    value, slope = right.series(1)
    straight = all(piece.slope is not None for piece in pieces)
    return Slopes(
        near=(left.series(1)[1], slope),
        far=(_far_slope(pieces[0], -1, longest), _far_slope(pieces[-1], 1, longest)),
        value=sp.Integer(0) if is_zero(value) else value,
        scale_invariant=straight and all(piece.start in (-sp.oo, 0) for piece in pieces),
    )


def _far_slope(piece: SmoothPiece, sign: int, longest: float) -> sp.Expr | None:
    """The limit of σ(z)/z from places far beyond the longest length, or None if it has none."""
    if piece.slope is not None:
        return piece.slope
    with mp.workdps(60):
        try:
            places = [sign * longest * mp.mpf(10) ** k for k in FAR]
            ratios = [piece.values(z)[0] / z for z in places]
        except (OverflowError, MemoryError):
            return sp.oo
        except (ZeroDivisionError, ValueError):
            return None
        first, last = ratios[0], ratios[-1]
        steps = [(abs(a), abs(b)) for a, b in pairwise(ratios)]
        if all(b < a for a, b in steps) and abs(last) < 1e-3 * abs(first):
            return sp.Integer(0)
        if abs(last - first) <= 1e-9 * abs(last):
            nearest = mp.nint(last)
            return sp.Integer(int(nearest)) if abs(last - nearest) < 1e-15 else rounded(last, 15)
        return sp.oo if all(b > GROWING * a for a, b in steps) else None


def fixed_kernels(
    pieces: tuple[SmoothPiece, ...], layer: Repeated, start: float, digits: int
) -> tuple[list[FixedKernel], int]:
    """All fixed points in ascending order, and the number of the one that a kernel goes to.

    Args:
        pieces: of a continuous activation.
        layer: with its numbers.
        start: the kernel of the first layer.
        digits: how many of what is not exact.

    Raises:
        SolutionError: if the Gaussian means diverge at the start, the kernel does not come to rest,
            or no fixed point is found where there is one.
    """
    slopes = slopes_of(pieces)
    if slopes.scale_invariant:
        return [_scale_invariant(slopes, layer, start)], 0
    flow = _Flow(pieces, layer, slopes)
    grid = flow.grid(start)
    start = flow.first(start, grid)
    places = flow.zeros(grid)
    kernels = [_numerical(pieces, place, layer, digits) for place in places]
    if layer.floor(slopes) == 0:
        decay, zero = layer.decay(slopes), sp.Integer(0)
        kernels.insert(0, FixedKernel(zero, decay, decay, zero))
        places.insert(0, (0.0, False))
    if flow.excess(grid[-1]) > 0:
        kernels.append(_unbounded(slopes, layer.growth(slopes), grid[-1]))
        places.append((inf, False))
    return kernels, flow.destination(start, [K for K, _ in places], grid)


def _unbounded(slopes: Slopes, growth: sp.Expr | None, highest: float) -> FixedKernel:
    if growth is None or growth < 1:
        raise SolutionError(
            f"The kernel still grows at K = {highest:.3g}, and its rate is not known: there the "
            "Gaussian means end, or sigma(z)/z does not settle at large z. "
            "Give a smaller C_W, or another activation."
        )
    return FixedKernel(sp.oo, growth, growth, sp.oo if slopes.large != 0 else None)


def _scale_invariant(slopes: Slopes, layer: Repeated, start: float) -> FixedKernel:
    """K' = C + χ K, exactly."""
    factor, constant = layer.decay(slopes), layer.floor(slopes)
    if factor < 1:
        K = constant / (1 - factor)
    elif factor == 1 and constant == 0:
        K = sp.Float(start, 15)
    else:
        K = sp.oo
    return FixedKernel(K, factor, factor, K if K is sp.oo else K * slopes.small)


class _Flow:
    """The excess K'/K − 1 of the next kernel, in floating point, and where it leads."""

    def __init__(self, pieces: tuple[SmoothPiece, ...], layer: Repeated, slopes: Slopes) -> None:
        self.layer, self.slopes = layer, slopes
        self.C_W, self.C_b = float(layer.C_W), float(layer.C_b)
        self.curve = KernelCurve(pieces, layer.maps)

    def next_kernel(self, K: float) -> float:
        """The kernel of the next layer."""
        return float(self.curve.at(K).next_kernel(self.C_b, self.C_W))

    def excess(self, K: float) -> float:
        """By which part of itself a kernel grows."""
        return self.next_kernel(K) / K - 1

    def chi_parallel(self, K: float) -> float:
        """The slope of the map."""
        return float(self.curve.at(K).chi_parallel(self.C_W))

    def slope(self, K: float) -> float:
        """The slope of the excess in log K."""
        return self.chi_parallel(K) - self.next_kernel(K) / K

    def grid(self, start: float) -> list[float]:
        """From below the lowest scale to where only the growth at large K decides."""
        low, high = self.curve.scales
        low, high = min(low * BELOW, start / 10), max(high * ABOVE, start * 10)
        floor = self._floor(low)
        low = max(low, floor)
        high = max(high, 10 * low)
        grid, stopped = self.curve.grid(low, high)
        if floor and floor < low:
            grid.insert(0, floor)
        growth = self.layer.growth(self.slopes)
        while grid and stopped is None and growth is not None and grid[-1] < FARTHEST:
            if self.excess(grid[-1]) * (growth - 1) >= 0:
                break
            more, stopped = self.curve.grid(grid[-1] * 2, grid[-1] * 1e4)
            grid += more
        return grid

    def _floor(self, low: float) -> float:
        """A kernel that all fixed points are above, if a small one does not go to zero.

        A fourth of what zero is taken to is one unless the map has fallen by half there, as it does
        for a bump about zero.
        """
        least = float(self.layer.floor(self.slopes))
        floor = least / 4
        while self.slopes.value and floor > low and not self._reaches(floor, least / 2):
            floor /= 4
        return floor

    def _reaches(self, K: float, least: float) -> bool:
        try:
            return self.next_kernel(K) >= least
        except MeanError:
            return False

    def first(self, start: float, grid: list[float]) -> float:
        """The start, or the end of the grid for one beyond it that falls down to there.

        Raises:
            SolutionError: if the means do not exist there.
        """
        try:
            self.curve.at(start)
        except MeanError as reason:
            growth = self.layer.growth(self.slopes)
            if grid and growth is not None and growth < 1 and self.excess(grid[-1]) < 0:
                return grid[-1]
            raise SolutionError(
                f"{str(reason).partition('. ')[0]}. The kernel starts from there. "
                "Give a smaller start, or an activation that grows slower."
            ) from None
        return start

    def zeros(self, grid: list[float]) -> list[tuple[float, bool]]:
        """Where the excess changes its sign, or (True) touches zero."""
        finer = self._finer(grid)
        turns = crossings(self.slope, finer, NOISE)
        touching = [K for K in turns if abs(self.excess(K)) < TOUCHING]
        places = sorted({*finer, *turns})
        crossing = crossings(self.excess, places, TOUCHING)
        nearest = self._from_zero(next((K for K in places if abs(self.excess(K)) > TOUCHING), None))
        return sorted(
            [*((K, True) for K in touching), *((K, False) for K in [*nearest, *crossing])]
        )

    def _finer(self, grid: list[float]) -> list[float]:
        """More places where the kernel hardly moves, and may cross the diagonal more than once."""
        places = grid[:1]
        for low, high in pairwise(grid):
            still = max(abs(f(K)) for K in (low, high) for f in (self.excess, self.slope))
            if TOUCHING < still < HARDLY:
                places += [low * (high / low) ** (k / FINER) for k in range(1, FINER)]
            places.append(high)
        return places

    def _from_zero(self, lowest: float | None) -> list[float]:
        """A zero below the lowest place that moves, where the expansion at K = 0 is the map."""
        decay, floor = self.layer.decay(self.slopes), self.layer.floor(self.slopes)
        if lowest is None or floor or (decay - 1) * self.excess(lowest) >= 0:
            return []
        origin = origin_of(self.curve.pieces, self.layer.maps)
        if isinstance(origin, str) or origin.power is None:
            return []
        share = self.layer.C_W / origin.C_W  # of the term that bends the map
        K = ((1 - decay) / (share * origin.a)) ** (1 / (origin.power - 1))
        return [float(K)] if K.is_real and K > 0 else []

    def destination(self, K: float, places: list[float], grid: list[float]) -> int:
        """Which of the places a kernel goes to: by layers until the map is monotonic up to one.

        Raises:
            SolutionError: if it goes to none.
        """
        for _ in range(MOST_LAYERS):
            excess = self.excess(K)
            nearest = min(
                range(len(places)), key=lambda k: abs(_log(places[k]) - log(K)), default=0
            )
            if places and (abs(excess) < TOUCHING or abs(places[nearest] / K - 1) < ARRIVED):
                return nearest
            ahead = [k for k, place in enumerate(places) if (place - K) * excess > 0]
            if not ahead:
                break
            chosen = ahead[0] if excess > 0 else ahead[-1]
            low, high = sorted((K, places[chosen]))
            between = [K, *(k for k in grid if low < k < high)]
            if places[chosen] == grid[-1] or all(self.chi_parallel(k) >= 0 for k in between):
                return chosen
            K = self.next_kernel(K)
            try:
                self.curve.at(K)
            except MeanError:
                break
        else:
            return chosen
        raise SolutionError(
            f"No fixed point of the kernel is found from K = {K:g} on. It was sought for K from "
            f"{grid[0]:.3g} to {grid[-1]:.3g}. Give another start, or another C_W."
        )


def _log(K: float) -> float:
    return log(min(max(K, 1e-300), 1e300))


def _numerical(
    pieces: tuple[SmoothPiece, ...], place: tuple[float, bool], layer: Repeated, digits: int
) -> FixedKernel:
    """A fixed point computed twice; the difference is its error."""
    rough, touching = place

    def compute(near: AnyPrecision, working: int) -> dict[str, AnyPrecision]:
        K, at = refined(pieces, near, layer, working, touching=touching)
        with mp.workdps(working):
            C_W = number(layer.C_W)
            return {
                "K": K,
                "chi_parallel": at.chi_parallel(C_W),
                "chi_perp": at.chi_perp(C_W),
                "mean_square": at.g,
            }

    numbers, errors = computed_twice(compute, rough, digits)
    return FixedKernel(**numbers, errors=errors)


def refined(
    pieces: tuple[SmoothPiece, ...],
    rough: AnyPrecision,
    layer: Repeated,
    digits: int,
    *,
    touching: bool = False,
) -> tuple[Precise, KernelNumbers]:
    """A fixed point and the kernel map there, by Newton's iteration.

    Args:
        pieces: of the activation.
        rough: near the fixed point.
        layer: with its numbers.
        digits: how many to work with.
        touching: whether the kernel map touches the diagonal there, so that its slope is 1.

    Raises:
        SolutionError: if the iteration does not settle.
    """
    with mp.workdps(digits):
        C_W, C_b = number(layer.C_W), number(layer.C_b)

    def step(K: Precise, at: KernelNumbers) -> Precise:
        slope = at.chi_parallel(C_W) - 1
        return (
            -slope / (C_W * at.g_2 + at.kept[2])
            if touching
            else (K - at.next_kernel(C_b, C_W)) / slope
        )

    return solved(numbers_of(pieces, layer.maps, digits), rough, digits, step)
