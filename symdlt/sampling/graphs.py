"""Forests on numbered vertices: sorting, checking, connected components."""

from collections.abc import Iterable
from operator import index
from reprlib import repr as short_repr
from typing import TypeAlias

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
    parent = list(range(vertices))
    if any(not 0 <= end < vertices for edge in edges for end in edge):
        raise GraphError(
            f"The edges {edges} do not join vertices of the graph. "
            f"The graph has {vertices} vertices, numbered from 0. "
            f"Try more vertices or smaller numbers."
        )
    for left, right in edges:
        roots = _find_root(parent, left), _find_root(parent, right)
        if roots[0] == roots[1]:
            raise GraphError(
                f"The edges {edges} contain a cycle or a repeated edge. "
                f"It closes at the edge {left}-{right}. "
                f"Try edges that make a forest: every observable is a product of trees."
            )
        parent[roots[1]] = roots[0]


def list_components(vertices: int, edges: tuple[Edge, ...]) -> tuple[tuple[int, ...], ...]:
    """List the connected components of a graph, each sorted, by their smallest vertex.

    >>> list_components(4, ((1, 3),))
    ((0,), (1, 3), (2,))
    """
    parent = list(range(vertices))
    for left, right in edges:
        parent[_find_root(parent, right)] = _find_root(parent, left)
    members: dict[int, list[int]] = {}
    for vertex in range(vertices):
        members.setdefault(_find_root(parent, vertex), []).append(vertex)
    return tuple(tuple(component) for component in members.values())


def _find_root(parent: list[int], vertex: int) -> int:
    while parent[vertex] != vertex:
        vertex = parent[vertex]
    return vertex
