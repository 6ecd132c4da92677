"""How the means of an activation are taken, and which tensors have none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.activations import Activation
from symdlt.activations.activation import kinks_of
from symdlt.activations.checks import Function
from symdlt.definitions import ODD, Network
from symdlt.errors import ActivationError
from symdlt.kernels import NumpyActivation, many_inputs, numpy_activation
from symdlt.kernels.numpy_target.problem import needed_recursions
from symdlt.means import (
    ClosedMeans,
    KinkedMeans,
    LayerMeans,
    SmoothMeans,
    has_infinite_mean,
)
from symdlt.means.triangle import Indices

Array = NDArray[np.float64]


def orders_of(names: Sequence[str]) -> set[tuple[int, ...]]:
    """The derivative orders of all means that some tensors, and what they need, take.

    Odd tensors, which dense layers have not, are differentiated as often as those with a partner.
    """
    even = [ODD[name].partnered.name if name in ODD else name for name in names]
    kept = needed_recursions(many_inputs.RECURSIONS, even)
    return {orders for one in kept.values() for orders in one.means}


def derivatives_of(names: Sequence[str]) -> int:
    """How many derivatives of the activation some tensors need."""
    return max(max(orders) for orders in orders_of(names))


def check_activation(mlp: Network, names: Sequence[str]) -> None:
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
    from symdlt.activations.checks import check_activation as check_functions

    if len(mlp.activation) <= count:
        raise ActivationError(
            f"The activation is given by {len(mlp.activation)} functions. The tensors "
            f"{' '.join(names)} need {count + 1}: sigma and its first {count} derivatives. "
            "Give them in order, or give the activation as text."
        )
    check_functions(mlp.activation[: count + 1], count)


def is_infinite(mlp: Network, name: str) -> bool:
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


def has_vanishing_tensors(mlp: Network, overlap: Array, learning: bool) -> bool:
    """Whether tensors of samples with z = 0 vanish at layers where that is so.

    Then nothing that derivatives of the activation at z = 0 are multiplied with is left. With
    learning rates of biases, the NTK of such a sample is not zero. Of <s s> it only matters
    whether it is zero.
    """
    if not learning:
        return True
    zero = (0.0,) * mlp.depth
    rates = mlp.lambda_b or zero, mlp.lambda_W or zero
    layers = list(zip(mlp.C_b, mlp.C_W, *rates, strict=True))[:-1]
    for own in set((np.diag(overlap) != 0.0).tolist()):
        square, moved = float(own), False
        for C_b, C_W, lambda_b, lambda_W in layers:
            K = C_b + C_W * square
            passed = moved and C_W > 0.0
            moved = passed or lambda_b + lambda_W * square != 0.0
            if K == 0.0 and moved:
                return False
            square = 1.0 if K else float(functions(mlp, 0)[0](np.zeros(1))[0]) ** 2
    return True


def functions(mlp: Network, derivatives: int) -> tuple[Function, ...]:
    """The activation and its first derivatives as functions of arrays."""
    return functions_of(mlp.activation, derivatives)


def functions_of(
    activation: Activation | tuple[Function, ...], derivatives: int
) -> tuple[Function, ...]:
    """An activation and its first derivatives as functions of arrays."""
    if isinstance(activation, Activation):
        return _compiled(activation, derivatives).functions
    return activation[: derivatives + 1]


def layer_means(
    mlp: Network,
    derivatives: int,
    tolerance: float,
    zero_slopes: bool,
    after_block: Callable[[float], object] | None = None,
) -> LayerMeans:
    """How the means of every layer are taken; zero_slopes is that of KinkedMeans."""
    means = means_of(mlp.activation, derivatives, tolerance, zero_slopes)
    smooth = means.means if isinstance(means, MeansWithConstants) else means
    if isinstance(smooth, SmoothMeans):
        smooth.after_block = after_block
    return means


def means_of(
    activation: Activation | tuple[Function, ...],
    derivatives: int,
    tolerance: float,
    zero_slopes: bool,
    square: float | None = None,
) -> LayerMeans:
    """How the means of an activation are taken; zero_slopes and square are those of KinkedMeans."""
    given = functions_of(activation, derivatives)
    if not isinstance(activation, Activation):
        return SmoothMeans(given, tolerance)
    together = _compiled(activation, derivatives).together
    kinks = kinks_of(activation)
    if kinks:
        return KinkedMeans(given, kinks, tolerance, zero_slopes, square)
    family = family_of(activation)
    means: SmoothMeans | ClosedMeans = SmoothMeans(given, tolerance, together)
    if family:
        means = ClosedMeans(given, *family, tolerance, together)
    constants = constants_of(activation, derivatives)
    return MeansWithConstants(means, constants) if constants else means


class MeansWithConstants:
    """Means whose constant factors are taken out, so that covariances with them are exactly zero.

    Those of a polynomial are: of its derivatives one is constant, and all after it are zero.
    """

    def __init__(self, means: SmoothMeans | ClosedMeans, constants: Mapping[int, float]) -> None:
        self.means = means
        self.constants = constants
        self.pair_tables = means.pair_tables

    def __call__(
        self, K: Array, orders: Sequence[tuple[int, ...]], samples: Indices | None = None
    ) -> list[Array]:
        """The tables of means of some orders, N×N for two and N×N×N×N for four."""
        left = {order: self._varying(order) for order in orders}
        asked = sorted({reduced for reduced in left.values() if reduced})
        tables = dict(zip(asked, self.means(K, asked, samples), strict=True)) if asked else {}
        return [self._table(order, tables.get(left[order]), len(K)) for order in orders]

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
    functions = enumerate(activation.derivatives(derivatives))
    return {k: float(one) for k, one in functions if not one.free_symbols}


@cache
def family_of(activation: Activation) -> tuple[str, dict[str, Any]] | None:
    """The family of closed means with its parameters, if the activation is of one."""
    return activation.closed_family()


@cache
def _compiled(activation: Activation, derivatives: int) -> NumpyActivation:
    return numpy_activation(activation, derivatives)
