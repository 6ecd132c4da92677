"""Set partitions, and their types when some of the things to be parted are alike."""

import math
from collections.abc import Callable, Iterator
from itertools import groupby, product
from typing import TypeVar

T = TypeVar("T")
Counts = tuple[int, ...]


def set_partitions(items: tuple[T, ...]) -> Iterator[tuple[tuple[T, ...], ...]]:
    """Go through the ways to part things into blocks.

    >>> [len(list(set_partitions(tuple(range(size))))) for size in range(6)]
    [1, 1, 2, 5, 15, 52]
    """
    if not items:
        yield ()
        return
    *rest, last = items
    for partition in set_partitions(tuple(rest)):
        yield (*partition, (last,))
        for place, block in enumerate(partition):
            yield (*partition[:place], (*block, last), *partition[place + 1 :])


def mobius(sizes: tuple[int, ...]) -> int:
    r"""Multiply $(-1)^{s-1}(s-1)!$ over the blocks of a partition.

    >>> mobius((3, 1))
    2
    """
    return math.prod((-1) ** (size - 1) * math.factorial(size - 1) for size in sizes)


def partition_types(
    counts: Counts, allowed: Callable[[int], bool] = lambda size: True
) -> Iterator[tuple[tuple[Counts, ...], int]]:
    """Part a collection with `counts[c]` things of each class c, up to things that are alike.

    Yields each type as its blocks, a block being the number of things of each class in it, with
    the number of set partitions of that type. Blocks of sizes that are not allowed are left out.

    >>> list(partition_types((3,)))
    [(((3,),), 1), (((2,), (1,)), 3), (((1,), (1,), (1,)), 1)]
    >>> list(partition_types((4,), lambda size: size == 2))
    [(((2,), (2,)), 3)]
    """
    total = math.prod(math.factorial(count) for count in counts)
    for blocks in _vector_partitions(counts, counts, allowed):
        alike = math.prod(math.factorial(len(list(run))) for _, run in groupby(blocks))
        inside = math.prod(math.factorial(part) for block in blocks for part in block)
        yield blocks, total // (alike * inside)


def _vector_partitions(
    left: Counts, largest: Counts, allowed: Callable[[int], bool]
) -> Iterator[tuple[Counts, ...]]:
    if not any(left):
        yield ()
        return
    first = next(place for place, count in enumerate(left) if count)
    ranges = [range(count, -1 if place != first else 0, -1) for place, count in enumerate(left)]
    for block in product(*ranges):
        if block <= largest and allowed(sum(block)):
            rest = tuple([a - b for a, b in zip(left, block, strict=True)])
            for blocks in _vector_partitions(rest, block, allowed):
                yield (block, *blocks)
