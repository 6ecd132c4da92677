"""The gain that keeps the size of preactivations from layer to layer."""

from __future__ import annotations

from math import inf, sqrt
from numbers import Real
from reprlib import repr as short_repr
from typing import Any

from symdlt.activations import activation as read_activation
from symdlt.activations.finiteness import check_growth, check_poles
from symdlt.activations.smooth_pieces import smooth_pieces
from symdlt.errors import SolutionError
from symdlt.fixed_points.kernel_map import kernel_map
from symdlt.means.precise import DOUBLE, GaussianMeans


def gain(activation: Any, variance: float = 1.0) -> float:
    r"""The gain with which preactivations of a variance keep it, without biases.

    In the convention of frameworks, where weights have the standard deviation
    gain/$\sqrt{\text{fan\_in}}$,

    $$\text{gain}^2 \langle\sigma\sigma\rangle_K = K$$

    Args:
        activation: a name such as "sigmoid", or an expression in z as text or from SymPy.
        variance: K, positive.

    Raises:
        ActivationError: if the activation cannot be read, or is not finite somewhere.
        SolutionError: if its mean square diverges or is zero, or the variance is not positive.

    >>> round(gain("sigmoid"), 5), round(gain("relu"), 5), round(gain("max(-1, min(z, 1))"), 5)
    (1.84623, 1.41421, 1.39204)
    >>> round(gain("selu"), 12)
    1.0
    """
    real = isinstance(variance, Real) and not isinstance(variance, bool)
    if not real or not 0 < float(variance) < inf:
        raise SolutionError(
            f"{short_repr(variance)} is not a variance to keep. It stands as variance in the call. "
            "Give a positive number; 1 is usual."
        )
    found = read_activation(activation)
    pieces = smooth_pieces(found)
    check_growth(pieces)
    check_poles(pieces)
    ((square,),) = GaussianMeans(pieces, [kernel_map().kernel], DOUBLE, powers=1)(float(variance))
    if square <= 0:
        raise SolutionError(
            f"The mean square of {found.name[:60]!r} is zero at a variance of {variance:g}. "
            "No gain makes it larger. Give a larger variance, or another activation."
        )
    return sqrt(variance / square)
