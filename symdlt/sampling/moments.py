"""Moments of groups of trees on one batch of networks."""

from collections.abc import Mapping
from functools import reduce
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from symdlt.sampling.tensors import Component, TensorPattern, group_trees, label_pairs
from symdlt.sampling.trees import Tree

Array = npt.NDArray[Any]


def sum_products(
    pattern: TensorPattern, values: Mapping[Tree, Array], outputs: int
) -> dict[int, Array]:
    """Sum the products of the groups of trees over networks, for every set of groups.

    Args:
        pattern: the tensor.
        values: the trees on one batch of networks, as `evaluate_trees` returns them.
        outputs: the number of output neurons.

    Returns:
        For each set of groups, as a bit mask, an array with one axis a group (of length one for
        groups outside the set): sums over networks, means over choices of output neurons.
    """
    choices = np.array(list(permutations(range(outputs), len(pattern.matching))))
    neurons = choices[:, label_pairs(pattern)]
    variables = [
        reduce(_outer, (_select(tree, values[tree.tree], neurons) for tree in group))
        for group in group_trees(pattern)
    ]
    result = {}
    for mask in range(1, 1 << len(variables)):
        chosen = [entry for index, entry in enumerate(variables) if mask >> index & 1]
        shape = [
            entry.shape[1] if mask >> index & 1 else 1 for index, entry in enumerate(variables)
        ]
        head = reduce(_outer, chosen[:-1], np.ones((len(chosen[-1]), 1)))
        result[mask] = (head.T @ chosen[-1]).reshape(shape) / len(choices)
    return result


def _select(component: Component, values: Array, neurons: Array) -> Array:
    columns = tuple(neurons[:, vertex] for vertex in component.vertices)
    index: tuple[slice | Array, ...] = (slice(None), *columns)
    chosen: Array = values[index]
    rows: Array = chosen.reshape(chosen.shape[0] * chosen.shape[1], -1)
    return rows


def _outer(left: Array, right: Array) -> Array:
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
