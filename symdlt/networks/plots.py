"""Plots of tensors; each function draws into an Axes and returns it. They need matplotlib."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symdlt.asymptotics import AsymptoticSolution
from symdlt.errors import KernelError, SolutionError, require
from symdlt.formats.latex import Conventions, powers
from symdlt.networks.comparison import Comparison
from symdlt.networks.exponent_check import ExponentCheck
from symdlt.networks.propagation import Propagation
from symdlt.networks.requests import asked_tensors, axes, named
from symdlt.plotting import drawing_axes, finish, legend_beside, mark_of, symbol_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes

    Axes: TypeAlias = PlotAxes
Array = NDArray[np.float64]

# Convention: labels of more entries do not fit on an axis.
MOST_LABELS = 24
# Convention: more points do not show on a logarithmic axis.
MOST_POINTS = 200
# Convention: of so many points one has a marker.
MARKED = 16
LAYERS = r"layer $\ell$"


def plot_depth(
    result: Propagation,
    tensors: str | Iterable[str] | None = None,
    ax: Axes | None = None,
    *,
    samples: Sequence[int] = (0, 0, 0, 0),
    measured: Iterable[Comparison] = (),
    conventions: Conventions | None = None,
) -> Axes:
    """Draw tensors against depth: lines, and what was measured as points with standard errors.

    Where they differ by more than a factor of a hundred, the scale is logarithmic.

    Args:
        result: what `propagate` returned.
        tensors: names; all that are in the result if left out.
        ax: where to draw; a new figure if left out.
        samples: the entry that is drawn, one position along each axis.
        measured: comparisons of networks of different depths, each drawn at its depth.
        conventions: letters of tensors.

    Raises:
        MissingLibraryError: if matplotlib is not installed.

    >>> from symdlt.networks import MLP
    >>> mlp = MLP(activation="sin", widths=[20, 50], C_b=0.0, C_W=1.0)
    >>> result = mlp.propagate([[1.0, 0.5], [0.2, 1.0]], ["G", "V"])
    >>> ax = plot_depth(result)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['$K$', '$V$']
    """
    require(result, Propagation, "a result of propagate", "Give one.")
    names = result.names if tensors is None else asked_tensors(tensors)
    require(measured, Iterable, "a list of comparisons", "Give what check returned, in a list.")
    compared = tuple(measured)
    for comparison in compared:
        require(comparison, Comparison, "a result of check", "Give results of check.")
    drawn = drawing_axes(ax)
    layers = np.arange(1, result.depth + 1)
    for place, name in enumerate(names):
        entry, values = _along_depth(result, name, samples)
        mark = mark_of(name, place)
        points = [comparison for comparison in compared if name in comparison.names]
        for comparison in points:
            if any(i >= len(comparison.theory[name]) for i in entry):
                raise KernelError(
                    f"A comparison in `measured` has {len(comparison.theory[name])} samples, and "
                    f"the entry {entry} of {name} is asked for. Compare the same samples."
                )
        label = _label(f"${symbol_of(name, conventions)}$", result, entry)
        mine = mark | {"marker": ""} if points else mark
        drawn.plot(layers, values, label=label, markevery=_every(layers), **mine)
        if points:
            drawn.errorbar(
                [comparison.mlp.depth for comparison in points],
                [comparison.measured[name][entry] for comparison in points],
                [comparison.errors[name][entry] for comparison in points],
                fmt=mark["marker"],
                capsize=3,
                mfc="none",
                color=mark["color"],
            )
    return finish(drawn, LAYERS, "tensor")


def plot_ratio(
    result: Propagation,
    numerator: str,
    denominator: str | Iterable[str],
    ax: Axes | None = None,
    *,
    samples: Sequence[int] = (0, 0, 0, 0),
    solution: AsymptoticSolution | None = None,
    conventions: Conventions | None = None,
) -> Axes:
    """Draw a tensor over a product of others against depth, as V over G and G, and its asymptote.

    Args:
        result: what `propagate` returned.
        numerator: the name of a tensor.
        denominator: one name, or several, a name for each factor.
        ax: where to draw; a new figure if left out.
        samples: the entry that is drawn; tensors with two axes take its first two positions.
        solution: what `exponents` returned, in numbers (`at`); the leading asymptote of the ratio
            is then drawn, dashed.
        conventions: letters of tensors.

    Raises:
        MissingLibraryError: if matplotlib is not installed.
        SolutionError: if the solution has symbols that are no numbers yet.

    >>> from symdlt.networks import MLP
    >>> mlp = MLP(activation="sin", widths=[20, 50], C_b=0.0, C_W=1.0)
    >>> result = mlp.propagate([[1.0, 0.5], [0.2, 1.0]], ["G", "V"])
    >>> ax = plot_ratio(result, "V", ["G", "G"])
    >>> ax.lines[0].get_label()
    '$V / K^{2}$'
    """
    require(result, Propagation, "a result of propagate", "Give one.")
    require(denominator, Iterable, "a name or names of tensors", "Give 'G', or ['G', 'G'].")
    factors = [denominator] if isinstance(denominator, str) else list(denominator)
    above = _along_depth(result, numerator, samples)[1]
    below = np.prod([_along_depth(result, name, samples)[1] for name in factors], axis=0)
    ratio = np.divide(above, below, out=np.full(result.depth, np.nan), where=below != 0.0)
    drawn = drawing_axes(ax)
    counted = Counter(symbol_of(name, conventions) for name in factors)
    divisor = r"\,".join(powers(tuple(counted.elements())))
    below_text = divisor if len(counted) == 1 else f"({divisor})"
    label = f"${symbol_of(numerator, conventions)} / {below_text}$"
    label = _label(label, result, tuple(samples[: axes(numerator)]))
    layers = np.arange(1, result.depth + 1)
    mark = mark_of(numerator)
    drawn.plot(layers, ratio, label=label, markevery=_every(layers), **mark)
    if solution is not None:
        require(solution, AsymptoticSolution, "exponents", "Give what `exponents` returned.")
        expected = _expected(solution, numerator, layers)
        for name in factors:
            expected = expected / _expected(solution, name, layers)
        drawn.plot(layers, expected, "--", color=mark["color"], label="asymptote, one input")
    return finish(drawn, LAYERS, label if len(drawn.lines) <= 2 else "ratio", linear=True)


def plot_correlations(
    result: Propagation,
    pairs: Iterable[tuple[int, int]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw the correlations $K_{ab}/\sqrt{K_{aa} K_{bb}}$ of samples against depth.

    They run to 1 where networks are ordered, and to less where they are chaotic.

    Args:
        result: what `propagate` returned, with G.
        pairs: of samples; all different ones if left out, as far as colours go.
        ax: where to draw; a new figure if left out.

    Raises:
        MissingLibraryError: if matplotlib is not installed.
        KernelError: for samples that are not there.

    >>> from symdlt.networks import MLP
    >>> mlp = MLP(activation="sin", widths=[20, 50], C_b=0.0, C_W=1.0)
    >>> result = mlp.propagate([[1.0, 0.5], [0.2, 1.0]], ["G", "V"])
    >>> ax = plot_correlations(result)
    >>> ax.lines[0].get_ydata().round(3).tolist()
    [0.614, 0.593, 0.586]
    """
    require(result, Propagation, "a result of propagate", "Give one.")
    if len({*result.blocks[:2]}) > 1:
        raise KernelError(
            "The two axes of G have different samples. They were chosen by `blocks`, and K of a "
            "sample with itself is not there. Propagate with the same list for both."
        )
    count = result["G"].shape[-1]
    require(pairs, Iterable | None, "pairs of samples", "Give pairs such as [(0, 1)].")
    drawn = drawing_axes(ax)
    layers = np.arange(1, result.depth + 1)
    shown = list(pairs) if pairs is not None else [*combinations(range(count), 2)][:10]
    for place, pair in enumerate(shown):
        require(pair, Sequence, "a pair of samples", "Give pairs such as [(0, 1)].")
        if len(pair) != 2:
            raise KernelError(f"{pair!r} is no pair of samples. Give two positions, as in (0, 1).")
        both = _along_depth(result, "G", pair)[1]
        a, b = (_along_depth(result, "G", (sample, sample))[1] for sample in pair)
        text = _numbers_of(result, pair)
        drawn.plot(
            layers,
            both / np.sqrt(a * b),
            label=f"samples {text}",
            markevery=_every(layers),
            **mark_of("", place),
        )
    drawn.axhline(1.0, color="0.6", lw=0.8, zorder=0)
    return finish(drawn, LAYERS, r"$K_{ab}/\sqrt{K_{aa} K_{bb}}$", linear=True)


def plot_comparison(
    comparison: Comparison,
    tensor: str,
    ax: Axes | None = None,
    *,
    conventions: Conventions | None = None,
) -> Axes:
    """Draw every entry of a tensor: theory, and what was measured with its standard error.

    Of entries that are equal by symmetry, one is drawn.

    Args:
        comparison: what `check` returned.
        tensor: one of its tensors.
        ax: where to draw; a new figure if left out.
        conventions: letters of tensors.

    Raises:
        MissingLibraryError: if matplotlib is not installed.

    >>> from symdlt import MLP, check
    >>> mlp = MLP(activation="sin", widths=[20], C_b=0.0, C_W=1.0)
    >>> ax = plot_comparison(check(mlp, [[1.0], [0.5]], ["G"], networks=200, seed=0), "G")
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['00', '01', '11']
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
    mark = mark_of(name)
    drawn.plot(places, comparison.theory[name][columns], "_k", ms=14, mew=1.5, label="theory")
    drawn.errorbar(
        places,
        comparison.measured[name][columns],
        comparison.errors[name][columns],
        fmt=mark["marker"],
        color=mark["color"],
        mfc="none",
        ms=4,
        capsize=3,
        label="measured",
    )
    if len(entries) <= MOST_LABELS:
        drawn.set_xticks(places, ["".join(map(str, entry)) for entry in entries], rotation=90)
    drawn.set_xlabel("samples")
    drawn.set_ylabel(f"${symbol_of(name, conventions)}$")
    legend_beside(drawn)
    return drawn


def plot_exponents(
    check: ExponentCheck,
    tensors: str | Iterable[str] | None = None,
    ax: Axes | None = None,
    *,
    conventions: Conventions | None = None,
) -> Axes:
    """Draw iterated tensors against depth on logarithmic scales, and their asymptotes dashed.

    Args:
        check: what `check_exponents` returned.
        tensors: names; all that were iterated if left out. Negative tensors are drawn as -X.
        ax: where to draw; a new figure if left out.
        conventions: letters of tensors.

    Raises:
        MissingLibraryError: if matplotlib is not installed.
        UnknownTensorError: for a tensor that was not iterated.

    >>> from symdlt import check_exponents, exponents
    >>> ax = plot_exponents(check_exponents(exponents("tanh", ["V"]), 1000))
    >>> ax.get_xscale(), ax.get_yscale()
    ('log', 'log')
    """
    require(check, ExponentCheck, "a result of check_exponents", "Give one.")
    names = [tensors] if isinstance(tensors, str) else tensors
    shown = check.tensors if names is None else [check[name] for name in names]
    drawn = drawing_axes(ax)
    layers = np.unique(np.geomspace(1, check.depth, MOST_POINTS).round())
    for place, tensor in enumerate(shown):
        sign = 1.0 if tensor.coefficient > 0 else -1.0
        values = sign * tensor.values[layers.astype(int) - 1]
        values[values <= 0.0] = np.nan
        label = f"${'' if sign > 0 else '-'}{symbol_of(tensor.name, conventions)}$"
        mark = mark_of(tensor.name, place)
        drawn.plot(layers, values, label=label, markevery=MARKED, **mark)
        drawn.plot(layers[1:], sign * tensor.expected(layers[1:]), "--", color=mark["color"])
    drawn.set_xscale("log")
    drawn.set_yscale("log")
    return finish(drawn, LAYERS, "tensor, and its asymptote dashed")


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
    symmetries = named(name).symmetries
    return [
        entry
        for entry in product(range(count), repeat=axes(name))
        if entry == min(tuple(entry[axis] for axis in symmetry) for symmetry in symmetries)
    ]


def _every(layers: NDArray[Any]) -> int:
    """Which layers have a marker: those of many would run into each other."""
    return max(1, len(layers) // (2 * MARKED))


def _label(symbol: str, result: Propagation, entry: tuple[int, ...]) -> str:
    alone = all(len(block) == 1 for block in result.blocks)
    return symbol if alone or not any(entry) else f"{symbol}  {_numbers_of(result, entry)}"


def _numbers_of(result: Propagation, entry: Sequence[int]) -> str:
    """The samples of an entry, by their numbers in the data."""
    numbers = [block[i] for block, i in zip(result.blocks, entry, strict=False)]
    return ("" if max(numbers) < 10 else ",").join(map(str, numbers))


def _expected(solution: AsymptoticSolution, name: str, layers: NDArray[Any]) -> Array:
    """The leading asymptote of a tensor at some layers."""
    asymptote = solution[name]
    if asymptote.coefficient.free_symbols or asymptote.exponent.free_symbols:
        free = sorted(
            map(str, asymptote.coefficient.free_symbols | asymptote.exponent.free_symbols)
        )
        raise SolutionError(
            f"The asymptote of {name} has the symbols {', '.join(free)}. It is drawn in numbers. "
            f"Give them values, as in solution.at({free[0]}=1)."
        )
    with np.errstate(divide="ignore"):
        logs = np.log(layers) ** asymptote.log_power
    scaled: Array = float(asymptote.coefficient) * layers ** -float(asymptote.exponent) * logs
    return scaled
