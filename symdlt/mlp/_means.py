"""How the means of an activation are taken, and which tensors have none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from symdlt.codegen import NumpyActivation, numpy_activation
from symdlt.errors import ActivationError
from symdlt.kernels import many_inputs
from symdlt.means import (
    ClosedMeans,
    KinkedMeans,
    LayerMeans,
    SmoothMeans,
    has_infinite_mean,
)
from symdlt.means._triangle import Indices
from symdlt.mlp._network import MLP, Function
from symdlt.networks import Activation

Array = NDArray[np.float64]

CLOSED = ("erf", "gelu", "sin")
SMOOTH = 12


def orders_of(names: Sequence[str]) -> set[tuple[int, ...]]:
    """The derivative orders of all means that some tensors, and what they need, take."""
    kept = many_inputs.needed_recursions(many_inputs.RECURSIONS, names)
    return {orders for one in kept.values() for orders in one.means}


def derivatives_of(names: Sequence[str]) -> int:
    """How many derivatives of the activation some tensors need."""
    return max(max(orders) for orders in orders_of(names))


def check_activation(mlp: MLP, names: Sequence[str]) -> None:
    """Refuse an activation without the derivatives, or the smoothness, that the tensors need.

    Raises:
        ActivationError: with the tensors and the reason.
    """
    count = derivatives_of(names)
    if isinstance(mlp.activation, Activation):
        kinks = kinks_of(mlp.activation)
        bad = [name for name in names if kinks and has_infinite_means(kinks, name)]
        if bad:
            place, jumps = kinks[0]
            order = next(k for k, jump in enumerate(jumps) if jump)
            raise ActivationError(
                f"{' '.join(bad)} of {mlp.activation!r} cannot be had: its derivative of order "
                f"{order} jumps at z = {place:g}, and where samples meet, means have products or "
                "derivatives of delta functions. Ask for other tensors, or smooth the kink."
            )
        return
    from symdlt.sampling._activation import check_activation as check_functions

    if len(mlp.activation) <= count:
        raise ActivationError(
            f"The activation is given by {len(mlp.activation)} functions. The tensors "
            f"{' '.join(names)} need {count + 1}: sigma and its first {count} derivatives. "
            "Give them in order, or give the activation as text."
        )
    check_functions(mlp.activation[: count + 1], count, 2)


def is_infinite(mlp: MLP, name: str) -> bool:
    """Whether kinks of the activation make a tensor infinite."""
    if not isinstance(mlp.activation, Activation):
        return False
    kinks = kinks_of(mlp.activation)
    return bool(kinks) and has_infinite_means(kinks, name)


def has_infinite_means(kinks: Sequence[tuple[float, tuple[float, ...]]], name: str) -> bool:
    """Whether a mean over four samples that a tensor needs is infinite where these meet."""
    jumps = np.array([row for _, row in kinks])
    return any(
        len(orders) == 4 and has_infinite_mean(jumps, orders) for orders in orders_of([name])
    )


def functions(mlp: MLP, derivatives: int) -> tuple[Function, ...]:
    """The activation and its first derivatives as functions of arrays."""
    if isinstance(mlp.activation, Activation):
        return _compiled(mlp.activation, derivatives).functions
    return mlp.activation[: derivatives + 1]


def layer_means(mlp: MLP, derivatives: int, tolerance: float) -> LayerMeans:
    """How the means of every layer are taken."""
    given = functions(mlp, derivatives)
    if not isinstance(mlp.activation, Activation):
        return SmoothMeans(given, tolerance)
    together = _compiled(mlp.activation, derivatives).together
    kinks = kinks_of(mlp.activation)
    if kinks:
        return KinkedMeans(given, kinks, tolerance)
    if mlp.activation.name in CLOSED:
        return ClosedMeans(given, mlp.activation.name, None, tolerance, together)
    smooth = SmoothMeans(given, tolerance, together)
    constants = constants_of(mlp.activation, derivatives)
    return MeansWithConstants(smooth, constants) if constants else smooth


class MeansWithConstants:
    """Means whose constant factors are taken out, so that covariances with them are exactly zero.

    Those of a polynomial are: of its derivatives one is constant, and all after it are zero.
    """

    def __init__(self, means: SmoothMeans, constants: Mapping[int, float]) -> None:
        self.means = means
        self.constants = constants
        self.pair_tables = means.pair_tables

    def __call__(
        self, K: Array, orders: Sequence[tuple[int, ...]], samples: Indices | None = None
    ) -> list[Array]:
        """The tables of means of some orders, N×N for two and N×N×N×N for four."""
        left = {order: self._varying(order) for order in orders}
        asked = sorted({reduced for reduced in left.values() if reduced})
        found = dict(zip(asked, self.means(K, asked, samples), strict=True)) if asked else {}
        return [self._table(order, found.get(left[order]), len(K)) for order in orders]

    def _varying(self, order: tuple[int, ...]) -> tuple[int, ...]:
        """The factors that a mean is taken of: all of them, the two that vary, or none."""
        if any(self.constants.get(k) == 0.0 for k in order):
            return ()
        varying = tuple(k for k in order if k not in self.constants)
        return varying if len(varying) in (0, 2) else order

    def _table(self, order: tuple[int, ...], mean: Array | None, count: int) -> Array:
        shape = (count,) * len(order)
        if mean is not None and mean.ndim == len(order):
            return mean
        factor = math.prod(self.constants[k] for k in order if k in self.constants)
        if mean is None:
            return np.full(shape, factor)
        axes = [k for k, one in enumerate(order) if one not in self.constants]
        spread = np.expand_dims(factor * mean, [k for k in range(len(order)) if k not in axes])
        return np.broadcast_to(spread, shape)


@cache
def constants_of(activation: Activation, derivatives: int) -> dict[int, float]:
    """The derivatives of a polynomial that do not depend on z, by their order."""
    if not activation.to_sympy().is_polynomial():
        return {}
    found = enumerate(activation.derivatives(derivatives))
    return {k: float(one) for k, one in found if not one.free_symbols}


@cache
def kinks_of(activation: Activation) -> list[tuple[float, tuple[float, ...]]]:
    """The kinks as the means take them: positions, and jumps of sigma, sigma', ….

    Those of derivatives that are not asked for count as well: sums for smooth functions are wrong.
    """
    return [
        (float(kink.position), tuple(float(jump) for jump in kink.jumps))
        for kink in activation.kinks(SMOOTH)
    ]


@cache
def _compiled(activation: Activation, derivatives: int) -> NumpyActivation:
    return numpy_activation(activation, derivatives)
