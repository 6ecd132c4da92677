"""What callers give: activations, variances, digits and ranges, and why some are refused."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from numbers import Integral, Real
from reprlib import repr as short_repr

import sympy as sp

from symdlt.activations import Activation
from symdlt.activations.finiteness import check_growth, check_poles
from symdlt.activations.smooth_pieces import SmoothPiece, smooth_pieces
from symdlt.definitions import Layer, ascii_name, layer_of_one_stream, names_in
from symdlt.errors import SolutionError, require
from symdlt.fixed_points.kernel_map import KernelMap, kernel_map
from symdlt.precision import NumberLike

# A convention.
MOST_DIGITS = 300
# Floating point, with room for the squares of large activations.
LEAST, MOST = 1e-305, 1e150


def finite_pieces(activation: Activation) -> tuple[SmoothPiece, ...]:
    """The pieces of an activation whose Gaussian means may exist.

    Raises:
        ActivationError: if it is not finite somewhere.
        SolutionError: if it grows too fast.
    """
    pieces = smooth_pieces(activation)
    check_growth(pieces)
    check_poles(pieces)
    return pieces


def continuous_pieces(activation: Activation) -> tuple[SmoothPiece, ...]:
    """The pieces of an activation whose kernel map and susceptibilities exist.

    Raises:
        ActivationError: if it is not finite somewhere.
        SolutionError: if it grows too fast, or jumps.
    """
    pieces = finite_pieces(activation)
    if len(pieces) > 1 and activation.kinks(0):
        raise SolutionError(
            f"{activation.name[:60]!r} jumps, so that <sigma' sigma'> and chi_perp diverge. "
            "Near inputs are then torn apart at once. Give a continuous activation."
        )
    return pieces


def maps_of(layer: Layer | str, values: Mapping[str, NumberLike] | None) -> KernelMap:
    """The maps of a layer with the values of its symbols that were given.

    Args:
        layer: a layer or its short form.
        values: numbers for its symbols, but for the bias and the weight.

    Raises:
        LayerError: if the layer cannot be read, or its recursions do not close.
        SolutionError: for values that are none, or unknown or missing symbols.
    """
    require(values, Mapping | None, "values of symbols", 'Give them by name: {"C_U": 0.25}.')
    written = layer_of_one_stream(layer)
    symbols = [ascii_name(name) for name in written.symbols]
    for name in values or {}:
        if name not in symbols:
            raise SolutionError(
                f"{short_repr(name)} is no symbol of the layer {written}. It stands in values. "
                f"The symbols of this layer are {', '.join(symbols)}."
            )
    drawn = {
        ascii_name(symbol)
        for branch in written.branches
        for symbol in (*names_in(branch.variance), *names_in(branch.rate))
    }
    exact = {
        name: variance_of(value, name, signed=name not in drawn)
        for name, value in (values or {}).items()
    }
    return kernel_map(written, exact)


def check_bias(maps: KernelMap, C_b: sp.Expr) -> None:
    """Refuse a variance of biases for a layer without them."""
    if maps.bias is None and C_b != 0:
        raise SolutionError(
            f"The layer {maps.layer} has no biases, and C_b = {C_b} was given. "
            "Leave C_b out, or write the layer with b."
        )


def check_digits(digits: object, fewest: int = 1) -> None:
    """Refuse what is not a number of digits that can be had."""
    if type(digits) is not int or not fewest <= digits <= MOST_DIGITS:
        raise SolutionError(
            f"{short_repr(digits)} is not a number of digits. It stands as digits in the call. "
            f"Give a whole number from {fewest} to {MOST_DIGITS}."
        )


def is_range(ends: object, lowest: float, highest: float) -> bool:
    """Whether something is a list of two numbers in ascending order."""
    return (
        isinstance(ends, list | tuple)
        and len(ends) == 2
        and all(isinstance(end, Real) and isfinite(end) for end in ends)
        and bool(lowest <= ends[0] < ends[1] <= highest)
    )


def is_width(value: object) -> bool:
    """Whether something is a whole positive number."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0


def is_positive_number(value: object, lowest: float, highest: float) -> bool:
    """Whether something is a real number between two."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    return lowest <= float(value) <= highest


def variance_of(
    value: NumberLike, name: str, *, positive: bool = False, signed: bool = False
) -> sp.Expr:
    """An exact number; floats are read as they are printed.

    Args:
        value: what was given.
        name: of which hyperparameter.
        positive: whether zero is refused too.
        signed: whether it is no variance, and may be negative.

    Raises:
        SolutionError: if it is no variance, or out of the range of floating point.
    """
    given = _written(value) if isinstance(value, str) else value
    number = None if isinstance(given, bytes | bool) else _exact(given)
    low = number is not None and not signed and (number < 0 or (positive and number == 0))
    if number is None or not number.is_finite or low:
        wanted = "finite" if signed else "positive" if positive else "zero or positive"
        kind = "a variance" if name.startswith("C_") else "a number for this symbol of the layer"
        raise SolutionError(
            f"{name} = {short_repr(value)} is not {kind}. It must be a number that is "
            f"{wanted}. Give an int, a float, a Fraction or a SymPy number."
        )
    if number and not LEAST <= abs(number) <= MOST:
        raise SolutionError(
            f"{name} = {short_repr(value)} is out of the range of floating point, in which fixed "
            f"points are sought. They scale with C_b and with the square of the activation. "
            f"Give one from {LEAST} to {MOST}."
        )
    return number


def _written(text: str) -> Fraction | None:
    """A number written as 1.5, 1e-3 or 2/900; nothing if it is none, or beyond floats."""
    try:
        parts = [part.strip() for part in text.split("/")]
        if any(not isfinite(float(part)) for part in parts) or len(parts) > 2:
            return None
        top, *bottom = (Fraction(part) if float(part) else Fraction(0) for part in parts)
        return top / bottom[0] if bottom else top
    except (ValueError, ZeroDivisionError):
        return None


def _exact(value: float | Fraction | sp.Expr | None) -> sp.Expr | None:
    try:
        if isinstance(value, float | sp.Float):
            return sp.Rational(str(value)) if isfinite(value) else None
        number = sp.sympify(value)
    except (sp.SympifyError, TypeError, ValueError):
        return None
    return number if getattr(number, "is_number", False) and number.is_real else None
