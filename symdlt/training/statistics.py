"""The statistics at initialisation that predictions are made of, in the modes of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symdlt.errors import TrainingError
from symdlt.networks.numbers import SINGULAR
from symdlt.training.chains import Array


@dataclass(frozen=True, eq=False)
class Statistics:
    r"""The distribution of the outputs of a network at initialisation, and of their derivatives.

    The samples along all axes are the training samples, followed by the test samples.

    Attributes:
        tensors: "G" and "H" of shape (N, N), and at finite width "G.1", "H.1" likewise and V, A,
            B, D, F, P, …, U of shape (N, N, N, N), all without their factor 1/n.
        train: the number of training samples.
        width: n, the width of the last hidden layer.
        ridge: what is added to the eigenvalues of the mean training NTK; see `check_ridge`.

    Raises:
        TrainingError: if the mean training NTK has no inverse.
    """

    tensors: Mapping[str, Array]
    train: int
    width: int
    ridge: float = 0.0

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues, with the ridge, and eigenvectors of the mean training NTK."""
        ntk = self.tensors["H"][: self.train, : self.train]
        values, vectors = np.linalg.eigh(ntk)
        values += self.ridge
        if not values[0] > SINGULAR * values[-1]:
            raise TrainingError(singular(ntk, values))
        return values, vectors

    @cached_property
    def basis(self) -> Array:
        """Modes of the training samples, then test samples, in columns."""
        size = len(self.tensors["H"])
        basis = np.eye(size)
        basis[: self.train, : self.train] = self.spectrum[1]
        return basis

    @cached_property
    def propagator(self) -> Array:
        r"""$(-H_{\beta a}/h_a, 1)$: how test outputs follow from modes and themselves."""
        values, vectors = self.spectrum
        mixed = self.tensors["H"][self.train :, : self.train]
        return np.hstack([-(mixed @ vectors) / values, np.eye(len(mixed))])

    def matrix(self, name: str) -> Array:
        """A tensor of two axes in the basis."""
        return self.basis.T @ self.tensors[name] @ self.basis


def solve_positive(matrix: Array, right: Array) -> Array:
    """Solve with a symmetric matrix that must be positive.

    Raises:
        TrainingError: if it has no inverse.
    """
    try:
        root = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        root = np.zeros((1, 1))
    ends = root.diagonal()
    if not ends.min() > SINGULAR**0.5 * ends.max():
        raise TrainingError(singular(matrix, np.linalg.eigvalsh(matrix)))
    solution: Array = np.linalg.solve(matrix, right)
    return solution


def singular(matrix: Array, values: Array) -> str:
    """Why a kernel of training samples with such eigenvalues has no inverse, and what to do."""
    diagonal = matrix.diagonal()
    worst = int(np.argmin(diagonal))
    if not diagonal[worst] > 0.0:
        return (
            "The NTK or kernel of the training samples has no inverse: that of sample "
            f"{worst} with itself is {diagonal[worst]:.3g}. Nothing that learns moves its output. "
            "Leave it out, give a ridge, or give learning rates and variances that are not 0."
        )
    size = np.sqrt(np.outer(diagonal, diagonal))
    alike = np.where(np.tri(len(matrix), k=-1), np.abs(matrix / size), -1.0)
    i, j = np.unravel_index(np.argmax(alike), matrix.shape)
    return (
        "The NTK or kernel of the training samples has no inverse: its eigenvalues go from "
        f"{values[0]:.3g} to {values[-1]:.3g}. Samples {j} and {i} depend on each other most, "
        f"with a correlation of {matrix[i, j] / size[i, j]:.6g}. "
        "Leave out duplicated samples, or those that are combinations of others, rescale them, or "
        "give a ridge."
    )
