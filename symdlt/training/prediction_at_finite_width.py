"""From a network, data and an algorithm to the distribution of trained outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symdlt.activations import Activation
from symdlt.definitions import DNTK, NTK, Forest, Network
from symdlt.errors import TrainingError, require
from symdlt.networks import propagate
from symdlt.networks.final_tensors import final_tensors
from symdlt.networks.tasks import is_one_task
from symdlt.training.algorithms import Algorithm, check_algorithm
from symdlt.training.chains import Array
from symdlt.training.data import (
    check_ridge,
    check_samples,
    check_targets,
    refuse_dropout,
    refuse_laws_of_outputs,
    refuse_outputs_that_are_read,
)
from symdlt.training.evaluation import Training
from symdlt.training.infinite import predict_kernel
from symdlt.training.prediction import Prediction
from symdlt.training.statistics import Statistics

Chunk = tuple[int, ...]
MEAN = ("G", "H", "H.1", "A", "B", "P", "Q", "R", "S", "T", "U")
COVARIANCE = (*MEAN, "G.1", "D", "F")
# Each chunk of test samples repeats what training samples have among each other. Bound: with
# chunks of a fourth of these, that is about as much as the rest.
SMALLEST_CHUNK = 4


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
        executor: where the tensors are computed, as in `propagate`: many test samples are taken
            in chunks, of which two at a time enter the covariance.
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
    problem = checked(net, x_train, y_train, x_test, algorithm, ridge)
    kernels = propagate(net, problem.data, ("G", "H"), executor=executor, progress=progress)
    statistics = problem.statistics({name: array[-1] for name, array in kernels.tensors.items()})
    infinite = predict_kernel(
        statistics.tensors["H"],
        problem.targets,
        statistics.tensors["G"],
        problem.algorithm,
        ridge=problem.ridge,
    )
    names = COVARIANCE if covariance else MEAN
    chunks = test_chunks(problem, names, 1 + covariance)
    pairs = (
        [*combinations_with_replacement(chunks, 2)]
        if covariance
        else [(one, one) for one in chunks]
    )
    trained = trainings(problem, names, pairs, 1 + covariance, executor, progress)
    parts: dict[str, Array] = {}
    covariance_parts: dict[str, Array] = {}
    for (one, other), training in zip(pairs, trained, strict=True):
        if one == other:
            for name, value in training.moment(1, 1).items():
                _room(parts, name, infinite.mean.shape)[[*one]] = value
        if covariance:
            shape = (*infinite.covariance.shape, *2 * infinite.mean.shape[1:])
            for name, value in training.moment(2, 1).items():
                room, block = _room(covariance_parts, name, shape), value[: len(one), -len(other) :]
                room[np.ix_(one, other)] = block
                room[np.ix_(other, one)] = block.transpose(1, 0, 3, 2)
    del parts["output"]
    return Prediction(infinite, parts, covariance_parts)


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
    training = prepare(net, x_train, y_train, x_test, algorithm, NTK, progress, ridge)
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
    training = prepare(net, x_train, y_train, x_test, algorithm, DNTK, progress, ridge)
    return training.observable(DNTK)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingProblem:
    """A network to be trained on data, checked.

    Attributes:
        net: the network.
        data: training samples, then test samples.
        train: how many training samples there are.
        targets: y of shape (N_A, n_L).
        algorithm: how it is trained.
        ridge: what is added to the eigenvalues of the mean training NTK.
    """

    net: Network
    data: NDArray[np.float64]
    train: int
    targets: Array
    algorithm: Algorithm
    ridge: float

    def statistics(self, tensors: Mapping[str, Array]) -> Statistics:
        """Those of tensors at the last layer, with a training NTK that suits the algorithm."""
        width = self.net.widths[-1] if self.net.widths else 1
        statistics = Statistics(tensors, self.train, width, self.ridge)
        self.algorithm.check(statistics.spectrum[0])
        return statistics


def checked(
    net: Network,
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    algorithm: Algorithm | None,
    ridge: float,
) -> TrainingProblem:
    """The arguments of `predict` and its like, refused where there is no prediction."""
    require(net, Network, "a network", "Give an MLP.")
    algorithm = check_algorithm(algorithm)
    data, train = check_samples(x_train, x_test)
    targets = check_targets(y_train, train, net.n_L)
    _refuse_kinks(net)
    refuse_outputs_that_are_read(net)
    refuse_laws_of_outputs(net)
    refuse_dropout(net)
    return TrainingProblem(net, data, train, targets, algorithm, check_ridge(ridge))


def prepare(
    net: Network,
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    algorithm: Algorithm | None,
    observable: Forest,
    progress: bool | None,
    ridge: float,
) -> Training:
    """The training of a network, with the tensors that an observable over all samples takes."""
    problem = checked(net, x_train, y_train, x_test, algorithm, ridge)
    tests = tuple(range(len(problem.data) - problem.train))
    (training,) = trainings(problem, MEAN, [(tests, tests)], observable.vertices, None, progress)
    return training


def trainings(
    problem: TrainingProblem,
    names: tuple[str, ...],
    pairs: Sequence[tuple[Chunk, Chunk]],
    most: int,
    executor: Executor | None,
    progress: bool | None,
) -> Iterator[Training]:
    """The training as it is seen by some test samples, two chunks of them at a time.

    Modes are training samples, and each output, or vertex of what is observed, is one sample more:
    tensors are needed where at most so many axes are those of test samples.
    """
    train = problem.train
    sets = [
        (*range(train), *(train + sample for sample in dict.fromkeys((*one, *other))))
        for one, other in pairs
    ]
    final = final_tensors(problem.net, problem.data, names, sets, train, most, executor, progress)
    for tensors in final:
        statistics = problem.statistics(tensors)
        yield Training(statistics, problem.targets.T @ statistics.spectrum[1], problem.algorithm)


def test_chunks(problem: TrainingProblem, names: tuple[str, ...], outputs: int) -> list[Chunk]:
    """The test samples in chunks; those of one or of two, for so many outputs, go together.

    Where memory has no room for chunks that are large enough, all are one.
    """
    tests = len(problem.data) - problem.train
    room = next(
        (
            size
            for size in range(tests, problem.train // SMALLEST_CHUNK, -1)
            if is_one_task(problem.train + min(outputs * size, tests), names)
        ),
        tests,
    )
    count = -(-tests // room)
    ends = [tests * part // count for part in range(count + 1)]
    return [tuple(range(*part)) for part in pairwise(ends)]


def _room(parts: dict[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """Where a part goes."""
    return parts.setdefault(name, np.zeros(shape))


def _refuse_kinks(net: Network) -> None:
    if isinstance(net.activation, Activation) and net.activation.kinked:
        raise TrainingError(
            f"The activation {net.activation.name[:40]!r} has a kink. The change of the NTK in a "
            "step is expanded in the step size, and the mean ddNTK of a kinked activation is "
            "infinite. Use predict_infinite (on the command line --infinite), or a smooth "
            "activation such as GELU."
        )
