"""From a network, data and an algorithm to the distribution of trained outputs."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.activations import Activation
from symdlt.definitions import DNTK, NTK, Network
from symdlt.errors import TrainingError, require
from symdlt.networks import propagate
from symdlt.training.algorithms import Algorithm, check_algorithm
from symdlt.training.data import check_ridge, check_samples, check_targets
from symdlt.training.evaluation import Training
from symdlt.training.infinite import predict_kernel
from symdlt.training.prediction import Prediction
from symdlt.training.statistics import Statistics

Array = NDArray[Any]
MEAN = ("G", "H", "H.1", "A", "B", "P", "Q", "R", "S", "T", "U")
COVARIANCE = (*MEAN, "G.1", "D", "F")


def predict(
    net: Network,
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    algorithm: Algorithm | None = None,
    *,
    ridge: float = 0.0,
    covariance: bool = True,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> Prediction:
    r"""Mean and covariance of trained outputs to order 1/n (PDLT ∞.160–∞.166).

    The trained output is a sum of trees at initialisation times errors $z - y$ (PDLT ∞.154);
    averages over initialisations join them to the tensors of the network.

    Args:
        net: the network, with learning rates.
        x_train: training data of shape (N_A, n_0).
        y_train: targets of shape (N_A, n_L), or (N_A,) for one output.
        x_test: test data of shape (N_B, n_0).
        algorithm: gradient flow to the end if left out.
        ridge: what is added to the eigenvalues of the mean training NTK: each training output has
            an offset of its own that learns at this rate; see the page on trained networks.
        covariance: whether to give the covariance, too.
        executor: where the tensors are computed, as in `propagate`.
        progress: True or False, or None to show it on a terminal only.

    Raises:
        KernelError: if the tensors cannot be had; see `propagate`.
        TrainingError: for shapes that do not fit, a training NTK without inverse, step sizes
            that are too large, or an activation with a kink.

    >>> from symdlt.training import GradientDescent
    >>> from symdlt import MLP
    >>> net = MLP(activation="sin", widths=[50, 50], C_b=0, C_W=1, lambda_b=0, lambda_W=1)
    >>> found = predict(net, [[1.0, 0.5]], [1.0], [[0.2, 1.0]], GradientDescent(0.5))
    >>> found.mean.round(4), found.infinite.mean.round(4)
    (array([[0.5414]]), array([[0.54]]))
    """
    require(covariance, bool, "True or False", "Give False for the mean only.")
    names = COVARIANCE if covariance else MEAN
    training = prepare(net, x_train, y_train, x_test, algorithm, names, executor, progress, ridge)
    statistics = training.statistics
    infinite = predict_kernel(
        statistics.tensors["H"],
        statistics.spectrum[1] @ training.targets.T,
        statistics.tensors["G"],
        training.algorithm,
        ridge=statistics.ridge,
    )
    parts = training.moment(1, 1)
    del parts["output"]
    return Prediction(infinite, parts, training.moment(2, 1) if covariance else {})


def trained_ntk(
    net: Network,
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    algorithm: Algorithm | None = None,
    *,
    ridge: float = 0.0,
    progress: bool | None = None,
) -> Array:
    r"""The mean NTK in the course of training or at its end, to order 1/n (PDLT ∞.117, ∞.156).

    Args:
        net: the network, with learning rates.
        x_train: training data of shape (N_A, n_0).
        y_train: targets of shape (N_A, n_L), or (N_A,) for one output.
        x_test: test data of shape (N_B, n_0).
        algorithm: gradient flow to the end if left out.
        ridge: as for `predict`; the NTK that is given is that of the network alone.
        progress: True or False, or None to show it on a terminal only.

    Returns:
        An array of shape (N, N, n_L, n_L) over training samples, then test samples.

    Raises:
        KernelError, TrainingError: as for `predict`.

    >>> from symdlt.training import GradientFlow
    >>> from symdlt import MLP
    >>> net = MLP(activation="sin", widths=[50], C_b=0, C_W=1, lambda_b=0, lambda_W=1)
    >>> found = trained_ntk(net, [[1.0]], [3.0], [[2.0]], GradientFlow())
    >>> found.shape, found[0, 0].round(4).item()
    ((2, 2, 1, 1), 0.9451)
    """
    training = prepare(net, x_train, y_train, x_test, algorithm, MEAN, None, progress, ridge)
    one = np.eye(len(training.targets))
    leading = training.statistics.tensors["H"][:, :, None, None] * one
    return leading + training.observable(NTK)


def trained_dntk(
    net: Network,
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    algorithm: Algorithm | None = None,
    *,
    ridge: float = 0.0,
    progress: bool | None = None,
) -> Array:
    """The mean dNTK in the course of training or at its end, at order 1/n (PDLT ∞.102).

    At initialisation it vanishes. Arguments and errors are those of `trained_ntk`.

    Returns:
        An array with three axes of samples, training samples first, then three of neurons; the
        first of each is the one with two derivatives.
    """
    training = prepare(net, x_train, y_train, x_test, algorithm, MEAN, None, progress, ridge)
    return training.observable(DNTK)


def prepare(
    net: Network,
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    algorithm: Algorithm | None,
    names: tuple[str, ...],
    executor: Executor | None,
    progress: bool | None,
    ridge: float,
) -> Training:
    """The training of a network: its tensors at the last layer, and its targets, in modes."""
    require(net, Network, "a network", "Give an MLP.")
    algorithm = check_algorithm(algorithm)
    data, train = check_samples(x_train, x_test)
    targets = check_targets(y_train, train, net.n_L)
    _refuse_kinks(net)
    _refuse_kept_outputs(net)
    found = propagate(net, data, names, executor=executor, progress=progress)
    tensors = {name: array[-1] for name, array in found.tensors.items()}
    width = net.widths[-1] if net.widths else 1
    statistics = Statistics(tensors, train, width, check_ridge(ridge))
    values, vectors = statistics.spectrum
    algorithm.check(values)
    return Training(statistics, targets.T @ vectors, algorithm)


def _refuse_kept_outputs(net: Network) -> None:
    if net.depth > 1 and net.keeps(net.depth):
        raise TrainingError(
            f"The last layer of {net!r} keeps its neurons. The mean dNTK of such outputs does not "
            "vanish, and is not in the prediction. End with a dense layer, as in "
            'layers=[…, "z\' = b + W s(z)"].'
        )


def _refuse_kinks(net: Network) -> None:
    if isinstance(net.activation, Activation) and net.activation.kinked:
        raise TrainingError(
            f"The activation {net.activation.name[:40]!r} has a kink. The change of the NTK in a "
            "step is expanded in the step size, and the mean ddNTK of a kinked activation is "
            "infinite. Use predict_infinite (on the command line --infinite), or a smooth "
            "activation such as GELU."
        )
