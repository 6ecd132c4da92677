"""What windows add to a kernel: means over the positions that they read."""

from __future__ import annotations

from collections.abc import Callable

from symdlt.derivation.response.symbolic.closed_systems import (
    LayerSystem,
    SystemEquation,
)
from symdlt.derivation.response.symbolic.labels import Labels
from symdlt.kernels.generator.representation import (
    PositionMean,
    PositionMeans,
    TensorFunction,
)

OF_LAYER = "window"  # the reading of a layer, next to the words of readouts


def position_means(
    system: LayerSystem, lowered: Callable[[SystemEquation], TensorFunction]
) -> PositionMeans | None:
    """What the window of a layer adds, if it has one.

    Args:
        system: the equations of the layer.
        lowered: of an equation what a kernel computes.
    """
    drawn = [one for stream in system.layer.streams for one in stream.drawn if one.window]
    if not drawn:
        return None
    windows = {one.tensor.name: one.window for one in drawn if one.window}
    name, window = next(iter(windows.items()))  # all have the same
    means: dict[str, list[PositionMean]] = {}
    for word, equations in {OF_LAYER: system.equations, **system.readouts}.items():
        for one in equations:
            beside = None if one.beside is None else lowered(one.beside)
            means.setdefault(one.name, []).append(PositionMean(word, one.together, beside))
    tensors = tuple((name, tuple(listed)) for name, listed in means.items())
    return PositionMeans(window, tensors, Labels((), windows).meaning(name))
