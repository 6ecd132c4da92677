"""Sampled networks of several streams a layer: derivatives, and the tensors of the theory."""

import numpy as np
import pytest

from symdlt import Network, check
from symdlt.definitions import ascii_name, program_of, read_layer_definition
from symdlt.errors import ActivationError
from symdlt.sampling import NetworkParameters, draw_parameters, evaluate_networks

FIRST, READOUT = "z' = b + W z", "z' = b + W s(z)"
GATE = "u = U z; v = V z; z' = b + W s(u) v"
BLOCK = "h = U s(z); z' = xi z + 2 W s(h)"
MIXED = "u = U z; y = 1/2 u + b; z' = W (tanh(y) + 1/3 s(u) - y)"
RESIDUAL = "z' = xi z + b + W s(z)"
NORMED = "h = U s(rmsnorm(z)); z' = z + W s(h)"
CENTRED = "z' = z + W s(layernorm(z)) + b"
VALUES = {"C_U": 1.2, "C_V": 0.9, "C_W": 1.1, "C_b": 0.1, "xi": 0.5**0.5}
VALUES |= {"lambda_U": 0.3, "lambda_V": 0.5, "lambda_W": 0.7, "lambda_b": 0.2}
X = [[1.0, 0.3], [-0.4, 0.8]]
STEP = 1e-20  # of complex-step derivatives, which have no rounding error


def network(name, layers, width, outputs=4, inner=None):
    """The layers between a linear first layer and a dense readout."""
    every = [FIRST, *layers, READOUT]
    symbols = {ascii_name(s) for layer in every for s in read_layer_definition(layer).symbols}
    values = {symbol: VALUES[symbol] for symbol in symbols}
    widths = [width] * (len(every) - 1)
    return Network(name, widths, values, every, n_L=outputs, inner=inner)


def square(z):
    return 1 - np.tanh(z) ** 2


# Functions that take complex numbers.
SINE = (np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z))
TANH = (
    np.tanh,
    square,
    lambda z: -2 * np.tanh(z) * square(z),
    lambda z: square(z) * (4 - 6 * square(z)),
)


@pytest.mark.parametrize("layer", [GATE, BLOCK, MIXED, RESIDUAL, NORMED, CENTRED])
def test_the_ntk_and_its_differential_are_derivatives_by_all_parameters(layer):
    """H is a sum over complex-step derivatives of z, and dH one over those of H."""
    net = network("tanh", [layer], 3, outputs=2).resized(n_0=2)
    given = {"s": SINE, "tanh": TANH}
    drawn = draw_parameters(net, 1, np.random.default_rng(5))
    rates = [b.entry_rate for field in program_of(net).fields for b in field.drawn]
    sites = [b.site for field in program_of(net).fields for b in field.drawn]
    ordered = [r for r, s in zip(rates, sites, strict=True) if s is not None]
    ordered += [r for r, s in zip(rates, sites, strict=True) if s is None]
    arrays = [*drawn.weights, *drawn.biases]
    slopes = {"z": 0.0, "H": 0.0}
    for place, array in enumerate(arrays):
        for entry in np.ndindex(array.shape):
            moved = [one.astype(complex) for one in arrays]
            moved[place][entry] += 1j * STEP
            count = len(drawn.weights)
            parameters = NetworkParameters(tuple(moved[:count]), tuple(moved[count:]))
            found = evaluate_networks(parameters, net, given, X, ["z", "H"])
            z, H = (found[name][0].imag / STEP for name in ("z", "H"))
            slopes["z"] = slopes["z"] + ordered[place] * np.einsum("ia,jb->ijab", z, z)
            slopes["H"] = slopes["H"] + ordered[place] * np.einsum("ia,jkbc->ijkabc", z, H)
    expected = evaluate_networks(drawn, net, given, X, ["H", "dH"])
    np.testing.assert_allclose(slopes["z"], expected["H"][0], atol=1e-13)
    # dH_{0;12} differentiates z_0 twice; that of H_{12} by the parameters of z_0 is two of them.
    dH = expected["dH"][0]
    twice = np.einsum("jikbac->ijkabc", dH) + np.einsum("kijcab->ijkabc", dH)
    np.testing.assert_allclose(slopes["H"], twice, atol=1e-13)


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
    "rmsnorm": ("swish", [NORMED] * 2, 64, {"u": 80}),
    "layernorm": ("swish", [CENTRED] * 2, 64, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_all_tensors_of_four_layers(case):
    name, layers, width, inner = CASES[case]
    comparison = check(network(name, layers, width, inner=inner), X, networks=1000, seed=3)
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
