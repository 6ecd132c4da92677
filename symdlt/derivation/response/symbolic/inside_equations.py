"""The equations of fields inside a layer that have windows, as tensors of their own."""

from __future__ import annotations

from collections.abc import Iterable

from symdlt.algebra import Polynomial
from symdlt.definitions import Layer, Stack, tensor
from symdlt.derivation.response.symbolic.closed_systems import SystemEquation
from symdlt.derivation.response.symbolic.labels import is_inside
from symdlt.derivation.response.symbolic.layer_equations import LayerEquation
from symdlt.derivation.response.symbolic.response_equations import LayerDerivation
from symdlt.derivation.response.symbolic.symbolic_response import InsideTensor
from symdlt.derivation.response.symbolic.system_equations import system_equation

NOTHING = Polynomial.number(0)
PAIR: tuple[tuple[int, ...], ...] = ((0, 1), (1, 0))  # the symmetries of a kernel


class InsideEquations:
    """Kernels, NTKs and tensors of fields inside a layer, which the layer reads.

    Args:
        layer: the layer.
        inputs: "one" or "many".
    """

    def __init__(self, layer: Layer | Stack, inputs: str) -> None:
        self.layer, self.inputs = layer, inputs
        self.known: dict[str, InsideTensor] = {}
        self.made: dict[str, SystemEquation] = {}

    def add(self, derivation: LayerDerivation, read: Iterable[SystemEquation]) -> list[str]:
        """Derive what some equations read, and return the tensors below that this reads.

        Args:
            derivation: of these equations.
            read: the equations.
        """
        self.known |= derivation.response.inside
        below: list[str] = []
        for one in read:
            for name in sorted(one.needs):
                if not is_inside(name):
                    below.append(name)
                elif name not in self.made:
                    derived, equation = self._equation(name)
                    below += self.add(derived, [equation])
                    self.made[name] = equation  # behind what it reads
        return below

    def _equation(self, name: str) -> tuple[LayerDerivation, SystemEquation]:
        """The equation of a tensor, with what it was derived by."""
        if name not in self.known:
            derivation = LayerDerivation(tensor(name.partition("^")[0]), self.layer, False)
            ways = PAIR
            value = NOTHING + derivation.entry(derivation.kernels.inside[name])
            equation = LayerEquation(f"{name}_{derivation.samples}", value)
        else:
            correlator, fields = self.known[name]
            derivation = LayerDerivation(correlator, self.layer, False)
            of = {
                axis: f
                for f, pair in zip(fields, correlator.matching, strict=True)
                for axis in pair
            }
            ways = tuple(
                way
                for way in correlator.symmetries
                if all(of[axis] == of[turned] for axis, turned in enumerate(way))
            )
            equation = derivation.made_inside(name, fields)
        samples = tuple(map(int, derivation.samples))
        found = system_equation(derivation, equation, name, samples, NOTHING, ways, self.inputs)
        return derivation, found
