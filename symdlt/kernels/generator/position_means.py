"""What windows add to a kernel: means over the positions that they read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from symdlt.definitions import Window
from symdlt.derivation.response.symbolic.closed_systems import (
    Groups,
    LayerSystem,
    SystemEquation,
)
from symdlt.derivation.response.symbolic.labels import Labels
from symdlt.kernels.generator.expressions import Formula

OF_LAYER = "window"  # the reading of a layer, next to the words of readouts


@dataclass(frozen=True, slots=True)
class MovedTensor:
    """How a tensor follows from what its function has at the positions that are read.

    Attributes:
        tensor: its name.
        together: by the word of a reading the axes that go over positions together, a mean each.
        outside: what comes to these means.
    """

    tensor: str
    together: tuple[tuple[str, Groups], ...]
    outside: Formula


@dataclass(frozen=True, slots=True)
class PositionMeans:
    """What the window of a layer adds.

    Attributes:
        window: what weights read.
        tensors: of each how it follows.
        meaning: what the sums in equations are, in words.
    """

    window: Window
    tensors: tuple[MovedTensor, ...]
    meaning: str


def position_means(
    system: LayerSystem, outside: Callable[[SystemEquation], Formula]
) -> PositionMeans | None:
    """What the window of a layer adds, if it has one.

    Args:
        system: the equations of the layer.
        outside: of an equation what comes to its means.
    """
    drawn = [one for stream in system.layer.streams for one in stream.drawn if one.window]
    if not drawn:
        return None
    windows = {one.tensor.name: one.window for one in drawn if one.window}
    name, window = next(iter(windows.items()))  # all have the same
    tensors = []
    for one in system.equations:
        readouts = {word: together[one.name] for word, together in system.readouts.items()}
        ways = {OF_LAYER: one.together, **readouts}
        tensors.append(MovedTensor(one.name, tuple(ways.items()), outside(one)))
    return PositionMeans(window, tuple(tensors), Labels((), windows).meaning(name))
