"""The experiment against itself: differences, one step, exact cases, and its stored results."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from training.ensembles import (
    RESULTS,
    TASKS,
    Coefficients,
    Configuration,
    Limit,
    measure,
    named,
    results,
)
from training.networks import (
    ACTIVATIONS,
    HANDOVER,
    Architecture,
    Task,
    forward,
    moved,
    prediction,
    tangent_kernel,
    train,
    velocity,
)

TASK = TASKS["three"]
NETWORK = Architecture("gelu", 3, C_b=0.2, C_W=1.4, lambda_b=0.4, lambda_W=0.8)


def drawn(architecture=NETWORK, task=TASK, width=8, count=3):
    return architecture.draw(task, width, count, np.random.default_rng(5))


def loss(architecture, parameters, task):
    z = forward(architecture.activation, parameters, np.array(task.x_train).T)[0]
    return 0.5 * ((z - task.targets) ** 2).sum(axis=(1, 2))


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_slopes_are_derivatives(name):
    z, step = np.linspace(-4, 4, 1001), 1e-5
    difference = (ACTIVATIONS[name](z + step)[0] - ACTIVATIONS[name](z - step)[0]) / (2 * step)
    np.testing.assert_allclose(ACTIVATIONS[name](z)[1], difference, atol=1e-9)


def test_gelu_is_z_times_the_normal_distribution():
    z = np.linspace(-12, 12, 4801)
    exact = [x * 0.5 * math.erfc(-x / 2**0.5) for x in z]
    np.testing.assert_allclose(ACTIVATIONS["gelu"](z)[0], exact, atol=1e-13)


def test_velocity_is_the_gradient_times_the_learning_rate_tensor():
    parameters = drawn()
    rates = velocity(NETWORK, parameters, TASK)[1]
    step = 1e-5
    for layer in range(NETWORK.depth):
        inputs = parameters[layer][1].shape[2]
        for kind, rate in ((0, NETWORK.lambda_b), (1, NETWORK.lambda_W / inputs)):
            at = (slice(None), 1, -1 if kind else 0)
            changed = []
            for sign in (1, -1):
                arrays = [[b.copy(), w.copy()] for b, w in parameters]
                arrays[layer][kind][at] += sign * step
                changed.append(loss(NETWORK, arrays, TASK))
            gradient = (changed[0] - changed[1]) / (2 * step)
            np.testing.assert_allclose(rates[layer][kind][at], -rate * gradient, rtol=1e-7)


def test_ntk_is_the_change_of_z_in_a_small_step():
    parameters, step = drawn(), 1e-6
    error, rates = velocity(NETWORK, parameters, TASK)
    z, kernel, _ = tangent_kernel(NETWORK, parameters, TASK.inputs)
    ahead, behind = (
        tangent_kernel(NETWORK, moved(parameters, rates, sign * step), TASK.inputs)
        for sign in (1, -1)
    )
    samples, trained = TASK.inputs.shape[1], len(TASK.y)
    columns = np.arange(kernel.shape[-1]).reshape(-1, samples)[:, :trained].ravel()
    predicted = -(kernel[..., columns] @ error.reshape(len(z), -1, 1))[..., 0]
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * step), predicted, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(kernel, kernel.swapaxes(1, 2), atol=1e-12)


@pytest.mark.parametrize("algorithm", ["gd", "flow"])
def test_the_rest_of_the_training_is_linear(algorithm):
    task, parameters = TASKS["two"], drawn(task=TASKS["two"], width=16)
    step = 0.5 / Limit.of(NETWORK, task).largest
    early, late = (
        train(NETWORK, parameters, task, algorithm, step, tolerance)
        for tolerance in (HANDOVER, 1e-10)
    )
    z = forward(NETWORK.activation, late, task.inputs)[0]
    np.testing.assert_allclose(z[:, :, : len(task.y)] - task.targets, 0, atol=1e-10)
    expected = z[:, 0, len(task.y) :]
    np.testing.assert_allclose(prediction(NETWORK, early, task), expected, atol=1e-7)


def test_small_steps_of_gradient_descent_lead_to_the_flow():
    task, parameters = TASKS["two"], drawn(task=TASKS["two"], width=16)
    step = 0.5 / Limit.of(NETWORK, task).largest

    def predicted(algorithm, divisor):
        trained = train(NETWORK, parameters, task, algorithm, step / divisor, HANDOVER)
        return prediction(NETWORK, trained, task)

    coarse, half, quarter = (predicted("gd", k) for k in (2, 4, 8))
    rough, good, flow = (predicted("flow", k) for k in (1, 2, 4))
    assert np.abs(rough - flow).max() < 1e-4
    assert np.abs(rough - good).max() > 8 * np.abs(good - flow).max()
    np.testing.assert_allclose((8 * quarter - 6 * half + coarse) / 3, flow, atol=2e-4)
    assert np.abs(coarse - flow).max() > 2e-3


DEEP_LINEAR = Architecture("linear", 2, C_b=0.0, C_W=1.0, lambda_b=0.0, lambda_W=1.0)
ONE = Task(x_train=((1.0, 0.6, -0.8),), y=((1.1,),), x_test=((0.7, -0.9, 0.5), (1.2, 0.1, 0.3)))


def exact_flow(parameters):
    """Linear networks of one hidden layer, one training sample: a hyperbolic rotation.

    The hidden signal u and the readout w obey du = −α ε w dt, dw = −β ε u dt, with ε = z − y,
    α = λ_W x·x/n_0 and β = λ_W/n, and z = w·u ends at y.
    """
    (_, first), (_, readout) = parameters
    x, w, n = np.array(ONE.x_train[0]), readout[:, 0], readout.shape[2]
    u, ratio = first @ x, np.sqrt(len(x) / (n * (x @ x)))
    z, mean = (w * u).sum(1), ((u * u).sum(1) * ratio + (w * w).sum(1) / ratio) / 2
    y = ONE.y[0][0]
    twice = np.log((y + np.sqrt(y * y + mean**2 - z**2)) / (z + mean))
    cosh, sinh = np.cosh(twice / 2)[:, None], np.sinh(twice / 2)[:, None]
    trained = w * cosh + ratio * u * sinh
    change = u * (cosh - 1) + w / ratio * sinh
    predictions = [
        (trained * (first @ b + (x @ b) / (x @ x) * change)).sum(1) for b in np.array(ONE.x_test)
    ]
    return np.array(predictions).T


def test_linear_networks_follow_the_exact_flow():
    parameters = drawn(DEEP_LINEAR, ONE, width=5, count=20)
    step = 0.05 / Limit.of(DEEP_LINEAR, ONE).largest
    trained = train(DEEP_LINEAR, parameters, ONE, "flow", step, HANDOVER)
    expected = exact_flow(parameters)
    np.testing.assert_allclose(prediction(DEEP_LINEAR, trained, ONE), expected, atol=1e-6)


def test_linear_networks_of_infinite_width():
    """K = x·x'/n_0 and Θ = 2K: least squares with the smallest weights, and what it leaves."""
    x, b = np.array(ONE.x_train[0]), np.array(ONE.x_test)
    limit, rest = Limit.of(DEEP_LINEAR, ONE), np.eye(3) - np.outer(x, x) / (x @ x)
    np.testing.assert_allclose(limit.mean, b @ x / (x @ x) * ONE.y[0][0], rtol=1e-9)
    np.testing.assert_allclose(limit.covariance, b @ rest @ b.T / 3, rtol=1e-9)
    np.testing.assert_allclose(limit.largest, 2 * (x @ x) / 3, rtol=1e-9)


def deviations(configuration, predictions):
    """In standard errors, of mean and covariance from those of `predictions` one by one."""
    measured = measure(configuration, 0)
    limit = Limit.of(configuration.architecture, configuration.task)
    shift = predictions - predictions.mean(axis=0)
    products = (shift[:, :, None] * shift[:, None, :]).reshape(len(shift), -1)
    for reference, value, error, samples in (
        (limit.mean, measured.mean, measured.mean_error, predictions),
        (limit.covariance, measured.covariance, measured.covariance_error, products),
    ):
        n, noise = measured.width, samples.std(axis=0) / np.sqrt(len(samples))
        plainly = n * (samples.mean(axis=0) - reference.ravel())
        yield (value.ravel() - plainly) / np.hypot(error.ravel(), n * noise)


@pytest.mark.montecarlo
def test_means_and_covariances_of_linear_networks():
    rng = np.random.default_rng(8)
    parameters = DEEP_LINEAR.draw(ONE, 8, 200_000, rng)
    configuration = Configuration(
        "", DEEP_LINEAR, ONE, "flow", widths=(8,), pairs=(2000,), linearised=(50_000,)
    )
    z_scores = np.concatenate([*deviations(configuration, exact_flow(parameters))])
    assert np.abs(z_scores).max() < 4


@pytest.mark.slow
@pytest.mark.montecarlo
def test_means_and_covariances_without_reduction_of_variance():
    task = TASKS["three"]
    network = Architecture("tanh", 3, C_b=0.1, C_W=1.2, lambda_b=0.5, lambda_W=1.0)
    configuration = Configuration(
        "", network, task, "gd", widths=(12,), pairs=(1000,), linearised=(20_000,)
    )
    rng, predictions = np.random.default_rng(9), []
    for _ in range(160):
        trained = train(
            network, network.draw(task, 12, 50, rng), task, "gd", configuration.eta, 1e-4
        )
        predictions.append(prediction(network, trained, task))
    z_scores = np.concatenate([*deviations(configuration, np.concatenate(predictions))])
    assert np.abs(z_scores).max() < 4


def test_coefficients_are_read_off():
    rng, widths = np.random.default_rng(3), np.array([16, 32, 64])
    errors = np.array([0.1, 0.2, 0.3])[:, None]
    values = 2.0 - 5.0 / widths[:, None] + errors * rng.standard_normal((3, 4000))
    fit = Coefficients.through(widths, values, np.broadcast_to(errors, values.shape))
    for found, error, true in ((fit.c1, fit.c1_error, 2.0), (fit.c2, fit.c2_error, -5.0)):
        assert abs(((found - true) / error).mean()) < 4 / np.sqrt(4000)
        assert abs(((found - true) / error).std() - 1) < 0.05
    assert abs(fit.chi_square.mean() - 1) < 0.1


STORED = json.loads(RESULTS.read_text())


@pytest.mark.parametrize("name", sorted(STORED))
def test_stored_configurations_are_those_of_the_code(name):
    configuration = named(name)
    stored = dict(STORED[name]["configuration"])
    assert stored.pop("eta") == pytest.approx(configuration.eta, rel=1e-12)
    assert stored == json.loads(json.dumps(asdict(configuration)))


@pytest.mark.montecarlo
def test_stored_results_are_measured_again():
    name = "tanh-2-gd-two"
    again = replace(named(name), seed=7, pairs=(400, 300, 300), linearised=(10_000, 10_000, 10_000))
    found, stored = results(again), STORED[name]
    for part in ("mean", "covariance"):
        difference = np.subtract(found[part]["c1"], stored[part]["c1"])
        error = np.hypot(found[part]["c1_error"], stored[part]["c1_error"])
        assert np.abs(difference / error).max() < 4
        assert np.abs(np.divide(stored[part]["c1"], stored[part]["c1_error"])).max() > 5
