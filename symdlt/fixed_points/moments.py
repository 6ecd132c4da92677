"""Gaussian means of power series, by the moments of a Gaussian."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from symdlt.activations.rings import E
from symdlt.fixed_points.products import series_product


def gaussian_moments(factors: Iterable[Sequence[E]], length: int) -> tuple[E, ...]:
    r"""The coefficients of powers of K in the mean of a product of power series in z.

    $$\Bigl\langle \prod_a f_a(z) \Bigr\rangle_K = \sum_k (2k-1)!!\, K^k\, [z^{2k}] \prod_a f_a$$

    Args:
        factors: coefficients of each series, up to twice the highest power of K.
        length: how many powers of K.

    >>> gaussian_moments([(0, 1, 0, -2, 0)] * 2, 3)
    (0, 1, -12)
    """
    product = reduce(series_product, factors)
    return tuple(product[2 * k] * double_factorial(2 * k - 1) for k in range(length))


def double_factorial(n: int) -> int:
    """The product n (n-2) (n-4) … for odd n, with (-1)!! = 1: the Gaussian moments.

    >>> [double_factorial(n) for n in (-1, 1, 3, 5)]
    [1, 1, 3, 15]
    """
    return 1 if n < 1 else n * double_factorial(n - 2)
