r"""The equations of a layer of any kind in symbols: what `fluctuations` does with numbers.

One layer is a program of two fields and more: z of layer ℓ, whose covariances are symbols, and what
the layer makes of it. The same linear response is run on arrays of polynomials in these symbols,
with a sample for each vertex, and stops at layer ℓ, where a covariance of two δQ is a tensor of
that layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from symdlt.algebra import Polynomial
from symdlt.definitions import (
    ALONE,
    PAIR,
    AnyTensor,
    Correlator,
    Layer,
    OddTensor,
    Stack,
    ascii_name,
)
from symdlt.definitions.programs import ProgramBranch
from symdlt.derivation.response.site_averages import MEAN, OUTPUT, Edges, Pair, SiteAverage
from symdlt.derivation.response.site_functions import Edge, Vertex
from symdlt.derivation.response.symbolic.accounts import Account
from symdlt.derivation.response.symbolic.field_names import (
    inside_name,
    mark_between,
)
from symdlt.derivation.response.symbolic.glossary import Glossary, marked
from symdlt.derivation.response.symbolic.later_layers import BASE
from symdlt.derivation.response.symbolic.layer_equations import LayerEquation
from symdlt.derivation.response.symbolic.noise_tables import OF_PAIR, Links, MetNoise
from symdlt.derivation.response.symbolic.readable import (
    refused,
)
from symdlt.derivation.response.symbolic.reason_texts import number_text
from symdlt.derivation.response.symbolic.symbolic_corrections import (
    BLOCK,
    EDGED,
    SymbolicCorrections,
)
from symdlt.derivation.response.symbolic.symbolic_layer import symbolic_layer
from symdlt.derivation.response.symbolic.symbolic_means import (
    Symbols,
    symbol_named,
)


class LayerDerivation:
    """The equations of one tensor for one layer."""

    def __init__(self, correlator: AnyTensor, definition: Layer | Stack, recorded: bool) -> None:
        self.correlator, self.layer = correlator, definition
        samples = "".join(map(str, (*correlator.labels, *"1234"[correlator.axes :])))
        self.samples = samples[: correlator.axes]
        parts = symbolic_layer(definition, samples, recorded, isinstance(correlator, OddTensor))
        self.program, self.top, self.beyond = parts.program, parts.top, parts.beyond
        self.tables, self.texts, self.means = parts.tables, parts.texts, parts.means
        self.kernels, self.response = parts.kernels, parts.response
        self.shared, self.met, self.open = parts.shared, parts.noises, parts.open

    @property
    def edges(self) -> Edges:
        """The edges of the tensor."""
        return frozenset(self.correlator.forest.edges)

    @property
    def known(self) -> dict[tuple[int, int], Symbols]:
        """The kernels, or for a tensor with edges the NTKs."""
        return self.means.ntks if self.edges else self.means.kernels

    @property
    def inside(self) -> range:
        """The fields inside the layer."""
        return range(BASE + 1, self.top)

    def equations(self) -> Iterator[LayerEquation]:
        """The recursion; with a skip and two pairs, its system."""
        yield self.recursion()
        if self.met and isinstance(self.correlator, Correlator) and self.correlator.order:
            first, second = self.correlator.matching
            sides = [(first, second)] if self._alike() else [(first, second), (second, first)]
            noises = [equation for side in sides for equation in self._noises(*side)]
            yield from {equation.name: equation for equation in noises}.values()
            yield self.whole()

    def recursion(self) -> LayerEquation:
        """Of a tensor, or with a skip and two pairs of the part that fluctuates together."""
        name = f"{self.correlator.name}_{self.samples}[l+1]"
        if not self.correlator.order:
            return self._equation(name, self.entry(self.known[self.top, self.top]))
        if isinstance(self.correlator, OddTensor):
            return self._odd_recursion(name)
        if self.open:
            raise refused(self.layer, f"{self.open}. Let weights read others")
        left, right = (self._pair(self.top, pair) for pair in self.correlator.matching)
        told = f"the covariance of {self.texts.pair(left)} with {self.texts.pair(right)}"
        both = self.response.followed(lambda: self.response.both(left, right, self.edges))
        return self._scaled(f"{self.response.prefix}{name}", both, told)

    def _odd_recursion(self, name: str) -> LayerEquation:
        """Of a tensor with a vertex alone, which closes: what is fresh at its neuron is apart."""
        left, right = (self._pair(self.top, pair) for pair in ((ALONE, ALONE), PAIR))
        told = f"the covariance of {self.texts.leg(left[0])} with {self.texts.pair(right)}"
        met = self.response.followed(lambda: self.response.alone(left, right, self.edges))
        return self._scaled(name, met, told)

    def correction(self) -> LayerEquation:
        """The recursion of the correction of order 1/n of a tensor of one pair."""
        pair = self._pair(self.top, (0, 1))
        told = f"the mean of {self.texts.pair(pair)}, less its limit at infinite width"
        name = f"{self.correlator.name}.1_{self.samples}[l+1]"
        shift = self.response.followed(lambda: self._beyond_limit.shift(pair, self.edges))
        return self._scaled(name, shift, told)

    def made_inside(self, name: str, fields: tuple[int, int]) -> LayerEquation:
        """The equation of the tensor of fields inside the layer, one for each of its pairs."""
        left, right = map(self._pair, fields, self.correlator.matching)
        told = f"the covariance of {self.texts.pair(left)} with {self.texts.pair(right)}"
        both = self.response.made(
            (left, right), lambda: self.response.both(left, right, self.edges)
        )
        return self._scaled(f"{name}_{self.samples}", both, told)

    def kernel_inside(self, name: str) -> LayerEquation:
        """The equation of the kernel, or of the NTK, of a field inside the layer."""
        return self._equation(f"{name}_{self.samples}", self.entry(self.kernels.inside[name]))

    def noise_inside(
        self, average: SiteAverage, here: Edge, edges: Edges, field: int
    ) -> LayerEquation:
        """The covariance of a pair inside the layer with noise that later layers read."""
        pair = self._pair(field, here)
        name = self.response.noise_name(average, pair, edges)
        met = self.response.made([pair], lambda: self.response.noise(average, pair, edges))
        told = f"M({self.texts.averaged(average)}) with {self.texts.pair(pair)}"
        return self._scaled(name, met, f"the covariance of {told}")

    def noise(
        self, average: SiteAverage, here: Edge, edges: Edges, below: SiteAverage | None = None
    ) -> LayerEquation:
        """The covariance of a pair of legs with the noise of what a later layer reads.

        Below, of layer l, it is that of the same average, or of another one.
        """
        known = self.response.noise_name(below or average, self._pair(BASE, here), edges)
        pair = self._pair(self.top, here)
        covariance = self.response.followed(lambda: self.response.noise(average, pair, edges))
        told = f"M({self.texts.averaged(average)}) with {self.texts.pair(pair)}"
        return self._scaled(f"{known}[l+1]", covariance, f"the covariance of {told}")

    def whole(self) -> LayerEquation:
        """The tensor itself: its two averages, and the noise that each of them has met."""
        first, second = self.correlator.matching
        named = f"{self.correlator.name}_{self.samples}"
        both = " and ".join(self.texts.pair(self._pair(BASE, one)) for one in (first, second))
        together = self.tensor(f"Q{self.correlator.name}")
        whole = self._told(together, f"{both} fluctuate together")
        for here, there in ((first, second), (second, first)):
            average, pair = SiteAverage((BASE, OUTPUT), _ends(there)), self._pair(BASE, here)
            met = self.means.symbol(self.response.noise_name(average, pair, self.edges))
            told = f"{self.texts.pair(pair)} has met the noise of M({self.texts.averaged(average)})"
            whole = whole + self._told(met, told)
        return self._equation(named, whole)

    def tensor(self, name: str) -> Any:
        """The symbol of a tensor at the samples of the one that is derived."""
        vertices = map(Vertex, range(self.correlator.axes))
        return self.means.tensor(name, [*map(self.texts.labels.number, vertices)])

    def corrections(self) -> Iterator[LayerEquation]:
        """The recursion of the correction, and of the blocks of fourth cumulants that it reads.

        Raises:
            LayerError: where the correction does not close, or laws do not tell fourth cumulants.
        """
        self.check_corrections()
        correction = self.correction()
        yield correction
        if self.shared:
            yield from self._noises_read(correction)
        found = self._beyond_limit
        for head in (BLOCK, EDGED)[: 1 + bool(self.edges)] if found.heavy else ():
            labels = "".join(self.texts.labels.samples)
            told = "what fourth cumulants of weights join at one neuron"
            yield self._scaled(
                f"{head}_{labels}[l+1]", found.block_of(self.top, head == EDGED), told
            )

    @cached_property
    def _beyond_limit(self) -> SymbolicCorrections:
        branches = self.program.fields[self.top].branches
        return SymbolicCorrections(self.response, any(one.entry_fourth for one in branches))

    def _noises_read(self, equation: LayerEquation) -> Iterator[LayerEquation]:
        """The equations of all Y that an equation reads, of those that they read, and so on."""
        told: set[tuple[SiteAverage, Links]] = set()
        left = [equation]
        while left:
            one = left.pop(0)
            names = [n for product in one.products for m, _ in product.terms for n, _ in m]
            met = (self.noise_met(name) for name in names if name in self.means.noises)
            for noise in (noise for each in met for noise in self.tables.later_noises(each)):
                if noise not in told:
                    told.add(noise)
                    left.append(self.noise(noise[0], OF_PAIR, frozenset(noise[1])))
                    yield left[-1]

    def noise_met(self, symbol: str) -> MetNoise:
        """What a symbol of noise is.

        Raises:
            LayerError: for noise of fields inside, that of lengths and behind windows.
        """
        met = self.means.noises[symbol]
        if met.average.read not in self.tables.kinds:
            (field, _), _ = met.pair
            raise refused(
                self.layer,
                "keeps z, and normalises a field inside that keeps it. Normalise z itself"
                if field == BASE
                else "keeps z, and its weights read neurons again that a window inside has read. "
                "Let other neurons have these fields",
            )
        return met

    @property
    def branches(self) -> list[ProgramBranch]:
        """All weights of the layer."""
        fields = self.program.fields[BASE + 1 : self.top + 1]
        return [branch for field in fields for branch in field.branches]

    @property
    def gaussian(self) -> bool:
        """Whether no weights have fourth cumulants of their own."""
        return all(one.orthogonal or one.entry_fourth == 0 for one in self.branches)

    def check_corrections(self) -> None:
        """Refuse layers whose corrections of order 1/n do not close, or that have no symbols."""
        if self.open or (self.met and not self.shared):
            reason = self.open or "reads neurons that z' keeps"
            raise refused(self.layer, f"{reason}. Let weights read others")
        branches = self.branches
        heavy = any(branch.entry_fourth for branch in branches)
        if self.shared and heavy:
            raise refused(
                self.layer,
                f"keeps z, and of such layers {self.correlator.name}.1 is known without fourth "
                "cumulants. Leave out the skip",
            )
        made = self._beyond_limit.lengths.made_of(self.top, Vertex(0))
        if any(self.program.fields[field].norm for field in made):
            raise refused(
                self.layer,
                "keeps what a norm makes on the neurons of z', each of which is itself in the "
                "length that it is divided by. Let weights read it",
            )
        unknown = [b for b in branches if b.entry_fourth is None and not b.orthogonal]
        placed = self.texts.labels.windows and heavy
        if unknown or placed:
            raise refused(
                self.layer,
                "has weights without a fourth cumulant that is known"
                if unknown
                else "has windows and weights with a fourth cumulant",
            )

    def _noises(self, here: Edge, there: Edge) -> Iterator[LayerEquation]:
        """The equations of Y, of all functions that a later layer reads, and of its z z."""
        for reads in self.met:
            below, above = (
                SiteAverage(read, _ends(there if read[1] != MEAN else (there[0], there[0])))
                for read in reads
            )
            yield self.noise(above, here, self.edges, below)

    def _told(self, symbol: Any, reason: str) -> Any:
        """A symbol, with a reason where these are noted."""
        return Account.noted(reason) * symbol if self.means.recorded else symbol

    def _scaled(self, name: str, covariance: Symbols, of: str) -> LayerEquation:
        """The equation of a covariance, or of a mean, times the width of layer ℓ."""
        scaled = symbol_named("n") * covariance.reshape(-1)[0]
        if self.means.recorded:
            scaled = Account.noted(f"{name.removesuffix('[l+1]')} is n times {of}") * scaled
        return self._equation(name, scaled)

    def glossary(self, piece: int = 0) -> Glossary:
        """What the symbols are."""
        fields, names = self.program.fields, self.texts.names
        held: dict[str, list[str]] = {}
        for field in self.inside:
            if fields[field].site != fields[BASE].site and not fields[field].mask:
                held.setdefault(number_text(fields[field].width), []).append(names[field])
        widths = tuple(
            (one, f"the width of {' and '.join(map(marked, of))}") for one, of in held.items()
        )
        told = (*self._covariances(), *self._masks())
        others = tuple(self._others())
        return Glossary(self.correlator, self.layer, widths, told, others, piece)

    def _masks(self) -> Iterator[str]:
        """The masks inside the layer."""
        for field in self.inside:
            if mask := self.program.fields[field].mask:
                yield f"`{self.texts.names[field]}` is {mask.meaning}"

    def _others(self) -> Iterator[tuple[str, str]]:
        """Scales of norms, sums over windows, and what only some layers have."""
        names, kernels = self.texts.names, self.kernels
        for field, length in kernels.lengths.items():
            letter, of = kernels.letters[field], f"{names[field]}_1"
            told = length.value if isinstance(length, Account) else length
            terms = " + ".join(number_text(Polynomial((term,))) for term in told.terms)
            yield (
                letter,
                f"`{letter}_1 = r_1^(-1/2)` is what `{of}` is multiplied with where it is "
                f"normalised; `r_1` is the mean of its square over the neurons, `M({of} {of})`, at "
                f"infinite width `{terms}`",
            )
        if kinds := self.texts.labels.kinds:
            yield "sum_", self.texts.labels.meaning()
            pooled = not any(window.whole for window in kinds)
            yield "P", f"the number of positions{' that are pooled' * pooled}"
        for stream in self.layer.streams:
            for one in stream.drawn:
                letter = ascii_name(one.tensor.name)
                if one.orthogonal:
                    sizes = "the larger of the numbers of rows and of columns"
                    yield f"n_{letter}", f"{sizes} of the orthogonal weights `{letter}`"
        for field in self.inside:
            for letter, kind in (("G", "covariance"), ("H", "NTK")):
                of = f"the {kind} of `z` of layer `m`, the first index, with `{names[field]}`"
                yield f"{letter}^{mark_between(names[field])}", of

    def _covariances(self) -> Iterator[str]:
        """The covariances of the fields inside the layer."""
        first, second = Vertex(0), Vertex(1)
        inside = {
            (field, field): self.kernels.inside[inside_name("G", self.texts.names[field])]
            for field in self.kernels.windowed
        }
        for (f, g), known in (self.means.kernels | inside).items():
            # What the next layer reads of z' is next to fields of this one.
            if BASE < f < self.top + (not self.shared and bool(self.met)) and self.entry(known):
                joint = self.entry(known)
                joint = joint.value if self.means.recorded else joint
                legs = map(self.texts.leg, ((f, first), (g, second)))
                ends = " and ".join(map(marked, legs))
                terms = " + ".join(number_text(Polynomial((term,))) for term in joint.terms)
                yield f"{ends} have the covariance `{terms}`"

    def entry(self, matrix: Symbols) -> Any:
        """The entry of a matrix at the first two legs."""
        first, second = (self.texts.labels.row(Vertex(leg)) for leg in (0, 1))
        return matrix[first, second]

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


def _ends(edge: Edge) -> tuple[Vertex, Vertex]:
    first, second = edge
    return Vertex(first), Vertex(second)
