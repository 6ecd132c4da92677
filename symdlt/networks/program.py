"""A network as a program: all fields of all layers, one after the other, with their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from symdlt.definitions import ABOVE, BELOW, Factor, Network, SiteFunction, Stream
from symdlt.errors import LayerError

INPUT = -1  # the site of the input, whose neurons are fixed
Site = int
Factors = tuple[tuple[int, str | None, int], ...]
Function = tuple[tuple[float, Factors], ...]


@dataclass(frozen=True, slots=True)
class ReadBranch:
    r"""Fresh weights $\sum_j W_{ij} φ_j$ with the numbers of a layer.

    Attributes:
        variance: $C_W$, n times the variance of a weight.
        rate: $λ_W$, n times the learning rate of a weight.
        site: whose neurons are summed over.
        function: φ, as numbers with factors (field, activation, derivative); for the input the
            number that multiplies it.
    """

    variance: float
    rate: float
    site: Site
    function: Function


@dataclass(frozen=True, slots=True)
class ProgramField:
    """One field: multiples of earlier fields on its neurons, fresh biases, fresh weights.

    Attributes:
        site: which neurons it has; fields of one site are functions of the same neuron.
        kept: numbers with earlier fields of the site.
        bias_variance: the variance of all its biases.
        bias_rate: the learning rate of all its biases.
        branches: what its weights read.
    """

    site: Site
    kept: tuple[tuple[float, int], ...]
    bias_variance: float
    bias_rate: float
    branches: tuple[ReadBranch, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """All fields of a network in the order in which they are computed.

    Attributes:
        fields: the fields; earlier ones are known by their number.
        widths: of each site its number of neurons.
        tops: of each layer 1, …, L the number of its preactivation.
        below: of each layer the width of what its preactivation is reported with: that of the
            layer below it.
    """

    fields: tuple[ProgramField, ...]
    widths: tuple[int, ...]
    tops: tuple[int, ...]
    below: tuple[int, ...]

    @property
    def names(self) -> frozenset[str]:
        """The activations that it reads, s for that of the network."""
        branches = [branch for field in self.fields for branch in field.branches]
        terms = [term for branch in branches for term in branch.function]
        return frozenset(name for _, factors in terms for _, name, _ in factors if name)


def program_of(network: Network) -> Program:
    """The program of a network whose input width is known.

    Raises:
        LayerError: for what the theory does not know: functions that stay on their neuron, or a
            first layer that reads anything but its input.
    """
    fields: list[ProgramField] = []
    widths: list[int] = []
    tops: list[int] = []
    place: dict[str, int] = {}
    for layer, definition in enumerate(network.layers, 1):
        place = {BELOW: place[ABOVE]} if layer > 1 else {}
        for stream in definition.streams:
            place[stream.name] = len(fields)
            joined = _joined(definition.streams, stream.name, place)
            if joined is None:
                widths.append(network.width_of(stream.name, layer))
            site = len(widths) - 1 if joined is None else fields[joined].site
            fields.append(_field(network, layer, stream, place, fields, widths, site))
        tops.append(place[ABOVE])
    return Program(tuple(fields), tuple(widths), tuple(tops), network.sizes[:-1])


def _joined(streams: tuple[Stream, ...], name: str, place: Mapping[str, int]) -> int | None:
    """An earlier field at the neurons of a field, if there is one."""
    groups = [{s.name, *(field for _, field in s.kept)} for s in streams]
    groups += [{*d.function.fields} for s in streams for d in s.drawn if d.function]
    home = {name}
    for _ in groups:
        home |= {field for group in groups if group & home for field in group}
    earlier = [place[field] for field in home if field in place and field != name]
    return min(earlier) if earlier else None


def _field(
    network: Network,
    layer: int,
    stream: Stream,
    place: Mapping[str, int],
    fields: list[ProgramField],
    widths: list[int],
    site: Site,
) -> ProgramField:
    rates = not network.missing_rates  # tensors of the NTK are refused without
    kept = tuple(
        (network.number(constant, layer), place[name])
        for constant, name in stream.kept
        if name in place  # the first layer has nothing to keep
    )
    variance = rate = 0.0
    branches = []
    for drawn in stream.drawn:
        if drawn.function is None:
            square = network.number(drawn.coefficient, layer) ** 2
            variance += square * network.number(drawn.variance, layer)
            rate += square * network.number(drawn.rate, layer) if rates else 0.0
            continue
        read = drawn.function
        source = INPUT if BELOW in read.fields and BELOW not in place else None
        if source is None:
            source = fields[place[next(iter(read.fields))]].site
        width = network.sizes[0] if source == INPUT else widths[source]
        branches.append(
            ReadBranch(
                width * network.number(drawn.variance, layer, width),
                width * network.number(drawn.rate, layer, width) if rates else 0.0,
                source,
                _function(network, layer, read, place, source),
            )
        )
    return ProgramField(site, kept, variance, rate, tuple(branches))


def _function(
    network: Network, layer: int, read: SiteFunction, place: Mapping[str, int], source: Site
) -> Function:
    terms: list[tuple[float, Factors]] = []
    for constant, factors in read.terms:
        number = network.number(constant, layer)
        if source == INPUT:
            if len(read.terms) > 1 or len(factors) > 1:
                raise LayerError(
                    f"Layer 1 of {network!r} reads {' '.join(map(str, factors))}. The first layer "
                    "reads its input where others read z or s(z). Begin with a dense layer, as in "
                    'layers=["z\' = b + W z", …].'
                )
            terms.append((number, ()))
        else:
            terms.append((number, tuple(_placed(factor, place) for factor in factors)))
    return tuple(terms)


def _placed(factor: Factor, place: Mapping[str, int]) -> tuple[int, str | None, int]:
    return place[factor.field], factor.function, factor.order
