"""Where the NTK is infinite: samples that meet at a jump of the activation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from symdlt.activations import Activation
from symdlt.activations.activation import kinks_of
from symdlt.definitions import Network
from symdlt.errors import ActivationError
from symdlt.means import has_infinite_pair, meeting_jumps
from symdlt.networks.layer_means import orders_of
from symdlt.networks.tasks import Task, run
from symdlt.precision import TOLERANCE

Array = NDArray[np.float64]


def check_jumps(
    mlp: Network, overlap: Array, names: Sequence[str], entries: Sequence[Array]
) -> None:
    """Refuse the NTK of samples that meet at a jump of the activation.

    Where sigma jumps, the mean of two slopes at samples i, j that are equal, or |rho| = 1, is
    infinite, and so is H_ij of the next layer if H_ij is not zero. All other entries are finite.

    Args:
        mlp: the network.
        overlap: overlaps of all samples.
        names: the tensors that are asked for.
        entries: the samples along their first two axes.

    Raises:
        ActivationError: with the first such entry, and what to ask for.
    """
    if not isinstance(mlp.activation, Activation):
        return
    kinks = kinks_of(mlp.activation)
    if not any(row[0] for _, row in kinks):
        return
    jumps = np.array([row for _, row in kinks])
    bad = [name for name in names if has_infinite_pair(jumps, [*orders_of([name])])]
    if not bad:
        return
    infinite = np.argwhere(infinite_entries(mlp, overlap)[np.ix_(*entries)])
    if infinite.size:
        i, j = (int(block[at]) for block, at in zip(entries, infinite[0], strict=True))
        place = next(place for place, row in kinks if row[0])
        raise ActivationError(
            f"{' '.join(bad)} of {mlp.activation!r} at samples {i} and {j} cannot be had: it jumps "
            f"at z = {place:g}, and where samples meet, <sigma' sigma'> is the infinite mean of a "
            "product of delta functions. Entries of samples that differ are finite: ask for these, "
            "as with blocks=([0], [1, 2]), or for other tensors, or smooth the jump."
        )


def infinite_entries(mlp: Network, overlap: Array) -> NDArray[np.bool_]:
    """The pairs of samples whose NTK is infinite at the last layer."""
    samples = tuple(range(len(overlap)))
    (kernels,) = run(Task(mlp, overlap, ("G",), None, ((samples, samples),), TOLERANCE))
    K = kernels["G"]
    zero = (0.0,) * mlp.depth
    lambda_b, lambda_W = mlp.lambda_b or zero, mlp.lambda_W or zero
    assert isinstance(mlp.activation, Activation)
    kinks = kinks_of(mlp.activation)
    learning = lambda_b[0] + lambda_W[0] * overlap != 0.0
    infinite: NDArray[np.bool_] = np.zeros_like(learning)
    for layer in range(1, mlp.depth):
        passed = learning & (mlp.C_W[layer] != 0.0)
        infinite = (infinite & passed) | (passed & meeting_jumps(kinks, K[layer - 1]))
        learning = passed | (lambda_b[layer] + lambda_W[layer] != 0.0)
    return infinite
