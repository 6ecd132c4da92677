"""A network as a program: all fields of all layers, one after the other, with their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from symdlt.algebra import ORTHOGONAL, Head
from symdlt.definitions.masks import MASK, Mask
from symdlt.definitions.network import Network
from symdlt.definitions.streams import ABOVE, BELOW, Drawn, Factor, SiteFunction, Stream
from symdlt.definitions.windows import Grid, Sources
from symdlt.errors import LayerError

INPUT = -1  # the input, as a field that is read and as the site of its neurons
Factors = tuple[tuple[int, str | None, int], ...]
Function = tuple[tuple[float, Factors], ...]


@dataclass(frozen=True, slots=True)
class ProgramBranch:
    r"""Fresh weights $\sum_j W_{ij} φ_j$, or fresh biases, with the numbers of a layer.

    Attributes:
        tensor: what is drawn.
        entry_variance: the variance of one entry.
        entry_fourth: the fourth cumulant of one entry, None if its law does not tell.
        entry_rate: the learning rate of one entry.
        shape: of the tensor: the neurons it makes, and for weights those that it sums over.
        site: whose neurons are summed over; None for biases.
        function: φ, as numbers with factors (field, activation, derivative); for biases the number
            in front.
        sources: of each offset of a window, and each position that is made, the positions over
            which the mean is read; None if each position reads itself.
    """

    tensor: Head
    entry_variance: float
    entry_fourth: float | None
    entry_rate: float
    shape: tuple[int, ...]
    site: int | None
    function: Function
    sources: Sources | None = None

    @property
    def variance(self) -> float:
        """$C_W$, of a weight times what is summed over; $C_b$ of biases, with what is in front."""
        return self._scale * self.entry_variance

    @property
    def rate(self) -> float:
        """$λ_W$, the learning rate of a weight times what it sums over; $λ_b$ of biases."""
        return self._scale * self.entry_rate

    @property
    def orthogonal(self) -> bool:
        """Whether the weights are an orthogonal matrix."""
        return self.tensor.law is not None and self.tensor.law.name == ORTHOGONAL

    @property
    def _scale(self) -> float:
        if self.site is not None:
            return self.shape[1]
        return sum(number for number, _ in self.function) ** 2


@dataclass(frozen=True, slots=True)
class ProgramField:
    """One field: functions that stay on its neurons, fresh biases, fresh weights.

    Attributes:
        site: which neurons it has; fields of one site are functions of the same neuron.
        width: how many neurons.
        kept: what stays on its neurons, a function of earlier fields of the site.
        biases: fresh biases.
        branches: fresh weights and what they read.
        norm: how what is kept is normalised over the neurons, if it is.
        grid: of the positions, at which it has the same neurons.
        mask: of a field of random factors of zero or one.
    """

    site: int
    width: int
    kept: Function
    biases: tuple[ProgramBranch, ...]
    branches: tuple[ProgramBranch, ...]
    norm: str | None = None
    grid: Grid = ()
    mask: Mask | None = None

    @property
    def drawn(self) -> tuple[ProgramBranch, ...]:
        """All that is drawn, weights before biases, each the last one first."""
        return (*reversed(self.branches), *reversed(self.biases))


@dataclass(frozen=True, slots=True)
class Program:
    """All fields of a network in the order in which they are computed.

    Attributes:
        fields: the fields; earlier ones are known by their number.
        tops: of each layer 1, …, L the number of its preactivation.
        below: of each layer the width of the layer below it.
        grid: of the positions of the input.
    """

    fields: tuple[ProgramField, ...]
    tops: tuple[int, ...]
    below: tuple[int, ...]
    grid: Grid = ()

    @property
    def factors(self) -> Iterable[tuple[int, str | None, int]]:
        """All factors of all functions."""
        for field in self.fields:
            for function in (field.kept, *(branch.function for branch in field.branches)):
                for _, factors in function:
                    yield from factors

    @property
    def names(self) -> tuple[str, ...]:
        """The activations that it reads, s for that of the network, in alphabetical order."""
        return tuple(sorted({name for _, name, _ in self.factors if name and name != MASK}))


def program_of(network: Network, learning: bool = True) -> Program:
    """The program of a network whose input width is known.

    Args:
        network: layers of any kind.
        learning: whether learning rates are wanted; without, they are zero.

    Raises:
        LayerError: for a first layer that reads anything but its input, and for missing rates.
    """
    fields: list[ProgramField] = []
    sites = 0
    tops: list[int] = []
    place: dict[str, int] = {}
    for layer, definition in enumerate(network.layers, 1):
        place = {BELOW: place[ABOVE]} if layer > 1 else {}
        for stream in definition.streams:
            joined = _joined(definition.streams, stream.name, place)
            site = sites if joined is None else fields[joined].site
            sites += joined is None
            maker = _Maker(network, layer, place, fields, learning)
            fields.append(maker.field(stream, site))
            place[stream.name] = len(fields) - 1
        tops.append(place[ABOVE])
    return Program(tuple(fields), tuple(tops), network.sizes[:-1], network.positions)


def _joined(streams: tuple[Stream, ...], name: str, place: Mapping[str, int]) -> int | None:
    """An earlier field at the neurons of a field, if there is one."""
    groups = [{s.name, *(factor.field for _, factor in s.kept)} for s in streams]
    groups += [{*d.function.fields} for s in streams for d in s.drawn if d.function]
    home = {name}
    for _ in groups:
        home |= {field for group in groups if group & home for field in group}
    earlier = [place[field] for field in home if field in place]
    return min(earlier) if earlier else None


@dataclass(frozen=True, slots=True)
class _Maker:
    """Puts numbers into the streams of one layer."""

    network: Network
    layer: int
    place: Mapping[str, int]
    fields: list[ProgramField]
    learning: bool

    def field(self, stream: Stream, site: int) -> ProgramField:
        width = self.network.width_of(stream.name, self.layer)
        kept = tuple(
            (self.network.number(constant, self.layer), (self._placed(factor),))
            for constant, factor in stream.kept
            if factor.field in self.place  # the first layer has nothing to keep
        )
        biases = tuple(self._biases(d, width) for d in stream.drawn if d.function is None)
        branches = tuple(
            self._weights(d, d.function, width) for d in stream.drawn if d.function is not None
        )
        if stream.norm and not kept:
            raise LayerError(
                f"Layer {self.layer} of {self.network!r} applies {stream.norm} to the input, which "
                'is no field. Begin with a dense layer, as in layers=["z\' = b + W z", …], and '
                "normalise the data before."
            )
        grid = self._grid(stream, site, branches)
        return ProgramField(site, width, kept, biases, branches, stream.norm, grid, stream.mask)

    def _grid(self, stream: Stream, site: int, branches: Sequence[ProgramBranch]) -> Grid:
        """The positions of a field, which are those of all that it is made of."""
        kept = [factor.field for _, factor in stream.kept if factor.field in self.place]
        grids = [self.fields[self.place[name]].grid for name in kept]
        for drawn, branch in zip(
            (d for d in stream.drawn if d.function is not None), branches, strict=True
        ):
            read = self._grid_of(branch.site)
            grids.append(drawn.window.sources(read)[0] if drawn.window else read)
        grids += [field.grid for field in self.fields if field.site == site]
        if len(set(grids)) > 1:
            raise LayerError(
                f"The field {stream.name} of layer {self.layer} joins positions of "
                f"{' and '.join(map(str, dict.fromkeys(grids)))}. Fields that are added or "
                "multiplied are at the same positions. Choose windows and strides so."
            )
        return grids[0] if grids else ()

    def _grid_of(self, site: int | None) -> Grid:
        if site == INPUT:
            return self.network.positions
        return next(field.grid for field in self.fields if field.site == site)

    def _biases(self, drawn: Drawn, width: int) -> ProgramBranch:
        function: Function = ((self.network.number(drawn.coefficient, self.layer), ()),)
        return ProgramBranch(drawn.tensor, *self._numbers(drawn, None), (width,), None, function)

    def _weights(self, drawn: Drawn, read: SiteFunction, width: int) -> ProgramBranch:
        of_input = BELOW in read.fields and BELOW not in self.place
        if of_input:
            function, site, below = self._of_input(read), INPUT, self.network.sizes[0]
        else:
            source = self.fields[self.place[min(read.fields)]]
            site, below = source.site, source.width
            function = tuple(
                (self.network.number(constant, self.layer), tuple(map(self._placed, factors)))
                for constant, factors in read.terms
            )
        sources = drawn.window.sources(self._grid_of(site))[1] if drawn.window else None
        below = below if sources is None else below * len(sources)
        numbers = self._numbers(drawn, below)
        return ProgramBranch(drawn.tensor, *numbers, (width, below), site, function, sources)

    def _numbers(self, drawn: Drawn, width: int | None) -> tuple[float, float | None, float]:
        """Two cumulants and the learning rate of one entry."""
        variance = self.network.number(drawn.variance, self.layer, width)
        known = drawn.fourth
        fourth = None if known is None else self.network.number(known, self.layer, width)
        rate = self.network.number(drawn.rate, self.layer, width) if self.learning else 0.0
        return variance, fourth, rate

    def _of_input(self, read: SiteFunction) -> Function:
        if len(read.terms) > 1 or prod(len(factors) for _, factors in read.terms) > 1:
            raise LayerError(
                f"Layer 1 of {self.network!r} reads a product or a sum of fields. The first layer "
                "reads its input where others read z or s(z). Begin with a dense layer, as in "
                'layers=["z\' = b + W z", …].'
            )
        return ((self.network.number(read.terms[0][0], self.layer), ((INPUT, None, 0),)),)

    def _placed(self, factor: Factor) -> tuple[int, str | None, int]:
        place = self.place[factor.field]
        return place, MASK if self.fields[place].mask else factor.function, factor.order
