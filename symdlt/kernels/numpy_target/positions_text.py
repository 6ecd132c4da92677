"""What fills the template of a kernel whose samples have positions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from symdlt.definitions import Window
from symdlt.kernels.generator.position_means import PositionMeans
from symdlt.kernels.generator.python.layout import filled, tuple_text
from symdlt.kernels.generator.python.printer import expression_text
from symdlt.kernels.numpy_target import template

FEW = 3  # positions of an axis in an example without a window of its own
CHANNELS = 2  # in an example


def positions_tables(positions: PositionMeans, hyperparameters: Sequence[str]) -> str:
    """The window of a layer, and the means over positions of each tensor."""
    names = {name: f"h.{name}" for name in hyperparameters}
    rows = [
        filled(
            template.ROW_MOVED,
            tensor=one.tensor,
            together=[f'"{word}": {groups},' for word, groups in one.together],
            outside=expression_text(one.outside, names),
        )
        for one in positions.tensors
    ]
    return filled(template.MOVED, window=_window(positions.window), rows=rows)


def _window(window: Window) -> str:
    """A window as code."""
    sizes = tuple_text(map(str, window.kernel)) if window.kernel else "()"
    given = [sizes]
    if not window.whole:
        given += [f"stride={window.stride}", f'padding="{window.padding}"']
    return f"GridWindow({', '.join([*given, *['whole=True'] * bool(window.whole)])})"


def example_with_positions(positions: PositionMeans, functions: str, given: str, sine: str) -> str:
    """A call with one input whose positions its windows fit."""
    grid = tuple(_length(positions.window, size) for size in positions.window.kernel or (FEW,))
    return filled(
        template.EXAMPLE_POSITIONS,
        sine=sine,
        functions=functions,
        hyperparameters=given,
        numbers=str(CHANNELS * prod(grid)),
        shape=str((1, CHANNELS, *grid)),
    )


def _length(window: Window, size: int) -> int:
    """As many positions as two layers with the window need."""
    return size + (size - 1) * window.stride if window.padding == "valid" else max(size, FEW)
