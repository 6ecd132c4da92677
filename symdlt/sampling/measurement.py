"""Measured tensors: values and standard errors over all samples."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from numbers import Real
from reprlib import repr as short_repr
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from symdlt.activations.checks import Activation
from symdlt.definitions import Network, program_of
from symdlt.equality import EqualByFields
from symdlt.errors import SamplingError, UnknownTensorError, require
from symdlt.progress import ALIKE_FROM, Progress
from symdlt.sampling.checks import (
    check_finite,
    check_generator,
    check_inputs,
    listed,
    real_array,
    whole_number,
)
from symdlt.sampling.ensemble import draw_parameters, join_networks
from symdlt.sampling.moments import estimate_cumulant, sum_products
from symdlt.sampling.observables import (
    check_sampling_memory,
    checked_activations,
    choose_batch,
    evaluate_trees,
    highest_derivative,
    split_count,
)
from symdlt.sampling.tensors import (
    TENSORS,
    TensorPattern,
    group_trees,
    label_pairs,
    list_trees,
    tie_component,
)
from symdlt.sampling.trees import TiedTree, Tree

Array = npt.NDArray[Any]
TensorName: TypeAlias = str | TensorPattern

# How many groups are done when it is looked whether errors are small enough. From ten groups on a
# jackknife error is itself known to a quarter; each look costs as much as the end, so they double.
LOOKS = tuple(10 * 2**k for k in range(30))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measurement(EqualByFields):
    """A tensor estimated from `count` networks, with one axis of samples for each vertex."""

    values: Array
    standard_errors: Array
    count: int

    def z_scores(self, expected: npt.ArrayLike) -> Array:
        """Divide the deviation from `expected` by the standard error; 0/0 counts as 0.

        >>> Measurement(np.array([1.5, 2.0]), np.array([0.5, 0.0]), 100).z_scores([1.0, 2.0])
        array([1., 0.])
        """
        numbers = real_array("expected", expected)
        if numbers.shape not in ((), self.values.shape):
            raise SamplingError(
                f"Expected values of shape {numbers.shape} do not fit the measured ones. "
                f"These have the shape {self.values.shape}. "
                f"Try one number, or one for each of them."
            )
        deviation = self.values - numbers
        exact = (self.standard_errors == 0) & (deviation == 0)
        with np.errstate(divide="ignore"):
            return np.where(exact, 0.0, deviation / np.where(exact, 1.0, self.standard_errors))

    def __repr__(self) -> str:
        return f"Measurement({self.values.shape} samples, from {self.count} networks)"


def measure(
    ensemble: Network,
    activation: Activation | Mapping[str, Activation],
    inputs: npt.ArrayLike,
    tensors: Sequence[TensorName],
    count: int,
    rng: np.random.Generator,
    *,
    groups: int = 100,
    errors: Mapping[str, float] | None = None,
    progress: bool | None = None,
) -> dict[TensorName, Measurement]:
    r"""Measure tensors of the output layer on an ensemble of real networks.

    Each tensor is $n_{L-1}^{m-1}$ times the joint cumulant of its groups of trees, averaged over
    all choices of different output neurons for its m pairs. What is measured is the tensor of the
    finite network, all orders in 1/n included. All tensors come from the same networks.

    Args:
        ensemble: widths, initialisation and learning rates; at least as many output neurons
            as a tensor has pairs and lone vertices.
        activation: σ, σ', σ'', …, up to the highest degree of a vertex; or a dict of them by their
            names in the layers, s for σ.
        inputs: one row a sample, shape (samples, n_0).
        tensors: names G, H, V, A, B, D, F, P, Q, R, S, T, U, A3, N3, F3, Q3, or any
            `TensorPattern`.
        count: how many networks, a multiple of `groups`.
        rng: source of all randomness; the same state gives the same numbers.
        groups: groups of the jackknife.
        errors: sampling stops once no standard error of a tensor is above its entry here; tensors
            without one do not count. All `count` networks are sampled if it is left out.
        progress: True or False, or None to show it on a terminal only.

    Returns:
        For each tensor its measurement, in the index order of its pattern.

    Raises:
        SamplingError: if inputs, count or the number of output neurons do not fit, or for
            overflow, or for too little memory.
        ActivationError: if the activation has too few derivatives, or functions that are none.
        UnknownTensorError: if a tensor has no such name.

    >>> from symdlt import NetworkEnsemble
    >>> ensemble = NetworkEnsemble.of((2, 6, 2))
    >>> linear = (lambda z: z, np.ones_like, np.zeros_like)
    >>> rng = np.random.default_rng(1)
    >>> measured = measure(ensemble, linear, [[1.0, 1.0]], ["G", "V"], 20_000, rng)
    >>> measured["V"]
    Measurement((1, 1, 1, 1) samples, from 20000 networks)
    >>> bool(abs(measured["V"].z_scores(2.0)).max() < 3)
    True
    """
    check_generator(rng)
    ensemble, samples = check_inputs(inputs, ensemble)
    check_generator(rng)
    entries = listed("tensors", tensors, "['H', 'V']")
    patterns = [resolve_tensor(entry) for entry in entries]
    size = _group_size(whole_number("count", count), whole_number("groups", groups))
    goal = _check_errors(errors)
    _check_outputs(patterns, ensemble)
    tied = _trees_of(patterns)
    trees = [one.tree for one in tied]
    order = highest_derivative(trees, program_of(ensemble, learning=False))
    functions = checked_activations(activation, ensemble, order)
    batch = choose_batch(ensemble, len(samples), trees)
    _check_memory(patterns, trees, ensemble, len(samples), groups)

    sums: list[dict[int, list[Array]]] = [{} for _ in patterns]

    def measured() -> dict[TensorName, Measurement]:
        return {
            entry: _finish(entry, pattern, collected, size, ensemble.sizes[-2], len(samples))
            for entry, pattern, collected in zip(entries, patterns, sums, strict=True)
        }

    with Progress("sampling, group", groups, progress, ALIKE_FROM) as told:
        for first, last in _spans(groups, max(1, batch // size)):
            told.reach(first, f"{first + 1}/{groups}")
            parts = split_count(size, batch)
            drawn = (
                draw_parameters(ensemble, part, rng, len(samples))
                for part in parts * (last - first)
            )
            for parameters in drawn if len(parts) > 1 else [join_networks(tuple(drawn))]:
                values = evaluate_trees(parameters, ensemble, functions, samples, tied)
                _add_products(sums, patterns, values, ensemble.n_L, (first, last))
            if goal and last in LOOKS and _is_reached(goal, measured()):
                break
    return measured()


def _spans(groups: int, together: int) -> list[tuple[int, int]]:
    """The groups that are evaluated together, from one to before another; looks are at ends.

    >>> _spans(20, 8)
    [(0, 8), (8, 10), (10, 18), (18, 20)]
    """
    ends = [0, *(look for look in LOOKS if look < groups), groups]
    return [
        (first, min(first + together, end))
        for start, end in pairwise(ends)
        for first in range(start, end, together)
    ]


def _trees_of(patterns: Sequence[TensorPattern]) -> list[TiedTree]:
    """The trees of some tensors, each once, the smallest first."""
    trees = {
        tie_component(component, label_pairs(pattern))
        for pattern in patterns
        for component in list_trees(pattern)
    }
    return sorted(trees, key=lambda tied: (tied.tree.vertices, tied.tree.edges, tied.pairs))


def _add_products(
    sums: Sequence[dict[int, list[Array]]],
    patterns: Sequence[TensorPattern],
    values: Mapping[TiedTree, Array],
    outputs: int,
    span: tuple[int, int],
) -> None:
    """Add the products of one batch of networks to the sums of groups, or of a part of one."""
    first, last = span
    with np.errstate(all="ignore"):
        for pattern, collected in zip(patterns, sums, strict=True):
            for mask, value in sum_products(pattern, values, outputs, last - first).items():
                kept = collected.setdefault(mask, [])
                if len(kept) == first:
                    kept.extend(value)
                else:
                    kept[-1] = kept[-1] + value[0]


def _is_reached(goal: Mapping[str, float], measurements: Mapping[TensorName, Measurement]) -> bool:
    """Whether all standard errors are as small as was asked for."""
    return all(
        measured.standard_errors.max() <= goal.get(name, inf)
        for name, measured in measurements.items()
        if isinstance(name, str)
    )


def _check_errors(errors: Mapping[str, float] | None) -> Mapping[str, float]:
    """The largest standard errors that are asked for, by tensor."""
    advice = "Try the largest standard error of a tensor by its name, as {'V': 0.01}."
    require(errors, Mapping | None, "a dict of standard errors", advice)
    for name, number in (errors or {}).items():
        if not isinstance(number, Real) or isinstance(number, bool) or not number > 0:
            raise SamplingError(
                f"The error {short_repr(number)} of {short_repr(name)} cannot be reached. "
                f"It was given in `errors`, where sampling may stop. {advice}"
            )
    return errors or {}


def resolve_tensor(tensor: TensorName) -> TensorPattern:
    """Look up a tensor by its letter; a pattern stands for itself.

    >>> resolve_tensor("R")
    TensorPattern(edges=((0, 1), (0, 2), (0, 3)), matching=((0, 1), (2, 3)), alone=())
    """
    if isinstance(tensor, TensorPattern):
        return tensor
    if not isinstance(tensor, str) or tensor not in TENSORS:
        raise UnknownTensorError(
            f"There is no tensor called {short_repr(tensor)}. "
            f"It was asked of the sampler. "
            f"Try one of {', '.join(TENSORS)}, or a `TensorPattern` with edges and matching."
        )
    return TENSORS[tensor]


def _finish(
    name: TensorName,
    pattern: TensorPattern,
    sums: Mapping[int, list[Array]],
    group_size: int,
    width: int,
    samples: int,
) -> Measurement:
    stacked = {mask: np.stack(parts) for mask, parts in sums.items()}
    groups = len(stacked[max(stacked)])
    with np.errstate(all="ignore"):
        value, error = (
            _sort_axes(pattern, float(width) ** pattern.order * array, samples)
            for array in estimate_cumulant(stacked, group_size, max(stacked))
        )
    check_finite(name, value, error)
    return Measurement(value, error, groups * group_size)


def _sort_axes(pattern: TensorPattern, values: Array, samples: int) -> Array:
    vertices = [
        vertex for group in group_trees(pattern) for tree in group for vertex in tree.vertices
    ]
    ordered = values.reshape((samples,) * len(vertices)).transpose(np.argsort(vertices))
    ordered.flags.writeable = False
    return ordered


def _group_size(count: int, groups: int) -> int:
    if groups < 2 or count < groups or count % groups:
        raise SamplingError(
            f"A number of {count} networks does not divide into {groups} equal groups. "
            f"These were given as `count` and `groups`, for the jackknife. "
            f"Try at least 2 groups and a multiple of their number."
        )
    return count // groups


def _check_outputs(patterns: Sequence[TensorPattern], ensemble: Network) -> None:
    most = max(patterns, key=lambda pattern: pattern.neurons, default=TENSORS["G"])
    if ensemble.sizes[-1] < most.neurons:
        pairs = f"{len(most.matching)} pairs" if not most.alone else "a vertex that is in no pair"
        raise SamplingError(
            f"A tensor with {pairs} needs {most.neurons} different output neurons, "
            f"the networks have {ensemble.sizes[-1]}. "
            f"The last entry of `widths` is {ensemble.sizes[-1]}. "
            f"Try at least {most.neurons} there."
        )


def _check_memory(
    patterns: Sequence[TensorPattern],
    trees: Sequence[Tree],
    ensemble: Network,
    samples: int,
    groups: int,
) -> None:
    """Refuse moments that would not fit into memory: of one batch, and of all groups."""
    batch, kept = choose_batch(ensemble, samples, trees), 0
    for pattern in patterns:
        sizes = [sum(len(tree.vertices) for tree in group) for group in group_trees(pattern)]
        choices = math.perm(ensemble.sizes[-1], pattern.neurons)
        kept += batch * choices * samples ** max(sum(sizes[:-1]), sizes[-1])
        kept += 3 * groups * samples**pattern.vertices
    check_sampling_memory(ensemble, samples, trees, kept)
