"""Numbers of a network: widths, and one value of a symbol for each layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite
from numbers import Integral, Real
from reprlib import repr as short_repr
from typing import TypeAlias

from symdlt.errors import InputError, KernelError

Values: TypeAlias = tuple[float, ...]
Nested: TypeAlias = "float | list[Nested]"

# Cubes of widths are numbers of double precision, which ends at 1e308.
WIDEST = 10**100


def per_layer(name: str, value: object, depth: int, positive: bool = True) -> Values:
    """One number for each layer.

    Raises:
        InputError: if they are no real numbers.
        KernelError: if they are too many or too few, not finite, or negative and must not be.
    """
    try:
        numbers = _plain(value)
        shape = _shape(numbers)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is {short_repr(value)}. It must consist of real numbers, in rows of one "
            "length. Give one number, or one for each layer."
        ) from None
    if not isinstance(numbers, list):
        numbers, shape = [numbers] * depth, (depth,)
    if shape != (depth,):
        raise KernelError(
            f"{name} has the shape {shape}. The network has {depth} layers, one more than "
            f"hidden widths. Give one number, or {depth} of them."
        )
    values = tuple(number for number in numbers if isinstance(number, float))
    for layer, number in enumerate(values, 1):
        if not isfinite(number) or (positive and number < 0.0):
            kind = "Variances and learning rates are finite and not negative"
            raise KernelError(
                f"{name} is {number} at layer {layer}. "
                f"{kind if positive else 'Constants of layers are finite'}. Correct the value."
            )
    return values


def _plain(value: object) -> Nested:
    """Floats, and lists of them, from what NumPy and others have."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, Real) and not isinstance(plain, bool):
        try:
            return float(plain)
        except OverflowError:
            return inf
    if isinstance(plain, Sequence) and not isinstance(plain, str | bytes):
        return [_plain(entry) for entry in plain]
    raise TypeError


def _shape(numbers: Nested) -> tuple[int, ...]:
    if not isinstance(numbers, list):
        return ()
    shapes = {_shape(entry) for entry in numbers} or {()}
    (shape,) = shapes
    return (len(numbers), *shape)


def whole(name: str, value: object) -> int:
    """A width.

    Raises:
        InputError: if it is no whole number.
        KernelError: if it is none of a layer.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputError(
            f"{name} is {short_repr(value)}. A width is a whole number of neurons. Give 1, 2, 3, …."
        )
    if value < 1:
        raise KernelError(f"{name} is {value}. A layer has at least one neuron. Give 1, 2, 3, ….")
    if int(value) > WIDEST:
        raise KernelError(
            f"{name} is {short_repr(value)}. Powers of so large a width leave the range of double "
            f"precision. Give at most {WIDEST:.0e}, which is as good as infinite."
        )
    return int(value)


def whole_widths(widths: object) -> tuple[int, ...]:
    """The hidden widths."""
    if isinstance(widths, str | bytes | Mapping | set) or not isinstance(widths, Iterable):
        raise InputError(
            f"widths is {short_repr(widths)}. It lists the hidden widths, one fewer than layers. "
            "Give for instance [64, 32] for three layers."
        )
    return tuple(whole(f"widths[{place}]", width) for place, width in enumerate(widths))
