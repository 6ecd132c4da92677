"""Steps of a stack: the fields of one site, made of the fields of the site before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from symdlt.algebra import Polynomial
from symdlt.definitions.branches import FIELD, Way, ascii_name
from symdlt.definitions.layers import Layer
from symdlt.definitions.masks import MASK, Mask
from symdlt.definitions.norm_steps import NormStep, norm_steps, normed_fields, width_name
from symdlt.definitions.short_form import WIDTH
from symdlt.definitions.site_branches import Monomial, SiteBranch, SiteFactor
from symdlt.definitions.stacks import Stack
from symdlt.definitions.streams import (
    ABOVE,
    BELOW,
    Drawn,
    Factor,
    Stream,
    is_recurrent,
    short_names,
)
from symdlt.errors import LayerError


@dataclass(frozen=True, eq=False)
class SiteStep:
    r"""How the fields of one site are made of those of the site before.

    $$h^a_{i;\delta} = b^a_i + \sum_q \sum_j W^{a,q}_{ij}\,
      \varphi^{a,q}(h^1_{j;\delta}, h^2_{j;\delta}, \ldots)$$

    It is a layer with labels: legs of one neuron are matched if they are of one field, as each
    field has weights of its own. What the layer keeps is carried along by all of its steps. Masks
    are factors of what weights read, drawn for this step: nothing differentiates them. Norms are
    fields of the site that they read, which `norms` make of others.

    Attributes:
        stack: the layer.
        number: which step of it, from 0.

    >>> [(step.below, step.above) for step in steps_of(Stack("u = U z; v = V z; z' = W s(u) v"))]
    [(('z',), ('u', 'v')), (('u', 'v'), ("z'",))]
    """

    stack: Stack
    number: int

    @cached_property
    def levels(self) -> tuple[Level, Level]:
        """The fields before the step and behind it."""
        before, after = levels_of(self.stack)[self.number : self.number + 2]
        return before, after

    @cached_property
    def below(self) -> tuple[str, ...]:
        """The names of the fields that are read."""
        return self.levels[0].names

    @property
    def own(self) -> tuple[str, ...]:
        """Those that the step before made, and what norms make of them."""
        before, _ = self.levels
        return tuple(name for name in before.names if name not in before.carried)

    @property
    def carried(self) -> tuple[str, ...]:
        """The fields that it leaves as they are, for later steps."""
        return self.levels[1].carried

    @cached_property
    def above(self) -> tuple[str, ...]:
        """The names of the fields that are made."""
        return self.levels[1].names

    @cached_property
    def masks(self) -> tuple[tuple[str, Mask], ...]:
        """The masks at the neurons that are read, by their short names.

        >>> (step,) = steps_of(Stack("z' = W dropout(1/2) s(z)"))
        >>> step.masks
        (('dropout', Mask(rate=Fraction(1, 2), shared=False)),)
        """
        short = short_names(self.stack.streams)
        return tuple((short[name], mask) for name, mask in self._masks)

    @property
    def read(self) -> tuple[str, ...]:
        """The names of the fields that are read, and of masks behind them."""
        return (*self.below, *(name for name, _ in self.masks))

    @property
    def norms(self) -> tuple[NormStep, ...]:
        """The norms among the fields that are read."""
        return norm_steps(self.stack, self.below, self.levels[0].normed)

    @property
    def norms_above(self) -> tuple[NormStep, ...]:
        """Of the last step the norms that make z' of what it makes."""
        return norm_steps(self.stack, self.above, self.levels[1].normed) if self.last else ()

    @property
    def first(self) -> bool:
        """Whether it reads the layer below."""
        return self.number == 0

    @property
    def last(self) -> bool:
        """Whether it makes the layer above."""
        return ABOVE in self.above

    @property
    def symbols(self) -> tuple[str, ...]:
        """The constants of the layer."""
        return self.stack.symbols

    @cached_property
    def branches(self) -> tuple[SiteBranch, ...]:
        """The summands of all fields that are made, what is kept behind what is drawn."""
        return (*(branch for branch, _ in self._drawn), *self._kept)

    @cached_property
    def ways(self) -> Mapping[str, Way]:
        """The ways to average two vertices on one neuron, by their code."""
        ways: dict[str, Way] = {}
        for number, (branch, drawn) in enumerate(self._drawn):
            name = ascii_name(drawn.tensor.name)
            square = drawn.coefficient * drawn.coefficient
            for how, code, factor in (
                ("contracted", name.upper(), square * drawn.variance),
                ("edge", name.lower(), square * drawn.rate),
            ):
                (count, powers), width = self._monomial(factor)
                if width != (-1 if branch.summed else 0) or code in ways:
                    raise _refused(
                        self.stack, f"gives {name} the factor {factor}, or its letter to another"
                    )
                both, summed = (number, number), branch.summed
                ways[code] = Way(code, how, both, (0, 0), count, powers, summed)
        for number, (_, _, constant) in enumerate(self._keeps, len(self._drawn)):
            (count, powers), _ = self._monomial(constant * constant)
            both = (number, number)
            ways[BELOW] = Way(BELOW, "kept", both, (FIELD, FIELD), count, powers, False)
        return ways

    @property
    def width(self) -> str:
        """The name of the number of neurons of the fields that the step before made."""
        return width_name(self.stack, self.below[0])

    def width_of(self, branch: SiteBranch) -> str:
        """The name of the number of neurons that weights sum over."""
        ((_, factors), *_) = branch.products
        name = next(self.below[f.field] for f in factors if f.function != MASK)
        root = dict(self.levels[0].normed)
        while name in root:
            name = root[name]
        return width_name(self.stack, name)

    @cached_property
    def _kept(self) -> tuple[SiteBranch, ...]:
        """The fields that are kept, by the layer or only by a step."""
        unit = self._monomial(Polynomial.number(1))[0]
        return tuple(
            SiteBranch(
                self.above.index(above),
                None,
                ((unit, (SiteFactor(self.below.index(name), ""),)),),
                self._monomial(constant)[0],
            )
            for above, name, constant in self._keeps
        )

    @cached_property
    def _keeps(self) -> tuple[tuple[str, str, Polynomial], ...]:
        """The fields that keep others, or are carried, with these and their constants."""
        made = [
            (name, factor.field, constant)
            for name, stream in self._made
            for constant, factor in stream.kept
        ]
        return (*made, *((name, name, Polynomial.number(1)) for name in self.carried))

    @property
    def _made(self) -> list[tuple[str, Stream]]:
        """The fields that the step makes."""
        streams = {stream.name: stream for stream in self.stack.streams}
        return [(name, streams[name]) for name in self.levels[1].own]

    @cached_property
    def _drawn(self) -> tuple[tuple[SiteBranch, Drawn], ...]:
        made = [(k, one) for k, (_, stream) in enumerate(self._made) for one in stream.drawn]
        return tuple((self._branch(field, one), one) for field, one in made)

    @cached_property
    def _masks(self) -> tuple[tuple[str, Mask], ...]:
        streams = self.stack.streams
        masked = {one.name: one.mask for one in streams if one.mask}
        found = {name for _, stream in self._made for name in stream.read}
        return tuple((name, mask) for name, mask in masked.items() if name in found)

    def _branch(self, field: int, drawn: Drawn) -> SiteBranch:
        coefficient, rate = (self._monomial(one)[0] for one in (drawn.coefficient, drawn.rate))
        if drawn.function is None:
            return SiteBranch(field, drawn.tensor, (), coefficient, rate)
        masks = dict(self._masks)
        places = {name: k for k, name in enumerate((*self.below, *masks))}
        products = tuple(
            (
                self._monomial(constant)[0],
                tuple(
                    sorted(
                        SiteFactor(
                            places[one.field],
                            MASK if one.field in masks else one.function or "",
                            one.order,
                        )
                        for one in factors
                    )
                ),
            )
            for constant, factors in drawn.function.terms
        )
        return SiteBranch(field, drawn.tensor, products, coefficient, rate, drawn.window)

    def _monomial(self, factor: Polynomial) -> tuple[Monomial, int]:
        """A constant as a number and powers of the symbols, and its power of the width."""
        if len(factor.terms) != 1:
            raise _refused(self.stack, f"has the constant {factor}, which is no single product")
        ((monomial, number),) = factor.terms
        powers = dict(monomial)
        width = powers.pop(WIDTH, 0)
        exponents = tuple(powers.get(name, 0) for name in self.symbols)
        return (Fraction(number), exponents), width

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SiteStep):
            return NotImplemented
        return (self.number, self.stack) == (other.number, other.stack)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[SiteStep], tuple[Stack, int]]:
        # a hash of texts holds in one process only, and is not to be pickled
        return SiteStep, (self.stack, self.number)

    @cached_property
    def _hash(self) -> int:
        return hash((self.number, self.stack))


class Level(NamedTuple):
    """The fields between two steps of a layer.

    Attributes:
        own: those that the step before makes, of one site.
        normed: what norms make of fields for the step behind, each with what it is made of.
        carried: those of earlier levels that later steps read.
    """

    own: tuple[str, ...]
    normed: tuple[tuple[str, str], ...] = ()
    carried: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.own, *(name for name, _ in self.normed), *self.carried)


def levels_of(stack: Stack) -> tuple[Level, ...]:
    """The fields before the first step of a layer and after each.

    >>> [level.names for level in levels_of(Stack("h = U z; z' = xi z + W s(h)"))]
    [('z',), ('h', 'z'), ("z'",)]
    >>> [level.names for level in levels_of(Stack("u = U z; v = V s(u); z' = W s(u) + P s(v)"))]
    [('z',), ('u',), ('v', 'u'), ("z'",)]
    """
    streams = {stream.name: stream for stream in stack.streams}
    made = _made_together(stack, streams)
    level_of = {name: k for k, own in enumerate(made) for name in own}
    read = [{of for name in own for of in streams[name].read} for own in made[1:]]
    read.append({stack.streams[-1].name})  # a norm that makes z' is read behind the last one
    last_read = {_root(streams, of): k for k, fields in enumerate(read, 1) for of in fields}
    levels = []
    for k, own in enumerate(made):
        carried = [of for of, last in last_read.items() if level_of.get(of, last) < k < last]
        normed = normed_fields(stack, (*own, *carried), read[k])
        levels.append(Level(own, normed, tuple(carried)))
    return tuple(levels)


def _made_together(stack: Stack, streams: Mapping[str, Stream]) -> list[tuple[str, ...]]:
    """The fields by the step that makes them: of one site, none of which reads another."""
    sites = {name: site for site in stack.sites for name in site}
    made, top = [(BELOW,), ()], _top(stack).name
    for stream in stack.streams:
        if stream.mask or stream.norm:
            continue
        read = {_root(streams, name) for name in stream.read}
        last = made[-1]
        if last and (stream.name == top or read & {*last} or last[0] not in sites[stream.name]):
            made.append(())
        made[-1] += (stream.name,)
    return made


def _root(streams: Mapping[str, Stream], name: str) -> str:
    """The field itself, where a norm is of it."""
    while name in streams and streams[name].norm:
        name = streams[name].kept[0][1].field
    return name


def _top(stack: Stack) -> Stream:
    """The field that z' is, or that it is a norm of."""
    streams = {stream.name: stream for stream in stack.streams}
    top = stack.streams[-1]
    while top.norm and top.kept[0][1].field in streams:
        top = streams[top.kept[0][1].field]
    return top


def is_chain(layer: Layer | Stack) -> bool:
    """Whether a layer is a stack whose fields are a chain of steps.

    >>> is_chain(Stack("h = U s(z); z' = W s(h)")), is_chain(Stack("h = U s(z); z' = z + W s(h)"))
    (True, False)
    """
    try:
        return isinstance(layer, Stack) and bool(steps_of(layer))
    except LayerError:
        return False


def steps_of(
    stack: Stack, *, truncated: bool = False, leading: bool = False, written: bool = False
) -> tuple[SiteStep, ...]:
    """The steps from the fields of the layer below to those of the layer above.

    A layer may keep z, once, if weights read nothing but z itself of these neurons: then all that
    is known of z are pairs of its legs, at every depth.

    Args:
        stack: the layer.
        truncated: whether weights may read any function of a z that is kept. The steps then read
            the last layer alone, which is not all of fluctuations.
        leading: whether they are of the kernel and the NTK at infinite width, where neurons are
            independent, so that it is all of these. Fields inside may then be kept as well.
        written: whether steps are written out alone, and nothing is averaged: then weights may have
            any law, and windows, and unless the others are asked for fields may read any others.

    Raises:
        LayerError: for a layer that is no chain of steps, and what to ask instead.
    """
    for why in _obstacles(stack, truncated, leading, written):
        raise _refused(stack, why)
    steps = tuple(SiteStep(stack, number) for number in range(len(levels_of(stack)) - 1))
    for step in steps:
        step.ways  # noqa: B018  (what cannot be averaged is refused here)
    return steps


def _obstacles(stack: Stack, truncated: bool, leading: bool, written: bool) -> Iterator[str]:
    """Why a layer is no chain of steps; `written` alone says that it need be none."""
    if is_recurrent(stack.streams):
        yield "uses its weights at several steps"
    if any(stream.score for stream in stack.streams):
        yield "has scores, which positions are joined by"
    if _top(stack).norm:
        yield "makes z' of z without weights"
    levels = levels_of(stack)
    level_of = {name: k for k, level in enumerate(levels) for name in level.own}
    masks = masks_of(stack)
    chain = truncated or leading or not written
    for stream in stack.streams:
        if stream.norm and not written:
            yield (
                f"has the field {stream.name}, a norm, whose neurons are not those of a Gaussian "
                "field"
            )
        if stream.norm or stream.mask:
            continue
        level, last = level_of[stream.name], stream is _top(stack)
        site = next(site for site in stack.sites if stream.name in site)
        if not chain:
            pass
        elif BELOW in site and not last and not (leading and stream.kept):
            yield (
                f"has {stream.name} on the neurons of z, which it is multiplied with or added to"
            )
        elif stream.kept and not _keeps_alone(stack, stream, levels, truncated, leading):
            kept = ", ".join(str(factor) for _, factor in stream.kept)
            yield (
                f"keeps {kept} on its neuron. With a skip, the neuron of a leg can be one of "
                "those whose functions are summed over in every layer below, and the recursion "
                "needs cumulants of one neuron at several depths; it closes where z' keeps z and "
                "weights inside the layer read z itself, as in h = U z; z' = z + W s(h)"
            )
        for drawn in stream.drawn:
            letter = ascii_name(drawn.tensor.name)
            if not written and (drawn.orthogonal or drawn.window is not None):
                yield f"has the weights {letter}, orthogonal or with a window"
            if drawn.window is not None and drawn.window.pools:
                yield f"has the weights {letter}, which read means over positions"
            read = set() if drawn.function is None else {*drawn.function.fields} - masks
            for name in sorted(read) if chain else ():
                if level_of.get(name, level - 1) != level - 1:
                    yield (
                        f"reads {name} in {stream.name}, past the fields between them. A step "
                        "reads the fields before it alone"
                    )


def _keeps_alone(
    stack: Stack, stream: Stream, levels: tuple[Level, ...], truncated: bool, leading: bool
) -> bool:
    """Whether all that is known of what a layer keeps are pairs of its legs."""
    fields = [factor.field for _, factor in stream.kept]
    skip = fields == [BELOW] and stream is _top(stack)
    if leading:  # one field alone on the neurons of each step
        return len(fields) == 1 and all(len(level.carried) <= skip for level in levels)
    return skip and (truncated or _hides_neurons(stack))


def keeps_inside(stack: Stack) -> bool:
    """Whether a layer keeps others than z, or keeps it in a field inside.

    >>> keeps_inside(Stack("h = U s(z); z' = z + W s(h)"))
    False
    >>> keeps_inside(Stack("h = z + U s(z); z' = h + W s(h)"))
    True
    """
    kept = {
        (stream.name, factor.field)
        for stream in stack.streams
        if not stream.norm
        for _, factor in stream.kept
    }
    return not kept <= {(_top(stack).name, BELOW)}


def _hides_neurons(stack: Stack) -> bool:
    """Whether fields inside the layer read z itself and no function of it."""
    masks = masks_of(stack)
    functions = [one.function for one in stack.drawn if one.function]
    read = [p for f in functions if BELOW in f.fields for _, p in f.terms]
    linear = all([one for one in p if one.field not in masks] == [Factor(BELOW)] for p in read)
    return linear and len(stack.streams) > len(masks) + 1


def masks_of(stack: Stack) -> frozenset[str]:
    """The names of its masks."""
    return frozenset(stream.name for stream in stack.streams if stream.mask)


def _instead(stack: Stack) -> str:
    """What else to ask; some layers have no equations in symbols at the order 1/n either."""
    *inside, last = stack.streams
    numbers = "`propagate` for numbers."
    if is_recurrent(stack.streams):
        return f"Make its steps layers, or ask {numbers}"
    if last.norm or any(stream.score for stream in inside):
        return f"Ask {numbers}"
    if any(one.window for stream in inside for one in stream.drawn):
        return f"Make it two layers, the first of which ends with the window, or ask {numbers}"
    return (
        "Ask `layer_equations` for the order 1/n in symbols, whose `explain` says where terms "
        f"come from, or {numbers}"
    )


def _refused(stack: Stack, why: str) -> LayerError:
    return LayerError(
        f"The layer {str(stack)[:120]!r} {why}. Forward equations, and recursions at any order in "
        "1/n, are derived for layers that are chains of steps, each of which reads the fields "
        f"before it. {_instead(stack)}"
    )
