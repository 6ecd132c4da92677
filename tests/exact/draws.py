"""Small random networks with rational data, from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import factorial
from random import Random

from .gaussian import Activation, Matrix, Rows, mean
from .network import Layer, Network


def random_network(seed: int, *degrees: Sequence[int], shared: bool = False) -> Network:
    """A network whose layer ℓ+1 is fed by activations of the ℓ-th given degrees.

    All data are small integers, the activations' coefficients of z^p being so too.

    Args:
        seed: of the draw; equal seeds give equal networks.
        degrees: for each hidden layer, the degree of each sample's activation.
        shared: give all samples of a layer the same activation, as in a real network.
    """
    source = Random(seed)
    size = len(degrees[0])
    return Network(
        _positive(source, size),
        _positive(source, size),
        tuple(_layer(source, row, shared) for row in degrees),
    )


def stacked(first: tuple[int, Sequence[int]], *more: tuple[int, Sequence[int]]) -> Network:
    """A network whose layers come from draws of their own: pairs of a seed and the degrees."""
    return random_network(*first).on_top(*(random_network(*draw).layers[0] for draw in more))


def bracket_of(layer: Layer, metric: Matrix) -> Callable[..., Fraction]:
    """The exact bracket of the activations that feed a layer, at a given K."""

    @cache
    def known(factors: tuple[tuple[int, int], ...], inserted: tuple[int, ...]) -> Fraction:
        return Fraction(mean(factors, layer.activations, metric, inserted))

    def bracket(factors: Sequence[tuple[int, int]], inserted: Sequence[int] = ()) -> Fraction:
        return known(tuple(factors), tuple(inserted))

    return bracket


def _layer(source: Random, degrees: Sequence[int], shared: bool) -> Layer:
    activations: list[Activation] = [
        tuple(factorial(p) * _nonzero(source, 3) for p in range(degree + 1)) for degree in degrees
    ]
    if shared:
        activations = [activations[0]] * len(activations)
    return Layer(Rows(activations), *(source.randint(1, 4) for _ in range(4)))


def _positive(source: Random, size: int) -> Matrix:
    root = [[source.randint(-2, 2) for _ in range(size)] for _ in range(size)]
    return Rows(
        [sum((a * b for a, b in zip(x, y, strict=True)), int(i == j)) for j, y in enumerate(root)]
        for i, x in enumerate(root)
    )


def _nonzero(source: Random, largest: int) -> int:
    return source.choice([k for k in range(-largest, largest + 1) if k])
