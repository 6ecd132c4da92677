"""The corrections of order 1/n of the kernel and the NTK of one layer, in symbols."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from itertools import product
from typing import Any

from symdlt.algebra import Polynomial
from symdlt.derivation.response.corrections import Corrections, fours_of
from symdlt.derivation.response.reasons import FourthCumulant, MeanBelow, OwnMean, OwnNoise
from symdlt.derivation.response.site_averages import Edges, Pair, SiteAverage, joining, subsets
from symdlt.derivation.response.site_functions import Vertex, at_vertex, product_of, with_edges
from symdlt.derivation.response.site_means import LEGS, ZERO, Part
from symdlt.derivation.response.symbolic.later_layers import BASE
from symdlt.derivation.response.symbolic.readable import PIECES
from symdlt.derivation.response.symbolic.symbolic_means import Symbols, filled, symbol_named
from symdlt.derivation.response.symbolic.symbolic_response import SymbolicResponse

BLOCK, EDGED = "X", "XH"  # of four legs of one neuron: with an edge, between the first two


class SymbolicCorrections(Corrections):
    """The means of conditional covariances of one layer, down to those of the layer below.

    Args:
        response: of the averages of the layer.
        heavy: whether weights of the layer below have fourth cumulants.
    """

    response: SymbolicResponse

    def __init__(self, response: SymbolicResponse, heavy: bool) -> None:
        super().__init__(response)
        self.heavy, self.labels = heavy, response.labels

    def shift(self, pair: Pair, edges: Edges) -> Symbols:
        """The mean of a conditional covariance; of the layer below, a symbol."""
        if any(field != BASE for field, _ in pair):
            with self._telling(OwnMean):
                return super().shift(pair, edges)
        if not edges <= joining(*(vertex for _, vertex in pair)):
            return ZERO
        numbers = sorted(self.labels.number(vertex) for _, vertex in pair)
        means = self.response.means
        known = filled(means.tensor(PIECES[bool(edges)], numbers))
        whole: Symbols = means.told(1, known, MeanBelow(pair, edges)) / symbol_named("n'")
        return whole

    def curvature(self, average: SiteAverage, edges: Edges) -> Symbols:
        """What the mean of an average has of its own."""
        with self._telling(OwnNoise):
            return super().curvature(average, edges)

    def blocks(self, average: SiteAverage, edges: Edges) -> Iterator[Part]:
        """What fourth cumulants of weights add, and those of the layer below."""
        yield from super().blocks(average, edges)
        read = [(leg, self.lengths.made_of(*leg)) for leg in self.response.legs(average)]
        legs = [(leg, made[BASE]) for leg, made in read if self.heavy and BASE in made]
        for four, factor in fours_of(legs, Polynomial.number(1)):
            fourth, _ = self.response.function(average.along(*four))
            reason = FourthCumulant(average, four, None)
            for inside in subsets(edges & average.inside):
                if slope := with_edges(fourth, inside):
                    block = self._below([vertex for _, vertex in four], edges - inside)
                    yield factor, self.response.means.mean(slope) * block, reason

    def _below(self, vertices: list[Vertex], edges: Edges) -> Symbols:
        """The block of four legs of the layer below."""
        means, numbers = self.response.means, [*map(self.labels.number, vertices)]
        if not edges:
            known = means.symbol(_named(BLOCK, sorted(map(self.labels.named, numbers))))
            block: Symbols = filled(known) / symbol_named("n'")
            return block
        ((one, other),) = edges
        places = [[k for k, v in enumerate(vertices) if v.leg == end] for end in (one, other)]
        total = 0 * ZERO
        for ends in product(*places):
            rest = sorted(numbers[k] for k in range(LEGS) if k not in ends)
            first = sorted(numbers[k] for k in ends)
            name = _named(EDGED, map(self.labels.named, (*first, *rest)))
            total = total + filled(means.symbol(name))
        whole: Symbols = total / symbol_named("n'")
        return whole

    def block_of(self, field: int, edged: bool) -> Symbols:
        """The block of four legs of a field, over the width of what it reads."""
        total = ZERO
        vertices = [Vertex(leg) for leg in range(LEGS)]
        for branch in self.response.program.fields[field].branches:
            if branch.entry_fourth:
                parts = (at_vertex(branch.function, vertex) for vertex in vertices)
                block = with_edges(reduce(product_of, parts), [(0, 1)] * edged)
                factor = branch.entry_fourth * branch.shape[1]
                total = total + factor * self.response.means.mean(block)
        return total

    @contextmanager
    def _telling(self, own: type[OwnNoise | OwnMean]) -> Iterator[None]:
        before, self.response.told_of_own = self.response.told_of_own, own
        yield
        self.response.told_of_own = before


def _named(head: str, labels: Any) -> str:
    return f"{head}_{''.join(labels)}"
