"""Moments of groups of trees on one batch of networks."""

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from symdlt.sampling.tensors import (
    Component,
    TensorPattern,
    group_trees,
    label_pairs,
    tie_component,
)
from symdlt.sampling.trees import TiedTree

Array = npt.NDArray[Any]


def sum_products(
    pattern: TensorPattern, values: Mapping[TiedTree, Array], outputs: int, parts: int = 1
) -> dict[int, Array]:
    """Sum the products of the groups of trees over networks, for every set of groups.

    Args:
        pattern: the tensor.
        values: the trees on one batch of networks, as `evaluate_trees` returns them.
        outputs: the number of output neurons.
        parts: into how many parts the batch is divided, each of which is summed.

    Returns:
        For each set of groups, as a bit mask, an array with one axis of parts and one axis a group
        (of length one for groups outside the set): sums over networks, means over choices of
        output neurons.
    """
    choices = np.array(list(permutations(range(outputs), pattern.neurons)))
    pairs = label_pairs(pattern)
    variables = [
        reduce(_outer, (_select(component, pairs, values, choices) for component in group))
        for group in group_trees(pattern)
    ]
    result = {}
    for mask in range(1, 1 << len(variables)):
        chosen = [entry for index, entry in enumerate(variables) if mask >> index & 1]
        shape = [
            entry.shape[1] if mask >> index & 1 else 1 for index, entry in enumerate(variables)
        ]
        head, last = (
            entry.reshape(parts, len(entry) // parts, -1)
            for entry in (reduce(_outer, chosen[:-1], np.ones((len(chosen[-1]), 1))), chosen[-1])
        )
        result[mask] = (head.swapaxes(1, 2) @ last).reshape(parts, *shape) / len(choices)
    return result


def _select(
    component: Component, pairs: Sequence[int], values: Mapping[TiedTree, Array], choices: Array
) -> Array:
    """A tree at all choices of output neurons, with rows of networks and choices."""
    tied = tie_component(component, pairs)
    numbers = dict(zip(tied.pairs, (pairs[vertex] for vertex in component.vertices), strict=True))
    index: tuple[slice | Array, ...] = (slice(None), *(choices[:, n] for n in numbers.values()))
    chosen: Array = values[tied][index]
    rows: Array = chosen.reshape(chosen.shape[0] * chosen.shape[1], -1)
    return rows


def _outer(left: Array, right: Array) -> Array:
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
