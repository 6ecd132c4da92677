"""The tensors of networks with skips, all depths of one definition at once.

What a layer hands on to the next one, covariances of its δQ with each other and with the noise of
all later averages, is linear in what it was handed. The equations are found once for all layers of
one definition, as arrays over these layers and all later ones; then they are followed layer by
layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from symdlt.definitions import Network, Program
from symdlt.derivation.response.site_kernels import SiteKernels
from symdlt.derivation.response.site_means import LEGS, ZERO, SiteMeans
from symdlt.networks.depths.alike_layers import AlikeLayers, StackedProgram, families_of
from symdlt.networks.depths.kernels import DepthKernels
from symdlt.networks.depths.means import DepthMeans
from symdlt.networks.depths.response import DepthResponse
from symdlt.networks.depths.states import UNTURNED, LinearForm, Noise, State
from symdlt.networks.requests import axes, named
from symdlt.progress import track

Array = NDArray[np.float64]
Layer = tuple[dict[State, LinearForm], dict[str, LinearForm]]

# Layers that read the same neurons, or are of one definition, from which on they are taken
# together; for speed only.
MANY = 3
# Numbers of one array at once, of layers and later ones; 2 MB. For memory only.
AT_ONCE = 1 << 18


def are_taken_together(network: Network, program: Program, names: Sequence[str]) -> bool:
    """Whether layers are alike, or read the same neurons, and all there is can be had together."""
    tops = [program.fields[top].site for top in program.tops]
    again = max(tops.count(site) for site in {*tops})
    alike = max((len(family.layers) for family in families_of(network)), default=0)
    fourths = any(branch.entry_fourth != 0 for field in program.fields for branch in field.branches)
    norms = any(field.norm for field in program.fields)
    corrected = any("." in name for name in names)
    labelled = any(field.grid or field.mask for field in program.fields)
    many = max(again, alike) >= MANY
    return many and not labelled and not (corrected and (fourths or norms))


class _LayerKernels(SiteKernels):
    """The kernels of fields of one layer with each other."""

    def first_asked(self, field: int) -> int:
        """The field that the layer reads."""
        tops = self.program.tops
        layer = int(np.searchsorted(tops, field))
        return tops[layer - 1] if layer else 0


def depth_tensors(
    network: Network,
    program: Program,
    overlap: Array,
    site: SiteMeans,
    names: Sequence[str],
    progress: bool | None,
) -> dict[str, Array]:
    """The tensors of every layer, without their factors 1/n_(l-1), for all samples.

    Args:
        network: layers of any kind.
        program: of it.
        overlap: of the inputs.
        site: means at one neuron, before any kernel is known.
        names: of tensors, and of corrections.
        progress: as that of `propagate`.
    """
    kernels = _LayerKernels(program, overlap, site)
    for field in track(range(len(program.fields)), "kernels", progress):
        kernels.add_finite(field)
    tensors = {name: np.zeros((network.depth, *(site.samples,) * axes(name))) for name in names}
    for name in names:
        if name in ("G", "H"):
            known = site.ntks if name == "H" else site.kernels
            for layer, top in enumerate(program.tops):
                tensors[name][layer] = known[top, top]
    asked = [name for name in names if name not in ("G", "H")]
    if asked and network.depth > 1:
        depths = _Depths(network, program, kernels, asked, progress)
        for layer in track(range(1, network.depth), "layers", progress):
            for name, array in depths.step(layer).items():
                tensors[name][layer] = program.below[layer] * array
    return tensors


class _Depths:
    """States and tensors of one layer after the other.

    Args:
        network: layers of any kind.
        program: of it.
        kernels: of all fields.
        names: of tensors.
        progress: as that of `propagate`.
    """

    def __init__(
        self,
        network: Network,
        program: Program,
        kernels: SiteKernels,
        names: Sequence[str],
        progress: bool | None,
    ) -> None:
        self.network, self.names = network, names
        self.samples = kernels.means.samples
        self.families = families_of(network)
        self.family = {
            layer: (number, place)
            for number, one in enumerate(self.families)
            for place, layer in enumerate(one.layers)
        }
        covariances = DepthKernels(kernels)
        stacked = [self._stacked(one) for one in self.families]
        self.means = [
            DepthMeans(kernels.means, covariances, one, self.families, own.places, progress)
            for one, own in zip(self.families, stacked, strict=True)
        ]
        responses = [
            DepthResponse(own, means, one, self.families)
            for own, means, one in zip(stacked, self.means, self.families, strict=True)
        ]
        # What multiplies states that vanish may be infinite, and is not to be asked for.
        self.needed = _not_vanishing(self._planned(responses, settle=False))
        for response in responses:
            response.living = {*self.needed}
        self._planned(responses, settle=True)
        self.states: dict[State, Array] = {}
        self.equations: dict[int, tuple[int, Layer]] = {}

    def _stacked(self, own: AlikeLayers) -> StackedProgram:
        return StackedProgram(self.network, own, self.families, not self.network.missing_rates)

    def _planned(
        self, responses: Sequence[DepthResponse], settle: bool
    ) -> dict[State, list[LinearForm]]:
        """All states that are needed, as they are planned for each definition."""
        forms: dict[State, list[LinearForm]] = {}
        with ExitStack() as stack:
            for response in responses:
                stack.enter_context(response.planned())
            new = {
                state
                for response in responses
                for form in self._tensors(response).values()
                for state in _states_in(form)
            }
            while new:
                for state in sorted(new, key=str):
                    able = [one for one in responses if self._is_read(state, one.own.layers[0])]
                    forms[state] = [response.form(state) for response in able]
                read = (s for state in new for form in forms[state] for s in _states_in(form))
                new = {*read} - {*forms}
            for means in self.means if not settle else ():
                means.forget()
        return forms

    def _is_read(self, state: State, layer: int) -> bool:
        """Whether anything behind a layer reads a state."""
        return (
            not isinstance(state.other, Noise)
            or self.families[state.other.family].layers[-1] > layer
        )

    def _tensors(self, response: DepthResponse) -> dict[str, LinearForm]:
        return {name: response.tensor_form(named(name)) for name in self.names}

    def step(self, layer: int) -> dict[str, Array]:
        """The tensors of a layer, with their factors 1/n; the next one is asked for then."""
        begin, (equations, tensors) = self._equations(layer)
        place = self.family[layer][1] - begin
        results = {}
        for name, form in tensors.items():
            whole = np.broadcast_to(self._value(form, place, layer), (self.samples,) * LEGS + (1,))
            results[name] = whole.reshape((self.samples,) * axes(name) + (-1,))[..., 0]
        self.states = {state: self._value(form, place, layer) for state, form in equations.items()}
        return results

    def _equations(self, layer: int) -> tuple[int, Layer]:
        """The equations of some layers that are found together, and which is the first."""
        number, place = self.family[layer]
        met = any(isinstance(state.other, Noise) for state in self.needed)
        later = len(self.family) if met else 1
        many = max(1, AT_ONCE // (later * self.samples**LEGS))
        begin = place - place % many
        if self.equations.get(number, (None,))[0] != begin:
            own, means = self.families[number], self.means[number]
            some = slice(begin, begin + many)
            window = replace(own, layers=own.layers[some])
            means.look_at(some)
            response = DepthResponse(
                self._stacked(window), means, window, self.families, {*self.needed}
            )
            needed = [state for state in self.needed if self._is_read(state, layer)]
            forms = {state: response.form(state) for state in needed}
            self.equations[number] = begin, (forms, self._tensors(response))
        return self.equations[number]

    def _value(self, form: LinearForm, place: int, layer: int) -> Array:
        """A form at one layer, of the states of the layer below it."""
        total = _at(form.constant, place)
        for unknown, factor in form.factors.items():
            known = self.states.get(unknown.state)
            if known is None:
                continue
            if unknown.own and known.shape[LEGS] > 1:
                at = self.family[layer][1]
                known = known[..., at : at + 1]
            if unknown.order != UNTURNED:
                known = known.transpose(*unknown.order, LEGS)
            total = total + _at(factor, place) * known
        return total


def _at(array: Array, place: int) -> Array:
    """An array at one layer."""
    taken: Array = array[..., min(place, array.shape[LEGS] - 1), :]
    return taken


def _states_in(form: LinearForm) -> list[State]:
    return [unknown.state for unknown in form.factors]


def _not_vanishing(forms: Mapping[State, Sequence[LinearForm]]) -> list[State]:
    """The states that have a source, themselves or in what they are made of."""
    alive = {state for state, some in forms.items() if any(f.constant is not ZERO for f in some)}
    size = 0
    while len(alive) > size:
        size = len(alive)
        alive |= {
            state
            for state, some in forms.items()
            if any(not alive.isdisjoint(_states_in(form)) for form in some)
        }
    return sorted(alive, key=str)
