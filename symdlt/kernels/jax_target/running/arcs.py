"""Means in closed form: of steps, smoothed or not, of z times them, of sines and exponentials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import jax.numpy as jnp

from symdlt.kernels.jax_target.running.pairs import Means, PairPlaces, closed
from symdlt.kernels.jax_target.running.smooth import ROUNDING, Array, inverse, root, with_slope

Terms = Sequence[tuple[float, float]]
ROOT = math.sqrt(2.0)
# Steps of the continued fraction: at t^2 = 1/4 each gains a factor of 14.
STEPS = 14


def quotient() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """arcsin(t)/(t sqrt(1 - t^2)) as a quotient of polynomials in t^2, lowest powers first.

    Its continued fraction 1/(1 - 1*2 t^2/(3 - 1*2 t^2/(5 - 3*4 t^2/(7 - ... (C. F. Gauss 1813),
    which is multiplied out from the front.
    """
    rows = {"upper": ([0.0], [1.0]), "lower": ([1.0], [1.0])}
    for step in range(1, STEPS):
        odd = step - (step + 1) % 2
        for name, (below, here) in rows.items():
            new = [(2 * step + 1) * one for one in here]
            new += [0.0] * (len(below) + 1 - len(here))
            for power, one in enumerate(below):
                new[power + 1] -= odd * (odd + 1) * one
            rows[name] = here, new if new[-1] else new[:-1]
    (_, upper), (_, lower) = rows["upper"], rows["lower"]
    return tuple(one / lower[0] for one in upper), tuple(one / lower[0] for one in lower)


UPPER, LOWER = quotient()


def horner(coefficients: Sequence[float], x: Array) -> Array:
    """A polynomial, lowest powers first."""
    total = jnp.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def settled(t: Array) -> Array:
    """A correlation, and ±1 where it is that up to the rounding of the products it is made of."""
    return jnp.where(jnp.abs(t) >= 1.0 - ROUNDING * float(jnp.finfo(t.dtype).eps), jnp.sign(t), t)


def gap(t: Array) -> Array:
    """sqrt(1 - t^2)."""
    t = settled(t)
    return root((1.0 - t) * (1.0 + t))


def arcsine_value(t: Array) -> Array:
    """arcsin(t), beyond 1/2 from half of the angle that is left to a right one."""
    t = settled(t)
    small = jnp.abs(t) <= 0.5
    way = jnp.where(t < 0.0, -1.0, 1.0)
    square = jnp.where(small, t * t, 0.5 * (1.0 - way * t))
    # sin and cos of half an angle, twice multiplied, are the sine of it
    angle = gap(t) * (horner(UPPER, square) / horner(LOWER, square))
    return jnp.where(small, t * angle, way * (0.5 * math.pi - angle))


def arcsine_slope(t: Array) -> Array:
    """1/sqrt(1 - t^2), left out at ±1, where it is infinite."""
    return inverse(gap(t))


arcsine = with_slope(arcsine_value, arcsine_slope)


def steepness(variance: Array, scale: float) -> Array:
    """What makes of a covariance the correlation of f(scale z), f(z) = (1 + erf(z/sqrt 2))/2.

    f is a step that is smoothed by noise of variance 1, which is added to the variance of scale z.
    """
    return scale / jnp.sqrt(1.0 + scale**2 * variance)


def erf_means(terms: Terms, coefficients: Sequence[float] = (0.0,)) -> Means:
    """For a constant and the sum of weight erf(scale z) over all terms.

    The arcsine law (W. F. Sheppard 1899) of smoothed steps (C. K. I. Williams 1997).
    """
    (constant,) = coefficients

    def kernel(c: Array, ours: Array, theirs: Array, at: PairPlaces) -> Array:
        total = jnp.full_like(c, constant**2)
        for (weight, scale), (factor, other) in product(terms, terms):
            # erf(z) is 2 f(sqrt(2) z) - 1
            u, v = steepness(ours, ROOT * scale), steepness(theirs, ROOT * other)
            t = c * at.ours(u) * at.theirs(v)
            total = total + (2.0 / math.pi * weight * factor) * arcsine(t)
        return total

    return closed(kernel)


def gelu_means(terms: Terms) -> Means:
    """For the sum of weight gelu(scale z) over all terms, gelu(z) = z f(z) with the smoothed f.

    Stein's lemma for both factors z: <x f(x) y g(y)> is c <f g> + (<x x> <y y> + c^2) <f' g'>
    + c (<x x> <f'' g> + <y y> <f g''>), and means of derivatives are derivatives by covariances
    (R. Price 1958) of <f g>, the arcsine law.
    """

    def kernel(c: Array, ours: Array, theirs: Array, at: PairPlaces) -> Array:
        total = jnp.zeros_like(c)
        for (weight, scale), (factor, other) in product(terms, terms):
            u, v = steepness(ours, scale), steepness(theirs, other)
            both = at.ours(u) * at.theirs(v)
            mean = 0.25 + arcsine(c * both) / (2.0 * math.pi)
            slope = both * arcsine_slope(c * both) / (2.0 * math.pi)
            rest = 1.0 - at.ours(u * u * ours) - at.theirs(v * v * theirs)
            spread = at.ours(ours) * at.theirs(theirs) + c * c * rest
            total = total + weight * scale * factor * other * (c * mean + slope * spread)
        return total

    return closed(kernel)


def relu_means(left: float, right: float) -> Means:
    """For left z below zero and right z above: arc-cosine kernels (Y. Cho and L. K. Saul 2009)."""
    bend, middle = (right - left) ** 2 / (2.0 * math.pi), 0.25 * (left + right) ** 2

    def slopes_at(t: Array) -> Array:
        return bend * arcsine(t) + middle

    def kernel_value(t: Array) -> Array:
        return settled(t) * slopes_at(t) + bend * gap(t)

    kernel_at = with_slope(kernel_value, slopes_at)

    def pairs(c: Array, ours: Array, theirs: Array, at: PairPlaces) -> tuple[Array, Array]:
        scale = at.ours(root(ours)) * at.theirs(root(theirs))
        t = c * inverse(scale)
        return scale * kernel_at(t), slopes_at(t)

    return Means(pairs, lambda variance: 0.5 * (left**2 + right**2) * variance)


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
