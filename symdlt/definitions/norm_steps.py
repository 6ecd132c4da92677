"""What norms do to fields at their own neurons, one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symdlt.definitions.branches import ascii_name
from symdlt.definitions.layers import Layer
from symdlt.definitions.stacks import Stack
from symdlt.definitions.streams import BELOW, LAYER_NORM

SCALES = ("c", "a", "k")  # letters of scales, of which the first is taken that is free


@dataclass(frozen=True, slots=True)
class NormStep:
    r"""A field that is another one less its mean over the neurons, or over its length.

    $$x_i = z_i - \frac1n\sum_j z_j,\qquad y_i = c\,x_i,\quad c^{-2} = \frac1n\sum_j x_j^2$$

    RMSNorm is the second of $x = z$, LayerNorm both.

    Attributes:
        names: the fields of its level of the layer.
        name: of the field that is made.
        below: of the one that it is made of.
        width: the name of the number of neurons.
        scale: the letter of c; nothing where the mean is taken away.

    >>> from symdlt.definitions import steps_of
    >>> (step,) = steps_of(Stack("z' = W s(layernorm(z))"), written=True)
    >>> [(one.name, one.below) for one in step.norms]
    [('centred(z)', 'z'), ('layernorm(z)', 'centred(z)')]
    """

    names: tuple[str, ...]
    name: str
    below: str
    width: str
    scale: str

    @property
    def field(self) -> int:
        """The number of the field that is made."""
        return self.names.index(self.name)

    @property
    def read(self) -> int:
        """The number of the one that it is made of."""
        return self.names.index(self.below)


def centred(field: str) -> str:
    """The name of a field less its mean."""
    return f"centred({field})"


def normed_fields(
    stack: Stack, fields: Iterable[str], read: Iterable[str]
) -> tuple[tuple[str, str], ...]:
    """The fields that norms make of some, each with what it is made of, in order.

    Args:
        stack: the layer.
        fields: those that norms may be of.
        read: the norms that are read; others are left out, but for what these are made of.
    """
    made: dict[str, str] = {}
    known, needed = {*fields}, {*read}
    for stream in stack.streams:
        below = stream.kept[0][1].field if stream.norm else ""
        if below not in known:
            continue
        if stream.norm == LAYER_NORM:
            made[centred(below)] = below
            below = centred(below)
        made[stream.name] = below
        known.add(stream.name)
    normed = []
    for name, below in reversed(made.items()):
        if name in needed:
            normed.append((name, below))
            needed.add(below)
    return tuple(reversed(normed))


def norm_steps(
    stack: Stack, names: tuple[str, ...], normed: Iterable[tuple[str, str]]
) -> tuple[NormStep, ...]:
    """The norms among the fields of a level, in the order in which they are made.

    Args:
        stack: the layer.
        names: all fields of the level.
        normed: those that norms make, each with what it is made of.
    """
    root = {name: name for name in names}
    for name, below in normed:
        root[name] = root[below]
    return tuple(
        NormStep(names, name, below, width_name(stack, root[name]), letter)
        for name, below in normed
        for letter in ["" if name == centred(below) else scale_letter(stack, below)]
    )


def width_name(stack: Stack, field: str) -> str:
    """The name of the number of neurons of a field: n for those of z."""
    (site,) = (one for one in stack.sites if field in one)
    return "n" if BELOW in site else f"n_{ascii_name(site[0])}"


def free_letter(stack: Layer | Stack) -> str:
    """The letter of what normalised fields are multiplied with."""
    drawn = [one.tensor.name for stream in stack.streams for one in stream.drawn]
    taken = {ascii_name(name).partition("_")[0] for name in (*stack.symbols, *drawn)}
    taken |= {stream.name for stream in stack.streams}
    return next((one for one in SCALES if one not in taken), "scale")


def scale_letter(stack: Stack, below: str) -> str:
    """The letter for one field, with its name where several are normalised."""
    several = sum(bool(stream.norm) for stream in stack.streams) > 1
    return f"{free_letter(stack)}({below})" if several else free_letter(stack)
