"""The equations that a skip adds, as a closed system of states, for its kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from graphlib import TopologicalSorter

from symdlt.algebra import Polynomial
from symdlt.definitions import ABOVE, BOOK, Layer, Stack, tensor
from symdlt.derivation.response.symbolic.closed_systems import (
    DepthSystem,
    ReadTensor,
    SystemEquation,
)
from symdlt.derivation.response.symbolic.field_names import is_inside
from symdlt.derivation.response.symbolic.inside_equations import InsideEquations
from symdlt.derivation.response.symbolic.later_layers import BASE
from symdlt.derivation.response.symbolic.layer_derivation import LayerDerivation
from symdlt.derivation.response.symbolic.layer_equations import LayerEquation
from symdlt.derivation.response.symbolic.noise_tables import OF_PAIR, OWN_NOISE
from symdlt.derivation.response.symbolic.readable import PIECES
from symdlt.derivation.response.symbolic.symbolic_means import symbol_named
from symdlt.derivation.response.symbolic.system_equations import system_equation
from symdlt.derivation.response.symbolic.window_sums import moved, sum_of_parts
from symdlt.errors import KernelError

NOTHING = Polynomial.number(0)
LEADING = "GH"  # the letters of kernels and NTKs
AXES = (1, 2, 3, 4)  # the labels of samples of tables of noise


class DepthEquations:
    """The states that tensors of a layer with a skip are made of.

    Args:
        layer: the layer.
        inputs: "one" or "many".
    """

    def __init__(self, layer: Layer | Stack, inputs: str) -> None:
        self.layer, self.inputs = layer, inputs
        self.inside = InsideEquations(layer)
        self.wholes: dict[str, SystemEquation] = {}
        self.states: dict[str, SystemEquation] = {}

    @cached_property
    def noises(self) -> LayerDerivation:
        """Of the equations of noise, with the tables that are known."""
        return LayerDerivation(tensor("V"), self.layer, False)

    def whole(self, derivation: LayerDerivation, piece: int) -> SystemEquation:
        """A tensor as a sum of states, which are found with all that they need.

        Args:
            derivation: of the tensor.
            piece: one for its correction of order 1/n.

        Raises:
            KernelError: if the functions of z that layers read have constants.
        """
        name = derivation.correlator.name + ".1" * piece
        if not derivation.tables.alike:
            raise self._refused(name)
        if piece:
            if joined := derivation.tables.joined:
                raise KernelError(
                    f"{name} of the layer {self.layer} has no kernel file. Its weights read "
                    f"functions of {' and '.join(joined)} together, and derivatives along each of "
                    "these have noise of their own. Ask `layer_equations` or `propagate` for it."
                )
            state = derivation.tensor(f"Q{name}")
            sum_of_states = LayerEquation(f"{name}_{derivation.samples}", state)
        else:
            sum_of_states = derivation.whole()
        self.wholes[name] = whole = self._equation(derivation, sum_of_states, name)
        left = [whole]
        while left:
            one = left.pop()
            names = {n for n in one.needs if (n[0] == "Q" or is_inside(n)) and n[0] not in LEADING}
            names |= one.noises
            for name in sorted(names - {*self.states}):
                self.states[name] = self._state(name)
                left.append(self.states[name])
        return whole

    @property
    def leading(self) -> list[str]:
        """The tensors of one pair that states read; all means are at the kernel."""
        read = {name.partition("^")[0] for one in self.states.values() for name in one.needs}
        return ["G", *["H"] * ("H" in read)]

    def system(self) -> DepthSystem | None:
        """All states, if there are any, Q in the order of the book and then Y."""
        if not self.states:
            return None
        book = [f"Q{name}" for name in (*BOOK, *PIECES) if f"Q{name}" in self.states]
        placed = sorted(name for name in self.states if is_inside(name))
        read = {n: {*self.states[n].needs, *self.states[n].noises} & {*placed} for n in placed}
        inside = [*TopologicalSorter(read).static_order()]  # each behind what it reads
        names = [*inside, *book, *sorted({*self.states} - {*book, *inside})]
        new = {name for one in self.wholes.values() for name in one.noises}
        observed = set[str]()
        while new:
            observed |= new
            new = {name for known in new for name in self.states[known].noises} - observed
        kept = tuple(self._kept(name) for name in self.leading)
        return DepthSystem(kept, tuple(self.states[name] for name in names), frozenset(observed))

    def read_alone(self, name: str) -> SystemEquation:
        """A tensor of a layer of these weights that keeps nothing, of the states of that below."""
        equation = self._fluctuation(name)
        one = replace(equation, name=name, text=_without_q(equation.text))
        parts = [
            replace(part, name=name, text=_without_q(part.text))
            for part in equation.parts
            if len(moved(part)) == len(equation.samples)
        ]
        return sum_of_parts(one, parts)

    def _fluctuation(self, name: str) -> SystemEquation:
        """The equation of Q of a tensor, or of a correction."""
        of, _, piece = name.partition(".")
        derivation = LayerDerivation(tensor(of), self.layer, False)
        equation = _as_state(derivation) if piece else derivation.recursion()
        return self._equation(derivation, equation, f"Q{name}")

    def _state(self, name: str) -> SystemEquation:
        """The equation of Q, or of Y."""
        if name[0] == "Q" and not is_inside(name):
            return self._fluctuation(name[1:])
        derivation, tables = self.noises, self.noises.tables
        if name not in tables.known:
            return self.of_inside(name)
        table, edges = tables.known[name], frozenset(tables.known[name].links)
        average = tables.average(table, later=not name.startswith(OWN_NOISE))
        if table.inside:
            field = derivation.texts.names.index(table.inside)
            equation = derivation.noise_inside(average, OF_PAIR, edges, field)
        else:
            equation = derivation.noise(average, OF_PAIR, edges)
        return self._written(derivation, equation, name, AXES, table.symmetries)

    def of_inside(self, name: str) -> SystemEquation:
        """The equation of a kernel, an NTK, or a tensor of fields inside the layer.

        Raises:
            KernelError: for a tensor of a field inside and of z', whose positions may be others.
        """
        if ABOVE in name:
            raise KernelError(
                f"The layer {self.layer} has a window inside, and its last statement reads again "
                "what that window reads. Kernel files have fields between the two. Give these "
                "weights a statement of their own, or ask `propagate` of a `Network`."
            )
        derivation, equation, ways = self.inside.derived(name)
        samples = tuple(map(int, derivation.samples))
        return self._written(derivation, equation, name, samples, ways)

    def _equation(
        self, derivation: LayerDerivation, equation: LayerEquation, name: str
    ) -> SystemEquation:
        """An equation with the axes of a tensor."""
        samples, ways = tuple(map(int, derivation.samples)), derivation.correlator.symmetries
        return self._written(derivation, equation, name, samples, ways)

    def _written(
        self,
        derivation: LayerDerivation,
        equation: LayerEquation,
        name: str,
        samples: tuple[int, ...],
        ways: tuple[tuple[int, ...], ...],
    ) -> SystemEquation:
        found = system_equation(derivation, equation, name, samples, NOTHING, ways, self.inputs)
        self.noises.tables.known |= derivation.tables.known
        self.inside.known |= derivation.response.inside
        return found

    @property
    def pairs_inside(self) -> dict[str, SystemEquation]:
        """The kernels and NTKs of fields inside the layer that are read, each behind these."""
        made: dict[str, SystemEquation] = {}

        def add(needs: frozenset[str]) -> None:
            for name in sorted(needs):
                if is_inside(name) and name[0] in LEADING and name not in made:
                    equation = self.of_inside(name)
                    add(equation.needs)
                    made[name] = equation

        for one in self.states.values():
            add(one.needs)
        return made

    def _kept(self, name: str) -> SystemEquation:
        """What z keeps of the layer below it keeps of its covariance with all before."""
        derivation = LayerDerivation(tensor(name), self.layer, False)
        passed = NOTHING + derivation.entry(derivation.known[derivation.top, BASE])
        below, after = (f"{of}_{derivation.samples}" for of in (name, f"{name}^lm"))
        derivation.tensor(f"{name}^lm")
        equation = LayerEquation(f"{after}[m+1]", _renamed(passed, {below: after}))
        samples = tuple(map(int, derivation.samples))
        named, ways = f"{name}^lm", ((0, 1),)
        return system_equation(derivation, equation, named, samples, NOTHING, ways, self.inputs)

    def _refused(self, name: str) -> KernelError:
        return KernelError(
            f"{name} of the layer {self.layer} has no kernel file. Later layers read the same "
            "neurons, and what the layer reads of z has constants, or is of fields that keep z, "
            "which may be others at each depth. Kernel files follow functions of z itself, or of "
            "rmsnorm(z) or layernorm(z), with numbers. `propagate` of a `Network` of such layers "
            "has all thirteen tensors."
        )


def _without_q(text: tuple[str, ...]) -> tuple[str, ...]:
    """The text of an equation of Q, as that of the tensor."""
    head, *lines = text
    return (head.removeprefix("Q"), *lines)


def _as_state(derivation: LayerDerivation) -> LayerEquation:
    """The equation of a correction, of which all depths are states."""
    equation, read = derivation.correction(), derivation.means.read
    names = {symbol: f"Q{symbol}" for symbol in read if symbol.partition("_")[0] in PIECES}
    for symbol, state in names.items():
        of = read[symbol]
        assert isinstance(of, ReadTensor)
        derivation.means.tensor(state.partition("_")[0], of.samples)
    return LayerEquation(f"Q{equation.name}", _renamed(equation.polynomial, names))


def _renamed(polynomial: Polynomial, names: Mapping[str, str]) -> Polynomial:
    """The same in other symbols."""
    return polynomial.substitute({name: symbol_named(to) for name, to in names.items()})
