"""Functions of one field, multiplied or added, against the same network of one activation."""

import numpy as np
import pytest
from cases import swept

from symdlt import Network, check, propagate
from symdlt.errors import ActivationError, LayerError
from symdlt.networks.joined_functions import joined_program

DENSE, READ = "z' = b + W z", "z' = b + W s(z)"
VALUES = {"C_b": 0.1, "C_W": 0.9, "lambda_b": 0.1, "lambda_W": 0.9}
X = [[1.0, 0.5], [0.3, -0.7]]
FINITE = (*"GHVABDFPQ", "G.1", "H.1")


def network(activation, *layers):
    widths = [8] * (len(layers) - 1)
    return Network(activation, widths, VALUES, [*layers], n_0=2)


@pytest.mark.parametrize(
    ("activation", "text", "whole"),
    [
        ("relu", "(s(z) z)", "z*max(0,z)"),
        swept("relu", "s(z) s(z)", "max(0,z)**2"),
        swept("tanh", "sin(z) s(z)", "sin(z)*tanh(z)"),
        ("relu", "sin(z) s(z)", "sin(z)*max(0,z)"),
        ("max(0, x)", "(s(z) z)", "z*max(0,z)"),
    ],
)
def test_products_of_one_field_are_one_activation(activation, text, whole):
    layer = f"z' = b + W {text}"
    known = (*"GHVBF",) if whole == "sin(z)*max(0,z)" else FINITE
    found = propagate(network(activation, DENSE, layer, layer), X[:1], known)
    expected = propagate(network(whole, DENSE, READ, READ), X[:1], known)
    dense = propagate(Network(whole, [8, 8], VALUES), X[:1], known)
    for name in known:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)
        np.testing.assert_allclose(found[name], dense[name], rtol=1e-7)


@pytest.mark.slow
def test_products_and_sums_with_a_kink_next_to_a_skip():
    skip = "z' = z + b + W s(z)"
    for text, whole, names in (
        ("(s(z) z)", "z*max(0,z)", FINITE),
        ("(1/2 s(z) + 1/4 z sin(z))", "max(0,z)/2 + z*sin(z)/4", (*"GH",)),
    ):
        layer = f"z' = z + b + W {text}"
        last = f"z' = b + W {text}"
        found = propagate(network("relu", DENSE, layer, layer, last), X[:1], names)
        expected = propagate(network(whole, DENSE, skip, skip, READ), X[:1], names)
        for name in names:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)


def test_mixtures_with_a_kink_are_the_dense_network_of_the_sum():
    mixed = network("relu", DENSE, "z' = b + W (s(z) + 1/2 sin(z))", "z' = b + W sin(z)")
    names = (*"GHVBF",)
    found = propagate(mixed, X, names)
    expected = propagate(network("relu(z) + sin(z)/2", DENSE, READ, "z' = b + W sin(z)"), X, names)
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)


def test_what_a_square_of_relu_has_is_known_in_closed_form():
    """<relu(z)^4> = 3 K^2/2 and <(d relu^2)^2> = 2 K; V = C_W^2 (<relu^8> - <relu^4>^2) + …."""
    values = {"C_b": 0.0, "C_W": 1.0, "lambda_b": 0.0, "lambda_W": 1.0}
    squared = Network("relu", [8, 8], values, [DENSE, "z' = b + W s(z) s(z)", DENSE], n_0=1)
    found = propagate(squared, [[1.0]], [*"GHV"])
    assert found["G"][1, 0, 0] == pytest.approx(1.5)
    assert found["H"][1, 0, 0] == pytest.approx(1.5 + 2.0)
    assert found["V"][1].item() == pytest.approx(105 / 2 - 1.5**2)


def test_sampled_networks_agree():
    product = Network(
        "relu", [12, 12], VALUES, [DENSE, "z' = b + W sin(z) s(z)", READ], n_0=2, n_L=4
    )
    assert check(product, X, ["G", "H", "V"], networks=2000, seed=3).agrees


def test_what_is_left_as_it_is():
    rates = {"C_U": 1.0, "C_V": 1.0, "lambda_U": 1.0, "lambda_V": 1.0}
    layers = [DENSE, "u = U z; v = V z; z' = b + W s(u) v", READ]
    gate = Network("relu", [8, 8], VALUES | rates, layers, n_0=2)
    assert joined_program(gate).names == ("s",)
    smooth = network("tanh", DENSE, "z' = b + W (s(z) z)", "z' = b + W (s(z) + sin(z))")
    assert joined_program(smooth).names == ("s", "sin")
    given = (np.tanh, lambda z: 1 / np.cosh(z) ** 2, lambda z: -2 * np.tanh(z) / np.cosh(z) ** 2)
    functions = network(given, DENSE, "z' = b + W sin(z) s(z)", READ)
    with pytest.raises(LayerError, match=r"can be one activation, as \"sin\(z\)\*tanh\(z\)\""):
        propagate(functions, X[:1], "V")


def test_infinity_is_told_of_the_product():
    with pytest.raises(ActivationError, match=r"^R of Activation\(relu"):
        propagate(network("relu", DENSE, READ, "z' = b + W sin(z)"), X[:1], "R")
    layer = "z' = b + W (s(z) z)"
    found = propagate(network("relu", DENSE, layer, layer), X[:1], [*"RSTU"])
    expected = propagate(Network("z*max(0,z)", [8, 8], VALUES), X[:1], [*"RSTU"])
    for name in "RSTU":
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-8)
    step = "z' = b + W (step(z) z)"
    with pytest.raises(ActivationError, match=r"^R of Activation\(heaviside\(z\)\*z\)"):
        propagate(network("relu", DENSE, step, step), X[:1], "R")


def test_two_kinked_activations_at_fields_that_differ_are_refused():
    skip = "z' = z + b + W s(z)"
    with pytest.raises(LayerError, match="Give both layers one activation"):
        propagate(network("relu", DENSE, skip, "z' = b + W tanh(z)"), X[:1], "V")
    hard = network("min(1,max(-1,z))", DENSE, skip, "z' = b + W tanh(z)")
    with pytest.raises(LayerError, match="Give both layers one activation"):
        propagate(hard, X[:1], "V")
