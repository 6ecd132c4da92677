r"""The linear response of one layer in symbols, down to the tensors of the layer below.

Numbers are polynomials, or accounts, which remember how they were made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

from symdlt.algebra import Polynomial
from symdlt.definitions import (
    Correlator,
    ascii_name,
    place,
    place_odd,
)
from symdlt.definitions.programs import ProgramBranch
from symdlt.derivation.response.fluctuations import Fluctuations
from symdlt.derivation.response.moves import OfNoise, OfPair
from symdlt.derivation.response.reasons import (
    CovarianceBelow,
    KeptMean,
    NoiseBelow,
)
from symdlt.derivation.response.site_averages import (
    MEAN,
    Edges,
    Leg,
    Pair,
    SiteAverage,
    function_of,
    later_first,
)
from symdlt.derivation.response.site_functions import (
    Terms,
    Vertex,
    at_vertex,
    product_of,
)
from symdlt.derivation.response.site_means import LEGS, ONE, SIDES, ZERO
from symdlt.derivation.response.symbolic.field_names import NOISE, inside_name
from symdlt.derivation.response.symbolic.labels import joined
from symdlt.derivation.response.symbolic.later_layers import BASE
from symdlt.derivation.response.symbolic.noise_tables import MetNoise, links_of
from symdlt.derivation.response.symbolic.symbolic_kernels import SymbolicKernels, SymbolicMoves
from symdlt.derivation.response.symbolic.symbolic_means import (
    SymbolicMeans,
    Symbols,
    filled,
    symbol_named,
)
from symdlt.progress import Progress

NUMBER: Terms = {((), ()): 1}  # a function of nothing


class InsideTensor(NamedTuple):
    """A tensor of fields inside a layer.

    Attributes:
        correlator: which one it is.
        fields: of its two pairs.
    """

    correlator: Correlator
    fields: tuple[int, int]


class SymbolicResponse(Fluctuations):
    """The linear response of one layer, down to the tensors of the layer below.

    Args:
        kernels: of its fields.
        prefix: of the tensors of layer l, empty for a layer that closes.
        odd: whether it is followed to odd tensors.
    """

    means: SymbolicMeans
    half = Fraction(1, 2)

    def __init__(self, kernels: SymbolicKernels, prefix: str, odd: bool) -> None:
        super().__init__(kernels)
        self.kernels, self.odd = kernels, odd
        self.inside: dict[str, InsideTensor] = {}
        self.origin: set[frozenset[Leg]] = set()
        self.labels, self.prefix = kernels.labels, prefix
        self.texts = kernels.means.texts
        self.moves = SymbolicMoves(kernels.program, kernels.labels)
        self.told: Progress | None = None
        self.found = self.planned_parts = 0  # parts that are known, of how many

    def followed(self, find: Callable[[], Symbols]) -> Symbols:
        """What is found; where somebody watches, stderr tells how many of its parts are known.

        They are counted before, with means that are planned only. How long they take is not
        estimated: a few of them, products of long sums, take most of it.
        """
        with Progress("covariances", 1.0, None, math.inf) as told:
            if not told.shown or self.means.recorded:
                return find()
            read, noises = {**self.means.read}, {**self.means.noises}
            with self.planned():
                self.found = 0
                find()
            self.means.read, self.means.noises = read, noises
            self.told, self.planned_parts, self.found = told, self.found, 0
            whole = find()
            self.told = None
        return whole

    def parts(self, pair: Pair, edges: Edges, of_pair: OfPair, of_noise: OfNoise) -> Symbols:
        """What δQ of the later field of a pair is made of, counted."""
        whole = super().parts(pair, edges, of_pair, of_noise)
        self.found += 1
        if self.told:
            self.told.reach(0.0, f"{self.found}/{self.planned_parts}")
        return whole

    def longest(self, branch: ProgramBranch) -> Polynomial:
        """The larger one of the numbers of rows and columns of weights, a symbol."""
        return symbol_named(f"n_{ascii_name(branch.tensor.name)}")

    def alone(self, left: Pair, right: Pair, edges: Edges) -> Symbols:
        """The covariance of z of the layer with a δQ of it."""
        ((field, vertex), _) = left
        return self._noise_of_kept(SiteAverage((field, MEAN), (vertex, vertex)), right, edges)

    def both(self, left: Pair, right: Pair, edges: Edges) -> Symbols:
        """The covariance of two δQ; of the layer below, its tensor."""
        for joint, other in ((left, right), (right, left)):  # what joins two fields comes first
            if self.kernels.windowed and joint[0][0] != joint[1][0]:
                return self._joined(joint, other, edges)
        if any(field != BASE for field, _ in (*left, *right)) and not self._settles(left, right):
            return super().both(left, right, edges)
        return self._named(left, right, edges)

    def _joined(self, joint: Pair, other: Pair, edges: Edges) -> Symbols:
        """The covariance of what joins two fields with another δQ, by what they keep alone."""

        def of_pair(pair: Pair, rest: Edges) -> Symbols:
            return self.both(pair, other, rest)

        def of_noise(average: SiteAverage, rest: Edges) -> Symbols:
            return self.noise(average, other, rest)

        return self.parts(later_first(joint), edges, of_pair, of_noise)

    def made(self, pairs: Sequence[Pair], find: Callable[[], Symbols]) -> Symbols:
        """The covariance of δQ by what they are made of, also of fields that have windows."""
        known, self.known = self.known, {}  # of other origins
        self.origin = {*map(frozenset, pairs)}
        covariance = find()
        self.known, self.origin = known, set()
        return covariance

    def _is_lowered(self, pair: Pair) -> bool:
        """Whether a pair is of one field, whose weights have a window that it is behind."""
        (first, _), (second, _) = pair
        behind = frozenset(pair) not in self.origin
        return behind and first == second and first in self.kernels.windowed

    def _settles(self, left: Pair, right: Pair) -> bool:
        """Whether two δQ are those of a tensor inside the layer, as a field of one has a window.

        A field is followed through its window once, so that each shift is of one sum.
        """
        pairs = sorted((left, right), key=max)
        if any(first != second for (first, _), (second, _) in pairs):
            return False
        lower, upper = pairs
        ((below, _), _), ((above, _), _) = pairs
        read = {branch.site for branch in self.program.fields[above].branches}
        met = not read.isdisjoint(self.reached[below])
        return self._is_lowered(upper) or (met and self._is_lowered(lower))

    def _named(self, left: Pair, right: Pair, edges: Edges) -> Symbols:
        """The covariance of two δQ as a tensor, of the layer below or of fields inside."""
        inside = left[0][0] != BASE or right[0][0] != BASE
        vertices = [vertex for _, vertex in (*left, *right)]
        legs = [vertex.leg for vertex in vertices]
        if any(end not in legs for edge in edges for end in edge):
            return ZERO
        total = 0 * ONE
        for links in links_of(edges, legs):
            if inside:
                fields = [field for field, _ in (*left, *right)]
                known = filled(self._inside_symbol(links, fields, vertices))
            else:
                known = filled(self.tensor_symbol(links, vertices))
            total = total + self.means.told(1, known, CovarianceBelow(left, right, edges))
        whole: Symbols = total / symbol_named("n" if inside else "n'")
        return whole

    def _inside_symbol(
        self, links: tuple[tuple[int, int], ...], fields: Sequence[int], vertices: Sequence[Vertex]
    ) -> Any:
        """The tensor of fields inside the layer, one for each pair."""
        numbers = map(self.labels.number, vertices)
        # Pairs of numbers, settled as numbers are.
        placed: Any = tuple(zip(fields, numbers, strict=True))
        found: Any = place(LEGS, links, ((0, 1), (2, 3)), placed)
        correlator, settled = found
        first, second = (settled[pair[0]][0] for pair in correlator.matching)
        name = inside_name(correlator.name, self.texts.names[first], self.texts.names[second])
        self.inside[name] = InsideTensor(correlator, (first, second))
        return self.means.tensor(name, [number for _, number in settled])

    def tensor_symbol(self, links: tuple[tuple[int, int], ...], vertices: Sequence[Vertex]) -> Any:
        """The tensor of layer ℓ with edges between four vertices."""
        numbers = tuple(map(self.labels.number, vertices))
        correlator, settled = place(LEGS, links, ((0, 1), (2, 3)), numbers)
        return self.means.tensor(f"{self.prefix}{correlator.name}", settled)

    def noise(self, average: SiteAverage, pair: Pair, edges: Edges) -> Symbols:
        """The covariance of noise with a δQ; of the layer below, or behind a window, a symbol."""
        if self.prefix and self._is_lowered(pair):
            return self._met(average, pair, edges) if self.meets(average, pair[0][0]) else ZERO
        if any(field != BASE for field, _ in pair):
            return super().noise(average, pair, edges)
        if self.odd:
            find = self._odd_tensor if average.read[0] == BASE else self._noise_of_kept
            return find(average, pair, edges)
        site = self.program.fields[BASE].site
        if not self.prefix or self.function(average)[1] != site:
            return ZERO
        return self._met(average, pair, edges)

    def _met(self, average: SiteAverage, pair: Pair, edges: Edges) -> Symbols:
        """The covariance of noise of the neurons of z with a δQ, as symbols."""
        ends = {vertex.leg for vertex in (*average.vertices, *(vertex for _, vertex in pair))}
        if not all({*edge} <= ends for edge in edges):
            return ZERO
        names = [
            self._named_noise(self.texts.function(one), MetNoise(apart, pair, edges))
            for apart, one in self._apart(average)
            if is_read(one)
        ]
        if not names:
            return ZERO
        known = sum((filled(self.means.symbol(name)) for name in names), 0 * ONE)
        known = self.means.told(1, known, NoiseBelow(average, pair))
        met: Symbols = known / symbol_named("n'" if pair[0][0] == BASE else "n")
        return met

    def _noise_of_kept(self, average: SiteAverage, pair: Pair, edges: Edges) -> Symbols:
        """The covariance of the mean of a field with a δQ that does not read it.

        It is that of the fields that it keeps, as what is fresh in it has met nothing.
        """
        (field, _), (vertex, _) = average.read, average.vertices
        parts = [
            (factor, self.noise(mean, pair, edges), KeptMean(average, mean))
            for factor, below in self.kept_at(field, vertex)
            for mean in [replace(average, read=(below, MEAN))]
        ]
        return self.means.total(parts)

    def _odd_tensor(self, average: SiteAverage, pair: Pair, edges: Edges) -> Symbols:
        """The covariance of z with a δQ of the layer below, its odd tensor."""
        vertices = [average.vertices[0], *(vertex for _, vertex in pair)]
        legs, numbers = [v.leg for v in vertices], tuple(map(self.labels.number, vertices))
        total = 0 * ONE
        for links in links_of(edges, legs) if self.prefix else ():
            if placed := place_odd(links, numbers):
                tensor, samples = placed
                known = filled(self.means.tensor(tensor.name, samples))
                total = total + self.means.told(1, known, NoiseBelow(average, pair))
        whole: Symbols = total / symbol_named("n'")
        return whole

    def noise_name(self, average: SiteAverage, pair: Pair, edges: Edges) -> str:
        """Y of layer ℓ."""
        return self._named_noise(self.texts.averaged(average), MetNoise(average, pair, edges))

    def _apart(self, average: SiteAverage) -> Iterator[tuple[SiteAverage, Terms]]:
        """An average as a sum of such that have derivatives of either factor.

        Of a square the two are at one vertex; with the derivatives told apart it is an average at
        two, whose labels are the same.
        """
        at = average.vertices[0]
        if average.vertices[1] != at or not average.legs:
            yield average, self.function(average)[0]
            return
        ends = at._replace(side=SIDES), at._replace(side=SIDES + 1)  # no side of any pair
        for chosen in product(ends, repeat=len(average.legs)):
            legs = zip(average.legs, chosen, strict=True)
            apart = SiteAverage(average.read, ends).along(
                *((field, end) for (field, _), end in legs)
            )
            # A field that stands in front of a derivative is at the factor that has it.
            apart = replace(apart, times=tuple((field, chosen[0]) for field, _ in average.times))
            terms: Terms = {}
            for (factors, _), number in function_of(self.program, apart)[0].items():
                alike = (
                    at_vertex(((1, ((field, name, order),)),), at)
                    for _, field, name, order in factors
                )
                both = reduce(product_of, alike, NUMBER)
                terms = added(terms, {key: number * of for key, of in both.items()})
            yield apart, terms

    def _named_noise(self, inside: str, met: MetNoise) -> str:
        samples = self.labels.samples
        legs = joined(sorted(self.labels.of(vertex) for _, vertex in met.pair))
        links = ",".join(sorted(samples[u] + samples[v] for u, v in met.edges))
        (field, _), _ = met.pair
        head = NOISE if field == BASE else inside_name(NOISE, self.texts.names[field])
        name = f"{head}_{legs}[{inside}{'; ' * bool(links)}{links}]"
        self.means.noises[name] = met
        return name


def is_read(terms: Terms) -> bool:
    """Whether a function reads fields, else its average has no noise."""
    return any(factors for factors, _ in terms)


def added(left: Terms, right: Terms) -> Terms:
    """The sum of two functions."""
    return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}
