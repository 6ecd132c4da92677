"""Sampled networks of several streams a layer: derivatives, and the tensors of the theory."""

import numpy as np
import pytest
from cases import slow, swept
from sampling.complex_steps import SINE, check_derivatives

from symdlt import Network, check
from symdlt.definitions import ascii_name, read_layer_definition
from symdlt.errors import ActivationError
from symdlt.sampling import draw_parameters, evaluate_networks

FIRST, READOUT = "z' = b + W z", "z' = b + W s(z)"
GATE = "u = U z; v = V z; z' = b + W s(u) v"
BLOCK = "h = U s(z); z' = xi z + 2 W s(h)"
MIXED = "u = U z; y = 1/2 u + b; z' = W (tanh(y) + 1/3 s(u) - y)"
RESIDUAL = "z' = xi z + b + W s(z)"
NORMED = "h = U s(rmsnorm(z)); z' = z + W s(h)"
CENTRED = "z' = z + W s(layernorm(z)) + b"
MASKED = "m = dropout(0.4); u = U prune(1/5) s(z); z' = b + W (m s(u) m + m u)"
VALUES = {"C_U": 1.2, "C_V": 0.9, "C_W": 1.1, "C_b": 0.1, "xi": 0.5**0.5}
VALUES |= {"lambda_U": 0.3, "lambda_V": 0.5, "lambda_W": 0.7, "lambda_b": 0.2}
X = [[1.0, 0.3], [-0.4, 0.8]]


def network(name, layers, width, outputs=4, inner=None):
    """The layers between a linear first layer and a dense readout."""
    every = [FIRST, *layers, READOUT]
    symbols = {ascii_name(s) for layer in every for s in read_layer_definition(layer).symbols}
    values = {symbol: VALUES[symbol] for symbol in symbols}
    widths = [width] * (len(every) - 1)
    return Network(name, widths, values, every, n_L=outputs, inner=inner)


@pytest.mark.parametrize("layer", [GATE, BLOCK, MIXED, RESIDUAL, NORMED, CENTRED, MASKED])
def test_the_ntk_and_its_differential_are_derivatives_by_all_parameters(layer):
    check_derivatives(network("tanh", [layer], 3, outputs=2).resized(n_0=2), X)


def test_functions_of_a_layer_that_are_not_given_are_named():
    net = network("tanh", [MIXED], 3).resized(n_0=2)
    drawn = draw_parameters(net, 1, np.random.default_rng(0))
    with pytest.raises(ActivationError, match="read tanh, which have no functions"):
        evaluate_networks(drawn, net, {"s": SINE}, X, ["z"])


@pytest.mark.parametrize("layer", [GATE, BLOCK, MIXED, NORMED, CENTRED])
def test_theory_and_sampled_stacks_agree(layer):
    net = network("swish", [layer], 10)
    comparison = check(net, X[:1], ["G", "H", "V", "B", "F", "D"], networks=1000, seed=2)
    assert comparison.agrees
    assert max(abs(comparison.z_scores(name)).max() for name in comparison.names) < 4


# Products of fields make the terms of order 1/n² large: gated networks are wider, and of tanh.
CASES = {
    "residual": ("swish", [RESIDUAL] * 2, 32, None),
    "residual tanh": ("tanh", [RESIDUAL] * 2, 32, None),
    "gated": ("tanh", [GATE] * 2, 40, {"u": 48}),
    "block": ("swish", [BLOCK] * 2, 32, {"h": 40}),
    "rmsnorm": ("swish", [NORMED] * 2, 64, {"h": 80}),
    "layernorm": ("swish", [CENTRED] * 2, 64, None),
}


@pytest.mark.parametrize("case", [(slow if case == "block" else swept)(case) for case in CASES])
def test_all_tensors_of_four_layers(case):
    name, layers, width, inner = CASES[case]
    count = 1000 if width == 32 else 500  # wider ones are slower, and need fewer
    comparison = check(network(name, layers, width, inner=inner), X, networks=count, seed=3)
    print(case, comparison, sep="\n")
    assert comparison.agrees


@pytest.mark.slow
def test_residual_relu_at_depth_six():
    names = ["G", "H", "V", "A", "B", "D", "F"]
    comparison = check(network("relu", [RESIDUAL] * 4, 32), X, names, networks=6000, seed=4)
    print(comparison)
    assert comparison.agrees


@pytest.mark.slow
def test_the_recursion_of_the_last_layer_is_not_that_of_residual_networks():
    """V' = χ²V + C_W²(⟨σ⁴⟩ - ⟨σσ⟩²) + 2ξ²C_W(⟨z²σσ⟩ - K⟨σσ⟩) of ReLU with χ = 1, K = 1."""
    xi, C, depth, n = 0.5**0.5, 1.0, 6, 48
    network = Network("relu", [n] * (depth - 1), {"C_b": 0.0, "C_W": C, "xi": xi}, RESIDUAL, n_L=n)
    comparison = check(network, [[1.0]], ["V"], networks=20_000, seed=6)
    measured, error = comparison.measured["V"].item(), comparison.errors["V"].item()
    truncated = (depth - 1) * (C**2 * (3 / 2 - 1 / 4) + 2 * xi**2 * C * (3 / 2 - 1 / 2))
    scores = [(measured - value) / error for value in (comparison.theory["V"].item(), truncated)]
    print(f"V of residual ReLU at depth {depth}: z = {scores[0]:.2f}, truncated {scores[1]:.2f}")
    assert abs(scores[0]) < 4
    assert scores[1] > 6
