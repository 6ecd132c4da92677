"""The gain that keeps the size of preactivations from layer to layer."""

from __future__ import annotations

import sys
from math import sqrt
from reprlib import repr as short_repr

from symdlt.activations import activation as read_activation
from symdlt.activations.activation import ActivationLike
from symdlt.errors import SolutionError
from symdlt.fixed_points.arguments import finite_pieces, is_positive_number
from symdlt.fixed_points.kernel_map import kernel_map
from symdlt.means.precise import DOUBLE, GaussianMeans

# Any positive number that floating point holds.
TINY, HUGE = 5e-324, sys.float_info.max


def gain(activation: ActivationLike, variance: float = 1.0) -> float:
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
    if not is_positive_number(variance, TINY, HUGE):
        raise SolutionError(
            f"{short_repr(variance)} is not a variance to keep. It stands as variance in the call. "
            "Give a positive number; 1 is usual."
        )
    read = read_activation(activation)
    pieces = finite_pieces(read)
    ((square,),) = GaussianMeans(pieces, [kernel_map().kernel], DOUBLE, powers=1)(float(variance))
    if square <= 0:
        raise SolutionError(
            f"The mean square of {read.name[:60]!r} is zero at a variance of {variance:g}. "
            "No gain makes it larger. Give a larger variance, or another activation."
        )
    return sqrt(variance / square)
