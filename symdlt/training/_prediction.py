"""The distribution of trained outputs at finite width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.training._infinite import GaussianPrediction

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """Mean and covariance of the trained outputs for test samples, to order 1/n.

    Attributes:
        infinite: both at infinite width.
        parts: what the mean has besides, of order 1/n, by what moves the outputs, each of shape
            (N, n_L): "NTK" is the correction of the mean NTK, "NTK fluctuation" its variance.
        covariance_parts: the same for the covariance, of shape (N, N, n_L, n_L); "output" is the
            correction of the kernel. Nothing if the covariance was not asked for.
    """

    infinite: GaussianPrediction
    parts: Mapping[str, Array]
    covariance_parts: Mapping[str, Array]

    @property
    def mean(self) -> Array:
        """The mean of the outputs, of shape (N, n_L)."""
        mean: Array = self.infinite.mean + self.correction
        return mean

    @property
    def correction(self) -> Array:
        """The part of the mean of order 1/n."""
        total: Array = np.sum(list(self.parts.values()), axis=0)
        return total

    @property
    def covariance(self) -> Array:
        """The covariance of two outputs, of shape (N, N, n_L, n_L): samples, then neurons."""
        outputs = self.infinite.mean.shape[1]
        leading = self.infinite.covariance[:, :, None, None] * np.eye(outputs)
        total: Array = leading + self.covariance_correction
        return total

    @property
    def covariance_correction(self) -> Array:
        """The part of the covariance of order 1/n."""
        total: Array = np.sum(list(self.covariance_parts.values()), axis=0)
        return total

    def __repr__(self) -> str:
        samples, outputs = self.infinite.mean.shape
        return f"Prediction({samples} samples, {outputs} outputs)"

    def __str__(self) -> str:
        """A table with a line for each test output."""
        names = ["infinite", *self.parts, "mean"]
        columns = [self.infinite.mean, *self.parts.values(), self.mean]
        if self.covariance_parts:
            names += ["deviation"]
            variance = np.einsum("bbii->bi", self.covariance)
            columns += [np.sqrt(np.maximum(variance, 0.0))]
        rows = [["sample", "output", *names]]
        for sample, output in np.ndindex(*self.mean.shape):
            numbers = [f"{column[sample, output]:.6g}" for column in columns]
            rows.append([str(sample), str(output), *numbers])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        )
        return "\n".join(lines)

    def arrays(self) -> dict[str, Any]:
        """Everything as arrays with names, for `numpy.savez`."""
        named = {"mean": self.mean, "infinite_mean": self.infinite.mean}
        named |= {f"mean: {name}": part for name, part in self.parts.items()}
        named["infinite_covariance"] = self.infinite.covariance
        if self.covariance_parts:
            named["covariance"] = self.covariance
            named |= {f"covariance: {name}": p for name, p in self.covariance_parts.items()}
        return named
