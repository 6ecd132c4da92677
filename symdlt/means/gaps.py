"""What nearly cancels in the covariance of two samples, to full precision.

Products are split without error into two floats (T. J. Dekker, Numerische Mathematik 18, 1971).
Numbers are scaled by powers of two first, so that nothing leaves the range of floats.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from symdlt.means.grids import Array

Exponents = NDArray[np.int32]

# Half of the 53 bits of a float, rounded up: factors of that length have exact products.
SPLITTER = 2.0**27 + 1.0


def exact_product(x: Array | float, y: Array | float) -> tuple[Array, Array]:
    """A product as a float and what that leaves of it (T. J. Dekker)."""
    product = np.multiply(x, y)
    x_high, y_high = SPLITTER * x, SPLITTER * y
    x_high, y_high = x_high - (x_high - x), y_high - (y_high - y)
    x_low, y_low = x - x_high, y - y_high
    left = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, left


def exact_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """A sum as a float and what that leaves of it (D. Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def halved_exponents(x: Array) -> Exponents:
    """Whole numbers h with x near 4^h."""
    halves: Exponents = np.frexp(x)[1] >> 1
    return halves


def gaps(c: Array, one: Array, two: Array) -> Array:
    """1 - rho^2 of two samples with covariances c and both variances; 1 where one has none."""
    h, k = halved_exponents(one), halved_exponents(two)
    both, both_left = exact_product(np.ldexp(one, -2 * h), np.ldexp(two, -2 * k))
    scaled = np.ldexp(c, -h - k)
    square, square_left = exact_product(scaled, scaled)
    apart = (both - square) + (both_left - square_left)
    ratios = np.divide(apart, both, out=np.ones_like(apart), where=both > 0.0)
    return np.maximum(ratios, 0.0, out=ratios)


def square_of_sum(
    x: float, y: float, sign: float, c: Array, one: Array, two: Array
) -> tuple[Array, Array]:
    """x^2 one + y^2 two + 2 sign |x y c| as two floats, whose sum has the digits of both."""
    (x, e), (y, f) = math.frexp(x), math.frexp(y)
    h = np.maximum(halved_exponents(one) + e, halved_exponents(two) + f)
    parts = [
        (x * x, exact_product(x, x)[1], np.ldexp(one, 2 * (e - h))),
        (y * y, exact_product(y, y)[1], np.ldexp(two, 2 * (f - h))),
        (2.0 * x * y, 2.0 * exact_product(x, y)[1], np.ldexp(c, e + f - 2 * h)),
    ]
    (a, a_left), (b, b_left), (d, d_left) = (
        (product, left + factor_left * value)
        for factor, factor_left, value in parts
        for product, left in [exact_product(factor, value)]
    )
    turn = np.where(d < 0.0, -sign, sign)
    total, left = exact_sum(a, b)
    total, more = exact_sum(total, turn * d)
    total, left = exact_sum(total, left + more + a_left + b_left + turn * d_left)
    return np.ldexp(total, 2 * h), np.ldexp(left, 2 * h)
