"""The statistics at initialisation that predictions are made of, in the modes of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import TrainingError

Array = NDArray[Any]
SINGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class Statistics:
    r"""The distribution of the outputs of a network at initialisation, and of their derivatives.

    The samples along all axes are the training samples, followed by the test samples.

    Attributes:
        tensors: "G" and "H" of shape (N, N), and at finite width "G.1", "H.1" likewise and V, A,
            B, D, F, P, …, U of shape (N, N, N, N), all without their factor 1/n.
        train: the number of training samples.
        width: n, the width of the last hidden layer.

    Raises:
        TrainingError: if the mean training NTK has no inverse.
    """

    tensors: Mapping[str, Array]
    train: int
    width: int

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the mean training NTK."""
        ntk = self.tensors["H"][: self.train, : self.train]
        values, vectors = np.linalg.eigh(ntk)
        if not values[0] > SINGULAR * values[-1]:
            raise TrainingError(_singular(ntk, values))
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
        raise TrainingError(_singular(matrix, np.linalg.eigvalsh(matrix)))
    found: Array = np.linalg.solve(matrix, right)
    return found


def _singular(ntk: Array, values: Array) -> str:
    size = np.sqrt(np.outer(ntk.diagonal(), ntk.diagonal()))
    advice = "Leave out duplicated samples, or give learning rates that are not 0."
    if not size.all():
        return (
            f"The mean training NTK has no inverse: sample {int(np.argmin(ntk.diagonal()))} has "
            f"an NTK of 0 with itself. No parameter that learns moves its output. {advice}"
        )
    i, j = np.unravel_index(np.argmax(np.tril(ntk / size, -1)), ntk.shape)
    return (
        f"The mean training NTK has no inverse: its eigenvalues go from {values[0]:.3g} to "
        f"{values[-1]:.3g}. Training samples {j} and {i} are the most alike; the network cannot "
        f"tell them apart. {advice}"
    )
