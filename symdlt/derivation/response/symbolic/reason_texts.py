"""Reasons in words: what the engine notes of a layer in symbols, for a reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import singledispatchmethod

from symdlt.algebra import Polynomial
from symdlt.definitions import MASK, Program, ascii_name
from symdlt.derivation.response.reasons import (
    AS_COVARIANCE,
    BIASES,
    KEPT,
    LENGTH_AND_PAIR,
    LENGTH_SQUARED,
    MEAN_AND_PAIR,
    MEAN_SQUARED,
    MEANS,
    OWN_LENGTH,
    OWN_MEAN,
    SHIFT,
    CovarianceBelow,
    Curvature,
    EdgeBelow,
    FieldMeets,
    FourthCumulant,
    KeptMean,
    KeptPair,
    KernelOf,
    LengthMoves,
    MeanBelow,
    MeanMoves,
    NoiseBelow,
    OrthogonalWeights,
    OwnMean,
    OwnNeuron,
    OwnNoise,
    ReadAverage,
    SameNeuron,
    SecondOrder,
    SlopeOf,
)
from symdlt.derivation.response.site_averages import Edges, Leg, Pair, SiteAverage, function_of
from symdlt.derivation.response.site_functions import (
    Terms,
    Vertex,
    VertexFactor,
    at_vertex,
    product_of,
)
from symdlt.derivation.response.symbolic.labels import Labels
from symdlt.derivation.response.symbolic.later_layers import BASE
from symdlt.derivation.response.symbolic.layer_equations import term_text

SECOND_ORDER = {
    LENGTH_AND_PAIR: "The scale of {leg} fluctuates together with what it multiplies",
    LENGTH_SQUARED: "The scale of {leg} has a mean of second order in the average r of its squares",
    MEAN_SQUARED: "The scale of {leg} has a mean from the square of the mean that is taken away",
    OWN_LENGTH: "The neuron itself is part of the average r that {leg} is scaled by",
    AS_COVARIANCE: "Less what the neuron's part in the scale of {leg} is counted as in covariances",
    OWN_MEAN: "The neuron itself is part of the mean over neurons that is taken from {leg}",
    MEAN_AND_PAIR: "The mean that is taken from {leg} fluctuates together with a covariance",
    MEANS: "Means that are taken from {leg} and from another field fluctuate together",
    SHIFT: "The mean that is taken from {leg} fluctuates together with its scale",
}
PRIMES = ("", "'", "''", "'''")
LATER = "z^m"
_BRACKETED = re.compile(r"^(-?)\((.*)\)$")


class ReasonTexts:
    """Texts of functions, averages and reasons.

    Args:
        program: the layer, of its fields.
        names: of the fields.
        labels: of vertices.
        plain: whether functions read z alone, so that s(z) is written s.
    """

    def __init__(self, program: Program, names: Sequence[str], labels: Labels, plain: bool) -> None:
        self.program, self.names, self.labels, self.plain = program, names, labels, plain

    def factor(self, factor: VertexFactor) -> str:
        """A function of a field at the sample of a vertex."""
        vertex, field, function, order = factor
        of, at = self.names[field], self.labels.of(vertex)
        if function is None or function == MASK:
            return f"{of}_{at}"
        prime = PRIMES[order] if order < len(PRIMES) else f"^({order})"
        if self.plain:
            return f"{function}{prime}{'^m' * (of == LATER)}_{at}"
        return f"{function}{prime}({of})_{at}"

    def product(self, factors: Iterable[VertexFactor]) -> str:
        """A product of functions, in the order of their samples."""
        ordered = sorted(factors, key=lambda f: (self.labels.of(f[0]), f[1], str(f[2]), f[3]))
        return " ".join(map(self.factor, ordered))

    def averaged(self, average: SiteAverage) -> str:
        """The function whose average is taken."""
        return self.function(function_of(self.program, average)[0])

    def function(self, terms: Terms) -> str:
        """A sum of products of functions, with their numbers."""
        text = ""
        for (factors, _), number in terms.items():
            front = number_text(number)
            sign = "-" if front[0] == "-" else "+"
            front = front.removeprefix("-")
            words = [front] * (front != "1") + [*map(self.factor, factors)]
            text += f" {sign} {' '.join(words)}"
        return text.removeprefix(" + ").removeprefix(" ")

    def neurons(self, average: SiteAverage) -> str:
        """The neurons that are averaged over, by the fields that are read of them."""
        terms, _ = function_of(self.program, average)
        return self.neurons_of(terms)

    def neurons_of(self, terms: Terms) -> str:
        """The neurons of a function, by the fields that are read of them."""
        held = sorted({field for factors, _ in terms for _, field, _, _ in factors})
        width = number_text(self.program.fields[held[0]].width)
        return f"the {width} neurons of {' and '.join(self.names[k] for k in held)}"

    def leg(self, leg: Leg) -> str:
        """A field at a sample."""
        field, vertex = leg
        return f"{self.names[field]}_{self.labels.of(vertex)}"

    def pair(self, pair: Pair) -> str:
        """A conditional covariance of two fields."""
        ordered = sorted(pair, key=lambda leg: (leg[0], self.labels.of(leg[1])))
        return f"Q({' '.join(map(self.leg, ordered))})"

    def edges(self, edges: Edges) -> str:
        """Edges by the samples of their ends."""
        samples = self.labels.samples
        names = sorted("-".join(sorted((samples[u], samples[v]))) for u, v in edges)
        return " and ".join(names)

    @singledispatchmethod
    def text(self, reason: object) -> str:
        """A reason in words, that of a factor which is told behind it."""
        raise TypeError(reason)

    @text.register
    def _(self, reason: KeptPair) -> str:
        fields = dict.fromkeys(self.names[field] for field, _ in reason.below)
        return f"{self.pair(reason.above)} keeps {' and '.join(fields)}: {self.pair(reason.below)}"

    @text.register
    def _(self, reason: KeptMean) -> str:
        above, below = (self.averaged(one) for one in (reason.above, reason.below))
        return f"{above} keeps {below}, and what is fresh in it meets nothing: M({below})"

    @text.register
    def _(self, reason: ReadAverage) -> str:
        field = reason.pair[0][0]
        branch = self.program.fields[field].branches[reason.branch]
        letter = ascii_name(branch.tensor.name)
        average = f"M({self.averaged(reason.average)})"
        does = f"the weights {letter} of both are contracted"
        if reason.fresh:
            does = f"the edge {self.edges(reason.average.inside)} is a weight of {letter}"
        over = f"over {self.neurons(reason.average)}"
        if letter in self.labels.windows:
            over = f"{over} and the positions that are read"
        return f"{self.pair(reason.pair)} is made of {average} {over}, where {does}"

    @text.register
    def _(self, reason: OwnNoise) -> str:
        over = self.neurons(reason.average)
        return f"M({self.averaged(reason.average)}) has a noise of its own, that of {over}"

    @text.register
    def _(self, reason: SlopeOf) -> str:
        first, second = map(self.leg, sorted(reason.slope.pair))
        slope = f"the mean of its derivative along {first} and {second}"
        if first == second:
            slope = f"half the mean of its second derivative along {first}"
        inside = reason.slope.inside
        edge = f", with the edge {self.edges(inside)} inside" if inside else ""
        average = f"M({self.averaged(reason.average)})"
        moved = self.pair(reason.slope.pair)
        return f"{average} follows the law of its neurons, here {moved}: {slope}{edge}"

    @text.register
    def _(self, reason: SameNeuron) -> str:
        left, right = (f"M({self.averaged(one)})" for one in (reason.left, reason.right))
        meet = f"The noises of {left} and {right} meet where both read the same neuron"
        return f"{meet}: {'less the means of each' if reason.apart else 'the mean of both'}"

    @text.register
    def _(self, reason: EdgeBelow) -> str:
        first, second = reason.legs
        edge = self.edges(frozenset({(first[1].leg, second[1].leg)}))
        ends = f"{self.leg(first)} and {self.leg(second)}"
        return f"The edge {edge} is in {ends} of it: a derivative along each, and their NTK"

    @text.register
    def _(self, reason: FieldMeets) -> str:
        first, second = map(self.leg, reason.legs)
        return f"{first} itself in it meets {second}: their covariance"

    @text.register
    def _(self, reason: OwnMean) -> str:
        over = self.neurons(reason.average)
        return (
            f"The mean of M({self.averaged(reason.average)}), over {over}, has more than what "
            "means of Q give"
        )

    @text.register
    def _(self, reason: Curvature) -> str:
        first, second = (self.pair(pair) for pair in (reason.first, reason.second))
        both = f"{first} and {second} do together"
        if reason.first == reason.second:
            both = f"{first} does, to second order"
        inside = f", with the edge {self.edges(reason.inside)} inside" if reason.inside else ""
        along = sorted((*reason.first, *reason.second))
        legs = ", ".join(self.leg(leg) for leg in along)
        return (
            f"The law of its neurons fluctuates, as {both}: the mean of the fourth derivative of "
            f"{self.averaged(reason.average)} along {legs}{inside}, times their covariance"
        )

    @text.register
    def _(self, reason: OwnNeuron) -> str:
        pair = self.pair(reason.pair)
        return f"The neuron of {self.averaged(reason.average)} is itself in {pair}, which it reads"

    @text.register
    def _(self, reason: FourthCumulant) -> str:
        legs = ", ".join(map(self.leg, reason.legs))
        of = "The weights of layer l"
        if reason.weights is not None:
            field, number = reason.weights
            of = (
                f"The weights {ascii_name(self.program.fields[field].branches[number].tensor.name)}"
            )
        return (
            f"{of} have a fourth cumulant, which joins {legs} at one neuron below: the mean of "
            f"the derivative of {self.averaged(reason.average)} along all four, times their block"
        )

    @text.register
    def _(self, reason: SecondOrder) -> str:
        leg = self.leg(reason.leg)
        return SECOND_ORDER[reason.what].format(leg=leg)

    @text.register
    def _(self, reason: MeanBelow) -> str:
        edge = f" with the edge {self.edges(reason.edges)}" if reason.edges else ""
        return f"The mean of {self.pair(reason.pair)}{edge} of layer l has a correction of its own"

    @text.register
    def _(self, reason: LengthMoves) -> str:
        leg, other = map(self.leg, reason.pair)
        of = self.leg((reason.below, reason.pair[0][1]))
        joint = f"NTK, the edge {self.edges(reason.inside)}" if reason.inside else "covariance"
        return (
            f"In {self.pair(reason.pair)} the scale of {leg}, one over the square root of "
            f"M({of} {of}), moves with that average: it multiplies {of} and {other}, their {joint}"
        )

    @text.register
    def _(self, reason: MeanMoves) -> str:
        average, leg = f"M({self.averaged(reason.average)})", self.leg(reason.leg)
        of = self.leg((reason.below, reason.leg[1]))
        edge = f", with the edge {self.edges(reason.inside)} inside" if reason.inside else ""
        return (
            f"{average} moves with the mean over neurons that is taken from {leg}, the noise of "
            f"M({of}): the mean of its derivative along {leg}{edge}"
        )

    @text.register
    def _(self, reason: OrthogonalWeights) -> str:
        branch = self.program.fields[reason.field].branches[reason.branch]
        letter = ascii_name(branch.tensor.name)
        parts = []
        for ends, edges in zip(reason.pairs, reason.edges, strict=True):
            moved, _ = self.labels.read(branch.tensor.name, ends)
            terms = product_of(*(at_vertex(branch.function, end) for end in moved))
            inside = f" with the edge {self.edges(edges)} inside" if edges else ""
            parts.append(f"of {self.function(terms)}{inside}")
        return (
            f"The weights {letter} are orthogonal, so that those of two neurons are not "
            f"independent: less the mean {' and that '.join(parts)}"
        )

    @text.register
    def _(self, reason: CovarianceBelow) -> str:
        edge = f", with the edge {self.edges(reason.edges)} between them" if reason.edges else ""
        below = self._is_below(reason.left) and self._is_below(reason.right)
        over = (
            " of layer l fluctuate together, as averages over layer l-1"
            if below
            else (" fluctuate together, as averages over layer l and below")
        )
        return f"{self.pair(reason.left)} and {self.pair(reason.right)}{over}{edge}"

    @text.register
    def _(self, reason: NoiseBelow) -> str:
        noise = f"The noise of M({self.averaged(reason.average)})"
        if self._is_below(reason.pair):
            met, where = f"{self.pair(reason.pair)} of layer l", "in the layers below"
        else:
            met, where = self.pair(reason.pair), "in layer l and below"
        return f"{noise} and {met} have met at the same neurons {where}"

    def _is_below(self, pair: Pair) -> bool:
        """Whether a conditional covariance is of layer l."""
        return all(field == BASE for field, _ in pair)

    def of_kernel(self, reason: KernelOf, u: Vertex, v: Vertex) -> str:
        """Why a kernel or an NTK has a part, at two vertices."""
        field = self.program.fields[reason.field]
        first, second = sorted((u, v), key=self.labels.of)
        both = " and ".join(self.leg((reason.field, end)) for end in (first, second))
        edge = self.edges(frozenset({(u.leg, v.leg)}))
        scaled = ", times its scale" * bool(field.norm)
        if reason.other is not None:
            ours, theirs = self.leg((reason.field, u)), self.leg((reason.other, v))
            edge = f", with the edge {edge}" * reason.edge
            return f"{ours} meets {theirs} by what it keeps of below{scaled}{edge}"
        if reason.part == KEPT:
            kept = f"{both} keep what is below" + f", with the edge {edge}" * reason.edge
            return kept + ", each times its scale" * bool(field.norm)
        of, letters, rest = "a bias", [ascii_name(one.tensor.name) for one in field.biases], ""
        if reason.part != BIASES:
            branch = field.branches[reason.part]
            of, letters = "a weight", [ascii_name(branch.tensor.name)]
            ends, _ = self.labels.read(branch.tensor.name, (first, second))
            terms = product_of(*(at_vertex(branch.function, end) for end in ends))
            over = self.neurons_of(terms)
            if letters[0] in self.labels.windows:
                over = f"{over} and the positions that are read"
            rest = f", over {over}: the mean of {self.function(terms)}"
        named = " and ".join(letters)
        if reason.fresh:
            return f"The edge {edge} of {both} is {of} of {named}{rest}"
        kind = "biases" if reason.part == BIASES else "weights"
        return f"The {kind} {named} of {both} are contracted{rest}"


def number_text(number: Polynomial | float) -> str:
    """A number, or a product of symbols, as equations are printed."""
    if not isinstance(number, Polynomial):
        return str(number)
    texts = [term_text(value, monomial) for monomial, value in number.terms] or ["0"]
    if len(texts) > 1:
        return f"({'+'.join(texts)})".replace(" ", "")
    return texts[0] if " " in texts[0] else _BRACKETED.sub(r"\1\2", texts[0])
