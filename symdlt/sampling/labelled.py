"""Arrays of neurons over many networks, with sorted integer labels on the remaining axes.

Vertex v of a rooted tree owns the labels 3v (its output neuron), 3v + 1 (its sample) and 3v + 2 (a
position in the layer at hand). An array carries only the labels it depends on, so that nothing is
computed twice.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.intp]

OWNED = 3  # labels of a vertex
NEURON, SAMPLE, POSITION = range(OWNED)  # those of vertex 0


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Values of shape (networks, neurons, *labels); the first two axes may have length one."""

    values: Array
    labels: tuple[int, ...]


def shift_labels(array: Labelled, vertices: int) -> Labelled:
    """Renumber the vertices v as v + `vertices`."""
    return Labelled(array.values, tuple(label + OWNED * vertices for label in array.labels))


def scale(array: Labelled, factor: float) -> Labelled:
    """Multiply by a number."""
    return Labelled(factor * array.values, array.labels)


def align(array: Labelled, labels: tuple[int, ...]) -> Array:
    """View the values with one axis a label, of length one where the array has no such label."""
    sizes = dict(zip(array.labels, array.values.shape[2:], strict=True))
    shape = array.values.shape[:2] + tuple(sizes.get(label, 1) for label in labels)
    return array.values.reshape(shape)


def multiply(left: Labelled, right: Labelled) -> Labelled:
    """Multiply elementwise, neuron by neuron."""
    labels = tuple(sorted({*left.labels, *right.labels}))
    return Labelled(align(left, labels) * align(right, labels), labels)


def add_all(arrays: Iterable[Labelled]) -> Labelled | None:
    """Add elementwise; None stands for zero."""
    terms = tuple(arrays)
    if not terms:
        return None
    labels = tuple(sorted({label for term in terms for label in term.labels}))
    total = align(terms[0], labels)
    for term in terms[1:]:
        total = total + align(term, labels)
    return Labelled(total, labels)


def apply_matrices(matrices: Array, array: Labelled) -> Labelled:
    """Multiply the neuron axis by one matrix a network."""
    networks, neurons, *sizes = array.values.shape
    values = matrices @ array.values.reshape(networks, neurons, -1)
    return Labelled(values.reshape(*values.shape[:2], *sizes), array.labels)


def contract_neurons(left: Labelled, right: Labelled) -> Labelled:
    """Sum over the neuron axis of a product whose factors have no label in common."""
    columns = [
        entry.values.reshape(*entry.values.shape[:2], math.prod(entry.values.shape[2:]))
        for entry in (left, right)
    ]
    values = columns[0].swapaxes(1, 2) @ columns[1]
    sizes = left.values.shape[2:] + right.values.shape[2:]
    labels = left.labels + right.labels
    order = sorted(range(len(labels)), key=labels.__getitem__)
    values = values.reshape(values.shape[0], 1, *sizes)
    values = values.transpose(0, 1, *(2 + axis for axis in order))
    return Labelled(np.ascontiguousarray(values), tuple(labels[axis] for axis in order))


def sum_positions(array: Labelled, keep: int | None = POSITION) -> Labelled:
    """Sum over all positions, but for those with one label."""
    summed = [label for label in array.labels if label % OWNED == POSITION and label != keep]
    if not summed:
        return array
    axes = tuple(2 + array.labels.index(label) for label in summed)
    labels = tuple(label for label in array.labels if label not in summed)
    return Labelled(array.values.sum(axis=axes), labels)


@dataclass(frozen=True, slots=True, eq=False)
class WindowRead:
    """What a window reads.

    Attributes:
        sources: of each offset, and each position that is made, the positions of a mean.
        below: how many positions are read; 0 for a layer without.
        above: how many are made.
    """

    sources: Indices
    below: int
    above: int

    def read(self, array: Labelled) -> Labelled:
        """What is read, the neurons of each offset one after the other."""
        values = _positions_last(array, self.below)
        outside = np.concatenate([values, np.zeros_like(values[..., :1])], axis=-1)
        parts = [outside[..., rows].mean(axis=-1) for rows in self.sources]
        return _positions_back(np.concatenate(parts, axis=1), array, self.above)

    def spread(self, array: Labelled) -> Labelled:
        """The transpose of `read`."""
        values = _positions_last(array, self.above)
        parts = np.split(values, len(self.sources), axis=1)
        shape = (*parts[0].shape[:-1], max(self.below, 1) + 1)
        sums = np.zeros(shape, dtype=values.dtype)
        for rows, part in zip(self.sources, parts, strict=True):
            for places in rows.T:
                for above, place in enumerate(places.tolist()):
                    sums[..., place] += part[..., above] / rows.shape[1]
        return _positions_back(sums[..., :-1], array, self.below)


def _positions_last(array: Labelled, positions: int) -> Array:
    """The values with the positions of vertex 0 on the last axis."""
    if POSITION in array.labels:
        return np.moveaxis(array.values, 2 + array.labels.index(POSITION), -1)
    return np.repeat(array.values[..., None], max(positions, 1), axis=-1)


def _positions_back(values: Array, like: Labelled, positions: int) -> Labelled:
    """The labelled array of values with positions on the last axis."""
    others = tuple(label for label in like.labels if label != POSITION)
    if positions == 0:
        return Labelled(values[..., 0], others)
    labels = tuple(sorted((*others, POSITION)))
    return Labelled(np.moveaxis(values, -1, 2 + labels.index(POSITION)), labels)
