"""Positions of a grid: which of them a window reads, and means of tables over these."""

from __future__ import annotations

from math import prod
from reprlib import repr as short_repr
from typing import NamedTuple

import numpy as np

from symdlt.kernels.numpy_target.checks import real_numbers
from symdlt.means import Array, Indices, KernelInputError

NOWHERE = -1  # what is read beyond the edge: zero


class GridWindow(NamedTuple):
    """What weights read: so many positions along each axis, or all of the grid.

    An output is at every so many positions; the padding is circular, zero or valid. What is read
    are means over so many positions that are pooled along each axis. Of the whole grid it is "all"
    positions, each with weights of its own, or their "mean".
    """

    sizes: tuple[int, ...]
    stride: int = 1
    padding: str = "circular"
    pool: int = 1
    whole: str = ""


def positions_read(window: GridWindow, grid: tuple[int, ...]) -> tuple[tuple[int, ...], Indices]:
    """The grid of the outputs, and what is read: of each shift and output, those of a mean."""
    if window.whole:
        every = np.arange(prod(grid))
        return (), every[None, None] if window.whole == "mean" else every[:, None, None]
    sizes = window.sizes or (1,) * len(grid)
    if len(sizes) != len(grid) or not grid:
        raise KernelInputError(
            f"The window has {len(sizes)} axes, and there are {len(grid)} axes of positions: "
            f"{grid}. The overlap has an axis for the sample and each of these, twice. Give one "
            "of such inputs."
        )
    at, above = np.zeros((1, 1, 1), dtype=np.intp), []
    for size, length in zip(sizes, grid, strict=True):
        along = read_along(window, size, length)
        above.append(along.shape[1])
        first, second = at[:, None, :, None, :, None], along[:, None, :, None, :]
        joined = np.where((first < 0) | (second < 0), NOWHERE, first * length + second)
        outputs, pooled = at.shape[1] * along.shape[1], at.shape[2] * along.shape[2]
        at = joined.reshape(-1, outputs, pooled)
    return tuple(above), at


def read_along(window: GridWindow, size: int, length: int) -> Indices:
    """What is read along one axis, of each shift and output, those of a mean."""
    if length % window.pool:
        raise KernelInputError(
            f"The window pools {window.pool} positions, and there are {length} along an axis. "
            "Means are over as many positions each. Give a multiple, or fewer layers."
        )
    at = means_along(window, size, length // window.pool)[:, :, None]
    read: Indices = np.where(at < 0, NOWHERE, at * window.pool + np.arange(window.pool))
    return read


def means_along(window: GridWindow, size: int, length: int) -> Indices:
    """Which means are read along one axis, of each shift, and each output."""
    if window.padding == "valid":
        if size > length:
            raise KernelInputError(
                f"A window of {size} positions does not fit into {length}. What it reads is to be "
                "there, as its padding is valid. Give more positions, or fewer layers."
            )
        starts = np.arange(0, length - size + 1, window.stride)
        return starts + np.arange(size)[:, None]
    at = np.arange(0, length, window.stride) + np.arange(size)[:, None] - (size - 1) // 2
    if window.padding == "zero":
        return np.where((at >= 0) & (at < length), at, NOWHERE)
    read: Indices = at % length
    return read


def flattened(overlap: Array) -> tuple[Array, tuple[int, ...]]:
    """An overlap of samples at positions as a matrix, and the grid of the positions."""
    given = real_numbers("overlap", overlap)
    shape = given.shape
    samples, *grid = shape[: len(shape) // 2] or (0,)
    if shape != 2 * (samples, *grid) or 0 in shape:
        raise KernelInputError(
            f"The overlap has shape {short_repr(shape)}. It is x_i.x_j/n_0 of N inputs at all "
            "pairs of their positions, of shape (N, P, N, P), or (N, P, Q, N, P, Q) on a plane. "
            "Give np.einsum('icp,jcq->ipjq', x, x) / n_0 of inputs of shape (N, n_0, P)."
        )
    count = samples * prod(grid)
    return given.reshape(count, count), tuple(grid)


def mean_read(table: Array, together: tuple[int, ...], at: Indices) -> Array:
    """The mean of a table over what is read, with axes that go over positions together.

    Args:
        table: an axis of entries of the layer below for each sample.
        together: these axes; of what is pooled each has a mean of its own.
        at: the number of the entry that is read, of each shift and output, those of a mean.
    """
    if NOWHERE in at:  # the last entry, which is zero
        table = np.pad(table, [(0, int(axis in together)) for axis in range(table.ndim)])
    total: Array = np.zeros(())
    for row in at:
        part = table
        for axis in together:
            part = mean_along(part, axis, row)
        total = total + part
    return total / len(at)


def mean_along(table: Array, axis: int, at: Indices) -> Array:
    """The means of a table along an axis, of each output over those that are pooled."""
    if at.shape[1] == 1:
        return table.take(at[:, 0], axis=axis)
    mean: Array = table.take(at, axis=axis).mean(axis=axis + 1)
    return mean
