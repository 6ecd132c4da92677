"""<f f> and <f' f'> alone, in closed form, with as few passes over the matrices as they take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from symdlt.means._grids import Array
from symdlt.means._steps import TOUCHING

STRIPED = 96
SMALLEST = math.ulp(0.0)
STRIPS = 4
EVERY = slice(None)
PairLayer = Callable[[Array, Array, Array], tuple[Array, Array]]
Blocks = Callable[[Array], Iterable[tuple[slice, slice, Sequence[Array]]]]


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


@lru_cache(maxsize=8)
def strips(count: int) -> list[tuple[slice, slice]]:
    """Rows and columns of blocks that cover the upper triangle, small enough for the cache."""
    if count < STRIPED:
        return [(EVERY, EVERY)]
    height = -(-count // STRIPS)
    return [(slice(i, i + height), slice(i, count)) for i in range(0, count, height)]


def layer_blocks(layer: PairLayer, orders: Sequence[int]) -> Blocks:
    """What gives the rows and the columns of each block, and there the matrices of some orders."""

    def blocks(K: Array) -> Iterator[tuple[slice, slice, Sequence[Array]]]:
        variances = K.diagonal()
        for rows, columns in strips(variances.size):
            one = variances[rows]
            two = one if rows == columns else variances[columns]
            both = layer(K[rows, columns], one, two)
            yield rows, columns, [both[order] for order in orders]

    return blocks


def whole_blocks(means: Callable[[Array], list[Array]]) -> Blocks:
    """All pairs as one block."""
    return lambda K: [(EVERY, EVERY, means(K))]


def whole_layer(layer: PairLayer, K: Array, orders: Sequence[int]) -> list[Array]:
    """The matrices of some orders for all pairs."""
    found = [np.empty_like(K) for _ in orders]
    for rows, columns, block in layer_blocks(layer, orders)(K):
        for matrix, part in zip(found, block, strict=True):
            matrix[columns, rows] = part.T
            matrix[rows, columns] = part
    return found
