"""Trained networks of layers that are not dense: they read final tensors only."""

import numpy as np
import pytest

from symdlt import MLP, GradientDescent, Network, Stack, predict, predict_infinite
from symdlt.algebra import orthogonal, uniform
from symdlt.errors import TrainingError

X, Y, X_TEST = [[1.0, 0.5], [-0.3, 0.8]], [[1.0], [-1.0]], [[0.4, -0.2]]
VALUES = {"C_b": 0.1, "C_W": 1.1, "lambda_b": 0.3, "lambda_W": 0.7}
FIRST = "z' = b + W z"
RESIDUAL, READOUT = "z' = xi z + b + W s(z)", "z' = b + W s(z)"


def test_without_its_skip_a_network_trains_as_a_dense_one():
    network = Network("tanh", [30, 30], {**VALUES, "xi": 0.0}, [RESIDUAL, RESIDUAL, READOUT])
    found, expected = (
        predict(net, X, Y, X_TEST, GradientDescent(0.1))
        for net in (network, MLP(activation="tanh", widths=[30, 30], **VALUES))
    )
    for name, array in expected.arrays().items():
        np.testing.assert_allclose(found.arrays()[name], array, atol=1e-9, err_msg=name)


def test_a_skip_changes_what_is_learned():
    network = Network("tanh", [30, 30], {**VALUES, "xi": 0.8}, [RESIDUAL, RESIDUAL, READOUT])
    found = predict(network, X, Y, X_TEST)
    np.testing.assert_allclose(
        found.infinite.mean, predict_infinite(network, X, Y, X_TEST).mean, atol=1e-12
    )
    dense = predict_infinite(MLP(activation="tanh", widths=[30, 30], **VALUES), X, Y, X_TEST)
    assert abs(found.infinite.mean - dense.mean).max() > 1e-3
    assert np.isfinite(found.covariance).all()


@pytest.mark.parametrize(
    ("last", "more"),
    [
        (RESIDUAL, {"xi": 0.8}),
        ("h = W s(z); z' = h + U s(h)", {"C_U": 1.0, "lambda_U": 1.0}),
        ("h = W s(z); z' = h + U h", {"C_U": 1.0, "lambda_U": 1.0}),
        ("h = W s(z); z' = b + rmsnorm(h)", {}),
        ("h = b + W s(z); z' = layernorm(h)", {}),
    ],
)
def test_outputs_whose_neurons_are_read_are_refused(last, more):
    network = Network("tanh", [4], {**VALUES, **more}, [FIRST, last], n_L=4)
    with pytest.raises(TrainingError, match="keeps neurons that others read"):
        predict(network, X, [[1.0] * 4, [0.0] * 4], X_TEST)


@pytest.mark.parametrize(
    ("last", "more"),
    [
        ("h = W s(z); z' = h + U s(h)", {"C_U": 1.0, "lambda_U": 1.0}),
        ("h = W s(z); z' = b + rmsnorm(h)", {}),
    ],
)
def test_sums_over_outputs_are_random_at_infinite_width(last, more):
    """The one output of rmsnorm(h) is the sign of h, and no Gaussian."""
    network = Network("tanh", [4], {**VALUES, **more}, [FIRST, last])
    with pytest.raises(TrainingError, match="sums over neurons that its outputs keep"):
        predict_infinite(network, X, Y, X_TEST)


def test_dropout_is_no_network_that_is_trained():
    network = Network("tanh", [4], VALUES, [FIRST, "z' = b + W dropout(0.1) s(z)"])
    for of in (predict, predict_infinite):
        with pytest.raises(TrainingError, match="has dropout"):
            of(network, X, Y, X_TEST)


def test_a_skip_into_the_outputs_has_its_infinite_width():
    network = Network("tanh", [1], {**VALUES, "xi": 0.8}, RESIDUAL)
    assert np.isfinite(predict_infinite(network, X, Y, X_TEST).mean).all()


def test_outputs_may_keep_what_nothing_else_reads():
    scaled = {**VALUES, "C_W": (1.1, 4.4), "lambda_W": (0.7, 2.8)}
    found, expected = (
        predict(Network("tanh", [30], values, [FIRST, last]), X, Y, X_TEST)
        for values, last in [(VALUES, "h = W s(z); z' = b + 2 h"), (scaled, READOUT)]
    )
    for name, array in expected.arrays().items():
        np.testing.assert_allclose(found.arrays()[name], array, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("of", ["b", "W"])
def test_the_last_layer_has_no_fourth_cumulants(of):
    """Var of one W^2 enters B_1111 at one output: 2 of Gaussian weights, 4/5 of uniform ones."""
    network = Network("tanh", [30], VALUES, [FIRST, Stack(READOUT, laws={of: uniform})])
    with pytest.raises(TrainingError, match=f"{of} of the last layer .* no Gaussian law"):
        predict(network, X, Y, X_TEST)
    assert predict_infinite(network, X, Y, X_TEST).mean.shape == (1, 1)


def test_hidden_and_orthogonal_weights_may_have_laws():
    layers = [FIRST, Stack(READOUT, laws={"W": uniform}), Stack(READOUT, laws={"W": orthogonal})]
    assert np.isfinite(predict(Network("tanh", [30, 30], VALUES, layers), X, Y, X_TEST).mean).all()


def test_a_product_may_be_smoother_than_its_factors():
    layers = [FIRST, "z' = b + W abs(z) s(z)"]
    data = X[:1], Y[:1], X_TEST
    found = predict(Network("tanh", [30], VALUES, layers), *data)
    expected = predict(MLP(activation="abs(z)*tanh(z)", widths=[30], **VALUES), *data)
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-9)
