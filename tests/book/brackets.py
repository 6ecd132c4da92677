"""Arrays of Gaussian brackets and of their derivatives, in derivative form or in z form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
Factor = tuple[int, int]
Bracket = Callable[..., Any]


def inverse(matrix: Array) -> Array:
    """The inverse by elimination, exact when the entries are (fractions, expressions)."""
    size = len(matrix)
    work = np.concatenate([matrix, np.eye(size, dtype=int)], axis=1).astype(matrix.dtype)
    for column in range(size):
        pivot = next(row for row in range(column, size) if work[row, column] != 0)
        work[[column, pivot]] = work[[pivot, column]]
        work[column] = work[column] / work[column, column]
        for row in range(size):
            if row != column:
                work[row] = work[row] - work[row, column] * work[column]
    return work[:, size:]


@dataclass(frozen=True)
class Brackets:
    """⟨…⟩_K over all samples.

    Attributes:
        bracket: `bracket(factors, inserted=())` is ⟨Π σ^{(k)}(z_δ) Π z_β⟩_K for factors (δ, k).
        metric: K, with one row and one column for each sample.
        form: "derivative", or "z" for z's inserted and the inverse of K, as the book prints it.
    """

    bracket: Bracket
    metric: Array
    form: str

    def mean(self, *orders: int) -> Array:
        """M[δ_1, δ_2, …] = ⟨σ^{(k_1)}_{δ_1} σ^{(k_2)}_{δ_2} …⟩."""
        return self._with_inserted(0, orders)

    def slope(self, *orders: int) -> Array:
        """M[β, δ_1, δ_2, …] = ⟨∂_β (σ^{(k_1)}_{δ_1} σ^{(k_2)}_{δ_2} …)⟩."""
        if self.form == "z":
            return np.tensordot(inverse(self.metric), self._with_inserted(1, orders), 1)
        total: Array = 0
        for axis in range(len(orders)):
            raised = tuple(k + (axis == a) for a, k in enumerate(orders))
            total = total + _spread(self.mean(*raised), axis)
        return total

    def curvature(self, *orders: int) -> Array:
        """M[β, γ, δ_1, …] = ⟨∂_β ∂_γ (σ^{(k_1)}_{δ_1} …)⟩."""
        if self.form == "z":
            upper = inverse(self.metric)
            free = np.multiply.outer(self.metric, self.mean(*orders))
            twice = np.tensordot(upper, self._with_inserted(2, orders) - free, 1)
            return np.moveaxis(np.tensordot(upper, twice, ([1], [1])), 0, 1)
        total: Array = 0
        for axis in range(len(orders)):
            raised = tuple(k + (axis == a) for a, k in enumerate(orders))
            total = total + _spread(self.slope(*raised), axis + 1)
        return total

    def _with_inserted(self, inserted: int, orders: tuple[int, ...]) -> Array:
        size = len(self.metric)
        result = np.empty((size,) * (inserted + len(orders)), dtype=self.metric.dtype)
        for index in np.ndindex(result.shape):
            factors = tuple(zip(index[inserted:], orders, strict=True))
            result[index] = self.bracket(factors, inserted=index[:inserted])
        return result


def _spread(array: Array, axis: int) -> Array:
    """New first axis β, with the given axis tied to it: δ_{β δ_axis} array[…]."""
    size = array.shape[axis]
    result = np.zeros((size, *array.shape), dtype=array.dtype)
    for sample in range(size):
        where = (slice(None),) * axis + (sample,)
        result[(sample, *where)] = array[where]
    return result
