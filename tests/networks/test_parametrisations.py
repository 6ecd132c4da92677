"""Conversions of parametrisations, by networks that are written down as frameworks store them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from symdlt.errors import InputError, KernelError
from symdlt.networks import (
    PARAMETRISATIONS,
    FrameworkLayer,
    framework_layers,
    from_framework,
    network_parameters,
    to_framework,
)
from symdlt.sampling import NetworkEnsemble, evaluate_networks

WIDTHS = (3, 8, 6, 2)
X = np.array([[0.6, -0.3, 1.1], [0.2, 0.9, -0.4]])
TANH = (np.tanh, lambda z: 1 - np.tanh(z) ** 2)
ENSEMBLE = NetworkEnsemble.of(
    WIDTHS,
    C_b=(0.1, 0.2, 0.3),
    C_W=(1.2, 1.5, 1.1),
    lambda_b=(0.3, 0.5, 0.2),
    lambda_W=(0.7, 1.0, 0.9),
)


def stored(layers, seed=0):
    """What a framework draws, as one vector with the learning rate of each entry."""
    rng = np.random.default_rng(seed)
    values, rates = [], []
    for (below, above), one in zip(pairwise(WIDTHS), layers, strict=True):
        values += [one.weight_std * rng.standard_normal(above * below)]
        values += [one.bias_std * rng.standard_normal(above)]
        rates += [np.full(above * below, one.weight_rate), np.full(above, one.bias_rate)]
    return np.concatenate(values), np.concatenate(rates)


def unpacked(vector):
    weights, biases, start = [], [], 0
    for below, above in pairwise(WIDTHS):
        weights.append(vector[start : start + above * below].reshape(above, below))
        start += above * below
        biases.append(vector[start : start + above])
        start += above
    return weights, biases


def outputs(layers, vector):
    """The network as a framework computes it, outputs by samples."""
    signal = X.T
    for number, (one, w, b) in enumerate(zip(layers, *unpacked(vector), strict=True)):
        z = one.weight_multiplier * (w @ signal) + one.bias_multiplier * b[:, None]
        signal = z if number == len(layers) - 1 else np.tanh(z)
    return signal


def jacobian(layers, vector):
    """By complex steps, parameters along the last axis."""
    steps = (vector + 1e-30j * row for row in np.eye(len(vector)))
    return np.stack([outputs(layers, moved).imag / 1e-30 for moved in steps], axis=-1)


@pytest.mark.parametrize("name", PARAMETRISATIONS)
def test_functions_and_their_ntk_are_those_of_the_framework(name):
    layers = to_framework(ENSEMBLE, name)
    vector, rates = stored(layers)
    slopes = jacobian(layers, vector)
    ntk = np.einsum("iap,jbp,p->ijab", slopes, slopes, rates)
    found = evaluate_networks(
        network_parameters(layers, *unpacked(vector)), ENSEMBLE, TANH, X, ["z", "H"]
    )
    assert np.abs(found["z"][0] - outputs(layers, vector)).max() < 1e-14
    assert np.abs(found["H"][0] - ntk).max() < 1e-13 * np.abs(ntk).max()


@pytest.mark.parametrize("name", PARAMETRISATIONS)
def test_training_is_the_same_in_each(name):
    """Ten steps of gradient descent, from the same functions."""

    def trained(layers):
        vector, rates = stored(layers)
        for _ in range(10):
            error = outputs(layers, vector) - np.array([[1.0, -1.0], [0.5, 0.0]])
            gradient = np.einsum("iap,ia->p", jacobian(layers, vector), error)
            vector = vector - 0.05 * rates * gradient
        return outputs(layers, vector)

    found, right = trained(to_framework(ENSEMBLE, name)), trained(to_framework(ENSEMBLE, "ntk"))
    assert np.abs(found - right).max() < 1e-13


@pytest.mark.parametrize("name", PARAMETRISATIONS)
def test_there_and_back_again(name):
    back = from_framework(WIDTHS, to_framework(ENSEMBLE, name))
    for symbol in ("C_b", "C_W", "lambda_b", "lambda_W"):
        assert getattr(back, symbol) == pytest.approx(getattr(ENSEMBLE, symbol), rel=1e-14)


def test_defaults_of_the_frameworks():
    """One learning rate for all weights in the standard parametrisation is n times it in lambda."""
    layers = framework_layers("standard", WIDTHS, weight_sigma=2**0.5, weight_eta=0.01)
    found = from_framework(WIDTHS, layers)
    assert pytest.approx((2.0, 2.0, 2.0), rel=1e-15) == found.C_W
    assert found.lambda_W == pytest.approx((0.03, 0.08, 0.06), rel=1e-15)
    assert found.lambda_b == (0.01,) * 3
    uniform = FrameworkLayer(1.0, 1.0, (3 * 8) ** -0.5, 0.0, 0.1, 0.1)  # PyTorch: 1/sqrt(n) wide
    assert pytest.approx((1 / 3,)) == from_framework((8, 1), [uniform]).C_W


@pytest.mark.parametrize("name", ["mean_field", "mup"])
def test_features_move_as_much_at_every_width(name):
    """The first step moves hidden preactivations by O(1), and the output by O(1)."""

    def numbers(n):
        ensemble = from_framework((3, n, n, 1), framework_layers(name, (3, n, n, 1)))
        return np.array([ensemble.C_W, ensemble.lambda_W, ensemble.lambda_b])

    small, large = numbers(100), numbers(400)
    growth = np.log(large / small) / np.log(4)
    assert growth == pytest.approx(np.array([[0, 0, -1], [1, 1, 0], [1, 1, 0]]), abs=1e-12)


def test_mup_is_the_mean_field_but_for_the_input():
    widths = (3, 50, 50, 1)
    fields, mup = (
        from_framework(widths, framework_layers(p, widths)) for p in ("mean_field", "mup")
    )
    assert pytest.approx(mup.C_W) == fields.C_W
    ratio = np.array(mup.lambda_W) / np.array(fields.lambda_W)
    assert ratio == pytest.approx(np.array([3.0, 1.0, 1.0]))
    assert fields.lambda_b == mup.lambda_b


def test_what_is_no_parametrisation_is_refused():
    with pytest.raises(InputError, match="no parametrisation 'pytorch'"):
        framework_layers("pytorch", WIDTHS)
    with pytest.raises(KernelError, match="bias_sigma is -1"):
        framework_layers("ntk", WIDTHS, bias_sigma=-1)
    with pytest.raises(KernelError, match="lambda_b is 1 at layer 1"):
        to_framework(NetworkEnsemble.of(WIDTHS, lambda_b=1.0), "neural_tangents")
    with pytest.raises(KernelError, match="2 layers of a framework for 3"):
        from_framework(WIDTHS, framework_layers("ntk", WIDTHS)[:2])
    layers = framework_layers("ntk", WIDTHS)
    weights, biases = unpacked(stored(layers)[0])
    for given in ([w.T for w in weights], weights[:2]):
        with pytest.raises(KernelError, match=r"do not make a network|layers of a framework"):
            network_parameters(layers, given, biases)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("weight_std", "a", InputError),
        ("bias_rate", 1j, InputError),
        ("bias_multiplier", None, InputError),
        ("weight_std", [1.0, 2.0], KernelError),
        ("weight_std", -1.0, KernelError),
        ("weight_rate", -0.1, KernelError),
        ("bias_std", np.nan, KernelError),
        ("weight_multiplier", np.inf, KernelError),
    ],
)
def test_what_is_no_number_of_a_layer(name, value, error):
    usual = FrameworkLayer(-1, 1, 0.5, 0, 0.1, 0.1)
    with pytest.raises(error, match=f"{name} is "):
        replace(usual, **{name: value})
