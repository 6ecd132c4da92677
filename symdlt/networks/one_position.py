"""K and Θ of networks with positions whose pairs stay at one position, as flattened ones do.

Windows keep the offset of a pair, and a readout of every position has none. So kernels of two
samples at one position follow from each other, $N^2P$ numbers in place of $(NP)^2$.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.definitions import INPUT, Network, Program, ProgramBranch
from symdlt.definitions.windows import NOWHERE
from symdlt.networks.numbers import check_memory
from symdlt.networks.positions import offsets_of
from symdlt.networks.site_functions import Vertex, at_vertex, product_of, with_edges
from symdlt.networks.site_kernels import linear_of, scale_of
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
    found = {name: np.empty((network.depth, len(data), len(data))) for name in names}
    for field in track(range(len(program.fields)), "fields", progress):
        kernels.add(field)
        for name in names if field in tops else ():
            known = kernels.ntks if name == "H" else kernels.kernels
            found[name][tops[field]] = known[field, field].mean(axis=0)
    return found


class _PositionKernels:
    """Kernels and NTKs of pairs of fields, of shape (P, N, N)."""

    def __init__(
        self, network: Network, program: Program, overlap: Array, tolerance: float
    ) -> None:
        self.network, self.program, self.tolerance = network, program, tolerance
        self.overlap = overlap
        self.kernels: dict[tuple[int, int], Array] = {}
        self.ntks: dict[tuple[int, int], Array] = {}

    def add(self, field: int) -> None:
        """Those of one field with all earlier ones at its neurons."""
        one = self.program.fields[field]
        kept: list[tuple[Any, int]] = [*linear_of(one)]
        if one.norm:
            ((_, below),) = kept
            variances = np.diagonal(self.kernels[below, below], axis1=1, axis2=2)
            kept = [(scale_of(one, variances)[:, :, None], below)]
        shape = (prod(one.grid), *self.overlap.shape[1:])
        earlier = [g for g in range(field) if self.program.fields[g].site == one.site and kept]
        for known, own in ((self.kernels, "variance"), (self.ntks, "rate")):
            for g in earlier:
                parts = [c * _pair(known, k, g, shape) for c, k in kept]
                known[field, g] = np.sum(parts, axis=0)
            total = np.full(shape, float(sum(getattr(bias, own) for bias in one.biases)))
            for c, k in kept:
                for d, m in kept:
                    total += c * _turned(d) * _pair(known, k, m, shape)
            known[field, field] = total
        for branch in one.branches:
            average, moved = (_read(branch, part) for part in self._leading(branch))
            self.kernels[field, field] = self.kernels[field, field] + branch.variance * average
            self.ntks[field, field] = (
                self.ntks[field, field] + branch.rate * average + branch.variance * moved
            )

    def _leading(self, branch: ProgramBranch) -> tuple[Array, Array]:
        """⟨φφ⟩ at each position, and what the NTK of the fields that are read adds."""
        if branch.site == INPUT:
            number = sum(number for number, _ in branch.function)
            return number**2 * self.overlap, np.zeros_like(self.overlap)
        u, v = Vertex(0), Vertex(1)
        both = product_of(at_vertex(branch.function, u), at_vertex(branch.function, v))
        moved = with_edges(both, [(0, 1)])
        fields = {of for _, factors in branch.function for of, _, _ in factors}
        positions = len(self.kernels[min(fields), min(fields)])
        count = self.overlap.shape[1]
        found = np.empty((2, positions, count, count))
        for at in range(positions):
            site = site_means(self.network, self.program, count, self.tolerance, positions=False)
            site.kernels = {pair: known[at] for pair, known in self._of(fields, self.kernels)}
            site.ntks = {pair: known[at] for pair, known in self._of(fields, self.ntks)}
            site.planning = True
            site.mean(both), site.mean(moved)
            site.planning = False
            site.settle()
            for part, terms in enumerate((both, moved)):
                found[part, at] = np.broadcast_to(
                    site.mean(terms)[:, :, 0, 0, 0, 0], (count, count)
                )
        return found[0], found[1]

    def _of(
        self, fields: set[int], known: dict[tuple[int, int], Array]
    ) -> list[tuple[tuple[int, int], Array]]:
        return [(pair, array) for pair, array in known.items() if {*pair} <= fields]


def _turned(factor: Any) -> Any:
    """A factor of the rows as one of the columns."""
    return np.swapaxes(factor, 1, 2) if isinstance(factor, np.ndarray) else factor


def _pair(known: dict[tuple[int, int], Array], f: int, g: int, shape: tuple[int, ...]) -> Array:
    if f < g:
        return np.swapaxes(_pair(known, g, f, shape), 1, 2)
    return known.get((f, g), np.zeros(shape))


def _read(branch: ProgramBranch, below: Array) -> Array:
    """What a window makes of pairs at each position."""
    if branch.sources is None:
        return below
    padded = np.concatenate([below, np.zeros_like(below[:1])])  # read from NOWHERE, the last
    assert NOWHERE == -1
    rows = np.array(branch.sources)[:, :, 0]
    found: Array = sum(padded[row] for row in rows) / len(rows)
    return found
