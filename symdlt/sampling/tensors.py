"""Which observables, and which output neurons, make up a tensor of the theory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from symdlt.combinatorics import connected_components
from symdlt.definitions import NAMED, AnyTensor
from symdlt.errors import GraphError
from symdlt.sampling.trees import (
    Edge,
    TiedTree,
    Tree,
    check_forest,
    count_vertices,
    cut_tree,
    sort_edges,
)


@dataclass(frozen=True, slots=True)
class TensorPattern:
    r"""A forest, and which of its vertices are in pairs; others stand alone.

    With one output neuron for each of the m pairs and lone vertices, all of them different, the
    connected cumulant of the trees of the forest is exactly $n_{L-1}^{-(m-1)}$ times the tensor:
    every other matching has a vanishing product of Kronecker deltas. The sample axes of the tensor
    are the vertices in order.

    >>> TensorPattern(edges=((2, 3),), matching=((0, 1), (2, 3)))
    TensorPattern(edges=((2, 3),), matching=((0, 1), (2, 3)), alone=())
    >>> TensorPattern(edges=(), matching=((1, 2),), alone=(0,)).vertices
    3
    """

    edges: tuple[Edge, ...]
    matching: tuple[Edge, ...]
    alone: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        edges, matching = sort_edges(self.edges), sort_edges(self.matching)
        ends = sorted([*(end for pair in matching for end in pair), *self.alone])
        if not matching or ends != list(range(len(ends))):
            alone = f", and {self.alone} alone," * bool(self.alone)
            raise GraphError(
                f"The matching {matching}{alone} is not perfect. "
                f"It was given together with the edges {edges}. "
                f"Try pairs in which each vertex 0, …, 2m−1 stands exactly once, or name in "
                "`alone` those that are in none."
            )
        check_forest(len(ends), edges)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "matching", matching)

    @property
    def vertices(self) -> int:
        """The number of vertices."""
        return 2 * len(self.matching) + len(self.alone)

    @property
    def neurons(self) -> int:
        """The number m of different output neurons."""
        return len(self.matching) + len(self.alone)

    @property
    def order(self) -> int:
        """The power m − 1 of $1/n_{L-1}$ that is divided out."""
        return self.neurons - 1


@dataclass(frozen=True, slots=True)
class Component:
    """One tree of a forest and the vertices of the forest that it occupies, in its own order."""

    tree: Tree
    vertices: tuple[int, ...]


def _pattern_of(tensor: AnyTensor) -> TensorPattern:
    paired = {vertex for pair in tensor.matching for vertex in pair}
    alone = tuple(vertex for vertex in range(tensor.axes) if vertex not in paired)
    return TensorPattern(tensor.forest.edges, tensor.matching, alone)


TENSORS: Mapping[str, TensorPattern] = MappingProxyType(
    {name: _pattern_of(tensor) for name, tensor in NAMED.items()}
)


def list_trees(pattern: TensorPattern) -> tuple[Component, ...]:
    """List the trees of the forest.

    >>> [component.vertices for component in list_trees(TENSORS["F"])]
    [(0,), (1, 3), (2,)]
    """
    components = []
    for vertices in connected_components(range(pattern.vertices), pattern.edges):
        place = {vertex: position for position, vertex in enumerate(vertices)}
        edges = tuple((place[a], place[b]) for a, b in pattern.edges if a in place)
        components.append(Component(Tree(len(vertices), edges), vertices))
    return tuple(components)


def tie_component(component: Component, pairs: Sequence[int]) -> TiedTree:
    """Tie the vertices of a tree that are in one pair, if arrays become smaller by that.

    Others share their vectors with more trees if no vertices are tied: those of two vertices in a
    half have no large arrays.

    >>> (star,) = list_trees(TENSORS["R"])
    >>> tie_component(star, label_pairs(TENSORS["R"])).pairs
    (0, 0, 2, 2)
    """
    free = TiedTree.free(component.tree)
    if not free.tree.edges or count_vertices(cut_tree(free.tree).left) <= 2:
        return free
    numbers = [pairs[vertex] for vertex in component.vertices]
    return TiedTree(component.tree, tuple(map(numbers.index, numbers)))


def group_trees(pattern: TensorPattern) -> tuple[tuple[Component, ...], ...]:
    r"""Group the trees that the matching joins, directly or through others.

    The product of the trees of one group is one random variable; the connected cumulant of the
    forest is the joint cumulant of these variables, since every other term of the Möbius sum
    leaves some vertex without its partner.

    >>> [sum((tree.vertices for tree in group), ()) for group in group_trees(TENSORS["V"])]
    [(0, 1), (2, 3)]
    >>> [sum((tree.vertices for tree in group), ()) for group in group_trees(TENSORS["F"])]
    [(0, 1, 3, 2)]
    """
    joined = connected_components(range(pattern.vertices), pattern.edges + pattern.matching)
    return tuple(
        tuple(tree for tree in list_trees(pattern) if tree.vertices[0] in group) for group in joined
    )


def label_pairs(pattern: TensorPattern) -> tuple[int, ...]:
    """Give for each vertex the number of its pair; those alone are numbered behind these.

    >>> label_pairs(TENSORS["P"]), label_pairs(TENSORS["A3"])
    ((0, 1, 1, 0), (1, 0, 0))
    """
    nodes = (*pattern.matching, *((vertex,) for vertex in pattern.alone))
    numbers = {end: number for number, node in enumerate(nodes) for end in node}
    return tuple(numbers[vertex] for vertex in range(pattern.vertices))
