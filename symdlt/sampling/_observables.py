"""Tree observables of given networks, and samples of them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from symdlt.errors import ActivationError, UnknownTensorError
from symdlt.sampling._differentiation import (
    BasePoint,
    ParameterVector,
    apply_learning_rates,
    differentiate,
    pair_vectors,
    shift_vector,
)
from symdlt.sampling._ensemble import NetworkEnsemble, NetworkParameters, draw_parameters
from symdlt.sampling._errors import SamplingError
from symdlt.sampling._labelled import Labelled, add_all, apply_matrices
from symdlt.sampling._trees import (
    OBSERVABLES,
    CutTree,
    RootedShape,
    Tree,
    count_vertices,
    cut_tree,
)

Array = npt.NDArray[Any]
Activation: TypeAlias = Sequence[Callable[[Array], Array]]
Observable: TypeAlias = str | Tree

LARGEST_ARRAY = 4_000_000


def sample_networks(
    ensemble: NetworkEnsemble,
    activation: Activation,
    inputs: npt.ArrayLike,
    observables: Sequence[Observable],
    count: int,
    rng: np.random.Generator,
) -> dict[Observable, Array]:
    r"""Draw networks and evaluate tree observables on each.

    Args:
        ensemble: widths, initialisation and learning rates.
        activation: σ, σ', σ'', …, at least up to the highest degree of a vertex.
        inputs: one row a sample, shape (samples, n_0).
        observables: names `z`, `H`, `dH`, `ddI`, `ddII`, or any `Tree`.
        count: how many networks.
        rng: source of all randomness; the same state gives the same numbers.

    Returns:
        For each observable an array of shape (networks, i_0, …, i_k, δ_0, …, δ_k), where i_v runs
        over the output neurons and δ_v over the samples of vertex v.

    Raises:
        SamplingError: if inputs or count do not fit.
        ActivationError: if the activation has too few derivatives.
        UnknownTensorError: if an observable has no such name.

    >>> tanh = (np.tanh, lambda z: 1 / np.cosh(z) ** 2)
    >>> ensemble = NetworkEnsemble.of((3, 8, 2))
    >>> rng = np.random.default_rng(0)
    >>> sampled = sample_networks(ensemble, tanh, np.eye(3)[:2], ["z", "H"], 10, rng)
    >>> sampled["z"].shape, sampled["H"].shape
    ((10, 2, 2), (10, 2, 2, 2, 2))
    """
    check_count(count)
    trees = [resolve_observable(entry) for entry in observables]
    batch = choose_batch(ensemble, len(np.atleast_2d(inputs)), trees)
    parts = []
    for start in range(0, count, batch):
        parameters = draw_parameters(ensemble, min(batch, count - start), rng)
        parts.append(evaluate_networks(parameters, ensemble, activation, inputs, trees))
    return {
        entry: np.concatenate([part[tree] for part in parts])
        for entry, tree in zip(observables, trees, strict=True)
    }


def evaluate_networks(
    parameters: NetworkParameters,
    ensemble: NetworkEnsemble,
    activation: Activation,
    inputs: npt.ArrayLike,
    observables: Sequence[Observable],
) -> dict[Observable, Array]:
    r"""Evaluate tree observables on given networks.

    The tree is cut at an edge; each half gives a vector in parameter space,
    $u_v = λ D^{k+1} z_v[u_1, …, u_k, ·]$ from the vectors of the branches at v, and the observable
    is the scalar product of the two. Nothing but derivatives of the network enters.

    Args:
        parameters: the networks; complex parameters are allowed (complex-step derivatives).
        ensemble: widths and learning rates; the variances are not used.
        activation: σ, σ', σ'', …
        inputs: one row a sample.
        observables: names or trees.

    Returns:
        Arrays as in `sample_networks`.
    """
    trees = [resolve_observable(entry) for entry in observables]
    samples = check_inputs(inputs, ensemble)
    order = max((tree.largest_degree for tree in trees), default=0)
    check_activation(activation, order, ensemble.depth)
    base = _evaluate_base(parameters, activation, samples, order)
    sizes = (parameters.count, ensemble.widths[-1], len(samples))
    vectors: dict[RootedShape, ParameterVector] = {}
    values: dict[CutTree, Array] = {}
    result: dict[Observable, Array] = {}
    for entry, tree in zip(observables, trees, strict=True):
        result[entry] = _evaluate_tree(tree, base, ensemble, sizes, vectors, values)
    return result


def resolve_observable(observable: Observable) -> Tree:
    """Look up an observable by name; a tree stands for itself.

    >>> resolve_observable("dH")
    Tree(vertices=3, edges=((0, 1), (0, 2)))
    """
    if isinstance(observable, Tree):
        return observable
    if observable not in OBSERVABLES:
        raise UnknownTensorError(
            f"There is no observable called {observable!r}. "
            f"It was asked of the sampler. "
            f"Try one of {', '.join(OBSERVABLES)}, or a `Tree` with its edges."
        )
    return OBSERVABLES[observable]


def choose_batch(ensemble: NetworkEnsemble, samples: int, trees: Sequence[Tree]) -> int:
    """Choose how many networks to treat together, so that the largest array stays small."""
    labels = ensemble.widths[-1] * samples
    vertices = max((tree.vertices for tree in trees), default=1)
    widest = max(ensemble.widths)
    entries = max(widest * labels ** max(vertices - 1, 1), labels**vertices, widest**2)
    return max(1, min(1024, LARGEST_ARRAY // entries))


def check_count(count: int) -> None:
    """Raise a `SamplingError` unless there is something to sample."""
    if count < 1:
        raise SamplingError(
            f"There is nothing to sample in {count} networks. "
            f"This was given as `count`. "
            f"Try a positive number."
        )


def check_inputs(inputs: npt.ArrayLike, ensemble: NetworkEnsemble) -> Array:
    """Return the inputs as an array (samples, n_0), or raise a `SamplingError`."""
    samples = np.asarray(inputs, dtype=float)
    if samples.ndim != 2 or samples.shape[1] != ensemble.widths[0] or not len(samples):
        raise SamplingError(
            f"Inputs of shape {samples.shape} do not fit networks of n_0 = {ensemble.widths[0]}. "
            f"They were given as `inputs`, one row a sample. "
            f"Try an array of shape (samples, {ensemble.widths[0]})."
        )
    if not np.isfinite(samples).all():
        raise SamplingError(
            "Some inputs are infinite or not a number. "
            "They were given as `inputs`, one row a sample. "
            "Try finite ones."
        )
    return samples


def check_activation(activation: Activation, order: int, depth: int) -> None:
    """Raise an `ActivationError` if derivatives up to `order` are not all there."""
    if depth > 1 and len(activation) <= order:
        raise ActivationError(
            f"An activation with {max(len(activation) - 1, 0)} derivatives is not enough for "
            f"observables that need {order}. "
            f"It was given as `activation`, σ first and then its derivatives in order. "
            f"Try to append callables up to σ^({order}), or ask for smaller observables."
        )


def _evaluate_base(
    parameters: NetworkParameters, activation: Activation, samples: Array, order: int
) -> BasePoint:
    inputs = signal = Labelled(samples.T[None], (1,))
    preactivations: list[Labelled] = []
    derivatives: list[tuple[Labelled, ...]] = []
    for weights, biases in zip(parameters.weights, parameters.biases, strict=True):
        moved = apply_matrices(weights, signal)
        preactivations.append(Labelled(moved.values + biases[:, :, None], moved.labels))
        if len(preactivations) < len(parameters.weights):
            at = preactivations[-1].values
            derivatives.append(
                tuple(Labelled(function(at), (1,)) for function in activation[: order + 1])
            )
            signal = derivatives[-1][0]
    outputs = Labelled(np.eye(parameters.weights[-1].shape[1])[None], (0,))
    return BasePoint(parameters, inputs, tuple(preactivations), tuple(derivatives), outputs)


def _evaluate_tree(
    tree: Tree,
    base: BasePoint,
    ensemble: NetworkEnsemble,
    sizes: tuple[int, int, int],
    vectors: dict[RootedShape, ParameterVector],
    values: dict[CutTree, Array],
) -> Array:
    if tree.vertices == 1:
        return base.preactivations[-1].values
    cut = cut_tree(tree)
    shapes = CutTree(cut.left, cut.right, ())
    if shapes not in values:
        values[shapes] = _evaluate_cut(shapes, base, ensemble, sizes, vectors)
    position = [cut.order.index(vertex) for vertex in range(tree.vertices)]
    axes = [1 + 2 * place for place in position] + [2 + 2 * place for place in position]
    return values[shapes].transpose(0, *axes)


def _evaluate_cut(
    cut: CutTree,
    base: BasePoint,
    ensemble: NetworkEnsemble,
    sizes: tuple[int, int, int],
    vectors: dict[RootedShape, ParameterVector],
) -> Array:
    find = partial(_find_vector, base=base, ensemble=ensemble, vectors=vectors)
    vertices = count_vertices(cut.left)
    scaled = apply_learning_rates(find(cut.right), ensemble)
    total = pair_vectors(find(cut.left), shift_vector(scaled, vertices))
    networks, neurons, samples = sizes
    shape = (networks, *(neurons, samples) * (vertices + count_vertices(cut.right)))
    labels = tuple(range(len(shape) - 1))
    zero = Labelled(np.zeros((1,) * (len(shape) + 1)), labels)
    filled = add_all([zero] if total is None else [zero, total])
    assert filled is not None
    return np.broadcast_to(filled.values[:, 0], shape)


def _find_vector(
    shape: RootedShape,
    base: BasePoint,
    ensemble: NetworkEnsemble,
    vectors: dict[RootedShape, ParameterVector],
) -> ParameterVector:
    if shape not in vectors:
        directions = []
        offset = 1
        for branch in shape:
            vector = apply_learning_rates(_find_vector(branch, base, ensemble, vectors), ensemble)
            directions.append(shift_vector(vector, offset))
            offset += count_vertices(branch)
        vectors[shape] = differentiate(base, tuple(directions))
    return vectors[shape]
