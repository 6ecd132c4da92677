"""Numbers of one layer as symbols: its constants and widths, and means at one neuron."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.algebra import Polynomial
from symdlt.definitions import (
    BELOW,
    DENSE,
    WIDTH,
    Layer,
    Stack,
    ascii_name,
    names_in,
    without_windows,
)
from symdlt.derivation.response.reasons import (
    EdgeBelow,
    FieldMeets,
    Reason,
)
from symdlt.derivation.response.site_functions import (
    Vertex,
    VertexFactor,
)
from symdlt.derivation.response.site_means import ONE, SiteMeans
from symdlt.derivation.response.symbolic.accounts import Account
from symdlt.derivation.response.symbolic.closed_systems import (
    FieldFactor,
    Read,
    ReadMask,
    ReadMean,
    ReadTensor,
)
from symdlt.derivation.response.symbolic.labels import joined
from symdlt.derivation.response.symbolic.noise_tables import MetNoise
from symdlt.derivation.response.symbolic.reason_texts import ReasonTexts

Symbols = NDArray[Any]


class SymbolicNetwork:
    """Layer ℓ and the one that is derived, with symbols for numbers.

    `Labels` has what windows add.
    """

    def __init__(self, definition: Layer | Stack) -> None:
        self.layers = (DENSE, without_windows(definition))
        self.positions = ()
        self.sizes = (symbol_named("n'"), symbol_named("n"), symbol_named("n''"))

    def number(
        self, constant: Polynomial, layer: int, width: Polynomial | None = None
    ) -> Polynomial:
        """A constant, whatever the layer."""
        del layer
        names = names_in(constant)
        values = {name: symbol_named(ascii_name(name)) for name in names}
        return constant.substitute(values | ({WIDTH: width} if width else {}))

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
        super().__init__(
            len(texts.labels.vertices), _no_numbers, _no_numbers, [()] * len(texts.names)
        )
        self.texts, self.recorded = texts, recorded
        self.read: dict[str, Read] = {}  # what symbols stand for, by their names
        self.noises: dict[str, MetNoise] = {}  # and those of noise

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
        return filled(matrix[self.texts.labels.row(u), self.texts.labels.row(v)])

    def _of_masks(self, masked: Sequence[VertexFactor]) -> Symbols:
        whole: Symbols = ONE
        for field in sorted({of for _, of, _, _ in masked}):
            legs = [factor for factor in masked if factor[1] == field]
            name, mask = f"<{self.texts.product(legs)}>", self.texts.program.fields[field].mask
            if mask:
                at = tuple(self.texts.labels.number(vertex) for vertex, *_ in legs)
                self.read[name] = ReadMask(self.texts.names[field], mask.kept, at, mask.shared)
            whole = whole * self.symbol(name)
        return whole

    def _group(self, group: list[VertexFactor]) -> Symbols:
        name = f"<{self.texts.product(group)}>"
        self.read[name] = ReadMean(
            tuple(
                FieldFactor(
                    self.texts.names[field], function, order, self.texts.labels.number(vertex)
                )
                for vertex, field, function, order in group
                if function is not None
            )
        )
        return filled(self.symbol(name))

    def tensor(self, name: str, samples: Sequence[int]) -> Any:
        """The symbol of a tensor at some samples, by the numbers of their labels."""
        labels = self.texts.labels
        named = f"{name}_{joined(map(labels.named, samples))}"
        self.read[named] = ReadTensor(name, tuple(samples))
        return self.symbol(named)


def _no_numbers(*_: object) -> Any:
    raise AssertionError


def filled(value: Any) -> Symbols:
    """One value as an array of a value for each vertex."""
    array = np.empty(ONE.shape, dtype=object)
    array[...] = value
    return array


def symbol_named(name: str) -> Polynomial:
    """A symbol that is named as it is printed."""
    return Polynomial(((((name, 1),), 1),))
