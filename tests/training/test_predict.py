"""Identities of predictions, and what is refused."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cases import slow

import symdlt.training.prediction_at_finite_width as finite_width
from symdlt import MLP
from symdlt.errors import TrainingError
from symdlt.networks import tasks
from symdlt.training import (
    CustomAlgorithm,
    GradientDescent,
    GradientFlow,
    TwoStep,
    posterior,
    predict,
    predict_infinite,
    predict_kernel,
    projectors,
    train_network,
    trained_ntk,
)

RNG = np.random.default_rng(8)
X, TEST = RNG.standard_normal((3, 4)), RNG.standard_normal((2, 4))
Y = RNG.standard_normal((3, 2))


def network(**changes):
    known = {"activation": "tanh", "widths": [40, 30], "C_b": 0.1, "C_W": 1.0, "n_L": 2}
    return MLP(**known | {"lambda_b": 0.3, "lambda_W": 1.0} | changes)


def same(first, second):
    np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("algorithm", [GradientDescent(0.2), GradientFlow(), TwoStep()])
def test_training_samples_are_reproduced(algorithm):
    found = predict(network(), X, Y, X[:2], algorithm)
    same(found.mean, Y[:2])
    same(found.covariance, np.zeros((2, 2, 2, 2)))


def test_order_of_samples_and_of_outputs():
    found = predict(network(), X, Y, TEST, GradientDescent(0.2))
    turned = predict(network(), X[[2, 0, 1]], Y[[2, 0, 1]], TEST[::-1], GradientDescent(0.2))
    same(turned.mean, found.mean[::-1])
    same(turned.covariance, found.covariance[::-1, ::-1])
    swapped = predict(network(), X, Y[:, ::-1], TEST, GradientDescent(0.2))
    same(swapped.mean, found.mean[:, ::-1])
    same(swapped.covariance, found.covariance[:, :, ::-1, ::-1])


@pytest.mark.parametrize("covariance", [slow(True), False])
def test_test_samples_in_chunks(monkeypatch, covariance):
    """With memory for one or two chunks of test samples at a time, here or in threads."""
    tests, flow = RNG.standard_normal((5, 4)), GradientFlow(2.0)
    whole = predict(network(), X, Y, tests, flow, covariance=covariance)
    names = finite_width.COVARIANCE if covariance else finite_width.MEAN
    four = sum(name not in ("G", "H", "G.1", "H.1") for name in names)
    room = 8 * (tasks.ARRAYS + tasks.ARRAYS_EACH * four) * (7 if covariance else 5) ** 4
    monkeypatch.setattr(tasks, "TOGETHER", room)
    problem = finite_width.checked(network(), X, Y, tests, flow, 0.0)
    chunks = finite_width.test_chunks(problem, names, 1 + covariance)
    assert [len(chunk) for chunk in chunks] == [1, 2, 2]
    cut = predict(network(), X, Y, tests, flow, covariance=covariance)
    assert {*cut.parts} == {*whole.parts}
    assert {*cut.covariance_parts} == {*whole.covariance_parts}
    for name, array in whole.arrays().items():
        np.testing.assert_allclose(cut.arrays()[name], array, rtol=0, atol=1e-8, err_msg=name)
    with ThreadPoolExecutor(2) as threads:
        shared = predict(network(), X, Y, tests, flow, covariance=covariance, executor=threads)
    for name, array in cut.arrays().items():
        assert np.array_equal(shared.arrays()[name], array)


def test_rotation_of_the_outputs():
    angle = np.array([[0.6, 0.8], [-0.8, 0.6]])
    found = predict(network(), X, Y, TEST)
    turned = predict(network(), X, Y @ angle, TEST)
    same(turned.mean, found.mean @ angle)
    same(turned.covariance, np.einsum("abij,ik,jl->abkl", found.covariance, angle, angle))


def test_corrections_fall_with_the_width():
    found = predict(network(), X, Y, TEST)
    wider = predict(network(widths=[80, 60]), X, Y, TEST)
    same(2 * wider.correction, found.correction)
    same(2 * wider.covariance_correction, found.covariance_correction)
    same(wider.infinite.mean, found.infinite.mean)


def test_hidden_layers_that_do_not_learn_bend_nothing():
    """(∞.173): with the last layer alone learning, the model is linear in what it learns."""
    rates = {"lambda_b": [0, 0, 0.3], "lambda_W": [0, 0, 1.0]}
    found = predict(network(**rates), X, Y, TEST, GradientDescent(0.2))
    for parts in (found.parts, found.covariance_parts):
        for name, part in parts.items():
            if name.startswith(("dNTK", "ddNTK")):
                assert not part.any()
    assert found.parts["NTK fluctuation"].any()


def test_no_step_is_initialisation():
    net = network()
    found = predict(net, X, Y, TEST, GradientDescent(0.2, steps=0))
    layer = net.propagate(TEST, ["G", "G.1"])
    same(found.mean, np.zeros((2, 2)))
    same(found.covariance, np.einsum("ab,ij->abij", layer.finite_width("G")[-1], np.eye(2)))


def test_long_training_is_its_end():
    ended = predict(network(), X, Y, TEST, GradientDescent(0.2))
    same(predict(network(), X, Y, TEST, GradientDescent(0.2, steps=100_000)).mean, ended.mean)
    flow = predict(network(), X, Y, TEST, GradientFlow())
    same(predict(network(), X, Y, TEST, GradientFlow(1e5)).covariance, flow.covariance)
    near = predict(network(), X, Y, TEST, GradientDescent(1e-5))
    np.testing.assert_allclose(near.mean, flow.mean, atol=1e-4)


def test_without_projectors_only_the_ntk_is_left():
    found = predict(network(), X, Y, TEST, CustomAlgorithm({}))
    assert all(name.startswith("NTK") or not part.any() for name, part in found.parts.items())


def test_deep_linear_networks_on_one_direction():
    """With one training input and test inputs along it, the trained output is known exactly."""
    net = network(activation="linear", C_b=0.0, lambda_b=0.0)
    found = predict(net, X[:1], Y[:1], -2.5 * X[:1], GradientDescent(0.1))
    same(found.mean, -2.5 * Y[:1])
    same(found.covariance, np.zeros((1, 1, 2, 2)))


def test_infinite_width_is_regression():
    net = network()
    layer = net.propagate(np.vstack([X, TEST]), ["G", "H"])
    K, H = layer["G"][-1], layer["H"][-1]
    found = predict_infinite(net, X, Y, TEST)
    fit = H[3:, :3] @ np.linalg.inv(H[:3, :3])
    same(found.mean, fit @ Y)
    same(
        found.covariance, K[3:, 3:] - fit @ K[:3, 3:] - K[3:, :3] @ fit.T + fit @ K[:3, :3] @ fit.T
    )
    bayes = posterior(K, Y, noise=0.1)
    fit = K[3:, :3] @ np.linalg.inv(K[:3, :3] + 0.1 * np.eye(3))
    same(bayes.mean, fit @ Y)
    same(bayes.covariance, K[3:, 3:] - fit @ K[:3, 3:])


def test_gradient_descent_of_a_linear_model():
    features = RNG.standard_normal((5, 6))
    theta, targets = np.zeros(6), RNG.standard_normal(3)
    for _ in range(7):
        theta = theta - 0.05 * features[:3].T @ (features[:3] @ theta - targets)
    found = predict_kernel(features @ features.T, targets, None, GradientDescent(0.05, steps=7))
    same(found.mean.ravel(), features[3:] @ theta)


def test_ntk_at_the_start():
    net = network()
    layer = net.propagate(np.vstack([X, TEST]), ["H", "H.1"])
    found = trained_ntk(net, X, Y, TEST, GradientFlow(0))
    same(found, np.einsum("ab,ij->abij", layer.finite_width("H")[-1], np.eye(2)))


LINEAR = MLP(activation="linear", widths=[9], C_b=0, C_W=1, lambda_b=0, lambda_W=1)
TWICE = np.vstack([X, X[1:2]])
REFUSED = {
    "y_train has the shape": lambda: predict(network(), X, Y[:2], TEST),
    "a network of that n_L": lambda: predict(network(), X, Y[:, :1], TEST),
    "columns": lambda: predict(network(), X, Y, TEST[:, :2]),
    "one row for each sample": lambda: predict(network(), X[0], Y, TEST),
    "Samples 1 and 3 depend on each other most": lambda: predict(
        network(), TWICE, np.ones((4, 2)), TEST
    ),
    "below": lambda: predict(network(), X, Y, TEST, GradientDescent(50.0)),
    "kink": lambda: predict(network(activation="relu"), X, Y, TEST),
    "y_train is nan at": lambda: predict(network(), X, Y * np.nan, TEST),
    "Nothing that learns": lambda: predict(network(lambda_b=0.0, lambda_W=0.0), X, Y, TEST),
    "counts the steps": lambda: GradientDescent(0.1, steps=-1),
    "positive number": lambda: GradientDescent(0.0),
    "time of training": lambda: GradientFlow(float("nan")),
    "no projector": lambda: CustomAlgorithm({"Z": np.sin}),
    "that of sample 0 with itself is 0": lambda: predict(
        network(C_b=0.0, lambda_b=0.0), np.vstack([0 * X[:1], X]), np.ones((4, 2)), TEST
    ),
    "correlation of -1": lambda: predict_infinite(LINEAR, [[1.0], [-1.0]], [1, 2], [[2.0]]),
    "itself is -1": lambda: predict_kernel(np.diag([1.0, -1.0, 1.0]), [1, 1]),
    "mean overflows. Training diverges": lambda: predict(
        network(), X, Y, TEST, GradientDescent(100.0, steps=5000)
    ),
    "mean overflows": lambda: predict_infinite(network(), X, Y, TEST, GradientDescent([1e90] * 9)),
    "x_test is inf at": lambda: predict(network(), X, Y, TEST * np.inf),
    "do not say how the NTK": lambda: trained_ntk(network(), X, Y, TEST, CustomAlgorithm({})),
    "the shape of the NTK|NTK has the shape": lambda: train_network(
        np.zeros((2, 2)), 5.0, 0.0, 0.0, 0.0, [[2.0, 1.0]]
    ),
    "dNTK-A failed": lambda: predict(
        network(), X, Y, TEST, CustomAlgorithm({"dNTK-A": lambda a, b, c: a})
    ),
    "not finite": lambda: predict(
        network(), X, Y, TEST, CustomAlgorithm({"dNTK-A": lambda a, b: a * np.nan})
    ),
    "a list with one for each step": lambda: GradientDescent([[0.1], [0.1, 0.2]]),
    "Leave out its steps": lambda: projectors()["dNTK-A"].latex(GradientDescent(0.1, steps=3)),
    "H is not symmetric": lambda: train_network(
        [0.0, 0.1], [[1.0, 0.9], [0.1, 1.0]], *map(np.zeros, (3 * (2,), 4 * (2,), 4 * (2,))), [1.0]
    ),
    "ntk is not symmetric": lambda: predict_kernel([[1.0, 2.0], [0.0, 1.0]], [1.0]),
    "at least one of each": lambda: posterior(np.eye(2), [1.0, 2.0]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TrainingError, match=message):
            REFUSED[message]()
