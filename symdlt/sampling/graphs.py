"""Forests on numbered vertices: sorting and checking."""

from collections.abc import Iterable
from operator import index
from reprlib import repr as short_repr
from typing import TypeAlias

from symdlt.combinatorics import connected_components
from symdlt.errors import GraphError

Edge: TypeAlias = tuple[int, int]


def sort_edges(edges: Iterable[Iterable[int]]) -> tuple[Edge, ...]:
    """Sort edges and their ends, or raise a `GraphError` if they are not pairs of numbers."""
    try:
        pairs = [(index(left), index(right)) for left, right in edges]
    except (TypeError, ValueError):
        raise GraphError(
            f"The edges {short_repr(edges)} cannot be read. "
            f"They are pairs of vertices, numbered from 0. "
            f"Try some such as ((0, 1), (0, 2))."
        ) from None
    return tuple(sorted((min(pair), max(pair)) for pair in pairs))


def check_forest(vertices: int, edges: tuple[Edge, ...]) -> None:
    """Raise a `GraphError` unless the sorted edges make a forest on the vertices."""
    if type(vertices) is not int or vertices < 1:
        raise GraphError(
            f"There is no graph of {short_repr(vertices)} vertices. "
            f"It was given as the number of vertices, for the edges {edges}. "
            f"Try a positive whole number."
        )
    if any(not 0 <= end < vertices for edge in edges for end in edge):
        raise GraphError(
            f"The edges {edges} do not join vertices of the graph. "
            f"The graph has {vertices} vertices, numbered from 0. "
            f"Try more vertices or smaller numbers."
        )
    for count, (left, right) in enumerate(edges, 1):
        if len(connected_components(range(vertices), edges[:count])) != vertices - count:
            raise GraphError(
                f"The edges {edges} contain a cycle or a repeated edge. "
                f"It closes at the edge {left}-{right}. "
                f"Try edges that make a forest: every observable is a product of trees."
            )
