"""Steps of a stack: the fields of one site, made of the fields of the site before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from symdlt.algebra import Polynomial
from symdlt.definitions.branches import FIELD, Way, ascii_name
from symdlt.definitions.layers import Layer
from symdlt.definitions.masks import MASK, Mask
from symdlt.definitions.norm_steps import NormStep, norm_steps, normed_fields
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
    def below(self) -> tuple[str, ...]:
        """The names of the fields that are read."""
        return levels_of(self.stack)[self.number]

    @property
    def own(self) -> tuple[str, ...]:
        """Those of the site that is read, without a z that is carried along."""
        return self.below if self.first else tuple(x for x in self.below if x not in self.carried)

    @property
    def carried(self) -> tuple[str, ...]:
        """The fields that the layer keeps, which steps inside it leave as they are."""
        return tuple(name for name, _ in self._carried)

    @cached_property
    def above(self) -> tuple[str, ...]:
        """The names of the fields that are made."""
        return levels_of(self.stack)[self.number + 1]

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
        return norm_steps(self.stack, self.below, self.own)

    @property
    def norms_above(self) -> tuple[NormStep, ...]:
        """Of the last step the norms that make z' of what it makes."""
        return norm_steps(self.stack, self.above, self.above) if self.last else ()

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
        for number, (_, constant) in enumerate(self._carried, len(self._drawn)):
            (count, powers), _ = self._monomial(constant * constant)
            both = (number, number)
            ways[BELOW] = Way(BELOW, "kept", both, (FIELD, FIELD), count, powers, False)
        return ways

    @cached_property
    def _kept(self) -> tuple[SiteBranch, ...]:
        """The fields that are kept, by the layer or only by a step."""
        unit = self._monomial(Polynomial.number(1))[0]
        return tuple(
            SiteBranch(
                self.above.index(_top(self.stack).name if self.last else name),
                None,
                ((unit, (SiteFactor(self.below.index(name), ""),)),),
                self._monomial(constant)[0],
            )
            for name, constant in self._carried
        )

    @property
    def _carried(self) -> tuple[tuple[str, Polynomial], ...]:
        """What the layer keeps, and what multiplies it in this step: constants in the last one."""
        return tuple(
            (factor.field, constant if self.last else Polynomial.number(1))
            for constant, factor in _top(self.stack).kept
        )

    @cached_property
    def _drawn(self) -> tuple[tuple[SiteBranch, Drawn], ...]:
        streams = {stream.name: stream for stream in self.stack.streams}
        made = [
            (k, one)
            for k, name in enumerate(self.above)
            if name in streams
            for one in streams[name].drawn
        ]
        return tuple((self._branch(field, one), one) for field, one in made)

    @cached_property
    def _masks(self) -> tuple[tuple[str, Mask], ...]:
        streams = self.stack.streams
        masked = {one.name: one.mask for one in streams if one.mask}
        found = {name for one in streams if one.name in self.above for name in one.read}
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


def levels_of(stack: Stack) -> tuple[tuple[str, ...], ...]:
    """The fields before the first step of a layer and after each, z among them if it is kept.

    >>> levels_of(Stack("h = U z; z' = xi z + W s(h)"))
    (('z',), ('h', 'z'), ("z'",))
    """
    apart = {*masks_of(stack), *(stream.name for stream in stack.streams if stream.norm)}
    top = _top(stack).name
    plain = [tuple(name for name in site if name not in apart) for site in stack.sites]
    inner = [site for site in plain if site and not {BELOW, top} & {*site}]
    carried = tuple(factor.field for _, factor in _top(stack).kept)
    levels = [((BELOW,), ()), *((site, carried) for site in inner), ((top,), ())]
    return tuple((*site, *normed_fields(stack, site), *kept) for site, kept in levels)


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
    stack: Stack, *, truncated: bool = False, written: bool = False
) -> tuple[SiteStep, ...]:
    """The steps from the fields of the layer below to those of the layer above.

    A layer may keep z, once, if weights read nothing but z itself of these neurons: then all that
    is known of z are pairs of its legs, at every depth.

    Args:
        stack: the layer.
        truncated: whether weights may read any function of a z that is kept. The steps then read
            the last layer alone, which is all of it for kernel and NTK at infinite width, where
            neurons are independent, and not for fluctuations.
        written: whether steps are written out alone, and nothing is averaged: then weights may have
            any law, and windows.

    Raises:
        LayerError: for a layer that is no chain of steps, and what to ask instead.
    """
    for why in _obstacles(stack, truncated, written):
        raise _refused(stack, why)
    steps = tuple(SiteStep(stack, number) for number in range(len(levels_of(stack)) - 1))
    for step in steps:
        step.ways  # noqa: B018  (what cannot be averaged is refused here)
    return steps


def _obstacles(stack: Stack, truncated: bool, written: bool) -> Iterator[str]:
    """Why a layer is no chain of steps."""
    if is_recurrent(stack.streams):
        yield "uses its weights at several steps"
    levels = levels_of(stack)
    level_of = {name: k for k, level in reversed([*enumerate(levels)]) for name in level}
    masks = masks_of(stack)
    with_below = {name for site in stack.sites if BELOW in site for name in site}
    with_below -= {*levels[0], *levels[-1], *masks}
    if _top(stack).norm:
        yield "makes z' of z without weights"
    for stream in stack.streams:
        if stream.norm and not written:
            yield (
                f"has the field {stream.name}, a norm, whose neurons are not those of a Gaussian "
                "field"
            )
        if stream.norm:
            continue
        if stream.name in with_below:
            yield (
                f"has {stream.name} on the neurons of z, which it is multiplied with or added to"
            )
        fields = [factor.field for _, factor in stream.kept]
        below = {*levels[0]} if written else {BELOW}
        carried = stream is _top(stack) and {*fields} <= below and len({*fields}) == len(fields)
        hidden = carried and (truncated or _hides_neurons(stack))
        if stream.kept and not hidden:
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
            for name in sorted(read):
                # a field that has no level is kept on another's neuron, which is refused there
                if stream.name in level_of and level_of[name] != level_of[stream.name] - 1:
                    yield (
                        f"reads {name} in {stream.name}, past the fields between them. A step "
                        "reads the fields before it alone"
                    )


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
