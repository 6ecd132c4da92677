"""Means of sums of sines, cosines, and hyperbolic sines and cosines, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import jax.numpy as jnp

from symdlt.kernels.jax_target.running.pairs import Means, PairPlaces, closed
from symdlt.kernels.jax_target.running.smooth import Array

Wave = tuple[int, float, float, float]


def both_waves(c: Array, one: Array, two: Array, first: Wave, second: Wave) -> Array:
    """The mean of odd sin(k x) + even cos(k x), with sign 1 of sinh and cosh, times that of y.

    From <exp(i k x + i n y)> = exp(-<(k x + n y)^2>/2), and the same without i: exp of half the
    signed variances of k x and n y, times sinh and cosh of their covariance, or sin and cos.
    """
    (sign, k, odd, even), (other, n, odder, evener) = first, second
    exponent = 0.5 * (sign * k**2 * one + other * n**2 * two)
    turn = k * n * c
    if sign != other:
        size = jnp.exp(exponent)
        return size * (odd * odder * jnp.sin(turn) + even * evener * jnp.cos(turn))
    way = jnp.where(turn < 0.0, -1.0, 1.0)
    size = 0.5 * jnp.exp(exponent + way * turn)
    less = jnp.expm1(-2.0 * way * turn)
    return size * (even * evener * (2.0 + less) - odd * odder * way * less)


def wave_means(
    circular: Sequence[tuple[float, float, float]] = (),
    hyperbolic: Sequence[tuple[float, float, float]] = (),
    coefficients: Sequence[float] = (0.0,),
) -> Means:
    """For a constant and the sum of odd sin(k z) + even (cos(k z) - 1) over rows (k, odd, even).

    Hyperbolic rows are those of sinh and cosh.
    """
    (constant,) = coefficients
    rows = [(-1, *row) for row in circular] + [(1, *row) for row in hyperbolic]
    # A cosine of zero is the constant, with the ones that cosines lack.
    waves = [*rows, (-1, 0.0, 0.0, constant - sum(row[3] for row in rows))]

    def kernel(c: Array, ours: Array, theirs: Array, at: PairPlaces) -> Array:
        one, two = at.ours(ours), at.theirs(theirs)
        total = jnp.zeros_like(c)
        for first, second in product(waves, waves):
            total = total + both_waves(c, one, two, first, second)
        return total

    return closed(kernel)
