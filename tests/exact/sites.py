"""Exact moments of networks whose sites have several fields: gates, and blocks of them.

The same as `moments`, with a field next to the sample of every vertex: vertices pair up if they
share their neuron and their field, and what weights read is a polynomial in all fields of a neuron.
Nothing is expanded about a Gaussian, and nothing of the engine is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import factorial, prod

from .gaussian import Matrix, Number
from .moments import components
from .network import Edge, Matched, matched
from .widths import (
    WidthPolynomial,
    add,
    coincidences,
    constant,
    multiply,
    perfect_matchings,
    set_partitions,
)

Label = tuple[int, int]  # field and sample
Polynomial = tuple[tuple[tuple[int, ...], Number], ...]  # powers of the fields, coefficients


@dataclass(frozen=True)
class Field:
    """One field: its hyperparameters, and for each sample the polynomial that its weights read."""

    reads: tuple[Polynomial, ...]
    C_b: Number
    C_W: Number
    lambda_b: Number
    lambda_W: Number


@dataclass(frozen=True)
class Sites:
    """The first layer by its statistics, and the sites on top of it, each with its fields."""

    metric: Matrix
    ntk: Matrix
    sites: tuple[tuple[Field, ...], ...]

    def below(self) -> Sites:
        """The network without its last site."""
        return Sites(self.metric, self.ntk, self.sites[:-1])


def derived(polynomial: Polynomial, field: int) -> Polynomial:
    """The derivative along a field.

    >>> derived((((2, 1), 3),), 0)
    (((1, 1), 6),)
    """
    lowered = []
    for powers, number in polynomial:
        if powers[field]:
            less = tuple(p - (k == field) for k, p in enumerate(powers))
            lowered.append((less, number * powers[field]))
    return tuple(lowered)


def cumulant(
    network: Sites,
    labels: tuple[Label, ...],
    edges: tuple[Edge, ...],
    matching: tuple[Edge, ...],
    order: int | None = None,
) -> WidthPolynomial:
    """As `moments.cumulant`, with a field and a sample for each vertex."""
    trees = components(len(labels), edges)
    total: WidthPolynomial = {}
    for partition in set_partitions(tuple(range(len(trees)))):
        blocks = [{v for k in block for v in trees[k]} for block in partition]
        if any((a in block) != (b in block) for block in blocks for a, b in matching):
            continue
        sign = (-1) ** (len(blocks) - 1) * factorial(len(blocks) - 1)
        term = constant(sign, len(network.sites))
        for block in blocks:
            inside = tuple(e for e in edges if e[0] in block)
            pairs = tuple(pair for pair in matching if pair[0] in block)
            term = multiply(term, moment(network, matched(labels, inside, pairs), order), order)
        add(total, term)
    return total


@cache
def moment(network: Sites, forest: Matched, order: int | None) -> WidthPolynomial:
    """As `moments.moment`: the coefficient of the matching's deltas in the mean of the trees."""
    if not network.sites:
        return constant(_first_layer(network, forest), 0)
    total: WidthPolynomial = {}
    for roles in product(*(tuple(_roles(network, forest, p)) for p in range(forest.pairs))):
        factor = prod(weight for weight, _, _ in roles)
        active = tuple(p for p, (_, has_neuron, _) in enumerate(roles) if has_neuron)
        old = forest.old_edges(frozenset(edge for _, _, edge in roles if edge))
        add(total, _neuron_sums(network, forest, active, old, order), factor)
    return total


def _first_layer(network: Sites, forest: Matched) -> Number:
    value: Number = 1
    for p in range(forest.pairs):
        (_, a), (_, b) = forest.samples[2 * p], forest.samples[2 * p + 1]
        degrees = forest.degree(2 * p), forest.degree(2 * p + 1)
        if degrees == (0, 0):
            value *= network.metric[a][b]
        elif (2 * p, 2 * p + 1) in forest.edges and degrees == (1, 1):
            value *= network.ntk[a][b]
        else:
            return 0
    return value


def _roles(
    network: Sites, forest: Matched, pair: int
) -> Iterator[tuple[Number, bool, Edge | None]]:
    u, v = 2 * pair, 2 * pair + 1
    field = network.sites[-1][forest.samples[u][0]]
    edge = (u, v) if (u, v) in forest.edges else None
    degrees = forest.degree(u), forest.degree(v)
    if degrees == (0, 0):
        yield field.C_b, False, None
    if edge and degrees == (1, 1):
        yield field.lambda_b, False, edge
    if edge:
        yield field.lambda_W, True, edge
    yield field.C_W, True, None


def _neuron_sums(
    network: Sites,
    forest: Matched,
    active: tuple[int, ...],
    old: tuple[Edge, ...],
    order: int | None,
) -> WidthPolynomial:
    total: WidthPolynomial = {}
    below = len(network.sites) - 1
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
    network: Sites,
    forest: Matched,
    partition: tuple[tuple[int, ...], ...],
    old: tuple[Edge, ...],
    order: int | None,
) -> WidthPolynomial:
    """The product over all vertices, old edges in blocks, and a field for each block."""
    top, below = network.sites[-1], network.below()
    neuron = {
        2 * p + side: k for k, block in enumerate(partition) for p in block for side in (0, 1)
    }
    vertices = tuple(sorted(neuron))
    choices = []
    for v in vertices:
        field, sample = forest.samples[v]
        own = tuple(k for k, edge in enumerate(old) if v in edge)
        choices.append([*_differentiated(top[field].reads[sample], set_partitions(own))])
    total: WidthPolynomial = {}
    for chosen in product(*choices):
        trees: list[tuple[int, Label]] = []
        ends: dict[int, list[int]] = defaultdict(list)
        for v, (blocks, along, _) in zip(vertices, chosen, strict=True):
            for block, field in zip(blocks, along, strict=True):
                for edge in block:
                    ends[edge].append(len(trees))
                trees.append((neuron[v], (field, forest.samples[v][1])))
        edges = [(ends[k][0], ends[k][1]) for k in range(len(old))]
        for monomials in product(*(polynomial for _, _, polynomial in chosen)):
            extra = [
                (neuron[v], (field, forest.samples[v][1]))
                for v, (powers, _) in zip(vertices, monomials, strict=True)
                for field, power in enumerate(powers)
                for _ in range(power)
            ]
            pairings = _all_matchings(below, trees + extra, edges, order)
            if pairings:
                add(total, pairings, prod(c for _, c in monomials))
    return total


def _differentiated(
    polynomial: Polynomial, partitions: tuple[tuple[tuple[int, ...], ...], ...]
) -> Iterator[tuple[tuple[tuple[int, ...], ...], tuple[int, ...], Polynomial]]:
    """Every way to put edges into blocks, with a field for each block."""
    fields = range(len(polynomial[0][0]))
    for blocks in partitions:
        for along in product(fields, repeat=len(blocks)):
            image = polynomial
            for field in along:
                image = derived(image, field)
            if image:
                yield blocks, along, image


def _all_matchings(
    network: Sites, vertices: list[tuple[int, Label]], edges: list[Edge], order: int | None
) -> WidthPolynomial:
    """Sum the moment over the perfect matchings that pair vertices of one neuron and field."""
    members: dict[tuple[int, int], list[int]] = defaultdict(list)
    for k, (name, (field, _)) in enumerate(vertices):
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
