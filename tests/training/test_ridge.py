"""Training with a ridge: each training output has an offset of its own, which learns."""

import numpy as np
import pytest
from cases import swept

from symdlt import MLP
from symdlt.errors import TrainingError
from symdlt.training import (
    GradientDescent,
    GradientFlow,
    TwoStep,
    predict,
    predict_infinite,
    predict_kernel,
    train_network,
    trained_ntk,
)

from .dynamics import iterated
from .test_projectors import random_network

RNG = np.random.default_rng(4)
X, TEST = RNG.standard_normal((3, 4)), RNG.standard_normal((2, 4))
Y = RNG.standard_normal((3, 2))
NET = MLP(activation="tanh", widths=[40, 30], C_b=0.1, C_W=1.0, lambda_b=0.3, lambda_W=1.0, n_L=2)
RIDGE = 0.3


def same(first, second, atol=1e-12):
    np.testing.assert_allclose(first, second, rtol=1e-9, atol=atol)


def steps_of_features(phi, y, train, eta, steps, penalty):
    """Outputs of a linear model by descent on its parameters, with a penalty on their squares."""
    theta = np.zeros(phi.shape[1])
    for _ in range(steps):
        gradient = phi[:train].T @ (phi[:train] @ theta - y) + penalty * theta
        theta = theta - eta * gradient
    return phi[train:] @ theta


def test_infinite_width_is_ridge_regression():
    layer = NET.propagate(np.vstack([X, TEST]), ["G", "H"])
    K, H = layer["G"][-1], layer["H"][-1]
    fit = H[3:, :3] @ np.linalg.inv(H[:3, :3] + RIDGE * np.eye(3))
    covariance = K[3:, 3:] - fit @ K[:3, 3:] - K[3:, :3] @ fit.T + fit @ K[:3, :3] @ fit.T
    found = [predict_infinite(NET, X, Y, TEST, a, ridge=RIDGE) for a in (GradientFlow(), TwoStep())]
    found.append(predict(NET, X, Y, TEST, ridge=RIDGE, covariance=False).infinite)
    for prediction in found:
        same(prediction.mean, fit @ Y)
        same(prediction.covariance, covariance)


@pytest.mark.parametrize("steps", [0, 1, 25])
def test_descent_of_a_linear_model_with_weight_decay(steps):
    """In a linear model offsets are a penalty on the distance from the start, at all times."""
    phi, y = RNG.standard_normal((6, 5)), RNG.standard_normal(4)
    found = predict_kernel(phi @ phi.T, y, None, GradientDescent(0.05, steps=steps), ridge=RIDGE)
    same(found.mean.ravel(), steps_of_features(phi, y, 4, 0.05, steps, RIDGE))


@pytest.mark.parametrize("ridge", [0.0, RIDGE])
@pytest.mark.parametrize("steps", [0, 1, 25])
def test_duplicates_need_no_inverse_at_a_finite_time(steps, ridge):
    phi, y = RNG.standard_normal((5, 6)), RNG.standard_normal(4)
    phi[3] = phi[0]
    found = predict_kernel(phi @ phi.T, y, None, GradientDescent(0.05, steps=steps), ridge=ridge)
    same(found.mean.ravel(), steps_of_features(phi, y, 4, 0.05, steps, ridge))


@pytest.mark.parametrize("time", [0.0, 1.5, 1e4])
def test_duplicates_in_the_flow(time):
    """Two labels of one sample move the outputs as their mean does in half the time."""
    twice, labels = np.vstack([X[:1], X[:1]]), np.array([[1.0, 0.0], [-0.5, 2.0]])
    found = predict_infinite(NET, twice, labels, TEST, GradientFlow(time))
    one = predict_infinite(NET, X[:1], labels.mean(axis=0)[None], TEST, GradientFlow(2 * time))
    same(found.mean, one.mean)
    same(found.covariance, one.covariance)
    with pytest.raises(TrainingError, match="give a ridge"):
        predict_infinite(NET, twice, labels, TEST)


@pytest.mark.parametrize(
    ("algorithm", "faster"),
    [
        (GradientDescent(0.2, steps=6), GradientDescent(0.4, steps=6)),
        (GradientDescent([0.1, 0.3]), GradientDescent([0.2, 0.6])),
        swept(GradientDescent(0.2), GradientDescent(0.4)),
        (GradientFlow(1.3), GradientFlow(2.6)),
        (GradientFlow(), GradientFlow()),
    ],
)
def test_two_labels_of_a_sample_are_their_mean_at_half_the_ridge(algorithm, faster):
    """Exact at any width: the mean of both offsets has half the ridge and learns twice as fast."""
    twice, labels = np.vstack([X[:2], X[:1]]), np.array([[1.0, 0.0], [0.7, -1.0], [-0.5, 2.0]])
    other = MLP(activation="tanh", widths=[9], C_b=0.1, C_W=1.0, lambda_b=0.3, lambda_W=1.0, n_L=2)
    found = predict(other, twice[[0, 2]], labels[[0, 2]], TEST, algorithm, ridge=RIDGE)
    mean = labels[[0, 2]].mean(axis=0)[None]
    one = predict(other, X[:1], mean, TEST, faster, ridge=RIDGE / 2)
    for name in one.parts:
        same(found.parts[name], one.parts[name])
    for name in one.covariance_parts:
        same(found.covariance_parts[name], one.covariance_parts[name])


def test_a_vanishing_ridge_is_none():
    plain, tiny, vast = (
        predict(NET, X, Y, TEST, ridge=ridge, covariance=False).mean for ridge in (0.0, 1e-9, 1e9)
    )
    same(tiny, plain, 1e-6)
    same(vast, np.zeros((2, 2)), 1e-6)


@pytest.mark.parametrize(
    ("algorithm", "steps"),
    [
        (lambda h: GradientDescent(0.7 / h), lambda h: [0.7 / h] * 1500),
        (lambda h: GradientDescent(0.4 / h, steps=9), lambda h: [0.4 / h] * 9),
        (lambda h: GradientDescent([0.1 / h, 1.2 / h]), lambda h: [0.1 / h, 1.2 / h]),
    ],
)
def test_projectors_sum_up_the_difference_equations_with_a_ridge(algorithm, steps):
    """The equations for z, H and dH, with the offsets in the NTK of the training outputs."""
    errors = []
    for size in (1e-3, 1e-4):
        z, H, *curvature, y = random_network(3, 5, 3, size)
        relieved = H + RIDGE * np.diag([1.0, 1.0, 1.0, 0.0, 0.0])
        h = np.linalg.eigvalsh(relieved[:3, :3])[-1]
        predicted = train_network(z, H, *curvature, y, algorithm(h), ridge=RIDGE).ravel()
        outputs, _, _ = iterated(z, relieved, *curvature, y, steps(h))
        errors.append(np.abs(outputs[3:] - predicted).max())
    assert errors[1] < 1e-4
    assert 60 < errors[0] / errors[1] < 160


def test_parameters_and_offsets_trained_in_truth():
    """A model with curvature, whose parameters and offsets descend together."""
    rng = np.random.default_rng(5)
    phi = rng.standard_normal((5, 7)) / 2
    bend = rng.standard_normal((5, 7, 7))
    bend = bend + bend.transpose(0, 2, 1)
    y, eta, steps = rng.standard_normal(3), 0.15, 12
    errors = []
    for size in (1e-3, 1e-4):
        curvature = size * bend
        theta, offsets = np.zeros(7), np.zeros(3)
        for _ in range(steps):
            slopes = phi + curvature @ theta
            z = phi @ theta + 0.5 * np.einsum("ipq,p,q", curvature, theta, theta)
            error = z[:3] + np.sqrt(RIDGE) * offsets - y
            theta = theta - eta * slopes[:3].T @ error
            offsets = offsets - eta * np.sqrt(RIDGE) * error
        z = phi @ theta + 0.5 * np.einsum("ipq,p,q", curvature, theta, theta)
        dH = np.einsum("apq,bp,cq->abc", curvature, phi, phi)
        none = np.zeros((5,) * 4)
        algorithm = GradientDescent(eta, steps=steps)
        found = train_network(np.zeros(5), phi @ phi.T, dH, none, none, y, algorithm, ridge=RIDGE)
        errors.append(np.abs(found.ravel() - z[3:]).max())
    assert errors[1] < 1e-5
    assert 60 < errors[0] / errors[1] < 160


def test_many_different_steps_are_as_good_as_a_loop():
    sizes = np.linspace(0.3, 0.01, 3000)
    phi, y = RNG.standard_normal((4, 6)) / 3, RNG.standard_normal(3)
    theta = np.zeros(6)
    for eta in sizes:
        theta = theta - eta * phi[:3].T @ (phi[:3] @ theta - y)
    found = predict_kernel(phi @ phi.T, y, None, GradientDescent(sizes))
    same(found.mean.ravel(), phi[3:] @ theta)
    alike = predict(NET, X[:1], Y[:1], TEST, GradientDescent([0.1] * 500), covariance=False)
    counted = GradientDescent(0.1, steps=500)
    same(alike.mean, predict(NET, X[:1], Y[:1], TEST, counted, covariance=False).mean)


def test_the_ntk_that_is_shown_is_that_of_the_network():
    start = trained_ntk(NET, X, Y, TEST, GradientFlow(0.0), ridge=RIDGE)
    same(start, trained_ntk(NET, X, Y, TEST, GradientFlow(0.0)))


@pytest.mark.parametrize("ridge", [-1.0, np.inf, np.nan])
def test_what_is_no_ridge_is_refused(ridge):
    with pytest.raises(TrainingError, match="ridge is"):
        predict_infinite(NET, X, Y, TEST, ridge=ridge)
