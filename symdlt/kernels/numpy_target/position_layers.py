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
from symdlt.kernels.numpy_target.positions import (
    NOWHERE,
    GridWindow,
    flattened,
    mean_read,
    positions_read,
)
from symdlt.kernels.numpy_target.problem import Problem, Samples, Tables, checked_overlap
from symdlt.kernels.numpy_target.tuples import independent_tuples
from symdlt.means import Array, Indices, KernelInputError

AxisGroups = tuple[tuple[int, ...], ...]  # axes of a table in groups
READ_ALL = GridWindow((), whole=True)


class Moved(NamedTuple):
    """The means over positions that a tensor is, of what its recursion gives.

    Each group of axes goes over the positions together. What comes to these means follows from
    the layer and the tables below, if anything does.
    """

    together: AxisGroups
    beside: Callable[[Any, Tables, Tables, Samples], Any] | None


class PositionsRead(NamedTuple):
    """What a layer reads of that below: of each shift, and each entry above, the entry."""

    samples: int
    moved: Mapping[str, Moved]
    entries: Indices


class Positions(NamedTuple):
    """The window of a layer, the means of each tensor, and what the last layer reads, if told.

    The means are those of a layer, "window", and of readouts by their words.
    """

    window: GridWindow
    moved: Mapping[str, Mapping[str, Moved]]
    readout: str | None


class InputsRead(NamedTuple):
    """What layer 1 reads of the inputs: the overlaps, of how many samples, at which positions."""

    overlap: Array
    samples: int
    grid: tuple[int, ...]


def checked_readout(readout: str | None, moved: Mapping[str, Mapping[str, Moved]]) -> str | None:
    """Refuse what is no readout."""
    known = [*moved["G"]][1:]
    if readout is not None and readout not in known:
        raise KernelInputError(
            f"readout={short_repr(readout)} is not known. The last layer reads all positions with "
            f"weights of each, 'all', or their mean, 'mean'. Give one of {', '.join(known)}, or "
            "leave it out for another layer with the window."
        )
    return readout


def inputs_read(overlap: Array, positions: Positions, alone: bool) -> InputsRead:
    """What layer 1 reads of the inputs.

    Args:
        overlap: of the inputs, with axes of positions.
        positions: what each layer reads of those below.
        alone: whether it is the last layer as well.
    """
    matrix, grid = flattened(overlap)
    samples = len(matrix) // prod(grid)
    above, read = read_from(grid, positions, samples, positions.readout if alone else None)
    together = read.moved["G"].together
    return InputsRead(mean_read(checked_overlap(matrix), together, read.entries), samples, above)


def read_from(
    grid: tuple[int, ...], positions: Positions, samples: int, readout: str | None
) -> tuple[tuple[int, ...], PositionsRead]:
    """The grid of a layer, and what it reads of a grid."""
    window = READ_ALL if readout else positions.window
    above, at = positions_read(window, grid)
    entries = of_samples(at, samples, prod(grid))
    moved = {name: ways[readout or "window"] for name, ways in positions.moved.items()}
    return above, PositionsRead(samples, moved, entries)


def of_samples(at: Indices, samples: int, count: int) -> Indices:
    """Numbers of positions as those of entries, of one sample behind the other."""
    starts = np.arange(samples)[:, None] * count
    entries: Indices = np.where(at[:, None, :] == NOWHERE, NOWHERE, starts + at[:, None, :])
    return entries.reshape(len(at), -1)


def layers_with_positions(
    problem: Problem,
    inputs: InputsRead,
    positions: Positions,
    taken: MeansOfLayer,
    first_layer: Callable[[Any, Array], dict[str, Array]],
    after_layer: Callable[[int], object] | None,
) -> dict[str, list[Array]]:
    """All tensors, with an array for each layer: axes of samples, and behind each its positions.

    Args:
        problem: what is computed, of samples at all positions of layer 1.
        inputs: what that reads.
        positions: what each layer reads of those below.
        taken: the means of a layer.
        first_layer: the tensors that do not vanish at layer 1.
        after_layer: called with the number of each layer that is done.
    """
    for means in taken.means.values():
        check_functions(means=means, after_layer=after_layer)
    first, *others = problem.layers
    room = empty_layers(problem._replace(layers=[first]))
    write_first(problem, room, first_layer(first, problem.overlap))
    result, grids = {name: [tables[0]] for name, tables in room.items()}, [inputs.grid]
    for layer, h in enumerate(others, 1):
        if after_layer is not None:
            after_layer(layer)
        last = layer == len(others)
        grid, read = read_from(
            grids[-1], positions, inputs.samples, positions.readout if last else None
        )
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
        after_layer(len(grids))
    return {
        name: [
            table.reshape(table.ndim * (inputs.samples, *grid))
            for table, grid in zip(tables, grids, strict=True)
        ]
        for name, tables in result.items()
    }


def of_entries(problem: Problem, K: Array) -> Problem:
    """What is computed, of entries with a covariance, which may be others than before."""
    tuples = problem.tuples
    if len(K) != len(problem.overlap):
        tuples = {
            name: independent_tuples(problem.recursions[name].symmetries, len(K), None)
            for name in tuples
        }
    return problem._replace(overlap=K, tuples=tuples)


def tables_above(
    problem: Problem, read: PositionsRead, taken: MeansOfLayer, h: Any, below: Tables
) -> dict[str, Array]:
    """The tensors of a layer: of what recursions give below, the means over what it reads."""
    numbers = np.arange(read.samples, dtype=np.float64)
    below = {**below, "sample": np.repeat(numbers, len(below["G"]) // read.samples)}
    room = empty_layers(problem._replace(layers=[h]))
    under = {name: tables[0] for name, tables in room.items()}
    named = partial(means_of_fields, problem, *taken)
    means = named(h, below)
    advance_all(problem, lambda *_: means, h, below, under)
    pairs = np.ix_(*[np.arange(len(problem.overlap))] * 2)
    above = {}
    for name, table in under.items():
        together, beside = read.moved[name]
        above[name] = mean_read(table, together, read.entries)
        if beside is not None:
            above[name] = above[name] + beside(h, means, below, pairs)
    return above
