"""Checks of input that all kernels share; the definitions are copied into each that needs them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from reprlib import repr as short_repr
from typing import Any

import numpy as np

from symdlt.means._grids import LARGEST_VARIANCE, Array, Function, KernelInputError

PerLayer = float | Sequence[float] | Array
MOST_BYTES = 8e9


def real_numbers(name: str, value: Any) -> Array:
    """A number or numbers as an array; text, complex numbers, True and None are none."""
    try:
        given = np.asarray(value)
        kind, masked = given.dtype.kind, isinstance(value, np.ma.MaskedArray)
        if given.dtype == np.float64 and not masked:
            return given
        real = kind in "iuf" or (kind == "O" and all(isinstance(x, Real) for x in given.flat))
        if real and not masked:
            with np.errstate(over="ignore"):
                return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise KernelInputError(
        f"{name} is {short_repr(value)}. It must consist of real numbers in double precision. "
        "Give one number, or a list of numbers where there is one for each layer."
    )


def per_layer(name: str, value: PerLayer | None, depth: int, needed: bool) -> list[float]:
    """A hyperparameter as one number for each layer."""
    if value is None:
        if needed:
            raise KernelInputError(
                f"{name} is missing. The recursions of this kernel contain it. "
                f"Give a number, or one number for each of the {depth} layers."
            )
        return [0.0] * depth
    numbers = real_numbers(name, value)
    if numbers.shape not in ((), (depth,)):
        raise KernelInputError(
            f"{name} has shape {numbers.shape}. The network has {depth} layers. "
            f"Give a number, or one number for each of the {depth} layers."
        )
    least = 0.0 if name.startswith("C_") else -math.inf
    listed: list[float] = numbers.ravel().tolist()
    for layer, number in enumerate(listed, 1):
        if not (math.isfinite(number) and number >= least):
            raise KernelInputError(
                f"{name} is {number} at layer {layer}. "
                "Variances must be finite and not negative, learning rates finite. "
                "Correct the value."
            )
    return listed if numbers.ndim else listed * depth


def width_ratios(widths: Sequence[float] | Array | None, depth: int) -> Array:
    """n_l/n_(l-1) for l = 1 … L-1; the first one never counts, as inputs do not fluctuate."""
    if widths is None:
        return np.ones(depth - 1)
    numbers = real_numbers("widths", widths)
    if numbers.shape != (depth - 1,):
        raise KernelInputError(
            f"widths has shape {numbers.shape}. The network has {depth} layers and so "
            f"{depth - 1} hidden widths. Give one width for each hidden layer."
        )
    if not (np.isfinite(numbers) & (numbers > 0.0)).all():
        raise KernelInputError(
            f"widths has the smallest member {numbers.min()} and the largest {numbers.max()}. "
            "A width is a positive number. Correct the value."
        )
    return np.concatenate([np.ones(1), numbers[1:] / numbers[:-1]])[: depth - 1]


def refuse_large_variance(C_b: float, C_W: float, overlap: float) -> None:
    """Refuse a first layer whose preactivations are too large for means of their products."""
    weights = C_W * overlap
    if not C_b + weights <= LARGEST_VARIANCE:
        remedy = "a smaller C_b" if C_b > weights else "smaller inputs, or a smaller C_W"
        raise KernelInputError(
            f"The variance K = C_b + C_W x.x/n_0 of layer 1 is {C_b + weights:.3g}, too large for "
            f"means of products in double precision. C_b is {C_b:.3g}, C_W is {C_W:.3g}, and "
            f"x.x/n_0 is up to {overlap:.3g}. Give {remedy}."
        )


def check_activation(activation: Sequence[Function], needed: int) -> tuple[Function, ...]:
    """Refuse what is no activation with its derivatives."""
    given = tuple(activation) if isinstance(activation, Iterable) else (activation,)
    if len(given) != needed or not all(callable(function) for function in given):
        raise KernelInputError(
            f"The activation is given by {len(given)} functions. This kernel needs {needed}: "
            f"sigma and its first {needed - 1} derivatives. Give them in order, as callables."
        )
    return given
