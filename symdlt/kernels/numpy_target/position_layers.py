"""All tensors of many inputs with positions, one layer after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from reprlib import repr as short_repr
from typing import Any, NamedTuple

import numpy as np

from symdlt.kernels.numpy_target.depth_layers import Given, MeansOfLayer
from symdlt.kernels.numpy_target.fields import means_of_fields
from symdlt.kernels.numpy_target.layers import (
    SLICE,
    check_functions,
    empty_layers,
    located,
    write_first,
)
from symdlt.kernels.numpy_target.positions import (
    NOWHERE,
    GridWindow,
    flattened,
    mean_read,
    positions_read,
)
from symdlt.kernels.numpy_target.problem import PAIR, Problem, Samples, Tables, checked_overlap
from symdlt.kernels.numpy_target.tuples import fill, independent_tuples
from symdlt.means import Array, Indices, KernelInputError

# The number of a window, and the axes of a table that go over its positions together.
AxesOver = tuple[int, tuple[int, ...]]
# The tuples of entries that symmetries leave independent, by these and the number of entries.
Symmetries = tuple[tuple[int, ...], ...]
Rows = dict[tuple[Symmetries, int], Indices]
Advance = Callable[[Any, Tables, Tables, Samples], Any]
READOUTS = {word: GridWindow((), whole=word) for word in ("all", "mean")}


class Moved(NamedTuple):
    """A part of a tensor: what its function gives below, and the means over positions of that.

    Axes that go over no positions stay where they are.
    """

    advance: Advance
    over: tuple[AxesOver, ...] = ()


class SumOfMoved(NamedTuple):
    """The parts that a tensor is the sum of, and those of a readout if they are others."""

    layer: tuple[Moved, ...] = ()
    readout: tuple[Moved, ...] = ()


class PositionsRead(NamedTuple):
    """What a layer reads of that below: of each window, shift and entry above, the entries."""

    grid: tuple[int, ...]
    samples: int
    parts: Mapping[str, tuple[Moved, ...]]
    entries: tuple[Indices, ...]
    inside: tuple[str, ...]


class Positions(NamedTuple):
    """The windows of a layer, the parts of tensors, and what the last layer reads, if told.

    Of each overlap that layer 1 reads there is the number of the window, None without one. Inside
    are tensors of fields inside the layer, in the order of computation; their windows are first.
    """

    windows: tuple[GridWindow, ...]
    overlaps: tuple[int | None, ...]
    parts: Mapping[str, SumOfMoved]
    readout: str | None
    inside: tuple[str, ...] = ()

    @property
    def inner(self) -> int:
        """The number of windows inside the layer."""
        parts = [part for name in self.inside for part in self.parts[name].layer]
        return 1 + max((window for part in parts for window, _ in part.over), default=-1)


class InputsRead(NamedTuple):
    """What layer 1 reads of the inputs: overlaps, of how many samples, at which positions."""

    overlaps: list[Array]
    samples: int
    grid: tuple[int, ...]

    @property
    def overlap(self) -> Array:
        """The first one."""
        return self.overlaps[0]


def checked_readout(readout: str | None, windows: tuple[GridWindow, ...]) -> str | None:
    """Refuse what is no readout, and another one than that of a layer that reads all positions."""
    if readout is None:
        return None
    if not isinstance(readout, str) or readout not in READOUTS:
        raise KernelInputError(
            f"readout={short_repr(readout)} is not known. The last layer reads all positions with "
            f"weights of each, 'all', or their mean, 'mean'. Give one of {', '.join(READOUTS)}, or "
            "leave it out for another layer with the window."
        )
    if any(window.whole not in ("", readout) for window in windows):
        raise KernelInputError(
            f"readout={readout!r} was given, and the layer itself reads all positions otherwise, "
            "so that none are left behind layer 1. A readout is of layers that leave some. Leave "
            "it out, or write the kernel of another layer."
        )
    return readout


def asked_outside(tensors: Iterable[str] | None, inside: tuple[str, ...]) -> Iterable[str] | None:
    """Refuse tensors of fields inside the layer, which are no result of their own."""
    several = isinstance(tensors, Iterable) and not isinstance(tensors, str)
    listed = [*tensors] if several and tensors is not None else tensors
    names = listed if isinstance(listed, list) else [listed]
    if taken := [name for name in names if name in inside]:
        raise KernelInputError(
            f"The tensors {short_repr(taken)} are of fields inside the layer, between two layers. "
            "They are computed on the way and not returned. Ask for those of z."
        )
    return listed


def inputs_read(overlap: Array, positions: Positions, alone: bool) -> InputsRead:
    """What layer 1 reads of the inputs.

    Args:
        overlap: of the inputs, with axes of positions.
        positions: what each layer reads of those below.
        alone: whether it is the last layer as well.
    """
    matrix, grid = flattened(overlap)
    samples = len(matrix) // prod(grid)
    readout = positions.readout if alone else None
    read, found = read_from(grid, positions, samples, readout), []
    matrix = checked_overlap(matrix)
    for window in positions.overlaps:
        at = positions.inner if readout else window
        found.append(matrix if at is None else mean_read(matrix, (0, 1), read.entries[at]))
    return InputsRead(found, samples, read.grid)


def read_from(
    grid: tuple[int, ...], positions: Positions, samples: int, readout: str | None
) -> PositionsRead:
    """What a layer reads of a grid.

    Raises:
        KernelInputError: if its windows make other positions each.
    """
    windows, made = positions.windows, positions.overlaps
    if readout:
        windows, made = (*windows[: positions.inner], READOUTS[readout]), (positions.inner,)
    grids, entries = [], []
    for window in windows:
        above, at = positions_read(window, grid)
        grids.append(above)
        entries.append(of_samples(at, samples, prod(grid)))
    first, *others = dict.fromkeys(grid if number is None else grids[number] for number in made)
    if others:
        raise KernelInputError(
            f"The windows of the layer make grids of {' and of '.join(map(str, (first, *others)))} "
            f"positions out of one of {grid}. Fields that are added have the same ones. Give "
            "another grid, or another number of layers."
        )
    parts = {name: (readout and one.readout) or one.layer for name, one in positions.parts.items()}
    return PositionsRead(first, samples, parts, tuple(entries), positions.inside)


def of_samples(at: Indices, samples: int, count: int) -> Indices:
    """Numbers of positions as those of entries, of one sample behind the other."""
    starts = count * np.arange(samples)[:, None, None]
    entries: Indices = np.where(at[:, None] == NOWHERE, NOWHERE, starts + at[:, None])
    return entries.reshape(len(at), -1, at.shape[-1])


def layers_with_positions(
    problem: Problem,
    inputs: InputsRead,
    positions: Positions,
    taken: MeansOfLayer,
    first_layer: Callable[..., dict[str, Array]],
    after_layer: Callable[[int], object] | None,
) -> dict[str, list[Array]]:
    """All tensors, with an array for each layer: axes of samples, and behind each its positions.

    Args as of `layers_at_entries`.
    """
    result, grids = layers_at_entries(problem, inputs, positions, taken, first_layer, after_layer)
    return by_positions(result, inputs.samples, grids)


def layers_at_entries(
    problem: Problem,
    inputs: InputsRead,
    positions: Positions,
    taken: MeansOfLayer,
    first_layer: Callable[..., dict[str, Array]],
    after_layer: Callable[[int], object] | None,
) -> tuple[dict[str, list[Array]], list[tuple[int, ...]]]:
    """All tensors, with an array for each layer, and the grids of these.

    Args:
        problem: what is computed, of samples at all positions of layer 1.
        inputs: what that reads.
        positions: what each layer reads of those below.
        taken: the means of a layer.
        first_layer: the tensors that do not vanish at layer 1.
        after_layer: called with the number of each layer that is done.
    """
    check_functions(after_layer=after_layer)
    for means in taken.means.values():
        check_functions(means=means)
    first, *others = problem.layers
    outer = {n: one for n, one in problem.recursions.items() if n not in positions.inside}
    start = problem._replace(layers=[first], recursions=outer)
    room = empty_layers(start)
    write_first(start, room, first_layer(first, *inputs.overlaps))
    result, grids = {name: [tables[0]] for name, tables in room.items()}, [inputs.grid]
    rows: Rows = {}
    for layer, h in enumerate(others, 1):
        if after_layer is not None:
            after_layer(layer)
        last = layer == len(others)
        readout = positions.readout if last else None
        read = read_from(grids[-1], positions, inputs.samples, readout)
        below = {name: tables[-1] for name, tables in result.items()}
        try:
            asked = problem._replace(overlap=below["G"])
            above = tables_above(asked, read, taken, h, below, rows)
        except ValueError as reason:
            raise located(problem, result, reason, layer) from reason
        grids.append(read.grid)
        for name, table in above.items():
            result[name].append(table)
    if after_layer is not None:
        after_layer(len(grids))
    return result, grids


def by_positions(
    result: Mapping[str, Sequence[Array]], samples: int, grids: Sequence[tuple[int, ...]]
) -> dict[str, list[Array]]:
    """Tables of all layers, with axes of positions behind each of samples."""
    return {
        name: [
            table.reshape(table.ndim * (samples, *grid))
            for table, grid in zip(tables, grids, strict=True)
        ]
        for name, tables in result.items()
    }


def tables_above(
    problem: Problem, read: PositionsRead, taken: MeansOfLayer, h: Any, below: Tables, rows: Rows
) -> dict[str, Array]:
    """The tensors of a layer: of what functions give below, the means over what it reads."""
    inside = [name for name in read.inside if name in problem.recursions]
    means, below = means_and_inside(problem, read, taken, h, below, rows, inside)
    return {
        name: sum_of_parts(name, one.symmetries, read, (h, means, below), rows)
        for name, one in problem.recursions.items()
        if name not in inside
    }


def means_and_inside(
    problem: Problem,
    read: PositionsRead,
    taken: MeansOfLayer,
    h: Any,
    below: Tables,
    rows: Rows,
    inside: Sequence[str],
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The means of a layer, and what is read of below with tensors inside the layer."""
    below = {**below, "sample": samples_of(len(below["G"]), read.samples)}

    def make(name: str, means: Tables) -> None:
        symmetries = problem.recursions[name].symmetries
        below[name] = sum_of_parts(name, symmetries, read, (h, means, below), rows)

    def prepare(field: str, means: Tables) -> None:
        if (name := f"G_{field}") in inside:
            make(name, means)

    means = dict(means_of_fields(problem, *taken, h, below, prepare))
    for name in inside:
        if name not in below:
            make(name, means)
    return means, below


def sum_of_parts(
    name: str, symmetries: Symmetries, read: PositionsRead, given: Given, rows: Rows
) -> Array:
    """A tensor, the sum of its parts, each the means over positions of what its function gives."""
    *_, below = given
    count = len(below["G"]) if name in read.inside else read.samples * prod(read.grid)
    total = np.zeros((count,) * len(symmetries[0]))
    for part in read.parts[name]:
        table = part_below(part, symmetries, given, rows)
        if not np.isfinite(table).all():
            raise KernelInputError(f"{name} overflows.")
        for window, axes in part.over:
            table = mean_read(table, axes, read.entries[window])
        total += table
    return total


def samples_of(count: int, samples: int) -> Array:
    """The samples that entries are of."""
    return np.repeat(np.arange(samples, dtype=np.float64), count // samples)


def part_below(part: Moved, symmetries: Symmetries, given: Given, rows: Rows) -> Array:
    """What the function of a part of a tensor gives, of all entries below."""
    *_, below = given
    count, axes = len(below["G"]), len(symmetries[0])
    if axes == PAIR:
        found = part.advance(*given, np.ix_(*[np.arange(count)] * PAIR))
        return np.broadcast_to(found, (count, count) if part.over else np.shape(found))
    own = kept_symmetries(symmetries, part.over)
    if (own, count) not in rows:
        rows[own, count] = independent_tuples(own, count, None)
    every, table = rows[own, count], np.empty((count,) * axes)
    for start in range(0, len(every), SLICE):
        some = every[start : start + SLICE]
        fill(table, some, own, part.advance(*given, tuple(some.T)))
    return table


def kept_symmetries(symmetries: Symmetries, over: tuple[AxesOver, ...]) -> Symmetries:
    """Those of a tensor that exchange axes which go over positions in the same way."""
    groups = {(window, frozenset(axes)) for window, axes in over}
    return tuple(
        way
        for way in symmetries
        if {(window, frozenset(way[axis] for axis in axes)) for window, axes in groups} == groups
    )
