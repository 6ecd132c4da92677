"""Means of steps, smoothed or not, and of z times them, in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import jax
import jax.numpy as jnp

from symdlt.kernels.jax_target.running.pairs import Means, closed
from symdlt.kernels.jax_target.running.smooth import ROUNDING, Array, inverse, root, with_slope

Kernel = Callable[[Array, Array, Array], Array]
Terms = Sequence[tuple[float, float]]
# The Taylor series of arcsin(t)/t in t^2; 24 terms are 1e-17 of it at t = 1/2.
ARCSINE = tuple(math.comb(2 * n, n) / (4**n * (2 * n + 1)) for n in range(24))


def settled(t: Array) -> Array:
    """A correlation, and ±1 where it is that up to the rounding of the products it is made of."""
    return jnp.where(jnp.abs(t) >= 1.0 - ROUNDING * float(jnp.finfo(t.dtype).eps), jnp.sign(t), t)


def gap(t: Array) -> Array:
    """sqrt(1 - t^2)."""
    t = settled(t)
    return root((1.0 - t) * (1.0 + t))


def arcsine_value(t: Array) -> Array:
    """arcsin(t): its series to 1/2, and beyond that of the half of the angle that is left."""
    t = settled(t)
    way = jnp.where(t < 0.0, -1.0, 1.0)
    size = way * t
    small = size <= 0.5
    square = jnp.where(small, size * size, 0.5 * (1.0 - size))
    series = jnp.full_like(t, ARCSINE[-1])
    for coefficient in reversed(ARCSINE[:-1]):
        series = series * square + coefficient
    angle = jnp.where(small, size, root(square)) * series
    return way * jnp.where(small, angle, 0.5 * math.pi - 2.0 * angle)


def arcsine_slope(t: Array) -> Array:
    """1/sqrt(1 - t^2), left out at ±1, where it is infinite."""
    return inverse(gap(t))


arcsine = with_slope(arcsine_value, arcsine_slope)


def smoothed_steps(c: Array, one: Array, two: Array, scale: float, other: float) -> Array:
    """<f(scale x) f(other y)> - 1/4 for f(z) = (1 + erf(z/sqrt 2))/2.

    The arcsine law (W. F. Sheppard 1899) of smoothed steps (C. K. I. Williams 1997).
    """
    ours, theirs = (k / jnp.sqrt(1.0 + k**2 * K) for k, K in ((scale, one), (other, two)))
    return arcsine(c * ours * theirs) / (2.0 * math.pi)


def times_both(kernel: Kernel) -> Kernel:
    """<x f(x) y g(y)> from <f(x) g(y)> as a function of the covariance and both variances.

    Stein's lemma for x and for y, and derivatives of f and g as those by the covariances (R. Price
    1958): <x f y g> = c <f g> + (one two + c^2) <f' g'> + one c <f'' g> + two c <f g''>.
    """

    def found(c: Array, one: Array, two: Array) -> Array:
        one, two = jnp.broadcast_to(one, c.shape), jnp.broadcast_to(two, c.shape)
        changes = one * two + c * c, 2.0 * one * c, 2.0 * two * c
        value, change = jax.jvp(kernel, (c, one, two), changes)
        total: Array = c * value + change
        return total

    return found


def erf_means(terms: Terms, coefficients: Sequence[float] = (0.0,)) -> Means:
    """For a constant and the sum of weight erf(scale z) over all terms."""
    (constant,) = coefficients

    def kernel(c: Array, one: Array, two: Array) -> Array:
        total = jnp.full_like(c, constant**2)
        for (weight, scale), (factor, other) in product(terms, terms):
            # erf(z) = 2 f(sqrt(2) z) - 1
            steps = smoothed_steps(c, one, two, math.sqrt(2.0) * scale, math.sqrt(2.0) * other)
            total = total + 4.0 * weight * factor * steps
        return total

    return closed(kernel)


def gelu_means(terms: Terms) -> Means:
    """For the sum of weight gelu(scale z) over all terms, gelu(z) = z f(z) with the smoothed f."""

    def steps(c: Array, one: Array, two: Array) -> Array:
        total = jnp.zeros_like(c)
        for (weight, scale), (factor, other) in product(terms, terms):
            mean = 0.25 + smoothed_steps(c, one, two, scale, other)
            total = total + weight * scale * factor * other * mean
        return total

    return closed(times_both(steps))


def relu_means(left: float, right: float) -> Means:
    """For left z below zero and right z above: arc-cosine kernels (Y. Cho and L. K. Saul 2009)."""
    bend, middle = (right - left) ** 2 / (2.0 * math.pi), 0.25 * (left + right) ** 2

    def slopes_at(t: Array) -> Array:
        return bend * arcsine(t) + middle

    def kernel_value(t: Array) -> Array:
        return settled(t) * slopes_at(t) + bend * gap(t)

    kernel_at = with_slope(kernel_value, slopes_at)

    def pairs(c: Array, ours: Array, theirs: Array) -> tuple[Array, Array]:
        scale = root(ours)[:, None] * root(theirs)[None, :]
        t = c * inverse(scale)
        return scale * kernel_at(t), slopes_at(t)

    return Means(pairs, lambda variance: 0.5 * (left**2 + right**2) * variance)
