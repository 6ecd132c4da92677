r"""The linear response of one layer in symbols, down to the tensors of the layer below.

Numbers are polynomials, or accounts, which remember how they were made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.algebra import Polynomial
from symdlt.definitions import (
    BELOW,
    DENSE,
    WIDTH,
    Layer,
    Program,
    Stack,
    ascii_name,
    place,
)
from symdlt.definitions.programs import ProgramBranch
from symdlt.kernels.generator.layer_systems import (
    FieldFactor,
    ReadMean,
    ReadNoise,
    ReadTensor,
)
from symdlt.networks.fluctuations import Fluctuations
from symdlt.networks.reasons import (
    CovarianceBelow,
    EdgeBelow,
    FieldMeets,
    KernelOf,
    NoiseBelow,
    Reason,
)
from symdlt.networks.site_averages import Edges, Pair, SiteAverage
from symdlt.networks.site_functions import Vertex, VertexFactor, at_vertex, product_of, with_edges
from symdlt.networks.site_kernels import SiteKernels
from symdlt.networks.site_means import LEGS, ONE, ZERO, SiteMeans
from symdlt.networks.symbolic.accounts import Account
from symdlt.networks.symbolic.noise_tables import NoiseTables
from symdlt.networks.symbolic.reason_texts import ReasonTexts

Symbols = NDArray[Any]
BASE = 0  # the field z of layer ℓ


class SymbolicNetwork:
    """Layer ℓ and the one that is derived, with symbols for numbers."""

    def __init__(self, definition: Layer | Stack) -> None:
        self.layers = (DENSE, definition)
        self.positions = ()
        self.sizes = (symbol_named("n'"), symbol_named("n"), symbol_named("n''"))

    def number(
        self, constant: Polynomial, layer: int, width: Polynomial | None = None
    ) -> Polynomial:
        """A constant, whatever the layer."""
        del layer
        total = Polynomial.number(0)
        for monomial, number in constant.terms:
            term = Polynomial.number(number)
            for symbol, power in monomial:
                base = width if width and symbol == WIDTH else symbol_named(ascii_name(symbol))
                term = term * base**power
            total = total + term
        return total

    def width_of(self, field: str, layer: int) -> Polynomial:
        """The symbol of a width."""
        definition = self.layers[layer - 1]
        if layer == 1 or not isinstance(definition, Stack):
            kept = isinstance(definition, Layer) and not definition.closes
            return self.sizes[1 if layer == 1 or kept else 2]
        site = next(site for site in definition.sites if field in site)
        if BELOW in site:
            return self.sizes[1]
        return symbol_named(f"n_{site[0]}")


class SymbolicMeans(SiteMeans):
    """Means as brackets; a sample for each vertex.

    Args:
        texts: of functions and of reasons.
        recorded: whether reasons are noted, so that numbers are accounts.
    """

    def __init__(self, texts: ReasonTexts, recorded: bool) -> None:
        super().__init__(LEGS, _no_numbers, _no_numbers, [()] * len(texts.names))
        self.texts, self.recorded = texts, recorded
        self.read: dict[str, ReadMean | ReadTensor] = {}  # what symbols stand for, by their names
        self.noises: dict[str, Counter[ReadNoise]] = {}  # what those of noise are the sum of

    def symbol(self, name: str) -> Any:
        """A symbol that is named as it is printed."""
        known = symbol_named(name)
        return Account.of(known) if self.recorded else known

    def told(self, factor: Any, array: Symbols, reason: Reason | None) -> Symbols:
        """A part, with its reason where reasons are noted."""
        if reason is None or not self.recorded:
            return super().told(factor, array, reason)
        noted: Any = Account.noted(self.texts.text(reason))
        # What is left of a mean belongs to the step that took it; then come covariances and NTKs.
        inside = isinstance(reason, EdgeBelow | FieldMeets)
        told: Symbols = factor * (noted * array) if inside else noted * (factor * array)
        return told

    def on_axes(self, matrix: Symbols, u: Vertex, v: Vertex, field: int) -> Symbols:
        """The symbol of two legs."""
        del field
        return filled(matrix[u.leg, v.leg])

    def _group(self, group: list[VertexFactor]) -> Symbols:
        name = f"<{self.texts.product(group)}>"
        self.read[name] = ReadMean(
            tuple(
                FieldFactor(self.texts.names[field], function, order, self.sample(vertex.leg))
                for vertex, field, function, order in group
                if function is not None
            )
        )
        return filled(self.symbol(name))

    def tensor(self, name: str, labels: Sequence[str]) -> Any:
        """The symbol of a tensor at some samples."""
        named = f"{name}_{''.join(labels)}"
        self.read[named] = ReadTensor(name, tuple(map(int, labels)))
        return self.symbol(named)

    def sample(self, leg: int) -> int:
        """The number of the sample of a leg."""
        return int(self.texts.samples[leg])


def _no_numbers(*_: object) -> Any:
    raise AssertionError


class SymbolicKernels(SiteKernels):
    """Kernels and NTKs of one layer, of symbols for those of the layer below."""

    means: SymbolicMeans

    def __init__(self, program: Program, means: SymbolicMeans) -> None:
        super().__init__(program, np.zeros((LEGS, LEGS), dtype=object), means)
        later = len(program.fields) - 1
        for name, known in (("G", means.kernels), ("H", means.ntks)):
            known[BASE, BASE] = self.matrix(name)
            known[later, BASE] = self.matrix(f"{name}^lm", False)
            known[later, later] = self.matrix(f"{name}^m")
        for field in range(1, later):
            self.add(field)

    def matrix(self, name: str, symmetric: bool = True) -> Symbols:
        """Symbols with two samples."""
        labels = self.means.texts.samples
        symbols = np.zeros((LEGS, LEGS), dtype=object)
        for u, v in product(range(LEGS), repeat=2):
            pair = sorted((labels[u], labels[v])) if symmetric else (labels[u], labels[v])
            symbols[u, v] = self.means.tensor(name, pair)
        return symbols

    def told(self, factor: Any, covariance: Symbols, reason: KernelOf) -> Symbols:
        """A part of a matrix, with a reason for each entry where reasons are noted."""
        part = super().told(factor, covariance, reason)
        if self.means.recorded:
            for u, v in product(range(LEGS), repeat=2):
                text = self.means.texts.of_kernel(reason, u, v)
                part[u, v] = Account.noted(text) * part[u, v]
        return part

    def evened(self, covariance: Symbols) -> Symbols:
        """What is exact is even."""
        return covariance

    def _leading(self, branch: ProgramBranch, other: ProgramBranch) -> tuple[Symbols, Symbols]:
        leading = np.zeros((2, LEGS, LEGS), dtype=object)
        for u, v in product(range(LEGS), repeat=2):
            ends = Vertex(u), Vertex(v)
            functions = zip((branch, other), ends, strict=True)
            both = product_of(*(at_vertex(one.function, end) for one, end in functions))
            moved = with_edges(both, [(u, v)]) if u != v else {}
            for place_, terms in enumerate((both, moved)):
                leading[place_, u, v] = self.means.mean(terms).reshape(-1)[0]
        return leading[0], leading[1]


class SymbolicResponse(Fluctuations):
    """The linear response of one layer, down to the tensors of the layer below.

    Args:
        program: the layer, and what later layers read.
        means: of its fields.
        prefix: of the names of tensors of the layer below.
        tables: of noise.
    """

    means: SymbolicMeans
    half = Fraction(1, 2)

    def __init__(
        self, program: Program, means: SymbolicMeans, prefix: str, tables: NoiseTables
    ) -> None:
        super().__init__(SymbolicKernels(program, means))
        self.prefix, self.tables = prefix, tables

    def both(self, left: Pair, right: Pair, edges: Edges) -> Symbols:
        """The covariance of two δQ; of the layer below, its tensor."""
        if any(field != BASE for field, _ in (*left, *right)):
            return super().both(left, right, edges)
        legs = [vertex.leg for _, vertex in (*left, *right)]
        if any(end not in legs for edge in edges for end in edge):
            return ZERO
        places = [[k for k, v in enumerate(legs) if v == end] for e in sorted(edges) for end in e]
        total = 0 * ONE
        for chosen in product(*places):
            ends = zip(chosen[::2], chosen[1::2], strict=True)
            links = tuple(sorted((min(a, b), max(a, b)) for a, b in ends))
            known = filled(self.tensor_symbol(links, tuple(legs)))
            total = total + self.means.told(1, known, CovarianceBelow(left, right, edges))
        whole: Symbols = total / symbol_named("n'")
        return whole

    def tensor_symbol(self, links: tuple[tuple[int, int], ...], legs: tuple[int, ...]) -> Any:
        """The tensor of layer ℓ with edges between four legs."""
        labels = tuple(self.means.sample(leg) for leg in legs)
        correlator, settled = place(LEGS, links, ((0, 1), (2, 3)), labels)
        return self.means.tensor(f"{self.prefix}{correlator.name}", [str(one) for one in settled])

    def noise(self, average: SiteAverage, pair: Pair, edges: Edges) -> Symbols:
        """The covariance of noise with a δQ; with that of the layer below, a symbol."""
        if any(field != BASE for field, _ in pair):
            return super().noise(average, pair, edges)
        site = self.program.fields[BASE].site
        ends = {vertex.leg for vertex in (*average.vertices, *(vertex for _, vertex in pair))}
        reached = all({*edge} <= ends for edge in edges)
        if not self.prefix or self.function(average)[1] != site or not reached:
            return ZERO
        known = filled(self.means.symbol(self.noise_name(average, pair, edges)))
        known = self.means.told(1, known, NoiseBelow(average, pair))
        met: Symbols = known / symbol_named("n'")
        return met

    def noise_name(self, average: SiteAverage, pair: Pair, edges: Edges) -> str:
        """Y of layer ℓ."""
        labels = self.means.texts.samples
        legs = "".join(sorted(labels[vertex.leg] for _, vertex in pair))
        links = ",".join(sorted(labels[u] + labels[v] for u, v in edges))
        inside = self.means.texts.averaged(average)
        name = f"Y_{legs}[{inside}{'; ' * bool(links)}{links}]"
        numbers = [self.means.sample(leg) for leg in range(LEGS)]
        self.means.noises[name] = self.tables.entries(average, pair, edges, numbers)
        return name


def filled(value: Any) -> Symbols:
    """One value as an array of a value for each vertex."""
    array = np.empty(ONE.shape, dtype=object)
    array[...] = value
    return array


def symbol_named(name: str) -> Polynomial:
    """A symbol that is named as it is printed."""
    return Polynomial(((((name, 1),), 1),))
