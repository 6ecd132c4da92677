"""The fixed point K* = 0: the kernel map expanded in powers of the square root of K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from symdlt.activations.exact_numbers import is_zero
from symdlt.activations.smooth_pieces import SmoothPiece, sides
from symdlt.fixed_points.kernel_map import kernel_map

FEW, MANY = 4, 10


@dataclass(frozen=True, slots=True)
class Origin:
    r"""The kernel map at small K at $C_b = 0$ and the $C_W$ that keeps a small kernel.

    $K' = K + a K^q + \cdots$ and $\chi_\perp = 1 + b K^r + \cdots$.

    Attributes:
        C_W: the critical one.
        power: q, or None if the series stops at K.
        a: its coefficient.
        perpendicular_power: r, or None if all terms vanish.
        b: its coefficient.
    """

    C_W: Any
    power: Any
    a: Any
    perpendicular_power: Any
    b: Any


def gaussian_powers(sides: Sequence[Sequence[Any]], orders: Sequence[int]) -> list[Any]:
    r"""The coefficients of $K^{n/2}$ in the mean of a product of derivatives.

    Each side of zero has its own Taylor series, and $\langle |z|^n \rangle_K =
    K^{n/2}\, 2^{n/2}\, \Gamma(\tfrac{n+1}{2})/\sqrt\pi$.

    Args:
        sides: Taylor coefficients to the left and to the right of zero.
        orders: of the derivatives.

    >>> gaussian_powers([[0, 0, 0], [0, 1, 0]], (0, 0))
    [0, 0, 1/2]
    """
    length = len(sides[0])
    left, right = (_product([_derivative(side, k) for k in orders], length) for side in sides)
    return [
        (b + (-1) ** n * a) * _half_moment(n)
        for n, (a, b) in enumerate(zip(left, right, strict=True))
    ]


def _half_moment(n: int) -> Any:
    return sp.sqrt(2) ** n * sp.gamma(sp.Rational(n + 1, 2)) / (2 * sp.sqrt(sp.pi))


def _derivative(coefficients: Sequence[Any], order: int) -> list[Any]:
    return [sp.ff(j + order, order) * c for j, c in enumerate(coefficients[order:])]


def _product(factors: list[list[Any]], length: int) -> list[Any]:
    product = factors[0]
    for factor in factors[1:]:
        shortest = min(len(product), len(factor))
        product = [
            sp.expand(sum(product[i] * factor[n - i] for i in range(n + 1)))
            for n in range(shortest)
        ]
    return product[:length]


def origin_of(pieces: tuple[SmoothPiece, ...]) -> Origin | str:
    """The kernel map at small K, or why K = 0 is not a critical fixed point.

    Args:
        pieces: of a continuous activation.

    Raises:
        ActivationError: if it is not finite at zero, or has no Taylor series on a side of it.
    """
    left, right = sides(pieces)
    value, slope = right.series(1)
    if not is_zero(value):
        return (
            f"sigma(0) = {short(value)} is not zero, so that K = 0 is no fixed point "
            "for any C_b >= 0"
        )
    if is_zero(slope) and is_zero(left.series(1)[1]):
        return "sigma'(0) is zero, so that no C_W keeps a small kernel at its size"
    found = _expanded(left, right, FEW)
    if found.power is None or found.perpendicular_power is None:
        found = _expanded(left, right, MANY)
    return found


def _expanded(left: SmoothPiece, right: SmoothPiece, order: int) -> Origin:
    series = [piece.series(order) for piece in (left, right)]
    kernel, perpendicular = (gaussian_powers(series, p) for p in kernel_map().products)
    C_W = sp.factor(1 / kernel[2])
    q, a = _first(kernel, 3, C_W)
    r, b = _first(perpendicular, 1, C_W)
    return Origin(C_W, q, a, r, b)


def _first(series: Sequence[Any], start: int, scale: Any) -> tuple[Any, Any]:
    """The power and the coefficient of the first term that does not vanish."""
    for n in range(start, len(series)):
        if not is_zero(series[n]):
            return sp.Rational(n, 2), sp.factor(scale * series[n])
    return None, sp.Integer(0)


def short(number: Any) -> str:
    """An exact number as text, or its first digits if it is long."""
    text = str(sp.sstr(number))
    return text if len(text) <= 30 else str(number.evalf(8))
