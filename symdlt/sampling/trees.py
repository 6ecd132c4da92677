"""Tree observables on numbered vertices, and how to cut them at one edge into two rooted trees."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from reprlib import repr as short_repr
from types import MappingProxyType
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


RootedShape: TypeAlias = tuple["RootedShape", ...]


@dataclass(frozen=True, slots=True)
class Tree:
    r"""A tree on the vertices 0, …, n−1; the observable it stands for has one edge a parameter.

    $$X = \sum_{θ_e} \prod_e λ_{θ_e} \prod_v
        \frac{∂^{\deg v} z_{i_v;δ_v}}{\prod_{e ∋ v} ∂θ_e}$$

    >>> Tree(3, ((0, 1), (2, 0)))
    Tree(vertices=3, edges=((0, 1), (0, 2)))
    """

    vertices: int
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        edges = sort_edges(self.edges)
        check_forest(self.vertices, edges)
        if self.vertices != len(edges) + 1:
            raise GraphError(
                f"A tree on {self.vertices} vertices has {self.vertices - 1} edges, "
                f"not {len(edges)}. "
                f"The edges are {edges}. "
                f"Try a connected graph; products of trees are measured as tensors."
            )
        object.__setattr__(self, "edges", edges)

    @property
    def largest_degree(self) -> int:
        """The highest derivative of z, and so of the activation, that the tree contains."""
        degrees = [0] * self.vertices
        for edge in self.edges:
            for vertex in edge:
                degrees[vertex] += 1
        return max(degrees)


@dataclass(frozen=True, slots=True)
class TiedTree:
    """A tree of which some vertices have one output neuron: `pairs` has a number for each."""

    tree: Tree
    pairs: tuple[int, ...]

    @classmethod
    def free(cls, tree: Tree) -> "TiedTree":
        """A tree whose vertices have output neurons of their own."""
        return cls(tree, tuple(range(tree.vertices)))


@dataclass(frozen=True, slots=True)
class CutTree:
    """Two rooted trees that one edge joins; `order` lists the tree's vertices in preorder."""

    left: RootedShape
    right: RootedShape
    order: tuple[int, ...]


OBSERVABLES: Mapping[str, Tree] = MappingProxyType(
    {
        "z": Tree(1),
        "H": Tree(2, ((0, 1),)),
        "dH": Tree(3, ((0, 1), (0, 2))),
        "ddI": Tree(4, ((0, 1), (0, 2), (0, 3))),
        "ddII": Tree(4, ((0, 1), (0, 2), (1, 3))),
    }
)


def cut_tree(tree: Tree, pairs: Sequence[int] | None = None) -> CutTree:
    """Cut a tree at the edge that divides it most evenly; isomorphic trees give equal shapes.

    Among equal cuts it is the one with the fewest output neurons below the root of the larger half,
    where arrays are largest.

    >>> cut_tree(Tree(4, ((0, 1), (1, 2), (2, 3))))
    CutTree(left=((),), right=((),), order=(1, 0, 2, 3))
    """
    pairs = range(tree.vertices) if pairs is None else pairs
    neighbours = _list_neighbours(tree.vertices, tree.edges)
    candidates = []
    for edge in tree.edges:
        for root, other in (edge, edge[::-1]):
            left, left_order = _root_tree(neighbours, root, other)
            right, right_order = _root_tree(neighbours, other, root)
            if len(left_order) >= len(right_order):
                below = len({pairs[vertex] for vertex in left_order[1:]})
                candidates.append((len(left_order), below, left, right, left_order + right_order))
    *_, left, right, order = min(candidates)
    return CutTree(left, right, order)


def count_vertices(shape: RootedShape) -> int:
    """Count the vertices of a rooted tree, the root included."""
    return 1 + sum(count_vertices(child) for child in shape)


def _list_neighbours(vertices: int, edges: tuple[Edge, ...]) -> tuple[tuple[int, ...], ...]:
    neighbours: list[list[int]] = [[] for _ in range(vertices)]
    for left, right in edges:
        neighbours[left].append(right)
        neighbours[right].append(left)
    return tuple(tuple(sorted(entry)) for entry in neighbours)


def _root_tree(
    neighbours: tuple[tuple[int, ...], ...], root: int, parent: int
) -> tuple[RootedShape, tuple[int, ...]]:
    branches = sorted(
        _root_tree(neighbours, child, root) for child in neighbours[root] if child != parent
    )
    order = (root, *(vertex for _, branch in branches for vertex in branch))
    return tuple(shape for shape, _ in branches), order
