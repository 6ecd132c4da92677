"""Tensors of layers with windows and a skip, whose neurons are read again at every later depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from symdlt.kernels.numpy_target.depth_layers import (
    LEADING,
    DepthLayers,
    Depths,
    Given,
    MeansOfLayer,
    needed_states,
    refuse_many_states,
)
from symdlt.kernels.numpy_target.joint_means import refuse_unequal
from symdlt.kernels.numpy_target.layers import check_functions, located
from symdlt.kernels.numpy_target.position_layers import (
    InputsRead,
    Positions,
    PositionsRead,
    by_positions,
    kept_symmetries,
    layers_at_entries,
    means_and_inside,
    read_from,
    samples_of,
    tables_above,
)
from symdlt.kernels.numpy_target.positions import mean_read
from symdlt.kernels.numpy_target.problem import Problem, Tables, TensorRecursion
from symdlt.means import Array


def depths_with_positions(
    problem: Problem,
    depths: Depths,
    inputs: InputsRead,
    positions: Positions,
    taken: MeansOfLayer,
    first_layer: Callable[..., dict[str, Array]],
    after_layer: Callable[[int], object] | None,
) -> dict[str, list[Array]]:
    """All tensors, with an array for each layer: axes of samples, and behind each its positions.

    Args:
        problem: what is computed, of samples at all positions of layer 1.
        depths: what it is made of.
        inputs: what layer 1 reads.
        positions: what each layer reads of those below; a readout keeps nothing.
        taken: the means of a layer.
        first_layer: the kernel and the NTK of layer 1.
        after_layer: called with the number of each layer that is done.
    """
    check_functions(after_layer=after_layer)
    sums = {name: one for name, one in problem.recursions.items() if name in depths.sums}
    states, last = needed_states(depths, sums), len(problem.layers) - 1
    refuse_unequal([float(layer.r) for layer in problem.layers])
    refuse_many_states(depths, states, len(problem.overlap), len(problem.layers))
    first = (*LEADING, *positions.inside)
    leading = {name: problem.recursions[name] for name in first if name in problem.recursions}
    pairs, told = problem._replace(recursions=leading, tuples={}), None if states else after_layer
    result, grids = layers_at_entries(pairs, inputs, positions, taken, first_layer, told)
    if states:
        apart = bool(positions.readout and last)
        kept = {name: np.array(tables[: last + 1 - apart]) for name, tables in result.items()}
        read = read_from(inputs.grid, positions, inputs.samples, None) if last else None
        layers = DepthsAtPositions(problem, depths, taken, states, kept, inputs.samples, read)
        result |= {name: [*table] for name, table in layers.run(after_layer).items()}
        if apart:
            end = read_from(inputs.grid, positions, inputs.samples, positions.readout)
            for name, table in layers.behind(end, problem.layers[last]).items():
                result[name].append(table)
            if after_layer is not None:
                after_layer(last + 1)
    outer = [name for name in problem.recursions if name not in positions.inside]
    return by_positions({name: result[name] for name in outer}, inputs.samples, grids)


class DepthsAtPositions(DepthLayers):
    """States of one layer after the other, means over the positions that these read.

    Args:
        problem: what is asked for.
        depths: what it is made of.
        taken: the means of a layer.
        states: those that are needed.
        leading: the kernel and the NTK at all layers that keep their neurons.
        samples: how many inputs there are.
        read: what each layer reads of that below; None if there is one layer alone.
    """

    def __init__(
        self,
        problem: Problem,
        depths: Depths,
        taken: MeansOfLayer,
        states: Mapping[str, TensorRecursion],
        leading: Tables,
        samples: int,
        read: PositionsRead | None,
    ) -> None:
        super().__init__(problem, depths, taken, states, leading)
        self.places = read
        placed = () if read is None else read.inside
        self.inside = tuple(name for name in placed if name in states)
        self.around = {  # kernels and NTKs of fields inside the layer
            name: problem.recursions[name]
            for name in placed
            if name in problem.recursions and name not in states
        }
        self.fixed = {"sample": samples_of(self.count, samples)}

    def _means(self, h: Any, below: dict[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        if self.places is None:
            return super()._means(h, below)
        recursions = {**self.states, **self.around}
        problem = self.problem._replace(recursions=recursions, tuples={}, overlap=below["G"])
        return means_and_inside(problem, self.places, self.taken, h, below, {}, [*self.around])

    def _write(self, name: str, one: TensorRecursion, room: Array, given: Given) -> None:
        """Fill in a table, of a state the sum of its parts."""
        if self.places is None or name not in self.states:
            super()._write(name, one, room, given)
            return
        room[...] = 0.0
        layers = room.ndim - one.axes  # axes before those of samples
        for part in self.places.parts[name]:
            own = kept_symmetries(one.symmetries, part.over)
            turned, table = one._replace(advance=part.advance, symmetries=own), room.copy()
            super()._write(name, turned, table, given)
            for window, axes in part.over:
                moved = tuple(layers + axis for axis in axes)
                table = mean_read(table, moved, self.places.entries[window])
            room += table

    def behind(self, read: PositionsRead, h: Any) -> dict[str, Array]:
        """The tensors of a readout behind the last layer, which reads its states."""
        fields = {read for one in self.states.values() for read in one.fields}
        sums = {n: one._replace(fields=tuple(sorted(fields))) for n, one in self.sums.items()}
        below = {name: table[self.depth - 1] for name, table in self.leading.items()}
        states = {name: self.states[name] for name in self.inside if name not in self.noises}
        every = {**self.around, **states, **sums}
        problem = self.problem._replace(recursions=every, overlap=below["G"])
        own = below | self._own(self.known, self.depth - 1)
        try:
            return tables_above(problem, read, self.taken, h, own, {})
        except ValueError as reason:
            raise located(self.problem, self.leading, reason, self.depth) from reason
