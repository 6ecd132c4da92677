"""The kernel map as a curve over K: where a function of it vanishes, roughly and to many digits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import ceil, exp, log, log10

import sympy as sp

from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.errors import SolutionError
from symdlt.fixed_points.kernel_map import KernelMap, KernelNumbers, kernel_map
from symdlt.means.precise import GaussianMeans, MeanError, lengths
from symdlt.precision import AnyPrecision, Precise, mp, rounded

# Digits of means in floating point: two of its fifteen may be lost in sums and differences.
ROUGH = 13
# A change of sign in floating point that is smaller is not one.
NOISE = 1e-8
# Gaussian means vary with log K over a range of about 1, as the heat equation smooths them.
POINTS_PER_DECADE = 8
# A bound: Newton's iteration doubles the digits in each step, or does not settle.
MOST_STEPS = 60
# Of log K, a few times the rounding of it; Newton's iteration has but one step to take from there.
SETTLED = 1e-13
# Digits beyond those asked for, which derivatives by K may lose, and the fewest to work with:
# more than floating point has.
GUARD = 4
# One more than floating point ever has.
FEWEST = 18
# Digits more for the second computation, enough for it to be exact next to the first; convention.
MORE = 8

# Names of numbers with their errors.
Errors = tuple[tuple[str, sp.Float], ...]
Step = Callable[[Precise, KernelNumbers], Precise]
NumbersAt = Callable[[AnyPrecision], KernelNumbers]


class Curve:
    """A kernel map in floating point; what was computed is remembered.

    Attributes:
        scales: the smallest and the largest K at which it has a scale.
        known: the numbers at places that were asked for.
    """

    def __init__(self, numbers_at: NumbersAt, scales: tuple[float, float]) -> None:
        self._numbers_at, self.scales = numbers_at, scales
        self.known: dict[float, KernelNumbers] = {}

    def at(self, K: float) -> KernelNumbers:
        """The numbers at one K.

        Raises:
            MeanError: if the means diverge, or take too many nodes.
        """
        if K not in self.known:
            self.known[K] = self._numbers_at(K)
        return self.known[K]

    def grid(self, low: float, high: float) -> tuple[list[float], str | None]:
        """Places from low to high, and why they end before, if they do."""
        count = max(2, ceil(POINTS_PER_DECADE * log10(high / low)))
        places: list[float] = []
        for k in range(count + 1):
            K = low * (high / low) ** (k / count)
            try:
                self.at(K)
            except MeanError as problem:
                return places, str(problem).partition(". ")[0]
            places.append(K)
        return places, None


class KernelCurve(Curve):
    """The kernel map of an activation in floating point.

    Attributes:
        pieces: of the activation.
        maps: of a layer, the dense one if left out.
        scales: the squares of the smallest and of the largest length in its text.
    """

    def __init__(self, pieces: tuple[SmoothPiece, ...], maps: KernelMap | None = None) -> None:
        self.pieces, self.maps = pieces, maps or kernel_map()
        low, high = lengths(pieces)
        super().__init__(numbers_of(pieces, self.maps, ROUGH), (low**2, high**2))


def numbers_of(pieces: Sequence[SmoothPiece], maps: KernelMap, digits: int) -> NumbersAt:
    """The kernel map of an activation to so many digits."""
    means = GaussianMeans(pieces, maps.products, digits)
    return lambda K: maps.at(K, means(K))


def crossings(
    function: Callable[[float], float], places: Iterable[float], noise: float
) -> list[float]:
    """Where a function changes its sign between neighbours, its values below a noise left out."""
    clear = [K for K in places if abs(function(K)) > noise]
    return [
        zero_between(function, low, high)
        for low, high in pairwise(clear)
        if function(low) * function(high) < 0
    ]


def zero_between(function: Callable[[float], float], low: float, high: float) -> float:
    """A zero of a function between two places of opposite sign.

    By T. R. Chandrupatla's method (Adv. Eng. Software 28 (1997) 145) in log K: inverse quadratic
    interpolation where the last three places are ordered well enough for it, else bisection.
    """
    a, b = log(low), log(high)
    f_a, f_b = function(low), function(high)
    share = 0.5
    while True:
        x = a + share * (b - a)
        f = function(exp(x))
        if (f > 0) == (f_a > 0):
            c, f_c = a, f_a
        else:
            c, f_c, b, f_b = b, f_b, a, f_a
        a, f_a = x, f
        least = SETTLED / abs(b - a) if b != a else 1.0
        if f == 0 or least > 0.5:
            return exp(a if abs(f_a) < abs(f_b) else b)
        inside, rise = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        share = 0.5
        if rise**2 < inside and (1 - rise) ** 2 < 1 - inside:
            share = f_a / (f_b - f_a) * f_c / (f_b - f_c)
            share += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        share = min(max(share, least), 1 - least)


def solved(
    numbers_at: NumbersAt, rough: AnyPrecision, digits: int, step: Step
) -> tuple[Precise, KernelNumbers]:
    """A place on the curve to many digits, and the numbers there, by Newton's iteration.

    Args:
        numbers_at: the kernel map to so many digits.
        rough: near it.
        digits: how many to work with.
        step: how far the next place is to be sought, from K and the numbers there.

    Raises:
        SolutionError: if the iteration does not settle.
    """
    with mp.workdps(digits):
        K = mp.mpf(rough)
        for _ in range(MOST_STEPS):
            change = step(K, numbers_at(K))
            K = K + change
            if not K > 0:
                break
            if abs(change) < abs(K) * mp.mpf(10) ** (-digits / 2 - 1):
                return K, numbers_at(K)
    raise SolutionError(
        f"The kernel near K = {float(rough):.6g} is not found to {digits} digits. "
        "There two curves touch rather than cross. Give fewer digits, or another C_W."
    )


def computed_twice(
    compute: Callable[[AnyPrecision, int], dict[str, Precise]], rough: float, digits: int
) -> tuple[dict[str, sp.Float], Errors]:
    """Numbers by name as SymPy numbers, and their errors from eight more digits.

    Args:
        compute: from a place near K and the digits to work with; K is one of the numbers.
        rough: the place; the second time it is the K of the first.
        digits: how many to return.
    """
    working = max(digits, FEWEST) + GUARD
    first = compute(rough, working)
    second = compute(first["K"], working + MORE)
    with mp.workdps(working + MORE):
        errors = tuple((name, rounded(abs(second[name] - first[name]), 2)) for name in first)
        return {name: rounded(value, digits) for name, value in second.items()}, errors
