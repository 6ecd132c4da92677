"""Kernels and NTKs of one layer in symbols, and how pairs move over positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from symdlt.algebra import Polynomial
from symdlt.definitions import (
    Program,
)
from symdlt.definitions.programs import ProgramBranch, ProgramField
from symdlt.derivation.response.moves import Moves, OfNoise, OfPair
from symdlt.derivation.response.reasons import (
    KernelOf,
)
from symdlt.derivation.response.site_averages import Edges, Pair, SiteAverage
from symdlt.derivation.response.site_functions import (
    at_vertex,
    product_of,
    with_edges,
)
from symdlt.derivation.response.site_kernels import SiteKernels
from symdlt.derivation.response.site_means import ZERO
from symdlt.derivation.response.symbolic.accounts import Account
from symdlt.derivation.response.symbolic.closed_systems import ReadScale
from symdlt.derivation.response.symbolic.field_names import inside_name, mark_between
from symdlt.derivation.response.symbolic.labels import Ends, Labels
from symdlt.derivation.response.symbolic.later_layers import BASE, LaterLayer
from symdlt.derivation.response.symbolic.symbolic_means import (
    SymbolicMeans,
    Symbols,
    symbol_named,
)
from symdlt.errors import KernelError

Letters = Mapping[int, str]  # of fields that are normalised those of their scales


class SymbolicKernels(SiteKernels):
    """Kernels and NTKs of one layer, of symbols for those of the layer below."""

    means: SymbolicMeans

    def __init__(self, later: LaterLayer, means: SymbolicMeans, letters: Letters) -> None:
        self.labels, self.letters = means.texts.labels, letters
        self.lengths: dict[int, Any] = {}  # of normalised fields, at the first leg
        # Fields inside that have windows, whose kernels and NTKs are symbols; and what these are.
        self.windowed = later.windowed(self.labels.windows)
        self.inside: dict[str, Symbols] = {}
        size = len(self.labels.vertices)
        super().__init__(later.program, np.zeros((size, size), dtype=object), means)
        beyond = later.later
        for name, known in self._both():
            known[BASE, BASE] = self.matrix(name, BASE)
            known[beyond, BASE] = self.matrix(f"{name}^{mark_between()}")
            known[beyond, beyond] = self.matrix(f"{name}^m", beyond)
        fields = later.program.fields
        for field in range(1, beyond):
            self.add(field)
            if field in self.windowed:
                self._name_inside(field)
            if fields[field].site == fields[BASE].site and not fields[field].mask:
                for name, known in self._both():
                    known[beyond, field] = self._with_later(field, beyond, name, known)
        for field in range(beyond + 1, beyond + len(later.copies)):
            self.add(field)

    def _name_inside(self, field: int) -> None:
        """Write symbols for the kernel and the NTK of a field."""
        for letter, known in self._both():
            name = inside_name(letter, self.means.texts.names[field])
            self.inside[name] = known[field, field]
            known[field, field] = self.matrix(name, field)

    def _both(self) -> tuple[tuple[str, dict[tuple[int, int], Symbols]], ...]:
        return ("G", self.means.kernels), ("H", self.means.ntks)

    def _with_later(
        self, field: int, beyond: int, name: str, known: dict[tuple[int, int], Symbols]
    ) -> Symbols:
        """The covariance, or the NTK, of z of layer m with a field of the layer."""
        if not self.program.fields[field].norm:
            return self.matrix(f"{name}^{mark_between(self.means.texts.names[field])}")
        ((_, below),) = self.kept[field]
        covariance: Symbols = known[beyond, below] * self.scales[field]
        return covariance

    def add(self, field: int) -> None:
        """The kernel and the NTK of a field; the length of one that is normalised is a symbol."""
        super().add(field)
        if field in self.letters:
            self._name_lengths(self.means.kernels[field, field], field)

    def matrix(self, name: str, field: int | None = None) -> Symbols:
        """Symbols with two samples, which can be exchanged for those of one field."""
        numbers = [*map(self.labels.number, self.labels.vertices)]
        symbols = np.zeros((len(numbers), len(numbers)), dtype=object)
        for (u, one), (v, other) in product(enumerate(numbers), repeat=2):
            pair = (one, other) if field is None else sorted((one, other))
            symbols[u, v] = self.means.tensor(name, pair)
        if field is not None and field in self.letters and name[0] == "G":
            self._name_lengths(symbols, field)
        return symbols

    def _name_lengths(self, covariance: Symbols, field: int) -> None:
        """Write $c^{-2}$ for the lengths that a norm divides by: it multiplies with c."""
        self.lengths.setdefault(field, covariance[0, 0])
        for row, scale in enumerate(self._scales_of(field)):
            covariance[row, row] = self._exact(scale**-2)

    def _scale(self, field: ProgramField, variances: Symbols) -> Symbols:
        del variances
        scales = self._scales_of(field.kept[0][1][0][0])
        return np.array([self._exact(scale) for scale in scales], dtype=object)

    def _scales_of(self, field: int) -> list[Polynomial]:
        """What a normalised field is multiplied with, at each vertex."""
        symbols, letter = [], self.letters[field]
        for one in self.labels.vertices:
            name = f"{letter}_{self.labels.of(one)}"
            at = (self.labels.number(one),)
            self.means.read[name] = ReadScale(letter, self.means.texts.names[field], at)
            symbols.append(symbol_named(name))
        return symbols

    def _exact(self, value: Polynomial) -> Any:
        return Account.of(value) if self.means.recorded else value

    def told(self, factor: Any, covariance: Symbols, reason: KernelOf) -> Symbols:
        """A part of a matrix, with a reason for each entry where reasons are noted."""
        part = super().told(factor, covariance, reason)
        if self.means.recorded:
            vertices = self.labels.vertices
            for (u, one), (v, other) in product(enumerate(vertices), repeat=2):
                text = self.means.texts.of_kernel(reason, one, other)
                part[u, v] = Account.noted(text) * part[u, v]
        return part

    def evened(self, covariance: Symbols) -> Symbols:
        """What is exact is even."""
        return covariance

    def _leading(self, branch: ProgramBranch, other: ProgramBranch) -> tuple[Symbols, Symbols]:
        vertices = self.labels.vertices
        leading = np.zeros((2, len(vertices), len(vertices)), dtype=object)
        name = branch.tensor.name
        for (row, u), (column, v) in product(enumerate(vertices), repeat=2):
            if name in self.labels.windows and (u.offset or v.offset):
                continue  # weights with a window make what no other window reads
            ends, over = self.labels.read(name, (u, v))
            functions = zip((branch, other), ends, strict=True)
            both = product_of(*(at_vertex(one.function, end) for one, end in functions))
            moved = with_edges(both, [(u.leg, v.leg)]) if u.leg != v.leg else {}
            for place_, terms in enumerate((both, moved)):
                leading[place_, row, column] = over * self.means.mean(terms).reshape(-1)[0]
        return leading[0], leading[1]


class SymbolicMoves(Moves):
    """Moves over positions as shifts of labels."""

    def __init__(self, program: Program, labels: Labels) -> None:
        super().__init__(program)
        self.labels = labels

    def averages(
        self, field: int, number: int, ends: Ends
    ) -> Iterator[tuple[SiteAverage, Callable[[Symbols], Symbols]]]:
        """The average that a branch reads at two vertices, with the sum over its window.

        Raises:
            KernelError: if the vertices are at positions of a window themselves.
        """
        first, second = sorted(ends)
        name = self.program.fields[field].branches[number].tensor.name
        if name in self.labels.windows and (first.offset or second.offset):
            raise KernelError(
                f"The weights {name} read positions of a window behind another one, next to what "
                "reads the same neurons by another way. Kernel files have windows one behind the "
                "other where neurons are others. Ask `propagate` of a `Network`."
            )
        moved, over = self.labels.read(name, (first, second))
        yield SiteAverage((field, number), moved), partial(_times, over)

    def at_base(self, average: SiteAverage, edges: Edges, of_noise: OfNoise) -> Symbols:
        """The covariance of the noise of an average, whatever its shifts."""
        return of_noise(average, edges)

    def of_pair(self, pair: Pair, edges: Edges, of_pair: OfPair) -> Symbols:
        """The covariance of a pair of fields, whatever its shifts."""
        return of_pair(pair, edges)


def _times(over: Polynomial, array: Symbols) -> Symbols:
    return array if array is ZERO or over == 1 else over * array
