"""What a later layer makes of the neurons of z: copies of the fields that a layer has there."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

from symdlt.definitions import LAYER_NORM, Program
from symdlt.definitions.programs import Function, ProgramBranch, ProgramField
from symdlt.derivation.response.site_averages import MEAN, OUTPUT, Read

BASE = 0  # the field z of layer ℓ
# The tensor, the numbers and the shape of a branch of which only the function is read.
_ANY: tuple[Any, Any, Any, Any, Any] = (None, 0, 0, 0, (1, 1))


@dataclass(frozen=True)
class LaterLayer:
    """A layer, with what a later layer of the same kind reads at the neurons of z.

    Attributes:
        program: z of layer ℓ, the fields of the layer, z of layer m, and what that makes of it.
        copies: of fields of the layer those of layer m.
        sources: what the branches of the copy of z are copies of: what the layer reads of its
            neurons.
        reads: the averages whose noise a conditional covariance can have met, of layer m.
    """

    program: Program
    copies: dict[int, int]
    sources: tuple[Read, ...]
    reads: tuple[Read, ...]

    @property
    def later(self) -> int:
        """The field z of layer m, whose branches are all that is read at its neurons."""
        return self.copies[BASE]

    def windowed(self, windows: Container[str]) -> frozenset[int]:
        """The fields inside the layer whose weights have windows, by the names of such weights."""
        return frozenset(
            number
            for number in range(1, self.later - 1)
            if any(one.tensor.name in windows for one in self.program.fields[number].branches)
        )


def with_later_layer(program: Program, top: int) -> LaterLayer:
    """Add what a later layer reads to a layer."""
    fields, base = program.fields, program.fields[BASE]
    sources = [
        (number, branch)
        for number, field in enumerate(fields)
        for branch, one in enumerate(field.branches)
        if number != BASE and one.site == base.site
    ]
    read = [fields[number].branches[branch].function for number, branch in sources]
    normalised = [
        (field.kept[0][1][0][0], field.norm)
        for field in fields[1 : top + 1]
        if field.norm and field.site == base.site
    ]
    needed = {of for function in read for of in _read_of(function)} | {f for f, _ in normalised}
    for number in reversed(range(1, top)):
        if number in needed:
            needed |= _made_of(fields[number])
    copied = [number for number in range(1, top) if number in needed]
    later = len(fields)
    copies = {BASE: later} | {number: later + k for k, number in enumerate(copied, 1)}
    sites = {base.site: base.site} | {
        fields[number].site: -2 - number for number in copied if fields[number].site != base.site
    }
    moved = [ProgramBranch(*_ANY, base.site, _renamed(f, copies)) for f in read]
    beyond = ProgramField(base.site, base.width, (), (), tuple(moved))
    again = [_copied(fields[number], copies, sites) for number in copied]
    reads: list[Read] = [(later, number) for number in range(len(read))]
    reads += [(copies[of], MEAN) for of, norm in dict.fromkeys(normalised) if norm == LAYER_NORM]
    reads += [(copies[of], OUTPUT) for of in dict.fromkeys(f for f, _ in normalised) if of != BASE]
    whole = replace(program, fields=(*fields, beyond, *again))
    return LaterLayer(whole, copies, tuple(sources), (*reads, (later, OUTPUT)))


def with_functions_above(beyond: LaterLayer, top: int) -> LaterLayer | None:
    """Add a field with what the next layer reads of z', as this layer reads its `sources` of z.

    None if other fields than z are read of its neurons, of which the next layer has its own.
    """
    fields = beyond.program.fields
    functions = [fields[number].branches[branch].function for number, branch in beyond.sources]
    if any(_read_of(function) != {BASE} for function in functions):
        return None
    site, width = fields[top].site, fields[top].width
    moved = tuple(ProgramBranch(*_ANY, site, _renamed(f, {BASE: top})) for f in functions)
    above = ProgramField(site, width, (), (), moved)
    return replace(beyond, program=replace(beyond.program, fields=(*fields, above)))


def _copied(field: ProgramField, copies: dict[int, int], sites: dict[int, int]) -> ProgramField:
    """A field of layer m."""
    branches = tuple(
        replace(one, site=sites[one.site], function=_renamed(one.function, copies))
        for one in field.branches
        if one.site is not None
    )
    kept = _renamed(field.kept, copies)
    return replace(field, site=sites[field.site], kept=kept, branches=branches)


def _made_of(field: ProgramField) -> set[int]:
    """The fields that a field is made of."""
    functions = [field.kept, *(branch.function for branch in field.branches)]
    return {of for function in functions for of in _read_of(function)}


def _read_of(function: Function) -> set[int]:
    return {of for _, factors in function for of, _, _ in factors}


def _renamed(function: Function, copies: dict[int, int]) -> Function:
    """A function of other fields."""
    return tuple(
        (number, tuple((copies[field], name, order) for field, name, order in factors))
        for number, factors in function
    )
