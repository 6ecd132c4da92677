"""Tuples of samples at which tensors of more than two axes are computed."""

from __future__ import annotations

from functools import reduce
from itertools import combinations_with_replacement, permutations

import numpy as np

from symdlt.means import Array, Indices, KernelInputError, asked_for


def closed_samples(samples: Indices, count: int) -> Indices:
    """The quadruples i <= j <= k <= l that the recursions at some tuples of samples need.

    These are the tuples themselves and those with samples repeated in place of others.
    """
    given = asked_for(samples, count)
    if given is None or not given.size:
        raise KernelInputError(
            "There are no samples. They are the tuples at which tensors are asked for. "
            "Give an integer array of shape (Q, 4)."
        )
    maps = np.array(list(combinations_with_replacement(range(4), 4)))
    quadruples: Indices = np.unique(np.sort(given, axis=1), axis=0).astype(np.intp)
    spread = np.sort(quadruples[:, maps].reshape(-1, 4), axis=1)
    return unique_rows(spread, count)


def unique_rows(rows: Indices, count: int) -> Indices:
    """Each row once, in lexicographical order.

    Measured: marks in a table of all take an eighth of the time of sorting or hashing.
    """
    marked = np.zeros((count,) * rows.shape[1], dtype=bool)
    marked[tuple(rows.T)] = True
    return np.argwhere(marked)


def independent_tuples(
    symmetries: tuple[tuple[int, ...], ...], count: int, chosen: Indices | None
) -> Indices:
    """Of the tuples that symmetries exchange the first, a row for each."""
    shape = (count,) * len(symmetries[0])
    if chosen is None:
        rows = np.indices(shape).reshape(len(shape), -1).T
    else:
        orders = permutations(range(chosen.shape[1]), len(shape))
        rows = unique_rows(np.concatenate([chosen[:, list(one)] for one in orders]), count)
    keys = np.ravel_multi_index(tuple(rows.T), shape)
    first = np.ones(len(rows), dtype=bool)
    for way in symmetries:
        first &= keys <= np.ravel_multi_index(tuple(rows[:, list(way)].T), shape)
    independent: Indices = rows[first]
    return independent


def diagonal(axes: str, table: Array) -> Array:
    """Entries with repeated samples: "iiij->ij" are those at 1112 for all pairs."""
    entries: Array = np.einsum(axes, table)
    return entries


def mask_mean(kept: float, *samples: Indices) -> Array:
    """The mean of a factor of a mask at each of some samples, which have draws of their own.

    A factor is 1/kept with the probability kept and else zero, so that of k factors at d different
    samples it is kept^(d - k).
    """
    again: Array = np.zeros(())
    for place, one in enumerate(samples[1:], 1):
        again = again + reduce(np.logical_or, (one == other for other in samples[:place]))
    mean: Array = kept**-again
    return mean


def fill(
    tensor: Array, rows: Indices, symmetries: tuple[tuple[int, ...], ...], values: Array | float
) -> None:
    """Write values at the rows and at all that symmetries exchange with them."""
    for way in symmetries:
        tensor[tuple(rows[:, axis] for axis in way)] = values
