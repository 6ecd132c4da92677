r"""Tensors at order 1/n of any feed-forward program, by the linear response of neuron averages.

All neurons of a site see the same Gaussian law, whose covariances are averages over earlier
neurons, $S_{αβ} = C_b + C_W\,M(φ_αφ_β)$ with $M(F) = \frac1n\sum_j F_j$. At order 1/n an average
fluctuates in two ways: by the noise η of its own neurons, whose covariance is that of one neuron,
$n\,\mathrm{cov}(η(F), η(G)) = ⟨FG⟩ - ⟨F⟩⟨G⟩$, and because the law itself fluctuates,

$$δM(F) = η(F) + \tfrac12\sum ⟨∂_f∂_gF⟩\,δQ_{fg},\qquad δS = C_W\,δM(φφ),$$

with $Q_{fg}$ the covariance of two fields given everything before. Sums are over fields and
vertices. As a later field reads the same neuron again where there is a skip, noise of one layer
meets that of all others, and V needs pairs of depths; in a chain of dense layers the neurons are
always others, and the known recursion is left.

Trees are read off the same equations. An edge between the vertices u and v is the derivative along
a random direction, with coefficients ε at its two ends and ε² = 0: a vertex is z at parameters
$θ + \sum ε\,η$, with $\mathrm{cov}(η) = λ$. So weights have the covariance $C_W + λ_W ε_uε_v$,
fields $K + ε_uε_vΘ$, and each tensor is the coefficient of its edges in V.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from symdlt.definitions import INPUT, LAYER_NORM, ProgramBranch
from symdlt.derivation.response.heads import Heads
from symdlt.derivation.response.moves import Moves, OfNoise, OfPair
from symdlt.derivation.response.reasons import (
    KeptPair,
    LengthMoves,
    MeanMoves,
    OrthogonalWeights,
    OwnMean,
    OwnNoise,
    ReadAverage,
    SameNeuron,
    SlopeOf,
)
from symdlt.derivation.response.site_averages import (
    MEAN,
    OUTPUT,
    Edges,
    Leg,
    Pair,
    SiteAverage,
    Slope,
    function_of,
    joining,
    later_first,
    subsets,
)
from symdlt.derivation.response.site_functions import (
    Terms,
    Vertex,
    fields_at,
    product_of,
    with_edges,
)
from symdlt.derivation.response.site_kernels import SiteKernels
from symdlt.derivation.response.site_means import ONE, ZERO, Array, Part


class Fluctuations:
    """Tensors of order 1/n of all fields.

    Args:
        kernels: the leading order.
    """

    half: Any = 0.5  # of whatever kind the numbers are
    told_of_own: type[OwnNoise | OwnMean] = OwnNoise  # what an average has of its own

    def __init__(self, kernels: SiteKernels) -> None:
        self.program = kernels.program
        self.means = kernels.means
        self.kept = kernels.kept
        self.scales = kernels.scales
        self.drawn = kernels.drawn
        self.samples = kernels.means.samples
        self.moves = Moves(kernels.program)
        self.heads = Heads(kernels.program, kernels.means)
        self.widths = {field.site: field.width for field in self.program.fields}
        self.centred = any(field.norm == LAYER_NORM for field in self.program.fields)
        self.reached = self._reached()
        self.known: dict[object, Array] = {}
        self.scaled: dict[tuple[int, Vertex], Array] = {}
        self.slopes: dict[SiteAverage, list[Slope]] = {}
        self.responses: dict[tuple[SiteAverage, int], Array] = {}
        self.functions: dict[SiteAverage, tuple[Terms, int | None]] = {}

    def _reached(self) -> list[set[int]]:
        """Of each field the sites whose neurons, directly or not, it is made of."""
        reached: list[set[int]] = []
        for field, kept in zip(self.program.fields, self.kept, strict=True):
            own = set().union(*(reached[below] for _, below in kept))
            own |= {field.site} if field.norm else set()
            for branch in field.branches:
                own |= {branch.site} if branch.site is not None else set()
                read = {of for _, factors in branch.function for of, _, _ in factors}
                own = own.union(*(reached[of] for of in read & {*range(len(reached))}))
            reached.append(own)
        return reached

    @contextmanager
    def planned(self) -> Iterator[None]:
        """Note all means that are asked for inside, and find them at its end."""
        known, self.known = self.known, _Planned(self.known)
        self.means.planning = True
        yield
        self.means.planning = False
        self.known = known
        self.means.settle()

    def alone(self, left: Pair, right: Pair, edges: Edges) -> Array:
        r"""The covariance of z at one neuron, the same leg twice, with z z at another.

        Neurons are alike, so that z may be its mean over all of them, $δM(z)$: what the other
        average has met of its noise.
        """
        (field, vertex), _ = left
        return self.change(
            SiteAverage((field, MEAN), (vertex, vertex)),
            edges,
            lambda moved, rest: self.both(moved, right, rest),
            lambda average, rest: self.noise(average, right, rest),
        )

    def observed(self, left: Pair, right: Pair, edges: Edges) -> Array:
        """The covariance of z z at two pairs of legs of one field, with other neurons."""
        averages = [
            SiteAverage((pair[0][0], OUTPUT), (pair[0][1], pair[1][1])) for pair in (left, right)
        ]
        return (
            self.both(left, right, edges)
            + self.noise(averages[0], right, edges)
            + self.noise(averages[1], left, edges)
        )

    def both(self, left: Pair, right: Pair, edges: Edges) -> Array:
        """The covariance of two conditional covariances δQ."""
        left, right = later_first(left), later_first(right)
        if right[0][0] > left[0][0]:
            left, right = right, left
        key = left, right, edges
        if key not in self.known:
            covariance = self.parts(
                left,
                edges,
                lambda pair, rest: self.both(pair, right, rest),
                lambda average, rest: self.noise(average, right, rest),
            )
            parts = [(1, covariance, None), *self._orthogonal(left, right, edges)]
            self.known[key] = self.means.total(parts)
        return self.known[key]

    def _orthogonal(self, left: Pair, right: Pair, edges: Edges) -> Iterator[Part]:
        r"""What orthogonal weights add between two neurons, $-(S_{ux}S_{vy} + S_{uy}S_{vx})/n$.

        For Haar measure of n rows and columns, $i ≠ k$, $E[O_{ia}O_{ib}O_{kc}O_{kd}]$ is
        $[(n+1)δ_{ab}δ_{cd} - δ_{ac}δ_{bd} - δ_{ad}δ_{bc}] / (n(n-1)(n+2))$ (D. Weingarten, 1978).
        """
        ((field, u), (_, v)), ((_, x), (_, y)) = left, right
        if {of for of, _ in (*left, *right)} != {field}:
            return
        for number, branch in enumerate(self.program.fields[field].branches):
            for pairs in (((u, x), (v, y)), ((u, y), (v, x))) if branch.orthogonal else ():
                known = [joining(*ends) for ends in pairs]
                for chosen in subsets(edges & known[0]):
                    rest = edges - chosen
                    if rest <= known[1]:
                        one, other = (
                            self.means.on_axes(self.drawn[field, number][len(moved)], *ends, field)
                            for ends, moved in zip(pairs, (chosen, rest), strict=True)
                        )
                        reason = OrthogonalWeights(field, number, pairs, (chosen, rest))
                        yield -1 / self.longest(branch), one * other, reason

    def longest(self, branch: ProgramBranch) -> Any:
        """The larger one of the numbers of rows and columns of weights."""
        return np.maximum(branch.shape[0], branch.shape[1])

    def noise(self, average: SiteAverage, pair: Pair, edges: Edges) -> Array:
        """The covariance of the noise of an average with a conditional covariance δQ."""
        pair = later_first(pair)
        key = average, pair, edges
        if key not in self.known:
            ((field, u), (other, v)) = pair
            if not self.meets(average, field) and not self.meets(average, other):
                self.known[key] = ZERO
                return ZERO
            grid = self.program.fields[other].grid
            tops = [t for t in self.program.tops if self.program.fields[t].grid == grid]
            below = [later_first(((t, u), (t, v))) for t in tops if t < other]
            if below and (average, below[-1], edges) not in self.known:
                for lower in below:  # one after the other, so that calls are not nested L deep
                    self.noise(average, lower, edges)
            self.known[key] = self.parts(
                pair,
                edges,
                lambda lower, rest: self.noise(average, lower, rest),
                lambda other, rest: self.one_neuron(average, other, rest),
            )
        return self.known[key]

    def meets(self, average: SiteAverage, field: int) -> bool:
        """Whether a field is made of neurons whose noise is that of an average."""
        _, site = self.function(average)
        return site in self.reached[field] and site not in self.heads.summed

    def parts(
        self,
        pair: Pair,
        edges: Edges,
        of_pair: OfPair,
        of_noise: OfNoise,
    ) -> Array:
        """What δQ of the later field of a pair is made of, each part in its covariance."""
        (field, u), (other, v) = pair
        if self.moves.spreads(pair):
            return self.moves.spread(pair, edges, of_pair)
        one, kept = self.program.fields[field], self.kept_at(field, u)
        lower = [(c, ((k, u), (other, v))) for c, k in kept]
        if field == other:
            again = self.kept_at(field, v)
            lower = [(c * d, ((k, u), (m, v))) for c, k in kept for d, m in again]
        parts: list[Part] = [
            (c, of_pair(below, edges), KeptPair(pair, below)) for c, below in lower
        ]
        for legs in (pair, pair[::-1]) if field == other else (pair,):
            parts += self._rescaled(legs, edges, of_pair, of_noise)
        edge = joining(u, v)
        for number, branch in enumerate(one.branches) if field == other else ():
            if branch.site == INPUT:
                continue
            for average, read in self.moves.averages(field, number, (u, v)):
                change = self.change(average, edges, of_pair, of_noise)
                reason = ReadAverage(pair, number, average, False)
                parts.append((branch.variance, read(change), reason))
                if edge <= edges and edge:
                    change = self.change(average, edges - edge, of_pair, of_noise)
                    parts.append((branch.rate, read(change), reason._replace(fresh=True)))
        return self.means.total(parts)

    def kept_at(self, field: int, vertex: Vertex) -> list[tuple[Any, int]]:
        """The fields that a field keeps, and their factors at a vertex."""
        if field not in self.scales:
            return self.kept[field]
        return [(self.scale_at(field, vertex), below) for _, below in self.kept[field]]

    def scale_at(self, field: int, vertex: Vertex) -> Array:
        """What a normalised field is multiplied with, at a vertex."""
        key = field, vertex
        if key not in self.scaled:
            scale = self.means.on_axes(np.diag(self.scales[field]), vertex, vertex, field)
            self.scaled[key] = scale
        return self.scaled[key]

    def _rescaled(
        self, pair: Pair, edges: Edges, of_pair: OfPair, of_noise: OfNoise
    ) -> Iterator[Part]:
        r"""What the scale $c = r^{-1/2}$ of a normalised field adds, $δc = -\frac12c^3\,δM(zz)$."""
        (field, u), (other, v) = pair
        if field not in self.scales:
            return
        ((_, below),) = self.kept[field]
        for inside in subsets(joining(u, v) & edges):
            known = self.means.ntk if inside else self.means.kernel
            joint = self.means.on_axes(known(below, other), u, v, field)
            factor = self.scale_at(field, u) ** 3 * joint
            length = SiteAverage((below, OUTPUT), (u, u))
            change = self.change(length, edges - inside, of_pair, of_noise)
            yield -self.half * factor, change, LengthMoves(pair, below, inside)

    def shifts(self, field: int, vertex: Vertex) -> list[tuple[Any, int]]:
        r"""The fields whose mean is taken away, $δμ = \sum c\,η(z)$, with c at a vertex."""
        if self.program.fields[field].norm == LAYER_NORM:
            return [(-c, below) for c, below in self.kept_at(field, vertex)]
        kept = self.kept_at(field, vertex)
        return [(c * d, far) for c, below in kept for d, far in self.shifts(below, vertex)]

    def change(
        self, average: SiteAverage, edges: Edges, of_pair: OfPair, of_noise: OfNoise
    ) -> Array:
        """The covariance of δM with something: of its noise, and of its response."""
        parts: list[Part] = [
            (1, self.moves.at_base(average, edges, of_noise), self.told_of_own(average)),
            (1, self._response(average, edges, of_pair), None),
        ]
        for leg in self.legs(average) if self.centred else ():
            for factor, below in self.shifts(*leg):
                slope, _ = self.function(average.along(leg))
                for inside in subsets(average.inside & edges):
                    mean = SiteAverage((below, MEAN), (leg[1], leg[1]))
                    change = self.moves.at_base(mean, edges - inside, of_noise)
                    if change is not ZERO and (moved := with_edges(slope, inside)):
                        shift = self.means.mean(moved) * change
                        parts.append((factor, shift, MeanMoves(average, leg, below, inside)))
        return self.means.total(parts)

    def _response(self, average: SiteAverage, edges: Edges, of_pair: OfPair) -> Array:
        """What an average takes from the covariances of the fields that it reads."""
        parts = []
        for place, slope in enumerate(self._slopes(average)):
            if not slope.inside <= edges:
                continue
            change = self.moves.of_pair(slope.pair, edges - slope.inside, of_pair)
            if change is ZERO:
                continue
            key = average, place
            if self.means.planning:
                self.means.mean(slope.terms)
            elif key not in self.responses:
                self.responses[key] = self.means.mean(slope.terms)
            parts.append((self.responses.get(key, ONE), change, SlopeOf(average, slope)))
        return self.means.total(parts)

    def _slopes(self, average: SiteAverage) -> list[Slope]:
        r"""What $δM$ takes of each δQ: half of $⟨∂∂φφ⟩$, and what an edge inside it adds."""
        if average in self.slopes:
            return self.slopes[average]
        slopes = []
        for pair, factor in self.pairs(average):
            twice, _ = self.function(average.along(*pair))
            for inside in subsets(average.inside):
                terms = with_edges(twice, inside)
                if changed := {key: factor * number for key, number in terms.items()}:
                    slopes.append(Slope(pair, inside, changed))
        self.slopes[average] = slopes
        return slopes

    def pairs(self, average: SiteAverage) -> list[tuple[Pair, float]]:
        """The pairs of legs that an average has second derivatives along, and ½ for one twice."""
        pairs = list(combinations_with_replacement(self.legs(average), 2))
        return [(pair, self.half if pair[0] == pair[1] else 1) for pair in pairs]

    def legs(self, average: SiteAverage) -> list[Leg]:
        """The fields that an average reads at its vertices."""
        terms, _ = self.function(average)
        return [(f, a) for a in sorted({*average.vertices}) for f in fields_at(terms, a)]

    def one_neuron(self, left: SiteAverage, right: SiteAverage, edges: Edges) -> Array:
        """The covariance of two functions at one neuron over the width; zero for other neurons."""
        (first, site), (second, other) = self.function(left), self.function(right)
        if site is None or other is None or (shared := self.shared(site, other)) is ZERO:
            return ZERO
        ours, theirs = ({end.leg for end in one.vertices} for one in (left, right))
        if any(not {*edge} <= ours | theirs for edge in edges):
            return ZERO
        key = frozenset(((left, 0), (right, 0))), edges
        if key not in self.known:
            both = self.means.mean(with_edges(product_of(first, second), sorted(edges)))
            parts: list[Part] = [(1, both, SameNeuron(left, right, False))]
            for chosen in subsets(edges):
                rest = edges - chosen
                if all({*e} <= ours for e in chosen) and all({*e} <= theirs for e in rest):
                    apart = self.means.mean(with_edges(first, sorted(chosen)))
                    apart = apart * self.means.mean(with_edges(second, sorted(rest)))
                    parts.append((-1, apart, SameNeuron(left, right, True)))
            whole = self.means.total(parts) / self.widths[site]
            if heads := self.heads.numbers.get(site):
                near = product_of(first, self.heads.other_neuron(second))
                near_mean = self.means.mean(with_edges(near, sorted(edges)))
                of_head = self.means.total([(1, near_mean, None), *parts[1:]])
                whole = whole + (1 / heads - 1 / self.widths[site]) * of_head
            self.known[key] = whole if shared is ONE else shared * whole
        return self.known[key]

    def shared(self, site: int, other: int) -> Array:
        """One where the neurons of two sites are the same; `ZERO` itself if they never are."""
        return ONE if site == other else ZERO

    def function(self, average: SiteAverage) -> tuple[Terms, int | None]:
        """The product at two vertices that is averaged, and its site."""
        if average in self.functions:
            return self.functions[average]
        self.functions[average] = function_of(self.program, average)
        return self.functions[average]


class _Planned(dict[object, Array]):
    """What is known, and on top of it what is planned only."""

    def __init__(self, below: dict[object, Array]) -> None:
        self.below = below

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.below

    def __missing__(self, key: object) -> Array:
        return self.below[key]
