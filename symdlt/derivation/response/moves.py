"""How pairs of vertices move over grids of positions, from a layer to what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from symdlt.definitions import Program
from symdlt.derivation.response.positions import negatives, read_pairs, sums
from symdlt.derivation.response.site_averages import Edges, Pair, SiteAverage
from symdlt.derivation.response.site_functions import Vertex
from symdlt.derivation.response.site_means import LEGS, ZERO, Array

OfPair = Callable[[Pair, Edges], Array]
OfNoise = Callable[[SiteAverage, Edges], Array]


class Moves:
    """Moves over the grids of a program.

    A pair goes over the grid with the offset between its vertices; the lower one has none.

    Args:
        program: the network.
    """

    def __init__(self, program: Program) -> None:
        self.program = program

    def averages(
        self, field: int, number: int, ends: tuple[Vertex, Vertex]
    ) -> Iterator[tuple[SiteAverage, Callable[[Array], Array]]]:
        """The averages that a branch reads at two vertices, and what its window makes of them."""
        first, second = sorted(ends)
        one = self.program.fields[field]
        branch = one.branches[number]
        if branch.sources is None:
            yield SiteAverage((field, number), (first, second)), _unchanged
            return
        ((_, ((read, _, _), *_)), *_) = branch.function
        below = self.program.fields[read].grid
        pairs = read_pairs(branch.sources, one.grid, below, first.offset, second.offset)
        for offset, matrix in pairs:
            begin, end = first._replace(offset=0), second._replace(offset=offset)
            axis = LEGS + first.side
            yield SiteAverage((field, number), (begin, end)), partial(_along, matrix, axis)

    def at_base(self, average: SiteAverage, edges: Edges, of_noise: OfNoise) -> Array:
        """The covariance of the noise of an average, whose one vertex may have an offset."""
        first, _ = average.vertices
        if not first.offset:
            return of_noise(average, edges)
        field = average.read[0]
        base = first._replace(offset=0)
        covariance = of_noise(replace(average, vertices=(base, base)), edges)
        return self._moved(covariance, first, field)

    def _moved(self, covariance: Array, vertex: Vertex, field: int) -> Array:
        """An array over the positions of a side, taken at the offset of a vertex."""
        axis = LEGS + vertex.side
        if covariance is ZERO or not vertex.offset or covariance.shape[axis] == 1:
            return covariance
        taken: Array = covariance.take(
            sums(self.program.fields[field].grid)[vertex.offset], axis=axis
        )
        return taken

    def of_pair(self, pair: Pair, edges: Edges, of_pair: OfPair) -> Array:
        """The covariance of a pair of fields, whose lower vertex may have an offset."""
        (f, u), (g, v) = pair
        low = min(u, v)
        if not low.offset:
            return of_pair(pair, edges)
        grid = self.program.fields[f].grid
        back = sums(grid)[negatives(grid)[low.offset]]
        u, v = (end._replace(offset=int(back[end.offset])) for end in (u, v))
        return self._moved(of_pair(((f, u), (g, v)), edges), low, f)

    def spreads(self, pair: Pair) -> bool:
        """Whether a pair has fields that are kept at other positions than they are made at."""
        return any(self.program.fields[field].places for field, _ in pair)

    def spread(self, pair: Pair, edges: Edges, of_pair: OfPair) -> Array:
        """The covariance of a pair of fields at pairs of positions, of those that they keep.

        Queries and keys share nothing, nor scores and values.
        """
        (f, u), (g, v) = pair
        one, other = (self.program.fields[field] for field in (f, g))
        if one.places != other.places:
            return ZERO
        (((_, ((k, _, _),)),), ((_, ((m, _, _),)),)) = one.kept, other.kept
        ((sources,),) = one.places
        at = np.array(sources)[:, 0]  # of sums of offsets the sum
        lower = tuple(
            (of, end._replace(offset=int(at[end.offset]))) for of, end in ((k, u), (m, v))
        )
        covariance = of_pair((lower[0], lower[1]), edges)
        axis = LEGS + u.side
        if covariance is ZERO or covariance.shape[axis] == 1:
            return covariance
        return covariance.take(at, axis=axis)


def at_one_position(covariance: Array) -> Array:
    """What is known for two positions, where they are the same."""
    if covariance is ZERO or covariance.shape[LEGS + 1] == 1:
        return covariance
    if covariance.shape[LEGS] == 1:
        return covariance.swapaxes(LEGS, LEGS + 1)
    together: Array = np.einsum("abcdpp->abcdp", covariance)[..., None]
    return together


def _unchanged(array: Array) -> Array:
    return array


def _along(matrix: Array, axis: int, array: Array) -> Array:
    """A matrix times an array along one axis."""
    if array is ZERO:
        return ZERO
    if array.shape[axis] == 1:  # the same at all positions
        matrix = matrix.sum(axis=1, keepdims=True)
    return np.moveaxis(np.moveaxis(array, axis, -1) @ matrix.T, -1, axis)
