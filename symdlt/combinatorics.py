"""Set partitions and their types, perfect matchings, connected components."""

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, product
from typing import TypeVar

T = TypeVar("T")
Counts = tuple[int, ...]


def set_partitions(items: tuple[T, ...]) -> Iterator[tuple[tuple[T, ...], ...]]:
    """Go through the ways to part things into blocks, these in order of their first members.

    >>> [len(list(set_partitions(tuple(range(size))))) for size in range(6)]
    [1, 1, 2, 5, 15, 52]
    >>> list(set_partitions((0, 1)))
    [((0, 1),), ((0,), (1,))]
    """
    if not items:
        yield ()
        return
    *rest, last = items
    for partition in set_partitions(tuple(rest)):
        for place, block in enumerate(partition):
            yield (*partition[:place], (*block, last), *partition[place + 1 :])
        yield (*partition, (last,))


def perfect_matchings(items: tuple[T, ...]) -> Iterator[tuple[tuple[T, T], ...]]:
    """Go through the ways to pair things, none for an odd number of them.

    >>> len(list(perfect_matchings((0, 1, 2, 3)))), list(perfect_matchings((0, 1, 2)))
    (3, [])
    """
    if not items:
        yield ()
        return
    first, *others = items
    for place, partner in enumerate(others):
        for rest in perfect_matchings((*others[:place], *others[place + 1 :])):
            yield ((first, partner), *rest)


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


def deal_places(blocks: tuple[Counts, ...], classes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Give each block of a type the first places of each class that are left.

    >>> deal_places(((1, 1), (1, 0)), (0, 0, 1))
    [(0, 2), (1,)]
    """
    supply = [
        iter([place for place, number in enumerate(classes) if number == wanted])
        for wanted in range(max(classes, default=-1) + 1)
    ]
    return [
        tuple([next(places) for places, n in zip(supply, block, strict=True) for _ in range(n)])
        for block in blocks
    ]


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


def connected_components(
    nodes: Iterable[int], links: Iterable[Iterable[int]]
) -> tuple[tuple[int, ...], ...]:
    """Nodes grouped by the links (edges or hyperedges) between them, sorted.

    >>> connected_components(range(5), [(0, 2), (1, 3, 4)])
    ((0, 2), (1, 3, 4))
    """
    group_of = {node: [node] for node in nodes}
    for link in links:
        first, *rest = link
        group = group_of[first]
        for node in rest:
            other = group_of[node]
            if other is not group:
                group += other
                for member in other:
                    group_of[member] = group
    groups = {id(group): group for group in group_of.values()}
    return tuple(sorted([tuple(sorted(group)) for group in groups.values()]))
