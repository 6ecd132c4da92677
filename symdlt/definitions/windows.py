"""Windows: which positions of a grid weights read, for convolutions, pooling and readouts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import LayerError

Grid: TypeAlias = tuple[int, ...]  # how many positions along each axis; () without positions
Indices = NDArray[np.intp]
PADDINGS = ("circular", "zero", "valid")
ALL, MEAN_OF_ALL = "all", "mean"
NOWHERE = -1  # the source of what is read beyond the edge: zero

_KERNEL = re.compile(r"\d+(?:\s*x\s*\d+)*")
_OPTION = re.compile(r"(?P<name>stride|pool)\s+(?P<number>\d+)")


@dataclass(frozen=True, slots=True)
class Window:
    """What stands behind weights in brackets, as in ``W[3x3, stride 2, zero]``.

    Attributes:
        kernel: how many positions are read along each axis, each with weights of its own; ()
            for one.
        stride: from how many positions to the next output, along each axis.
        padding: circular; zero, with as many outputs; or valid, where all that is read is there.
        pool: what is read are means over windows of so many positions along each axis.
        whole: ``all`` if every position of the grid is read with weights of its own (flattening),
            ``mean`` if their mean is, else nothing.
    """

    kernel: Grid = ()
    stride: int = 1
    padding: str = "circular"
    pool: int = 1
    whole: str = ""

    @classmethod
    def read(cls, text: str) -> Window:
        """Read what stands in the brackets.

        Raises:
            LayerError: if it is no window.

        >>> Window.read("3x3, stride 2, zero")
        Window(kernel=(3, 3), stride=2, padding='zero', pool=1, whole='')
        """
        found = cls()
        for part in (part.strip() for part in text.split(",")):
            option = _OPTION.fullmatch(part)
            if _KERNEL.fullmatch(part):
                found = replace(found, kernel=tuple(int(size) for size in part.split("x")))
            elif part in PADDINGS:
                found = replace(found, padding=part)
            elif part in (ALL, MEAN_OF_ALL):
                found = replace(found, whole=part)
            elif option and option["name"] == "pool":
                found = replace(found, pool=int(option["number"]))
            elif option:
                found = replace(found, stride=int(option["number"]))
            else:
                raise LayerError(
                    f"[{text}] is no window. It says which positions weights read. Write [3], "
                    "[3x3, stride 2, zero], [3, pool 2], [all] for weights of each position, or "
                    "[mean]; paddings are circular, zero and valid."
                )
        if not all((*found.kernel, found.stride, found.pool)) or (found.whole and "," in text):
            raise LayerError(
                f"[{text}] is no window: sizes are positive, and all or mean stand alone. It says "
                "which positions weights read. Write [3] or [all]."
            )
        return found

    def sources(self, grid: Grid) -> tuple[Grid, Indices]:
        """The grid of the outputs, and what is read: of each offset, output, and mean over.

        Raises:
            LayerError: if the window does not fit the grid.

        >>> Window.read("3, zero").sources((4,))[1][0, :, 0].tolist()
        [-1, 0, 1, 2]
        """
        count = prod(grid)
        everything = np.arange(count)
        if self.whole:
            shape = (count, 1, 1) if self.whole == ALL else (1, 1, count)
            return (), everything.reshape(shape)
        kernel = self.kernel or (1,) * len(grid)
        if len(kernel) != len(grid) or not grid:
            raise LayerError(
                f"A window has {len(kernel)} axes, and the positions that it reads {len(grid)}: "
                f"{grid}. Data with positions have the shape (N, n_0, P), or (N, n_0, P, Q). Give "
                "them so, or write a window such as [3] or [3x3]."
            )
        places, pooled = self._pooled(grid, everything)
        axes = [self._axis(size, length) for size, length in zip(kernel, pooled, strict=True)]
        above = tuple(len(outputs[0]) for outputs in axes)
        found = []
        for offsets in product(*axes):
            at = np.stack(np.meshgrid(*offsets, indexing="ij")).reshape(len(grid), -1)
            rows = places[np.ravel_multi_index(tuple(np.maximum(at, 0)), pooled)]
            rows[(at == NOWHERE).any(axis=0)] = NOWHERE
            found.append(rows)
        return above, np.stack(found)

    def _pooled(self, grid: Grid, everything: Indices) -> tuple[Indices, Grid]:
        """The positions over which means are taken, one row each, and their grid."""
        if any(length % self.pool for length in grid):
            raise LayerError(
                f"A window pools {self.pool} positions along each axis, and there are {grid}. "
                "Let them be multiples of it."
            )
        pooled = tuple(length // self.pool for length in grid)
        split = [size for length in pooled for size in (length, self.pool)]
        blocks = everything.reshape(split)
        order = (*range(0, 2 * len(grid), 2), *range(1, 2 * len(grid), 2))
        return blocks.transpose(order).reshape(prod(pooled), -1), pooled

    def _axis(self, size: int, length: int) -> list[Indices]:
        """What is read along one axis, of each offset."""
        if self.padding == "valid":
            if size > length:
                raise LayerError(
                    f"A window of {size} positions does not fit into {length}. It was written with "
                    "valid padding. Take a smaller one, or another padding."
                )
            starts = np.arange(0, length - size + 1, self.stride)
            return [starts + offset for offset in range(size)]
        starts = np.arange(0, length, self.stride)
        found = []
        for offset in range(size):
            at = starts + offset - (size - 1) // 2
            outside = (at < 0) | (at >= length)
            found.append(np.where(outside, NOWHERE, at) if self.padding == "zero" else at % length)
        return found
