"""Scores of attention at infinite width: which are Gaussian, and their softmax."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from symdlt.definitions import SOFTMAX, SOFTMAXES, Function, Program, ProgramBranch
from symdlt.definitions.windows import NOWHERE
from symdlt.derivation.response.site_means import SiteMeans
from symdlt.errors import LayerError
from symdlt.means import softmax_means

Array = NDArray[np.float64]
Averages = Callable[[Function, Function], tuple[Array, Array]]


def check_centred(means: SiteMeans, program: Program, function: Function) -> None:
    """Refuse scores of queries and keys that are correlated.

    Raises:
        LayerError: as their mean grows with the number of neurons of a head.
    """
    ((_, ((queries, _, _), (keys, _, _))),) = function
    if means.kernel(queries, keys).any() or means.ntk(queries, keys).any():
        layer = bisect_left(program.tops, queries) + 1
        raise LayerError(
            f"The queries and keys of layer {layer} are correlated. The mean of their scores "
            "grows with the number of neurons of a head. Let them share no weights, biases or "
            "field that is kept."
        )


def levels_of(levels: Mapping[int, Array], function: Function) -> dict[int, Array]:
    """Of the fields that a function reads, those that do not fluctuate, with their values."""
    read = {of for _, factors in function for of, _, _ in factors}
    return {of: levels[of] for of in read if of in levels}


def level_averages(
    means: SiteMeans, levels: Mapping[int, Array], branch: ProgramBranch, averaged: Averages
) -> tuple[Array, Array]:
    """The mean of values that are summed with factors which do not fluctuate.

    Returns:
        It, and what the NTKs of the values add, a row for each position of each sample.

    Raises:
        LayerError: if something that fluctuates is added to the factors.
    """
    ((number, factors),) = branch.function
    others = tuple(one for one in factors if one[0] not in levels)
    if any(name in SOFTMAXES for _, name, _ in others):
        raise LayerError(
            "A softmax is multiplied with scores over the number of neurons, as those of a field "
            "with itself. Attention has one softmax. Give each weights of its own."
        )
    if any(means.kernel(of, of).any() for of in levels):
        raise LayerError(
            "A score over the number of neurons, as that of a field with itself, is added to what "
            "fluctuates. Of such sums no theory is known here. Give biases to queries and keys."
        )
    values, edges = averaged(((1.0, others),), ((1.0, others),))
    count = isqrt(len(values) // means.samples)
    shape = (means.samples, count, count)
    assert branch.sources is not None
    weights = (np.array(branch.sources[0]) != NOWHERE) * np.full(shape, number / count)
    for of, name, order in (one for one in factors if one[0] in levels):
        level = levels[of].reshape(shape)
        if name in SOFTMAXES:
            seen = np.where(np.array(branch.sources[0]) == NOWHERE, -np.inf, level)
            powers = np.exp(seen - seen.max(axis=-1, keepdims=True))
            weights = weights * powers / powers.sum(axis=-1, keepdims=True)
        else:
            weights = weights * (
                level if name is None else means.functions(name, order)[order](level)
            )
    axes = (*shape, *shape)
    average, change = (
        np.einsum("apr,aprbst,bst->apbs", weights, one.reshape(axes), weights, optimize=True)
        for one in (values, edges)
    )
    rows = means.samples * count
    return average.reshape(rows, rows), change.reshape(rows, rows)


def softmax_averages(
    means: SiteMeans, function: Function, averaged: Averages
) -> tuple[Array, Array]:
    """The mean of a softmax times values, summed over keys, for all pairs of queries.

    Returns:
        It, and what the NTKs of scores and values add, a row for each position of each sample.

    Raises:
        LayerError: if values are correlated with the scores.
        KernelError: if the tolerance of the means cannot be reached.
    """
    ((number, factors),) = function
    ((scores, soft, _),) = (one for one in factors if one[1] in SOFTMAXES)
    others = tuple(one for one in factors if one[1] not in SOFTMAXES)
    if any(of == scores or means.kernel(of, scores).any() for of, _, _ in others):
        raise LayerError(
            "A softmax of scores is multiplied with what is correlated with them. Its mean joins "
            "all scores of a position. Let values, and other scores, have weights of their own."
        )
    values, edges = averaged(((1.0, others),), ((1.0, others),))
    kernel = means.kernel(scores, scores)
    positions = isqrt(len(kernel) // means.samples)
    rows = means.samples * positions
    axes = (rows, positions, rows, positions)
    average, change = softmax_means(
        kernel.reshape(axes),
        values.reshape(axes),
        edges.reshape(axes),
        means.ntk(scores, scores).reshape(axes),
        [positions if soft == SOFTMAX else 1 + row % positions for row in range(rows)],
        means.tolerance,
    )
    # A window would read a mean over the keys, for which the number has been multiplied.
    scale = (number / positions) ** 2
    return scale * average, scale * change
