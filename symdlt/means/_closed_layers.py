"""<f f> and <f' f'> alone, in closed form, with as few passes over the matrices as they take."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from symdlt.means._grids import Array
from symdlt.means._steps import TOUCHING

STRIPED = 96
STRIPS = 4
PairLayer = Callable[[Array, Array, Array], tuple[Array, Array]]


def inverse_roots(one: Array, two: Array, noise: float) -> tuple[Array, Array]:
    """1/sqrt(K_ii + noise) as a column and as a row."""
    row = 1.0 / np.sqrt(two + noise)
    return (row if one is two else 1.0 / np.sqrt(one + noise))[:, None], row


def erf_layer(c: Array, one: Array, two: Array) -> tuple[Array, Array]:
    """For erf(z), from the covariances and the variances of both samples."""
    ours, theirs = inverse_roots(one, two, 0.5)
    slopes = ours * theirs
    kernel = c * slopes
    cosine = kernel * kernel
    np.subtract(1.0, cosine, out=cosine)
    np.sqrt(cosine, out=cosine)
    slopes /= cosine
    slopes *= 2.0 / math.pi
    np.arcsin(kernel, out=kernel)
    kernel *= 2.0 / math.pi
    return kernel, slopes


def gelu_layer(c: Array, one: Array, two: Array) -> tuple[Array, Array]:
    """For z (1 + erf(z/sqrt 2))/2, from the covariances and the variances of both samples."""
    ours, theirs = inverse_roots(one, two, 1.0)
    density = ours * theirs
    angle = c * density
    slopes = angle * angle
    np.subtract(1.0, slopes, out=slopes)
    np.sqrt(slopes, out=slopes)
    density /= slopes
    np.arcsin(angle, out=angle)
    angle += 0.5 * math.pi
    shares = ours * ours + theirs * theirs
    np.multiply(density, density, out=slopes)
    slopes += shares
    slopes *= density
    slopes *= c
    slopes += angle
    slopes *= 0.5 / math.pi
    shares -= 1.0
    shares *= c
    shares *= c
    shares += one[:, None] * two
    shares *= density
    angle *= c
    angle += shares
    angle *= 0.5 / math.pi
    return angle, slopes


def relu_layer(
    c: Array, one: Array, two: Array, left: float = 0.0, right: float = 1.0
) -> tuple[Array, Array]:
    """For left z below and right z above zero, from the covariances and both variances."""
    scale = np.sqrt(one)[:, None] * np.sqrt(two)
    t = np.divide(c, scale, where=scale > 0.0, out=np.zeros_like(c))
    np.copyto(t, np.sign(t), where=np.abs(t) >= TOUCHING)
    factor = (right - left) ** 2 / (2.0 * math.pi)
    slopes = np.arcsin(t)
    slopes *= factor
    slopes += 0.25 * (left + right) ** 2
    kernel = 1.0 - t
    kernel *= 1.0 + t
    np.sqrt(kernel, out=kernel)
    kernel *= factor
    t *= slopes
    kernel += t
    kernel *= scale
    return kernel, slopes


def whole_layer(layer: PairLayer, K: Array) -> tuple[Array, Array]:
    """Both matrices for all pairs, not checked; by strips of half of them where that is faster."""
    variances = K.diagonal()
    count = variances.size
    if count < STRIPED:
        return layer(K, variances, variances)
    kernel, slopes = np.empty_like(K), np.empty_like(K)
    height = -(-count // STRIPS)
    for start in range(0, count, height):
        part, rest = slice(start, start + height), slice(start, count)
        both = layer(K[part, rest], variances[part], variances[rest])
        for matrix, strip in zip((kernel, slopes), both, strict=True):
            matrix[rest, part] = strip.T
            matrix[part, rest] = strip
    return kernel, slopes
