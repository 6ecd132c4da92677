"""Layer labels: numbers, or symbols with an offset such as ℓ+1."""

import re

from symdlt.algebra.names import LETTER
from symdlt.errors import IndexStructureError

Layer = int | str

_LABEL = re.compile(f"({LETTER}+)(?:([+-])([0-9]+))?")


def split_layer(layer: Layer) -> tuple[str, int]:
    """Read a layer as (symbol, offset), with the empty symbol for numbers.

    >>> split_layer("ℓ+1"), split_layer(3)
    (('ℓ', 1), ('', 3))

    Raises:
        IndexStructureError: the label is not a layer.
    """
    if isinstance(layer, int) and not isinstance(layer, bool) and layer >= 0:
        return ("", layer)
    match = _LABEL.fullmatch(layer) if isinstance(layer, str) else None
    if match is None:
        raise IndexStructureError(
            f"{layer!r} is not a layer. "
            "It was given as the layer of a tensor of the network. "
            "Write a number such as 2, or a symbol with an offset such as 'ℓ' or 'ℓ+1'."
        )
    symbol, sign, number = match.groups()
    return (symbol, int(sign + number) if number else 0)


def shift_layer(layer: Layer, by: int) -> Layer:
    """Move a layer label up or down.

    >>> shift_layer("ℓ+1", -1), shift_layer("ℓ", -1), shift_layer(2, -1)
    ('ℓ', 'ℓ-1', 1)
    """
    symbol, offset = split_layer(layer)
    offset += by
    if symbol:
        return f"{symbol}{offset:+d}" if offset else symbol
    if offset < 0:
        raise IndexStructureError(
            f"There is no layer below layer {layer}. "
            "The tensor asked for the width of the layer that feeds it. "
            "Number the layers of weights from 1."
        )
    return offset


def width_of(layer: Layer) -> str:
    """Name the width of a layer.

    >>> width_of("ℓ-1"), width_of(0)
    ('n_{ℓ-1}', 'n_0')
    """
    text = str(shift_layer(layer, 0))
    return f"n_{text}" if len(text) == 1 else f"n_{{{text}}}"


def layers_apart(lower: Layer, upper: Layer) -> int | None:
    """Count the steps from one layer up to another, or None if that is not known."""
    (symbol, start), (other, end) = split_layer(lower), split_layer(upper)
    return end - start if symbol == other else None
