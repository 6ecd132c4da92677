"""Covariances of fields of one neuron at two depths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.derivation.response.site_kernels import SiteKernels
from symdlt.networks.depths.alike_layers import AlikeLayers

Array = NDArray[np.float64]


class DepthKernels:
    r"""Covariances of fields of two layers, of which the later one keeps the neurons of the other.

    What a layer keeps of z it hands on, $\mathrm{cov}(z'_m, f_t) = c_m\,\mathrm{cov}(z_m, f_t)$.

    Args:
        kernels: of all fields; of two layers none are needed.
    """

    def __init__(self, kernels: SiteKernels) -> None:
        self.kernels = kernels
        self.program = kernels.program
        self.samples = kernels.means.samples
        depth, tops = len(self.program.tops), self.program.tops
        self.kept = [self._kept(layer) for layer in range(1, depth)]
        slots = max(map(len, self.kept))
        self.joint = {
            edge: np.zeros((depth, depth, slots, self.samples, self.samples)) for edge in (0, 1)
        }
        for layer in range(2, depth):
            last = self.kept[layer - 2]
            for edge, joint in self.joint.items():
                known = self._known(edge)
                joint[layer, : layer - 1] = last[-1][:, None] * joint[layer - 1, : layer - 1]
                for number in range(len(last)):
                    pair = tops[layer - 1], tops[layer - 2] + number
                    if pair in known:
                        joint[layer, layer - 1, number] = known[pair]

    def of(self, field: int, layer: int) -> int:
        """The number of a field of a layer in the program."""
        return self.program.tops[layer - 1] + field

    def sites(self, field: int, layers: Any) -> NDArray[np.intp]:
        """The sites of a field of some layers."""
        return np.array([self.program.fields[self.of(field, layer)].site for layer in layers])

    def within(self, first: int, second: int, alike: AlikeLayers, edge: int) -> Array:
        """The covariances of two fields of a layer, the later one first: of shape (T, N, N)."""
        known = self._known(edge)
        zero = np.zeros((self.samples, self.samples))
        pairs = [(self.of(first, layer), self.of(second, layer)) for layer in alike.layers]
        return np.array([known.get(pair, zero) for pair in pairs])

    def between(
        self, later: tuple[AlikeLayers, int], field: tuple[AlikeLayers, int], edge: int
    ) -> Array:
        """Those of a field of a later layer with one of a layer: (T, M, N, N), zero for m ≤ t."""
        (family, first), (alike, second) = later, field
        kept = np.array([self.kept[layer - 1][first] for layer in family.layers])
        joint = self.joint[edge][np.ix_(family.layers, alike.layers)][:, :, second]
        return (kept[:, None, :, None] * joint).swapaxes(0, 1)

    def matrix(self, fields: Sequence[tuple[int, int]]) -> Array:
        """The covariances of fields of one sample, each with its number and its layer, in order."""
        numbers, layers = np.array(fields, dtype=np.intp).T
        kept = np.array([self.kept[layer - 1][number][0] for number, layer in fields])
        upper: Array = self.joint[0][layers, layers[:, None], numbers[:, None], 0, 0] * kept
        upper = np.triu(upper, 1)
        for first, (number, layer) in enumerate(fields):
            for second in range(first, len(fields)):
                other, same = fields[second]
                if same != layer:
                    break
                pair = self.of(other, layer), self.of(number, layer)
                upper[first, second] = self._known(0)[pair][0, 0] if pair in self._known(0) else 0.0
        return upper + np.triu(upper, 1).T

    def scales(self, field: int, alike: AlikeLayers) -> Array:
        """What a normalised field is multiplied with, of shape (T, N)."""
        return np.array([self.kernels.scales[self.of(field, layer)] for layer in alike.layers])

    def drawn(self, field: int, branch: int, alike: AlikeLayers) -> tuple[Array, Array]:
        """What weights make of the kernel, and of NTKs, each of shape (T, 1, N, N)."""
        known = [self.kernels.drawn[self.of(field, layer), branch] for layer in alike.layers]
        average, moved = (np.array(some)[:, None] for some in zip(*known, strict=True))
        return average, moved

    def _known(self, edge: int) -> dict[tuple[int, int], Array]:
        return self.kernels.means.ntks if edge else self.kernels.means.kernels

    def _kept(self, layer: int) -> list[Array]:
        """How much of z of the layer below is in each field, by sample."""
        base, top = self.program.tops[layer - 1 : layer + 1]
        multiples = [np.ones(self.samples)]
        for field in range(base + 1, top + 1):
            own = np.zeros(self.samples)
            for number, below in self.kernels.kept[field]:
                factor = self.kernels.scales.get(field, number)
                own = own + factor * multiples[below - base]
            multiples.append(own)
        return multiples
