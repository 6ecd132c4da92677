"""Checks of what users pass to the sampler."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from symdlt.errors import ActivationError, SamplingError
from symdlt.sampling._ensemble import NetworkEnsemble

Array = npt.NDArray[Any]
Activation: TypeAlias = Sequence[Callable[[Array], Array]]


def check_count(count: int) -> None:
    """Raise a `SamplingError` unless there is something to sample."""
    if count < 1:
        raise SamplingError(
            f"There is nothing to sample in {count} networks. "
            f"This was given as `count`. "
            f"Try a positive number."
        )


def check_inputs(inputs: npt.ArrayLike, ensemble: NetworkEnsemble) -> Array:
    """Return the inputs as an array (samples, n_0), or raise a `SamplingError`."""
    samples = np.asarray(inputs, dtype=float)
    if samples.ndim != 2 or samples.shape[1] != ensemble.widths[0] or not len(samples):
        raise SamplingError(
            f"Inputs of shape {samples.shape} do not fit networks of n_0 = {ensemble.widths[0]}. "
            f"They were given as `inputs`, one row a sample. "
            f"Try an array of shape (samples, {ensemble.widths[0]})."
        )
    if not np.isfinite(samples).all():
        raise SamplingError(
            "Some inputs are infinite or not a number. "
            "They were given as `inputs`, one row a sample. "
            "Try finite ones."
        )
    return samples


def check_activation(activation: Activation, order: int, depth: int) -> None:
    """Raise an `ActivationError` if derivatives up to `order` are not all there."""
    if depth > 1 and len(activation) <= order:
        raise ActivationError(
            f"An activation with {max(len(activation) - 1, 0)} derivatives is not enough for "
            f"observables that need {order}. "
            f"It was given as `activation`, σ first and then its derivatives in order. "
            f"Try to append callables up to σ^({order}), or ask for smaller observables."
        )
