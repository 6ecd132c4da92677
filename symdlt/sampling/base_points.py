"""Given networks at given inputs: the values of all fields, from the first layer to the last."""

import math
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from symdlt.activations.checks import Function
from symdlt.definitions import INPUT, MASK, NUMBER, SOFTMAXES, Program, ProgramBranch, ProgramField
from symdlt.definitions.windows import Sources
from symdlt.errors import SamplingError
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
from symdlt.sampling.normalisation import normalised, softmax

Array = npt.NDArray[Any]


def _sampled_fields(
    parameters: NetworkParameters, program: Program
) -> tuple[tuple[SampledBranch, ...], ...]:
    """The fields of given networks."""
    weights, biases = iter(parameters.weights), iter(parameters.biases)
    shared: dict[tuple[int, str], Array] = {}
    fields = []
    for one in program.fields:
        row = list(_kept(program, one))
        for branch in one.branches:
            if branch.fixed:
                summed = _sum_of_heads(branch, one.heads)
                row.append(SampledBranch(branch.function, 0.0, summed, None))
        for branch in one.drawn:
            if branch.shared in shared:
                drawn = shared[branch.shared]
            else:
                drawn = next(biases if branch.site is None else weights)
            if branch.shared is not None:
                shared[branch.shared] = drawn
            matrices, vectors = (None, drawn) if branch.site is None else (drawn, None)
            window, name = _window(program, one, branch), branch.shared
            row.append(
                SampledBranch(
                    branch.function, branch.entry_rate, matrices, vectors, None, window, name
                )
            )
        fields.append(tuple(row))
    return tuple(fields)


def _kept(program: Program, field: ProgramField) -> Iterator[SampledBranch]:
    """What stays on the neurons of a field, apart if it is read at other positions."""
    if field.kept and not field.places:
        yield SampledBranch(field.kept, 0.0, None, None, field.norm)
    for term, sources in zip(field.kept, field.places, strict=False):
        window = _window_read(program, field, term[1][0][0], sources)
        yield SampledBranch((term,), 0.0, None, None, window=window)


def _sum_of_heads(branch: ProgramBranch, heads: int) -> Array:
    """The matrix of the sums over the neurons of each head, over their number or its root.

    Raises:
        SamplingError: if the widths are no multiples of the number of heads.
    """
    above, below = branch.shape
    if not heads or above % heads or below % heads:
        raise SamplingError(
            f"Queries have {below} neurons, and values {above}. They do not make "
            f"{heads or 'an unknown number of'} heads, each with as many. Give their number and "
            "widths that fit, as in inner={'heads': 4, 'q': 32}."
        )
    size = below // heads
    blocks = np.kron(np.eye(heads), np.ones((above // heads, size)))
    return blocks[None] / (size if branch.fixed == NUMBER else math.sqrt(size))


def _window(program: Program, field: ProgramField, branch: ProgramBranch) -> WindowRead | None:
    """The window of a branch with the numbers of positions."""
    if branch.sources is None:
        return None
    ((_, ((read, _, _), *_)), *_) = branch.function
    return _window_read(program, field, read, branch.sources)


def _window_read(program: Program, field: ProgramField, read: int, sources: Sources) -> WindowRead:
    grids = (program.grid if read == INPUT else program.fields[read].grid), field.grid
    below, above = (prod(grid) if grid else 0 for grid in grids)
    return WindowRead(np.array(sources), below, above)


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
    neurons_last = np.moveaxis(data, 1, -1)[None]
    inputs = Labelled(neurons_last, (SAMPLE, POSITION)[: data.ndim - 1])
    values: list[Labelled] = []
    derivatives: list[Mapping[str, tuple[Labelled, ...]]] = []
    masks = iter(parameters.masks)
    for place, branches in enumerate(fields):
        total: Array = np.zeros(())
        labels = (SAMPLE, POSITION) if program.fields[place].grid else (SAMPLE,)
        if program.fields[place].mask:  # the same at all positions
            drawn = next(masks).swapaxes(1, 2)
            total = drawn if len(labels) == 1 else drawn[:, :, None]
        for one in branches:
            total = total + _value(one, inputs, values, derivatives, len(labels))
        values.append(Labelled(total, labels))
        read = sorted({name for of, name, _ in program.factors if of == place and name})
        read = [name for name in read if name not in (MASK, *SOFTMAXES)]
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
    outputs = Labelled(np.eye(values[-1].values.shape[-1])[None], (NEURON,))
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
        return biases.reshape(len(biases), *(1,) * axes, -1)
    read: Array = np.zeros(())
    for number, factors in branch.function:
        term: Array = np.full((), number)
        for of, name, order in factors:
            at = inputs if of == INPUT else values[of]
            if name in SOFTMAXES:
                at = softmax({0: at}, name, 0)[0]
            plain = name in (None, MASK, *SOFTMAXES)
            term = term * (at if plain else derivatives[of][str(name)][order]).values
        read = read + term
    signal = Labelled(read, (SAMPLE, POSITION)[: read.ndim - 2])
    if branch.norm:
        return normalised(branch.norm, {0: signal}, 0)[0].values
    if branch.window is not None:
        signal = branch.window.read(signal)
    if branch.weights is None:
        return signal.values
    return apply_matrices(branch.weights, signal).values
