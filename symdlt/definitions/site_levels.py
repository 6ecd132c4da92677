"""The fields of a stack by the steps that make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from symdlt.definitions.norm_steps import normed_fields
from symdlt.definitions.stacks import Stack
from symdlt.definitions.streams import BELOW, Stream, is_recurrent
from symdlt.errors import LayerError


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
    made, top = [(BELOW,), ()], top_of(stack).name
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


def top_of(stack: Stack) -> Stream:
    """The field that z' is, or that it is a norm of."""
    streams = {stream.name: stream for stream in stack.streams}
    top = stack.streams[-1]
    while top.norm and top.kept[0][1].field in streams:
        top = streams[top.kept[0][1].field]
    return top


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
    return (
        "Ask `layer_equations` for the order 1/n in symbols, whose `explain` says where terms "
        f"come from, or {numbers}"
    )


def not_in_steps(stack: Stack, why: str, *, forward: bool = False) -> LayerError:
    """The error for a layer that is no chain of steps, and what to ask instead."""
    kind = (
        "Of such layers no forward equations are known."
        if forward
        else "Recursions at any order in 1/n are derived for layers that are chains of steps, each "
        "of which reads the fields before it."
    )
    return LayerError(f"The layer {str(stack)[:120]!r} {why}. {kind} {_instead(stack)}")
