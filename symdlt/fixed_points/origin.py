"""The fixed point K* = 0: the kernel map expanded in powers of the square root of K."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import sympy as sp

from symdlt.activations.exact_numbers import is_positive, is_zero
from symdlt.activations.smooth_pieces import SmoothPiece, sides
from symdlt.fixed_points.critical_points import CriticalPoint
from symdlt.fixed_points.kernel_curve import NOISE
from symdlt.fixed_points.kernel_map import (
    FIELDS,
    KernelMap,
    KernelNumbers,
    MapTerm,
    kernel_map,
)
from symdlt.fixed_points.number_text import short
from symdlt.fixed_points.products import series_product

# Powers of sqrt(K) that are expanded: to K^2, which moves most kernels, and if it does not to K^5.
FEW, MANY = 4, 10
# Of what is straight on both sides the map has no more terms than that of K.
LEAST = 2
APPROACHED = {
    "stable": "from above",
    "unstable": "from nowhere",
    "undecided": "undecided",
    "neutral": "every K stays",
}


@dataclass(frozen=True, slots=True)
class Origin:
    r"""The kernel map at small K without biases, and the weight that keeps a small kernel.

    $K' = K + a K^q + \cdots$ and $\chi_\perp = 1 + b K^r + \cdots$.

    Attributes:
        C_W: the critical weight.
        power: q, or None if the series stops at K.
        a: its coefficient.
        perpendicular_power: r, or None if all terms vanish.
        b: its coefficient.
    """

    C_W: sp.Expr
    power: sp.Rational | None
    a: sp.Expr
    perpendicular_power: sp.Rational | None
    b: sp.Expr

    def falls(self, numbers: Iterable[tuple[float, KernelNumbers]]) -> bool | None:
        """Whether small kernels shrink, or None if they do not move.

        Args:
            numbers: the kernel map by ascending K, which decide where no power of K does.
        """
        if self.power is not None:
            return bool(self.a < 0)
        for K, at in numbers:
            change = at.next_kernel(0, float(self.C_W)) / K - 1
            if abs(change) > NOISE:
                return bool(change < 0)
        return None

    def point(
        self,
        stability: str,
        symbols: tuple[str | None, str],
        others: tuple[tuple[str, sp.Expr], ...] = (),
    ) -> CriticalPoint:
        """The critical point there, of which every K is one if it is neutral.

        Args:
            stability: what small kernels do.
            symbols: what the layer calls C_b, None if it has no biases, and C_W.
            others: variances of further biases, by their names.
        """
        one = sp.Integer(1)
        return CriticalPoint(
            K=None if stability == "neutral" else sp.Integer(0),
            C_b=sp.Integer(0),
            C_W=self.C_W,
            chi_parallel=one,
            chi_perp=one,
            kernel_power=self.power,
            a_1=self.a,
            perp_power=self.perpendicular_power,
            b_1=self.b,
            stability=stability,
            approached=APPROACHED[stability],
            symbols=symbols,
            others=others,
        )


def gaussian_powers(sides: Sequence[Sequence[sp.Expr]], orders: Sequence[int]) -> list[sp.Expr]:
    r"""The coefficients of $K^{n/2}$ in the mean of a product of derivatives.

    Each side of zero has its own Taylor series, and $\langle |z|^n \rangle_K =
    K^{n/2}\, 2^{n/2}\, \Gamma(\tfrac{n+1}{2})/\sqrt\pi$.

    Args:
        sides: Taylor coefficients to the left and to the right of zero.
        orders: of the derivatives.

    >>> gaussian_powers([[0, 0, 0], [0, 1, 0]], (0, 0))
    [0, 0, 1/2]
    """
    left, right = (
        reduce(_expanded_product, [_derivative(side, k) for k in orders]) for side in sides
    )
    return [
        (b + (-1) ** n * a) * half_moment(n)
        for n, (a, b) in enumerate(zip(left, right, strict=True))
    ]


@lru_cache(maxsize=64)
def half_moment(n: int) -> sp.Expr:
    """Half the mean of |z|^n over a Gaussian of variance 1."""
    return sp.sqrt(2) ** n * sp.gamma(sp.Rational(n + 1, 2)) / (2 * sp.sqrt(sp.pi))


def _derivative(coefficients: Sequence[sp.Expr], order: int) -> list[sp.Expr]:
    return [sp.ff(j + order, order) * c for j, c in enumerate(coefficients[order:])]


def _expanded_product(first: Sequence[sp.Expr], second: Sequence[sp.Expr]) -> list[sp.Expr]:
    return list(map(sp.expand, series_product(first, second)))


def origin_of(pieces: tuple[SmoothPiece, ...], maps: KernelMap | None = None) -> Origin | str:
    """The kernel map at small K, or why K = 0 is not a critical fixed point.

    Args:
        pieces: of a continuous activation.
        maps: of a layer, the dense one if left out.

    Raises:
        ActivationError: if it is not finite at zero, or has no Taylor series on a side of it.
    """
    maps = maps or kernel_map()
    left, right = sides(pieces)
    value, slope = right.series(1)
    if not is_zero(value):
        biased = f"{maps.bias} >= 0" if maps.bias else maps.weight
        return (
            f"sigma(0) = {short(value)} is not zero, so that K = 0 is no fixed point "
            f"for any {biased}"
        )
    if is_zero(slope) and is_zero(left.series(1)[1]):
        return f"sigma'(0) is zero, so that no {maps.weight} keeps a small kernel at its size"
    if None not in (left.slope, right.slope):
        return _expanded(left, right, LEAST, maps)
    origin = _expanded(left, right, FEW, maps)
    if isinstance(origin, Origin) and None in (origin.power, origin.perpendicular_power):
        origin = _expanded(left, right, MANY, maps)
    return origin


def _expanded(left: SmoothPiece, right: SmoothPiece, order: int, maps: KernelMap) -> Origin | str:
    taylor = [piece.series(order) for piece in (left, right)]

    def total(terms: Sequence[MapTerm], symbol: str | None) -> list[sp.Expr]:
        """The coefficients of powers of sqrt(K) in what a symbol multiplies, or none does."""
        series = [_powers(taylor, t.orders) for t in terms if t.symbol == symbol]
        scales = [t.factor for t in terms if t.symbol == symbol]
        length = min(map(len, series), default=0)
        return [sum(x * s[n] for x, s in zip(scales, series, strict=True)) for n in range(length)]

    own, kept = (total(maps.metric, symbol) for symbol in (maps.weight, None))
    slope, moved = (total(maps.ntk, symbol) for symbol in (maps.weight, None))
    if kept and not is_zero(kept[0]):
        return (
            f"A constant of {short(kept[0])} is left without {maps.weight}, so that K = 0 is no "
            "fixed point"
        )
    rest = 1 - (kept[2] if kept else 0)
    if kept and not is_positive(rest):
        return (
            f"A small kernel is multiplied by {short(1 - rest)} without {maps.weight}, so that no "
            f"{maps.weight} > 0 keeps it at its size"
        )
    C_W = sp.factor(rest / own[2])
    q, a = _first(own, 3, C_W, kept)
    r, b = _first(slope, 1, C_W, moved)
    return Origin(C_W, q, a, r, b)


def _powers(taylor: Sequence[Sequence[sp.Expr]], orders: Sequence[int]) -> list[sp.Expr]:
    """The series of a mean in sqrt(K), that of K itself and of a constant with it."""
    if orders == FIELDS:
        return gaussian_powers([[0, 1, *[0] * (len(taylor[0]) - 2)]] * 2, (0, 0))
    return gaussian_powers(taylor, orders) if orders else [1, *[0] * (len(taylor[0]) - 1)]


def _first(
    series: Sequence[sp.Expr], start: int, scale: sp.Expr, others: Sequence[sp.Expr]
) -> tuple[sp.Rational | None, sp.Expr]:
    """The power and the coefficient of the first term that does not vanish."""
    for n in range(start, len(series)):
        number = scale * series[n] + (others[n] if others else 0)
        if not is_zero(number):
            return sp.Rational(n, 2), sp.factor(number)
    return None, sp.Integer(0)
