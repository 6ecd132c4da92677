"""Forests: the observables of the theory, vertices for neurons and edges for parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from reprlib import repr as short_repr

from symdlt.combinatorics import connected_components
from symdlt.errors import GraphError

Edge = tuple[int, int]


MOST_VERTICES = 1000
"""Far beyond what can be averaged; a tensor has at most 36 axes."""


@dataclass(frozen=True, slots=True)
class Forest:
    r"""A product of tree observables, one tree a connected component.

    A vertex $v$ is a preactivation $z_{i_v;\delta_v}$ and an edge is one model parameter, so that

    $$X = \sum_{\theta_e} \prod_e \lambda_{\theta_e} \prod_v
          \frac{\partial^{\deg v} z_{i_v;\delta_v}}{\prod_{e \ni v} \partial\theta_e} .$$

    One vertex is the preactivation, one edge the NTK (PDLT 11.7), a path of three the dNTK
    (PDLT 11.8), a star and a path of four the two ddNTKs (PDLT ∞.5 and ∞.7).

    Attributes:
        vertices: how many vertices there are; they are numbered from 0.
        edges: pairs (u, v) with u < v, sorted.

    Raises:
        GraphError: for a self-loop, a repeated edge, a cycle, or a vertex out of range.

    >>> Forest(3, ((0, 1), (0, 2)))
    Forest(3, ((0, 1), (0, 2)))
    >>> Forest(3, ((0, 1), (0, 2))).degrees
    (2, 1, 1)
    """

    vertices: int
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        if type(self.vertices) is not int or self.vertices < 0:
            raise GraphError(
                f"There is no forest on {short_repr(self.vertices)} vertices. "
                "It was given as their number. Count them, for example Forest(2, ((0, 1),))."
            )
        if self.vertices > MOST_VERTICES:
            raise GraphError(
                f"A forest of {self.vertices} vertices is too large to be used. "
                f"Products of observables have at most {MOST_VERTICES} here. Give a smaller one."
            )
        ordered = sorted_pairs(self.edges, "edges")
        for u, v in ordered:
            if not (0 <= u < self.vertices and 0 <= v < self.vertices):
                raise GraphError(
                    f"Edge {u}-{v} names a vertex outside 0..{self.vertices - 1}. "
                    f"The forest has {self.vertices} vertices. "
                    "Number the vertices from 0 and match each of them."
                )
            if u == v:
                raise GraphError(
                    f"Edge {u}-{v} is a self-loop. An edge joins two different vertices. "
                    "Use one vertex for each preactivation."
                )
        for first, second in pairwise(ordered):
            if first == second:
                raise GraphError(
                    f"Edge {first[0]}-{first[1]} is given twice. "
                    f"Edges: {_edge_text(ordered)}. Give each edge once."
                )
        object.__setattr__(self, "edges", ordered)
        if self.vertices - len(self.components) != len(ordered):
            raise GraphError(
                f"The edges {_edge_text(ordered)} contain a cycle. "
                "Observables are forests: products of trees of derivatives. "
                "Remove one edge of the cycle."
            )

    def __repr__(self) -> str:
        return f"Forest({self.vertices}, {self.edges!r})"

    def __str__(self) -> str:
        return _edge_text(self.edges) or f"{self.vertices} isolated vertices"

    def _repr_svg_(self) -> str:
        from symdlt.display import drawing_for_display

        return drawing_for_display(self)

    @property
    def degrees(self) -> tuple[int, ...]:
        """The number of derivatives at each vertex."""
        counts = [0] * self.vertices
        for u, v in self.edges:
            counts[u] += 1
            counts[v] += 1
        return tuple(counts)

    @property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """The vertices of each tree, in order of their smallest vertex."""
        return connected_components(range(self.vertices), self.edges)


def sorted_pairs(pairs: Iterable[Iterable[int]], what: str) -> tuple[Edge, ...]:
    """Pairs of vertices, each with the smaller number first, in ascending order.

    Raises:
        GraphError: if they are not pairs of whole numbers.

    >>> sorted_pairs([(2, 1), (0, 3)], "edges")
    ((0, 3), (1, 2))
    """
    try:
        whole = [(index(u), index(v)) for u, v in pairs]
    except (TypeError, ValueError):
        raise GraphError(
            f"The {what} {short_repr(pairs)} cannot be read. They are pairs of vertices, numbered "
            "from 0. Write them as [(0, 1), (0, 2)]."
        ) from None
    return tuple(sorted((min(pair), max(pair)) for pair in whole))


def _edge_text(edges: Iterable[Edge]) -> str:
    return ",".join(f"{u}-{v}" for u, v in edges)


PREACTIVATION = Forest(1)
NTK = Forest(2, ((0, 1),))
DNTK = Forest(3, ((0, 1), (0, 2)))
DDNTK_I = Forest(4, ((0, 1), (0, 2), (0, 3)))
DDNTK_II = Forest(4, ((0, 1), (0, 2), (1, 3)))

OBSERVABLES = {
    "preactivation": PREACTIVATION,
    "NTK": NTK,
    "dNTK": DNTK,
    "ddNTK-I": DDNTK_I,
    "ddNTK-II": DDNTK_II,
}
