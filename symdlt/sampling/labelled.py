"""Arrays of neurons over many networks, with sorted integer labels on the remaining axes.

Vertex v of a rooted tree owns the labels 2v (its output neuron) and 2v + 1 (its sample). An array
carries only the labels it depends on, so that nothing is computed twice.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Values of shape (networks, neurons, *labels); the first two axes may have length one."""

    values: Array
    labels: tuple[int, ...]


def shift_labels(array: Labelled, vertices: int) -> Labelled:
    """Renumber the vertices v as v + `vertices`."""
    return Labelled(array.values, tuple(label + 2 * vertices for label in array.labels))


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
