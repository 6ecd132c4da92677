"""Tree observables of given networks, and samples of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from reprlib import repr as short_repr
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from symdlt.activations.checks import Activation, Function, check_activation
from symdlt.definitions import Network, Program, program_of
from symdlt.errors import ActivationError, SamplingError, UnknownTensorError, require
from symdlt.sampling.base_points import base_point
from symdlt.sampling.checks import (
    check_finite,
    check_generator,
    check_inputs,
    check_memory,
    listed,
    whole_number,
)
from symdlt.sampling.differentiation import (
    BasePoint,
    ParameterVector,
    apply_learning_rates,
    differentiate,
    pair_vectors,
    place_vector,
)
from symdlt.sampling.ensemble import (
    NetworkParameters,
    count_parameters,
    draw_parameters,
    random_branches,
)
from symdlt.sampling.labelled import (
    NEURON,
    OWNED,
    SAMPLE,
    align,
    keep_freed_memory,
)
from symdlt.sampling.trees import (
    OBSERVABLES,
    RootedShape,
    TiedTree,
    Tree,
    count_vertices,
    cut_tree,
)

Array = npt.NDArray[Any]
Observable: TypeAlias = str | Tree
# Of each vertex of a rooted tree, in preorder, the first one with the same output neuron.
Neurons: TypeAlias = tuple[int, ...]

# Entries of the largest array of a batch: four megabytes, about what a cache holds.
LARGEST_ARRAY = 500_000
# Convention: among so many networks, what comes with each call no longer counts.
LARGEST_BATCH = 1024


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluation:
    """What trees on the same networks share: vectors of rooted trees, values of joined ones."""

    base: BasePoint
    vectors: dict[tuple[RootedShape, Neurons], ParameterVector] = field(default_factory=dict)
    values: dict[tuple[RootedShape, RootedShape, Neurons], Array] = field(default_factory=dict)


def sample_networks(
    ensemble: Network,
    activation: Activation | Mapping[str, Activation],
    inputs: npt.ArrayLike,
    observables: Sequence[Observable],
    count: int,
    rng: np.random.Generator,
) -> dict[Observable, Array]:
    r"""Draw networks and evaluate tree observables on each.

    Args:
        ensemble: widths, initialisation and learning rates.
        activation: σ, σ', σ'', …, at least up to the highest degree of a vertex; or a dict of them
            by their names in the layers, s for σ.
        inputs: one row a sample, shape (samples, n_0).
        observables: names `z`, `H`, `dH`, `ddI`, `ddII`, or any `Tree`.
        count: how many networks.
        rng: source of all randomness; the same state gives the same numbers.

    Returns:
        For each observable an array of shape (networks, i_0, …, i_k, δ_0, …, δ_k), where i_v runs
        over the output neurons and δ_v over the samples of vertex v.

    Raises:
        SamplingError: if inputs or count do not fit, or for overflow, or for too little memory.
        ActivationError: if the activation has too few derivatives, or functions that are none.
        UnknownTensorError: if an observable has no such name.

    >>> tanh = (np.tanh, lambda z: 1 / np.cosh(z) ** 2)
    >>> from symdlt import NetworkEnsemble
    >>> ensemble = NetworkEnsemble.of((3, 8, 2))
    >>> rng = np.random.default_rng(0)
    >>> sampled = sample_networks(ensemble, tanh, np.eye(3)[:2], ["z", "H"], 10, rng)
    >>> sampled["z"].shape, sampled["H"].shape
    ((10, 2, 2), (10, 2, 2, 2, 2))
    """
    whole_number("count", count)
    check_generator(rng)
    entries = listed("observables", observables, "['z', 'H']")
    trees = [resolve_observable(entry) for entry in entries]
    ensemble, samples = check_inputs(inputs, ensemble)
    order = highest_derivative(trees, program_of(ensemble, learning=False))
    functions = checked_activations(activation, ensemble, order)
    labels = ensemble.sizes[-1] * len(samples)
    check_sampling_memory(
        ensemble, len(samples), trees, 2 * count * sum(labels**tree.vertices for tree in trees)
    )
    batch = choose_batch(ensemble, len(samples), trees)
    free = list(map(TiedTree.free, trees))
    parts = []
    for size in split_count(count, batch):
        parameters = draw_parameters(ensemble, size, rng, len(samples))
        parts.append(evaluate_trees(parameters, ensemble, functions, samples, free))
    sampled = {
        entry: np.concatenate([part[tied] for part in parts])
        for entry, tied in zip(entries, free, strict=True)
    }
    for entry, values in sampled.items():
        check_finite(entry, values)
    return sampled


def evaluate_networks(
    parameters: NetworkParameters,
    ensemble: Network,
    activation: Activation | Mapping[str, Activation],
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
    ensemble, samples = check_inputs(inputs, ensemble)
    check_parameters(parameters, ensemble, len(samples))
    entries = listed("observables", observables, "['z', 'H']")
    trees = [resolve_observable(entry) for entry in entries]
    order = highest_derivative(trees, program_of(ensemble, learning=False))
    functions = checked_activations(activation, ensemble, order)
    check_memory(3 * parameters.count * largest_array(ensemble, len(samples), trees))
    free = list(map(TiedTree.free, trees))
    values = evaluate_trees(parameters, ensemble, functions, samples, free)
    for entry, tied in zip(entries, free, strict=True):
        check_finite(entry, values[tied])
    return {entry: values[tied] for entry, tied in zip(entries, free, strict=True)}


def evaluate_trees(
    parameters: NetworkParameters,
    ensemble: Network,
    activations: Mapping[str, Sequence[Function]],
    samples: Array,
    trees: Sequence[TiedTree],
) -> dict[TiedTree, Array]:
    """Evaluate trees on given networks, all arguments having been checked.

    Arrays have an axis for each output neuron and then one for the sample of each vertex.
    """
    keep_freed_memory()
    with np.errstate(all="ignore"):
        program = program_of(ensemble, any(tied.tree.edges for tied in trees))
        if program.fields[-1].grid:
            raise SamplingError(
                f"The outputs of {ensemble!r} have positions, {program.fields[-1].grid}. They were "
                'to be sampled. End with a readout such as "z\' = b + W[all] s(z)" or W[mean].'
            )
        order = highest_derivative([tied.tree for tied in trees], program)
        evaluation = _Evaluation(base_point(parameters, program, activations, samples, order))
        return {tied: _evaluate_tree(tied, evaluation) for tied in trees}


def checked_activations(
    activation: Activation | Mapping[str, Activation], network: Network, order: int
) -> dict[str, tuple[Function, ...]]:
    """The functions by the name they have in layers; those of the network are s.

    One layer that reads none of them takes any.

    Raises:
        ActivationError: if there are too few, or they are none.
    """
    given = activation if isinstance(activation, Mapping) else {"s": activation}
    read = program_of(network, learning=False).names
    names = read or ("s",)
    missing = [name for name in names if name not in given]
    if missing:
        raise ActivationError(
            f"The layers of {network!r} read {', '.join(missing)}, which have no functions. They "
            f"were given those of {', '.join(map(str, given)) or 'nothing'}. Give a dict such as "
            "{'s': (np.sin, np.cos), 'tanh': …}."
        )
    if network.depth == 1 and not read:
        return {"s": ()}
    return {name: check_activation(given[name], order) for name in names}


def check_parameters(parameters: NetworkParameters, ensemble: Network, samples: int) -> None:
    """Raise an error unless the parameters are those of networks of the ensemble's widths."""
    require(parameters, NetworkParameters, "drawn parameters", "Try `draw_parameters`.")
    program = program_of(ensemble, learning=False)
    fitting = sorted(branch.shape for branch in random_branches(program))
    given = (*parameters.weights, *parameters.biases)
    masks = [(field.width, samples) for field in program.fields if field.mask]
    fits = sorted(array.shape[1:] for array in given) == fitting
    if not fits or [mask.shape[1:] for mask in parameters.masks] != masks:
        raise SamplingError(
            f"Parameters do not fit the ensemble: {parameters!r}. "
            f"The network has the widths {ensemble.sizes}, and there are {samples} samples. "
            f"Try to draw them from it with `draw_parameters`."
        )


def highest_derivative(trees: Sequence[Tree], program: Program) -> int:
    """The highest derivative of the activation that trees on a network contain."""
    read = max((order for *_, order in program.factors), default=0)
    return read + max((tree.largest_degree for tree in trees), default=0)


def check_sampling_memory(
    ensemble: Network, samples: int, trees: Sequence[Tree], kept: int
) -> None:
    """Raise a `SamplingError` if one batch, or the numbers kept, would not fit into memory."""
    batch = choose_batch(ensemble, samples, trees)
    parameters = count_parameters(program_of(ensemble, learning=False))
    work = batch * (parameters + largest_array(ensemble, samples, trees))
    check_memory(3 * work + kept)


def resolve_observable(observable: Observable) -> Tree:
    """Look up an observable by name; a tree stands for itself.

    >>> resolve_observable("dH")
    Tree(vertices=3, edges=((0, 1), (0, 2)))
    """
    if isinstance(observable, Tree):
        return observable
    if not isinstance(observable, str) or observable not in OBSERVABLES:
        raise UnknownTensorError(
            f"There is no observable called {short_repr(observable)}. "
            f"It was asked of the sampler. "
            f"Try one of {', '.join(OBSERVABLES)}, or a `Tree` with its edges."
        )
    return OBSERVABLES[observable]


def choose_batch(ensemble: Network, samples: int, trees: Sequence[Tree]) -> int:
    """Choose how many networks to treat together, so that the largest array stays small."""
    return max(1, min(LARGEST_BATCH, LARGEST_ARRAY // largest_array(ensemble, samples, trees)))


def largest_array(ensemble: Network, samples: int, trees: Sequence[Tree]) -> int:
    """The size of the largest array of one network."""
    labels = ensemble.sizes[-1] * samples
    positions = prod(ensemble.positions)
    vertices = max((tree.vertices for tree in trees), default=1)
    widest = max(ensemble.sizes)
    entries = positions * widest * labels ** max(vertices - 1, 1)
    size: int = max(entries, labels**vertices, widest**2)
    program = program_of(ensemble, learning=False)
    if program.moves_positions:
        joined = max(field.width * prod(field.grid) for field in program.fields)
        size = max(size, joined * labels ** max(vertices - 1, 1))
    return size


def split_count(count: int, batch: int) -> tuple[int, ...]:
    """Split a number of networks into batches.

    >>> split_count(10, 4)
    (4, 4, 2)
    """
    return tuple(min(batch, count - start) for start in range(0, count, batch))


def _evaluate_tree(tied: TiedTree, at: _Evaluation) -> Array:
    tree, pairs = tied.tree, tied.pairs
    if tree.vertices == 1:
        return at.base.values[-1].values.swapaxes(1, 2)
    cut = cut_tree(tree, pairs)
    numbers = [pairs[vertex] for vertex in cut.order]
    neurons = tuple(map(numbers.index, numbers))
    halves = (cut.left, cut.right, neurons)
    if halves not in at.values:
        at.values[halves] = _evaluate_halves(*halves, at)
    distinct = sorted(set(neurons))
    firsts = [distinct.index(numbers.index(pair)) for pair in dict.fromkeys(pairs)]
    places = [len(distinct) + cut.order.index(vertex) for vertex in range(tree.vertices)]
    return at.values[halves].transpose(0, *(1 + axis for axis in (*firsts, *places)))


def _evaluate_halves(
    left: RootedShape, right: RootedShape, neurons: Neurons, at: _Evaluation
) -> Array:
    """The scalar product of the vectors of two halves; its neurons come before the samples."""
    size = count_vertices(left)
    first = _find_vector(left, neurons[:size], at)
    second = _find_vector(right, _renumbered(neurons[size:]), at)
    scaled = apply_learning_rates(second, at.base)
    total = pair_vectors(first, place_vector(scaled, size, neurons))
    networks, samples, outputs = at.base.values[-1].values.shape
    labels = [OWNED * vertex + NEURON for vertex in sorted(set(neurons))]
    labels += [OWNED * vertex + SAMPLE for vertex in range(len(neurons))]
    shape = (networks, *(samples if label % OWNED else outputs for label in labels))
    if total is None:
        return np.zeros(shape)
    order = [1 + axis for axis in np.argsort(np.argsort(labels))]
    filled = align(total, tuple(sorted(labels)))[..., 0].transpose(0, *order)
    return np.broadcast_to(filled, shape)


def _find_vector(shape: RootedShape, neurons: Neurons, at: _Evaluation) -> ParameterVector:
    if (shape, neurons) not in at.vectors:
        directions = []
        first = 1
        for branch in shape:
            end = first + count_vertices(branch)
            vector = _find_vector(branch, _renumbered(neurons[first:end]), at)
            directions.append(place_vector(apply_learning_rates(vector, at.base), first, neurons))
            first = end
        at.vectors[shape, neurons] = differentiate(at.base, tuple(directions))
    return at.vectors[shape, neurons]


def _renumbered(neurons: Neurons) -> Neurons:
    """The neurons of a part of a tree, numbered from its own root."""
    return tuple(map(neurons.index, neurons))
