"""What windows add to a kernel: means over the positions that they read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count

from symdlt.derivation.response.symbolic.closed_systems import (
    LayerSystem,
    SystemEquation,
)
from symdlt.derivation.response.symbolic.field_names import is_inside
from symdlt.derivation.response.symbolic.labels import Labels, windows_of
from symdlt.kernels.generator.hyperparameters import table_of
from symdlt.kernels.generator.representation import (
    PositionMeans,
    PositionPart,
    TensorFunction,
)

Lowered = Callable[[SystemEquation], TensorFunction]
Parts = Mapping[str, tuple[PositionPart, ...]]


def position_means(system: LayerSystem, lowered: Lowered) -> PositionMeans | None:
    """What the windows of a layer add, if it has any.

    Args:
        system: the equations of the layer.
        lowered: of an equation what a kernel computes.
    """
    if not system.windows:
        return None
    states = () if system.depths is None else system.depths.states
    equations = [one for one in system.equations if one.name not in system.summed]
    layer = _parts([*system.inside, *equations, *states], lowered, "")
    readout = {
        name: layer[name] if name in layer and _alike(parts, layer[name]) else parts
        for name, parts in _parts(system.readout, lowered, "_readout").items()
    }
    inside = [table_of(one.name) for one in (*system.inside, *states) if is_inside(one.name)]
    told = Labels((), windows_of(system.layer)).meaning()
    return PositionMeans(system.windows, system.overlaps, layer, readout, told, tuple(inside))


def with_entries_of_parts(one: TensorFunction, positions: PositionMeans) -> TensorFunction:
    """A tensor that is the sum of parts, with all that they read; others as they are."""
    if one.tensor not in positions.layer:
        return one
    parts = (*positions.layer[one.tensor], *positions.readout.get(one.tensor, ()))
    entries = dict.fromkeys(entry for part in parts for entry in part.function.entries)
    return replace(one, entries=tuple(entries))


def _parts(equations: Iterable[SystemEquation], lowered: Lowered, behind: str) -> Parts:
    """The parts of tensors, with their names in code."""
    named = (_named(one, lowered, behind) for one in equations)
    return {parts[0].function.tensor: tuple(parts) for parts in named}


def _named(one: SystemEquation, lowered: Lowered, behind: str) -> list[PositionPart]:
    """The parts of a tensor: that with means over positions first, and what comes to them."""
    numbers = {"advance": count(1), "beside": count(1)}
    parts: list[PositionPart] = []
    for part in one.parts:
        function, what = lowered(part), "advance" if part.over or not parts else "beside"
        number = next(numbers[what])
        ending = f"_part_{number}" if number > 1 else ""
        name = f"{what}_{function.variable.lower()}{ending}{behind}"
        parts.append(PositionPart(name, function, part.over))
    return parts


def _alike(some: Iterable[PositionPart], others: Iterable[PositionPart]) -> bool:
    """Whether parts are the same under their means."""
    both = ([(part.function.value, part.over) for part in parts] for parts in (some, others))
    return next(both) == next(both)
