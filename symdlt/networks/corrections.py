"""The corrections of order 1/n of the kernel and the NTK of any feed-forward program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np

from symdlt.definitions import INPUT, Correlator
from symdlt.errors import LayerError
from symdlt.networks.fluctuations import Fluctuations
from symdlt.networks.site_averages import Edges, Pair, SiteAverage, later_first, subsets
from symdlt.networks.site_functions import Vertex, at_vertex, fields_at, product_of, with_edges
from symdlt.networks.site_means import LEGS, ONE, ZERO, Array, Part


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
        found = self.shift(pair, frozenset(correlator.forest.edges))
        samples, positions = self.response.samples, prod(self.response.program.fields[field].grid)
        shape = (samples, samples, *ONE.shape[2:LEGS], positions, 1)
        whole: Array = np.broadcast_to(found, shape)[:, :, 0, 0, :, 0].mean(axis=-1)
        return whole

    def shift(self, pair: Pair, edges: Edges) -> Array:
        """The mean of a conditional covariance δQ at order 1/n."""
        pair = later_first(pair)
        key = pair, edges
        known = self.response.known
        if key not in known:
            known[key] = self.response.parts(pair, edges, self.shift, self._curvature)
        return known[key]

    def _curvature(self, average: SiteAverage, edges: Edges) -> Array:
        r"""The mean of an average at order 1/n, but for its response to means of δQ.

        Both δQ of a second derivative fluctuate together, $\frac18⟨∂∂∂∂F⟩\,\mathrm{cov}(δQ, δQ)$,
        and the neuron itself is part of the δQ of its later fields. Down a window the two go their
        own ways over the positions, so that one is on the other side until both are known.
        """
        response, pairs = self.response, self.response.pairs(average)
        parts = []
        for pair, c in pairs:
            own = partial(response.noise, average.along(*pair))
            met = response.moves.of_pair(_on_other_side(pair), edges, own)
            parts.append((c, _at_one_position(met), None))
        for first, c in pairs:
            for second, d in pairs:
                twice, _ = response.function(average.along(*first, *second))
                for inside in subsets(edges & average.inside):
                    changed = with_edges(twice, inside)
                    both = self._both(first, second, edges - inside) if changed else ZERO
                    if both is not ZERO:
                        factor = response.half * c * d
                        parts.append((factor, response.means.mean(changed) * both, None))
        return response.means.total([*parts, *self._blocks(average, edges)])

    def _both(self, first: Pair, second: Pair, edges: Edges) -> Array:
        """The covariance of two δQ of neurons at the same position."""
        moves, both = self.response.moves, self.response.both
        found = moves.of_pair(
            first,
            edges,
            lambda one, rest: moves.of_pair(
                _on_other_side(second), rest, lambda other, last: both(one, other, last)
            ),
        )
        return _at_one_position(found)

    def _blocks(self, average: SiteAverage, edges: Edges) -> Iterator[Part]:
        r"""What fourth cumulants of weights add: blocks of four legs, $κ_4⟨∂^4F⟩⟨φφφφ⟩/(4!\,n)$."""
        terms, _ = self.response.function(average)
        read = [(f, a) for a in sorted({*average.vertices}) for f in fields_at(terms, a)]
        for field, one in enumerate(self.response.program.fields):
            for branch in one.branches:
                legs = [(leg, self.streams[leg[0]].get(field, 0)) for leg in read]
                legs = [(leg, factor) for leg, factor in legs if np.any(factor)]
                if branch.site == INPUT or np.all(branch.entry_fourth == 0) or not legs:
                    continue
                if branch.entry_fourth is None:
                    raise LayerError(
                        f"The law of the weights {branch.tensor.name} has no fourth cumulant. It "
                        "enters G.1 and H.1. Give it one, or ask for leading orders."
                    )
                if branch.sources is not None:
                    raise LayerError(
                        f"The weights {branch.tensor.name} read a window, and have a fourth "
                        "cumulant. Of these G.1 and H.1 are not known. Make them Gaussian, or ask "
                        "for leading orders."
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
                                None,
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


def _on_other_side(pair: Pair) -> Pair:
    """A pair with a position of its own."""
    (f, u), (g, v) = pair
    return (f, u._replace(side=1)), (g, v._replace(side=1))


def _at_one_position(found: Array) -> Array:
    """What is known for two positions, where they are the same."""
    if found is ZERO or found.shape[LEGS + 1] == 1:
        return found
    if found.shape[LEGS] == 1:
        return found.swapaxes(LEGS, LEGS + 1)
    together: Array = np.einsum("abcdpp->abcdp", found)[..., None]
    return together
