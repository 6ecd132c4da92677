"""One realisation of a literal network: its observables as numbers at given parameters."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

from .literal import LiteralNetwork
from .network import Edge


class Realisation:
    """A literal network with a rational value for every parameter, drawn from a seed."""

    def __init__(self, network: LiteralNetwork, seed: int) -> None:
        source = Random(seed)
        self._network = network
        self._values = {
            p.variable: Fraction(source.choice((-3, -2, -1, 1, 2, 3)), source.choice((1, 2)))
            for p in network.parameters
        }
        self._known: dict[tuple[int, int, tuple[int, ...]], Fraction] = {}

    def derivative(self, neuron: int, sample: int, parameters: Sequence[int] = ()) -> Fraction:
        """∂z_{neuron; sample}/∂θ∂θ… for the numbered parameters."""
        key = (neuron, sample, tuple(sorted(parameters)))
        if key not in self._known:
            polynomial = self._network.outputs[neuron][sample]
            for k in key[2]:
                polynomial = polynomial.diff(self._network.parameters[k].variable)
            self._known[key] = self._evaluate(polynomial)
        return self._known[key]

    def tree(
        self, neurons: Sequence[int], samples: Sequence[int], edges: Sequence[Edge]
    ) -> Fraction:
        """Σ_θ Π_e λ_θ Π_v ∂z_{i_v; δ_v}/∂θ….

        The derivatives of a vertex are taken when its last edge has got its parameter.
        """
        last = {v: k for k, edge in enumerate(edges) for v in edge}

        def choose(done: int, chosen: tuple[int, ...]) -> Fraction:
            if done == len(edges):
                return Fraction(1)
            total = Fraction(0)
            for k, parameter in enumerate(self._network.parameters):
                now = (*chosen, k)
                term = parameter.rate
                for v in edges[done]:
                    if term and last[v] == done:
                        at_v = [now[e] for e in range(done + 1) if v in edges[e]]
                        term *= self.derivative(neurons[v], samples[v], at_v)
                if term:
                    total += term * choose(done + 1, now)
            return total

        return choose(0, ())

    def weight(self, name: str) -> Fraction:
        """The value of the parameter with that name."""
        return next(x for v, x in self._values.items() if str(v) == name)

    def _evaluate(self, polynomial: Any) -> Fraction:
        total = Fraction(0)
        values = [self._values[x] for x in polynomial.ring.gens]
        for exponents, c in polynomial.terms():
            term = Fraction(int(c.numerator), int(c.denominator))
            for e, value in zip(exponents, values, strict=True):
                term *= value**e
            total += term
        return total
