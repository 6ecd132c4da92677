"""The distribution of trained outputs, at infinite and at finite width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from symdlt.display import ShownAsText
from symdlt.equality import EqualByFields
from symdlt.tables import Tabular, text_table
from symdlt.training.chains import Array


@dataclass(frozen=True, eq=False, repr=False)
class GaussianPrediction(ShownAsText, Tabular, EqualByFields):
    """The distribution of trained outputs for test samples; independent neurons, all alike.

    Attributes:
        mean: of shape (N, n_L).
        covariance: of two samples, of shape (N, N), the same for each neuron.
    """

    mean: Array
    covariance: Array

    @property
    def deviation(self) -> Array:
        """The standard deviation of each test output, of shape (N,)."""
        return np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))

    def __repr__(self) -> str:
        return f"GaussianPrediction({_counted(self.mean)})"

    def __str__(self) -> str:
        """A table with a line for each test output."""
        return _table(self.columns())

    def columns(self) -> dict[str, Array]:
        """A row for each test output; `to_pandas` makes a DataFrame of them."""
        variance = np.broadcast_to(self.covariance.diagonal()[:, None], self.mean.shape)
        return _columns({"infinite": self.mean}, variance)

    def arrays(self) -> dict[str, Array]:
        """Both as arrays with names, for `numpy.savez`."""
        return {"infinite_mean": self.mean, "infinite_covariance": self.covariance}


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(ShownAsText, Tabular, EqualByFields):
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
        return f"Prediction({_counted(self.infinite.mean)})"

    def __str__(self) -> str:
        """A table with a line for each test output; - for a variance that 1/n makes negative."""
        return _table(self.columns())

    def columns(self) -> dict[str, Array]:
        """A row for each test output; `to_pandas` makes a DataFrame of them.

        A deviation is not a number where 1/n makes a variance negative.
        """
        means = {"infinite": self.infinite.mean, **self.parts, "mean": self.mean}
        if not self.covariance_parts:
            return _columns(means)
        return _columns(means, np.einsum("bbii->bi", self.covariance))

    def arrays(self) -> dict[str, Array]:
        """Everything as arrays with names, for `numpy.savez`."""
        named = {"mean": self.mean, **self.infinite.arrays()}
        named |= {f"mean: {name}": part for name, part in self.parts.items()}
        if self.covariance_parts:
            named["covariance"] = self.covariance
            named |= {f"covariance: {name}": p for name, p in self.covariance_parts.items()}
        return named


def _counted(mean: Array) -> str:
    samples, outputs = mean.shape
    return f"{samples} sample{'s' * (samples > 1)}, {outputs} output{'s' * (outputs > 1)}"


def _columns(means: Mapping[str, Array], variance: Array | None = None) -> dict[str, Array]:
    """Numbers of each sample and output, and if its variance is known a standard deviation."""
    places = np.indices(next(iter(means.values())).shape)
    named = {"sample": places[0], "output": places[1], **means}
    if variance is not None:
        rounding = 1e-9 * max(1e-300, np.abs(variance).max())
        known = np.where(variance > -rounding, np.maximum(variance, 0.0), np.nan)
        named["deviation"] = np.sqrt(known)
    return {name: column.reshape(-1) for name, column in named.items()}


def _table(columns: Mapping[str, Array]) -> str:
    """The columns as text, - for what is no number."""
    rows = [[*columns]]
    for row in zip(*columns.values(), strict=True):
        rows.append([f"{number:.6g}" if number == number else "-" for number in row])
    return "\n".join(text_table(rows))
