r"""The equations of a layer of any kind in symbols: what `fluctuations` does with numbers.

One layer is a program of two fields and more: z of layer ℓ, whose covariances are symbols, and what
the layer makes of it. The same linear response is run on arrays of polynomials in these symbols,
with a sample for each vertex, and stops at layer ℓ, where a covariance of two δQ is a tensor of
that layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from symdlt.algebra import ORTHOGONAL, Polynomial
from symdlt.definitions import (
    Correlator,
    Layer,
    Stack,
    is_recurrent,
    program_of,
    read_layer_definition,
    tensor,
)
from symdlt.definitions.programs import Function, ProgramBranch, ProgramField
from symdlt.errors import LayerError, OrderError, require
from symdlt.networks.site_averages import OUTPUT, Edges, Pair, SiteAverage
from symdlt.networks.site_functions import Edge, Vertex
from symdlt.networks.site_means import LEGS
from symdlt.networks.symbolic.accounts import Account
from symdlt.networks.symbolic.glossary import Glossary
from symdlt.networks.symbolic.layer_equations import LayerEquation, LayerEquations
from symdlt.networks.symbolic.noise_tables import NoiseTables
from symdlt.networks.symbolic.reason_texts import LATER, ReasonTexts, number_text
from symdlt.networks.symbolic.symbolic_corrections import SymbolicCorrections
from symdlt.networks.symbolic.symbolic_response import (
    BASE,
    SymbolicMeans,
    SymbolicNetwork,
    SymbolicResponse,
    Symbols,
    symbol_named,
)


def layer_equations(
    name: str | Correlator, layer: Layer | Stack | str, *, recorded: bool = False
) -> LayerEquations:
    r"""Derive the recursion of a tensor for a layer of any kind.

    By the linear response of neuron averages, for many inputs, in derivative form. `n` is the
    width of layer ℓ, n' that of layer ℓ-1, and `n_h` that of a field inside the layer. With a skip
    the recursion reads two more quantities of layer ℓ:

    - QV, the covariance of two conditional covariances of z, and alike for the other tensors;
    - Y_12[F], the covariance of the conditional covariance of z_1 z_2 with the noise of a
      function F that a later layer m, or the layer itself, reads at the same neurons. Edges
      behind the semicolon join vertices; s^m is of layer m, G^lm and H^lm are of both.

    Args:
        name: a tensor of the book.
        layer: a layer, or its text.
        recorded: whether the equations shall keep how each term was made; `explain` derives them
            again so where they were not.

    Raises:
        UnknownTensorError: if there is no such tensor.
        LayerError: if the layer keeps a function on its neurons, or normalises.
        OrderError: for a tensor of more than four axes.

    >>> print(layer_equations("H", "u = U z; v = V z; z' = W s(u) v"))
    H_12[l+1] =
      + C_V lambda_W <s(u)_1 s(u)_2> G_12
      + C_W lambda_V <s(u)_1 s(u)_2> G_12
      + C_V C_W lambda_U <s'(u)_1 s'(u)_2> G_12^2
      + C_V C_W <s(u)_1 s(u)_2> H_12
      + C_U C_V C_W <s'(u)_1 s'(u)_2> G_12 H_12
    >>> print(layer_equations("V", "z' = xi z + W z")[2])
    V_1234 =
      + QV_1234
      + Y_12[z_3 z_4]
      + Y_34[z_1 z_2]
    """
    correlator, definition = readable_tensor(name), readable_layer(layer)
    derived = LayerDerivation(correlator, definition, recorded)
    glossary = derived.glossary() if recorded else None
    return LayerEquations(correlator, definition, tuple(derived.equations()), glossary)


def readable_tensor(name: str | Correlator) -> Correlator:
    """A tensor of one pair or two.

    Raises:
        UnknownTensorError: if there is no such tensor.
        OrderError: for a tensor of more than four axes.
    """
    correlator = name if isinstance(name, Correlator) else tensor(name)
    if correlator.pairs > 2:
        raise OrderError(
            f"{correlator.name} has {correlator.pairs} pairs of axes. The linear response gives "
            "tensors of one pair or two. Ask for one of the book, or `derive` it for a layer of "
            "one stream."
        )
    return correlator


def readable_layer(layer: Layer | Stack | str) -> Layer | Stack:
    """A layer whose equations can be had.

    Raises:
        LayerError: for a layer that normalises, reads several positions, or has orthogonal weights.
    """
    definition = read_layer_definition(layer)
    require(definition, Layer | Stack, "a layer", 'Give one such as "h = U z; z\' = W s(h)".')
    drawn = [one for stream in definition.streams for one in stream.drawn]
    orthogonal = any(one.tensor.law and one.tensor.law.name == ORTHOGONAL for one in drawn)
    norms = any(stream.norm or stream.mask for stream in definition.streams)
    joins = any(stream.score for stream in definition.streams) or is_recurrent(definition.streams)
    if norms or orthogonal or joins or any(one.window for one in drawn):
        raise LayerError(
            f"The layer {str(definition)!r} normalises a field, reads several positions, or has "
            "masks or orthogonal weights. Equations in symbols are of layers without. Ask "
            "`propagate` for the numbers."
        )
    return definition


class LayerDerivation:
    """The equations of one tensor for one layer."""

    def __init__(self, correlator: Correlator, definition: Layer | Stack, recorded: bool) -> None:
        self.correlator, self.layer = correlator, definition
        program = program_of(SymbolicNetwork(definition))  # type: ignore[arg-type]
        self.top, self.later = program.tops[1], len(program.fields)
        base = program.fields[BASE]
        self.shared = program.fields[self.top].site == base.site
        reads = [
            (field, number)
            for field in range(BASE + 1, self.later)
            for number, branch in enumerate(program.fields[field].branches)
            if branch.site == base.site
        ]
        self.tables = NoiseTables(program, BASE, self.later, reads)
        # What a later layer reads is read of a field of its own, at the neurons of z.
        moved = [
            ProgramBranch(*_LATER, base.site, _renamed(function, self.later))
            for function in self.tables.functions
        ]
        later = ProgramField(base.site, base.width, (), (), tuple(moved))
        self.program = replace(program, fields=(*program.fields, later))
        names = ["z", *(stream.name for stream in definition.streams), LATER]
        labels = correlator.labels or tuple(range(correlator.axes))
        samples = [str(label) for label in (*labels, *"5678")[:LEGS]]
        self.texts = ReasonTexts(self.program, names, samples, isinstance(definition, Layer))
        self.means = SymbolicMeans(self.texts, recorded)
        prefix = "Q" * self.shared
        self.response = SymbolicResponse(self.program, self.means, prefix, self.tables)
        self.samples = "".join(samples[: correlator.axes])

    @property
    def inside(self) -> range:
        """The fields inside the layer."""
        return range(BASE + 1, self.top)

    def equations(self) -> Iterator[LayerEquation]:
        """The recursion; with a skip and two pairs, its system."""
        yield self.recursion()
        if self.shared and self.correlator.pairs > 1:
            first, second = self.correlator.matching
            sides = [(first, second)] if self._alike() else [(first, second), (second, first)]
            noises = [equation for side in sides for equation in self._noises(*side)]
            yield from {equation.name: equation for equation in noises}.values()
            yield self.whole()

    def recursion(self) -> LayerEquation:
        """Of a tensor, or with a skip and two pairs of the part that fluctuates together."""
        name = self.correlator.name
        if self.correlator.pairs == 1:
            known = self.means.ntks if self.correlator.forest.edges else self.means.kernels
            return self._equation(f"{name}_{self.samples}[l+1]", known[self.top, self.top][0, 1])
        left, right = (self._pair(self.top, pair) for pair in self.correlator.matching)
        both = self.response.both(left, right, frozenset(self.correlator.forest.edges))
        name = f"{self.response.prefix}{name}_{self.samples}[l+1]"
        return self._scaled(name, both, f"{self.texts.pair(left)} with {self.texts.pair(right)}")

    def correction(self) -> LayerEquation:
        """The recursion of the correction of order 1/n of a tensor of one pair."""
        edges = frozenset(self.correlator.forest.edges)
        shift = SymbolicCorrections(self.response).shift(self._pair(self.top, (0, 1)), edges)
        name = f"{self.response.prefix}{self.correlator.name}.1_{self.samples}[l+1]"
        return self._equation(name, symbol_named("n") * shift.reshape(-1)[0])

    @property
    def gaussian(self) -> bool:
        """Whether the fourth cumulants of all weights and biases vanish."""
        drawn = [one for field in self.program.fields[1:-1] for one in field.drawn]
        return all(one.entry_fourth == 0 for one in drawn)

    def noise(self, average: SiteAverage, here: Edge, edges: Edges) -> LayerEquation:
        """The covariance of a pair of legs with the noise of what a later layer reads."""
        known = self.response.noise_name(average, self._pair(BASE, here), edges)
        pair = self._pair(self.top, here)
        covariance = self.response.noise(average, pair, edges)
        told = f"M({self.texts.averaged(average)}) with {self.texts.pair(pair)}"
        return self._scaled(f"{known}[l+1]", covariance, told)

    def _noises(self, here: Edge, there: Edge) -> Iterator[LayerEquation]:
        """The equations of Y, of all functions that a later layer reads, and of its z z."""
        for number in (*range(len(self.tables.functions)), OUTPUT):
            average = SiteAverage((self.later, number), _ends(there))
            yield self.noise(average, here, frozenset(self.correlator.forest.edges))

    def whole(self) -> LayerEquation:
        """The tensor itself: its two averages, and the noise that each of them has met."""
        first, second = self.correlator.matching
        edges = frozenset(self.correlator.forest.edges)
        named = f"{self.correlator.name}_{self.samples}"
        self.means.tensor(f"Q{self.correlator.name}", self.samples)
        both = " and ".join(self.texts.pair(self._pair(BASE, one)) for one in (first, second))
        whole = self._told(f"Q{named}", f"{both} fluctuate together")
        for here, there in ((first, second), (second, first)):
            average, pair = SiteAverage((BASE, OUTPUT), _ends(there)), self._pair(BASE, here)
            met = self.response.noise_name(average, pair, edges)
            told = f"{self.texts.pair(pair)} has met the noise of M({self.texts.averaged(average)})"
            whole = whole + self._told(met, told)
        return self._equation(named, whole)

    def _told(self, name: str, reason: str) -> Any:
        """A symbol, with a reason where these are noted."""
        symbol = self.means.symbol(name)
        return Account.noted(reason) * symbol if self.means.recorded else symbol

    def _scaled(self, name: str, covariance: Symbols, of: str) -> LayerEquation:
        """The equation of a covariance, times the width of layer ℓ."""
        scaled = symbol_named("n") * covariance.reshape(-1)[0]
        if self.means.recorded:
            scaled = (
                Account.noted(f"{name.removesuffix('[l+1]')} is n times the covariance of {of}")
                * scaled
            )
        return self._equation(name, scaled)

    def glossary(self) -> Glossary:
        """What the symbols are."""
        fields, names = self.program.fields, self.texts.names
        held: dict[str, list[str]] = {}
        for field in self.inside:
            if fields[field].site != fields[BASE].site:
                held.setdefault(number_text(fields[field].width), []).append(names[field])
        widths = tuple((one, f"the width of {' and '.join(of)}") for one, of in held.items())
        return Glossary(self.correlator, self.layer, widths, tuple(self._covariances()))

    def _covariances(self) -> Iterator[str]:
        """The covariances of the fields inside the layer."""
        first, second = Vertex(0), Vertex(1)
        for (f, g), known in self.means.kernels.items():
            if BASE < f < self.top and known[0, 1]:
                joint = known[0, 1].value if self.means.recorded else known[0, 1]
                ends = " and ".join(map(self.texts.leg, ((f, first), (g, second))))
                terms = " + ".join(number_text(Polynomial((term,))) for term in joint.terms)
                yield f"{ends} have the covariance {terms}"

    def _alike(self) -> bool:
        """Whether the two pairs of the tensor can be exchanged."""
        first, second = ({*pair} for pair in self.correlator.matching)
        return any({way[v] for v in first} == second for way in self.correlator.symmetries)

    def _pair(self, field: int, vertices: Edge) -> Pair:
        first, second = vertices
        return (field, Vertex(first)), (field, Vertex(second))

    def _equation(self, name: str, value: Any) -> LayerEquation:
        if isinstance(value, Account):
            return LayerEquation(name, value.value, value)
        return LayerEquation(name, Polynomial.number(0) + value)


# The tensor, variance, rate and shape of a branch of which only the function is read.
_LATER: tuple[Any, Any, Any, Any, Any] = (None, 0.0, 0.0, 0.0, (1, 1))


def _renamed(function: Function, field: int) -> Function:
    """A function of z, of another field."""
    return tuple(
        (number, tuple((field, name, order) for _, name, order in factors))
        for number, factors in function
    )


def _ends(edge: Edge) -> tuple[Vertex, Vertex]:
    first, second = edge
    return Vertex(first), Vertex(second)
