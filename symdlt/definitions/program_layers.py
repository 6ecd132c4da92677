"""From a network to its program: the streams of each layer, with numbers, as fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

from symdlt.algebra import Polynomial, weights
from symdlt.definitions.masks import MASK
from symdlt.definitions.network import Network
from symdlt.definitions.programs import (
    INPUT,
    NUMBER,
    ROOT,
    Factors,
    Function,
    Program,
    ProgramBranch,
    ProgramField,
)
from symdlt.definitions.streams import (
    ABOVE,
    BELOW,
    CAUSAL_SOFTMAX,
    SOFTMAX,
    Drawn,
    Factor,
    SiteFunction,
    Stream,
    at_pairs,
    earlier_step,
    is_recurrent,
    sites_of,
)
from symdlt.definitions.windows import (
    Grid,
    Sources,
    of_keys,
    of_queries,
    over_keys,
    put_at,
    taken_at,
    unmoved,
)
from symdlt.errors import LayerError

_SUM = weights("ℓ+1", name="S")  # convention: where others have what is drawn


def program_of(network: Network, learning: bool = True) -> Program:
    """The program of a network whose input width is known.

    Args:
        network: layers of any kind.
        learning: whether learning rates are wanted; without, they are zero.

    Raises:
        LayerError: for a first layer that reads anything but its input, and for missing rates.
    """
    fields: list[ProgramField] = []
    apart: set[int] = set()
    tops: list[int] = []
    for layer, definition in enumerate(network.layers, 1):
        place = {BELOW: tops[-1]} if layer > 1 else {}
        maker = _Maker(network, layer, definition.streams, place, fields, apart, learning)
        maker.make()
        tops.append(place[ABOVE])
    return Program(tuple(fields), tuple(tops), network.sizes[:-1], network.positions)


def _joined(streams: tuple[Stream, ...], name: str, place: Mapping[str, int]) -> int | None:
    """An earlier field at the neurons of a field, if there is one."""
    home = next(site for site in sites_of(streams) if name in site)
    return min((place[field] for field in home if field in place), default=None)


@dataclass(slots=True)
class _Maker:
    """Puts numbers into the streams of one layer.

    Attributes:
        place: the number of each field that is known, by its name.
        fields: all fields so far, to which those of the layer are added.
        apart: of them those at pairs of positions or at one step, where their neurons have others.
        step: of a layer that reads earlier steps the one that is made.
        values: what attention reads, as fields at pairs of positions.
    """

    network: Network
    layer: int
    streams: tuple[Stream, ...]
    place: dict[str, int]
    fields: list[ProgramField]
    apart: set[int]
    learning: bool
    step: int | None = None
    values: dict[int, int] = field(default_factory=dict)

    def make(self) -> None:
        """All fields of the layer."""
        if is_recurrent(self.streams):
            self._unroll(self._steps())
            return
        for stream in self.streams:
            self._add(stream)

    def _unroll(self, steps: int) -> None:
        """The fields of each step, with the same weights, and then all steps as positions."""
        earlier = {name: earlier_step(name) for stream in self.streams for name in stream.read}
        made: list[dict[str, int]] = []
        for step in range(steps):
            self.step = step
            for name, (of, back) in earlier.items():
                if 0 < back <= step:
                    self.place[name] = made[step - back][of]
            for stream in self.streams:
                self._add(stream, made[0][stream.name] if made else None)
            made.append({stream.name: self.place[stream.name] for stream in self.streams})
        tops = [fields[ABOVE] for fields in made]
        kept: Function = tuple((1.0, ((top, None, 0),)) for top in tops)
        places = tuple(put_at(step, steps) for step in range(steps))
        last = self.fields[tops[-1]]
        whole = ProgramField(last.site, last.width, kept, (), (), grid=(steps,), places=places)
        self.place[ABOVE] = self._append(whole, False)

    def _steps(self) -> int:
        """How many steps there are: the positions of what is read."""
        below = self._grid_of(self.place.get(BELOW, INPUT))
        windows = [one.window for stream in self.streams for one in stream.drawn if one.window]
        grids = sorted({window.sources(below)[0] for window in windows} or {below})
        if len(grids) > 1 or len(grids[0]) != 1:
            raise LayerError(
                f"Layer {self.layer} of {self.network!r} reads earlier steps, and has positions "
                f"{' and '.join(map(str, grids))}. Steps are positions along one axis, as many for "
                "all that is read. Give data of the shape (N, n_0, T)."
            )
        return grids[0][0]

    def _add(self, stream: Stream, first: int | None = None) -> None:
        """The field of a stream, at a later step at the neurons of that of the first."""
        joined = _joined(self.streams, stream.name, self.place) if first is None else first
        above = max((one.site for one in self.fields), default=INPUT)
        site = above + 1 if joined is None else self.fields[joined].site
        apart = self.step is not None or stream.name in at_pairs(self.streams)
        made = self._scores(stream, site) if stream.score else self._field(stream, site, apart)
        self.place[stream.name] = self._append(made, apart)

    def _append(self, made: ProgramField, apart: bool) -> int:
        self.fields.append(made)
        number = len(self.fields) - 1
        self.apart |= {number} if apart else set()
        return number

    def _field(self, stream: Stream, site: int, apart: bool) -> ProgramField:
        width = self.network.width_of(stream.name, self.layer)
        # The first layer has nothing to keep of its input, and the first step nothing before it.
        named = [(constant, one) for constant, one in stream.kept if one.field in self.place]
        kept = tuple((self._number(constant), (self._placed(one),)) for constant, one in named)
        biases = tuple(self._biases(d, width) for d in stream.drawn if d.function is None)
        made = [self._weights(d, d.function, width) for d in stream.drawn if d.function is not None]
        weights = [one for one in made if one is not None]
        if stream.norm and not kept:
            raise LayerError(
                f"Layer {self.layer} of {self.network!r} applies {stream.norm} to the input, which "
                'is no field. Begin with a dense layer, as in layers=["z\' = b + W z", …], and '
                "normalise the data before."
            )
        if self.step == 0 and not (kept or biases or weights):
            raise LayerError(
                f"The field {stream.name} of layer {self.layer} of {self.network!r} has nothing at "
                "the first step, before which there is none. Give it biases, or let it read z."
            )
        places = self._kept_places([one.field for _, one in named])
        grids = [grid for _, grid in weights]
        grids += [() if places else self._grid_of(number) for _, ((number, _, _),) in kept]
        if not apart:
            there = (one for number, one in enumerate(self.fields) if number not in self.apart)
            grids += [one.grid for one in there if one.site == site]
        self._check_grids(stream.name, grids)
        branches = tuple(branch for branch, _ in weights)
        grid = grids[0] if grids else ()
        return ProgramField(
            site, width, kept, biases, branches, stream.norm, grid, stream.mask, places
        )

    def _check_grids(self, name: str, grids: list[Grid]) -> None:
        """Refuse positions of a field that are not those of all that it is made of."""
        if len(set(grids)) > 1:
            raise LayerError(
                f"The field {name} of layer {self.layer} joins positions of "
                f"{' and '.join(map(str, dict.fromkeys(grids)))}. Fields that are added or "
                "multiplied are at the same positions. Choose windows and strides so."
            )

    def _kept_places(self, names: list[str]) -> tuple[Sources, ...]:
        """At one step, where the field below and others are read that are kept."""
        if self.step is None or BELOW not in names:
            return ()
        steps = unmoved(prod(self._grid_of(self.place[BELOW])))
        return tuple(taken_at(self.step, steps) if one == BELOW else unmoved(1) for one in names)

    def _grid_of(self, number: int) -> Grid:
        return self.network.positions if number == INPUT else self.fields[number].grid

    def _biases(self, drawn: Drawn, width: int) -> ProgramBranch:
        function: Function = ((self._number(drawn.coefficient), ()),)
        numbers = self._numbers(drawn, None)
        shared = self._shared(drawn)
        return ProgramBranch(drawn.tensor, *numbers, (width,), None, function, shared=shared)

    def _weights(
        self, drawn: Drawn, read: SiteFunction, width: int
    ) -> tuple[ProgramBranch, Grid] | None:
        """Weights with what they read, and the positions of what they make."""
        if BELOW in read.fields and BELOW not in self.place:
            function, site, below = self._of_input(read), INPUT, self.network.sizes[0]
            grid = self.network.positions
        else:
            function = tuple(
                (self._number(constant), tuple(map(self._placed, factors)))
                for constant, factors in read.terms
                if all(factor.field in self.place for factor in factors)
            )
            if not function:
                return None  # what has been before the first step is zero
            source = self.fields[function[0][1][0][0]]
            site, below, grid = source.site, source.width, source.grid
        sources: Sources | None = None
        if read.fields & at_pairs(self.streams):
            causal = drawn.window is not None
            function, grid = self._attending(function, causal)
            sources = over_keys(prod(grid), causal)
        elif drawn.window or (self.step is not None and BELOW in read.fields):
            grid, sources = self._windowed(drawn, read, grid)
            below = below * len(sources)
        shape, numbers = (width, below), self._numbers(drawn, below)
        shared = self._shared(drawn)
        made = ProgramBranch(drawn.tensor, *numbers, shape, site, function, sources, shared)
        return made, grid

    def _windowed(self, drawn: Drawn, read: SiteFunction, grid: Grid) -> tuple[Grid, Sources]:
        """What a window makes and reads, at one step if there are some."""
        if self.step is not None and read.fields != {BELOW}:
            raise LayerError(
                f"The weights {drawn.tensor.name} of layer {self.layer} of {self.network!r} have a "
                "window over steps, or read the layer below and fields of one step together. "
                "Earlier steps are read as z'[-1]. Give each of them weights of its own."
            )
        above, sources = drawn.window.sources(grid) if drawn.window else (grid, unmoved(prod(grid)))
        return (above, sources) if self.step is None else ((), taken_at(self.step, sources))

    def _shared(self, drawn: Drawn) -> tuple[int, str] | None:
        """The name of a tensor that is used at all steps."""
        return None if self.step is None else (self.layer, drawn.tensor.name)

    def _scores(self, stream: Stream, site: int) -> ProgramField:
        """The sum of queries times keys over the neurons of a head, at pairs of positions."""
        assert stream.score is not None
        queries, keys = (self.place[name] for name in stream.score)
        one = self.fields[queries]
        grid = one.grid
        self._check_grids(stream.name, [grid, self._grid_of(keys)])
        if not grid:
            raise LayerError(
                f"Layer {self.layer} of {self.network!r} has scores, which are between positions, "
                "and what it reads has none. Give data of the shape (N, n_0, P)."
            )
        both = self._spread(queries, of_queries), self._spread(keys, of_keys)
        product: Factors = tuple((number, None, 0) for number in both)
        width = self.network.width_of(stream.name, self.layer)
        shape, function = (width, one.width), ((1.0, product),)
        # Over their number the products of a head do not fluctuate at infinite width.
        fixed, variance = (NUMBER, 0.0) if queries == keys else (ROOT, 1.0 / one.width)
        summed = ProgramBranch(_SUM, variance, 0.0, 0.0, shape, one.site, function, fixed=fixed)
        heads = self.network.heads(self.layer)
        return ProgramField(site, width, (), (), (summed,), grid=(*grid, *grid), heads=heads)

    def _spread(self, number: int, of: Callable[[int], Sources]) -> int:
        """A field at pairs of positions, the same for all that have one position in common."""
        one = self.fields[number]
        grid, places = (*one.grid, *one.grid), (of(prod(one.grid)),)
        kept: Function = ((1.0, ((number, None, 0),)),)
        made = ProgramField(one.site, one.width, kept, (), (), grid=grid, places=places)
        return self._append(made, True)

    def _attending(self, function: Function, causal: bool) -> tuple[Function, Grid]:
        """A product of functions of scores and values at pairs of positions, to be summed."""
        ((number, factors),) = function
        pairs = {self.place[name] for name in at_pairs(self.streams) if name in self.place}
        for of, _, _ in factors:
            if of not in pairs and of not in self.values:
                self.values[of] = self._spread(of, of_keys)
        soft = CAUSAL_SOFTMAX if causal else SOFTMAX
        moved = tuple(
            (self.values.get(of, of), soft if name == SOFTMAX else name, order)
            for of, name, order in factors
        )
        whole = self._grid_of(moved[0][0])
        grid = whole[: len(whole) // 2]
        if causal and len(grid) != 1:
            raise LayerError(
                f"Layer {self.layer} of {self.network!r} has causal attention, and the positions "
                f"{grid}. They have no order, which is along one axis. Give data of the shape "
                "(N, n_0, P), or read all positions."
            )
        # A window reads a mean, and attention a sum.
        return ((number * prod(grid), moved),), grid

    def _number(self, constant: Polynomial) -> float:
        return self.network.number(constant, self.layer)

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
        return ((self._number(read.terms[0][0]), ((INPUT, None, 0),)),)

    def _placed(self, factor: Factor) -> tuple[int, str | None, int]:
        place = self.place[factor.field]
        return place, MASK if self.fields[place].mask else factor.function, factor.order
