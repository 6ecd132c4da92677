"""Brackets about a critical point with K* > 0, their numbers as rationals of many digits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import factorial

import sympy as sp
from sympy import QQ

from symdlt.activations import Activation
from symdlt.activations.smooth_pieces import smooth_pieces
from symdlt.asymptotics.kinked_means import raised
from symdlt.asymptotics.series import FieldElement
from symdlt.errors import SolutionError
from symdlt.fixed_points.critical_points import HALF_STABLE, CriticalPoint
from symdlt.fixed_points.kernel_curve import numbers_of, solved
from symdlt.fixed_points.kernel_map import Orders, kernel_map
from symdlt.fixed_points.laurent import Laurent
from symdlt.fixed_points.universality import criticality
from symdlt.means.precise import GaussianMeans
from symdlt.precision import Precise, mp, number

# Digits: twice the 30 that are shown, and a guard. What is zero to half of them is zero.
WORKING = 64
# Half of the digits to work with.
ZERO_BELOW = 32


def half_stable(activation: Activation, reason: str) -> CriticalPoint:
    """The critical point with K* > 0 at which a network of an activation is initialised.

    Args:
        activation: one that is not in the K* = 0 class.
        reason: why it is not.

    Raises:
        SolutionError: if there is no such point, or it has a kink, or K* is not approached by 1/ℓ.
    """
    answer = criticality(activation)
    if answer.universality != HALF_STABLE:
        raise SolutionError(
            f"{reason} There is no critical point with K* > 0 either: {' '.join(answer.reasons)} "
            "Subtract sigma(0) if it is not zero, or give another activation."
        )
    point = answer.points[0]
    assert point.K is not None  # of this class
    if point.stability != HALF_STABLE:
        raise SolutionError(
            f"{reason} Near K* = {float(point.K):.6g} its kernel does not move at order "
            "(K - K*)^2. The criticality of the activation says so. "
            "Give an activation whose critical point is isolated."
        )
    if len(smooth_pieces(activation)) > 1:
        raise SolutionError(
            f"{reason} At K* = {float(point.K):.6g} its kinks bring delta functions into the "
            "brackets. The expansion about K* needs all derivatives. Give a smooth activation."
        )
    return point


class StationaryMeans:
    r"""Brackets as series in $\Delta K = K - K^*$ from the heat equation.

    $$\langle f \rangle_{K^* + \Delta K} = \sum_n \frac{\Delta K^n}{2^n n!}
      \langle f^{(2n)} \rangle_{K^*}$$

    Numbers are taken as rationals that agree with the means to many digits. What vanishes to half
    of them is zero: $\langle\sigma\sigma''\rangle$ at the critical point, which makes both
    susceptibilities 1 exactly.

    Args:
        activation: the activation.
        rough: near K*.
        brackets: orders of derivatives in the brackets.
        order: the highest power of ΔK; one more for the map of the kernel.
    """

    def __init__(
        self, activation: Activation, rough: sp.Expr, brackets: Iterable[Orders], order: int
    ) -> None:
        self.order = order
        self.brackets = tuple(sorted(brackets))
        self.star, self.numbers = _numbers(activation, rough, self.brackets, order)

    @property
    def one(self) -> Laurent[FieldElement]:
        """The expansion of an empty bracket."""
        return Laurent(0, (QQ(1),) + (QQ(0),) * (self.order + 1))

    def __call__(self, orders: Orders) -> Laurent[FieldElement]:
        """The mean of a product of derivatives, sorted."""
        coefficients, sums = [], {orders: 1}
        last = self.order + (orders == kernel_map().kernel)
        for n in range(last + 1):
            total = sum((self.numbers[key] * count for key, count in sums.items()), QQ(0))
            coefficients.append(total / (2**n * factorial(n)))
            if n < last:
                sums = _raised_sum(sums)
        return Laurent(0, tuple(coefficients))


def _raised_sum(sums: dict[Orders, int]) -> dict[Orders, int]:
    total: dict[Orders, int] = {}
    for orders, count in sums.items():
        for key, more in raised(orders).items():
            total[key] = total.get(key, 0) + count * more
    return total


def _closure(brackets: Iterable[Orders], order: int) -> set[Orders]:
    """The brackets and those in their derivatives by K."""
    closed: set[Orders] = set()
    for orders in brackets:
        sums = {orders: 1}
        closed |= set(sums)
        for _ in range(order):
            sums = _raised_sum(sums)
            closed |= set(sums)
    return closed


@lru_cache(maxsize=16)
def _numbers(
    activation: Activation, rough: sp.Expr, brackets: tuple[Orders, ...], order: int
) -> tuple[QQ.dtype, dict[Orders, QQ.dtype]]:
    """K* and the means there as rationals."""
    pieces = smooth_pieces(activation)
    products = sorted({*_closure(brackets, order), *_closure([kernel_map().kernel], order + 1)})
    highest = max(max(orders) for orders in products)
    whole = [piece.upto(highest) for piece in pieces]
    with mp.workdps(WORKING):
        numbers_at = numbers_of(pieces, kernel_map(), WORKING)
        K, _ = solved(numbers_at, number(rough), WORKING, lambda _, at: at.newton_step)
        means = GaussianMeans(whole, products, WORKING, powers=1)
        numbers = [mean for (mean,) in means(K)]
        least = max(map(abs, numbers)) * mp.mpf(10) ** -ZERO_BELOW
        kept = [as_rational(mean) if abs(mean) > least else QQ(0) for mean in numbers]
        return as_rational(K), dict(zip(products, kept, strict=True))


def as_rational(number: Precise) -> QQ.dtype:
    """A number of mpmath as the fraction that it is."""
    sign, mantissa, exponent, _ = number._mpf_
    whole = QQ(-mantissa if sign else mantissa)
    return whole * QQ(2) ** exponent if exponent >= 0 else whole / QQ(2) ** -exponent
