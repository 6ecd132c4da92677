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


def normed_fields(stack: Stack, fields: Iterable[str]) -> dict[str, str]:
    """The fields that norms make of some, each with what it is made of, in order."""
    made: dict[str, str] = {}
    known = {*fields}
    for stream in stack.streams:
        below = stream.kept[0][1].field if stream.norm else ""
        if below not in known:
            continue
        if stream.norm == LAYER_NORM:
            made[centred(below)] = below
            below = centred(below)
        made[stream.name] = below
        known.add(stream.name)
    return made


def norm_steps(stack: Stack, names: tuple[str, ...], fields: Iterable[str]) -> tuple[NormStep, ...]:
    """The norms of some fields of a level, in the order in which they are made.

    Args:
        stack: the layer.
        names: all fields of the level.
        fields: those of one site.
    """
    made = normed_fields(stack, fields)
    (site,) = (one for one in stack.sites for name in names[:1] if name in one)
    width = "n" if BELOW in site else f"n_{ascii_name(site[0])}"
    return tuple(
        NormStep(names, name, below, width, "" if name == centred(below) else letter)
        for name, below in made.items()
        for letter in [scale_letter(stack, below)]
    )


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
