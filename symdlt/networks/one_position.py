"""K and Θ of networks with positions whose pairs stay at one position, as flattened ones do.

Windows keep the offset of a pair, and a readout of every position has none. So kernels of two
samples at one position follow from each other, $N^2P$ numbers in place of $(NP)^2$.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.definitions import Function, Network, Program, ProgramField
from symdlt.definitions.windows import Sources
from symdlt.derivation.response.positions import offsets_of
from symdlt.derivation.response.site_functions import Vertex, at_vertex, product_of, with_edges
from symdlt.derivation.response.site_kernels import SiteKernels, scale_of
from symdlt.networks.numbers import check_memory
from symdlt.networks.streams import site_means
from symdlt.progress import track

Array = NDArray[np.float64]


def stays_at_one_position(program: Program) -> bool:
    """Whether all pairs that K and Θ need are at one position."""
    pooled = any(
        branch.sources is not None and len(branch.sources[0][0]) > 1
        for field in program.fields
        for branch in field.branches
    )
    if program.moves_positions:
        return False
    return bool(program.grid) and not pooled and all(d == {0} for d in offsets_of(program))


def one_position_kernels(
    network: Network,
    program: Program,
    data: Array,
    names: Sequence[str],
    tolerance: float,
    progress: bool | None,
) -> dict[str, Array]:
    """G and H of all layers, means over positions where there are any.

    Args:
        network: layers of any kind.
        program: of it, whose pairs stay at one position.
        data: of shape (N, n_0, P, …).
        names: G, H or both.
        tolerance: as in `propagate`.
        progress: as in `propagate`.
    """
    flat = data.reshape(*data.shape[:2], -1)
    largest = max(flat.shape[2], *(prod(field.grid) for field in program.fields))
    numbers = 3 * len(program.fields) * largest * len(data) ** 2
    check_memory(numbers, "Give fewer samples or positions.")
    overlap = np.einsum("acp,bcp->pab", flat, flat) / data.shape[1]
    kernels = _PositionKernels(network, program, overlap, tolerance)
    tops = {field: layer for layer, field in enumerate(program.tops)}
    covariances = {name: np.empty((network.depth, len(data), len(data))) for name in names}
    for field in track(range(len(program.fields)), "fields", progress):
        kernels.add_finite(field)
        for name in names if field in tops else ():
            known = kernels.means.ntks if name == "H" else kernels.means.kernels
            covariances[name][tops[field]] = known[field, field].mean(axis=0)
    return covariances


class _PositionKernels(SiteKernels):
    """Kernels and NTKs of pairs of samples, stacked over the positions: of shape (P, N, N)."""

    def __init__(
        self, network: Network, program: Program, overlap: Array, tolerance: float
    ) -> None:
        self.new_means = partial(
            site_means, network, program, overlap.shape[1], tolerance, positions=False
        )
        super().__init__(program, overlap, self.new_means())

    def _filled(self, field: int, number: Any) -> Array:
        shape = (prod(self.program.fields[field].grid), *self.overlap.shape[1:])
        return np.full(shape, number, dtype=np.float64)

    def _scale(self, field: ProgramField, variances: Array) -> Array:
        return scale_of(field, variances)

    def _moved(self, covariance: Array, rows: Sources | None, columns: Sources | None) -> Array:
        if rows is None:
            return covariance
        outside = np.pad(covariance, ((0, 1), (0, 0), (0, 0)))  # NOWHERE is the last, and zero
        mean: Array = sum(outside[row] for row in np.array(rows)[:, :, 0]) / len(rows)
        return mean

    def _averaged(self, function: Function, other: Function) -> tuple[Array, Array]:
        u, v = Vertex(0), Vertex(1)
        both = product_of(at_vertex(function, u), at_vertex(other, v))
        moved = with_edges(both, [(0, 1)])
        fields = {of for _, factors in function for of, _, _ in factors}
        averages = self._filled(min(fields), 0), self._filled(min(fields), 0)
        for at in range(len(averages[0])):
            site = self.new_means()
            for mine, known in (
                (site.kernels, self.means.kernels),
                (site.ntks, self.means.ntks),
            ):
                mine |= {pair: one[at] for pair, one in known.items() if {*pair} <= fields}
            site.planning = True
            site.mean(both), site.mean(moved)
            site.planning = False
            site.settle()
            for part, terms in zip(averages, (both, moved), strict=True):
                part[at] = site.mean(terms)[:, :, 0, 0, 0, 0]
        return averages
