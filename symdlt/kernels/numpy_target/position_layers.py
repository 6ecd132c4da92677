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
from symdlt.kernels.numpy_target.layers import (
    advance_all,
    check_functions,
    empty_layers,
    located,
    write_first,
)
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
    for means in taken.means.values():
        check_functions(means=means, after_layer=after_layer)
    samples, grids = len(problem.overlap) // prod(grid), []
    result: dict[str, list[Array]] = {name: [] for name in problem.recursions}
    for layer, h in enumerate(problem.layers):
        readout = positions.readout if layer + 1 == len(problem.layers) else None
        grid, read = read_from(grid, positions, samples, readout)
        if layer == 0:
            above = first_tables(problem, read, h, first_layer)
        else:
            below = {name: tables[-1] for name, tables in result.items()}
            problem = of_entries(problem, below["G"])
            try:
                above = tables_above(problem, read, taken, h, below)
            except ValueError as reason:
                raise located(problem, result, reason, layer) from reason
        grids.append(grid)
        for name, table in above.items():
            result[name].append(table)
        if after_layer is not None:
            after_layer(layer + 1)
    return {
        name: [
            table.reshape(table.ndim * (samples, *grid))
            for table, grid in zip(tables, grids, strict=True)
        ]
        for name, tables in result.items()
    }


def read_from(
    grid: tuple[int, ...], positions: Positions, samples: int, readout: str | None
) -> tuple[tuple[int, ...], PositionsRead]:
    """The grid of a layer, and what it reads of a grid."""
    window = READ_ALL if readout else positions.window
    above, at = positions_read(window, grid)
    entries = of_samples(at, samples, prod(grid))
    return above, PositionsRead(samples, positions.moved, readout or "window", entries)


def of_samples(at: Indices, samples: int, count: int) -> Indices:
    """Numbers of positions as those of entries, of one sample behind the other."""
    starts = np.arange(samples)[:, None] * count
    entries: Indices = np.where(at[:, None, :] == NOWHERE, NOWHERE, starts + at[:, None, :])
    return entries.reshape(len(at), -1)


def of_entries(problem: Problem, K: Array) -> Problem:
    """What is computed, of entries with a covariance, which may be others than before."""
    tuples = problem.tuples
    if len(K) != len(problem.overlap):
        tuples = {
            name: independent_tuples(problem.recursions[name].symmetries, len(K), None)
            for name in tuples
        }
    return problem._replace(overlap=K, tuples=tuples)


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
    numbers = np.arange(read.samples, dtype=np.float64)
    below = {**below, "sample": np.repeat(numbers, len(below["G"]) // read.samples)}
    room = empty_layers(problem._replace(layers=[h]))
    under = {name: tables[0] for name, tables in room.items()}
    advance_all(problem, partial(means_of_fields, problem, *taken), h, below, under)
    return {
        name: read.moved[name].outside(h)
        + mean_read(table, read.moved[name].together[read.word], read.entries)
        for name, table in under.items()
    }
