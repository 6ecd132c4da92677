"""Closed systems of the equations of a layer of several streams, as kernels are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from symdlt.algebra.polynomial import Monomial
from symdlt.definitions import Layer, Stack, Window


class FieldFactor(NamedTuple):
    """A function of a field at a sample, in a mean.

    Attributes:
        field: the name of the field.
        function: the name of the activation.
        order: which derivative of it.
        sample: the number of the sample.
    """

    field: str
    function: str
    order: int
    sample: int


class ReadMean(NamedTuple):
    """A Gaussian mean that is read."""

    factors: tuple[FieldFactor, ...]


class ReadTensor(NamedTuple):
    """An entry of a tensor of the layer below that is read."""

    name: str
    samples: tuple[int, ...]


class ReadNoise(NamedTuple):
    """An entry of a table of the covariance of a conditional covariance with noise.

    Attributes:
        name: of the table.
        samples: those of the pair, and of the function whose noise it is.
        later: whether a later layer reads this function, else the layer itself.
    """

    name: str
    samples: tuple[int, ...]
    later: bool


class ReadMask(NamedTuple):
    """A mean of factors of a mask that are read.

    Attributes:
        name: of the mask.
        kept: the part of the neurons that is not dropped.
        samples: of the factors.
        shared: whether one draw is that of all samples.
    """

    name: str
    kept: Fraction
    samples: tuple[int, ...]
    shared: bool

    @property
    def of_one(self) -> Fraction:
        """Its value for one sample, or one draw: each factor is 1/kept with that probability."""
        return self.kept ** (1 - len(self.samples))


class ReadScale(NamedTuple):
    """What a normalised field is multiplied with, at a sample.

    Attributes:
        name: its letter.
        field: the name of what is normalised.
        samples: the number of the sample.
    """

    name: str
    field: str
    samples: tuple[int, ...]


Read: TypeAlias = ReadMean | ReadTensor | ReadNoise | ReadMask | ReadScale
# The number of a window, and the axes that go over its positions together.
AxesOver: TypeAlias = tuple[int, tuple[int, ...]]


def overlap_of(number: int) -> str:
    """The symbol of the overlap of the inputs that weights read, of windows that differ.

    >>> overlap_of(0), overlap_of(1)
    ('overlap', 'overlap_1')
    """
    return f"overlap_{number}" if number else "overlap"


@dataclass(frozen=True)
class SystemEquation:
    """One equation of a system.

    Attributes:
        name: of the tensor, or of the field whose covariance it is.
        samples: the label of the sample on each axis.
        text: the equation as it is printed.
        terms: those of the right side, products of symbols with their numbers, as printed.
        reads: what the symbols of means and tensors stand for, by their names.
        first: the value at layer 1, with `overlap` for that of the inputs.
        symmetries: the permutations of its axes that leave it unchanged.
        parts: of a layer with windows the parts that it is the sum of, by what goes over positions.
        over: of a part the axes that go over positions together; the others stay where they are.
    """

    name: str
    samples: tuple[int, ...]
    text: tuple[str, ...]
    terms: tuple[tuple[Monomial, Fraction | int], ...]
    reads: Mapping[str, Read]
    first: tuple[tuple[Monomial, Fraction | int], ...]
    symmetries: tuple[tuple[int, ...], ...]
    parts: tuple[SystemEquation, ...] = ()
    over: tuple[AxesOver, ...] = ()

    @property
    def needs(self) -> frozenset[str]:
        """The tensors of the layer below that are read."""
        return frozenset(r.name for r in self.reads.values() if isinstance(r, ReadTensor))

    @property
    def noises(self) -> frozenset[str]:
        """The tables of noise that are read."""
        return frozenset(r.name for r in self.reads.values() if isinstance(r, ReadNoise))


@dataclass(frozen=True)
class DepthSystem:
    """What a skip adds, whose tensors need pairs of depths.

    Attributes:
        kept: the covariance, and the NTK, of z of the layer with z of an earlier one.
        states: the covariances of two conditional covariances, and of one with noise.
        observed: the tables of noise that tensors themselves read, and what these need.
    """

    kept: tuple[SystemEquation, ...]
    states: tuple[SystemEquation, ...]
    observed: frozenset[str]


@dataclass(frozen=True)
class LayerSystem:
    """Equations that need no tensor from outside.

    Attributes:
        layer: the layer.
        equations: of the tensors, the kernel first; with a skip those of four axes are sums of
            the states of their own layer.
        fields: the covariances of the fields inside the layer, in the order of computation.
        depths: with a skip the states.
        inputs: "one" or "many", that the kernel is for.
        windows: what weights read, each once.
        overlaps: of the overlaps that layer 1 reads the number of the window, None without one.
        readout: with windows the equations of a readout of all positions.
        inside: the kernels, NTKs and tensors of fields inside the layer that have windows.
    """

    layer: Layer | Stack
    equations: tuple[SystemEquation, ...]
    fields: tuple[SystemEquation, ...]
    depths: DepthSystem | None = None
    inputs: str = "many"
    windows: tuple[Window, ...] = ()
    overlaps: tuple[int | None, ...] = (None,)
    readout: tuple[SystemEquation, ...] = ()
    inside: tuple[SystemEquation, ...] = ()

    def __len__(self) -> int:
        return len(self.equations)

    @property
    def names(self) -> tuple[str, ...]:
        """The tensors."""
        return tuple(one.name for one in self.equations)

    @property
    def summed(self) -> tuple[str, ...]:
        """Those that are sums of states of their own layer."""
        states = {one.name for one in self.depths.states} if self.depths is not None else set()
        return tuple(one.name for one in self.equations if states & (one.needs | one.noises))

    @property
    def canonical_text(self) -> str:
        """The equations as text that depends on what they say alone."""
        states = () if self.depths is None else (*self.depths.kept, *self.depths.states)
        every = (*self.fields, *self.inside, *self.equations, *states)
        lines = [line for one in every for line in one.text]
        return "\n".join([str(self.layer), f"inputs: {self.inputs}", *lines])
