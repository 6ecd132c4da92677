"""Square roots, quotients and powers of e that have a derivative everywhere, and means over z."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

Array: TypeAlias = jax.Array
# Standard deviations to which nodes go: what is beyond weighs exp(-84), and exp(-42) when it is
# multiplied with a Hermite polynomial; the ends of float64 are at exp(-36).
REACH = 13.0
# The part of the logarithm of the largest float up to which exponents go.
WITHIN = 0.98
# What sums of products of inputs of some thousand numbers are wrong by, in units of eps.
ROUNDING = 16.0


def root(variance: Array) -> Array:
    """A standard deviation; its derivative at zero is taken to be zero."""
    positive = variance > 0.0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, variance, 1.0)), 0.0)


def inverse(value: Array) -> Array:
    """1/value, and 0 where the value is zero."""
    nonzero = value != 0.0
    return jnp.where(nonzero, 1.0 / jnp.where(nonzero, value, 1.0), 0.0)


def bounded_exp(exponent: Array) -> Array:
    """Exp of what is kept below the range of floats."""
    largest = WITHIN * math.log(float(jnp.finfo(exponent.dtype).max))
    return jnp.exp(jnp.minimum(exponent, largest))


def with_slope(value: Callable[..., Any], slope: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one array whose derivative is another function of it."""
    made = jax.custom_jvp(value)
    made.defjvps(lambda change, _, t: slope(t) * change)
    differentiable: Callable[..., Any] = made
    return differentiable


def trapezoid(step: float, shift: float, dtype: Any) -> tuple[Array, Array]:
    """Nodes and weights of the trapezoidal rule for the mean over a standard Gaussian.

    For analytic functions its error falls exponentially in 1/step (L. N. Trefethen and
    J. A. C. Weideman, SIAM Review 56, 2014).
    """
    count = math.ceil(REACH / step)
    nodes = step * (jnp.arange(-count, count + 1, dtype=dtype) + shift)
    weights = jnp.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()
