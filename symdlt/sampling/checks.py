"""Checks of what users pass to the sampler."""

from collections.abc import Iterable
from numbers import Integral, Real
from reprlib import repr as short_repr
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from symdlt.definitions import Network
from symdlt.errors import SamplingError, require
from symdlt.memory import memory_of_machine

Item = TypeVar("Item")
Array = npt.NDArray[Any]


def whole_number(name: str, value: object) -> int:
    """Return a positive whole number, or raise a `SamplingError`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise SamplingError(
            f"There is nothing to sample with {name} = {short_repr(value)}. "
            f"It is a number of networks, or of groups of them. "
            f"Try a positive whole number."
        )
    return int(value)


def check_generator(rng: np.random.Generator) -> None:
    """Raise an `InputError` unless there is a source of randomness."""
    advice = "Try np.random.default_rng(seed)."
    require(rng, np.random.Generator, "a random number generator of NumPy", advice)


def listed(name: str, values: Iterable[Item], example: str) -> tuple[Item, ...]:
    """Return what was listed, or raise an `InputError`."""
    require(values, Iterable, f"a list of {name}", f"Try one such as {example}.")
    return tuple(values)


def real_array(name: str, value: npt.ArrayLike) -> Array:
    """Return finite real numbers as an array, or raise a `SamplingError`."""
    try:
        given = np.asarray(value)
        kind = given.dtype.kind
        real = kind in "iuf" or (kind == "O" and all(isinstance(x, Real) for x in given.flat))
        if real and not isinstance(value, np.ma.MaskedArray):
            with np.errstate(over="ignore"):
                numbers = given.astype(float)
            if np.isfinite(numbers).all():
                return numbers
    except (TypeError, ValueError, OverflowError):
        pass
    raise SamplingError(
        f"The numbers {short_repr(value)} are not an array of finite real ones: some are "
        f"infinite or not a number, or masked, or rows differ in length. "
        f"They were given as `{name}`. "
        f"Try finite ones, in rows of one length."
    )


def check_inputs(inputs: npt.ArrayLike, network: Network) -> tuple[Network, Array]:
    """The network with the width of the inputs, and these as an array (samples, n_0).

    Raises:
        InputError: for what is no network.
        SamplingError: if they do not fit together.
    """
    require(network, Network, "a network", "Try NetworkEnsemble.of((3, 8, 2)).")
    samples = real_array("inputs", inputs)
    fitting = samples.ndim == 2 or (samples.ndim > 2 and not network.is_dense)
    if fitting and samples.size and (network.n_0 is None or samples.ndim > 2):
        n_0 = network.n_0 or samples.shape[1]
        network = network.resized(n_0=n_0, positions=samples.shape[2:])
    width = network.n_0
    if not fitting or samples.shape[1] != width or not len(samples):
        raise SamplingError(
            f"Inputs of shape {samples.shape} do not fit networks of n_0 = {width}. "
            f"They were given as `inputs`, one row a sample. "
            f"Try an array of shape (samples, {width})."
        )
    return network, samples


def check_memory(numbers: int) -> None:
    """Raise a `SamplingError` if so many numbers would not fit into memory at once."""
    memory = memory_of_machine()
    if 8 * numbers > memory:
        raise SamplingError(
            f"This would take about {8 * min(numbers, 10**100) / 1e9:.2g} GB of memory. "
            f"This machine has {memory / 1e9:.2g} GB. "
            f"Try narrower networks, fewer samples, or fewer networks or vertices."
        )


def check_finite(name: object, *arrays: Array) -> None:
    """Raise a `SamplingError` if what was sampled has overflowed."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise SamplingError(
            f"The values of {short_repr(name)} overflow. "
            f"They were sampled with the given activation and hyperparameters. "
            f"Try fewer layers, a smaller C_W, or an activation that grows more slowly."
        )
