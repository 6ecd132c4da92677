"""All tensors of many inputs with positions, one layer after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from reprlib import repr as short_repr
from typing import Any, NamedTuple

import numpy as np

from symdlt.kernels.numpy_target.depth_layers import MeansOfLayer
from symdlt.kernels.numpy_target.fields import means_of_fields
from symdlt.kernels.numpy_target.layers import advance_all, empty_layers, located, write_first
from symdlt.kernels.numpy_target.positions import NOWHERE, GridWindow, mean_read, positions_read
from symdlt.kernels.numpy_target.problem import Problem, Tables
from symdlt.kernels.numpy_target.tuples import independent_tuples
from symdlt.means import Array, Indices, KernelInputError

AxisGroups = tuple[tuple[int, ...], ...]  # axes of a table in groups
READ_ALL = GridWindow((), whole=True)


class Moved(NamedTuple):
    """The means over positions that a tensor has of what its recursion gives there.

    Each group of axes goes over the positions together, for a layer and for each readout; what
    comes to these means follows from the hyperparameters of the layer.
    """

    together: Mapping[str, AxisGroups]
    outside: Callable[[Any], float]


class PositionsRead(NamedTuple):
    """What a layer reads of that below: of each shift, and each entry above, the entry."""

    samples: int
    moved: Mapping[str, Moved]
    word: str
    entries: Indices


class Positions(NamedTuple):
    """The window of a layer, the means of each tensor, and what the last layer reads, if told."""

    window: GridWindow
    moved: Mapping[str, Moved]
    readout: str | None


def checked_readout(readout: str | None, moved: Mapping[str, Moved]) -> str | None:
    """Refuse what is no readout."""
    known = [*moved["G"].together][1:]
    if readout is not None and readout not in known:
        raise KernelInputError(
            f"readout={short_repr(readout)} is not known. The last layer reads all positions with "
            f"weights of each, 'all', or their mean, 'mean'. Give one of {', '.join(known)}, or "
            "leave it out for another layer with the window."
        )
    return readout


def layers_with_positions(
    problem: Problem,
    grid: tuple[int, ...],
    positions: Positions,
    taken: MeansOfLayer,
    first_layer: Callable[[Any, Array], dict[str, Array]],
    after_layer: Callable[[int], object] | None,
) -> dict[str, list[Array]]:
    """All tensors, with an array for each layer: axes of samples, and behind each its positions.

    Args:
        problem: what is computed, of samples at all positions of the inputs.
        grid: these positions.
        positions: what each layer reads of those below.
        taken: the means of a layer.
        first_layer: the tensors that do not vanish there.
        after_layer: called with the number of each layer that is done.
    """
    samples, grids = len(problem.overlap) // prod(grid), [grid]
    result: dict[str, list[Array]] = {name: [] for name in problem.recursions}
    for layer, h in enumerate(problem.layers, 1):
        last = positions.readout if layer == len(problem.layers) else None
        reading, window = (last, READ_ALL) if last else ("window", positions.window)
        grid, at = positions_read(window, grids[-1])
        entries = of_samples(at, samples, prod(grids[-1]))
        read = PositionsRead(samples, positions.moved, reading, entries)
        grids.append(grid)
        try:
            above = (
                first_tables(problem, read, h, first_layer)
                if layer == 1
                else tables_above(problem, read, taken, h, {n: t[-1] for n, t in result.items()})
            )
        except ValueError as reason:
            if layer == 1:
                raise
            raise located(problem, result, reason, layer - 1) from reason
        for name, table in above.items():
            result[name].append(table)
        if after_layer is not None:
            after_layer(layer)
    return {
        name: [
            table.reshape(table.ndim * (samples, *grid))
            for table, grid in zip(tables, grids[1:], strict=True)
        ]
        for name, tables in result.items()
    }


def of_samples(at: Indices, samples: int, count: int) -> Indices:
    """Numbers of positions as those of entries, of one sample behind the other."""
    starts = np.arange(samples)[:, None] * count
    entries: Indices = np.where(at[:, None, :] == NOWHERE, NOWHERE, starts + at[:, None, :])
    return entries.reshape(len(at), -1)


def first_tables(
    problem: Problem,
    read: PositionsRead,
    h: Any,
    first_layer: Callable[[Any, Array], dict[str, Array]],
) -> dict[str, Array]:
    """The tensors of layer 1, which reads positions of the input."""
    overlap = mean_read(problem.overlap, read.moved["G"].together[read.word], read.entries)
    first = problem._replace(overlap=overlap, layers=[h], tuples={})
    room = empty_layers(first)
    write_first(first, room, first_layer(h, overlap))
    return {name: tables[0] for name, tables in room.items()}


def tables_above(
    problem: Problem, read: PositionsRead, taken: MeansOfLayer, h: Any, below: Tables
) -> dict[str, Array]:
    """The tensors of a layer: of what recursions give below, the means over what it reads."""
    count = len(below["G"])
    numbers = np.arange(read.samples, dtype=np.float64)
    below = {**below, "sample": np.repeat(numbers, count // read.samples)}
    tuples = {
        name: independent_tuples(problem.recursions[name].symmetries, count, None)
        for name in problem.tuples
    }
    here = problem._replace(overlap=below["G"], layers=[h], tuples=tuples)
    under = {name: tables[0] for name, tables in empty_layers(here).items()}
    advance_all(here, partial(means_of_fields, here, *taken), h, below, under)
    return {
        name: read.moved[name].outside(h)
        + mean_read(table, read.moved[name].together[read.word], read.entries)
        for name, table in under.items()
    }
