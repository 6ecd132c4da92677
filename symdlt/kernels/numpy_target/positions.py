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

    An output is at every so many positions; the padding is circular, zero or valid.
    """

    sizes: tuple[int, ...]
    stride: int = 1
    padding: str = "circular"
    whole: bool = False


def positions_read(window: GridWindow, grid: tuple[int, ...]) -> tuple[tuple[int, ...], Indices]:
    """The grid of the outputs, and the number of what is read: of each shift, and each output."""
    if window.whole:
        return (), np.arange(prod(grid))[:, None]
    sizes = window.sizes or (1,) * len(grid)
    if len(sizes) != len(grid) or not grid:
        raise KernelInputError(
            f"The window has {len(sizes)} axes, and there are {len(grid)} axes of positions: "
            f"{grid}. The overlap has an axis for the sample and each of these, twice. Give one "
            "of such inputs."
        )
    at, above = np.zeros((1, 1), dtype=np.intp), []
    for size, length in zip(sizes, grid, strict=True):
        along = read_along(window, size, length)
        above.append(along.shape[1])
        joined = at[:, None, :, None] * length + along[:, None, :]
        there = (at[:, None, :, None] != NOWHERE) & (along[:, None, :] != NOWHERE)
        at = np.where(there, joined, NOWHERE).reshape(len(at) * size, -1)
    return tuple(above), at


def read_along(window: GridWindow, size: int, length: int) -> Indices:
    """What is read along one axis, of each shift, and each output."""
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


def mean_read(table: Array, together: tuple[tuple[int, ...], ...], at: Indices) -> Array:
    """The means of a table over what is read, with axes that go over positions together.

    Args:
        table: an axis of entries of the layer below for each sample.
        together: groups of axes; each has a mean of its own.
        at: the number of the entry that is read, of each shift, and each output.
    """
    for axes in together:
        if NOWHERE in at:  # the last entry, which is zero
            table = np.pad(table, [(0, int(axis in axes)) for axis in range(table.ndim)])
        total: Array = np.zeros(())
        for row in at:
            part = table
            for axis in axes:
                part = part.take(row, axis=axis)
            total = total + part
        table = total / len(at)
    return table
