"""H.1 of layers with a kink that keep z: limits of smooth activations, and sampled networks."""

import numpy as np
import pytest
from cases import slow, swept

from symdlt import Network, check, propagate

VALUES = {"C_b": 0.1, "C_W": 0.9, "lambda_b": 0.1, "lambda_W": 0.9}
LAYERS = ["z' = b + W z", "z' = z + b + W s(z)", "z' = z + b + W s(z)", "z' = b + W s(z)"]


def corrected(activation, x, layers=LAYERS):
    network = Network(activation, [8] * (len(layers) - 1), VALUES, layers)
    return propagate(network, x, "H.1", tolerance=1e-6)["H.1"]


@pytest.mark.parametrize(
    ("kinked", "smooth"),
    [
        slow("relu", "softplus({b}*z)/{b}"),
        swept("leaky_relu(z, 0.2)", "0.2*z + 0.8*softplus({b}*z)/{b}"),
        swept("z - relu(z - 1)", "z - softplus({b}*(z - 1))/{b}"),
    ],
)
def test_the_limit_of_smooth_activations(kinked, smooth):
    """What is left at b is of the order 1/b, and of twice that at 2b less it of the order 1/b^2."""
    found = corrected(kinked, [[1.0, 0.5]])
    limits = [corrected(smooth.format(b=b), [[1.0, 0.5]]) for b in (32, 64, 128)]
    left = [np.abs(one - found).max() for one in limits]
    assert left[2] < 0.6 * left[1] < 0.36 * left[0]
    beyond = [2 * limits[k + 1] - limits[k] for k in (0, 1)]
    left_beyond = [np.abs(one - found).max() for one in beyond]
    assert left_beyond[1] < 0.35 * left_beyond[0]
    assert left_beyond[1] < 0.05 * left[2]


@pytest.mark.sweep
def test_the_limit_for_two_inputs():
    x = [[1.0, 0.5], [0.3, -0.7]]
    found = corrected("relu", x)
    limits = [corrected(f"softplus({b}*z)/{b}", x) for b in (16, 32)]
    left = [np.abs(one - found).max() for one in (*limits, 2 * limits[1] - limits[0])]
    assert left[2] < 0.1 * left[1] < 0.06 * left[0]


@pytest.mark.slow
@pytest.mark.montecarlo
def test_sampled_networks_agree():
    residual = Network("relu", [12, 12, 12], VALUES, LAYERS, n_L=8)
    assert check(residual, [[1.0, 0.5]], ["G", "H", "G.1", "H.1"], networks=100_000, seed=5).agrees
