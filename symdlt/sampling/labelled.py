"""Arrays of neurons over many networks, with sorted integer labels on the axes between.

Vertex v of a rooted tree owns the labels 3v (its output neuron), 3v + 1 (its sample) and 3v + 2 (a
position in the layer at hand). An array carries only the labels it depends on, so that nothing is
computed twice. Vertices with one output neuron have its label in common. Neurons are last, since
inner loops over the few entries of a label would be short.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.intp]

OWNED = 3  # labels of a vertex
NEURON, SAMPLE, POSITION = range(OWNED)  # those of vertex 0
NEURONS = -1  # stands for the last axis among labels


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Values of shape (networks, *labels, neurons); the first and the last may have length one."""

    values: Array
    labels: tuple[int, ...]

    @property
    def sizes(self) -> dict[int, int]:
        """The lengths of the axes with labels."""
        return dict(zip(self.labels, self.values.shape[1:-1], strict=True))


def keep_freed_memory() -> None:
    """Have arrays of some megabytes made from memory of those that are gone.

    The allocator of glibc otherwise gives it back to the system after each of them, and fetching
    it page by page takes a third of the time of a product. It keeps up to twice the size of the
    largest block that was freed, of at most 32 MB (mallopt(3), M_MMAP_THRESHOLD); elsewhere, this
    does nothing. The block is never touched.
    """
    np.empty(31 * 2**20, np.uint8)  # 31 MB, just below the 32 that count


def place_labels(array: Labelled, first: int, neurons: Sequence[int]) -> Labelled:
    """Renumber the vertices v as v + `first`, with the output neuron of `neurons[v + first]`."""
    labels = tuple(
        OWNED * neurons[first + label // OWNED]
        if label % OWNED == NEURON
        else label + OWNED * first
        for label in array.labels
    )
    return _sorted(array.values, labels)


def _sorted(values: Array, labels: tuple[int, ...]) -> Labelled:
    """The axes of labels in their order."""
    order = sorted(range(len(labels)), key=labels.__getitem__)
    axes = (0, *(1 + axis for axis in order), len(labels) + 1)
    return Labelled(values.transpose(axes), tuple(labels[axis] for axis in order))


def scale(array: Labelled, factor: float) -> Labelled:
    """Multiply by a number."""
    return Labelled(factor * array.values, array.labels)


def align(array: Labelled, labels: tuple[int, ...]) -> Array:
    """View the values with one axis a label, of length one where the array has no such label."""
    if array.labels == labels:
        return array.values
    networks, *_, neurons = array.values.shape
    sizes = array.sizes
    return array.values.reshape(networks, *(sizes.get(label, 1) for label in labels), neurons)


def multiply(left: Labelled, right: Labelled) -> Labelled:
    """Multiply elementwise, neuron by neuron."""
    labels = tuple(sorted({*left.labels, *right.labels}))
    return Labelled(align(left, labels) * align(right, labels), labels)


def add_all(arrays: Iterable[Labelled]) -> Labelled | None:
    """Add elementwise; None stands for zero."""
    terms = tuple(arrays)
    if len(terms) < 2:
        return terms[0] if terms else None
    labels = tuple(sorted({label for term in terms for label in term.labels}))
    parts = [align(term, labels) for term in terms]
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    dtype = np.result_type(*parts)
    # The first sum that has the full shape is an array of its own, to which the others are added.
    parts.sort(key=lambda part: part.shape != shape)
    total = parts[0] + parts[1]
    for part in parts[2:]:
        whole = total.shape == shape and total.dtype == dtype
        total = np.add(total, part, out=total if whole else None)
    return Labelled(total, labels)


def apply_matrices(matrices: Array, array: Labelled) -> Labelled:
    """Multiply the neuron axis by one matrix a network."""
    networks, *sizes, neurons = array.values.shape
    rows = array.values.reshape(networks, math.prod(sizes), neurons)
    values = rows @ matrices.swapaxes(1, 2)
    return Labelled(values.reshape(len(values), *sizes, -1), array.labels)


def contract_neurons(left: Labelled, right: Labelled) -> Labelled:
    """Sum over the neuron axis of a product."""
    common = tuple(label for label in left.labels if label in right.labels)
    more, others = (
        tuple(label for label in one.labels if label not in common) for one in (left, right)
    )
    rows = _arranged(left, common, more, (NEURONS,))
    values = rows @ _arranged(right, common, (NEURONS,), others)
    labels = (*common, *more, *others)
    sizes = left.sizes | right.sizes
    return _sorted(values.reshape(len(values), *(sizes[label] for label in labels), 1), labels)


def sum_positions(array: Labelled, keep: int | None = POSITION) -> Labelled:
    """Sum over all positions, but for those with one label."""
    summed = [label for label in array.labels if label % OWNED == POSITION and label != keep]
    if not summed:
        return array
    axes = tuple(1 + array.labels.index(label) for label in summed)
    labels = tuple(label for label in array.labels if label not in summed)
    return Labelled(array.values.sum(axis=axes), labels)


def multiply_over_positions(
    array: Labelled, numbers: Labelled, keep: int | None = POSITION
) -> Labelled:
    """Multiply by numbers of no neuron and sum over all positions, but for those with one label."""
    labels = {*array.labels, *numbers.labels}
    summed = tuple(label for label in labels if label % OWNED == POSITION and label != keep)
    if not summed:
        return multiply(array, numbers)
    if not all(label in array.labels and label in numbers.labels for label in summed):
        return sum_positions(multiply(array, numbers), keep)
    common = tuple(one for one in array.labels if one in numbers.labels and one not in summed)
    others, more = (
        tuple(label for label in one.labels if label not in (*common, *summed))
        for one in (array, numbers)
    )
    rows = _arranged(numbers, common, more, summed)
    columns = _arranged(array, common, summed, (*others, NEURONS))
    sizes = array.sizes | numbers.sizes
    ordered = (*common, *more, *others)
    values = rows @ columns
    shape = (len(values), *(sizes[label] for label in ordered), array.values.shape[-1])
    return _sorted(values.reshape(shape), ordered)


def _arranged(array: Labelled, *groups: tuple[int, ...]) -> Array:
    """Values of shape (networks, *first group, second, third), these two with one axis each."""
    every = (*array.labels, NEURONS)
    flat = [label for group in groups for label in group]
    missing = [label for label in every if label not in flat]  # the neurons, of length one
    values = array.values.transpose(0, *(1 + every.index(label) for label in (*flat, *missing)))
    shape = values.shape[1:]
    middle, end = len(groups[0]), len(groups[0]) + len(groups[1])
    return values.reshape(
        len(values), *shape[:middle], math.prod(shape[middle:end]), math.prod(shape[end:])
    )


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
        values = _positions_first(array, self.below)
        outside = np.concatenate([values, np.zeros_like(values[:, :1])], axis=1)
        parts = [outside[:, rows].mean(axis=2) for rows in self.sources]
        return _positions_back(np.concatenate(parts, axis=-1), array, self.above)

    def spread(self, array: Labelled) -> Labelled:
        """The transpose of `read`."""
        values = _positions_first(array, self.above)
        parts = np.split(values, len(self.sources), axis=-1)
        networks, _, *others = parts[0].shape
        sums = np.zeros((networks, max(self.below, 1) + 1, *others), dtype=values.dtype)
        for rows, part in zip(self.sources, parts, strict=True):
            for places in rows.T:
                for above, place in enumerate(places.tolist()):
                    sums[:, place] += part[:, above] / rows.shape[1]
        return _positions_back(sums[:, :-1], array, self.below)


def _positions_first(array: Labelled, positions: int) -> Array:
    """The values with the positions of vertex 0 behind the networks."""
    if POSITION in array.labels:
        return np.moveaxis(array.values, 1 + array.labels.index(POSITION), 1)
    return np.repeat(array.values[:, None], max(positions, 1), axis=1)


def _positions_back(values: Array, like: Labelled, positions: int) -> Labelled:
    """The labelled array of values with positions behind the networks."""
    others = tuple(label for label in like.labels if label != POSITION)
    if positions == 0:
        return Labelled(values[:, 0], others)
    return _sorted(values, (POSITION, *others))
