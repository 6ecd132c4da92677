"""Checks of input that all kernels share."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from numbers import Integral, Real
from reprlib import repr as short_repr
from typing import Any

import numpy as np

from symdlt.means import LARGEST_VARIANCE, Array, Function, KernelInputError, check_callable

PerLayer = float | Sequence[float] | Array
MOST_BYTES = 8e9  # a convention: what a workstation can spare
SHORTEST = 1e-100  # of variances that are divided by: squares and cubes are doubles


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


def checked_functions(
    activation: Sequence[Function], count: int, tensors: Iterable[str] = ()
) -> tuple[Function, ...]:
    """The first so many of sigma and its derivatives; more may be given."""
    given = tuple(activation) if isinstance(activation, Iterable) else (activation,)
    needing = f"The tensors {' '.join(tensors)} need" if tensors else "This kernel needs"
    if len(given) < count:
        raise KernelInputError(
            f"The activation is given by {len(given)} functions. {needing} {count}: "
            f"sigma and its first {count - 1} derivatives. Give them in order, as callables."
        )
    check_callable(given)
    return given[:count]


def checked_depth(depth: int) -> int:
    """Refuse what is no number of layers."""
    if not isinstance(depth, Integral) or isinstance(depth, bool) or depth < 1:
        raise KernelInputError(
            f"The depth is {short_repr(depth)}. It is the number of layers L. "
            "Give a positive integer."
        )
    return int(depth)


def checked_layers(
    given: Mapping[str, PerLayer | None],
    variances: Container[str],
    needed: Container[str],
    widths: Sequence[float] | Array | None,
    depth: int,
) -> dict[str, list[float]]:
    """Each hyperparameter at the layers 1 … L, and r, the ratio of their widths."""
    layers = {
        name: per_layer(name, value, depth, name in needed, name in variances)
        for name, value in given.items()
    }
    return layers | {"r": [1.0, *width_ratios(widths, depth).tolist()]}


def per_layer(
    name: str, value: PerLayer | None, depth: int, needed: bool, variance: bool
) -> list[float]:
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
    least = 0.0 if variance else -math.inf
    listed: list[float] = numbers.ravel().tolist()
    for layer, number in enumerate(listed, 1):
        if not (math.isfinite(number) and number >= least):
            raise KernelInputError(
                f"{name} is {number} at layer {layer}. "
                "Variances and ratios of widths must be finite and not negative, all else finite. "
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


def scale_of(field: str, variances: Any) -> Any:
    """What a field is multiplied with where it is normalised: one over its root mean square.

    Args:
        field: its name.
        variances: of it, one for each sample, or one.
    """
    if not (np.greater(variances, SHORTEST) & np.less(variances, 1.0 / SHORTEST)).all():
        raise KernelInputError(
            f"A layer normalises the field {field}, whose variance is "
            f"{float(np.min(variances)):.3g} for some input. Its length cannot be made one below "
            f"variances of {SHORTEST:g} and above {1.0 / SHORTEST:g}. Scale the inputs, or give "
            "layer 1 biases."
        )
    return np.asarray(variances) ** -0.5


def refuse_large_variance(
    first: Callable[[float, Mapping[str, float]], float],
    overlap: float,
    given: Mapping[str, float],
    variances: Sequence[str],
) -> None:
    """Refuse a first layer whose preactivations are too large for means of their products.

    Its variance is `first` of the overlap and the hyperparameters; some of these are to be named.
    """
    largest = first(overlap, given)
    if largest <= LARGEST_VARIANCE:
        return
    without = {"smaller inputs": first(0.0, given)}
    without |= {f"a smaller {name}": first(overlap, {**given, name: 0.0}) for name in variances}
    shown = "".join(f"{name} is {given[name]:.3g}, " for name in variances)
    remedies = [text for text, variance in without.items() if variance <= LARGEST_VARIANCE]
    raise KernelInputError(
        f"The variance K of layer 1 is {largest:.3g}, too large for means of products in double "
        f"precision. {shown}and x.x/n_0 is up to {overlap:.3g}. "
        f"Give {', or '.join(remedies) or 'smaller values'}."
    )
