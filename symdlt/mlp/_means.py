"""How the means of an activation are taken, and which tensors have none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from symdlt.codegen import NumpyActivation, numpy_activation
from symdlt.errors import ActivationError
from symdlt.kernels import many_inputs
from symdlt.kernels.numpy_target.problem import needed_recursions
from symdlt.means import (
    ClosedMeans,
    KinkedMeans,
    LayerMeans,
    SmoothMeans,
    has_infinite_mean,
)
from symdlt.mlp._network import MLP, Function
from symdlt.networks import Activation

CLOSED = ("erf", "gelu", "sin")
SMOOTH = 12


def orders_of(names: Sequence[str]) -> set[tuple[int, ...]]:
    """The derivative orders of all means that some tensors, and what they need, take."""
    kept = needed_recursions(many_inputs.RECURSIONS, names)
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
    return SmoothMeans(given, tolerance, together)


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
