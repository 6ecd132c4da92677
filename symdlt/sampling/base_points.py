"""Given networks at given inputs: the values of all fields, from the first layer to the last."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from symdlt.activations.checks import Function
from symdlt.definitions import INPUT, MASK, Program, ProgramBranch, ProgramField
from symdlt.sampling.differentiation import BasePoint, SampledBranch
from symdlt.sampling.ensemble import NetworkParameters
from symdlt.sampling.labelled import (
    NEURON,
    POSITION,
    SAMPLE,
    Labelled,
    WindowRead,
    apply_matrices,
)
from symdlt.sampling.normalisation import normalised

Array = npt.NDArray[Any]


def _sampled_fields(
    parameters: NetworkParameters, program: Program
) -> tuple[tuple[SampledBranch, ...], ...]:
    """The fields of given networks."""
    weights, biases = iter(parameters.weights), iter(parameters.biases)
    fields = []
    for one in program.fields:
        row = [SampledBranch(one.kept, 0.0, None, None, one.norm)] if one.kept else []
        for branch in one.drawn:
            matrices = None if branch.site is None else next(weights)
            vectors = next(biases) if branch.site is None else None
            window = _window(program, one, branch)
            row.append(
                SampledBranch(branch.function, branch.entry_rate, matrices, vectors, window=window)
            )
        fields.append(tuple(row))
    return tuple(fields)


def _window(program: Program, field: ProgramField, branch: ProgramBranch) -> WindowRead | None:
    """The window of a branch with the numbers of positions."""
    if branch.sources is None:
        return None
    ((_, ((read, _, _), *_)), *_) = branch.function
    grids = (program.grid if read == INPUT else program.fields[read].grid), field.grid
    below, above = (prod(grid) if grid else 0 for grid in grids)
    return WindowRead(np.array(branch.sources), below, above)


def base_point(
    parameters: NetworkParameters,
    program: Program,
    activations: Mapping[str, Sequence[Function]],
    samples: Array,
    order: int,
) -> BasePoint:
    """All fields of given networks, and derivatives of activations at them up to an order."""
    fields = _sampled_fields(parameters, program)
    data = samples.reshape(*samples.shape[:2], -1)[..., 0 if samples.ndim == 2 else slice(None)]
    inputs = Labelled(data.swapaxes(0, 1)[None], (SAMPLE, POSITION)[: data.ndim - 1])
    values: list[Labelled] = []
    derivatives: list[Mapping[str, tuple[Labelled, ...]]] = []
    masks = iter(parameters.masks)
    for place, branches in enumerate(fields):
        total: Array = np.zeros(())
        labels = (SAMPLE, POSITION) if program.fields[place].grid else (SAMPLE,)
        if program.fields[place].mask:  # the same at all positions
            drawn = next(masks)
            total = drawn.reshape(*drawn.shape, *(1,) * (len(labels) - 1))
        for one in branches:
            total = total + _value(one, inputs, values, derivatives, len(labels))
        values.append(Labelled(total, labels))
        read = sorted({name for of, name, _ in program.factors if of == place and name})
        read = [name for name in read if name != MASK]
        chains = {name: activations[name][: order + 1] for name in read}
        derivatives.append(
            {
                name: tuple(
                    Labelled(np.broadcast_to(function(total), total.shape), labels)
                    for function in chain
                )
                for name, chain in chains.items()
            }
        )
    outputs = Labelled(np.eye(values[-1].values.shape[1])[None], (NEURON,))
    return BasePoint(fields, inputs, tuple(values), tuple(derivatives), outputs)


def _value(
    branch: SampledBranch,
    inputs: Labelled,
    values: Sequence[Labelled],
    derivatives: Sequence[Mapping[str, tuple[Labelled, ...]]],
    axes: int,
) -> Array:
    """What a branch adds to its field, which has so many axes of samples and positions."""
    if branch.biases is not None:
        biases = branch.function[0][0] * branch.biases
        return biases.reshape(*biases.shape, *(1,) * axes)
    read: Array = np.zeros(())
    for number, factors in branch.function:
        term: Array = np.full((), number)
        for of, name, order in factors:
            at = inputs if of == INPUT else values[of]
            plain = name is None or name == MASK
            term = term * (at if plain else derivatives[of][str(name)][order]).values
        read = read + term
    signal = Labelled(read, (SAMPLE, POSITION)[: read.ndim - 2])
    if branch.norm:
        return normalised(branch.norm, {0: signal}, 0)[0].values
    if branch.weights is None:
        return read
    if branch.window is not None:
        signal = branch.window.read(signal)
    return apply_matrices(branch.weights, signal).values
