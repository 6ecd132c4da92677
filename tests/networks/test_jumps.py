"""Activations that jump, whose NTK is infinite where samples meet; kinks at rows of zeros."""

import math

import numpy as np
import pytest

from symdlt import MLP
from symdlt.errors import ActivationError, KernelError, TrainingError
from symdlt.kernels import kernel_for
from symdlt.training import predict_infinite

SIGN = {"activation": "sign(z)", "widths": [10], "C_b": 0.0, "C_W": 1.0}
X = np.array([[1.0, 0.5, -0.3], [0.2, -1.0, 0.8], [0.3, 0.3, 0.3]])


@pytest.mark.parametrize("depth", [1, 3])
def test_the_ntk_of_a_sample_with_itself_is_refused(depth):
    mlp = MLP(**{**SIGN, "widths": [10] * depth}, lambda_b=0.0, lambda_W=[1.0] + [0.0] * depth)
    for x in ([[1.0]], X):
        with pytest.raises(
            ActivationError, match=r"H of .*sign.* at samples 0 and 0 cannot be had"
        ):
            mlp.propagate(x, ["G", "H"])
    with pytest.raises(ActivationError, match="samples 0 and 1"):
        mlp.propagate([[1.0, 2.0], [-2.0, -4.0]], ["H"], blocks=([0], [1]))


def test_entries_of_different_samples_are_those_of_steps_and_densities():
    """<sign sign> is the arcsine law, <2 delta 2 delta> is four times the density at zero."""
    mlp = MLP(**SIGN, lambda_b=0.1, lambda_W=0.7)
    found = mlp.propagate(X, ["G", "H"], blocks=([0], [1, 2]))["H"][-1][0]
    K = X @ X.T / 3
    for value, j in zip(found, (1, 2), strict=True):
        determinant = K[0, 0] * K[j, j] - K[0, j] ** 2
        signs = 2.0 / math.pi * math.asin(K[0, j] / math.sqrt(K[0, 0] * K[j, j]))
        density = 4.0 / (2.0 * math.pi * math.sqrt(determinant))
        expected = 0.1 + 0.7 * signs + density * (0.1 + 0.7 * K[0, j])
        assert value == pytest.approx(expected, rel=1e-12)


def test_parallel_samples_meet_at_zero_alone():
    """At z = 1 for one is z = 2 for the other: no product of delta functions."""
    mlp = MLP(**{**SIGN, "activation": "heaviside(z - 1)"}, lambda_b=0.0, lambda_W=[1.0, 0.0])
    (value,) = mlp.propagate([[1.0, 2.0], [2.0, 4.0]], ["H"], blocks=([0], [1]))["H"][-1]
    assert value == 0.0


def test_where_only_the_last_layer_learns_nothing_is_infinite():
    mlp = MLP(**SIGN, lambda_b=0.0, lambda_W=[0.0, 1.0])
    found = mlp.propagate(X, ["G", "H"])
    assert np.abs(found["H"][-1] - found["G"][-1]).max() <= 1e-15
    rho = X @ X.T / np.sqrt(np.outer(*[(X**2).sum(1)] * 2))
    law = 2.0 / math.pi * np.arcsin(np.clip(rho, -1.0, 1.0))
    expected = law[2, :2] @ np.linalg.solve(law[:2, :2], [1.0, -1.0])
    assert predict_infinite(mlp, X[:2], [1.0, -1.0], X[2:]).mean.item() == pytest.approx(expected)


def test_no_prediction_at_infinite_width():
    """The limit of steep functions is no finite NTK: erf(10 z) 0.018, erf(100 z) 0.0002, …."""
    hyper = {"widths": [1, 1], "C_b": 0.1, "C_W": 1.3, "lambda_b": 0.1, "lambda_W": 1.0}
    with pytest.raises(TrainingError, match="jumps at z = 0"):
        predict_infinite(MLP(activation="sign(z)", **hyper), X[:2], [1.0, -1.0], X[2:])


def test_what_else_reads_it_or_does_not():
    mlp = MLP(**SIGN, lambda_b=0.1, lambda_W=1.0)
    for name in "ABDFPQR":
        with pytest.raises(ActivationError, match="jumps at z = 0"):
            mlp.propagate(X, [name])
    assert np.abs(mlp.propagate(X[:1], ["G.1", "V"])["V"]).max() <= 1e-7
    with pytest.raises(KernelError, match="H of sign"):
        kernel_for(["H"], activation="sign(z)")
    for names, what in ((["G.1"], "sign(z)"), (["H", "H.1"], "relu")):
        assert kernel_for(names, activation=what).tensors


ZERO = {"widths": [8, 8], "C_b": 0.0, "C_W": 1.3, "lambda_b": 0.0, "lambda_W": 0.7}
FINITE = ["G", "H", "V", "A", "B", "D", "F", "P", "Q", "G.1"]
ROWS = np.array([[0.0, 0.0], [1.0, 2.0]])


@pytest.mark.parametrize("what", ["relu", "leaky_relu", "abs(z)", "selu", "elu"])
def test_a_row_of_zeros_has_the_tensors_of_nothing(what):
    """The output is zero for all parameters, and so are its derivatives by them."""
    mlp = MLP(activation=what, **ZERO)
    found, alone = mlp.propagate(ROWS, FINITE), mlp.propagate(ROWS[1:], FINITE)
    for name in FINITE:
        tensor = found[name].copy()
        other = (slice(None), *(slice(1, 2),) * (tensor.ndim - 1))
        assert tensor[other] == pytest.approx(alone[name], rel=1e-9, abs=1e-12), name
        tensor[other] = 0.0
        assert not tensor.any(), name


@pytest.mark.parametrize(
    ("what", "hyper"),
    [("abs(z) + 1", {}), ("relu", {"C_b": [0, 0.1, 0.1], "lambda_b": [0, 0.1, 0.1]})],
)
def test_a_row_of_zeros_is_the_limit_of_small_rows(what, hyper):
    """Tensors are of first order in the size of the row, here on both sides."""
    mlp = MLP(activation=what, **{**ZERO, **hyper})
    names = ["G", "H", "V", "F", "D"]
    found, *near = (
        mlp.propagate([row, ROWS[1]], names, tolerance=1e-9)
        for row in (ROWS[0], [1e-4, -2e-4], [-1e-4, 2e-4])
    )
    for name in names:
        limit = 0.5 * (near[0][name] + near[1][name])
        assert np.abs(found[name] - limit).max() <= 1e-3 * np.abs(limit).max(), name


def test_a_row_of_zeros_without_a_limit_is_refused():
    """<theta(z_0) theta(z_1)> depends on the direction from which the row tends to zero."""
    mlp = MLP(activation="relu", **{**ZERO, "lambda_b": 0.1})
    with pytest.raises(KernelError, match="variance zero"):
        mlp.propagate(ROWS, ["H"])
    assert not mlp.propagate(ROWS, ["G", "V"])["V"][:, 0].any()
    assert mlp.propagate(ROWS, ["H"], blocks=([1], [1]))["H"].all()
    with pytest.raises(KernelError, match="variance zero"):
        MLP(activation="sign(z)", **ZERO).propagate(ROWS, ["G"])
