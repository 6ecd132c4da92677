"""What fills the template of a kernel whose samples have positions."""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm
from string import Template

from symdlt.definitions import Window
from symdlt.derivation.response.symbolic.closed_systems import overlap_of
from symdlt.kernels.generator.python.layout import (
    bracketed,
    filled,
    quoted,
    tuple_behind,
    tuple_items,
    tuple_text,
)
from symdlt.kernels.generator.representation import PositionMeans, PositionPart
from symdlt.kernels.numpy_target import template

LAYERS = 2  # of an example that read positions
FEW = 3  # positions of an axis in an example without a window of its own
CHANNELS = 2  # in an example


def positions_tables(positions: PositionMeans) -> str:
    """The windows of a layer, and the parts of each tensor."""
    rows = [
        filled(
            template.ROW_PARTS,
            tensor=tensor,
            layer=_parts("layer", positions.layer.get(tensor, ())),
            readout=_parts("readout", positions.readout_of(tensor)),
        )
        for tensor in dict.fromkeys([*positions.layer, *positions.readout])
    ]
    windows = bracketed("WINDOWS = (", tuple_items(map(_window, positions.windows)), ")")
    return filled(
        template.PARTS,
        windows=windows.removeprefix("WINDOWS = "),
        overlaps=str(positions.overlaps),
        rows=rows,
        inside=f"INSIDE = {tuple_behind('INSIDE = ', quoted(positions.inside))}"
        if positions.inside
        else "",
    )


def _parts(name: str, parts: Iterable[PositionPart]) -> list[str]:
    """The parts of a tensor as code, an argument of this name if there are any."""
    listed = [
        f"    Moved({', '.join([part.name, *[str(part.over)] * bool(part.over)])}),"
        for part in parts
    ]
    return [f"{name}=(", *listed, "),"] if listed else []


def positions_data(positions: PositionMeans) -> dict[str, str]:
    """What the template asks for where samples have positions."""
    inside = ", INSIDE" * bool(positions.inside)
    data = dict(template.POSITIONS)
    if inside:
        data["tensors"] = "asked_outside(tensors, INSIDE)"
    return data | {"positions": Template(data["positions"]).substitute(inside=inside)}


def overlaps_text(positions: PositionMeans | None) -> dict[str, str]:
    """The overlaps that layer 1 reads as arguments, and a call for one that all of them are."""
    count = 1 if positions is None else len(positions.overlaps)
    names = [overlap_of(number) for number in range(count)]
    alike = f"lambda h, x: first_layer(h, {', '.join(['x'] * count)})"
    return {
        "overlaps": ", ".join(f"{name}: Array" for name in names),
        "first_layer_alike": "first_layer" if count == 1 else alike,
    }


def _window(window: Window) -> str:
    """A window as code."""
    given = [tuple_text(map(str, window.kernel)) if window.kernel else "()"]
    if window.whole:
        given.append(f'whole="{window.whole}"')
    else:
        given += [f"stride={window.stride}", f'padding="{window.padding}"']
        given += [f"pool={window.pool}"] * (window.pool > 1)
    return f"GridWindow({', '.join(given)})"


def example_shape(positions: PositionMeans) -> tuple[int, ...]:
    """The shape of one input whose positions its windows fit."""
    axes = max(len(window.kernel) for window in positions.windows) or 1
    return 1, CHANNELS, *(_length(positions.windows, axis) for axis in range(axes))


def _length(windows: Iterable[Window], axis: int) -> int:
    """As many positions of an axis as two layers with the windows need."""
    lengths, pools = [FEW], [1]
    for window in windows:
        size = window.kernel[axis] if window.kernel else 1
        valid = size + (size - 1) * window.stride
        lengths.append(window.pool * (valid if window.padding == "valid" else size))
        pools.append(window.pool * window.stride if window.pool > 1 else 1)
    whole: int = lcm(*pools) ** LAYERS  # of which both layers pool
    return whole * -(-max(lengths) // whole)
