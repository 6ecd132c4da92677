"""Activations with kinks: exact scale invariance, the limit of smoothed ones, and real networks."""

import numpy as np
import pytest
from oracle.montecarlo import extrapolate, function_of

from symdlt import MLP
from symdlt.errors import KernelError
from symdlt.sampling import NetworkEnsemble, measure

FINITE = ["G", "H", "V", "A", "B", "D", "F", "P", "Q", "G.1", "H.1"]
X = np.array([[1.0, 0.4, -0.8], [0.3, -0.9, 0.7], [-0.6, 0.5, 0.2]])
HYPER = {"C_b": 0.1, "C_W": 1.8, "lambda_b": 0.3, "lambda_W": 0.8}


@pytest.mark.parametrize(("left", "right"), [(0.0, 1.0), (0.25, 1.0), (1.0, 1.0)])
def test_scale_invariant_networks_are_exact_at_every_depth(left, right):
    """For one input K stays, and V/K^2 = (3 A_4/A_2^2 - 1)(l - 1) at C_W = 1/A_2, Theta = l K."""
    second, fourth = (left**2 + right**2) / 2.0, (left**4 + right**4) / 2.0
    name = f"leaky_relu(z, {left})" if 0.0 < left < 1.0 else {0.0: "relu", 1.0: "linear"}[left]
    mlp = MLP(
        activation=name, widths=[9] * 5, C_b=0, C_W=1.0 / second, lambda_b=0, lambda_W=1.0 / second
    )
    result = mlp.propagate([[1.0, -2.0, 0.5]], ["G", "V", "H", "G.1"])
    K = result["G"]
    layers = np.arange(6)
    slope = 3.0 * fourth / second**2 - 1.0
    assert result["V"].ravel() == pytest.approx(K[0, 0, 0] ** 2 * slope * layers, rel=1e-9)
    assert result["H"].ravel() == pytest.approx(K[0, 0, 0] * (layers + 1), rel=1e-12)
    assert np.abs(result["G.1"]).max() <= 1e-12


def smoothed(width, x, names):
    text = f"{width} * log(1 + exp(z / {width}))"
    return MLP(activation=text, widths=[12, 18], **HYPER).propagate(x, names, tolerance=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("x", [X[:2], X[[0, 0]]], ids=["two", "the same twice"])
def test_tensors_are_limits_of_those_of_a_smoothed_activation(x):
    relu = MLP(activation="relu", widths=[12, 18], **HYPER).propagate(x, FINITE)
    one, two, four = (smoothed(width, x, FINITE) for width in (0.1, 0.05, 0.025))
    for name in FINITE:
        limit = (8.0 * four[name] - 6.0 * two[name] + one[name]) / 3.0
        size = max(0.1, np.abs(relu[name]).max())
        assert np.abs(limit - relu[name]).max() <= 0.01 * size, name


@pytest.mark.parametrize("what", ["elu", "elu(z - 1/2, 1)"])
def test_a_jump_of_the_second_derivative_has_all_thirteen(what):
    result = MLP(activation=what, widths=[8], **HYPER).propagate(X[:2])
    assert set("RSTU") <= set(result)
    assert all(np.isfinite(tensor).all() for tensor in result.tensors.values())


def test_general_kinks_agree_with_the_relu_family():
    """relu(z - 0.001) takes the general way, relu closed forms."""
    names = ["V", "A", "F", "Q"]
    near, exact = (
        MLP(activation=what, widths=[8, 8], **HYPER).propagate(X[:2], names, tolerance=1e-6)
        for what in ("relu(z - 1/10000)", "relu")
    )
    for name in names:
        assert np.abs(near[name] - exact[name]).max() <= 2e-3 * np.abs(exact[name]).max(), name


@pytest.mark.slow
@pytest.mark.montecarlo
def test_real_relu_networks():
    """Automatic differentiation drops delta functions, which V, A, B, D, F do not have."""
    names = ["V", "A", "B", "D", "F"]
    expected = MLP(activation="relu", widths=[6, 9], **HYPER).propagate(X, names)
    relu = (lambda z: np.maximum(z, 0.0), lambda z: 1.0 * (z > 0.0))
    compare(relu, names, {name: expected[name][-1] for name in names}, 60_000)


@pytest.mark.slow
@pytest.mark.montecarlo
def test_real_networks_of_a_smoothed_kink():
    """P and Q; how they tend to those of the kink is tested above."""
    width = 0.3
    names = ["P", "Q"]
    expected = smoothed(width, X, names)
    tanh = function_of("tanh")
    softplus = (
        lambda z: width * np.logaddexp(0.0, z / width),
        lambda z: 0.5 * (1.0 + tanh[0](0.5 * z / width)),
        lambda z: 0.25 / width * tanh[1](0.5 * z / width),
    )
    compare(softplus, names, {name: expected[name][-1] for name in names}, 40_000)


def compare(activation, names, expected, networks):
    rng = np.random.default_rng(7)
    measured = {
        scale: measure(
            NetworkEnsemble.of((3, 6 * scale, 9 * scale, 2), **HYPER),
            activation,
            X,
            names,
            networks,
            rng,
        )
        for scale in (2, 4)
    }
    worst = {}
    for name in names:
        limit = extrapolate({scale: found[name] for scale, found in measured.items()})
        worst[name] = np.abs(limit.z_scores(expected[name])).max()
        print(f"{name}: worst |z| = {worst[name]:.2f}, size {np.abs(expected[name]).max():.3f}")
    assert max(worst.values()) < 4.5


@pytest.mark.parametrize("what", ["relu", "selu", "softsign", "relu(z)**2", "relu(z)**4"])
@pytest.mark.parametrize("x", [X[:1], X[:2]], ids=len)
def test_kinks_above_the_derivatives_that_are_needed_count(what, x):
    mlp = MLP(activation=what, widths=[9], **HYPER)
    alone = {name: mlp.propagate(x, [name])[name] for name in ("G", "H", "V")}
    together = mlp.propagate(x, ["G", "H", "V", "A"])
    for name, tensor in alone.items():
        assert np.abs(tensor - together[name]).max() <= 1e-6 * np.abs(tensor).max()


def test_alike_samples_are_refused_where_digits_are_lost():
    x = np.array([[1.0, 0.4, -0.8], [1.0, 0.4, -0.8 + 1e-4]])
    mlp = MLP(activation="relu", widths=[9, 9], **HYPER)
    with pytest.raises(KernelError, match="delta functions cancel to the last digits"):
        mlp.propagate(x, ["H.1"])
    assert np.isfinite(mlp.propagate(x, ["A", "G.1"])["A"]).all()
