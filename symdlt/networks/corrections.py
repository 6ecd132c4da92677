"""The corrections of order 1/n of the kernel and the NTK of any feed-forward program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import factorial
from typing import Any

import numpy as np

from symdlt.definitions import INPUT, Correlator
from symdlt.errors import LayerError
from symdlt.networks.fluctuations import Fluctuations, total
from symdlt.networks.site_averages import Edges, Pair, SiteAverage, later_first, subsets
from symdlt.networks.site_functions import Vertex, at_vertex, fields_at, product_of, with_edges
from symdlt.networks.site_means import LEGS, ONE, ZERO, Array


class Corrections:
    """G.1 and H.1: the means of conditional covariances at order 1/n.

    Args:
        response: of the averages of the network.
    """

    def __init__(self, response: Fluctuations) -> None:
        self.response = response
        self.streams = self._streams()

    def correction(self, correlator: Correlator, field: int) -> Array:
        r"""The correction of order 1/n of the kernel, or with an edge of the NTK."""
        pair = (field, Vertex(0)), (field, Vertex(1))
        found = self._shift(pair, frozenset(correlator.forest.edges))
        samples = self.response.samples
        return np.broadcast_to(found, (samples, samples, *ONE.shape[2:]))[:, :, 0, 0, 0, 0]

    def _shift(self, pair: Pair, edges: Edges) -> Array:
        """The mean of a conditional covariance δQ at order 1/n."""
        pair = later_first(pair)
        key = pair, edges
        known = self.response.known
        if key not in known:
            known[key] = self.response.parts(pair, edges, self._shift, self._curvature)
        return known[key]

    def _curvature(self, average: SiteAverage, edges: Edges) -> Array:
        r"""The mean of an average at order 1/n, but for its response to means of δQ.

        Both δQ of a second derivative fluctuate together, $\frac18⟨∂∂∂∂F⟩\,\mathrm{cov}(δQ, δQ)$,
        and the neuron itself is part of the δQ of its later fields.
        """
        pairs = self.response.pairs(average)
        parts = [(c, self.response.noise(average.along(*pair), pair, edges)) for pair, c in pairs]
        for first, c in pairs:
            for second, d in pairs:
                twice, _ = self.response.function(average.along(*first, *second))
                for inside in subsets(edges & average.inside):
                    changed = with_edges(twice, inside)
                    both = self.response.both(first, second, edges - inside) if changed else ZERO
                    if both is not ZERO:
                        parts.append(
                            (self.response.half * c * d, self.response.means.mean(changed) * both)
                        )
        return total([*parts, *self._blocks(average, edges)])

    def _blocks(self, average: SiteAverage, edges: Edges) -> Iterator[tuple[float, Array]]:
        r"""What fourth cumulants of weights add: blocks of four legs, $κ_4⟨∂^4F⟩⟨φφφφ⟩/(4!\,n)$."""
        terms, _ = self.response.function(average)
        read = [(f, a) for a in sorted({*average.vertices}) for f in fields_at(terms, a)]
        for field, one in enumerate(self.response.program.fields):
            for branch in one.branches:
                legs = [(leg, self.streams[leg[0]].get(field, 0)) for leg in read]
                legs = [(leg, factor) for leg, factor in legs if factor]
                if branch.site == INPUT or branch.entry_fourth == 0 or not legs:
                    continue
                if branch.entry_fourth is None:
                    raise LayerError(
                        f"The law of the weights {branch.tensor.name} has no fourth cumulant. It "
                        "enters G.1 and H.1. Give it one, or ask for leading orders."
                    )
                for chosen in combinations_with_replacement(legs, LEGS):
                    factor = branch.entry_fourth * branch.shape[1]
                    for _, number in chosen:
                        factor = factor * number
                    for count in Counter(chosen).values():
                        factor = factor / factorial(count)
                    fourth, _ = self.response.function(average.along(*(leg for leg, _ in chosen)))
                    block = at_vertex(branch.function, chosen[0][0][1])
                    for (_, vertex), _ in chosen[1:]:
                        block = product_of(block, at_vertex(branch.function, vertex))
                    for inside in subsets(edges):
                        slope, size = (
                            with_edges(fourth, sorted(inside)),
                            with_edges(block, sorted(edges - inside)),
                        )
                        if slope and size:
                            yield (
                                factor,
                                self.response.means.mean(slope) * self.response.means.mean(size),
                            )

    def _streams(self) -> list[dict[int, float]]:
        """Of each field the multiples of drawn parts that it is the sum of."""
        found: list[dict[int, float]] = []
        for field, kept in enumerate(self.response.kept):
            own: dict[int, Any] = {field: 1}
            for number, earlier in kept:
                for stream, factor in found[earlier].items():
                    own[stream] = own.get(stream, 0) + number * factor
            found.append(own)
        return found
