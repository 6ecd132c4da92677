"""Offsets between positions of a grid, which close upon themselves, and the pairs windows read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from symdlt.definitions import INPUT, Grid, Program, ProgramBranch
from symdlt.definitions.windows import NOWHERE, Sources, unmoved

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@lru_cache(maxsize=32)
def sums(grid: Grid) -> Indices:
    """The number of the position p + o, for all offsets o and positions p.

    >>> sums((3,)).tolist()
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    count = prod(grid)
    places = np.array(np.unravel_index(np.arange(count), grid or (1,)))
    lengths = np.array(grid or (1,))[:, None, None]
    joined = (places[:, :, None] + places[:, None, :]) % lengths
    numbers: Indices = np.ravel_multi_index(tuple(joined), grid or (1,)).astype(np.intp)
    return numbers


@lru_cache(maxsize=32)
def negatives(grid: Grid) -> Indices:
    """The number of the offset -o."""
    numbers: Indices = np.argmin(sums(grid), axis=1)
    return numbers


def read_pairs(
    sources: Sources, above: Grid, below: Grid, first: int, second: int
) -> Iterator[tuple[int, Array]]:
    """What a pair of positions reads, of all offsets of a window.

    Args:
        sources: of the window.
        above: the grid of what is made.
        below: the grid of what is read.
        first: the offset of the first position of the pair that is made.
        second: that of the second.

    Yields:
        an offset between the positions that are read, and a matrix: how much each position above
        reads of a pair that begins at each position below.
    """
    up, down = sums(above), sums(below)
    window = np.array(sources)
    shape = prod(above), prod(below)
    left, right = window[:, up[first], :, None], window[:, up[second], None, :]
    left, right = np.broadcast_arrays(left, right)
    there = (left != NOWHERE) & (right != NOWHERE)
    weight = 1.0 / (window.shape[0] * window.shape[2] ** 2)
    above_at = np.broadcast_to(np.arange(shape[0])[None, :, None, None], left.shape)[there]
    begin, end = left[there], right[there]
    offsets = down[negatives(below)[begin], end]
    for offset in np.unique(offsets).tolist():
        chosen = offsets == offset
        matrix = np.zeros(shape)
        np.add.at(matrix, (above_at[chosen], begin[chosen]), weight)
        yield offset, matrix


def offsets_of(program: Program) -> list[set[int]]:
    """Of each field the offsets between the positions of the pairs that tensors need."""
    offsets: list[set[int]] = [{0} for _ in program.fields]
    for field, one in reversed([*enumerate(program.fields)]):
        for place, (_, ((kept, _, _), *_)) in enumerate(one.kept):
            at = one.places[place][0] if one.places else None
            offsets[kept] |= {at[offset][0] if at else offset for offset in offsets[field]}
        for branch in one.branches:
            read = {of for _, factors in branch.function for of, _, _ in factors if of != INPUT}
            for of in read:
                offsets[of] |= _below(branch, one.grid, program.fields[of].grid, offsets[field])
    return offsets


def _below(branch: ProgramBranch, above: Grid, below: Grid, offsets: set[int]) -> set[int]:
    if branch.sources is None:
        return offsets
    return {
        lower
        for offset in offsets
        for lower, _ in read_pairs(branch.sources, above, below, 0, offset)
    }


def read_covariance(
    rows: Sources | None, covariance: Array, samples: int, columns: Sources | None
) -> Array:
    """The mean over the offsets of a window of what it makes of a covariance at all positions.

    Args:
        rows: what is read at the rows; None for each position itself.
        covariance: a row for each position of each sample.
        samples: how many there are.
        columns: the same of the columns, of a window of as many offsets.
    """
    sizes = [len(axis) // samples for axis in (covariance, covariance.T)]
    left, right = (
        np.array(unmoved(size) if sources is None else sources)
        for sources, size in zip((rows, columns), sizes, strict=True)
    )
    # NOWHERE is the last position, which is zero.
    outside = np.pad(covariance.reshape(samples, sizes[0], samples, sizes[1]), ((0, 0), (0, 1)) * 2)
    total = 0.0
    for one, other in zip(left, right, strict=True):
        total = total + outside[:, one].mean(axis=2)[:, :, :, other].mean(axis=4)
    shape = samples * left.shape[1], samples * right.shape[1]
    mean: Array = np.reshape(total / len(left), shape)
    return mean
