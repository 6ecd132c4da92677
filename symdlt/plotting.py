r"""What all plots share: an Axes, marks of tensors, letters, legends. Plots need matplotlib.

Figures for a paper: `matplotlib.style.use("symdlt.paper")` sets the width of a column, small
letters, and fonts that are no bitmaps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from symdlt.definitions import NAMED, named_tensor
from symdlt.errors import MissingLibraryError, NotationError, require
from symdlt.formats.latex import Conventions, tensor_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes

    Axes: TypeAlias = PlotAxes

# The palette of Okabe and Ito, which the colour-blind can tell apart, without its yellow, which is
# too pale on paper; each tensor has a marker of its own as well.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
MARKERS = "osD^vPX<>pdh*"
# Convention: from two decades on, a linear scale hides the smaller ones.
DECADES = 100.0
# Convention: so many names of a legend are as high as a figure of one column.
ONE_COLUMN = 9


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


def mark_of(name: str, place: int = 0) -> dict[str, Any]:
    """The colour and marker of a tensor, the same in every plot; of others by their place.

    >>> mark_of("V")["marker"], mark_of("V.1")["marker"], mark_of("V.1")["mfc"]
    ('D', 'D', 'none')
    """
    base, _, piece = name.partition(".")
    number = list(NAMED).index(base) if base in NAMED else place
    mark = {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number % len(MARKERS)]}
    return mark | ({"mfc": "none", "ls": ":"} if piece else {})


def symbol_of(name: str, conventions: Conventions | None) -> str:
    """A tensor in the letters of the user, without layers and samples; formulas go in dollars.

    >>> symbol_of("G", None), symbol_of("H.1", None), symbol_of("A3", None)
    ('K', 'H^{\\\\{1\\\\}}', '\\\\mathring{A}')
    """
    use = Conventions() if conventions is None else conventions
    require(use, Conventions, "a choice of notation", "Give `Conventions(...)`.")
    base, _, piece = name.partition(".")
    return readable(tensor_name(named_tensor(base), int(piece or 0), replace(use, layers=False)))


def readable(formula: str) -> str:
    """The same formula, if matplotlib can write it.

    Raises:
        NotationError: if it does not know a macro, and LaTeX is not set to write it.
    """
    if "\\" not in formula:
        return formula
    try:
        from matplotlib import rcParams
        from matplotlib.mathtext import MathTextParser
    except ImportError:
        return formula
    if not rcParams["text.usetex"]:
        try:
            MathTextParser("path").parse(f"${formula}$")
        except ValueError as reason:
            raise NotationError(
                f"{formula!r:.60} cannot be written by matplotlib. It was given in `letters`, and "
                "matplotlib knows no macros of your own. Give a symbol, or set "
                'rcParams["text.usetex"].'
            ) from reason
    return formula


def finish(ax: Axes, x: str, y: str, *, linear: bool = False) -> Axes:
    """Names on the axes, whole layers, a scale on which all is seen, a legend beside the data."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel(x)
    ax.set_ylabel(y)
    drawn = [np.asarray(line.get_ydata(), dtype=float) for line in ax.lines]
    sizes = np.abs(np.concatenate([np.empty(0), *drawn]))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not linear and sizes.size and sizes.max() > DECADES * sizes.min():
        negative = any(np.nanmin(values, initial=0.0) < 0 for values in drawn)
        if negative:
            ax.set_yscale("symlog", linthresh=float(np.percentile(sizes, 10)))
        else:
            ax.set_yscale("log", nonpositive="mask")
    if ax.get_xscale() == "linear":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_beside(ax)
    return ax


def legend_beside(ax: Axes) -> None:
    """A legend to the right of the data, which it never hides."""
    if ax.get_legend_handles_labels()[0]:
        many = len(ax.get_legend_handles_labels()[0]) > ONE_COLUMN
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0.0,
            frameon=False,
            ncols=1 + many,
            columnspacing=1.0,
        )
