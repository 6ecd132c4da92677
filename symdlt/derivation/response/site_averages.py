"""What fluctuates: averages over the neurons of a site, and how they respond."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

from symdlt.definitions import Function, Program
from symdlt.derivation.response.site_functions import (
    Edge,
    Terms,
    Vertex,
    at_vertex,
    derivative,
    product_of,
)

Edges = frozenset[Edge]
Leg = tuple[int, Vertex]  # a field at a vertex
Pair = tuple[Leg, Leg]
Read = tuple[int, int]  # a field and the number of its branch; a field and OUTPUT for z z itself
OUTPUT = -1  # convention: where others have the number of a branch
MEAN = -2  # alike, for the mean of a field at the first vertex


@dataclass(frozen=True, slots=True)
class SiteAverage:
    """The product of a branch's function at two vertices, or of a field, averaged over a site.

    With legs, the derivative of the product along them, times other fields of the neuron.
    """

    read: Read
    vertices: tuple[Vertex, Vertex]
    legs: tuple[Leg, ...] = ()
    times: tuple[Leg, ...] = ()

    def along(self, *legs: Leg) -> SiteAverage:
        """A derivative of it."""
        return replace(self, legs=tuple(sorted((*self.legs, *legs))))

    @property
    def inside(self) -> Edges:
        """The edge that can be inside it."""
        return joining(*self.vertices)


@dataclass(frozen=True, slots=True)
class Slope:
    """How an average changes with a conditional covariance, with edges inside it."""

    pair: Pair
    inside: Edges
    terms: Terms


def joining(u: Vertex, v: Vertex) -> Edges:
    """The edge between two vertices; none between vertices of one leg."""
    ends = sorted((u.leg, v.leg))
    return frozenset({(ends[0], ends[1])} if ends[0] != ends[1] else ())


@lru_cache(maxsize=1024)  # of few edges, and each covariance asks for them
def subsets(edges: Edges) -> tuple[Edges, ...]:
    """All sets of edges out of some."""
    every = sorted(edges)
    sizes = range(len(every) + 1)
    return tuple(frozenset(chosen) for size in sizes for chosen in combinations(every, size))


def later_first(pair: Pair) -> Pair:
    """The leg with the later field first."""
    first, second = pair
    return (first, second) if first >= second else (second, first)


def function_of(program: Program, average: SiteAverage) -> tuple[Terms, int | None]:
    """The product at two vertices that is averaged, and its site."""
    field, number = average.read
    if number in (OUTPUT, MEAN):
        function: Function = ((1, ((field, None, 0),)),)
        site: int | None = program.fields[field].site
    else:
        branch = program.fields[field].branches[number]
        function, site = branch.function, branch.site
    u, v = average.vertices
    terms = at_vertex(function, u)
    if number != MEAN:
        terms = product_of(terms, at_vertex(function, v))
    for of, vertex in average.legs:
        terms = derivative(terms, vertex, of)
    for of, vertex in average.times:
        terms = product_of(terms, at_vertex(((1, ((of, None, 0),)),), vertex))
    return terms, site
