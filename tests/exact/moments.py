"""Exact moments and cumulants of forests of trees, as polynomials in the inverse widths.

No expansion about a Gaussian is made anywhere. The moment of a forest at layer ℓ+1 is taken from
the definitions: every edge is a new bias, a new weight or an older parameter; the weights are
contracted along the matching; the activations are polynomials and are multiplied out; the neurons
of the layer below are split by coincidence; what is left are moments at layer ℓ, again summed
over all perfect matchings. The first layer ends this: there all is Gaussian or fixed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from math import factorial, prod

from .gaussian import Number, mean, powers
from .network import Edge, Layer, Matched, Network, matched
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


def cumulant(
    network: Network,
    samples: tuple[int, ...],
    edges: tuple[Edge, ...],
    matching: tuple[Edge, ...],
    order: int | None = None,
) -> WidthPolynomial:
    """The coefficient of Π δ_{i_a i_b} over the matching in the joint cumulant of a forest's trees.

    Args:
        network: its last layer is the one at which the cumulant is taken.
        samples: the sample of each vertex.
        edges: pairs of vertices; the connected components are the trees.
        matching: pairs of vertices that share a neuron.
        order: the largest total power of inverse widths that is kept; all, if `None`.

    Returns:
        Powers (a_1, a_2, …) mapped to the coefficient of n_1^{-a_1} n_2^{-a_2} ….
    """
    trees = components(len(samples), edges)
    total: WidthPolynomial = {}
    for partition in set_partitions(tuple(range(len(trees)))):
        blocks = [{v for k in block for v in trees[k]} for block in partition]
        if any((a in block) != (b in block) for block in blocks for a, b in matching):
            continue
        sign = (-1) ** (len(blocks) - 1) * factorial(len(blocks) - 1)
        term = constant(sign, len(network.layers))
        for block in blocks:
            inside = tuple(e for e in edges if e[0] in block)
            pairs = tuple(pair for pair in matching if pair[0] in block)
            term = multiply(term, moment(network, matched(samples, inside, pairs), order), order)
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
def moment(network: Network, forest: Matched, order: int | None) -> WidthPolynomial:
    """The coefficient of the matching's deltas in the mean of the product of a forest's trees."""
    layers = len(network.layers)
    if not layers:
        return constant(_first_layer(network, forest), 0)
    top = network.layers[-1]
    total: WidthPolynomial = {}
    for roles in product(*(tuple(_roles(top, forest, p)) for p in range(forest.pairs))):
        factor: Number = 1
        for weight, _, _ in roles:
            factor *= weight
        active = tuple(p for p, (_, has_neuron, _) in enumerate(roles) if has_neuron)
        old = forest.old_edges(frozenset(edge for _, _, edge in roles if edge))
        add(total, _neuron_sums(network, forest, active, old, order), factor)
    return total


def _first_layer(network: Network, forest: Matched) -> Number:
    value: Number = 1
    for p in range(forest.pairs):
        a, b = forest.samples[2 * p], forest.samples[2 * p + 1]
        degrees = forest.degree(2 * p), forest.degree(2 * p + 1)
        if degrees == (0, 0):
            value *= network.metric[a][b]
        elif (2 * p, 2 * p + 1) in forest.edges and degrees == (1, 1):
            value *= network.ntk[a][b]
        else:
            return 0
    return value


def _roles(layer: Layer, forest: Matched, pair: int) -> Iterator[Role]:
    """How a pair may come about: (factor, does it carry a neuron, the edge it uses up)."""
    u, v = 2 * pair, 2 * pair + 1
    edge = (u, v) if (u, v) in forest.edges else None
    degrees = forest.degree(u), forest.degree(v)
    if degrees == (0, 0):
        yield layer.C_b, False, None
    if edge and degrees == (1, 1):
        yield layer.lambda_b, False, edge
    if edge:
        yield layer.lambda_W, True, edge
    yield layer.C_W, True, None


def _neuron_sums(
    network: Network,
    forest: Matched,
    active: tuple[int, ...],
    old: tuple[Edge, ...],
    order: int | None,
) -> WidthPolynomial:
    """n^{-m} Σ_j E[Π σ^{(k)}(z_j) …], the sums split by which of the m neurons coincide."""
    total: WidthPolynomial = {}
    below = len(network.layers) - 1
    for partition in set_partitions(active):
        merged = len(active) - len(partition)
        if order is not None and merged > order:
            continue
        room = None if order is None else order - merged
        inner = _expectation(network, forest, partition, old, room)
        weights = {
            (0,) * below + (a,): c
            for a, c in enumerate(coincidences(len(partition), len(active)))
            if c
        }
        add(total, multiply(weights, {(*p, 0): c for p, c in inner.items()}, order))
    return total


def _expectation(
    network: Network,
    forest: Matched,
    partition: tuple[tuple[int, ...], ...],
    old: tuple[Edge, ...],
    order: int | None,
) -> WidthPolynomial:
    """E of the product over all vertices, each block of pairs being one neuron of its own."""
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
        trees = _lower_trees(forest, neuron, old, vertices, faa_di_bruno)
        for choice in product(*expansions):
            extra = [
                (neuron[v], forest.samples[v])
                for v, (power, _) in zip(vertices, choice, strict=True)
                for _ in range(power)
            ]
            pairings = _all_matchings(below, *trees, extra, order)
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


def _all_matchings(
    network: Network,
    trees: list[tuple[int, int]],
    edges: list[Edge],
    extra: list[tuple[int, int]],
    order: int | None,
) -> WidthPolynomial:
    """Sum the moment over the perfect matchings that only pair vertices of one neuron."""
    vertices = trees + extra
    members: dict[int, list[int]] = defaultdict(list)
    for k, (name, _) in enumerate(vertices):
        members[name].append(k)
    if any(len(m) % 2 for m in members.values()):
        return {}
    samples = tuple(sample for _, sample in vertices)
    counted: dict[Matched, int] = defaultdict(int)
    for pairs in product(*(perfect_matchings(tuple(m)) for m in members.values())):
        whole = tuple(pair for part in pairs for pair in part)
        counted[matched(samples, tuple(edges), whole)] += 1
    total: WidthPolynomial = {}
    for forest, times in counted.items():
        add(total, moment(network, forest, order), times)
    return total
