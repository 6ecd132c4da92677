"""Plots of tensors; each function draws into an Axes and returns it. They need matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symdlt.definitions import BOOK
from symdlt.errors import KernelError, MissingLibraryError, require
from symdlt.networks.comparison import Comparison
from symdlt.networks.exponent_check import ExponentCheck
from symdlt.networks.propagation import Propagation
from symdlt.networks.requests import asked_tensors, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes

    Axes: TypeAlias = PlotAxes
Array = NDArray[np.float64]

# Convention: labels of more entries do not fit on an axis.
MOST_LABELS = 24
# Convention: more points do not show on a logarithmic axis.
MOST_POINTS = 200


def plot_depth(
    result: Propagation,
    tensors: str | Iterable[str] | None = None,
    ax: Axes | None = None,
    *,
    samples: Sequence[int] = (0, 0, 0, 0),
    measured: Iterable[Comparison] = (),
) -> Axes:
    """Draw tensors against depth, and measured values with their standard errors.

    Args:
        result: what `propagate` returned.
        tensors: names; all that are in the result if left out.
        ax: where to draw; a new figure if left out.
        samples: the entry that is drawn, one position along each axis.
        measured: comparisons of networks of different depths, each drawn at its depth.

    Raises:
        MissingLibraryError: if matplotlib is not installed.
    """
    require(result, Propagation, "a result of propagate", "Give one.")
    names = result.names if tensors is None else asked_tensors(tensors)
    require(measured, Iterable, "a list of comparisons", "Give what check returned, in a list.")
    compared = tuple(measured)
    for comparison in compared:
        require(comparison, Comparison, "a result of check", "Give results of check.")
    drawn = drawing_axes(ax)
    layers = np.arange(1, result.depth + 1)
    for name in names:
        entry, values = _along_depth(result, name, samples)
        (line,) = drawn.plot(layers, values, ".-", label=_label(name, entry))
        points = [found for found in compared if name in found.names]
        if points:
            drawn.errorbar(
                [found.mlp.depth for found in points],
                [found.measured[name][entry] for found in points],
                [found.errors[name][entry] for found in points],
                fmt="o",
                capsize=3,
                mfc="none",
                color=line.get_color(),
            )
    return _described(drawn, "tensor")


def plot_ratio(
    result: Propagation,
    numerator: str,
    denominator: str | Iterable[str],
    ax: Axes | None = None,
    *,
    samples: Sequence[int] = (0, 0, 0, 0),
) -> Axes:
    """Draw a tensor over a product of others against depth, as V over G and G.

    Args:
        result: what `propagate` returned.
        numerator: the name of a tensor.
        denominator: one name, or several, a name for each factor.
        ax: where to draw; a new figure if left out.
        samples: the entry that is drawn; tensors with two axes take its first two positions.

    Raises:
        MissingLibraryError: if matplotlib is not installed.
    """
    require(result, Propagation, "a result of propagate", "Give one.")
    require(denominator, Iterable, "a name or names of tensors", "Give 'G', or ['G', 'G'].")
    factors = [denominator] if isinstance(denominator, str) else list(denominator)
    above = _along_depth(result, numerator, samples)[1]
    below = np.prod([_along_depth(result, name, samples)[1] for name in factors], axis=0)
    ratio = np.divide(above, below, out=np.full(result.depth, np.nan), where=below != 0.0)
    drawn = drawing_axes(ax)
    divisor = " ".join(map(_symbol, factors))
    label = f"{_symbol(numerator)} / {divisor if len(factors) == 1 else f'({divisor})'}"
    drawn.plot(np.arange(1, result.depth + 1), ratio, ".-", label=label)
    return _described(drawn, "ratio")


def plot_comparison(comparison: Comparison, tensor: str, ax: Axes | None = None) -> Axes:
    """Draw every entry of a tensor: theory, and what was measured with its standard error.

    Of entries that are equal by symmetry, one is drawn.

    Args:
        comparison: what `check` returned.
        tensor: one of its tensors.
        ax: where to draw; a new figure if left out.

    Raises:
        MissingLibraryError: if matplotlib is not installed.
    """
    require(comparison, Comparison, "a result of check", "Give one.")
    (name,) = asked_tensors([tensor])
    if name not in comparison.names:
        raise KernelError(
            f"{name} was not compared. There are {' '.join(comparison.names)}. Give one of these."
        )
    entries = _different_entries(name, len(comparison.theory[name]))
    places, columns = np.arange(len(entries)), tuple(np.array(entries).T)
    drawn = drawing_axes(ax)
    drawn.plot(places, comparison.theory[name][columns], "_", ms=14, mew=2, label="theory")
    drawn.errorbar(
        places,
        comparison.measured[name][columns],
        comparison.errors[name][columns],
        fmt="o",
        ms=4,
        capsize=3,
        label="measured",
    )
    if len(entries) <= MOST_LABELS:
        drawn.set_xticks(places, ["".join(map(str, entry)) for entry in entries], rotation=90)
    drawn.set_xlabel("samples")
    drawn.set_ylabel(_symbol(name))
    drawn.legend()
    return drawn


def plot_exponents(
    check: ExponentCheck, tensors: str | Iterable[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw iterated tensors against depth on logarithmic scales, and their asymptotes dashed.

    Args:
        check: what `check_exponents` returned.
        tensors: names; all that were iterated if left out. Negative tensors are drawn as -X.
        ax: where to draw; a new figure if left out.

    Raises:
        MissingLibraryError: if matplotlib is not installed.
        UnknownTensorError: for a tensor that was not iterated.
    """
    require(check, ExponentCheck, "a result of check_exponents", "Give one.")
    names = [tensors] if isinstance(tensors, str) else tensors
    shown = check.tensors if names is None else [check[name] for name in names]
    drawn = drawing_axes(ax)
    layers = np.unique(np.geomspace(1, check.depth, MOST_POINTS).round())
    for found in shown:
        sign = 1.0 if found.coefficient > 0 else -1.0
        values = sign * found.values[layers.astype(int) - 1]
        values[values <= 0.0] = np.nan
        label = f"{'' if sign > 0 else '-'}{_symbol(found.name)}"
        (line,) = drawn.plot(layers, values, label=label)
        drawn.plot(layers[1:], sign * found.expected(layers[1:]), "--", color=line.get_color())
    drawn.set_xscale("log")
    drawn.set_yscale("log")
    drawn.set_xlabel("layer")
    drawn.set_ylabel("tensor")
    drawn.legend()
    return drawn


def drawing_axes(ax: Axes | None) -> Axes:
    """The Axes that was given, or one in a new figure.

    Raises:
        MissingLibraryError: if matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes
    except ImportError as reason:
        raise MissingLibraryError(
            f"Plots need matplotlib, which cannot be imported: {reason}. "
            "Install it with pip install 'symdlt[plot]'."
        ) from reason
    require(ax, Axes | None, "an Axes of matplotlib", "Give one, or none for a new figure.")
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _along_depth(
    result: Propagation, name: str, samples: Sequence[int]
) -> tuple[tuple[int, ...], Array]:
    shape = result[name].shape[1:]
    require(samples, Sequence, "a list of positions", "Give one for each axis, as (0, 0, 1, 1).")
    entry = tuple(samples[: axes(name)])
    whole = all(isinstance(i, int | np.integer) for i in entry) and len(entry) == len(shape)
    if not whole or not all(0 <= i < n for i, n in zip(entry, shape, strict=True)):
        raise KernelError(
            f"{name} has no entry {entry}. Its axes have the lengths {shape}. "
            "Give one position for each axis, counted from 0."
        )
    index: tuple[Any, ...] = (..., *entry)
    return entry, result[name][index]


def _different_entries(name: str, count: int) -> list[tuple[int, ...]]:
    """One entry out of those that are equal by symmetry."""
    symmetries = BOOK[name.partition(".")[0]].symmetries
    return [
        entry
        for entry in product(range(count), repeat=axes(name))
        if entry == min(tuple(entry[axis] for axis in symmetry) for symmetry in symmetries)
    ]


def _symbol(name: str) -> str:
    base, _, piece = name.partition(".")
    return f"${base}^{{({piece})}}$" if piece else f"${base}$"


def _label(name: str, entry: tuple[int, ...]) -> str:
    return f"{_symbol(name)}  {''.join(map(str, entry))}" if any(entry) else _symbol(name)


def _described(drawn: Axes, what: str) -> Axes:
    from matplotlib.ticker import MaxNLocator

    drawn.set_xlabel("layer")
    drawn.set_ylabel(what)
    drawn.xaxis.set_major_locator(MaxNLocator(integer=True))
    drawn.legend()
    return drawn
