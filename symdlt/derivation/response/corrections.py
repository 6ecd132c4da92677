"""The corrections of order 1/n of the kernel and the NTK of any feed-forward program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial, reduce
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np

from symdlt.definitions import INPUT, Correlator
from symdlt.derivation.response.fluctuations import Fluctuations
from symdlt.derivation.response.lengths import Lengths
from symdlt.derivation.response.moves import at_one_position
from symdlt.derivation.response.reasons import Curvature, FourthCumulant, OwnNeuron
from symdlt.derivation.response.site_averages import (
    OUTPUT,
    Edges,
    Leg,
    Pair,
    Read,
    SiteAverage,
    later_first,
    subsets,
)
from symdlt.derivation.response.site_functions import Vertex, at_vertex, product_of, with_edges
from symdlt.derivation.response.site_means import LEGS, ONE, ZERO, Array, Part


class Corrections:
    """G.1 and H.1: the means of conditional covariances at order 1/n.

    Args:
        response: of the averages of the network.
    """

    def __init__(self, response: Fluctuations) -> None:
        self.response = response
        self.lengths = Lengths(response)

    def correction(self, correlator: Correlator, field: int) -> Array:
        r"""The correction of order 1/n of the kernel, or with an edge of the NTK."""
        pair = (field, Vertex(0)), (field, Vertex(1))
        edges = frozenset(correlator.forest.edges)
        top = SiteAverage((field, OUTPUT), (pair[0][1], pair[1][1]))
        shift = (1, self.shift(pair, edges), None)
        total = self.response.means.total([shift, *self.lengths.of_average(top, edges)])
        samples, positions = self.response.samples, prod(self.response.program.fields[field].grid)
        shape = (samples, samples, *ONE.shape[2:LEGS], positions, 1)
        whole: Array = np.broadcast_to(total, shape)[:, :, 0, 0, :, 0].mean(axis=-1)
        return whole

    def shift(self, pair: Pair, edges: Edges) -> Array:
        """The mean of a conditional covariance δQ at order 1/n."""
        pair = later_first(pair)
        key = pair, edges
        known = self.response.known
        if key not in known:
            responses = self.response.parts(pair, edges, self.shift, self.curvature)
            parts = [(1, responses, None), *self.lengths.of_pair(pair, edges)]
            known[key] = self.response.means.total(parts)
        return known[key]

    def curvature(self, average: SiteAverage, edges: Edges) -> Array:
        r"""The mean of an average at order 1/n, but for its response to means of δQ.

        Both δQ of a second derivative fluctuate together, $\frac18⟨∂∂∂∂F⟩\,\mathrm{cov}(δQ, δQ)$,
        and the neuron itself is part of the δQ of its later fields. Down a window the two go their
        own ways over the positions, so that one is on the other side until both are known.
        """
        response, pairs = self.response, self.response.pairs(average)
        parts: list[Part] = []
        for pair, c in pairs:
            own = partial(response.noise, average.along(*pair))
            met = response.moves.of_pair(_on_other_side(pair), edges, own)
            parts.append((c, at_one_position(met), OwnNeuron(average, pair)))
        for first, c in pairs:
            for second, d in pairs:
                twice, _ = response.function(average.along(*first, *second))
                for inside in subsets(edges & average.inside):
                    changed = with_edges(twice, inside)
                    both = self._both(first, second, edges - inside) if changed else ZERO
                    if both is not ZERO:
                        factor = response.half * c * d
                        reason = Curvature(average, first, second, inside)
                        parts.append((factor, response.means.mean(changed) * both, reason))
        return response.means.total(
            [*parts, *self.blocks(average, edges), *self.lengths.of_average(average, edges)]
        )

    def _both(self, first: Pair, second: Pair, edges: Edges) -> Array:
        """The covariance of two δQ of neurons at the same position."""
        moves, both = self.response.moves, self.response.both
        covariance = moves.of_pair(
            first,
            edges,
            lambda one, rest: moves.of_pair(
                _on_other_side(second), rest, lambda other, last: both(one, other, last)
            ),
        )
        return at_one_position(covariance)

    def blocks(self, average: SiteAverage, edges: Edges) -> Iterator[Part]:
        r"""What fourth cumulants of weights add: blocks of four legs, $κ_4⟨∂^4F⟩⟨φφφφ⟩/(4!\,n)$."""
        read = [(leg, self.lengths.made_of(*leg)) for leg in self.response.legs(average)]
        for field, one in enumerate(self.response.program.fields):
            for number, branch in enumerate(one.branches):
                legs = [(leg, made[field]) for leg, made in read if field in made]
                fourth = branch.entry_fourth
                if branch.site == INPUT or fourth is None or np.all(fourth == 0) or not legs:
                    continue  # orthogonal weights have none: `both` is that of one neuron as well
                for four, factor in fours_of(legs, fourth * branch.shape[1]):
                    reason = FourthCumulant(average, four, (field, number))
                    for part in self._block(average, (field, number), four, edges):
                        yield factor, part, reason

    def _block(
        self, average: SiteAverage, branch: Read, four: Sequence[Leg], edges: Edges
    ) -> Iterator[Array]:
        """$⟨∂^4F⟩⟨φφφφ⟩$ of four legs, at one or two vertices, with edges in either mean."""
        response, (field, number) = self.response, branch
        fourth, _ = response.function(average.along(*four))
        function = response.program.fields[field].branches[number].function
        ends = min(vertex for _, vertex in four), max(vertex for _, vertex in four)
        for below, window in response.moves.averages(field, number, ends):
            moved = dict(zip(ends, below.vertices, strict=True))
            parts = (at_vertex(function, moved[vertex]) for _, vertex in four)
            block = reduce(product_of, parts)
            for inside in subsets(edges):
                slope, size = with_edges(fourth, inside), with_edges(block, edges - inside)
                if slope and size:
                    yield response.means.mean(slope) * window(response.means.mean(size))


def fours_of(legs: Sequence[tuple[Leg, Any]], number: Any) -> Iterator[tuple[tuple[Leg, ...], Any]]:
    """All choices of four legs, with a number over 4!, times their orders and multiples."""
    for chosen in combinations_with_replacement(legs, LEGS):
        four, factor = tuple(leg for leg, _ in chosen), number
        for count in Counter(four).values():
            factor = factor / factorial(count)
        for _, multiple in chosen:  # last: accounts of multiples are not divided by numbers
            factor = factor * multiple
        yield four, factor


def _on_other_side(pair: Pair) -> Pair:
    """A pair with a position of its own."""
    (f, u), (g, v) = pair
    return (f, u._replace(side=1)), (g, v._replace(side=1))
