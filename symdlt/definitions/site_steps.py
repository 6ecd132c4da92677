"""Steps of a stack: the fields of one site, made of the fields of the site before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from symdlt.algebra import Polynomial
from symdlt.definitions.branches import FIELD, Way, ascii_name
from symdlt.definitions.masks import MASK, Mask
from symdlt.definitions.norm_steps import NormStep, norm_steps, width_name
from symdlt.definitions.short_form import WIDTH
from symdlt.definitions.site_branches import Monomial, SiteBranch, SiteFactor
from symdlt.definitions.site_levels import Level, levels_of, not_in_steps
from symdlt.definitions.stacks import Stack
from symdlt.definitions.streams import (
    ABOVE,
    BELOW,
    Drawn,
    Stream,
    short_names,
)


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

    >>> from symdlt.definitions import steps_of
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

        >>> from symdlt.definitions import steps_of
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
                    raise not_in_steps(
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
            raise not_in_steps(self.stack, f"has the constant {factor}, which is no single product")
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
