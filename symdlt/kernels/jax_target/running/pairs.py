"""<s s> and <s' s'> of all pairs of inputs, from layer to layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from symdlt.errors import KernelInputError
from symdlt.kernels.jax_target.running.smooth import Array


class PairPlaces(NamedTuple):
    """Which input on either side each of some pairs has: arrays that broadcast to all pairs."""

    first: Array
    second: Array

    def ours(self, values: Array) -> Array:
        """Values of inputs of the first side, at all pairs."""
        return values[self.first]

    def theirs(self, values: Array) -> Array:
        """The same of the second side."""
        return values[self.second]


class Means(NamedTuple):
    """Means over z of the variances K.

    pairs gives <s s> and <s' s'> from the covariances of pairs, the variances of both sides, and
    the places of the pairs; single gives <s s> from variances.
    """

    pairs: Callable[[Array, Array, Array, PairPlaces], tuple[Array, Array]]
    single: Callable[[Array], Array]


def places_of(shape: tuple[int, ...], symmetric: bool) -> PairPlaces:
    """All pairs of N and M inputs, or those i <= j of N inputs with themselves."""
    if symmetric:
        with jax.ensure_compile_time_eval():  # once, and not again in each call
            return PairPlaces(*jnp.triu_indices(shape[0]))
    return PairPlaces(jnp.arange(shape[0])[:, None], jnp.arange(shape[1])[None, :])


def whole(values: Array, count: int, symmetric: bool) -> Array:
    """The values of all pairs along the last two axes, from those of the pairs of `places_of`."""
    if not symmetric:
        return values
    numbers = jnp.arange(count)
    low = jnp.minimum(numbers[:, None], numbers)
    high = jnp.maximum(numbers[:, None], numbers)
    return values[..., low * (2 * count - low - 1) // 2 + high]


def checked_overlaps(
    overlap: Any, variances: tuple[Any, Any] | None, dtype: Any
) -> tuple[Array, tuple[Array, ...]]:
    """The overlaps of pairs, and of each side with itself, or of one if they are the same."""
    pairs = jnp.asarray(overlap, dtype)
    own = () if variances is None else tuple(jnp.asarray(one, dtype) for one in variances)
    shapes = tuple(one.shape for one in own)
    square = pairs.ndim == 2 and pairs.shape[0] == pairs.shape[1]
    if not (square if variances is None else shapes == tuple((n,) for n in pairs.shape)):
        raise KernelInputError(
            f"The overlap has shape {pairs.shape}, and the variances {shapes}. The overlap is the "
            "matrix x_i.y_j/n_0; where x and y differ, variances are x_i.x_i/n_0 and y_j.y_j/n_0. "
            "Give what `overlaps` returns."
        )
    return pairs, own or (jnp.diagonal(pairs),)


def overlaps(x: Any, y: Any = None) -> tuple[Array, tuple[Array, Array] | None]:
    """x_i.y_j/n_0 and the same of x_i and of y_j alone, as `propagate` takes them.

    Args:
        x: inputs of shape (N, n_0).
        y: inputs of shape (M, n_0), or None for those of x.
    """
    x = jnp.asarray(x)
    width = x.shape[-1]
    if y is None:
        return x @ x.T / width, None
    y = jnp.asarray(y)
    return x @ y.T / width, ((x * x).sum(-1) / width, (y * y).sum(-1) / width)


def closed(kernel: Callable[[Array, Array, Array, PairPlaces], Array]) -> Means:
    """Means from <s s> as a function of covariances, variances of both sides, and places.

    <s' s'> is its derivative by the covariance (R. Price, IRE Transactions IT-4, 1958).
    """

    def pairs(c: Array, ours: Array, theirs: Array, at: PairPlaces) -> tuple[Array, Array]:
        value, slope = jax.jvp(lambda c: kernel(c, ours, theirs, at), (c,), (jnp.ones_like(c),))
        return value, slope

    def single(variance: Array) -> Array:
        alone = jnp.arange(len(variance))
        return kernel(variance, variance, variance, PairPlaces(alone, alone))

    return Means(pairs, single)
