"""The equations that a skip adds, as a closed system of states, for its kernel."""

from __future__ import annotations

from symdlt.algebra import Polynomial
from symdlt.definitions import BOOK, Layer, Stack, tensor
from symdlt.errors import KernelError
from symdlt.kernels.generator.layer_systems import DepthSystem, SystemEquation
from symdlt.networks.symbolic.layer_equations import LayerEquation
from symdlt.networks.symbolic.noise_tables import OF_PAIR
from symdlt.networks.symbolic.response_equations import LayerDerivation
from symdlt.networks.symbolic.symbolic_corrections import PIECES
from symdlt.networks.symbolic.symbolic_response import BASE
from symdlt.networks.symbolic.system_equations import system_equation

NOTHING = Polynomial.number(0)
AXES = (1, 2, 3, 4)  # the labels of samples of tables of noise


class DepthEquations:
    """The states that tensors of a layer with a skip are made of.

    Args:
        layer: the layer.
    """

    def __init__(self, layer: Layer | Stack) -> None:
        self.layer = layer
        self.wholes: dict[str, SystemEquation] = {}
        self.states: dict[str, SystemEquation] = {}
        self.noises = LayerDerivation(tensor("V"), layer, False)

    def whole(self, derivation: LayerDerivation, piece: int) -> SystemEquation:
        """A tensor as a sum of states, which are found with all that they need.

        Args:
            derivation: of the tensor.
            piece: one for its correction of order 1/n.

        Raises:
            KernelError: if the functions of z that layers read have constants.
        """
        if not derivation.tables.alike:
            raise self._refused(derivation.correlator.name)
        name = derivation.correlator.name + ".1" * piece
        if piece:
            symbol = f"Q{name}_{derivation.samples}"
            derivation.means.tensor(f"Q{name}", derivation.samples)
            only = Polynomial((((((symbol, 1),), 1)),))
            sum_of_states = LayerEquation(f"{name}_{derivation.samples}", only)
        else:
            sum_of_states = derivation.whole()
        self.wholes[name] = whole = self._equation(derivation, sum_of_states, name)
        left = [whole]
        while left:
            one = left.pop()
            names = {name for name in one.needs if name[0] == "Q"} | one.noises
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
        names = [*book, *sorted({*self.states} - {*book})]
        new = {name for one in self.wholes.values() for name in one.noises}
        observed = set[str]()
        while new:
            observed |= new
            new = {name for known in new for name in self.states[known].noises} - observed
        kept = tuple(self._kept(name) for name in self.leading)
        return DepthSystem(kept, tuple(self.states[name] for name in names), frozenset(observed))

    def _state(self, name: str) -> SystemEquation:
        """The equation of Q, or of Y."""
        if name[0] == "Q":
            of, _, piece = name[1:].partition(".")
            derivation = LayerDerivation(tensor(of), self.layer, False)
            equation = derivation.correction() if piece else derivation.recursion()
            return self._equation(derivation, equation, name)
        derivation = self.noises
        table = derivation.tables.known[name]
        average, edges = derivation.tables.later_average(table), frozenset(table.links)
        equation = derivation.noise(average, OF_PAIR, edges)
        return system_equation(derivation, equation, name, AXES, NOTHING, table.symmetries)

    def _equation(
        self, derivation: LayerDerivation, equation: LayerEquation, name: str
    ) -> SystemEquation:
        """An equation with the axes of a tensor."""
        self.noises.tables.known |= derivation.tables.known
        samples, ways = tuple(map(int, derivation.samples)), derivation.correlator.symmetries
        return system_equation(derivation, equation, name, samples, NOTHING, ways)

    def _kept(self, name: str) -> SystemEquation:
        """What z keeps of the layer below it keeps of its covariance with all before."""
        derivation = LayerDerivation(tensor(name), self.layer, False)
        means = derivation.means
        known = means.ntks if derivation.correlator.forest.edges else means.kernels
        passed = (NOTHING + known[derivation.top, BASE][0, 1]).terms
        below, after = (f"{of}_{derivation.samples}" for of in (name, f"{name}^lm"))
        terms = [
            (tuple(sorted((after if s == below else s, power) for s, power in monomial)), number)
            for monomial, number in passed
        ]
        means.tensor(f"{name}^lm", derivation.samples)
        equation = LayerEquation(f"{after}[m+1]", Polynomial(tuple(terms)))
        samples = tuple(map(int, derivation.samples))
        return system_equation(derivation, equation, f"{name}^lm", samples, NOTHING, ((0, 1),))

    def _refused(self, name: str) -> KernelError:
        return KernelError(
            f"{name} of the layer {self.layer} has no kernel file. Later layers read the same "
            "neurons, and what the layer reads of z has constants, or is of fields that keep z, "
            "which may be others at each depth. Kernel files follow functions of z itself, with "
            "numbers. `propagate` of a `Network` of such layers has all thirteen tensors."
        )
