"""Moments of groups of trees over networks, and joint cumulants with jackknife standard errors."""

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from symdlt.combinatorics import mobius
from symdlt.sampling.polynomials import list_mask_partitions
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


def combine_moments(moments: Mapping[int, Array], top: int) -> Array:
    r"""Combine moments into the joint cumulant of all variables.

    $$κ = \sum_π (-1)^{|π|-1} (|π|-1)! \prod_{B ∈ π} E\Big[\prod_{c ∈ B} Y_c\Big]$$

    Args:
        moments: for each non-empty set of variables, given as a bit mask, the mean of its product.
        top: the mask of all variables.

    Returns:
        The cumulant, broadcast over the axes of the moments.

    >>> float(combine_moments({0b01: np.array(2.0), 0b10: np.array(3.0), 0b11: np.array(7.0)}, 3))
    1.0
    """
    total: float | Array = 0.0
    for blocks in list_mask_partitions(top):
        product: float | Array = float(mobius((len(blocks),)))
        for block in blocks:
            product = product * moments[block]
        total = total + product
    return np.asarray(total)


def estimate_cumulant(sums: Mapping[int, Array], group_size: int, top: int) -> tuple[Array, Array]:
    r"""Estimate a joint cumulant and its standard error by the delete-one-group jackknife.

    With the estimate $\hat κ$ from all g groups and $\hat κ_{(k)}$ without group k,

    $$\hat κ_J = g \hat κ - (g-1) \overline{κ}, \quad
      \mathrm{se}^2 = \frac{g-1}{g} \sum_k (\hat κ_{(k)} - \overline{κ})^2, \quad
      \overline{κ} = \frac1g \sum_k \hat κ_{(k)}$$

    which removes the bias of order 1/N of the product of means.

    Args:
        sums: sums of products over the networks of a group, groups along the first axis.
        group_size: networks in each group.
        top: the mask of all variables.

    Returns:
        Estimate and standard error, without the axis of groups.
    """
    groups = len(sums[top])
    totals = {mask: value.sum(axis=0) for mask, value in sums.items()}
    full = combine_moments(
        {mask: total / (groups * group_size) for mask, total in totals.items()}, top
    )
    remaining = (groups - 1) * group_size
    without = combine_moments(
        {mask: (totals[mask] - value) / remaining for mask, value in sums.items()}, top
    )
    centre = without.mean(axis=0)
    spread = ((without - centre) ** 2).sum(axis=0)
    return groups * full - (groups - 1) * centre, np.sqrt((groups - 1) / groups * spread)
