"""Truths for one input, where each layer only needs the metric of the one below it.

Given the layer below, z is Gaussian with the stochastic metric Ĝ = C_b + (C_W/n) Σ_j σ(z_j)², its
neurons independent. So E[Ĝ^p] and with it every cumulant of z follows without any matching.
"""

from __future__ import annotations

from functools import reduce
from math import comb, factorial, prod

from .gaussian import Activation, Number, powers
from .network import Network
from .widths import WidthPolynomial, add, coincidences, constant, multiply, set_partitions


def deep_linear_moment(power: int, hidden: int) -> WidthPolynomial:
    """E[(Ĝ/K)^power] after `hidden` linear layers with C_b = 0, C_W = 1.

    Each layer multiplies the squared length by an independent chi-square over n: the factor
    (1 + 2/n)(1 + 4/n)… with `power` − 1 brackets. E[z^{2·power}] is (2·power − 1)!! K^power times
    this.

    >>> deep_linear_moment(2, 1)
    {(0,): 1, (1,): 2}
    """
    layers = [{0: 1} for _ in range(hidden)]
    for layer in layers:
        for k in range(1, power):
            for a in range(k - 1, -1, -1):
                layer[a + 1] = layer.get(a + 1, 0) + 2 * k * layer[a]
    return _by_layer(layers)


def relu_metric_moment(power: int, hidden: int) -> WidthPolynomial:
    """E[(Ĝ/K)^power] after `hidden` ReLU layers with C_b = 0, C_W = 2.

    A neuron's 2·relu(u)² has the moments 2^{k−1}·(2k−1)!!; the moments of the mean over n neurons
    follow by splitting the sums by coincidence.

    >>> relu_metric_moment(3, 1)
    {(0,): 1, (1,): 15, (2,): 44}
    """
    layer: dict[int, Number] = {}
    for partition in set_partitions(tuple(range(power))):
        value = prod(2 ** (len(b) - 1) * prod(range(1, 2 * len(b), 2)) for b in partition)
        for a, c in enumerate(coincidences(len(partition), power)):
            layer[a] = layer.get(a, 0) + c * value
    return _by_layer([{a: c for a, c in sorted(layer.items()) if c}] * hidden)


def polynomial_metric_moment(network: Network, power: int) -> WidthPolynomial:
    """E[Ĝ^power] at the last layer of a network with polynomial activations, for its sample 0."""
    layers = len(network.layers)
    if not layers:
        return {(): network.metric[0][0] ** power}
    top, total = network.layers[-1], {}
    for k in range(power + 1):
        outer = comb(power, k) * top.C_b ** (power - k) * top.C_W**k
        for partition in set_partitions(tuple(range(k))):
            neurons = [_even_moment(top.activations[0], 2 * len(block)) for block in partition]
            inner = reduce(_times, neurons, {0: 1})
            weights = coincidences(len(partition), k)
            for q, c in inner.items():
                below = polynomial_metric_moment(network.below(), q)
                for a, w in enumerate(weights):
                    lifted = {(*p, a): value for p, value in below.items()}
                    add(total, lifted, outer * c * w)
    return total


def metric_cumulant(moments: dict[int, WidthPolynomial], power: int) -> WidthPolynomial:
    """The cumulant of Ĝ from its moments: the (2·power)-point cumulant of z for each matching.

    >>> metric_cumulant({k: deep_linear_moment(k, 1) for k in (1, 2)}, 2)
    {(1,): 2}
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


def _even_moment(activation: Activation, power: int) -> dict[int, Number]:
    """⟨σ^power⟩ as a polynomial in the metric, {q: coefficient of g^q}."""
    expanded = reduce(_times, [dict(powers(activation, 0))] * power, {0: 1})
    return {p // 2: c * prod(range(1, p, 2)) for p, c in expanded.items() if p % 2 == 0}


def _times(left: dict[int, Number], right: dict[int, Number]) -> dict[int, Number]:
    result: dict[int, Number] = {}
    for p, x in left.items():
        for q, y in right.items():
            result[p + q] = result.get(p + q, 0) + x * y
    return result


def _by_layer(layers: list[dict[int, Number]]) -> WidthPolynomial:
    size = len(layers)
    total = constant(1, size)
    for place, layer in enumerate(layers):
        here = {tuple(a * (k == place) for k in range(size)): c for a, c in layer.items()}
        total = multiply(total, here, None)
    return total
