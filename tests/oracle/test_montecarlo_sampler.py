"""The sampler against exact moments of whole ensembles, none of them from symdlt's engine."""

import math

import numpy as np
import pytest

from oracle.montecarlo import assert_agrees, extrapolate, function_of, gaussian_mean, polynomial
from symdlt.sampling import Measurement, NetworkEnsemble, TensorPattern, measure

pytestmark = pytest.mark.montecarlo

INPUTS = np.array([[1.2, -0.5, 0.3], [0.4, 0.9, -0.7]])


def one_hidden_layer(law="gaussian"):
    return NetworkEnsemble.of(
        (3, 5, 2),
        C_b=(0.2, 0.1),
        C_W=(1.4, 1.7),
        lambda_b=(0.5, 0.3),
        lambda_W=(1.3, 0.8),
        weight_law=law,
    )


def fill(size, entry):
    return np.array([entry(*index) for index in np.ndindex((2,) * size)]).reshape((2,) * size)


def exact_one_hidden_layer(ensemble, activation):
    """All thirteen tensors of z², exactly: hidden neurons are independent Gaussians.

    A connected moment then needs one hidden neuron common to everything, and the first layer's
    NTK is the constant Θ; these are the finite-width values, not the leading order.
    """
    gram = INPUTS @ INPUTS.T / 3
    K = ensemble.C_b[0] + ensemble.C_W[0] * gram
    H = ensemble.lambda_b[0] + ensemble.lambda_W[0] * gram
    C, rate = ensemble.C_W[1], ensemble.lambda_W[1]

    def mean(*factors):
        return gaussian_mean([(activation[order], sample) for order, sample in factors], K)

    def pair(x, y):
        """What a hidden neuron adds to the NTK of z²: λ σσ + C Θ σ'σ', as (factor, order)."""
        return ((rate, 0), (C * H[x, y], 1))

    def covariance(one, other, a, b, c, d):
        total = 0.0
        for p, k in one:
            for q, m in other:
                joint = mean((k, a), (k, b), (m, c), (m, d))
                total += p * q * (joint - mean((k, a), (k, b)) * mean((m, c), (m, d)))
        return total

    metric = ((C, 0),)
    return {
        "G": fill(2, lambda a, b: ensemble.C_b[1] + C * mean((0, a), (0, b))),
        "H": fill(
            2,
            lambda a, b: (
                ensemble.lambda_b[1] + sum(p * mean((k, a), (k, b)) for p, k in pair(a, b))
            ),
        ),
        "V": fill(4, lambda a, b, c, d: covariance(metric, metric, a, b, c, d)),
        "A": fill(4, lambda a, b, c, d: covariance(pair(a, b), pair(c, d), a, b, c, d)),
        "D": fill(4, lambda a, b, c, d: covariance(metric, pair(c, d), a, b, c, d)),
        "B": fill(
            4,
            lambda a, b, c, d: C**2 * mean((1, a), (1, b), (1, c), (1, d)) * H[a, c] * H[b, d],
        ),
        "F": fill(4, lambda a, b, c, d: C**2 * mean((0, a), (1, b), (0, c), (1, d)) * H[b, d]),
        "P": fill(
            4,
            lambda a, b, c, d: C**2 * mean((2, a), (1, b), (1, c), (0, d)) * H[a, b] * H[a, c],
        ),
        "Q": fill(
            4,
            lambda a, b, c, d: (
                C**2 * mean((2, a), (1, b), (1, c), (0, d)) * H[a, b] * H[a, c]
                + C * rate * mean((1, a), (0, b), (1, c), (0, d)) * H[a, c]
            ),
        ),
        "R": fill(
            4,
            lambda a, b, c, d: (
                C**2 * mean((3, a), (1, b), (1, c), (1, d)) * H[a, b] * H[a, c] * H[a, d]
                + C * rate * mean((2, a), (0, b), (1, c), (1, d)) * H[a, c] * H[a, d]
            ),
        ),
        "S": fill(
            4,
            lambda a, b, c, d: (
                C**2 * mean((2, a), (2, b), (1, c), (1, d)) * H[a, b] * H[a, c] * H[b, d]
                + C * rate * mean((1, a), (1, b), (1, c), (1, d)) * H[a, c] * H[b, d]
            ),
        ),
        "T": fill(
            4,
            lambda a, b, c, d: (
                C**2 * mean((2, a), (1, b), (1, c), (2, d)) * H[a, d] * H[a, b] * H[d, c]
                + C * rate * mean((1, a), (0, b), (1, c), (2, d)) * H[a, d] * H[d, c]
                + C * rate * mean((2, a), (1, b), (0, c), (1, d)) * H[a, d] * H[a, b]
                + rate**2 * mean((1, a), (0, b), (0, c), (1, d)) * H[a, d]
            ),
        ),
        "U": fill(
            4,
            lambda a, b, c, d: (
                C**2 * mean((2, a), (1, b), (2, c), (1, d)) * H[a, c] * H[a, d] * H[c, b]
            ),
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tanh", "swish"])
def test_one_hidden_layer_has_its_exact_tensors(name):
    ensemble = one_hidden_layer()
    activation = function_of(name)
    expected = exact_one_hidden_layer(ensemble, activation)
    found = measure(ensemble, activation, INPUTS, list(expected), 40_000, np.random.default_rng(20))
    assert_agrees(found, expected)
    for tensor in expected:
        largest = np.abs(expected[tensor]).max()
        assert found[tensor].standard_errors.max() < 0.1 * largest


def linear_moment(hidden, order):
    """E[(|s|²/n)^order] over a chain of linear layers, in units of K^order."""
    return math.prod(1 + 2 * k / n for n in hidden for k in range(order))


def test_a_deep_linear_network_has_its_exact_moments():
    hidden = (4, 6, 3)
    ensemble = NetworkEnsemble.of((1, *hidden, 3), lambda_W=(0.7, 1.1, 0.4, 0.9))
    six_point = TensorPattern((), ((0, 1), (2, 3), (4, 5)))
    tensors = ["G", "H", "V", "A", "D", six_point]
    found = measure(
        ensemble, function_of("linear"), [[1.0]], tensors, 100_000, np.random.default_rng(21)
    )
    two, three = linear_moment(hidden, 2), linear_moment(hidden, 3)
    expected = {
        "G": 1.0,
        "H": 0.7 + 1.1 + 0.4 + 0.9,
        "V": hidden[-1] * (two - 1),
        six_point: hidden[-1] ** 2 * (three - 3 * two + 2),
    }
    shapes = {name: found[name].values.shape for name in expected}
    assert_agrees(found, {name: np.full(shapes[name], expected[name]) for name in expected})


def test_a_bilinear_network_has_its_exact_differentials():
    """z = W₂ W₁ x with one input x = 1: dH, ddI and ddII by hand from the bilinear form.

    D²z_i[u, v] = u₂ v₁ + v₂ u₁, third derivatives vanish, g_i = (λ₂ δ_i h/n, λ₁ w_i) with
    h = W₁, w_i the rows of W₂, E[h_j²] = 1 and E[w_ij²] = 1/n.
    """
    n, low, top = 5, 0.7, 1.9
    ensemble = NetworkEnsemble.of((1, n, 2), lambda_W=(low, top))
    names = ["B", "F", "P", "Q", "R", "S", "T", "U"]
    found = measure(
        ensemble, function_of("linear"), [[1.0]], names, 60_000, np.random.default_rng(22)
    )
    expected = {
        "B": low**2,
        "F": low,
        "P": 0.0,
        "Q": low * top,
        "R": 0.0,
        "S": low**2 * top,
        "T": low * top**2,
        "U": 0.0,
    }
    assert_agrees(found, {name: np.full((1, 1, 1, 1), value) for name, value in expected.items()})


def test_the_law_of_the_weights_shows_where_it_must():
    """One linear hidden layer: V gains the fourth cumulant of the hidden weights.

    With one input x = 1 and n_0 = 1, h_j = ω_j: E[z_a² z_b²] = 1 + (E[ω⁴] − 1)/n, so that
    V = E[ω⁴] − 1, which is 2 for Gaussian and 4/5 for uniform weights.
    """
    for law, expected in (("gaussian", 2.0), ("uniform", 0.8)):
        ensemble = NetworkEnsemble.of((1, 6, 2), weight_law=law)
        found = measure(
            ensemble, function_of("linear"), [[1.0]], ["V"], 60_000, np.random.default_rng(23)
        )
        assert_agrees(found, {"V": np.full((1, 1, 1, 1), expected)})


def test_a_quadratic_network_has_its_exact_four_point_vertex():
    """σ = 1 + z²/2 with K = 1: ⟨σ²⟩ = 11/4, ⟨σ⁴⟩ = 1 + 2 + 9/2 + 15/2 + 105/16."""
    ensemble = NetworkEnsemble.of((1, 4, 2))
    found = measure(
        ensemble, polynomial(1.0, 0.0, 0.5), [[1.0]], ["G", "V"], 200_000, np.random.default_rng(24)
    )
    fourth = 1 + 2 + 9 / 2 + 15 / 2 + 105 / 16
    expected = {"G": np.full((1, 1), 11 / 4), "V": np.full((1,) * 4, fourth - (11 / 4) ** 2)}
    assert_agrees(found, expected)


def test_extrapolation_finds_the_limit_of_infinite_width():
    """Deep linear, hidden widths n, n: V/n → 4/n + 4/n², so that V → 4 with slope 4."""
    found = {}
    for scale in (2, 4, 8):
        ensemble = NetworkEnsemble.of((1, scale, scale, 2))
        found[scale] = measure(
            ensemble, function_of("linear"), [[1.0]], ["V"], 40_000, np.random.default_rng(scale)
        )["V"]
    limit = extrapolate(found)
    assert np.abs(limit.z_scores(4.0)).max() < 4
    assert limit.chi_squared.max() < 16


def test_extrapolation_is_exact_without_noise():
    shape, error = (1,) * 4, np.full((1,) * 4, 0.1)
    found = {n: Measurement(np.full(shape, 3 + 2 / n - 1 / n**2), error, 1) for n in (2, 3, 5)}
    limit = extrapolate(found, powers=3)
    np.testing.assert_allclose(limit.values, 3.0)
    np.testing.assert_allclose(limit.chi_squared, 0.0, atol=1e-18)
