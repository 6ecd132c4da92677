"""The leading order: kernels and NTKs of all fields of a program, at all samples and positions."""

from __future__ import annotations

from bisect import bisect_left
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from symdlt.definitions import (
    INPUT,
    NUMBER,
    ROOT,
    SOFTMAXES,
    Function,
    Program,
    ProgramBranch,
    ProgramField,
)
from symdlt.definitions.windows import Sources
from symdlt.derivation.response.positions import read_covariance
from symdlt.derivation.response.reasons import BIASES, KEPT, KernelOf
from symdlt.derivation.response.scores import (
    check_centred,
    level_averages,
    levels_of,
    softmax_averages,
)
from symdlt.derivation.response.site_functions import Vertex, at_vertex, product_of, with_edges
from symdlt.derivation.response.site_means import LEGS, SIDES, Array, SiteMeans
from symdlt.errors import KernelError, LayerError

Part: TypeAlias = tuple[Any, Array, KernelOf]  # a factor, what it multiplies, and why
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
        self.levels: dict[int, Array] = {}  # of fields that do not fluctuate
        # Of a field and an earlier one the part of both that tensors make which they share.
        self.common: dict[tuple[int, int], tuple[Array, Array]] = {}

    def add(self, field: int) -> None:
        """The kernel and the NTK of a field with all earlier ones at its neurons."""
        means, one = self.means, self.program.fields[field]
        if one.norm:
            ((_, below),) = self.kept[field]
            variances = np.diagonal(means.kernel(below, below), axis1=-2, axis2=-1)
            self.scales[field] = self._scale(one, variances)
        kept = self._kept_parts(field)
        self._add_level(field)
        kernel = [
            (bias.variance, self._filled(field, 1), KernelOf(field, BIASES, False))
            for bias in one.biases
        ]
        ntk = [
            (bias.rate, self._filled(field, 1), KernelOf(field, BIASES, True, True))
            for bias in one.biases
        ]
        earlier = range(self.first_asked(field), field)
        for g in (g for g in earlier if self.program.fields[g].site == one.site):
            passed, moved = self._common(field, g)
            for c, k, at in kept:
                joint, edge = (self._moved(m(k, g), at, None) for m in (means.kernel, means.ntk))
                passed.append((c, joint, KernelOf(field, KEPT, False, False, g)))
                moved.append((c, edge, KernelOf(field, KEPT, True, False, g)))
            if passed:
                start = np.zeros(passed[0][1].shape, dtype=self.overlap.dtype)
                means.kernels[field, g] = self._total(start, passed)
                means.ntks[field, g] = self._total(start, moved)
        for c, k, at in kept:
            for d, m, there in kept:
                both = c * _turned(d)
                joint, edge = (self._moved(m_(k, m), at, there) for m_ in (means.kernel, means.ntk))
                kernel.append((both, joint, KernelOf(field, KEPT, False)))
                ntk.append((both, edge, KernelOf(field, KEPT, True)))
            for parts, known in zip((kernel, ntk), self.common.get((field, k), ()), strict=False):
                joint = c * self._moved(_turned(known), at, None)
                parts.append((1.0, joint + _turned(joint), KernelOf(field, KEPT, False)))
        for number, branch in enumerate(one.branches):
            average, change = self._leading(branch, branch)
            self.drawn[field, number] = branch.variance * average, branch.variance * change
            kernel.append((branch.variance, average, KernelOf(field, number, False)))
            ntk.append((branch.rate, average, KernelOf(field, number, True, True)))
            ntk.append((branch.variance, change, KernelOf(field, number, True)))
        means.kernels[field, field] = self.evened(self._total(self._filled(field, 0), kernel))
        means.ntks[field, field] = self.evened(self._total(self._filled(field, 0), ntk))

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

    def _total(self, start: Array, parts: list[Part]) -> Array:
        """The sum of all parts of a kernel or an NTK."""
        return sum((self.told(*part) for part in parts), start)

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

    def _add_level(self, field: int) -> None:
        """The value of a field that does not fluctuate: scores over the number of neurons."""
        for branch in self.program.fields[field].branches:
            if branch.fixed == NUMBER:
                ((_, ((queries, _, _), (keys, _, _))),) = branch.function
                self.levels[field] = np.diagonal(self.means.kernel(queries, keys))
        levels = [c * self.levels[k] for c, k in self.kept[field] if k in self.levels]
        if levels:
            self.levels[field] = sum(levels[1:], levels[0])

    def _kept_parts(self, field: int) -> list[tuple[Any, int, Sources | None]]:
        """What a field keeps: factors, fields, and the positions at which they are read."""
        one, kept = self.program.fields[field], self.kept[field]
        if one.norm:
            kept = [(self.scales[field][..., None], below) for _, below in kept]
        places: tuple[Sources | None, ...] = one.places or (None,) * len(kept)
        return [(factor, below, at) for (factor, below), at in zip(kept, places, strict=True)]

    def _common(self, field: int, other: int) -> tuple[list[Part], list[Part]]:
        """What is drawn for a field, with an earlier one: by tensors that both have.

        The earlier one has them itself, or in what it keeps.
        """
        kernel: list[Part] = []
        ntk: list[Part] = []
        one, there = self.program.fields[field], self.program.fields[other]
        for bias, same in product(one.biases, there.biases):
            if bias.shared is not None and bias.shared == same.shared:
                ones = np.ones([len(self._filled(end, 0)) for end in (field, other)])
                kernel.append((bias.variance, ones, KernelOf(field, BIASES, False)))
                ntk.append((bias.rate, ones, KernelOf(field, BIASES, True, True)))
        for (number, branch), same in product(enumerate(one.branches), there.branches):
            if _are_one(branch, same):
                average, change = self._leading(branch, same)
                kernel.append((branch.variance, average, KernelOf(field, number, False)))
                ntk.append((branch.rate, average, KernelOf(field, number, True, True)))
                ntk.append((branch.variance, change, KernelOf(field, number, True)))
        for factor, below, at in self._kept_parts(other):
            for parts, known in zip(
                (kernel, ntk), self.common.get((field, below), ()), strict=False
            ):
                joint = self._moved(known, None, at)
                parts.append((_turned(factor), joint, KernelOf(field, KEPT, False)))
        if kernel:
            start = np.zeros(kernel[0][1].shape)
            self.common[field, other] = self._total(start, kernel), self._total(start, ntk)
        return kernel, ntk

    def _moved(self, covariance: Array, rows: Sources | None, columns: Sources | None) -> Array:
        """A covariance at the positions where its fields are read."""
        if rows is None and columns is None:
            return covariance
        return read_covariance(rows, covariance, self.means.samples, columns)

    def _scale(self, field: ProgramField, variances: Array) -> Array:
        """What a normalised field is multiplied with."""
        samples = variances.reshape(self.means.samples, -1).T
        return scale_of(field, samples).T.ravel()

    def _leading(self, branch: ProgramBranch, other: ProgramBranch) -> tuple[Array, Array]:
        """⟨φφ⟩ of two branches with the same weights, and what the NTK of what they read adds."""
        if branch.fixed == ROOT:
            check_centred(self.means, self.program, branch.function)
        if levels := levels_of(self.levels, branch.function):
            return level_averages(self.means, levels, branch, self._averaged)
        if any(name in SOFTMAXES for _, factors in branch.function for _, name, _ in factors):
            return softmax_averages(self.means, branch.function, self._averaged)
        if branch.site == INPUT:
            squares = [sum(number for number, _ in one.function) for one in (branch, other)]
            average = prod(squares) * self.overlap
            change = np.zeros_like(self.overlap)
        else:
            average, change = self._averaged(branch.function, other.function)
        at, there = branch.sources, other.sources
        return self._moved(average, at, there), self._moved(change, at, there)

    def _averaged(self, function: Function, other: Function) -> tuple[Array, Array]:
        """The mean of functions at two samples, for all pairs of positions, and with an edge."""
        u, v = Vertex(0, 0), Vertex(1, 1)
        both = product_of(at_vertex(function, u), at_vertex(other, v))
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


def _are_one(branch: ProgramBranch, other: ProgramBranch) -> bool:
    """Whether two branches have the same weights; sums over the same heads have."""
    if branch.fixed or other.fixed:
        return branch.fixed == other.fixed == ROOT and branch.site == other.site
    return branch.shared is not None and branch.shared == other.shared


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
