"""Forests on numbered vertices: sorting, checking, connected components."""

from typing import TypeAlias

from symdlt.errors import GraphError

Edge: TypeAlias = tuple[int, int]


def sort_edges(edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """Sort edges and their ends."""
    return tuple(sorted((min(edge), max(edge)) for edge in edges))


def check_forest(vertices: int, edges: tuple[Edge, ...]) -> None:
    """Raise a `GraphError` unless the sorted edges make a forest on the vertices."""
    parent = list(range(vertices))
    if vertices < 1 or any(not 0 <= end < vertices for edge in edges for end in edge):
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
