"""Symmetric matrices over pairs of samples, each pair once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.means.grids import Array

Indices = NDArray[np.intp]

# Samples whose tables are kept at most: 64 MB there; for memory only.
MANY = 2000


class Triangle(NamedTuple):
    """The pairs i <= j of N samples, those of the first sample first.

    The samples of each pair, and where the pairs of a sample with itself are. The cells of an N×N
    matrix are the pairs that belong there.
    """

    first: Indices
    second: Indices
    diagonal: Indices
    cells: Indices

    def packed(self, matrix: Array) -> Array:
        """The entries of the upper triangle."""
        entries: Array = matrix[self.first, self.second]
        return entries

    def whole(self, values: Array) -> Array:
        """A symmetric matrix, or several, from the values for the pairs on the last axis."""
        matrix: Array = values.take(self.cells, axis=-1)
        return matrix


class Strip(NamedTuple):
    """A rectangle: its rows and columns, the pairs in its cells, those i <= j, and their places."""

    rows: slice
    columns: slice
    cells: Indices
    pairs: slice
    inside: Indices


def triangle(count: int) -> Triangle:
    """The pairs of some samples; those of few are kept for the next call."""
    return kept_triangle(count) if count <= MANY else new_triangle(count)


def new_triangle(count: int) -> Triangle:
    """The pairs of some samples."""
    first, second = np.triu_indices(count)
    cells = np.empty((count, count), dtype=np.intp)
    cells[first, second] = cells[second, first] = np.arange(first.size)
    return Triangle(first, second, cells.diagonal().copy(), cells)


kept_triangle = lru_cache(maxsize=8)(new_triangle)


def strips(count: int, height: int) -> list[Strip]:
    """Rectangles that hold the upper triangle, of so many rows, from the diagonal on."""
    return (kept_strips if count <= MANY else new_strips)(count, height)


def new_strips(count: int, height: int) -> list[Strip]:
    """The rectangles."""
    strips = []
    corner = triangle(count)
    diagonal = corner.diagonal.tolist()
    for start in range(0, count, height):
        end = min(start + height, count)
        inside = np.flatnonzero(np.triu(np.ones((end - start, count - start))))
        pairs = slice(diagonal[start], (*diagonal, diagonal[-1] + 1)[end])
        cells = np.ascontiguousarray(corner.cells[start:end, start:])
        strips.append(Strip(slice(start, end), slice(start, count), cells, pairs, inside))
    return strips


kept_strips = lru_cache(maxsize=8)(new_strips)


PairTables = Callable[[Array, Triangle], list[Array]]
Step = Callable[[Array], Array]


def packed_tables(tables: Callable[[Array], Sequence[Array]]) -> PairTables:
    """The same, from a function of matrices."""
    return lambda K, corner: [corner.packed(table) for table in tables(corner.whole(K))]
