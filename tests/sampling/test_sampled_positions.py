"""Sampled networks with positions: derivatives, and the tensors of the theory."""

import numpy as np
import pytest
from cases import slow, swept
from sampling.complex_steps import GIVEN, check_derivatives

from symdlt import Network, check
from symdlt.errors import SamplingError
from symdlt.sampling import draw_parameters, evaluate_networks

FIRST = "z' = b + W[3] z"
FLAT, MEAN = "z' = b + W[all] s(z)", "z' = b + W[mean] s(z)"
CIRCULAR, STRIDED = "z' = b + W[3] s(z)", "z' = b + W[2, zero, stride 2] s(z)"
POOLED, RESIDUAL = "z' = b + W[2, pool 2] s(z)", "z' = z + b + W[3, zero] s(z)"
NORMED = "z' = z + b + W[2] s(layernorm(z))"
VALUES = {"C_b": 0.1, "C_W": 1.3, "lambda_b": 0.2, "lambda_W": 0.6}
X = np.random.default_rng(1).standard_normal((2, 3, 4))


def network(name, layers, width, outputs=4):
    return Network(name, [width] * (len(layers) - 1), VALUES, layers, n_L=outputs)


@pytest.mark.parametrize(
    "layers",
    [[CIRCULAR, FLAT], [STRIDED, MEAN], [POOLED, FLAT], [RESIDUAL, MEAN], [NORMED, FLAT]],
)
def test_derivatives_of_networks_with_positions(layers):
    check_derivatives(network("tanh", [FIRST, *layers], 2, 2).resized(n_0=3, positions=(4,)), X)


def test_a_plane_of_positions():
    """A window of 2 x 2 written out: a sum over offsets, each with weights of its own."""
    layers = ["z' = W[2x2, valid] z", "z' = W[all] z"]
    x = np.random.default_rng(2).standard_normal((2, 3, 3, 4))
    net = Network("tanh", [5], {"C_W": 1.0}, layers, n_L=2, n_0=3, positions=(3, 4))
    drawn = draw_parameters(net, 1, np.random.default_rng(3))
    first, second = (weights[0] for weights in drawn.weights)
    blocks = first.reshape(5, 4, 3)
    z = sum(
        np.einsum("ij,ajpq->aipq", blocks[:, k], x[:, :, r : r + 2, c : c + 3])
        for k, (r, c) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)])
    )
    expected = np.einsum("ipj,ajp->ai", second.reshape(2, 6, 5), z.reshape(2, 5, 6))
    found = evaluate_networks(drawn, net, GIVEN, x, ["z"])["z"][0]
    np.testing.assert_allclose(found, expected.T, rtol=1e-12)


def test_outputs_with_positions_are_not_sampled():
    with pytest.raises(SamplingError, match="have positions"):
        check(network("tanh", [FIRST, CIRCULAR], 5), X, ["G"], networks=100)


@pytest.mark.parametrize("layers", [[CIRCULAR, FLAT], [RESIDUAL, MEAN]])
def test_theory_and_sampled_networks_with_positions_agree(layers):
    comparison = check(
        network("swish", [FIRST, *layers], 16), X[:1], ["G", "H", "V", "B", "F"], networks=400
    )
    assert comparison.agrees


CASES = {
    "flattened": ("swish", [CIRCULAR, POOLED, FLAT]),
    "strided": ("tanh", [RESIDUAL, STRIDED, MEAN]),
    "normalised": ("swish", [NORMED, CIRCULAR, FLAT]),
}


@pytest.mark.parametrize("case", [swept("flattened"), slow("strided"), swept("normalised")])
def test_all_tensors_of_convolutions(case):
    name, layers = CASES[case]
    comparison = check(network(name, [FIRST, *layers], 32), X, networks=150, seed=3)
    print(case, comparison, sep="\n")
    assert comparison.agrees
