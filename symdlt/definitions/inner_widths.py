"""Widths inside layers, of fields that are made on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from reprlib import repr as short_repr

from symdlt.definitions.layers import Layer
from symdlt.definitions.numbers import whole
from symdlt.definitions.stacks import Stack
from symdlt.definitions.streams import ABOVE, BELOW, HEADS
from symdlt.errors import InputError, KernelError, LayerError


def read_inner(
    inner: Mapping[str, object], layers: Sequence[Layer | Stack]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The widths of fields inside stacks, one for each layer; and the heads of scores.

    Raises:
        InputError: if they are no dict of whole numbers.
        LayerError: for a field without a width of its own.
        KernelError: if they are not one for each layer.
    """
    if not isinstance(inner, Mapping):
        raise InputError(
            f"inner is {short_repr(inner)}. It gives widths to the fields inside stacks, by their "
            "names. Give for instance {'h': 32}."
        )
    stacks = [layer for layer in layers if isinstance(layer, Stack)]
    own = {site[0] for layer in stacks for site in layer.sites if not {BELOW, ABOVE} & {*site}}
    own |= {HEADS for layer in stacks for stream in layer.streams if stream.score}
    if not {*inner} <= own:
        raise LayerError(
            f"inner names the fields {', '.join(map(str, inner))}. Those with a width of their own "
            f"are {', '.join(sorted(own)) or 'none'}. Fields that share their neurons go by the "
            "first of them."
        )
    pairs = []
    for name, given in inner.items():
        many = [*given] if isinstance(given, Iterable) else [given] * len(layers)
        widths = tuple(whole(f"inner[{name!r}]", width) for width in many)
        if len(widths) != len(layers):
            raise KernelError(
                f"inner[{name!r}] has {len(widths)} widths. The network has {len(layers)} layers. "
                "Give one number, or one for each layer."
            )
        pairs.append((name, widths))
    return tuple(pairs)
