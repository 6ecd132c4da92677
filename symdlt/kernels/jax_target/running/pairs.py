"""<s s> and <s' s'> of all pairs of inputs, from layer to layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from symdlt.errors import KernelInputError
from symdlt.kernels.jax_target.running.smooth import Array

PairMeans = Callable[[Array, Array, Array], tuple[Array, Array]]


class Means(NamedTuple):
    """Means over z of the variances K.

    pairs gives <s s> and <s' s'> from the covariances of N x M pairs and the variances of both
    sides, and single <s s> from variances.
    """

    pairs: PairMeans
    single: Callable[[Array], Array]


def checked_overlaps(
    overlap: Any, variances: tuple[Any, Any] | None, dtype: Any
) -> tuple[Array, tuple[Array, ...]]:
    """The overlaps of N x M pairs, and of both sides with themselves unless sides are the same."""
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
    return pairs, own


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


def sides(pairs: Array, own: tuple[Array, ...]) -> tuple[Array, Array]:
    """The variances of both sides."""
    if own:
        return own[0], own[1]
    diagonal = jnp.diagonal(pairs)
    return diagonal, diagonal


def closed(kernel: Callable[[Array, Array, Array], Array]) -> Means:
    """Means from <s s> as a function of the covariance and both variances.

    <s' s'> is its derivative by the covariance (R. Price, IRE Transactions IT-4, 1958).
    """

    def pairs(c: Array, ours: Array, theirs: Array) -> tuple[Array, Array]:
        one, two = ours[:, None], theirs[None, :]
        value, slope = jax.jvp(lambda c: kernel(c, one, two), (c,), (jnp.ones_like(c),))
        return value, slope

    return Means(pairs, lambda variance: kernel(variance, variance, variance))
