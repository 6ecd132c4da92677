"""The noise that a skip brings, as tables that kernels read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from symdlt.algebra import Polynomial
from symdlt.definitions import ascii_name
from symdlt.definitions.programs import Function
from symdlt.derivation.response.site_averages import (
    MEAN,
    OUTPUT,
    Edges,
    Pair,
    Read,
    SiteAverage,
    function_of,
)
from symdlt.derivation.response.site_functions import Vertex
from symdlt.derivation.response.symbolic.closed_systems import ReadNoise, ReadTensor
from symdlt.derivation.response.symbolic.field_names import NOISE, inside_name
from symdlt.derivation.response.symbolic.labels import Labels
from symdlt.derivation.response.symbolic.later_layers import BASE, LaterLayer

Axes = tuple[int, ...]
Along = Sequence[tuple[int, int]]  # fields, each at an axis
Links = tuple[tuple[int, int], ...]  # edges between axes

OWN_NOISE = "Yl"  # begins names of covariances with noise of what the layer itself reads
OBSERVED = "z"  # the function whose noise the tensor itself has met
OF_MEAN = "mean"  # of one that is a mean over neurons, which has one leg and not two
OF_PAIR, OF_FUNCTION = (0, 1), (2, 3)  # axes
# Either leg of a pair, and either of an average, may stand first.
TURNS: tuple[Axes, ...] = ((0, 1, 2, 3), (0, 1, 3, 2), (1, 0, 2, 3), (1, 0, 3, 2))
ZERO, ONE = Polynomial.number(0), Polynomial.number(1)


class NoiseTable(NamedTuple):
    """A table of the covariance of a conditional covariance with noise.

    Attributes:
        kind: the function whose noise it is.
        links: edges between axes.
        slopes: how often the function is differentiated along z at each of its axes.
        inside: the name of the field that the pair is of, if that is inside the layer.
        fronts: how often the field itself stands in front of derivatives at each of its axes.
    """

    kind: str
    links: Links = ()
    slopes: tuple[int, int] = (0, 0)
    inside: str = ""
    fronts: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        """Its name, with axes counted from one.

        >>> NoiseTable("s", ((1, 3),)).name, NoiseTable("s", (), (2, 0)).name
        ('Y_s_24', 'Y_s_d20')
        >>> NoiseTable("s", inside="h").name
        'Y^(h)_s'
        """
        head = inside_name(NOISE, self.inside) if self.inside else NOISE
        slopes = [
            letter + "".join(map(str, counts))
            for letter, counts in (("d", self.slopes), ("f", self.fronts))
            if any(counts)
        ]
        edges = [f"{u + 1}{v + 1}" for u, v in self.links]
        return "_".join([head, self.kind, *slopes, *edges])

    @property
    def symmetries(self) -> tuple[Axes, ...]:
        """The orders of the axes that leave it unchanged."""
        return tuple(order for order in self.turns if self.turned(order) == self)

    @property
    def turns(self) -> tuple[Axes, ...]:
        """The orders in which its axes may stand; the one leg of a mean is the third."""
        either = self.kind != OF_MEAN
        return tuple(order for order in TURNS if either or order[len(OF_PAIR) :] == OF_FUNCTION)

    @property
    def ends(self) -> tuple[int, int]:
        """The axes of the function."""
        first, second = OF_FUNCTION
        return (first, first) if self.kind == OF_MEAN else (first, second)

    def turned(self, order: Axes) -> NoiseTable:
        """The table whose axes stand in another order."""
        edges = [(order.index(u), order.index(v)) for u, v in self.links]
        links = tuple(sorted((min(edge), max(edge)) for edge in edges))
        first, second = (order[axis] - len(OF_PAIR) for axis in OF_FUNCTION)
        slopes, fronts = ((one[first], one[second]) for one in (self.slopes, self.fronts))
        return self._replace(links=links, slopes=slopes, fronts=fronts)


def links_of(edges: Edges, legs: Sequence[int]) -> Iterator[Links]:
    """Edges between the places of their ends among some legs; where a leg stands twice, several."""
    places = [[k for k, leg in enumerate(legs) if leg == end] for e in sorted(edges) for end in e]
    for chosen in product(*places):
        ends = zip(chosen[::2], chosen[1::2], strict=True)
        yield tuple(sorted((min(a, b), max(a, b)) for a, b in ends))


class MetNoise(NamedTuple):
    """A covariance of a conditional covariance with noise.

    Attributes:
        average: whose noise it is.
        pair: of legs of z.
        edges: between legs.
    """

    average: SiteAverage
    pair: Pair
    edges: Edges

    @property
    def ways(self) -> list[Vertex]:
        """The vertices of its axes."""
        return [*(vertex for _, vertex in self.pair), *self.average.vertices]


class NoiseTables:
    """Tables of the covariance of a conditional covariance with noise.

    Two axes are the legs of z z, and two those of the function whose noise is met.

    Args:
        beyond: the layer, with what later layers read.
        labels: of legs, by which entries are numbered.
        names: of fields.
    """

    def __init__(self, beyond: LaterLayer, labels: Labels, names: Sequence[str]) -> None:
        self.beyond, self.later, self.labels, self.names = beyond, beyond.later, labels, names
        self.fields = fields = beyond.program.fields
        self.functions = [fields[f].branches[number].function for f, number in beyond.sources]
        kinds = [self._kind(one, self.functions.index(one)) for one in self.functions]
        for number, one in enumerate(self.functions):
            first = self.functions.index(one)
            if kinds.index(kinds[number]) != first:  # as masks of two rates, which are named alike
                kinds[number] = f"f{first + 1}"
        self.kinds = dict(zip(beyond.sources, kinds, strict=True))
        self.kinds |= {(self.later, number): kind for number, kind in enumerate(kinds)}
        self.linear = {OBSERVED} | {
            kind for kind, read in zip(kinds, self.functions, strict=True) if _is_linear(read)
        }
        for field in (BASE, self.later):
            self.kinds |= {(field, OUTPUT): OBSERVED, (field, MEAN): OF_MEAN}
        self.known: dict[str, NoiseTable] = {}  # the tables that were read, by their names

    @property
    def alike(self) -> bool:
        """Whether all layers read the same functions of z, without constants of their own.

        It may be masked, and normalised.
        """
        terms = [term for function in self.functions for term in function]
        numbers: list[Any] = [number for number, _ in terms]  # polynomials here
        constant = all(not key for number in numbers for key, _ in (ZERO + number).terms)
        read = {field for _, factors in terms for field, _, _ in factors}
        return constant and all(self._of_z(field) for field in read)

    @property
    def joined(self) -> list[str]:
        """The fields that one function reads together, where there are several, without masks.

        Tables count derivatives at an axis, and not along which of these they are.
        """
        for function in self.functions:
            read = {field for _, factors in function for field, _, _ in factors}
            if len(names := sorted(self.names[f] for f in read if not self._masks(f))) > 1:
                return names
        return []

    def _of_z(self, field: int) -> bool:
        """Whether a field is z, or z over its length, or a mask."""
        one = self.fields[field]
        return bool(field == BASE or one.mask or (one.norm and one.kept[0][1][0][0] == BASE))

    def _kind(self, function: Function, number: int) -> str:
        """A short name of a function: its activation, or its number if it is no single one.

        With factors of masks it begins with m; behind it stands the field, if that is not z.
        """
        if len(function) == 1:
            ((factor, factors),) = function
            plain = [one for one in factors if not self.fields[one[0]].mask]
            if factor == ONE and len(plain) == 1:
                ((field, name, order),) = plain
                parts = ["m" * (len(factors) - len(plain))]
                parts += [] if name is None else [f"{ascii_name(name)}{order or ''}"]
                if field != BASE or name is None:
                    parts += re.findall(r"\w+", self.names[field])
                return "_".join(part for part in parts if part)
        return f"f{number + 1}"

    def entries(self, met: MetNoise) -> Counter[ReadNoise | ReadTensor]:
        """The entries whose sum a covariance with noise is; where a leg stands twice, several.

        That of a pair inside the layer with what the layer itself reads is a tensor inside.
        """
        kind, samples = self.kinds[met.average.read], [*map(self.labels.number, met.ways)]
        (field, _), _ = met.pair
        inside = "" if field == BASE else self.names[field]
        later = met.average.read[0] == self.later
        found: Counter[ReadNoise | ReadTensor] = Counter()
        for links, along in self._placed(met):
            in_front = in_front_of(met.average, along)
            slopes, fronts = (_at_ends(some) for some in (along, in_front))
            if kind in self.linear and slopes == fronts:  # which is the field again
                slopes = fronts = (0, 0)
            table = NoiseTable(kind, links, slopes, inside, fronts)
            turns = ((table.turned(o), tuple(samples[axis] for axis in o)) for o in table.turns)
            turned, at = min(turns)  # one entry of those that are equal
            name = turned.name.replace(NOISE, OWN_NOISE, 1) if inside and not later else turned.name
            self.known[name] = turned
            own = ReadTensor(name, at) if inside and not later else ReadNoise(name, at, later)
            found[own] += 1
        return found

    def _placed(self, met: MetNoise) -> Iterator[tuple[Links, list[tuple[int, int]]]]:
        """Edges between axes, and fields with the axes that there are derivatives along.

        Where a leg stands twice, there are several.
        """
        average, ways = met.average, met.ways
        kind = self.kinds[average.read]
        legs = [way.leg for way in ways[: len(TURNS[0]) - (kind == OF_MEAN)]]
        fields = [field for field, _ in average.legs]
        along = [[axis for axis in OF_FUNCTION if ways[axis] == v] for _, v in average.legs]
        for links, axes in product(links_of(met.edges, legs), product(*along)):
            yield links, [*zip(fields, axes, strict=True)]

    def later_noises(self, met: MetNoise) -> Iterator[tuple[SiteAverage, Links]]:
        """What a later layer reads whose noise is met, with edges; legs are numbered as axes are.

        A covariance may be a sum of several of these; one of those that are equal stands for all.
        """
        field, number = met.average.read
        own = field != self.later
        if number not in (MEAN, OUTPUT):
            number = self.functions.index(self.functions[self._number(met.average.read)])
        copies = self.beyond.copies if own else {}
        read = copies.get(field, field) if number in (MEAN, OUTPUT) else self.later, number
        table = NoiseTable(self.kinds[met.average.read])
        first, second = map(Vertex, table.ends)
        for links, along in self._placed(met):
            in_front = in_front_of(met.average, along)
            turned = []
            for order in table.turns:
                fields, times = (
                    sorted((copies.get(of, of), Vertex(order.index(at))) for of, at in some)
                    for some in (along, in_front)
                )
                turned.append((fields, times, table._replace(links=links).turned(order).links))
            legs, times, edges = min(turned)
            yield SiteAverage(read, (first, second), tuple(legs), tuple(times)), edges

    def _number(self, read: Read) -> int:
        """Which of the functions that later layers read it is."""
        return read[1] if read[0] == self.later else self.beyond.sources.index(read)

    def average(self, table: NoiseTable, *, later: bool = True) -> SiteAverage:
        """What a layer reads, whose noise a table is of, at legs numbered as its axes.

        Args:
            table: the table.
            later: whether a later layer reads it, else the layer itself.
        """
        reads = {kind: of for of, kind in self.kinds.items() if (of[0] == self.later) == later}
        read, ends = reads[table.kind], tuple(map(Vertex, table.ends))
        terms, _ = function_of(self.beyond.program, SiteAverage(read, (ends[0], ends[1])))
        field = max(of for factors, _ in terms for _, of, _, _ in factors if not self._masks(of))
        legs, times = (
            tuple((field, end) for end, k in zip(ends, counts, strict=True) for _ in range(k))
            for counts in (table.slopes, table.fronts)
        )
        return SiteAverage(read, (ends[0], ends[1]), legs, times)

    def _masks(self, field: int) -> bool:
        return self.fields[field].mask is not None


def in_front_of(average: SiteAverage, along: Along) -> list[tuple[int, int]]:
    """The fields in front of derivatives, at the axis of the derivative that each multiplies."""
    legs = list(zip(average.legs, along, strict=True))
    return [
        (of, next(axis for (_, vertex), (_, axis) in legs if vertex == end))
        for of, end in average.times
    ]


def _at_ends(along: Along) -> tuple[int, int]:
    """How many fields are at each axis of the function."""
    first, second = (sum(axis == end for _, axis in along) for end in OF_FUNCTION)
    return first, second


def _is_linear(function: Function) -> bool:
    """Whether a function is a field itself, with a number."""
    ((_, factors), *others) = function
    return not others and len(factors) == 1 and factors[0][1] is None
