"""<f f> and <f' f'> alone, in closed form, with as few passes over the matrices as they take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from symdlt.means._grids import Array
from symdlt.means._steps import TOUCHING

STRIPED = 96
SMALLEST = math.ulp(0.0)
STRIPS = 4
CACHED = 1 << 14
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
    ours = np.sqrt(one)
    scale = ours[:, None] * (ours if one is two else np.sqrt(two))
    t = np.maximum(scale, SMALLEST)
    np.divide(c, t, out=t)
    np.rint(t, out=t, where=np.abs(t) >= TOUCHING)
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


def whole_layer(layer: PairLayer, K: Array, orders: Sequence[int]) -> list[Array]:
    """The matrices of some orders for all pairs, from blocks of the upper triangle in the cache."""
    variances = K.diagonal()
    count = variances.size
    if count < STRIPED:
        both = layer(K, variances, variances)
        return [both[order] for order in orders]
    found = [np.empty_like(K) for _ in orders]
    height = -(-count // max(STRIPS, -(-count * count // CACHED)))
    for start in range(0, count, height):
        rows, columns = slice(start, start + height), slice(start, count)
        both = layer(K[rows, columns], variances[rows], variances[columns])
        for matrix, order in zip(found, orders, strict=True):
            matrix[columns, rows] = both[order].T
            matrix[rows, columns] = both[order]
    return found
