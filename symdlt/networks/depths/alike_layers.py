"""Layers of one definition, whose numbers are arrays over these layers.

One layer is a program of its own, z of the layer below and what the layer makes of it; what later
layers read at the same neurons stands behind it, as fields of families: all layers of a definition.
The last two axes of arrays are a layer and a later one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from symdlt.algebra import Polynomial
from symdlt.definitions import (
    DENSE,
    INPUT,
    Function,
    Layer,
    Network,
    Program,
    ProgramBranch,
    ProgramField,
    Stack,
    program_of,
)
from symdlt.networks.joined_functions import with_joined_functions

Definition = Layer | Stack
Depths = tuple[int, ...]  # numbers of layers, from 0

BASE = 0  # the field z that a layer reads


class FieldAt(NamedTuple):
    """A field of a layer, z of the layer below being the first.

    Attributes:
        family: of which it is, None for the layer itself.
        number: which one of the fields of its layer.
    """

    family: int | None
    number: int


@dataclass(frozen=True)
class AlikeLayers:
    """All layers of one definition.

    Attributes:
        definition: what they are.
        layers: their numbers, from 0.
    """

    definition: Definition
    layers: Depths


def families_of(network: Network) -> list[AlikeLayers]:
    """The layers behind the first one, by their definition."""
    layers_of: defaultdict[Definition, list[int]] = defaultdict(list)
    for layer, definition in enumerate(network.layers[1:], 1):
        layers_of[definition].append(layer)
    return [AlikeLayers(definition, tuple(layers)) for definition, layers in layers_of.items()]


class StackedProgram:
    """The program of some layers of one definition, and of what later ones read.

    Attributes:
        program: fields of one layer, and behind them those of each family.
        places: which field is which.
        top: the preactivation that the layer makes.
    """

    def __init__(
        self, network: Network, own: AlikeLayers, families: Sequence[AlikeLayers], learning: bool
    ) -> None:
        fields = [*_program(network, own, learning, later=False).fields]
        self.top = len(fields) - 1
        self.places = [FieldAt(None, number) for number in range(len(fields))]
        self.starts: list[int] = []
        sites = 1 + max(field.site for field in fields)
        for family, alike in enumerate(families):
            start = len(fields)
            self.starts.append(start)
            for number, field in enumerate(_program(network, alike, learning, later=True).fields):
                fields.append(_moved(field, start, sites))
                self.places.append(FieldAt(family, number))
            sites = 1 + max(field.site for field in fields)
        self.program = Program(tuple(fields), (), ())


def _program(network: Network, alike: AlikeLayers, learning: bool, later: bool) -> Program:
    stacked: Any = _StackedNetwork(network, alike, later)
    return with_joined_functions(program_of(stacked, learning), network)


class _StackedNetwork:
    """A layer on top of a dense one, with arrays for numbers that differ from layer to layer."""

    def __init__(self, network: Network, alike: AlikeLayers, later: bool) -> None:
        self.network, self.alike, self.later = network, alike, later
        self.layers = (DENSE, alike.definition)
        self.positions = ()
        below, above = ([network.sizes[at + n] for at in alike.layers] for n in (0, 1))
        self.sizes = (1, self.along(below), self.along(above))

    def along(self, numbers: Sequence[float]) -> Any:
        """Numbers on the axis of their layers; one number if they are the same."""
        if len(set(numbers)) == 1:
            return numbers[0]
        array = np.array(numbers)
        return array if self.later else array[:, None]

    def number(self, constant: Polynomial, layer: int, width: Any = None) -> Any:
        """A constant of the layers; none is asked of what is below."""
        if layer == 1:
            return 0.0
        widths = [None] * len(self.alike.layers)
        if width is not None:
            widths = np.broadcast_to(np.ravel(width), len(widths)).tolist()
        numbers = [
            self.network.number(constant, at + 1, below)
            for at, below in zip(self.alike.layers, widths, strict=True)
        ]
        return self.along(numbers)

    def width_of(self, field: str, layer: int) -> Any:
        """How many neurons a field has."""
        if layer == 1:
            return self.sizes[1]
        return self.along([self.network.width_of(field, at + 1) for at in self.alike.layers])


def _moved(field: ProgramField, start: int, sites: int) -> ProgramField:
    """A field whose numbers begin at others."""

    def function(one: Function) -> Function:
        return tuple(
            (
                number,
                tuple((of + start * (of != INPUT), name, order) for of, name, order in factors),
            )
            for number, factors in one
        )

    def branch(one: ProgramBranch) -> ProgramBranch:
        site = one.site if one.site in (None, INPUT) else one.site + sites
        return replace(one, site=site, function=function(one.function))

    return replace(
        field,
        site=field.site + sites,
        kept=function(field.kept),
        branches=tuple(map(branch, field.branches)),
    )
