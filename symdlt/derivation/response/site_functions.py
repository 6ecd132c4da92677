r"""Functions of the fields at one neuron, at up to four legs of a tensor, and their derivatives.

A vertex is a leg, with a sample of its own, at a position of a grid if there is one: both legs of
a pair go over the grid together, an offset apart. A function is a sum of products of factors
(vertex, field, activation, derivative); a term may come with NTKs $Θ_{fu,gv}$ between fields at
two vertices. That is what differentiating means of products with respect to the covariance gives
(Price's theorem, R. Price, 1958): ⟨F⟩ changes by $\sum ⟨∂_{fu}∂_{gv}F⟩\,δK_{fu,gv}$.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from symdlt.definitions import MASK, Function


class Vertex(NamedTuple):
    """A leg of a tensor at a position.

    Attributes:
        leg: its number.
        side: which pair it belongs to, the first or the second, whose position it has.
        offset: how far it is from that position, as the number of a position.
    """

    leg: int
    side: int = 0
    offset: int = 0


VertexFactor = tuple[Vertex, int, str | None, int]
Link = tuple[int, Vertex, int, Vertex]
Key = tuple[tuple[VertexFactor, ...], tuple[Link, ...]]
Terms: TypeAlias = Mapping[Key, float]
Edge = tuple[int, int]  # of two legs


def at_vertex(function: Function, vertex: Vertex) -> Terms:
    """A function of the fields of a neuron, at one vertex."""
    terms: defaultdict[Key, float] = defaultdict(int)
    for number, factors in function:
        terms[_sorted((vertex, *factor) for factor in factors), ()] += number
    return terms


def product_of(left: Terms, right: Terms) -> Terms:
    """The product of two functions."""
    terms: defaultdict[Key, float] = defaultdict(int)
    for (factors, links), number in left.items():
        for (others, more), other in right.items():
            terms[_sorted(factors + others), tuple(sorted(links + more))] += number * other
    return terms


def derivative(terms: Terms, vertex: Vertex, field: int) -> Terms:
    """The derivative with respect to a field at a vertex."""
    slopes: defaultdict[Key, float] = defaultdict(int)
    for (factors, links), number in terms.items():
        for place, (at, of, name, order) in enumerate(factors):
            if (at, of) == (vertex, field):
                rest = factors[:place] + factors[place + 1 :]
                if name is not None:
                    rest = _sorted((*rest, (at, of, name, order + 1)))
                slopes[rest, links] += number
    return slopes


def fields_at(terms: Terms, vertex: Vertex) -> list[int]:
    """The fields that are read at a vertex, but for masks, which do not respond."""
    return sorted(
        {of for factors, _ in terms for at, of, name, _ in factors if at == vertex and name != MASK}
    )


def vertices_of(terms: Terms, leg: int) -> list[Vertex]:
    """The vertices of a leg at which fields are read."""
    return sorted({at for factors, _ in terms for at, _, _, _ in factors if at.leg == leg})


def with_edges(terms: Terms, edges: Iterable[Edge]) -> Terms:
    """The coefficient of edges: of each, an NTK times a derivative at both its ends."""
    for one, other in edges:
        changed: defaultdict[Key, float] = defaultdict(int)
        ends = [(u, f) for u in vertices_of(terms, one) for f in fields_at(terms, u)]
        others = [(v, g) for v in vertices_of(terms, other) for g in fields_at(terms, v)]
        for u, f in ends:
            first = derivative(terms, u, f)
            for v, g in others:
                for (factors, links), number in derivative(first, v, g).items():
                    changed[factors, tuple(sorted((*links, (f, u, g, v))))] += number
        terms = changed
    return terms


def _sorted(factors: Iterable[VertexFactor]) -> tuple[VertexFactor, ...]:
    return tuple(sorted(factors, key=lambda factor: (factor[:2], factor[2] or "", factor[3])))
