"""One particular network: its trained output from what was measured at its initialisation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from symdlt.definitions import OBSERVABLES, Forest
from symdlt.errors import TrainingError
from symdlt.networks.numbers import real_numbers
from symdlt.training.algorithms import Algorithm, check_algorithm, weights
from symdlt.training.chains import Array
from symdlt.training.data import check_finite, check_ridge, check_square, check_targets
from symdlt.training.responses import Response, moved
from symdlt.training.statistics import Statistics

TREES = ("NTK", "dNTK", "ddNTK-I", "ddNTK-II")


def train_network(
    z: ArrayLike,
    H: ArrayLike,
    dH: ArrayLike,
    ddH_I: ArrayLike,
    ddH_II: ArrayLike,
    y_train: ArrayLike,
    algorithm: Algorithm | None = None,
    *,
    ridge: float = 0.0,
) -> Array:
    r"""The trained output of one network (PDLT ∞.141, ∞.154).

    The NTK of the network is inverted as it is; its first and second differentials count to first
    order:

    $$z_\beta(T) = z_\beta - H H^{-1} (z - y)
      + \sum [X_\beta - H H^{-1} X]\, Z\, (z - y) (z - y) \cdots$$

    Args:
        z: outputs of shape (N, n_L), training samples first; (N,) for one output.
        H: the NTK, with a sample and a neuron for each vertex: (N, n_L, N, n_L).
        dH: the dNTK in the same way, the vertex with two derivatives first.
        ddH_I: the first ddNTK, the vertex with three derivatives first.
        ddH_II: the second ddNTK; vertices 1 and 2 have two derivatives, vertex 3 hangs on 1 and
            vertex 4 on 2, as in the path 3-1-2-4.
        y_train: targets of shape (N_A, n_L), or (N_A,) for one output.
        algorithm: gradient flow to the end if left out.
        ridge: as for `predict`.

    Returns:
        The outputs of the test samples, of shape (N_B, n_L).

    Raises:
        InputError: for what are no real numbers.
        TrainingError: for shapes that do not fit, a training NTK without inverse, or step sizes
            that are too large.

    >>> flat = np.zeros
    >>> H = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> train_network([0.0, 0.1], H, flat((2,) * 3), flat((2,) * 4), flat((2,) * 4), [2.0])
    array([[1.1]])
    """
    algorithm = check_algorithm(algorithm)
    outputs = _check_outputs(z)
    samples, neurons = outputs.shape
    targets = check_targets(y_train, None, neurons)
    train = len(targets)
    if train >= samples:
        raise TrainingError(
            f"z has {samples} samples and y_train {train}. Samples of the test follow those of "
            "training. Give at least one of the test."
        )
    trees = {
        OBSERVABLES[name]: _check_tree(name, value, outputs.shape)
        for name, value in zip(TREES, (H, dH, ddH_I, ddH_II), strict=True)
    }
    ntk = check_square("H", trees[OBSERVABLES["NTK"]])
    statistics = Statistics({"H": ntk}, train * neurons, 1, check_ridge(ridge))
    algorithm.check(statistics.spectrum[0])
    errors = statistics.spectrum[1].T @ (outputs[:train] - targets).ravel()
    final = outputs[train:].ravel() + _trained(trees, statistics, errors, algorithm)
    return final.reshape(samples - train, neurons)


def _trained(
    trees: dict[Forest, Array], statistics: Statistics, errors: Array, algorithm: Algorithm
) -> Array:
    """How far training moves the test outputs: by the NTK, and by its change."""
    values = statistics.spectrum[0]
    moves = np.zeros(len(statistics.propagator))
    for response in moved(OBSERVABLES["preactivation"]):
        if response.fixed == response.forest.vertices:
            kept = algorithm.weight(response, {}, values) if not algorithm.finished else 0.0
            moves += statistics.propagator[:, : len(errors)] @ ((1.0 - kept) * errors)
        elif len(response.modes) > 1:
            moves += _moved_by(
                response, _read(trees, response.forest), statistics, errors, algorithm
            )
    return moves


def _moved_by(
    response: Response, tree: Array, statistics: Statistics, errors: Array, algorithm: Algorithm
) -> Array:
    """What one tree adds to the test outputs."""
    values, vectors = statistics.spectrum
    count, train = len(response.modes), len(values)
    tree = np.tensordot(statistics.basis, tree, (0, 0))
    for axis in range(1, count + 1):
        inner: Array = np.take(tree, range(train), axis)
        tree = np.moveaxis(np.tensordot(vectors, inner, (0, axis)), 0, axis)
        tree = tree * errors.reshape((-1,) + (1,) * (count - axis))
    still, left = weights(algorithm, response, values)
    weight = np.broadcast_to(still, tree.shape).copy()
    if left is not None:
        weight[:train] -= left
    added: Array = statistics.propagator @ (weight * tree).reshape(len(tree), -1).sum(axis=1)
    return added


def _read(trees: dict[Forest, Array], wanted: Forest) -> Array:
    """The array of a tree whose vertices are numbered as wanted."""
    for known, array in trees.items():
        for order in permutations(range(wanted.vertices)):
            if known.vertices == wanted.vertices and wanted.edges == tuple(
                sorted(tuple(sorted((order.index(u), order.index(v)))) for u, v in known.edges)
            ):
                return array.transpose(order)
    raise TrainingError(f"There is no array for the tree {wanted}. Give all four trees.")


def _check_outputs(z: ArrayLike) -> Array:
    outputs = real_numbers("z", z, "outputs of shape (N, n_L)")
    if outputs.ndim not in (1, 2) or not outputs.size:
        raise TrainingError(
            f"z has the shape {outputs.shape}. It has one row for each sample and a column for "
            "each output: (N, n_L), or (N,) for one output. Give such an array."
        )
    return check_finite("z", outputs[:, None] if outputs.ndim == 1 else outputs)


def _check_tree(name: str, value: ArrayLike, shape: Sequence[int]) -> Array:
    """A tree with one axis for a sample and its neuron together."""
    tree = real_numbers(name, value, "an array with a sample and a neuron for each vertex")
    vertices = OBSERVABLES[name].vertices
    samples, neurons = shape
    allowed = [(samples, neurons) * vertices]
    if tree.shape != allowed[0] and (neurons > 1 or tree.shape != (samples,) * vertices):
        raise TrainingError(
            f"The {name} has the shape {tree.shape}. It has a sample and a neuron for each of its "
            f"{vertices} vertices, as z has: {allowed[0]}. Give such an array."
        )
    return check_finite(name, tree).reshape((samples * neurons,) * vertices)
