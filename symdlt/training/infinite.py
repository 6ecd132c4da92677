"""Predictions at infinite width, and of linear and kernel models: regression with a kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from symdlt.definitions import Network
from symdlt.errors import ActivationError, TrainingError, require
from symdlt.networks import propagate
from symdlt.precision import TOLERANCE
from symdlt.training.algorithms import Algorithm, check_algorithm
from symdlt.training.chains import Array
from symdlt.training.data import (
    check_result,
    check_ridge,
    check_samples,
    check_square,
    check_targets,
    refuse_dropout,
    refuse_sums_over_outputs,
)
from symdlt.training.prediction import GaussianPrediction
from symdlt.training.responses import responses
from symdlt.training.statistics import solve_positive


def predict_infinite(
    net: Network,
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    algorithm: Algorithm | None = None,
    *,
    ridge: float = 0.0,
    tolerance: float = TOLERANCE,
) -> GaussianPrediction:
    r"""Outputs of an infinitely wide network in the course of training (PDLT 10.39–10.41).

    With ε the training error at initialisation, $z_\beta(t) = z_\beta - H_{\beta\alpha}
    (H^{-1} [1 - (1 - \eta H)^t])_{\alpha\alpha'} \epsilon_{\alpha'}$, and z is Gaussian with mean
    0 and covariance K. A ridge ρ is added to the training NTK, $H_{\alpha\alpha'} +
    \rho\,\delta_{\alpha\alpha'}$, where it stands in powers and inverses. At a finite time
    nothing is inverted, and samples may be duplicated.

    Args:
        net: the network; its widths do not matter.
        x_train: training data of shape (N_A, n_0).
        y_train: targets of shape (N_A, n_L), or (N_A,) for one output.
        x_test: test data of shape (N_B, n_0).
        algorithm: gradient flow to the end if left out.
        ridge: ρ; with the last layer alone learning, it is the variance of noise in the targets.
        tolerance: of means of softmax over many positions, as for `propagate`.

    Raises:
        KernelError: if the kernels cannot be had; see `propagate`.
        TrainingError: for shapes that do not fit, a training NTK without inverse when training
            goes to the end, or step sizes that are too large; for an activation that jumps, whose
            NTK is infinite for a sample with itself, unless only the last layer is trained; for
            dropout, and outputs that are summed over.

    >>> from symdlt import MLP
    >>> net = MLP(activation="relu", widths=[1], C_b=0, C_W=2, lambda_b=0, lambda_W=1)
    >>> predict_infinite(net, [[1.0]], [3.0], [[2.0], [-1.0]]).mean.ravel()
    array([6., 0.])
    """
    require(net, Network, "a network", "Give an MLP.")
    data, train = check_samples(x_train, x_test)
    targets = check_targets(y_train, train, net.n_L)
    refuse_sums_over_outputs(net)
    refuse_dropout(net)
    try:
        kernels = propagate(net, data, ["G", "H"], tolerance=tolerance)
    except ActivationError as reason:
        raise TrainingError(
            f"Training at infinite width cannot be predicted. {reason} For the kernel of features "
            "that are not trained, give 0 for the learning rates below the last layer."
        ) from reason
    return predict_kernel(kernels["H"][-1], targets, kernels["G"][-1], algorithm, ridge=ridge)


def predict_kernel(
    ntk: ArrayLike,
    y_train: ArrayLike,
    kernel: ArrayLike | None = None,
    algorithm: Algorithm | None = None,
    *,
    ridge: float = 0.0,
) -> GaussianPrediction:
    r"""Outputs of a model that is linear in its parameters, trained by gradient descent.

    A linear model $z = \theta \cdot \phi(x)$ has $H = \lambda\, \phi \cdot \phi'$.

    Args:
        ntk: H of shape (N, N), for the training samples followed by the test samples.
        y_train: targets of shape (N_A, n_L), or (N_A,) for one output.
        kernel: the covariance of the outputs at initialisation, of shape (N, N); zero outputs if
            left out.
        algorithm: gradient flow to the end if left out.
        ridge: as for `predict_infinite`.

    Raises:
        TrainingError: for shapes that do not fit, a training NTK without inverse, or step sizes
            that are too large.

    >>> x = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> predict_kernel(x @ x.T, [1.0, 4.0]).mean
    array([[3.]])
    """
    algorithm = check_algorithm(algorithm)
    H = check_square("ntk", ntk)
    K = np.zeros_like(H) if kernel is None else check_square("kernel", kernel)
    targets = check_targets(y_train)
    train = _check_split(len(targets), H, K)
    inner = H[:train, :train] + check_ridge(ridge) * np.eye(train)
    fit = _finished if algorithm.finished else _under_way
    with np.errstate(all="ignore"):
        fitted = fit(inner, H[train:, :train], algorithm)
        carrier = np.hstack([-fitted, np.eye(len(H) - train)])
        mean, covariance = -carrier[:, :train] @ targets, carrier @ K @ carrier.T
    return GaussianPrediction(check_result("mean", mean), check_result("covariance", covariance))


def _finished(inner: Array, mixed: Array, algorithm: Algorithm) -> Array:
    """What each training target contributes to each test output at the end of training."""
    try:
        # Row sums bound the eigenvalues, which are needed only where the bound is too weak.
        algorithm.check(np.abs(inner).sum(axis=1))
    except TrainingError:
        algorithm.check(np.linalg.eigvalsh(inner))
    return solve_positive(inner, mixed.T).T


def _under_way(inner: Array, mixed: Array, algorithm: Algorithm) -> Array:
    """The same at a finite time: the NTK acts at each step, and nothing is inverted."""
    values, vectors = np.linalg.eigh(inner)
    moving = next(one for one in responses() if one.name == "NTK")
    (mode,) = moving.modes
    fit: Array = -((mixed @ vectors) * algorithm.weight(moving, {mode: values})) @ vectors.T
    return fit


def posterior(kernel: ArrayLike, y_train: ArrayLike, noise: float = 0.0) -> GaussianPrediction:
    r"""Bayesian inference with a Gaussian prior of the outputs (PDLT 6.65–6.66).

    $$\bar z_\beta = K_{\beta\alpha} (K + \sigma^2)^{-1}_{\alpha\alpha'} y_{\alpha'}, \qquad
      K_{\beta\beta'} - K_{\beta\alpha} (K + \sigma^2)^{-1}_{\alpha\alpha'} K_{\alpha'\beta'}$$

    Args:
        kernel: the prior covariance K of shape (N, N), training samples first.
        y_train: targets of shape (N_A, n_L), or (N_A,) for one output.
        noise: the variance σ² of the targets.

    Raises:
        TrainingError: for shapes that do not fit, or a kernel without inverse.

    >>> posterior([[1.0, 0.5], [0.5, 1.0]], [2.0]).covariance
    array([[0.75]])
    """
    K = check_square("kernel", kernel)
    targets = check_targets(y_train)
    train = _check_split(len(targets), K, K)
    require(noise, int | float, "a variance", "Give 0 or a positive number.")
    if not 0.0 <= noise < np.inf:
        raise TrainingError(
            f"noise is {noise}. It is the variance of the targets. Give 0 or a positive number."
        )
    weights = solve_positive(K[:train, :train] + noise * np.eye(train), K[:train, train:]).T
    return GaussianPrediction(weights @ targets, K[train:, train:] - weights @ K[:train, train:])


def _check_split(train: int, *kernels: Array) -> int:
    if len({len(kernel) for kernel in kernels}) > 1 or not 0 < train < len(kernels[0]):
        sizes = " and ".join(str(len(kernel)) for kernel in kernels)
        raise TrainingError(
            f"The kernels have {sizes} samples, y_train has {train}. The first samples of a kernel "
            "are those of training, the others those of the test. Give at least one of each."
        )
    return train
