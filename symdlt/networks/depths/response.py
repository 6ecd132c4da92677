"""The linear response of layers of one definition, down to what the layer below hands on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from symdlt.definitions import AnyTensor
from symdlt.derivation.response.corrections import Corrections
from symdlt.derivation.response.fluctuations import Fluctuations
from symdlt.derivation.response.leading_tensors import leading_covariance
from symdlt.derivation.response.site_averages import Edges, Pair, SiteAverage
from symdlt.derivation.response.site_functions import Vertex
from symdlt.derivation.response.site_kernels import SiteKernels
from symdlt.derivation.response.site_means import ONE, ZERO, Array
from symdlt.networks.depths.alike_layers import BASE, AlikeLayers, StackedProgram
from symdlt.networks.depths.means import DepthMeans
from symdlt.networks.depths.states import (
    UNTURNED,
    LinearForm,
    Noise,
    State,
    Unknown,
    form_of,
    noise_of,
    settled,
    state_of,
)

ONE_SIDE = (0, 0)  # of both nodes of a tensor: there are no positions


class DepthResponse(Fluctuations):
    """The equations of layers of one definition, as forms in the states of the layers below.

    Args:
        stacked: the layers, and what later layers read.
        means: of their fields.
        own: the layers.
        families: all families of layers.
        living: the states that do not vanish, if that is known.
    """

    def __init__(
        self,
        stacked: StackedProgram,
        means: DepthMeans,
        own: AlikeLayers,
        families: Sequence[AlikeLayers],
        living: AbstractSet[State] | None = None,
    ) -> None:
        self.living = living
        kernels = SiteKernels(stacked.program, np.zeros((0, 0)), means)
        self.stacked, self.depth_means, self.covariances = stacked, means, means.covariances
        self.own, self.families = own, families
        self.family = next(n for n, one in enumerate(families) if one.definition == own.definition)
        self.shares: dict[tuple[int, int], Array] = {}
        for field in range(BASE + 1, stacked.top + 1):
            one = stacked.program.fields[field]
            if one.norm:
                kernels.scales[field] = self.covariances.scales(field, own)
            for number, branch in enumerate(one.branches):
                if branch.orthogonal:
                    kernels.drawn[field, number] = self.covariances.drawn(field, number, own)
        super().__init__(kernels)
        self.corrections = _DepthCorrections(self)

    def unknown(self, state: State, own: bool = False) -> Array:
        """A state of the layer below, a form that stands where an array does."""
        first, order = settled(state)
        if self.living is not None and first not in self.living:
            return ZERO
        if self.samples == 1:
            order = UNTURNED
        form: Any = LinearForm.unknown(Unknown(first, order, own))
        standing: Array = form
        return standing

    def both(self, left: Pair, right: Pair, edges: Edges) -> Array:
        """The covariance of two δQ; of the layer below, a state."""
        if any(field != BASE for field, _ in (*left, *right)):
            return super().both(left, right, edges)
        if not _reach(edges, (vertex for _, vertex in (*left, *right))):
            return ZERO
        return self.unknown(state_of(left, right, edges))

    def noise(self, average: SiteAverage, pair: Pair, edges: Edges) -> Array:
        """The covariance of noise with a δQ; with that of the layer below, a state."""
        if any(field != BASE for field, _ in pair):
            return super().noise(average, pair, edges)
        site = self.function(average)[1]
        base = self.program.fields[BASE].site
        ends = (*average.vertices, *(vertex for _, vertex in pair))
        if site is None or not _reach(edges, ends) or self.shared(base, site) is ZERO:
            return ZERO
        family = self.stacked.places[average.read[0]].family
        start = 0 if family is None else self.stacked.starts[family]
        noise = noise_of(average, self.family if family is None else family, start)
        return self.unknown(state_of(pair, noise, edges), own=family is None)

    def meets(self, average: SiteAverage, field: int) -> bool:
        """Whether a field is made of neurons whose noise is that of an average."""
        if self.stacked.places[average.read[0]].family is not None:
            return True
        base = self.program.fields[BASE].site
        return self.function(average)[1] == base or super().meets(average, field)

    def shared(self, site: int, other: int) -> Array:
        """One at depths where the neurons of two sites are the same."""
        if site == other:
            return ONE
        key = min(site, other), max(site, other)
        if key not in self.shares:
            self.shares[key] = self._shared(*key)
        return self.shares[key]

    def _shared(self, site: int, other: int) -> Array:
        """Of a site of the layers, and one of a family; sites are numbered in this order."""
        first, second = (
            next(
                place
                for place, field in zip(self.stacked.places, self.program.fields, strict=True)
                if field.site == number
            )
            for number in (site, other)
        )
        if first.family is not None or second.family is None:
            return ZERO
        later = self.families[second.family].layers
        here, there = (
            self.covariances.sites(place.number, layers)
            for place, layers in ((first, self.own.layers), (second, later))
        )
        behind = np.array(self.own.layers)[:, None] < later  # others are not asked for
        same = behind & (here[:, None] == there)
        return same * ONE if same.any() else ZERO

    def scale_at(self, field: int, vertex: Vertex) -> Array:
        """The factor of a normalised field, at each depth."""
        return self.depth_means.on_axis(self.scales[field][:, None], vertex)

    def form(self, state: State) -> LinearForm:
        """A state of the layers themselves."""
        top, edges = self.stacked.top, frozenset(state.edges)
        pair = _pair(top, state.pair)
        if state.other is None:
            return form_of(self.corrections.shift(pair, edges))
        if not isinstance(state.other, Noise):
            return form_of(self.both(pair, _pair(top, state.other), edges))
        family, field, branch, (u, v), along = state.other
        start = self.stacked.starts[family]
        legs = tuple(sorted((start + of, Vertex(leg)) for of, leg in along))
        average = SiteAverage((start + field, branch), (Vertex(u), Vertex(v)), legs)
        return form_of(self.noise(average, pair, edges))

    def tensor_form(self, tensor: AnyTensor) -> LinearForm:
        """A tensor of order 1/n, with this factor, or the correction of one of one pair."""
        if not tensor.order:
            edges = frozenset(tensor.forest.edges)
            return form_of(self.corrections.shift(_pair(self.stacked.top, (0, 1)), edges))
        return form_of(leading_covariance(tensor, self.stacked.top, self, ONE_SIDE))


class _DepthCorrections(Corrections):
    """Corrections, down to those of the layer below."""

    def __init__(self, response: DepthResponse) -> None:
        super().__init__(response)
        self.unknown = response.unknown

    def shift(self, pair: Pair, edges: Edges) -> Array:
        """The mean of a conditional covariance; of the layer below, a state."""
        if any(field != BASE for field, _ in pair):
            return super().shift(pair, edges)
        if not _reach(edges, (vertex for _, vertex in pair)):
            return ZERO
        return self.unknown(state_of(pair, None, edges))


def _reach(edges: Edges, ends: Iterable[Vertex]) -> bool:
    """Whether all edges are between some vertices."""
    legs = {vertex.leg for vertex in ends}
    return all({*edge} <= legs for edge in edges)


def _pair(field: int, legs: Sequence[int]) -> Pair:
    first, second = legs
    return (field, Vertex(first)), (field, Vertex(second))
