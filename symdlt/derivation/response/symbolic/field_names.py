"""How the fields of a layer, and the scales of norms, are named in its equations."""

from __future__ import annotations

from collections.abc import Sequence

from symdlt.definitions import BELOW, Layer, Stack, free_letter
from symdlt.definitions.streams import Factor, short_names
from symdlt.derivation.response.symbolic.later_layers import LaterLayer

NOISE = "Y"  # the covariance of noise with a conditional covariance


def names_of(definition: Layer | Stack, later: LaterLayer) -> list[str]:
    """The names of all fields; ^m marks those of a later layer."""
    names = [BELOW, *short_names(definition.streams).values()]
    fields = later.program.fields
    for field, copy in later.copies.items():
        assert copy == len(names)
        below = fields[field].kept[0][1][0][0] if fields[field].norm else None
        if below is not None and names[field] == f"{fields[field].norm}({names[below]})":
            names.append(f"{fields[field].norm}({names[later.copies[below]]})")
        else:
            names.append(f"{names[field]}^m")
    return names


def mark_between(name: str = "") -> str:
    """The mark of a kernel of z of layer m with a field of layer l, or with z of that layer.

    Names of nothing but l have one more, as l alone says that it is z.

    >>> [mark_between(name) for name in ("", "u", "l")]
    ['lm', 'um', 'llm']
    """
    return f"{name}{'l' * (set(name) <= {'l'})}m"


def reads_z_alone(definition: Layer | Stack) -> bool:
    """Whether weights read one function of z each, so that s(z) can be written s."""
    if isinstance(definition, Layer):
        return True
    masks = {stream.name for stream in definition.streams if stream.mask}
    plain = [stream for stream in definition.streams if not stream.mask]
    read = [one.function for one in definition.drawn if one.function]
    laws = any(one.tensor.law and not one.tensor.law.is_gaussian for one in definition.drawn)
    special = masks or laws or any(one.window for one in definition.drawn)
    return (
        bool(special)
        and len(plain) == 1
        and all(
            len(function.terms) == 1 and len({*factors} - {Factor(mask) for mask in masks}) == 1
            for function in read
            for _, factors in function.terms
        )
    )


def letters_of(
    definition: Layer | Stack, later: LaterLayer, names: Sequence[str]
) -> dict[int, str]:
    """The letters of what normalised fields are multiplied with, by what is normalised."""
    fields = later.program.fields
    normalised = {one.kept[0][1][0][0] for one in fields[: later.later] if one.norm}
    letters: dict[int, str] = {}
    for field in sorted(normalised):
        letter = free_letter(definition)
        own = letter if len(normalised) == 1 else f"{letter}({names[field]})"
        letters[field] = own
        if field in later.copies:
            letters[later.copies[field]] = f"{own}^m"
    return letters


def inside_name(letter: str, *fields: str) -> str:
    """The name of a tensor of fields inside a layer.

    >>> inside_name("V", "u", "v")
    'V^(u,v)'
    """
    return f"{letter}^({','.join(fields)})"


def is_inside(name: str) -> bool:
    """Whether a name is that of a tensor of fields inside a layer.

    >>> is_inside("V^(u,v)"), is_inside("G^lm")
    (True, False)
    """
    return "^(" in name
