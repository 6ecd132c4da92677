"""Averages over initialisations of what responses multiply, to order 1/n."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from symdlt.combinatorics import connected_components, perfect_matchings, set_partitions
from symdlt.definitions import place
from symdlt.definitions.forests import Edge
from symdlt.training.responses import Response

Labels = tuple[int, ...]
Tensors = tuple[tuple[str, Labels], ...]
MODE = 10
"""Labels of modes: those of the first response start here, of the second at twice of it."""


@dataclass(frozen=True, slots=True)
class Average:
    r"""One term of an average: tensors at initialisation and training targets.

    Labels below `MODE` are outputs, the others modes of the training set.

    Attributes:
        loops: the power of n_L.
        tensors: names of tensors and the labels along their axes.
        grams: pairs of labels a, b for $\sum_j y_{ja} y_{jb}$.
        targets: pairs of an output i and a label a for $y_{ia}$.
        equal: pairs of outputs i, j for $\\delta_{ij}$ of their neurons.
    """

    loops: int
    tensors: Tensors
    grams: tuple[Edge, ...]
    targets: tuple[Edge, ...]
    equal: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class _JoinedResponses:
    """Trees and targets before the average.

    `labels` has one label for each vertex, `links` pairs of vertices of one neuron, `sources`
    the vertices whose neuron is that of a target.
    """

    edges: tuple[Edge, ...]
    labels: Labels
    links: tuple[Edge, ...]
    sources: tuple[int, ...]
    outputs: tuple[int, ...]


@lru_cache(maxsize=128)
def averages(responses: tuple[Response, ...], order: int) -> dict[Average, int]:
    r"""The average of a product of responses at one order in 1/n.

    Trees are connected in all ways; a connected correlator of a forest on 2m vertices is of order
    $n^{1-m}$ and has a term for each matching of its vertices. The mean NTK is taken out of the
    NTK, of which only its 1/n correction is left. Neurons are then summed: each vertex shares
    its neuron with its partner in the matching and with the error that it is multiplied by.

    Args:
        responses: one for the mean of an observable, two for the product of two outputs.
        order: 0 or 1.

    Returns:
        The numbers that multiply the averages.
    """
    sums: dict[Average, int] = {}
    errors = [v for response in responses for v in response.errors]
    for choice in product((True, False), repeat=len(errors)):
        sign = (-1) ** choice.count(False)
        made = _multiplied(responses, choice)
        for tensors, matching in _contracted(made, order):
            average = _resolved(tensors, matching, made)
            sums[average] = sums.get(average, 0) + sign
    return {average: number for average, number in sums.items() if number}


def _multiplied(responses: Sequence[Response], fluctuating: Sequence[bool]) -> _JoinedResponses:
    """The product of responses, each error being a preactivation or else a target."""
    edges: list[Edge] = []
    labels: list[int] = []
    links: list[Edge] = []
    sources: list[int] = []
    outputs: list[int] = []
    choices = iter(fluctuating)
    for k, response in enumerate(responses):
        first = len(labels)
        shared = {b: a for a, b in response.joined}
        modes = range(response.fixed, response.forest.vertices)
        labels += range(len(outputs), len(outputs) + response.fixed)
        labels += [MODE * (k + 1) + shared.get(v, v) for v in modes]
        outputs += range(first, first + response.fixed)
        edges += [(first + u, first + v) for u, v in response.forest.edges]
        links += [(first + u, first + v) for u, v in response.joined]
        for v in response.errors:
            if next(choices):
                links.append((first + v, len(labels)))
                labels.append(labels[first + v])
            else:
                sources.append(first + v)
    return _JoinedResponses(
        tuple(edges), tuple(labels), tuple(links), tuple(sources), tuple(outputs)
    )


def _contracted(made: _JoinedResponses, order: int) -> Iterator[tuple[Tensors, tuple[Edge, ...]]]:
    """All ways to connect the trees: the tensors, and which vertices share a neuron."""
    trees = connected_components(range(len(made.labels)), made.edges)
    for groups in set_partitions(trees):
        for chosen in product(*(tuple(_connected(made, group, order)) for group in groups)):
            if sum(power for power, _, _ in chosen) == order:
                tensors = tuple(sorted(tensor for _, tensor, _ in chosen))
                yield tensors, tuple(pair for _, _, pairs in chosen for pair in pairs)


def _connected(
    made: _JoinedResponses, group: Sequence[tuple[int, ...]], order: int
) -> Iterator[tuple[int, tuple[str, Labels], tuple[Edge, ...]]]:
    """The connected correlators of some trees, with their order in 1/n and their matching."""
    vertices = [v for tree in group for v in tree]
    if len(vertices) % 2 or len(vertices) > 2 * order + 2:
        return
    number = {v: k for k, v in enumerate(vertices)}
    edges = tuple(sorted((number[u], number[v]) for u, v in made.edges if u in number))
    labels = tuple(made.labels[v] for v in vertices)
    for pairs in perfect_matchings(tuple(vertices)):
        numbered = tuple((number[u], number[v]) for u, v in pairs)
        correlator, axes = place(len(vertices), edges, numbered, labels)
        if len(pairs) > 1:
            yield len(pairs) - 1, (correlator.name, axes), pairs
        else:
            if not edges:
                yield 0, (correlator.name, axes), pairs
            yield 1, (f"{correlator.name}.1", axes), pairs


def _resolved(tensors: Tensors, matching: Sequence[Edge], made: _JoinedResponses) -> Average:
    """Sum the neurons: chains of vertices that share one end in outputs or targets, or close."""
    ends = {vertex: -1 - k for k, vertex in enumerate(made.outputs)}
    ends |= {vertex: made.labels[vertex] for vertex in made.sources}
    chains = connected_components(range(len(made.labels)), [*matching, *made.links])
    paths = sorted(tuple(sorted(ends[v] for v in chain if v in ends)) for chain in chains)
    open_paths = [(path[0], path[1]) for path in paths if path]
    return Average(
        len(paths) - len(open_paths),
        tensors,
        grams=tuple((a, b) for a, b in open_paths if a > 0),
        targets=tuple((-1 - a, b) for a, b in open_paths if a < 0 < b),
        equal=tuple((-1 - b, -1 - a) for a, b in open_paths if b < 0),
    )
