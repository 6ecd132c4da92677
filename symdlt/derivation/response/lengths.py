r"""What norms add to means at order 1/n: fluctuations of lengths and means, to second order.

A normalised field is $f_j = c\,(b_j - m)$ with $c = r^{-1/2}$, $r = M(bb) - m^2$ and $m = M(b)$; of
RMSNorm m = 0. With $δr$ of order $1/\sqrt n$,

$$c = c_0 - \tfrac12 c_0^3\,δr + \tfrac38 c_0^5\,δr^2,\qquad
  E\,δ(c\,Q) = c\,E\,δQ + E\,δc\,Q + \mathrm{cov}(δc, δQ) .$$

Given the averages, neurons see a Gaussian law, of covariances that fluctuate with c. But neuron j
is itself in r. A change of c does $DF = f\,∂_fF$ to F, so that the mean of $F_j$ has the covariance
of DF and δc/c at one neuron. The response to the covariances of fields has $\sum_g ⟨fg⟩\,∂_f∂_gF$
there, whose mean is that of DF by Stein's lemma, but not its covariance: the difference is added.
LayerNorm shifts a field by $-c\,m$, to second order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from symdlt.definitions import LAYER_NORM
from symdlt.derivation.response.fluctuations import Fluctuations
from symdlt.derivation.response.moves import at_one_position
from symdlt.derivation.response.reasons import (
    AS_COVARIANCE,
    LENGTH_AND_PAIR,
    LENGTH_SQUARED,
    MEAN_AND_PAIR,
    MEAN_SQUARED,
    MEANS,
    OWN_LENGTH,
    OWN_MEAN,
    SHIFT,
    SecondOrder,
)
from symdlt.derivation.response.site_averages import (
    MEAN,
    OUTPUT,
    Edges,
    Leg,
    Pair,
    SiteAverage,
    joining,
    subsets,
)
from symdlt.derivation.response.site_functions import Vertex, with_edges
from symdlt.derivation.response.site_means import ZERO, Array, Part

NONE: Edges = frozenset()
Parts = Iterator[Part]


class Lengths:
    """Lengths and means of the normalised fields of a network.

    Args:
        response: of the averages of the network.
    """

    def __init__(self, response: Fluctuations) -> None:
        self.response = response
        self.fields = response.program.fields
        self.means = response.means
        self.half = response.half
        self.normed = any(field.norm for field in self.fields)
        self.made: dict[Leg, dict[int, Any]] = {}

    def made_of(self, field: int, vertex: Vertex) -> dict[int, Any]:
        """The multiples of itself, and of all earlier fields of its neuron, that a field is."""
        if (field, vertex) not in self.made:
            multiples: dict[int, Any] = {field: 1}
            for one in reversed(range(field + 1)):
                for number, below in self.response.kept_at(one, vertex) if one in multiples else ():
                    multiples[below] = multiples.get(below, 0) + multiples[one] * number
            self.made[field, vertex] = multiples
        return self.made[field, vertex]

    def of_pair(self, pair: Pair, edges: Edges) -> Parts:
        r"""What fluctuating lengths add to the mean of a covariance of two fields, later first."""
        (field, u), (other, v) = pair
        if not self.fields[field].norm:
            return
        yield from self._rescaled(pair, edges)
        if other == field:
            below = ((field, v), (self._below(field), u))
            for factor, part, reason in self._rescaled(below, edges):
                yield self.response.scale_at(field, u) * factor, part, reason

    def _rescaled(self, pair: Pair, edges: Edges) -> Parts:
        r"""$\mathrm{cov}(δc, δQ) + E\,δc\,Q$ of the first leg, but for the mean of δr in δc."""
        (field, u), (other, v) = pair
        below = self._below(field)
        c = self.response.scale_at(field, u)
        inner = (below, u), (other, v)
        reason = SecondOrder(LENGTH_AND_PAIR, pair[0])
        yield -self.half * c**3, self._with_pair(self._length(field, u), inner, edges), reason
        inside = edges & joining(u, v)
        if edges == inside:
            known = self.means.ntk if inside else self.means.kernel
            joint = self.means.on_axes(known(below, other), u, v, below)
            for factor, part, second in self._second_order(field, u):
                yield joint * factor, part, second

    def _second_order(self, field: int, u: Vertex) -> Parts:
        r"""$\frac38 c^5\,E\,δr^2$, and for LayerNorm $\frac12 c^3\,E\,m^2$."""
        c, length = self.response.scale_at(field, u), self._length(field, u)
        on_same_side = self._length(field, u, u.side)
        square = self.response.change(
            length,
            NONE,
            lambda pair, _: self.response.both(pair, _legs_of(on_same_side), NONE),
            lambda noise, _: self.response.noise(noise, _legs_of(on_same_side), NONE),
        )
        own = self._with_noise(length, on_same_side, NONE)
        square = self.means.total([(1, at_one_position(square), None), (1, own, None)])
        yield 3 * self.half**3 * c**5, square, SecondOrder(LENGTH_SQUARED, (field, u))
        if self.fields[field].norm == LAYER_NORM:
            below = self._below(field)
            taken = [(1, below), *self.response.shifts(below, u)]
            for a, first in taken:
                for b, second in taken:
                    both = self._of_means(first, u, second, u, NONE)
                    yield self.half * c**3 * a * b, both, SecondOrder(MEAN_SQUARED, (field, u))

    def of_average(self, average: SiteAverage, edges: Edges) -> Parts:
        """What a neuron adds to the mean of an average as a part of lengths and means."""
        for leg in self.response.legs(average) if self.normed else ():
            yield from self._own_length(average, leg, edges)
            if self.response.centred and average.read[1] != MEAN:
                yield from self._own_mean(average, leg, edges)

    def _own_length(self, average: SiteAverage, leg: Leg, edges: Edges) -> Parts:
        r"""The covariance of $DF$ with δc/c, less that of $\sum_g ⟨fg⟩\,∂_f∂_gF$."""
        along, (field, u) = average.along(leg), leg
        for norm, factor in self.made_of(field, u).items():
            if not self.fields[norm].norm:
                continue
            length = self._length(norm, u)
            factor = -self.half * self.response.scale_at(norm, u) ** 2 * factor
            moved = replace(along, times=((norm, u),))
            own = self._with_noise(length, moved, edges)
            yield factor, own, SecondOrder(OWN_LENGTH, (norm, u))
            for g, v in self.response.legs(along):
                for inside in subsets(edges & joining(u, v)):
                    known = self.means.ntk if inside else self.means.kernel
                    joint = self.means.on_axes(known(norm, g), u, v, norm)
                    twice = self._with_noise(length, along.along((g, v)), edges - inside)
                    yield -factor * joint, twice, SecondOrder(AS_COVARIANCE, (norm, u))

    def _own_mean(self, average: SiteAverage, leg: Leg, edges: Edges) -> Parts:
        """What shifts of a field by a mean over its neurons add, to second order."""
        response, along = self.response, average.along(leg)
        shifts = [(a, _mean_of(far, leg[1], 1)) for a, far in response.shifts(*leg)]
        for a, mean in shifts:
            own = at_one_position(response.one_neuron(along, mean, edges))
            yield a, own, SecondOrder(OWN_MEAN, leg)
            for pair, factor in response.pairs(along):
                for inside, slope in self._slopes(along.along(*pair), edges):
                    met = self._mean_with_pair(mean, pair, edges - inside)
                    yield factor * a, _product(slope, met), SecondOrder(MEAN_AND_PAIR, leg)
        for second in response.legs(along) if shifts else ():
            for inside, slope in self._slopes(along.along(second), edges):
                for a, far in response.shifts(*leg):
                    for b, other in response.shifts(*second):
                        both = self._of_means(far, leg[1], other, second[1], edges - inside)
                        twice = _product(slope, both)
                        yield self.half * a * b, twice, SecondOrder(MEANS, leg)
        for inside, slope in self._slopes(along, edges):
            if inside == edges:
                for factor, shift, _ in self._shift(*leg):
                    yield factor, _product(slope, shift), SecondOrder(SHIFT, leg)

    def _shift(self, field: int, u: Vertex) -> Parts:
        r"""The mean of a shift by $-c\,m$, from the covariance of c and m."""
        norm = self.fields[field].norm
        for factor, below in self.response.kept_at(field, u):
            if norm != LAYER_NORM:
                for number, shift, _ in self._shift(below, u):
                    yield factor * number, shift, None
            if norm:
                c = -self.half * self.response.scale_at(field, u) ** 3
                shifts = [(-1, below)] if norm == LAYER_NORM else self.response.shifts(below, u)
                for a, far in shifts:
                    mean = _mean_of(far, u, u.side)
                    yield c * a, self._with_noise(self._length(field, u), mean, NONE), None

    def _slopes(self, average: SiteAverage, edges: Edges) -> Iterator[tuple[Edges, Array]]:
        """The mean of a function, with edges inside it."""
        terms, _ = self.response.function(average)
        for inside in subsets(edges & average.inside):
            if moved := with_edges(terms, inside):
                yield inside, self.means.mean(moved)

    def _below(self, field: int) -> int:
        ((_, below),) = self.response.kept[field]
        return below

    def _length(self, field: int, u: Vertex, side: int = 1) -> SiteAverage:
        """The square of what a field normalises, at a vertex on the other side of others."""
        at = u._replace(side=side)
        return SiteAverage((self._below(field), OUTPUT), (at, at))

    def _with_pair(self, length: SiteAverage, pair: Pair, edges: Edges) -> Array:
        """The covariance of an average and a conditional covariance δQ."""
        response = self.response
        covariance = response.change(
            length,
            edges,
            lambda other, rest: response.both(other, pair, rest),
            lambda noise, rest: response.noise(noise, pair, rest),
        )
        return at_one_position(covariance)

    def _with_noise(self, length: SiteAverage, average: SiteAverage, edges: Edges) -> Array:
        """The covariance of an average and the noise of another one."""
        response = self.response
        covariance = response.change(
            length,
            edges,
            lambda pair, rest: response.noise(average, pair, rest),
            lambda noise, rest: response.one_neuron(average, noise, rest),
        )
        return at_one_position(covariance)

    def _mean_with_pair(self, mean: SiteAverage, pair: Pair, edges: Edges) -> Array:
        """The covariance of the mean of a field and a conditional covariance δQ."""
        moves, response = self.response.moves, self.response
        covariance = moves.of_pair(
            pair,
            edges,
            lambda one, rest: moves.at_base(
                mean, rest, lambda base, last: response.noise(base, one, last)
            ),
        )
        return at_one_position(covariance)

    def _of_means(self, f: int, u: Vertex, g: int, v: Vertex, edges: Edges) -> Array:
        """The covariance of the means of two fields over the neurons."""
        first, second = _mean_of(f, u, u.side), _mean_of(g, v, 1)
        return at_one_position(self.response.one_neuron(first, second, edges))


def _mean_of(field: int, u: Vertex, side: int) -> SiteAverage:
    """The mean of a field at a vertex on a side."""
    at = u._replace(side=side)
    return SiteAverage((field, MEAN), (at, at))


def _legs_of(length: SiteAverage) -> Pair:
    """The pair of legs whose product is averaged."""
    (field, _), (u, v) = length.read, length.vertices
    return (field, u), (field, v)


def _product(one: Array, other: Array) -> Array:
    """A product that is `ZERO` itself if its second factor is."""
    return other if other is ZERO else one * other
