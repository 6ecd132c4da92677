"""The kernel of the thirteen recursions against real networks: three inputs, unequal widths.

The networks know nothing of the recursions; they are drawn and differentiated. They have a finite
width, and the recursions are the limit of a large one, so that two sizes are measured and the
correction of relative order 1/n is fitted away.
"""

import numpy as np
import pytest
from cases import slow, swept

from oracle.montecarlo import extrapolate, function_of
from symdlt import BOOK
from symdlt.kernels.many_inputs import propagate
from symdlt.sampling import NetworkEnsemble, measure

INPUTS = np.array([[1.0, 0.4, -0.8], [0.3, -0.9, 0.7], [-0.6, 0.5, 0.2]])
RATES = {
    "C_b": (0.2, 0.1, 0.15, 0.1),
    "C_W": (1.2, 1.4, 1.1, 1.3),
    "lambda_b": (0.3, 0.5, 0.2, 0.4),
    "lambda_W": (0.8, 0.6, 0.9, 0.7),
}
HIDDEN = (6, 9, 8)
SCALES = (2, 4)
NETWORKS = {2: 40_000, 3: 20_000, 4: 15_000}


def widths(depth, scale):
    return tuple(scale * width for width in HIDDEN[: depth - 1])


def rates(depth):
    return {name: numbers[:depth] for name, numbers in RATES.items()}


def predicted(activation, depth):
    """The thirteen tensors of the output layer at leading order, at all tuples of inputs."""
    overlap = INPUTS @ INPUTS.T / INPUTS.shape[1]
    layers = propagate(
        activation, overlap, depth, widths=widths(depth, 1), tensors=BOOK, **rates(depth)
    )
    return {name: tensor[-1] for name, tensor in layers.items()}


@pytest.mark.montecarlo
@pytest.mark.parametrize(("name", "depth"), [slow("tanh", 3), swept("swish", 2), swept("sine", 4)])
def test_thirteen_tensors(name, depth):
    activation = function_of(name)
    expected = predicted(activation, depth)
    rng = np.random.default_rng(2024)
    measured = {
        scale: measure(
            NetworkEnsemble.of((3, *widths(depth, scale), 2), **rates(depth)),
            activation,
            INPUTS,
            list(BOOK),
            NETWORKS[depth],
            rng,
        )
        for scale in SCALES
    }
    worst = {}
    for tensor in BOOK:
        limit = extrapolate({scale: m[tensor] for scale, m in measured.items()})
        worst[tensor] = np.abs(limit.z_scores(expected[tensor])).max()
        size = np.abs(expected[tensor]).max()
        error = limit.standard_errors.max()
        print(
            f"{name} L={depth} {tensor}: worst |z| = {worst[tensor]:.2f}, "
            f"size {size:.3f}, error {error:.3f}"
        )
    assert max(worst.values()) < 4.5
