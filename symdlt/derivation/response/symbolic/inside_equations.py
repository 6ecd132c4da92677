"""The equations of fields inside a layer that have windows, as tensors of their own."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from symdlt.algebra import Polynomial
from symdlt.algebra.polynomial import Monomial
from symdlt.definitions import Layer, Stack, tensor
from symdlt.derivation.response.symbolic.closed_systems import ReadTensor
from symdlt.derivation.response.symbolic.field_names import is_inside
from symdlt.derivation.response.symbolic.later_layers import BASE
from symdlt.derivation.response.symbolic.layer_derivation import LayerDerivation
from symdlt.derivation.response.symbolic.layer_equations import LayerEquation
from symdlt.derivation.response.symbolic.noise_tables import OF_PAIR
from symdlt.derivation.response.symbolic.symbolic_response import InsideTensor

Term: TypeAlias = tuple[Monomial, Fraction | int]
NOTHING = Polynomial.number(0)
PAIR: tuple[tuple[int, ...], ...] = ((0, 1), (1, 0))  # the symmetries of a kernel


class MadeInside(NamedTuple):
    """The equation of a tensor of fields inside a layer.

    Attributes:
        derivation: what it was derived by.
        equation: the equation.
        symmetries: the permutations of its axes that leave it unchanged.
    """

    derivation: LayerDerivation
    equation: LayerEquation
    symmetries: tuple[tuple[int, ...], ...]


class InsideEquations:
    """Kernels, NTKs, tensors, and covariances with noise, of fields inside a layer, which it reads.

    Args:
        layer: the layer.
        recorded: whether equations shall keep how each term was made.
    """

    def __init__(self, layer: Layer | Stack, recorded: bool = False) -> None:
        self.layer, self.recorded = layer, recorded
        self.known: dict[str, InsideTensor] = {}
        self.made: dict[str, MadeInside] = {}

    def add(self, derivation: LayerDerivation, terms: Iterable[Term]) -> None:
        """Derive what some terms read inside the layer, each behind what it reads itself.

        Args:
            derivation: of the equations that have these terms.
            terms: of their right sides.
        """
        self.known |= derivation.response.inside
        for symbol in sorted({name for monomial, _ in terms for name, _ in monomial}):
            if symbol in derivation.means.noises:
                self._add_noise(derivation, symbol)
            elif (name := inside_tensor(derivation, symbol)) and name not in self.made:
                self._add(name, self.derived(name))

    @property
    def below(self) -> list[str]:
        """The tensors of layer l that are read."""
        every = (
            made.derivation.means.read.get(symbol)
            for made in self.made.values()
            for monomial, _ in made.equation.polynomial.terms
            for symbol, _ in monomial
        )
        read = {one.name for one in every if isinstance(one, ReadTensor)}
        return sorted(name for name in read if not is_inside(name))

    def _add(self, name: str, made: MadeInside) -> None:
        self.add(made.derivation, made.equation.polynomial.terms)
        self.made[name] = made

    def _add_noise(self, derivation: LayerDerivation, symbol: str) -> None:
        """Derive the covariance with what a later layer reads, if it is with a field inside."""
        (field, _), _ = derivation.means.noises[symbol].pair
        if field == BASE:
            return
        met = derivation.noise_met(symbol)
        for average, links in derivation.tables.later_noises(met):
            equation = derivation.noise_inside(average, OF_PAIR, frozenset(links), field)
            if equation.name not in self.made:
                self._add(equation.name, MadeInside(derivation, equation, ()))

    def derived(self, name: str) -> MadeInside:
        """The equation of a tensor, with what it was derived by."""
        if name not in self.known:
            of = tensor(name.partition("^")[0])
            derivation = LayerDerivation(of, self.layer, self.recorded)
            return MadeInside(derivation, derivation.kernel_inside(name), PAIR)
        correlator, fields = self.known[name]
        derivation = LayerDerivation(correlator, self.layer, self.recorded)
        of_axis = {
            axis: f for f, pair in zip(fields, correlator.matching, strict=True) for axis in pair
        }
        ways = tuple(
            way
            for way in correlator.symmetries
            if all(of_axis[axis] == of_axis[turned] for axis, turned in enumerate(way))
        )
        return MadeInside(derivation, derivation.made_inside(name, fields), ways)


def inside_tensor(derivation: LayerDerivation, symbol: str) -> str:
    """The name of a tensor inside the layer whose entry a symbol is, else nothing."""
    read = derivation.means.read.get(symbol)
    return read.name if isinstance(read, ReadTensor) and is_inside(read.name) else ""
