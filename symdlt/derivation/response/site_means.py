"""Gaussian means of functions of the fields at one neuron, as arrays over the samples.

Masks are taken away first, with moments of their own, and factors that are a field itself by
Stein's lemma (C. Stein, 1972): ⟨z F⟩ is a sum of covariances times ⟨∂F⟩. What is left is split
into independent groups, and each group, activations at two or four samples of one or several
fields, is a mean over pairs or quadruples of one joint covariance. An odd group is joined by an
activation of an independent Gaussian, and divided by its mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symdlt.definitions import MASK, Grid, Mask
from symdlt.derivation.response.positions import sums
from symdlt.derivation.response.reasons import EdgeBelow, FieldMeets, Reason
from symdlt.derivation.response.site_functions import Key, Terms, Vertex, VertexFactor, derivative
from symdlt.errors import LayerError
from symdlt.means import Function, LayerMeans, SmoothMeans
from symdlt.precision import TOLERANCE

Array = NDArray[np.float64]
Part: TypeAlias = tuple[Any, Array, Reason | None]  # a factor, what it multiplies, and why
Fields = tuple[int, ...]
Orders = tuple[int, ...]
Names = tuple[str, ...]
Wanted = tuple[Names, Fields, Orders]  # of each factor its activation, field and derivative
Places = tuple[tuple[int, int], ...]  # of each factor its side and offset
Positions = tuple[int, ...]
Together = tuple[frozenset[str], frozenset[int], Positions]

LEGS = 4  # of tensors of two pairs
SIDES = 2  # pairs, each with a position
GHOST = -1  # the field of the independent Gaussian that joins odd groups
# Nodes that tell the sign of the mean of its activation; of those tried the largest is taken.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
AXES = LEGS + SIDES
ONE = np.ones((1,) * AXES, dtype=int)  # whole, to be multiplied with numbers of any kind
ZERO = 0 * ONE  # known by identity: what vanishes by the structure of a network


class SiteMeans:
    """Means at one neuron, given the covariances of its fields, for all samples and positions.

    Arrays have an axis for each leg, and one for the position of each side.

    Means are found many at once. While `planning`, what is asked for is noted and the answer is
    one; `settle` finds what was noted.

    Attributes:
        kernels: covariances of pairs of fields, the later field first; a row for each position of
            each sample.
        ntks: the NTK of the same pairs.
        grids: the positions of each field.
    """

    def __init__(
        self,
        samples: int,
        means: Callable[[Names, int], LayerMeans],
        functions: Callable[[str, int], Sequence[Function]],
        grids: Sequence[Grid],
        masks: Mapping[int, Mask] | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        self.samples, self.tolerance = samples, tolerance
        self.grids = grids
        self.masks = masks or {}
        self.means = means
        self.functions = functions
        self.kernels: dict[tuple[int, int], Array] = {}
        self.ntks: dict[tuple[int, int], Array] = {}
        self.planning = False
        self.rows: dict[tuple[Vertex, Grid], NDArray[np.intp]] = {}
        self.tables: dict[tuple[Wanted, Positions], Array] = {}
        self.covered: defaultdict[tuple[Wanted, Positions], set[Positions]] = defaultdict(set)
        self.asked: defaultdict[Wanted, set[Places]] = defaultdict(set)
        self.by_key: dict[Key, Array] = {}
        self.products: dict[tuple[VertexFactor, ...], Array] = {}
        self.planned: set[tuple[VertexFactor, ...]] = set()

    def kernel(self, f: int, g: int) -> Array:
        """The covariance of two fields of one neuron; zero if they are independent."""
        return self._pair(self.kernels, f, g)

    def ntk(self, f: int, g: int) -> Array:
        """The NTK of two fields of one neuron."""
        return self._pair(self.ntks, f, g)

    def mean(self, terms: Terms) -> Array:
        """The mean of a function, times its NTKs; the axes are the vertices."""
        total = 0 * ONE
        for key, number in terms.items():
            factors, links = key
            if self.planning:
                self._product(factors)
                continue
            if key not in self.by_key:
                value = self._product(factors)
                for f, u, g, v in links:
                    known = self.on_axes(self.ntk(f, g), u, v, f)
                    value = self.told(value, known, EdgeBelow(((f, u), (g, v))))
                self.by_key[key] = value
            total = total + number * self.by_key[key]
        return total

    def told(self, factor: Any, array: Array, reason: Reason | None) -> Array:
        """A part of a mean or a covariance, and why; numbers have no use for that."""
        del reason
        part: Array = factor * array
        return part

    def total(self, parts: Iterable[Part]) -> Array:
        """The sum of parts; `ZERO` itself if all vanish by the structure of the network."""
        kept = [
            self.told(factor, array, reason)
            for factor, array, reason in parts
            if array is not ZERO and (isinstance(factor, np.ndarray) or factor)
        ]
        return sum(kept[1:], kept[0]) if kept else ZERO

    def settle(self) -> None:
        """Find the means that were noted."""
        together: defaultdict[Together, set[Wanted]] = defaultdict(set)
        for wanted, places in self.asked.items():
            names, fields, _ = wanted
            for each in places:
                for at in self._positions(each, self.grids[fields[0]]):
                    chosen = tuple(sorted({*at}))
                    if at not in self.covered[wanted, chosen]:
                        together[frozenset(names), frozenset(fields), chosen].add(wanted)
                        self.covered[wanted, chosen].add(at)
        self.asked.clear()
        for (names_, fields_, chosen), listed in together.items():
            needed = [(wanted, self.covered[wanted, chosen]) for wanted in sorted(listed)]
            self._settle_group(tuple(sorted(names_)), sorted(fields_), chosen, needed)

    def _positions(self, places: Places, grid: Grid) -> Iterator[Positions]:
        """Where factors stand, for all positions of both sides; all together for pairs."""
        shifted = sums(grid)
        if not places:
            yield tuple(range(len(shifted)))
            return
        sides = {side for side, _ in places}
        ranges = [range(len(shifted)) if side in sides else (0,) for side in range(SIDES)]
        for at in product(*ranges):
            yield tuple(int(shifted[offset, at[side]]) for side, offset in places)

    def labels(self, vertex: Vertex, field: int) -> NDArray[np.intp]:
        """The rows of samples and positions of a field, on the axes of a vertex."""
        key = vertex, self.grids[field]
        if key not in self.rows:
            at = sums(self.grids[field])[vertex.offset]
            samples = np.arange(self.samples) * len(at)
            on_side = at.reshape(_shape({LEGS + vertex.side: -1}))
            self.rows[key] = samples.reshape(_shape({vertex.leg: -1})) + on_side
        return self.rows[key]

    def on_axes(self, matrix: Array, u: Vertex, v: Vertex, field: int) -> Array:
        """A matrix over samples and positions of a field on the axes of two vertices."""
        placed: Array = matrix[self.labels(u, field), self.labels(v, field)]
        return placed

    def _pair(self, known: Mapping[tuple[int, int], Array], f: int, g: int) -> Array:
        if f < g:
            return self._pair(known, g, f).swapaxes(-1, -2)
        if (f, g) in known:
            return known[f, g]
        shape = [self.samples * prod(self.grids[field]) for field in (f, g)]
        return np.zeros(shape, dtype=int)

    def _product(self, factors: tuple[VertexFactor, ...]) -> Array:
        """The mean of a product of factors."""
        if self.planning:
            if factors not in self.products and factors not in self.planned:
                self.planned.add(factors)
                self._taken_apart(factors)
            return ONE
        if factors not in self.products:
            self.products[factors] = self._taken_apart(factors)
        return self.products[factors]

    def _taken_apart(self, factors: tuple[VertexFactor, ...]) -> Array:
        if masked := [factor for factor in factors if factor[2] == MASK]:
            rest = tuple(factor for factor in factors if factor[2] != MASK)
            return self._of_masks(masked) * self._product(rest)
        for place, (vertex, field, name, _) in enumerate(factors):
            if name is None:
                return self._by_parts(vertex, field, factors[:place] + factors[place + 1 :])
        value = ONE
        for group in self._independent(factors):
            value = value * self._group(group)
        return value

    def _of_masks(self, masked: Sequence[VertexFactor]) -> Array:
        """The mean of a product of masks, $q^{d - k}$ of k factors, d of them different draws."""
        value: Array = 1.0 * ONE
        for field in sorted({of for _, of, _, _ in masked}):
            legs = [vertex.leg for vertex, of, _, _ in masked if of == field]
            mask = self.masks[field]
            draws: Array = ONE
            for place, leg in enumerate(legs[1:] if not mask.shared else (), 1):
                new: Array = ONE
                for other in legs[:place]:
                    shape = _shape({leg: self.samples, other: self.samples})
                    same = np.eye(self.samples, dtype=int).reshape(shape) if leg != other else ONE
                    new = new * (1 - same)
                draws = draws + new
            value = value * float(mask.kept) ** (draws - len(legs))
        return value

    def _by_parts(self, vertex: Vertex, field: int, rest: tuple[VertexFactor, ...]) -> Array:
        """⟨z F⟩ by Stein's lemma."""
        total = 0 * ONE
        legs = dict.fromkeys((at, of) for at, of, _, _ in rest if self._joined(field, of))
        for u, g in legs:
            for (left, _), number in derivative({(rest, ()): 1}, u, g).items():
                mean = self._product(left)
                joint = self.on_axes(self.kernel(field, g), vertex, u, field)
                reason = FieldMeets(((field, vertex), (g, u)))
                total = total + self.told(number * mean, joint, reason)
        return total

    def _independent(self, factors: tuple[VertexFactor, ...]) -> list[list[VertexFactor]]:
        groups: list[list[VertexFactor]] = []
        for factor in factors:
            linked = [
                group
                for group in groups
                if any(self._joined(factor[1], other[1]) for other in group)
            ]
            groups = [group for group in groups if group not in linked]
            groups.append([one for group in linked for one in group] + [factor])
        return groups

    def _joined(self, f: int, g: int) -> bool:
        """Whether two fields of one neuron are correlated."""
        return f == g or bool(self.kernel(f, g).any())

    def _group(self, group: list[VertexFactor]) -> Array:
        """The mean of activations of correlated fields."""
        if len(group) > LEGS:
            raise LayerError(
                f"A mean joins {len(group)} functions of correlated fields of one neuron. Means of "
                "up to four are known. Let fields that are multiplied be independent, or linear; "
                'functions of one field can be one activation, as "sin(z)*tanh(z)".'
            )
        ordered = sorted(
            group, key=lambda factor: (str(factor[2]), factor[3], factor[1], factor[0])
        )
        wanted: Wanted = (
            tuple(str(name) for _, _, name, _ in ordered),
            tuple(field for _, field, _, _ in ordered),
            tuple(order for *_, order in ordered),
        )
        places = tuple((vertex.side, vertex.offset) for vertex, *_ in ordered)
        if self.planning:
            self.asked[wanted].add(places if len(group) > 2 else ())
            return ONE
        return self._taken(wanted, [vertex for vertex, *_ in ordered])

    def _taken(self, wanted: Wanted, vertices: Sequence[Vertex]) -> Array:
        """A mean on the axes of the vertices of its factors."""
        fields = wanted[1]
        grid = self.grids[fields[0]]
        (everywhere,) = self._positions((), grid)
        if len(fields) <= 2 or len(everywhere) == 1:
            rows = [self.labels(v, f) for v, f in zip(vertices, fields, strict=True)]
            whole: Array = self.tables[wanted, everywhere][tuple(rows)]
            return whole
        places = tuple((vertex.side, vertex.offset) for vertex in vertices)
        sizes = {vertex.leg: self.samples for vertex in vertices}
        sizes |= {LEGS + vertex.side: len(everywhere) for vertex in vertices}
        taken = np.empty(_shape(sizes))
        by_position = taken.reshape(*taken.shape[:LEGS], -1)
        for place, at in enumerate(self._positions(places, grid)):
            chosen = tuple(sorted({*at}))
            rows = [
                self._local(chosen, here).reshape(_shape({vertex.leg: -1})[:LEGS])
                for here, vertex in zip(at, vertices, strict=True)
            ]
            by_position[..., place] = self.tables[wanted, chosen][tuple(rows)]
        return taken

    def _local(self, chosen: Positions, at: int) -> NDArray[np.intp]:
        """The rows of a position among those of some."""
        return np.arange(self.samples) * len(chosen) + chosen.index(at)

    def _settle_group(
        self,
        names: Names,
        fields: list[int],
        chosen: Positions,
        listed: list[tuple[Wanted, set[Positions]]],
    ) -> None:
        """Find means of functions of some fields at some positions, all in one call."""
        count = len(sums(self.grids[fields[0]]))
        rows = np.add.outer(np.arange(self.samples) * count, chosen).ravel()
        odd = any(len(orders) % 2 for (_, _, orders), _ in listed)
        offset = {field: place * len(rows) for place, field in enumerate(fields)}
        joint = np.block([[self.kernel(f, g)[np.ix_(rows, rows)] for g in fields] for f in fields])
        highest = max(max(orders) for (_, _, orders), _ in listed)
        ghost, size = 0, 1.0
        if odd:
            offset[GHOST] = len(joint)
            variance = float(np.diagonal(joint).mean()) or 1.0
            joint = np.pad(joint, (0, 1))
            joint[-1, -1] = variance
            ghost, size = self._ghost(names, variance)
            highest = max(highest, ghost)
        start = {name: place * stride(highest) for place, name in enumerate(names)}
        completed, quadruples = [], []
        for (functions, of, orders), places in listed:
            at = [start[name] + order for name, order in zip(functions, orders, strict=True)]
            both = [*zip(at, of, strict=True), *[(ghost, GHOST)] * (len(at) % 2)]
            columns = tuple(zip(*sorted(both), strict=True))
            completed.append((columns[0], columns[1]))
            if len(both) == LEGS:
                extra = [np.array([offset[GHOST]])] * (len(of) % 2) if odd else []
                for each in places:
                    own = zip(of, each, strict=True)
                    labels = [offset[f] + self._local(chosen, p) for f, p in own]
                    quadruples.append(_rows([*labels, *extra]))
        tables = self._tables(self.means(names, highest), joint, completed, quadruples, len(rows))
        for (wanted, _), (orders, places_) in zip(listed, completed, strict=True):
            starts = [(offset[f], 1 if f == GHOST else len(rows)) for f in places_]
            table = tables[orders][np.ix_(*(first + np.arange(n) for first, n in starts))]
            if len(orders) > len(wanted[2]):
                table = np.take(table, 0, axis=places_.index(GHOST)) / size
            self.tables[wanted, chosen] = table

    def _tables(
        self,
        means: LayerMeans,
        joint: Array,
        completed: Sequence[tuple[Orders, Fields]],
        quadruples: Sequence[NDArray[np.intp]],
        half: int,
    ) -> dict[Orders, Array]:
        """The means of all patterns of orders; where two fields meet, two factors at each."""
        patterns = sorted({orders for orders, _ in completed})
        if not quadruples:
            return dict(zip(patterns, means(joint, patterns, None), strict=True))
        asked = np.unique(np.sort(np.concatenate(quadruples)), axis=0)
        fields = sorted({field for _, places in completed for field in places})
        fours = [each for each in completed if len(each[0]) == LEGS]
        halved = len(fields) == 2 and all(places.count(fields[0]) == 2 for _, places in fours)
        if not (halved and isinstance(means, SmoothMeans)):
            return dict(zip(patterns, means(joint, patterns, asked), strict=True))
        turned = sorted({_by_field(orders, places) for orders, places in fours})
        turned_tables = means.between(joint, turned, asked, half)
        two = [orders for orders in patterns if len(orders) != LEGS]
        tables = dict(zip(two, means(joint, two, None), strict=True)) if two else {}
        for orders, table in zip(turned, turned_tables, strict=True):
            order = np.argsort(orders, kind="stable")
            plain, new = tuple(sorted(orders)), table.transpose(order)
            known = tables.get(plain, new)
            tables[plain] = np.where(np.isnan(known), new, known)
        return tables

    def _ghost(self, names: Names, variance: float) -> tuple[int, float]:
        """A derivative of the first activation whose mean is not zero, and the mean."""
        two = variance * np.eye(2)
        best = (0, 0.0)
        for order in range(2):
            (table,) = self.means(names[:1], order)(two, [(order, order)], None)
            if (size := float(table[0, 1])) > best[1]:
                best = order, size
        function = self.functions(names[0], best[0])[best[0]]
        sign = float(np.sign(WEIGHTS @ function(np.sqrt(variance) * NODES)))
        return best[0], sign * best[1] ** 0.5


def stride(derivatives: int) -> int:
    """How far apart activations begin in a list of several with so many derivatives each.

    One function stands between them, which nobody asks for.
    """
    return derivatives + 2


def _by_field(orders: Orders, places: Fields) -> Orders:
    """Orders with those of the earlier field first."""
    return tuple(order for _, order in sorted(zip(places, orders, strict=True)))


def _rows(labels: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """All quadruples of labels, one a row."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*labels, indexing="ij")], axis=1)


def _shape(sizes: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(sizes.get(axis, 1) for axis in range(AXES))
