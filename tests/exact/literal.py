"""A tiny network written out in its own parameters, and its observables by differentiation.

Nothing of the theory enters here: the preactivations are polynomials in every single weight and
bias, the trees are sums over parameters of products of their derivatives, and the expectation
multiplies one-dimensional Gaussian moments. It is slow, and it is what `moments` must agree with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, prod
from typing import Any

from sympy import QQ, ring

from .gaussian import matrix
from .network import Edge, Layer, Network


@dataclass(frozen=True)
class Parameter:
    """One weight or bias: its variable, the variance of its draw and its learning rate."""

    variable: Any
    variance: Fraction
    rate: Fraction


@dataclass(frozen=True)
class LiteralNetwork:
    """Every parameter, and the output preactivations as polynomials in them: [neuron][sample]."""

    parameters: tuple[Parameter, ...]
    outputs: tuple[tuple[Any, ...], ...]


def write_out(
    inputs: Sequence[Fraction],
    first: Layer,
    layers: Sequence[Layer],
    widths: Sequence[int],
    skip: Fraction = Fraction(0),
) -> LiteralNetwork:
    """A network with one input feature, all its parameters as variables of a polynomial ring.

    Args:
        inputs: x_δ, one number for each sample.
        first: hyperparameters of the first layer (its activations are not used).
        layers: the layers 2, 3, …, each with the activations that feed it.
        widths: n_1, n_2, …, n_L.
        skip: ξ; with it, layers after the first add ξ times the preactivation below.
    """
    names = []
    fan_in = 1
    for depth, width in enumerate(widths):
        names += [f"b{depth}_{i}" for i in range(width)]
        names += [f"w{depth}_{i}_{j}" for i in range(width) for j in range(fan_in)]
        fan_in = width
    algebra, *variables = ring(names, QQ)
    named = dict(zip(names, variables, strict=True))
    parameters: list[Parameter] = []
    signals = [[algebra(QQ(x.numerator, x.denominator)) for x in inputs]]
    for depth, (layer, width) in enumerate(zip((first, *layers), widths, strict=True)):
        below = signals
        if depth:
            signals = [_activate(algebra, row, layer) for row in signals]
        fan_in = len(signals)
        for i in range(width):
            parameters.append(Parameter(named[f"b{depth}_{i}"], layer.C_b, layer.lambda_b))
            parameters += [
                Parameter(
                    named[f"w{depth}_{i}_{j}"],
                    Fraction(layer.C_W) / fan_in,
                    Fraction(layer.lambda_W) / fan_in,
                )
                for j in range(fan_in)
            ]
        signals = [
            [
                named[f"b{depth}_{i}"]
                + (QQ(skip.numerator, skip.denominator) * below[i][d] if depth and skip else 0)
                + sum(
                    (named[f"w{depth}_{i}_{j}"] * s[d] for j, s in enumerate(signals)), algebra(0)
                )
                for d in range(len(inputs))
            ]
            for i in range(width)
        ]
    return LiteralNetwork(tuple(parameters), tuple(tuple(row) for row in signals))


def same_statistics(inputs: Sequence[Fraction], first: Layer, layers: Sequence[Layer]) -> Network:
    """The network whose first layer has the metric and the NTK of these inputs."""
    return Network(
        matrix([[first.C_b + first.C_W * x * y for y in inputs] for x in inputs]),
        matrix([[first.lambda_b + first.lambda_W * x * y for y in inputs] for x in inputs]),
        tuple(layers),
    )


def expectation(
    network: LiteralNetwork,
    neurons: Sequence[int],
    samples: Sequence[int],
    edges: Sequence[Edge],
) -> Fraction:
    """E[Σ_θ Π_e λ_θ Π_v ∂z_{i_v; δ_v}/∂θ…] for given neurons and samples of the vertices."""
    vertices = [network.outputs[i][s] for i, s in zip(neurons, samples, strict=True)]
    return _mean(network, _sum_over_parameters(network, vertices, list(edges)))


def _activate(algebra: Any, row: list[Any], layer: Layer) -> list[Any]:
    return [
        sum(
            (
                QQ(c.numerator, c.denominator * factorial(p)) * z**p
                for p, c in enumerate(activation)
                if c
            ),
            algebra(0),
        )
        for z, activation in zip(row, layer.activations, strict=True)
    ]


def _sum_over_parameters(network: LiteralNetwork, vertices: list[Any], edges: list[Edge]) -> Any:
    if not edges:
        return prod(vertices[1:], start=vertices[0])
    (u, v), *rest = edges
    total = vertices[0] * 0
    for parameter in network.parameters:
        at_u, at_v = vertices[u].diff(parameter.variable), vertices[v].diff(parameter.variable)
        if at_u and at_v:
            rate = QQ(parameter.rate.numerator, parameter.rate.denominator)
            moved = list(vertices)
            moved[u], moved[v] = at_u * rate, at_v
            total += _sum_over_parameters(network, moved, rest)
    return total


def _mean(network: LiteralNetwork, polynomial: Any) -> Fraction:
    variances = {p.variable: p.variance for p in network.parameters}
    ordered = [variances[x] for x in polynomial.ring.gens]
    total = Fraction(0)
    for exponents, coefficient in polynomial.terms():
        if any(e % 2 for e in exponents):
            continue
        term = Fraction(int(coefficient.numerator), int(coefficient.denominator))
        for e, variance in zip(exponents, ordered, strict=True):
            if e:
                term *= variance ** (e // 2) * prod(range(1, e, 2))
        total += term
    return total
