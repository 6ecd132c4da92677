"""<f f> and <f' f'> alone, in closed form, with as few passes over the pairs as they take."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from symdlt.means.gaps import gaps
from symdlt.means.grids import Array
from symdlt.means.steps import TOUCHING
from symdlt.means.triangle import Indices, Triangle

SMALLEST = math.ulp(0.0)
# The full angle: arc sines over it are probabilities.
TWO_PI = 2.0 * math.pi
# Pairs at once: arrays of 256 kB, some of which a cache holds; for speed only.
CACHED = 1 << 15
# Rounding of t enters arcsin(t) as 1/sqrt(1 - t^2): by 2e-14 there, measured, and more beyond.
TOO_NEAR = 1.0 - 1e-5
PairLayer = Callable[[Array, Array, Indices, Indices], tuple[Array, Array]]


def erf_layer(c: Array, variances: Array, i: Indices, j: Indices) -> tuple[Array, Array]:
    """For erf(z), from the covariances of pairs i, j and the variances of all samples.

    The arcsine law of steps (W. F. Sheppard 1899), here of smoothed ones (C. K. I. Williams 1997).
    """
    roots = np.sqrt(variances + 0.5)
    slopes = roots.take(i)
    slopes *= roots.take(j)
    kernel = c / slopes
    cosine = kernel * kernel
    np.subtract(1.0, cosine, out=cosine)
    np.sqrt(cosine, out=cosine)
    slopes *= cosine
    np.divide(2.0 / math.pi, slopes, out=slopes)
    np.arcsin(kernel, out=kernel)
    kernel *= 2.0 / math.pi
    return kernel, slopes


def gelu_layer(c: Array, variances: Array, i: Indices, j: Indices) -> tuple[Array, Array]:
    """For z (1 + erf(z/sqrt 2))/2, from the covariances of pairs and the variances of samples.

    The arcsine law of the smoothed step, and Stein's lemma for both factors z.
    """
    inverse = 1.0 / np.sqrt(variances + 1.0)
    shares, theirs = inverse.take(i), inverse.take(j)
    density = shares * theirs
    angle = c * density
    slopes = angle * angle
    np.subtract(1.0, slopes, out=slopes)
    np.sqrt(slopes, out=slopes)
    density /= slopes
    np.arcsin(angle, out=angle)
    angle *= 1.0 / TWO_PI
    angle += 0.25
    shares *= shares
    theirs *= theirs
    shares += theirs
    np.multiply(density, density, out=slopes)
    slopes += shares
    density *= 1.0 / TWO_PI
    weight = np.multiply(c, density, out=theirs)
    slopes *= weight
    slopes += angle
    shares -= 1.0
    shares *= weight
    angle += shares
    angle *= c
    kernel = variances.take(i)
    kernel *= variances.take(j)
    kernel *= density
    kernel += angle
    return kernel, slopes


def relu_layer(
    c: Array, variances: Array, i: Indices, j: Indices, left: float = 0.0, right: float = 1.0
) -> tuple[Array, Array]:
    """For left z below and right z above zero, from the covariances and the variances.

    Arc-cosine kernels (Y. Cho and L. K. Saul 2009), of degree one and, for the slopes, zero.
    """
    roots = np.sqrt(variances)
    scale = roots.take(i)
    scale *= roots.take(j)
    t = np.maximum(scale, SMALLEST)
    np.divide(c, t, out=t)
    near = np.abs(t) >= TOO_NEAR
    alone = len(variances) * (len(variances) + 1) == 2 * c.size
    # Each sample is near itself; with no other pairs, these are all that are to be moved to ±1.
    others = not alone or np.count_nonzero(near) > len(variances)
    np.rint(t, out=t, where=np.abs(t) >= TOUCHING if others else near)
    factor = (right - left) ** 2 / TWO_PI
    slopes = np.arcsin(t)
    kernel = 1.0 - t
    kernel *= 1.0 + t
    np.sqrt(kernel, out=kernel)
    if others:
        places = np.flatnonzero(near & (np.abs(t) < 1.0))
        s = np.sqrt(gaps(c[places], variances[i[places]], variances[j[places]]))
        kernel[places] = s
        slopes[places] = np.arctan2(t[places], s)
    slopes *= factor
    slopes += 0.25 * (left + right) ** 2
    kernel *= factor
    t *= slopes
    kernel += t
    kernel *= scale
    return kernel, slopes


def layer_of_pairs(
    layer: PairLayer, K: Array, variances: Array, corner: Triangle
) -> tuple[Array, Array]:
    """Both means for all pairs, in parts that fit into the cache."""
    if K.size <= CACHED:
        return layer(K, variances, corner.first, corner.second)
    both = np.empty_like(K), np.empty_like(K)
    for start in range(0, K.size, CACHED):
        part = slice(start, start + CACHED)
        tables = layer(K[part], variances, corner.first[part], corner.second[part])
        for values, own in zip(both, tables, strict=True):
            values[part] = own
    return both
