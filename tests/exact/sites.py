"""Exact moments of networks whose sites have several fields: gates, and blocks of them.

The sums are those of `moments`, with a field next to the sample of every vertex: vertices pair up
if they share their neuron and their field, and what weights read is a polynomial in all fields.
Nothing is expanded about a Gaussian, and nothing of the engine is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from .gaussian import Matrix, Number
from .moments import all_matchings, neuron_mean
from .network import Edge, Matched
from .widths import WidthPolynomial, add, set_partitions

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

    @property
    def depth(self) -> int:
        """The number of sites on top of the first layer."""
        return len(self.sites)

    def seat(self, label: Label) -> Label:
        """The field and the sample."""
        return label

    def fresh(self, field: int) -> Field:
        """What the last site draws for a field."""
        return self.sites[-1][field]


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


@neuron_mean.register
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
            pairings = all_matchings(below, trees + extra, edges, order)
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
