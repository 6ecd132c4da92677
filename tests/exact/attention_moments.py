"""Exact moments of layers of attention at finite width, which nothing is expanded for but 1/n.

z is the first layer, Gaussian; q, k and v read z, and z' reads polynomials of the scores times v.
A vertex is the network at parameters that are moved by Σ ε η, where η has the learning rates as its
variances, ε² = 0, and each edge has an η of its own that moves its two ends. The means of all
derivatives along η are the trees of a correlator: all is Gaussian, and all sums over neurons are
done by Isserlis' theorem, in rational arithmetic: over the neurons of heads, those of queries and
keys, and those of z, whose averages M(zz) are what the covariances of q, k and v are made of.

All widths are numbers times λ. A `Series` has the coefficient of each set of edges, a bit mask, and
each power of 1/λ.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations, product

Series = Mapping[tuple[int, int], Fraction]
Pairing = tuple[tuple[int, int], ...]
Leg = tuple[int, int]  # a vertex at a position
Average = tuple[str, Leg, Leg]  # M(zz), as read by the weights of a letter
Score = tuple[int, int, int]  # a vertex, with the positions of its query and its key
Weighted = tuple[Fraction, list[Score]]
ONE: Series = {(0, 0): Fraction(1)}


@cache
def pairings(count: int) -> tuple[Pairing, ...]:
    """All ways to pair up so many things."""

    def of(ends: tuple[int, ...]) -> Iterable[Pairing]:
        if not ends:
            yield ()
            return
        first, *others = ends
        for place, other in enumerate(others):
            for rest in of((*others[:place], *others[place + 1 :])):
                yield ((first, other), *rest)

    return tuple(of(tuple(range(count))))


def cycles(one: Pairing, other: Pairing) -> int:
    """The number of cycles of two pairings of the same things."""
    partner = [dict(pairs) | {b: a for a, b in pairs} for pairs in (one, other)]
    left, count = {end for pair in one for end in pair}, 0
    while left:
        at, count = next(iter(left)), count + 1
        while at in left:
            across = partner[0][at]
            left -= {at, across}
            at = partner[1][across]
    return count


@cache
def loops_with(own: Pairing) -> tuple[int, ...]:
    """The numbers of cycles of a pairing with all others."""
    return tuple(cycles(own, matched) for matched in pairings(2 * len(own)))


@cache
def closest(count: int, powers: int) -> tuple[tuple[Pairing, Pairing, int], ...]:
    """Pairs of pairings with the powers of 1/d that their sums over d neurons have."""
    if not powers:
        return tuple((one, one, 0) for one in pairings(count))
    found = []
    for one, other in product(pairings(count), repeat=2):
        power = count // 2 - cycles(one, other)
        if power <= powers:
            found.append((one, other, power))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class AttentionMoments:
    """Moments of z' = ξ z + Σ W ζ(S) v.

    Attributes:
        edges: of the tree or forest.
        x: the overlaps of the input at its positions.
        variances: C_b, C_W of the first layer, and C_W, C_Q, C_K, C_V by their letters.
        rates: the learning rates by the same letters.
        widths: n of z, H heads, d of queries and keys in each, d_v values in each.
        score: the coefficients of ζ, from S⁰ on.
        keeps: whether z is kept, ξ = 1.
        kept: of letters whose weights read masked neurons the part that is not dropped.
        most: the highest power of 1/λ.
        whole: whether averages have all powers of 1/n, not only the first.
        known: covariances of z; `kernels` those of z', and `joint` covariances of pairs of z'.
    """

    edges: tuple[tuple[int, int], ...]
    x: Sequence[Sequence[Fraction]]
    variances: Mapping[str, Fraction]
    rates: Mapping[str, Fraction]
    widths: Mapping[str, int | Fraction]
    score: Sequence[Fraction] = (Fraction(0), Fraction(1))
    keeps: bool = False
    kept: Mapping[str, Fraction] = field(default_factory=dict)
    most: int = 1
    whole: bool = False
    known: dict[tuple[Leg, Leg], Series] = field(default_factory=dict)
    kernels: dict[tuple[Leg, Leg], Series] = field(default_factory=dict)
    joint: dict[tuple[Leg, ...], Series] = field(default_factory=dict)

    def edge(self, u: int, v: int) -> int:
        """The bit of the edge between two vertices, 0 if there is none."""
        pair = min(u, v), max(u, v)
        return 1 << self.edges.index(pair) if pair in self.edges else 0

    def drawn(self, letter: str, u: int, v: int) -> Series:
        """The covariance of a weight at two vertices: C, and λ with their edge."""
        known = {(0, 0): self.variances[letter]}
        return known | ({(bit, 0): self.rates[letter]} if (bit := self.edge(u, v)) else {})

    def covariance(self, one: Leg, other: Leg) -> Series:
        """Of z."""
        if (one, other) not in self.known:
            (u, p), (v, r) = one, other
            first, last = self.drawn("b", u, v), self.drawn("first", u, v)
            found = self.total([(first, Fraction(1), 0), (last, self.x[p][r], 0)])
            self.known[one, other] = found
        return self.known[one, other]

    def total(self, parts: Iterable[tuple[Series, Fraction, int]]) -> Series:
        """A sum of series, each with a factor and a power of 1/λ."""
        found: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for series, factor, power in parts:
            for (edges, own), number in series.items():
                if own + power <= self.most:
                    found[edges, own + power] += factor * number
        return found

    def times(self, *several: Series) -> Series:
        """The product of series, as ε² = 0."""
        return reduce(self._product, several)

    def _product(self, one: Series, other: Series) -> Series:
        found: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for (edges, power), number in one.items():
            for (more, next_power), factor in other.items():
                if not edges & more and power + next_power <= self.most:
                    found[edges | more, power + next_power] += number * factor
        return found

    def averages(self, read: Sequence[Average]) -> Series:
        """E of a product of averages M(zz) over n independent neurons, to order 1/n or whole."""
        if self.whole:
            return self._whole_averages(read)
        alone = [self.covariance(a, b) for _, a, b in read]
        # One average of factors that are zero or 1/q has the mean 1/q of their squares.
        kept = [self.kept.get(letter, Fraction(1)) for letter, _, _ in read]
        scale = reduce(lambda one, part: one / part, kept, Fraction(1))
        n = Fraction(1, self.widths["n"])
        parts = [(self.times(*alone), scale, 0)]
        for i, j in combinations(range(len(read)), 2) if self.most else ():
            (letter, a, b), (other, c, d) = read[i], read[j]
            rest = [one for place, one in enumerate(alone) if place not in (i, j)]
            both = Fraction(1)
            if letter == other:  # E[mmmm]/E[mm]² = q⁻³ q²
                both = 1 / kept[i]
                parts.append((self.times(*alone), scale * n * (both - 1), 1))
            for x, y in ((c, d), (d, c)):
                joined = self.times(self.covariance(a, x), self.covariance(b, y), *rest)
                parts.append((joined, scale * n * both, 1))
        return self.total(parts)

    def _whole_averages(self, read: Sequence[Average]) -> Series:
        assert not self.kept
        legs = [leg for _, *both in read for leg in both]
        own = tuple((2 * k, 2 * k + 1) for k in range(len(read)))
        alike: Counter[tuple[int, tuple[tuple[Leg, ...], ...]]] = Counter()
        for matched, loops in zip(pairings(len(legs)), loops_with(own), strict=True):
            joined = sorted(tuple(sorted((legs[a], legs[b]))) for a, b in matched)
            alike[len(read) - loops, tuple(joined)] += 1
        n, parts = Fraction(1, self.widths["n"]), []
        for (power, pairs), count in alike.items():
            whole = self.times(*(self.covariance(*pair) for pair in pairs))
            parts.append((whole, count * n**power, power))
        return self.total(parts)

    def heads(
        self,
        groups: Sequence[Sequence[Score]],
        values: Sequence[Leg],
        at_values: Pairing,
        extra: Sequence[Average] = (),
    ) -> Series:
        """E of products of scores in different heads, one a group, times values that are paired."""
        alike: Counter[tuple[int, tuple[Average, ...]]] = Counter()
        at_keys = [("V", *sorted((values[a], values[b]))) for a, b in at_values]
        for chosen in product(*(closest(len(scores), self.most) for scores in groups)):
            read = at_keys.copy()
            for scores, (by_queries, by_keys, _) in zip(groups, chosen, strict=True):
                for letter, place, matched in (("Q", 1, by_queries), ("K", 2, by_keys)):
                    ends = [(score[0], score[place]) for score in scores]
                    read += [(letter, *sorted((ends[a], ends[b]))) for a, b in matched]
            alike[sum(own for _, _, own in chosen), tuple(sorted(read))] += 1
        inverse, parts = 1 / Fraction(self.widths["d"]), []
        for (power, averages), count in alike.items():
            if power <= self.most:
                drawn = [self.drawn(letter, one[0], other[0]) for letter, one, other in averages]
                whole = self.times(ONE, *drawn, self.averages([*averages, *extra]))
                parts.append((whole, count * inverse**power, power))
        return self.total(parts)

    def powers(self, legs: Sequence[Leg], keys: Sequence[int]) -> Iterable[Weighted]:
        """Powers of the scores of some legs in ζ, with the coefficient in front."""
        for orders in product(range(len(self.score)), repeat=len(legs)):
            factor = reduce(lambda one, k: one * self.score[k], orders, Fraction(1))
            if factor and not sum(orders) % 2:
                yield (
                    factor,
                    [
                        (u, p, key)
                        for (u, p), key, order in zip(legs, keys, orders, strict=True)
                        for _ in range(order)
                    ],
                )

    def of_pair(self, one: Leg, other: Leg, extra: Sequence[Average] = ()) -> Series:
        """E of the covariance that W makes at two legs, times averages M(zz)."""
        parts = []
        for keys in product(range(len(self.x)), repeat=2):
            for factor, scores in self.powers((one, other), keys):
                values = [(leg[0], key) for leg, key in zip((one, other), keys, strict=True)]
                parts.append((self.heads([scores], values, ((0, 1),), extra), factor, 0))
        return self.times(self.drawn("W", one[0], other[0]), self.total(parts))

    def of_both(self, legs: Sequence[Leg]) -> Series:
        """E of the product of what W makes at legs 0 and 1, and at legs 2 and 3."""
        h, d_v = Fraction(1, self.widths["H"]), Fraction(1, self.widths["d_v"])
        same, parts, less = ((0, 1), (2, 3)), [], replace(self, most=self.most - 1)
        for keys in product(range(len(self.x)), repeat=4):
            values = [(leg[0], key) for leg, key in zip(legs, keys, strict=True)]
            for one, left in self.powers(legs[:2], keys[:2]):
                for other, right in self.powers(legs[2:], keys[2:]):
                    apart = self.heads([left, right], values, same)
                    parts += [(apart, one * other, 0), (apart, -one * other * h, 1)]
            for factor, scores in self.powers(legs, keys):
                for matched in pairings(4):
                    part = d_v + (1 - d_v) * (matched == same)
                    whole = less.heads([scores], values, matched)
                    parts.append((whole, factor * part * h, 1))
        drawn = [self.drawn("W", legs[k][0], legs[k + 1][0]) for k in (0, 2)]
        return self.times(*drawn, self.total(parts))

    def connected(self, legs: Sequence[Leg]) -> Series:
        """E z'z'z'z' at two different neurons, less that of each, to order 1/λ."""
        first, second = legs[:2], legs[2:]
        parts = [(self.of_both(legs), Fraction(1), 0)]
        parts.append((self.times(self.of_pair(*first), self.of_pair(*second)), Fraction(-1), 0))
        for one, other in ((first, second), (second, first)) if self.keeps else ():
            # A neuron of z has the same mean as M(zz), and with z z of another one no covariance.
            alone = ("", *other)
            parts.append((self.of_pair(*one, [alone]), Fraction(1), 0))
            lone = self.times(self.of_pair(*one), self.averages([alone]))
            parts.append((lone, Fraction(-1), 0))
        found = self.total(parts)
        assert not any(number for (_, power), number in found.items() if power == 0)
        return found

    def of_whole_readout(self) -> Series:
        """E of z''z''z''z'' at two neurons behind z'' = W z', of one position, at every width.

        At one neuron of z' the weights that make it are paired in three ways.
        """
        n = Fraction(1, self.widths["n"])
        ways = [(0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 2, 1)]
        apart, *at_one = (self.of_both([(u, 0) for u in way]) for way in ways)
        parts = [(apart, Fraction(1), 0), *((one, n, 1) for one in at_one)]
        drawn = [self.drawn("W", u, u + 1) for u in (0, 2)]
        return self.times(*drawn, self.total(parts))

    def leading(self, one: Leg, other: Leg) -> Series:
        """The kernel of z', with an edge its NTK."""
        if (one, other) in self.kernels:
            return self.kernels[one, other]
        kept = [(self.covariance(one, other), Fraction(1), 0)] if self.keeps else []
        whole = self.total([(self.of_pair(one, other), Fraction(1), 0), *kept])
        found = {key: number for key, number in whole.items() if not key[1]}
        self.kernels[one, other] = found
        return found

    def of_layer(self) -> Series:
        """At two positions, one of each pair, over which means are taken."""
        places = range(len(self.x))
        legs = [((0, p), (1, p), (2, q), (3, q)) for p, q in product(places, repeat=2)]
        share = Fraction(1, len(legs))
        return self.total([(self.connected(each), share, 0) for each in legs])

    def of_readout(self, square: Fraction = Fraction(0)) -> Series:
        """Behind z'' = W[mean] φ(z') with φ = z + c z², of as many neurons as z has.

        Given all covariances z' is Gaussian, and φφ at two vertices has the mean
        Q₁₂ + c² (Q₁₁ Q₂₂ + 2 Q₁₂²).
        """
        n, parts = Fraction(1, self.widths["n"]), []
        every = [*product(range(len(self.x)), repeat=4)]
        for places in every:
            legs = [*enumerate(places)]
            first, second = self.slopes(legs[:2], square), self.slopes(legs[2:], square)
            for (one, slope), (other, factor) in product(first.items(), second.items()):
                if (*one, *other) not in self.joint:
                    self.joint[*one, *other] = self.connected([*one, *other])
                moved = self.times(slope, factor, self.joint[*one, *other])
                parts.append((moved, Fraction(1, len(every)), 0))
            parts.append((self.same_neuron(legs, square), n / len(every), 1))
        drawn = [self.drawn("W", u, u + 1) for u in (0, 2)]
        return self.times(*drawn, self.total(parts))

    def slopes(self, legs: Sequence[Leg], square: Fraction) -> dict[tuple[Leg, Leg], Series]:
        """How the mean of φφ at two vertices moves with the covariances of z'."""
        one, other = legs
        between = self.total([(self.leading(one, other), 4 * square**2, 0)])
        found = {(one, other): self.total([(ONE, Fraction(1), 0), (between, Fraction(1), 0)])}
        for leg, rest in ((one, other), (other, one)) if square else ():
            found[leg, leg] = self.total([(self.leading(rest, rest), square**2, 0)])
        return found

    def same_neuron(self, legs: Sequence[Leg], square: Fraction) -> Series:
        """⟨φφφφ⟩ at one neuron of z', less that of each pair."""
        parts = []
        for sizes in product((1, 2) if square else (1,), repeat=len(legs)):
            ends = [leg for leg, size in zip(legs, sizes, strict=True) for _ in range(size)]
            if len(ends) % 2:
                continue
            for matched in pairings(len(ends)):
                pairs = [(ends[a], ends[b]) for a, b in matched]
                if any((one in legs[:2]) != (other in legs[:2]) for one, other in pairs):
                    joined = self.times(*(self.leading(*sorted(pair)) for pair in pairs))
                    parts.append((joined, square ** sizes.count(2), 0))
        return self.total(parts)
