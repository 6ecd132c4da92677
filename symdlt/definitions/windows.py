"""Windows: which positions of a grid weights read, for convolutions, pooling and readouts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import TypeAlias

from symdlt.errors import LayerError

Grid: TypeAlias = tuple[int, ...]  # how many positions along each axis; () without positions
# Of each offset of a window, and each position that is made, the positions of a mean.
Sources: TypeAlias = tuple[tuple[tuple[int, ...], ...], ...]
PADDINGS = ("circular", "zero", "valid")
ALL, MEAN_OF_ALL, CAUSAL = "all", "mean", "causal"
LARGEST = 1000  # a bound: larger than windows that are used
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
        causal: whether attention reads each position and those before it alone.
    """

    kernel: Grid = ()
    stride: int = 1
    padding: str = "circular"
    pool: int = 1
    whole: str = ""
    causal: bool = False

    def __str__(self) -> str:
        kernel = "x".join(map(str, self.kernel))
        options = [kernel, f"stride {self.stride}" * (self.stride > 1)]
        options += [f"pool {self.pool}" * (self.pool > 1), self.whole, CAUSAL * self.causal]
        options += ["" if self.padding == PADDINGS[0] and any(options) else self.padding]
        return ", ".join(one for one in options if one)

    @property
    def pools(self) -> bool:
        """Whether it reads means over several positions."""
        return self.pool > 1 or self.whole == MEAN_OF_ALL

    @property
    def count(self) -> int:
        """How many offsets it has, but for those of all positions."""
        return prod(self.kernel)

    @classmethod
    def read(cls, text: str) -> Window:
        """Read what stands in the brackets.

        Raises:
            LayerError: if it is no window.

        >>> Window.read("3x3, stride 2, zero")
        Window(kernel=(3, 3), stride=2, padding='zero', pool=1, whole='', causal=False)
        """
        window = cls()
        for part in (part.strip() for part in text.split(",")):
            option = _OPTION.fullmatch(part)
            if _KERNEL.fullmatch(part):
                window = replace(window, kernel=tuple(int(size) for size in part.split("x")))
            elif part in PADDINGS:
                window = replace(window, padding=part)
            elif part in (ALL, MEAN_OF_ALL):
                window = replace(window, whole=part)
            elif part == CAUSAL:
                window = replace(window, causal=True)
            elif option and option["name"] == "pool":
                window = replace(window, pool=int(option["number"]))
            elif option:
                window = replace(window, stride=int(option["number"]))
            else:
                raise LayerError(
                    f"[{text}] is no window. It says which positions weights read. Write [3], "
                    "[3x3, stride 2, zero], [3, pool 2], [all] for weights of each position, or "
                    "[mean]; paddings are circular, zero and valid."
                )
        sizes = (*window.kernel, window.stride, window.pool)
        alone = window.whole or window.causal
        if not all(0 < size <= LARGEST for size in sizes) or (alone and "," in text):
            raise LayerError(
                f"[{text}] is no window: sizes are from 1 to {LARGEST}, and all, mean or causal "
                "stand alone. It says which positions weights read. Write [3] or [all]."
            )
        return window

    @lru_cache(maxsize=64)  # a program asks for the grid, and then for the sources  # noqa: B019
    def sources(self, grid: Grid) -> tuple[Grid, Sources]:
        """The grid of the outputs, and what is read: of each offset, output, and mean over.

        Raises:
            LayerError: if the window does not fit the grid.

        >>> Window.read("3, zero").sources((4,))[1][0]
        ((-1,), (0,), (1,), (2,))
        """
        everything = range(prod(grid))
        if self.whole == ALL:
            return (), tuple(((place,),) for place in everything)
        if self.whole:
            return (), ((tuple(everything),),)
        kernel = self.kernel or (1,) * len(grid)
        if len(kernel) != len(grid) or not grid:
            raise LayerError(
                f"A window has {len(kernel)} axes, and the positions that it reads {len(grid)}: "
                f"{grid}. Data with positions have the shape (N, n_0, P), or (N, n_0, P, Q). Give "
                "them so, or write a window such as [3] or [3x3]."
            )
        pooled = self._pooled(grid)
        axes = [self._axis(size, length) for size, length in zip(kernel, pooled, strict=True)]
        above = tuple(len(outputs[0]) for outputs in axes)
        sources = tuple(
            tuple(self._places(at, grid) for at in product(*offsets)) for offsets in product(*axes)
        )
        return above, sources

    def _places(self, at: tuple[int, ...], grid: Grid) -> tuple[int, ...]:
        """The positions that are pooled at a place, by their numbers."""
        if NOWHERE in at:
            return (NOWHERE,) * prod(self.pool for _ in grid)
        ranges = [range(self.pool * place, self.pool * (place + 1)) for place in at]
        return tuple(_number(place, grid) for place in product(*ranges))

    def _pooled(self, grid: Grid) -> Grid:
        if any(length % self.pool for length in grid):
            raise LayerError(
                f"A window pools {self.pool} positions along each axis, and there are {grid}. "
                "Let them be multiples of it."
            )
        return tuple(length // self.pool for length in grid)

    def _axis(self, size: int, length: int) -> list[list[int]]:
        """What is read along one axis, of each offset."""
        if self.padding == "valid":
            if size > length:
                raise LayerError(
                    f"A window of {size} positions does not fit into {length}. It was written with "
                    "valid padding. Take a smaller one, or another padding."
                )
            starts = range(0, length - size + 1, self.stride)
            return [[start + offset for start in starts] for offset in range(size)]
        starts = range(0, length, self.stride)
        rows = []
        for offset in range(size):
            at = [start + offset - (size - 1) // 2 for start in starts]
            if self.padding == "zero":
                rows.append([place if 0 <= place < length else NOWHERE for place in at])
            else:
                rows.append([place % length for place in at])
        return rows


def _number(place: tuple[int, ...], grid: Grid) -> int:
    """The number of a place, the last axis first."""
    number = 0
    for at, length in zip(place, grid, strict=True):
        number = number * length + at
    return number


def of_queries(count: int) -> Sources:
    """Of each pair of positions (p, r), that of the query, p."""
    return (tuple((p,) for p in range(count) for _ in range(count)),)


def of_keys(count: int) -> Sources:
    """Of each pair of positions (p, r), that of the key, r.

    >>> of_queries(2), of_keys(2)
    ((((0,), (0,), (1,), (1,)),), (((0,), (1,), (0,), (1,)),))
    """
    return (tuple((r,) for _ in range(count) for r in range(count)),)


def over_keys(count: int, causal: bool) -> Sources:
    """Of each position p all pairs (p, r), or those with r ≤ p.

    >>> over_keys(2, False), over_keys(2, True)
    ((((0, 1), (2, 3)),), (((0, -1), (2, 3)),))
    """
    rows = []
    for p in range(count):
        keys = p + 1 if causal else count
        rows.append((*range(p * count, p * count + keys), *[NOWHERE] * (count - keys)))
    return (tuple(rows),)


def put_at(step: int, steps: int) -> Sources:
    """What has no position, as that of one step among several.

    >>> put_at(1, 3)
    (((-1,), (0,), (-1,)),)
    """
    return (tuple((0 if place == step else NOWHERE,) for place in range(steps)),)


def taken_at(step: int, sources: Sources) -> Sources:
    """What a window reads for one of its outputs."""
    return tuple((offset[step],) for offset in sources)


def unmoved(count: int) -> Sources:
    """Each position itself."""
    return (tuple((place,) for place in range(count)),)
