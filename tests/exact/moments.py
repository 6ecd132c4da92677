"""Exact moments and cumulants of forests of trees, as polynomials in the inverse widths.

No expansion about a Gaussian is made anywhere. The moment of a forest at layer ℓ+1 is taken from
the definitions: every edge is a new bias, a new weight or an older parameter; the weights are
contracted along the matching; the activations are polynomials and are multiplied out; the neurons
of the layer below are split by coincidence; what is left are moments at layer ℓ, again summed
over all perfect matchings. The first layer ends this: there all is Gaussian or fixed.

A vertex has a label: its sample, or in `sites` a field and a sample. What the activations make of
one layer is `neuron_mean`, which each kind of network has for itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache, singledispatch
from itertools import product
from math import factorial, prod
from typing import Protocol

from .gaussian import Matrix, Number, mean, powers
from .network import Edge, Matched, Network, matched
from .widths import (
    WidthPolynomial,
    add,
    coincidences,
    constant,
    multiply,
    perfect_matchings,
    set_partitions,
)

Role = tuple[Number, bool, Edge | None]
Label = int | tuple[int, int]  # a sample, or a field and a sample


class Fresh(Protocol):
    """What is drawn for one field: its variances and learning rates."""

    C_b: Number
    C_W: Number
    lambda_b: Number
    lambda_W: Number


class Ensemble(Protocol):
    """The first layer by its statistics, with layers on top of it."""

    metric: Matrix
    ntk: Matrix

    @property
    def depth(self) -> int:
        """The number of layers on top of the first one."""

    def seat(self, label: Label) -> tuple[int, int]:
        """The field and the sample of a label."""

    def fresh(self, field: int) -> Fresh:
        """What the last layer draws for a field."""


def cumulant(
    network: Ensemble,
    labels: tuple[Label, ...],
    edges: tuple[Edge, ...],
    matching: tuple[Edge, ...],
    order: int | None = None,
) -> WidthPolynomial:
    """The coefficient of Π δ_{i_a i_b} over the matching in the joint cumulant of a forest's trees.

    Args:
        network: its last layer is the one at which the cumulant is taken.
        labels: the label of each vertex.
        edges: pairs of vertices; the connected components are the trees.
        matching: pairs of vertices that share a neuron.
        order: the largest total power of inverse widths that is kept; all, if `None`.

    Returns:
        Powers (a_1, a_2, …) mapped to the coefficient of n_1^{-a_1} n_2^{-a_2} ….
    """
    trees = components(len(labels), edges)
    total: WidthPolynomial = {}
    for partition in set_partitions(tuple(range(len(trees)))):
        blocks = [{v for k in block for v in trees[k]} for block in partition]
        if any((a in block) != (b in block) for block in blocks for a, b in matching):
            continue
        sign = (-1) ** (len(blocks) - 1) * factorial(len(blocks) - 1)
        term = constant(sign, network.depth)
        for block in blocks:
            inside = tuple(e for e in edges if e[0] in block)
            pairs = tuple(pair for pair in matching if pair[0] in block)
            term = multiply(term, moment(network, matched(labels, inside, pairs), order), order)
        add(total, term)
    return total


def second_layer(
    network: Network, samples: tuple[int, ...], edges: tuple[Edge, ...], matching: tuple[Edge, ...]
) -> list[Number]:
    """The cumulant at the second layer as coefficients of 1, 1/n_1, 1/n_1², …, all of them.

    The first m − 1 vanish for 2m vertices; the next one is the leading piece of the tensor, the
    one after it the first correction.
    """
    found = cumulant(network, samples, edges, matching)
    return [found.get((a,), 0) for a in range(max(a for (a,) in found) + 1 if found else 1)]


def leading(
    network: Network, samples: tuple[int, ...], edges: tuple[Edge, ...], matching: tuple[Edge, ...]
) -> tuple[Number, Number]:
    """The coefficients of 1/n_2 and of 1/n_1 in a four-vertex cumulant at the third layer."""
    found = cumulant(network, samples, edges, matching, order=1)
    return found.get((0, 1), 0), found.get((1, 0), 0)


def components(size: int, edges: tuple[Edge, ...]) -> tuple[tuple[int, ...], ...]:
    """The vertices of each connected component.

    >>> components(4, ((0, 2),))
    ((0, 2), (1,), (3,))
    """
    names = list(range(size))
    for u, v in edges:
        old, new = max(names[u], names[v]), min(names[u], names[v])
        names = [new if name == old else name for name in names]
    return tuple(tuple(v for v in range(size) if names[v] == name) for name in sorted(set(names)))


@cache
def moment(network: Ensemble, forest: Matched, order: int | None) -> WidthPolynomial:
    """The coefficient of the matching's deltas in the mean of the product of a forest's trees."""
    if not network.depth:
        return constant(_first_layer(network, forest), 0)
    total: WidthPolynomial = {}
    for roles in product(*(tuple(_roles(network, forest, p)) for p in range(forest.pairs))):
        factor = prod(weight for weight, _, _ in roles)
        active = tuple(p for p, (_, has_neuron, _) in enumerate(roles) if has_neuron)
        old = forest.old_edges(frozenset(edge for _, _, edge in roles if edge))
        add(total, _neuron_sums(network, forest, active, old, order), factor)
    return total


def _first_layer(network: Ensemble, forest: Matched) -> Number:
    value: Number = 1
    for p in range(forest.pairs):
        (_, a), (_, b) = (network.seat(forest.samples[v]) for v in (2 * p, 2 * p + 1))
        degrees = forest.degree(2 * p), forest.degree(2 * p + 1)
        if degrees == (0, 0):
            value *= network.metric[a][b]
        elif (2 * p, 2 * p + 1) in forest.edges and degrees == (1, 1):
            value *= network.ntk[a][b]
        else:
            return 0
    return value


def _roles(network: Ensemble, forest: Matched, pair: int) -> Iterator[Role]:
    """How a pair may come about: (factor, does it carry a neuron, the edge it uses up)."""
    u, v = 2 * pair, 2 * pair + 1
    field, _ = network.seat(forest.samples[u])
    fresh = network.fresh(field)
    edge = (u, v) if (u, v) in forest.edges else None
    degrees = forest.degree(u), forest.degree(v)
    if degrees == (0, 0):
        yield fresh.C_b, False, None
    if edge and degrees == (1, 1):
        yield fresh.lambda_b, False, edge
    if edge:
        yield fresh.lambda_W, True, edge
    yield fresh.C_W, True, None


def _neuron_sums(
    network: Ensemble,
    forest: Matched,
    active: tuple[int, ...],
    old: tuple[Edge, ...],
    order: int | None,
) -> WidthPolynomial:
    """n^{-m} Σ_j E[Π σ^{(k)}(z_j) …], the sums split by which of the m neurons coincide."""
    total: WidthPolynomial = {}
    below = network.depth - 1
    for partition in set_partitions(active):
        merged = len(active) - len(partition)
        if order is not None and merged > order:
            continue
        room = None if order is None else order - merged
        inner = neuron_mean(network, forest, partition, old, room)
        weights = {
            (0,) * below + (a,): c
            for a, c in enumerate(coincidences(len(partition), len(active)))
            if c
        }
        add(total, multiply(weights, {(*p, 0): c for p, c in inner.items()}, order))
    return total


@singledispatch
def neuron_mean(
    network: Ensemble,
    forest: Matched,
    partition: tuple[tuple[int, ...], ...],
    old: tuple[Edge, ...],
    order: int | None,
) -> WidthPolynomial:
    """E of the product over all vertices, each block of pairs being one neuron of its own."""
    raise NotImplementedError(f"{type(network).__name__} does not say what its neurons make.")


@neuron_mean.register
def _expectation(
    network: Network,
    forest: Matched,
    partition: tuple[tuple[int, ...], ...],
    old: tuple[Edge, ...],
    order: int | None,
) -> WidthPolynomial:
    """The product over all vertices of activations of one field."""
    top, below = network.layers[-1], network.below()
    neuron = {
        2 * p + side: k for k, block in enumerate(partition) for p in block for side in (0, 1)
    }
    if not below.layers:
        return constant(_gaussian_neurons(network, forest, partition, neuron, old), 0)
    total: WidthPolynomial = {}
    vertices = tuple(sorted(neuron))
    choices = [
        set_partitions(tuple(k for k, edge in enumerate(old) if v in edge)) for v in vertices
    ]
    for faa_di_bruno in product(*choices):
        expansions = [
            powers(top.activations[forest.samples[v]], len(blocks))
            for v, blocks in zip(vertices, faa_di_bruno, strict=True)
        ]
        if not all(expansions):
            continue
        trees, edges = _lower_trees(forest, neuron, old, vertices, faa_di_bruno)
        for choice in product(*expansions):
            extra = [
                (neuron[v], forest.samples[v])
                for v, (power, _) in zip(vertices, choice, strict=True)
                for _ in range(power)
            ]
            pairings = all_matchings(below, trees + extra, edges, order)
            if pairings:
                add(total, pairings, prod(c for _, c in choice))
    return total


def _gaussian_neurons(
    network: Network,
    forest: Matched,
    partition: tuple[tuple[int, ...], ...],
    neuron: dict[int, int],
    old: tuple[Edge, ...],
) -> Number:
    """The same on top of the first layer: neurons are independent and the NTK is δ_ij Θ."""
    value: Number = 1
    for u, v in old:
        if neuron[u] != neuron[v]:
            return 0
        value *= network.ntk[forest.samples[u]][forest.samples[v]]
    for block in partition:
        factors = tuple(
            (forest.samples[v], sum(v in edge for edge in old))
            for p in block
            for v in (2 * p, 2 * p + 1)
        )
        value *= mean(factors, network.layers[-1].activations, network.metric)
    return value


LowerTrees = tuple[list[tuple[int, int]], list[Edge]]


def _lower_trees(
    forest: Matched,
    neuron: dict[int, int],
    old: tuple[Edge, ...],
    vertices: tuple[int, ...],
    faa_di_bruno: tuple[tuple[tuple[int, ...], ...], ...],
) -> LowerTrees:
    """The trees one layer below: (neuron, sample) of each vertex, and the edges."""
    below: list[tuple[int, int]] = []
    ends: dict[int, list[int]] = defaultdict(list)
    for v, blocks in zip(vertices, faa_di_bruno, strict=True):
        for block in blocks:
            for edge in block:
                ends[edge].append(len(below))
            below.append((neuron[v], forest.samples[v]))
    return below, [(ends[k][0], ends[k][1]) for k in range(len(old))]


def all_matchings(
    network: Ensemble, vertices: list[tuple[int, Label]], edges: list[Edge], order: int | None
) -> WidthPolynomial:
    """Sum the moment over the perfect matchings that only pair vertices of one neuron and field.

    Args:
        network: the layers below.
        vertices: the name of the neuron and the label of each.
        edges: between them.
        order: as of `cumulant`.
    """
    members: dict[tuple[int, int], list[int]] = defaultdict(list)
    for k, (name, label) in enumerate(vertices):
        field, _ = network.seat(label)
        members[name, field].append(k)
    if any(len(m) % 2 for m in members.values()):
        return {}
    labels = tuple(label for _, label in vertices)
    counted: dict[Matched, int] = defaultdict(int)
    for pairs in product(*(perfect_matchings(tuple(m)) for m in members.values())):
        whole = tuple(pair for part in pairs for pair in part)
        counted[matched(labels, tuple(edges), whole)] += 1
    total: WidthPolynomial = {}
    for forest, times in counted.items():
        add(total, moment(network, forest, order), times)
    return total
