"""What fills the template of a kernel whose samples have positions."""

from __future__ import annotations

from math import prod

from symdlt.definitions import Window
from symdlt.kernels.generator.python.layout import filled, tuple_text
from symdlt.kernels.generator.representation import PositionMean, PositionMeans, TensorFunction
from symdlt.kernels.numpy_target import template

FEW = 3  # positions of an axis in an example without a window of its own
CHANNELS = 2  # in an example


def besides(positions: PositionMeans) -> dict[str, TensorFunction]:
    """By their names what comes to means; that of all readouts is the same."""
    listed = {}
    for _, means in positions.tensors:
        for mean in means:
            if mean.beside is not None:
                listed[_beside_name(mean, means[0])] = mean.beside
    return listed


def _beside_name(mean: PositionMean, layer: PositionMean) -> str:
    """The name of what comes to a mean: that of the layer if it is the same."""
    if mean.beside is None:
        return "None"
    other = layer.beside is None or mean.beside.value != layer.beside.value
    return f"beside_{mean.beside.variable.lower()}{'_readout' * other}"


def positions_tables(positions: PositionMeans) -> str:
    """The window of a layer, and the means over positions of each tensor."""
    rows = []
    for tensor, means in positions.tensors:
        ways = [
            f'"{mean.word}": Moved({mean.together}, {_beside_name(mean, means[0])}),'
            for mean in means
        ]
        rows.append(filled(template.ROW_MOVED, tensor=tensor, ways=ways))
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
