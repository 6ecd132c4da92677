"""Means of any smooth activation, by a series in Hermite polynomials of fixed degree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from symdlt.kernels.jax_target.running.calls import Function
from symdlt.kernels.jax_target.running.pairs import Means, PairPlaces
from symdlt.kernels.jax_target.running.smooth import ROUNDING, Array, inverse, root, trapezoid


def weighted_polynomials(nodes: Array, weights: Array, degree: int) -> Array:
    """Normalised Hermite polynomials at the nodes times the weights, one a row."""

    def following(rows: tuple[Array, Array], m: Array) -> tuple[tuple[Array, Array], Array]:
        below, here = rows
        above = (nodes * here - jnp.sqrt(m) * below) / jnp.sqrt(m + 1.0)
        return (here, above), here

    start = jnp.zeros_like(weights), weights
    polynomials: Array = jax.lax.scan(following, start, jnp.arange(degree, dtype=nodes.dtype))[1]
    return polynomials


def pair_sums(
    c: Array, b: Array, d: Array, ours: Array, theirs: Array, degrees: range
) -> tuple[Array, Array]:
    """C times the sum of b_m(i) d_m(j) rho^m/(m+1), and the sum of b_m(i) d_m(j) rho^m.

    The rows of b and d are those of the degrees m, by Horner's rule in rho^1 or rho^2.
    """
    rho = c * inverse(root(ours))[:, None] * inverse(root(theirs))[None, :]
    power = rho if degrees.step == 1 else rho * rho
    kernel = slopes = jnp.zeros_like(c)
    for row, m in reversed(list(enumerate(degrees))):
        product = b[row][:, None] * d[row][None, :]
        slopes = slopes * power + product
        kernel = kernel * power + product / (m + 1)
    first = rho if degrees.start else 1.0
    return c * kernel * first, slopes * first


def series_means(
    functions: Sequence[Function], degrees: range, step: float, shift: float, dtype: Any
) -> Means:
    """Means of sigma and sigma', the first two of the functions.

    With normalised Hermite polynomials h_m and b_m(i) = <s'(z_i) h_m> for z_i of variance K_ii,
    <s' s'> is the sum of b_m(i) b_m(j) rho^m (F. G. Mehler 1866), and <s s> its integral over the
    covariance from <s> <s>. What the sum over other degrees would add, `series_error` bounds. Where
    samples are the same, up to rounding, it is added, so that there the rule is all.
    """
    nodes, weights = trapezoid(step, shift, dtype)
    rows = weighted_polynomials(nodes, weights, degrees.stop)[degrees.start :: degrees.step]
    after = 1.0 + jnp.arange(degrees.start, degrees.stop, degrees.step)
    touching = 1.0 - ROUNDING * float(jnp.finfo(dtype).eps)

    def spectrum(variance: Array) -> tuple[Array, Array, Array]:
        """<s>, b_m, and what the series of both means lacks of a sample with itself."""
        s0, s1 = (function(root(variance)[:, None] * nodes) for function in functions[:2])
        mean, b = s0 @ weights, rows @ s1.T
        kernel = mean**2 + variance * (b * b / after[:, None]).sum(0)
        own = jnp.stack([(s0 * s0) @ weights, (s1 * s1) @ weights])
        return mean, b, own - jnp.stack([kernel, (b * b).sum(0)])

    def pairs(c: Array, ours: Array, theirs: Array, at: PairPlaces) -> tuple[Array, Array]:
        mean, b, rest = spectrum(ours)
        other, d, their = (mean, b, rest) if theirs is ours else spectrum(theirs)
        kernel, slopes = jax.checkpoint(pair_sums, static_argnums=(5,))(
            c, b, d, ours, theirs, degrees
        )
        same = c >= touching * jnp.maximum(ours[:, None], theirs[None, :])
        lacking = jnp.where(same, 0.5 * (rest[:, :, None] + their[:, None, :]), 0.0)
        return kernel + mean[:, None] * other[None, :] + lacking[0], slopes + lacking[1]

    def single(variance: Array) -> Array:
        s0 = functions[0](root(variance)[:, None] * nodes)
        return (s0 * s0) @ weights

    return Means(pairs, single)


def left_out(
    functions: Sequence[Function], K: Array, degree: int, step: float
) -> tuple[Array, Array]:
    """Bounds of what <s s> and <s' s'> lack at pairs of covariance K.

    Of the series, by Parseval's sum: with R_i = <s' s'>_ii - sum b_m(i)^2 these are
    |K_ij rho^degree|/(degree + 1) and |rho|^degree times sqrt(R_i R_j), by the inequality of Cauchy
    and Schwarz; R is known up to rounding. Of the rule, by how far means and coefficients move with
    it by half a step, where what it gets wrong changes its sign.
    """
    variance = jnp.diagonal(K)
    (mean, b, norms), (other, moved, _) = (
        resolved(functions, variance, degree, step, shift) for shift in (0.0, 0.5)
    )
    off, size = jnp.linalg.norm(b - moved, axis=0), jnp.linalg.norm(b, axis=0)
    rest = jnp.abs(norms - size**2) + float(jnp.finfo(K.dtype).eps) * norms
    rho = jnp.abs(K) * inverse(root(variance))[:, None] * inverse(root(variance))[None, :]
    series = rho**degree * root(rest)[:, None] * root(rest)[None, :]
    rule = product_error(size, off)
    kernel = jnp.abs(K) * (series / (degree + 1) + rule)
    return kernel + product_error(jnp.abs(mean), jnp.abs(mean - other)), series + rule


def resolved(
    functions: Sequence[Function], variance: Array, degree: int, step: float, shift: float
) -> tuple[Array, Array, Array]:
    """<s>, b_m and <s' s'> of single samples, by one rule."""
    nodes, weights = trapezoid(step, shift, variance.dtype)
    s0, s1 = (function(root(variance)[:, None] * nodes) for function in functions[:2])
    rows = weighted_polynomials(nodes, weights, degree)
    return s0 @ weights, rows @ s1.T, (s1 * s1) @ weights


def product_error(sizes: Array, errors: Array) -> Array:
    """How far products of two numbers are off, if these are."""
    mixed = sizes[:, None] * errors[None, :]
    return mixed + mixed.T + errors[:, None] * errors[None, :]
