"""Trained networks of layers that are not dense: they read final tensors only."""

import numpy as np
import pytest

from symdlt import MLP, GradientDescent, Network, predict, predict_infinite
from symdlt.errors import TrainingError

X, Y, X_TEST = [[1.0, 0.5], [-0.3, 0.8]], [[1.0], [-1.0]], [[0.4, -0.2]]
VALUES = {"C_b": 0.1, "C_W": 1.1, "lambda_b": 0.3, "lambda_W": 0.7}
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


def test_outputs_that_keep_their_neurons_are_refused():
    network = Network("tanh", [1], {**VALUES, "xi": 0.8}, RESIDUAL)
    with pytest.raises(TrainingError, match="keeps neurons that are read"):
        predict(network, X, Y, X_TEST)


def test_outputs_that_weights_read_are_refused():
    values = {**VALUES, "C_U": 1.0, "lambda_U": 1.0}
    network = Network("tanh", [9], values, [READOUT, "h = U s(z); z' = h + W s(h)"])
    with pytest.raises(TrainingError, match="keeps neurons that are read"):
        predict(network, X, Y, X_TEST)
