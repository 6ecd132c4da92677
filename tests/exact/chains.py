"""Closed truths for one input: deep linear networks and ReLU networks."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import factorial, prod

from .widths import WidthPolynomial, add, coincidences, constant, multiply, set_partitions


def deep_linear_moment(power: int, hidden: int) -> WidthPolynomial:
    """E[(Ĝ/K)^power] after `hidden` linear layers with C_b = 0, C_W = 1.

    Each layer multiplies the squared length by an independent chi-square over n: the factor
    (1 + 2/n)(1 + 4/n)… with `power` − 1 brackets. E[z^{2·power}] is (2·power − 1)!! K^power times
    this.

    >>> deep_linear_moment(2, 1)
    {(0,): Fraction(1, 1), (1,): Fraction(2, 1)}
    """
    layers = [{0: Fraction(1)} for _ in range(hidden)]
    for layer in layers:
        for k in range(1, power):
            for a in range(k - 1, -1, -1):
                layer[a + 1] = layer.get(a + 1, Fraction(0)) + 2 * k * layer[a]
    return _by_layer(layers)


def relu_metric_moment(power: int, hidden: int) -> WidthPolynomial:
    """E[(Ĝ/K)^power] after `hidden` ReLU layers with C_b = 0, C_W = 2.

    A neuron's 2·relu(u)² has the moments 2^{k−1}·(2k−1)!!; the moments of the mean over n neurons
    follow by splitting the sums by coincidence.

    >>> {k: int(c) for k, c in relu_metric_moment(3, 1).items()}
    {(0,): 1, (1,): 15, (2,): 44}
    """
    layer: dict[int, Fraction] = {}
    for partition in set_partitions(tuple(range(power))):
        value = prod(
            2 ** (len(b) - 1) * prod(range(1, 2 * len(b), 2)) for b in partition
        )
        for a, c in enumerate(coincidences(len(partition), power)):
            layer[a] = layer.get(a, Fraction(0)) + c * value
    return _by_layer([{a: c for a, c in sorted(layer.items()) if c}] * hidden)


def metric_cumulant(moments: dict[int, WidthPolynomial], power: int) -> WidthPolynomial:
    """The cumulant of Ĝ from its moments: the (2·power)-point cumulant of z for each matching.

    >>> metric_cumulant({k: deep_linear_moment(k, 1) for k in (1, 2)}, 2)
    {(1,): Fraction(2, 1)}
    """
    layers = len(next(iter(moments[1])))
    total: WidthPolynomial = {}
    for partition in set_partitions(tuple(range(power))):
        blocks = len(partition)
        sign = (-1) ** (blocks - 1) * factorial(blocks - 1)
        parts = (moments[len(block)] for block in partition)
        product = reduce(lambda x, y: multiply(x, y, None), parts, constant(1, layers))
        add(total, product, sign)
    return total


def _by_layer(layers: list[dict[int, Fraction]]) -> WidthPolynomial:
    size = len(layers)
    total = constant(1, size)
    for place, layer in enumerate(layers):
        here = {tuple(a * (k == place) for k in range(size)): c for a, c in layer.items()}
        total = multiply(total, here, None)
    return total
