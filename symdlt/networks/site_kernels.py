"""The leading order: kernels and NTKs of all fields of a program, at all samples and positions."""

from __future__ import annotations

from bisect import bisect_left
from math import prod
from typing import Any

import numpy as np

from symdlt.definitions import INPUT, Function, Program, ProgramBranch, ProgramField
from symdlt.errors import KernelError, LayerError
from symdlt.networks.positions import read_covariance
from symdlt.networks.reasons import BIASES, KEPT, KernelOf
from symdlt.networks.site_functions import Vertex, at_vertex, product_of, with_edges
from symdlt.networks.site_means import LEGS, SIDES, Array, SiteMeans

SHORTEST, LONGEST = 1e-100, 1e100  # variances whose squares and cubes are doubles


class SiteKernels:
    r"""Kernels and NTKs of all fields, one after the other.

    $$K = C_b + C_W\,⟨φφ⟩,\qquad
      Θ = λ_b + λ_W\,⟨φφ⟩ + C_W \sum ⟨∂_fφ\,∂_gφ⟩\,Θ_{fg}$$

    Args:
        program: the network.
        overlap: that of the inputs, $\frac{1}{n_0}\sum_j x_j x_j$, at all positions.
        means: Gaussian means at one neuron, which are given the kernels.
    """

    half: Any = 0.5  # of whatever kind the numbers are

    def __init__(self, program: Program, overlap: Array, means: SiteMeans) -> None:
        self.program = program
        self.overlap = overlap
        self.means = means
        self.kept: list[list[tuple[Any, int]]] = [linear_of(field) for field in program.fields]
        self.scales: dict[int, Array] = {}  # what a normalised field is multiplied with
        # Of a field and its branch what the weights make of the kernel, and of the NTK of others.
        self.drawn: dict[tuple[int, int], tuple[Array, Array]] = {}

    def add(self, field: int) -> None:
        """The kernel and the NTK of a field with all earlier ones at its neurons."""
        fields, means = self.program.fields, self.means
        one, kept = fields[field], self.kept[field]
        if one.norm:
            ((_, below),) = kept
            variances = np.diagonal(means.kernel(below, below), axis1=-2, axis2=-1)
            self.scales[field] = self._scale(one, variances)
            kept = [(self.scales[field][..., None], below)]
        earlier = range(self.first_asked(field), field)
        for g in (g for g in earlier if fields[g].site == one.site and kept):
            passed = [(c, means.kernel(k, g), KernelOf(field, KEPT, False)) for c, k in kept]
            moved = [(c, means.ntk(k, g), KernelOf(field, KEPT, True)) for c, k in kept]
            means.kernels[field, g] = self._total(field, passed)
            means.ntks[field, g] = self._total(field, moved)
        ones = self._filled(field, 1)
        kernel = [(bias.variance, ones, KernelOf(field, BIASES, False)) for bias in one.biases]
        ntk = [(bias.rate, ones, KernelOf(field, BIASES, True, True)) for bias in one.biases]
        for c, k in kept:
            for d, m in kept:
                both = c * _turned(d)
                kernel.append((both, means.kernel(k, m), KernelOf(field, KEPT, False)))
                ntk.append((both, means.ntk(k, m), KernelOf(field, KEPT, True)))
        for number, branch in enumerate(one.branches):
            average, change = (self._read(branch, each) for each in self._leading(branch))
            self.drawn[field, number] = branch.variance * average, branch.variance * change
            kernel.append((branch.variance, average, KernelOf(field, number, False)))
            ntk.append((branch.rate, average, KernelOf(field, number, True, True)))
            ntk.append((branch.variance, change, KernelOf(field, number, True)))
        means.kernels[field, field] = self.evened(self._total(field, kernel))
        means.ntks[field, field] = self.evened(self._total(field, ntk))

    def add_finite(self, field: int) -> None:
        """The same in numbers.

        Raises:
            KernelError: where they overflow.
        """
        self.add(field)
        for name, known in (("kernel", self.means.kernels), ("NTK", self.means.ntks)):
            if not np.isfinite(known[field, field]).all():
                layer = bisect_left(self.program.tops, field) + 1
                raise overflow(name, layer, len(self.program.tops))

    def _total(self, field: int, parts: list[tuple[Any, Array, KernelOf]]) -> Array:
        """The sum of all parts of a kernel or an NTK."""
        return sum((self.told(*part) for part in parts), self._filled(field, 0))

    def told(self, factor: Any, covariance: Array, reason: KernelOf) -> Array:
        """A part of a kernel or an NTK, and why it is there; numbers have no use for that."""
        del reason
        part: Array = factor * covariance
        return part

    def evened(self, covariance: Array) -> Array:
        """A symmetric matrix that rounding has made uneven."""
        even: Array = self.half * (covariance + _turned(covariance))
        return even

    def first_asked(self, field: int) -> int:
        """The first of the fields whose covariance with a later one is asked for."""
        del field
        return 0

    def _filled(self, field: int, number: Any) -> Array:
        """One number for all samples and positions of a field."""
        count = len(self.overlap) * prod(self.program.fields[field].grid)
        count //= prod(self.program.grid)
        return np.full((count, count), number, dtype=self.overlap.dtype)

    def _read(self, branch: ProgramBranch, covariance: Array) -> Array:
        """What the window of a branch makes of a covariance."""
        if branch.sources is None:
            return covariance
        return read_covariance(branch.sources, covariance, self.means.samples)

    def _scale(self, field: ProgramField, variances: Array) -> Array:
        """What a normalised field is multiplied with."""
        samples = variances.reshape(self.means.samples, -1).T
        return scale_of(field, samples).T.ravel()

    def _leading(self, branch: ProgramBranch) -> tuple[Array, Array]:
        """⟨φφ⟩, and what the NTK of the fields that are read adds."""
        if branch.site == INPUT:
            number = sum(number for number, _ in branch.function)
            return number**2 * self.overlap, np.zeros_like(self.overlap)
        return self._averaged(branch.function)

    def _averaged(self, function: Function) -> tuple[Array, Array]:
        """The mean of a function at two samples, for all pairs of positions, and with an edge."""
        u, v = Vertex(0, 0), Vertex(1, 1)
        both = product_of(at_vertex(function, u), at_vertex(function, v))
        moved = with_edges(both, [(0, 1)])
        self.means.planning = True
        self.means.mean(both), self.means.mean(moved)
        self.means.planning = False
        self.means.settle()
        ((_, field, _, _), *_), _ = next(iter(both))
        positions = prod(self.program.fields[field].grid)
        shape = (self.means.samples,) * 2 + (1,) * (LEGS - 2) + (positions,) * SIDES
        count = self.means.samples * positions
        average, change = (
            np.broadcast_to(self.means.mean(terms), shape)
            .reshape(self.means.samples, self.means.samples, positions, positions)
            .swapaxes(1, 2)
            .reshape(count, count)
            for terms in (both, moved)
        )
        return average, change


def _turned(factor: Any) -> Any:
    """A matrix turned, rows for columns, and so a factor of the rows; of all that are stacked."""
    return np.swapaxes(factor, -1, -2) if isinstance(factor, np.ndarray) else factor


def linear_of(field: ProgramField) -> list[tuple[Any, int]]:
    """What a field keeps: multiples of fields.

    Raises:
        LayerError: if a function stays on its neuron, so that the field is not Gaussian.
    """
    for _, ((_, name, _),) in field.kept:
        if name is not None:
            raise LayerError(
                f"A layer keeps {name}(z) on its neuron. Its preactivations are not Gaussian given "
                "those below, which the theory at every depth needs. Keep z itself, or derive the "
                "second layer with at=2."
            )
    return [(number, factors[0][0]) for number, factors in field.kept]


def scale_of(field: ProgramField, variances: Array) -> Array:
    """What a normalised field is multiplied with.

    Args:
        field: the field.
        variances: of what it is made of, at each position and for each sample.

    Raises:
        LayerError: where they are zero, or cannot be computed with.
    """
    if not (variances > 0).all():
        sample = int(np.argwhere(variances <= 0)[0, -1])
        raise LayerError(
            f"A layer applies {field.norm} to a field that is zero for input {sample}. Its length "
            "cannot be made one. Give the inputs length, or the first layer biases."
        )
    if not (variances > SHORTEST).all() or not (variances < LONGEST).all():
        raise LayerError(
            f"A layer normalises a field whose variance is {float(variances.max()):.3g}. The "
            f"fourth power of its length is taken, and is known from {SHORTEST:g} to "
            f"{LONGEST:g} of the variance. Scale the inputs."
        )
    scale: Array = variances**-0.5
    return scale


def overflow(name: str, layer: int, depth: int) -> KernelError:
    """The error for a tensor that grows beyond all doubles."""
    return KernelError(
        f"The {name} overflows at layer {layer} of {depth}. Give fewer layers, smaller inputs or "
        "learning rates, or smaller variances of weights and factors of what is kept."
    )
