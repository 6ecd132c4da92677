"""Tensors of layers with a skip, whose neurons are read again at every later depth.

A tensor is a sum of states of its own layer: Q, the covariance of two conditional covariances, and
Y, that of one with the noise of what a layer reads at the same neurons. Y has an entry for each
later layer; these are taken all at once, and layers one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.kernels.numpy_target.checks import MOST_BYTES, scale_of
from symdlt.kernels.numpy_target.fields import Field, means_of_fields
from symdlt.kernels.numpy_target.joint_means import (
    TWO,
    JointOrders,
    PlanesOfDepths,
    joint_name,
    joint_tables,
    of_unit_variance,
    planes_of_depths,
    refuse_unequal,
)
from symdlt.kernels.numpy_target.layers import (
    SLICE,
    check_functions,
    known_pairs,
    layers_of,
    located,
)
from symdlt.kernels.numpy_target.problem import (
    Problem,
    Samples,
    Tables,
    TensorRecursion,
    table_name,
)
from symdlt.kernels.numpy_target.tuples import fill, independent_tuples
from symdlt.means import Array, KernelInputError, LayerMeans

# The hyperparameters of a layer, its means, and the tensors of the layer below.
Given = tuple[Any, Tables, Tables]
LEADING = ("G", "H")
AXES = 4  # of tensors of two pairs


class NoiseMeans(NamedTuple):
    """What a covariance with the noise of a function is made of.

    Attributes:
        later: the orders of means over z of a later layer.
        joint: those of means over z of a layer, and of a later one.
        observed: whether tensors read it, so that the last layer has it as well.
    """

    later: tuple[tuple[int, ...], ...]
    joint: tuple[JointOrders, ...]
    observed: bool


class Depths(NamedTuple):
    """What a kernel of layers with a skip is made of.

    Attributes:
        states: how Q and Y of layer l+1 follow from those of layer l.
        noises: what each Y is made of.
        sums: of each tensor the states that it is the sum of.
        kept: how covariances of z with z of earlier layers go on from layer to layer.
        field: that functions of later layers are of: z, or what it is where it is normalised.
        scale: the name of what z is multiplied with there, if it is.
    """

    states: Mapping[str, TensorRecursion]
    noises: Mapping[str, NoiseMeans]
    sums: Mapping[str, tuple[str, ...]]
    kept: Mapping[str, Callable[[Any, Tables, Tables, Samples], Array]]
    field: str = "z"
    scale: str = ""


class MeansOfLayer(NamedTuple):
    """The fields of a layer, how means of their functions are taken, and the constant one."""

    fields: Mapping[str, Field]
    means: Mapping[str, LayerMeans]
    ones: Mapping[str, int]


def layers_with_depths(
    problem: Problem,
    depths: Depths,
    taken: MeansOfLayer,
    means: LayerMeans,
    first_layer: Callable[[Any, Array], dict[str, Array]],
    after_layer: Callable[[int], object] | None,
) -> dict[str, Array]:
    """All tensors at all layers, with the layer as the first axis.

    Args:
        problem: what is asked for.
        depths: what it is made of.
        taken: the means of a layer.
        means: how those of the given functions are taken.
        first_layer: the kernel and the NTK of layer 1.
        after_layer: called with the number of each layer that is done.
    """
    check_functions(after_layer=after_layer)
    states = needed_states(depths, [name for name in problem.recursions if name in depths.sums])
    refuse_unequal([float(layer.r) for layer in problem.layers])
    refuse_many_states(depths, states, len(problem.overlap), len(problem.layers))
    closed = {name: one for name, one in problem.recursions.items() if name not in depths.sums}
    tuples = {name: rows for name, rows in problem.tuples.items() if name in closed}
    chain = problem._replace(recursions=closed, tuples=tuples)
    named = partial(means_of_fields, chain, *taken)
    told = None if states else after_layer
    result = layers_of(chain, means, first_layer, told, named)
    if states:
        leading = {name: result[name] for name in LEADING if name in result}
        result |= DepthLayers(problem, depths, taken, states, leading).run(after_layer)
    return {name: result[name] for name in problem.recursions}


def needed_states(depths: Depths, tensors: Iterable[str]) -> dict[str, TensorRecursion]:
    """The states that tensors are made of, with all that these need."""
    wanted = {state for name in tensors for state in depths.sums[name]}
    reached: set[str] = set()
    while wanted:
        reached |= wanted
        needs = {need for name in wanted for need in depths.states[name].needs}
        wanted = needs & {*depths.states} - reached
    return {name: one for name, one in depths.states.items() if name in reached}


def refuse_many_states(
    depths: Depths, states: Mapping[str, TensorRecursion], count: int, depth: int
) -> None:
    """Refuse what would not fit into memory."""
    joint = {mean for name in states if name in depths.noises for mean in depths.noises[name].joint}
    # A state and the next one, gathered entries and means over both layers, at every later layer.
    arrays = 3 * len(states) + 2 * len(joint)
    needed = 8.0 * arrays * float(depth) * float(count) ** 4
    if needed > MOST_BYTES:
        raise KernelInputError(
            f"Tensors of {count} samples that have all pairs of {depth} layers would take about "
            f"{needed / 1e9:.2g} GB of memory, and this kernel takes {MOST_BYTES / 1e9:.2g} GB at "
            "most. Give fewer samples or layers, or ask for fewer tensors."
        )


class DepthLayers:
    """States of one layer after the other.

    Args:
        problem: what is asked for.
        depths: what it is made of.
        taken: the means of a layer.
        states: those that are needed.
        leading: the kernel and the NTK at all layers, but for one behind them that keeps nothing.
    """

    def __init__(
        self,
        problem: Problem,
        depths: Depths,
        taken: MeansOfLayer,
        states: Mapping[str, TensorRecursion],
        leading: Tables,
    ) -> None:
        self.problem, self.depths, self.taken = problem, depths, taken
        self.states, self.leading = states, leading
        self.depth, self.count = len(leading["G"]), len(problem.overlap)
        self.read = len(problem.layers) - 1  # so many layers others read
        self.inside: tuple[str, ...] = ()  # states of fields inside the layer, which others read
        self.fixed: dict[str, Array] = {}  # what functions read of each layer
        self.known: dict[str, Array] = {}  # the states of the last layer
        self.noises = {name: depths.noises[name] for name in states if name in depths.noises}
        self.joint = sorted({mean for one in self.noises.values() for mean in one.joint})
        self.sums = {n: one for n, one in problem.recursions.items() if n in depths.sums}
        self.rows_of = cache(partial(independent_tuples, count=self.count, chosen=problem.chosen))
        self.tuples = {
            name: self.rows_of(one.symmetries)
            for name, one in (*states.items(), *self.sums.items())
            if one.axes == AXES
        }
        self.every = self.rows_of(((0, 1, 2, 3),))
        self.pairs = np.ix_(np.arange(self.count), np.arange(self.count))
        self.later = self._later_means()
        self.planes = self._planes()

    def run(self, after_layer: Callable[[int], object] | None) -> dict[str, Array]:
        """The tensors that are sums of states."""
        whole = {name: self._room(one, self.depth) for name, one in self.sums.items()}
        known = {name: self._nothing(name) for name in self.states}
        for layer in range(self.depth):
            try:
                if layer:
                    known = self._step(layer, known)
                own = self._own(known, layer)
                for name, table in whole.items():
                    self._write(name, self.sums[name], table[layer], (None, {}, own))
            except ValueError as reason:
                raise located(self.problem, self.leading, reason, max(layer, 1)) from reason
            if after_layer is not None:
                after_layer(layer + 1)
        self.known = known
        return whole

    def _step(self, layer: int, known: Tables) -> dict[str, Array]:
        """The states of a layer, from those of the layer below."""
        h = self.problem.layers[layer]
        means, below = self._means(h, {n: table[layer - 1] for n, table in self.leading.items()})
        joint = self._joint(layer)
        over = self._joint_means(layer, joint)
        own = below | self._own(known, layer - 1) | self.fixed
        states: dict[str, Array] = {}
        for name, one in self.states.items():
            if name not in self.noises:
                states[name] = self._room(one)
                self._write(name, one, states[name], (h, means, own))
                if name in self.inside:
                    own[name] = states[name]
                continue
            states[name] = self._room(one, len(known[name]))
            if layer >= len(known[name]):
                continue
            later = slice(layer, len(known[name]))
            above = {f"{n}_m": table[later] for n, table in self.leading.items()}
            above |= {n: table[: len(known[name]) - layer] for n, table in joint.items()}
            every = {**known, **{n: states[n] for n in self.inside if n in states}}
            above |= {n: every[n][later] for n in one.needs if n in every}
            read = {n: table[later] for n, table in self.later.items()}
            given = (h, means | read | over, below | above | self.fixed)
            self._write(name, one, states[name][later], given)
        return states

    def _means(self, h: Any, below: dict[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        """The means of a layer, and what they read of the layer below."""
        problem = self.problem._replace(recursions=dict(self.states), tuples={})
        return dict(means_of_fields(problem, *self.taken, h, below)), below

    def _write(self, name: str, one: TensorRecursion, room: Array, given: Given) -> None:
        """Fill in a table at all pairs, or at some tuples and all that symmetries exchange."""
        if one.axes < AXES:
            room[...] = one.advance(*given, self.pairs)
            known = known_pairs(self.problem._replace(tuples=self.tuples), one)
            if not np.isfinite(room[known]).all():
                raise KernelInputError(f"{name} overflows.")
            return
        last, rows = layers_last(room), self.rows_of(one.symmetries)
        size = max(1, SLICE // last[0, 0, 0, 0].size)
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            values = one.advance(*given, tuple(part.T))
            # noise that vanishes, or has no mean over later layers, is the same at all of these
            values = np.broadcast_to(values, (*last.shape[AXES:], len(part)))
            if not np.isfinite(values).all():
                raise KernelInputError(f"{name} overflows.")
            fill(last, part, one.symmetries, values.T)

    def _room(self, one: TensorRecursion, depth: int | None = None) -> Array:
        """A table, or one for each layer."""
        shape = (self.count,) * one.axes
        return np.full(shape if depth is None else (depth, *shape), np.nan)

    def _nothing(self, name: str) -> Array:
        """A state of layer 1; there is noise at each layer that reads it."""
        one, last = self.states[name], None
        if one.axes < AXES:
            return np.zeros((self.count,) * one.axes)
        if name in self.noises:
            last = self.depth if self.noises[name].observed else self.read
        room = self._room(one, last)
        fill(layers_last(room), self.rows_of(one.symmetries), one.symmetries, 0.0)
        return room

    def _own(self, known: Tables, layer: int) -> dict[str, Array]:
        """The states of a layer, of noise that which the layer itself reads."""
        return {
            name: table[layer] if name in self.noises else table
            for name, table in known.items()
            if name not in self.inside and (name not in self.noises or layer < len(table))
        }

    def _joint(self, layer: int) -> dict[str, Array]:
        """The covariances of z of each layer from one on with z of the layer below it."""
        tables = {}
        for name, keep in self.depths.kept.items():
            if (of := name.removesuffix("_lm")) not in self.leading:
                continue
            last, rows = self.leading[of][layer - 1], []
            steps = self.problem.layers[layer : self.depth]
            for h, K in zip(steps, self.leading["G"][layer - 1 :], strict=False):
                last = keep(h, self._scale(K), {name: last}, self.pairs)
                rows.append(last)
            tables[name] = np.array(rows)
        return tables

    def _scale(self, K: Array) -> dict[str, Array]:
        """What z is multiplied with where it is normalised."""
        scale = self.depths.scale
        return {scale: scale_of("z", K.diagonal())} if scale else {}

    def _joint_means(self, layer: int, joint: Tables) -> dict[str, Array]:
        """Means over the layer below one, and over each layer from it on that others read."""
        field = self.depths.field
        names = [joint_name(field, orders) for orders in self.joint]
        found, known = self._from_planes(layer, joint)
        if not names:
            return {}
        K, key = self.leading["G"], self.taken.fields[field].functions
        tables = []
        for later in range(layer, self.read):
            between = joint["G_lm"][later - layer]
            both = np.block([[K[layer - 1], between.T], [between, K[later]]])
            both = both if field == "z" else of_unit_variance(both)
            means, one = self.taken.means[key], self.taken.ones[key]
            left = [o for o in self.joint if o not in found or not known[later - layer]]
            asked = joint_tables(means, one, both, left, self.every) if left else []
            rest = dict(zip(left, asked, strict=True))
            tables.append([rest[o] if o in rest else found[o][later - layer] for o in self.joint])
        return {name: np.array(table) for name, *table in zip(names, *tables, strict=True)}

    def _covariances(self) -> Array:
        """Those of the field that later layers read, at all layers that others read."""
        K = self.leading["G"][: self.read]
        if self.depths.field == "z":
            return K
        return np.array([of_unit_variance(one) for one in K]).reshape(K.shape)

    def _planes(self) -> PlanesOfDepths | None:
        """Coefficients in planes, where all samples are wanted."""
        fours = any(sum(map(len, both)) > TWO for both in self.joint)
        if not fours or self.problem.chosen is not None:
            return None
        key = self.taken.fields[self.depths.field].functions
        means, one = self.taken.means[key], self.taken.ones[key]
        return planes_of_depths(means, one, self._covariances(), self.joint)

    def _from_planes(
        self, layer: int, joint: Tables
    ) -> tuple[dict[JointOrders, Array], NDArray[np.bool_]]:
        """Means over the layer below one and each from it on, and which of these are right.

        Those of one function each are not among them: `SmoothMeans` has them in all digits.
        """
        later = np.arange(layer, self.read)
        if self.planes is None or not later.size:
            return {}, np.zeros(later.size, dtype=bool)
        between = np.swapaxes(joint["G_lm"][: later.size], 1, 2)
        if self.depths.field != "z":
            scales = self.leading["G"].diagonal(axis1=1, axis2=2) ** -0.5
            between = between * scales[layer - 1][:, None] * scales[later][:, None, :]
        one = self.taken.ones[self.taken.fields[self.depths.field].functions]
        fours = [both for both in self.joint if sum(map(len, both)) > TWO]
        return self.planes.tables(layer - 1, later, between, fours, one)

    def _later_means(self) -> dict[str, Array]:
        """Means over z of each layer that others read, and what it is multiplied with there."""
        wanted = sorted({orders for one in self.noises.values() for orders in one.later})
        field, scale = self.depths.field, self.depths.scale
        asked = [(field, orders) for orders in wanted] + [("z", ())] * bool(scale)
        if not asked:
            return {}
        some = next(iter(self.states.values()))._replace(fields=tuple(asked))
        problem = self.problem._replace(recursions={"z": some}, tuples={})
        rows = [
            means_of_fields(problem, *self.taken, h, {"G": K})
            for h, K in zip(self.problem.layers[1:], self.leading["G"], strict=False)
        ]
        names = {f"later_{(name := table_name(o))}": f"{field}_{name}" for o in wanted}
        names |= {f"later_{scale}": scale} if scale else {}
        return {later: np.array([row[name] for row in rows]) for later, name in names.items()}


def layers_last(table: Array) -> Array:
    """A table of each layer with the axis of layers behind those of samples."""
    return np.moveaxis(table, 0, -1) if table.ndim > AXES else table
