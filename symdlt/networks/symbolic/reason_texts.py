"""Reasons in words: what the engine notes of a layer in symbols, for a reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatchmethod

from symdlt.algebra import Polynomial
from symdlt.definitions import Program, ascii_name
from symdlt.networks.reasons import (
    BIASES,
    KEPT,
    CovarianceBelow,
    EdgeBelow,
    FieldMeets,
    KeptPair,
    KernelOf,
    NoiseBelow,
    OwnNoise,
    ReadAverage,
    SameNeuron,
    SlopeOf,
)
from symdlt.networks.site_averages import Edges, Leg, Pair, SiteAverage, function_of
from symdlt.networks.site_functions import Terms, Vertex, VertexFactor, at_vertex, product_of
from symdlt.networks.symbolic.layer_equations import term_text

PRIMES = ("", "'", "''", "'''")
LATER = "z^m"


class ReasonTexts:
    """Texts of functions, averages and reasons.

    Args:
        program: the layer, of its fields.
        names: of the fields.
        samples: of each leg.
        plain: whether functions read z alone, so that s(z) is written s.
    """

    def __init__(
        self, program: Program, names: Sequence[str], samples: Sequence[str], plain: bool
    ) -> None:
        self.program, self.names, self.samples, self.plain = program, names, samples, plain

    def factor(self, factor: VertexFactor) -> str:
        """A function of a field at the sample of a vertex."""
        vertex, field, function, order = factor
        of, at = self.names[field], self.samples[vertex.leg]
        if function is None:
            return f"{of}_{at}"
        prime = PRIMES[order] if order < len(PRIMES) else f"^({order})"
        if self.plain:
            return f"{function}{prime}{'^m' * (of == LATER)}_{at}"
        return f"{function}{prime}({of})_{at}"

    def product(self, factors: Iterable[VertexFactor]) -> str:
        """A product of functions, in the order of their samples."""
        ordered = sorted(factors, key=lambda f: (self.samples[f[0].leg], f[1], str(f[2]), f[3]))
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
        return f"{self.names[field]}_{self.samples[vertex.leg]}"

    def pair(self, pair: Pair) -> str:
        """A conditional covariance of two fields."""
        ordered = sorted(pair, key=lambda leg: (leg[0], self.samples[leg[1].leg]))
        return f"Q({' '.join(map(self.leg, ordered))})"

    def edges(self, edges: Edges) -> str:
        """Edges by the samples of their ends."""
        names = sorted("-".join(sorted((self.samples[u], self.samples[v]))) for u, v in edges)
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
    def _(self, reason: ReadAverage) -> str:
        field = reason.pair[0][0]
        branch = self.program.fields[field].branches[reason.branch]
        letter = ascii_name(branch.tensor.name)
        average = f"M({self.averaged(reason.average)})"
        does = f"the weights {letter} of both are contracted"
        if reason.fresh:
            does = f"the edge {self.edges(reason.average.inside)} is a weight of {letter}"
        over = f"over {self.neurons(reason.average)}"
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
    def _(self, reason: CovarianceBelow) -> str:
        edge = f", with the edge {self.edges(reason.edges)} between them" if reason.edges else ""
        return (
            f"{self.pair(reason.left)} and {self.pair(reason.right)} of layer l fluctuate "
            f"together, as averages over layer l-1{edge}"
        )

    @text.register
    def _(self, reason: NoiseBelow) -> str:
        noise = f"The noise of M({self.averaged(reason.average)})"
        met = f"{self.pair(reason.pair)} of layer l"
        return f"{noise} and {met} have met at the same neurons in the layers below"

    def of_kernel(self, reason: KernelOf, u: int, v: int) -> str:
        """Why a kernel or an NTK has a part, at two legs."""
        field = self.program.fields[reason.field]
        ends = sorted((u, v), key=lambda leg: self.samples[leg])
        both = " and ".join(self.leg((reason.field, Vertex(leg))) for leg in ends)
        edge = self.edges(frozenset({(u, v)}))
        if reason.part == KEPT:
            return f"{both} keep what is below" + f", with the edge {edge}" * reason.edge
        of, letters, rest = "a bias", [ascii_name(one.tensor.name) for one in field.biases], ""
        if reason.part != BIASES:
            branch = field.branches[reason.part]
            of, letters = "a weight", [ascii_name(branch.tensor.name)]
            terms = product_of(*(at_vertex(branch.function, Vertex(leg)) for leg in ends))
            over = self.neurons_of(terms)
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
    texts = [term_text(value, monomial) for monomial, value in number.terms]
    if len(texts) > 1:
        return f"({'+'.join(texts)})".replace(" ", "")
    return texts[0] if " " in texts[0] else texts[0].strip("()")
