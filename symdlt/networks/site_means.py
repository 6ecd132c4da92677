"""Gaussian means of functions of the fields at one neuron, as arrays over the samples.

Factors that are a field itself are taken away by Stein's lemma (C. Stein, 1972): ⟨z F⟩ is a sum of
covariances times ⟨∂F⟩. What is left is split into independent groups, and each group, activations
at two or four samples of one or several fields, is a mean over pairs or quadruples of one joint
covariance. An odd group is joined by an activation of an independent Gaussian, and divided by its
mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from symdlt.errors import LayerError
from symdlt.means import Function, LayerMeans, SmoothMeans
from symdlt.networks.site_functions import Key, Terms, Vertex, VertexFactor, derivative

Array = NDArray[np.float64]
Fields = tuple[int, ...]
Orders = tuple[int, ...]
Names = tuple[str, ...]
Wanted = tuple[Names, Fields, Orders]  # of each factor its activation, field and derivative

VERTICES = 4  # of tensors of two pairs
GHOST = -1  # the field of the independent Gaussian that joins odd groups
# Nodes that tell the sign of the mean of its activation; of those tried the largest is taken.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
ONE = np.ones((1,) * VERTICES, dtype=int)  # whole, to be multiplied with numbers of any kind


class SiteMeans:
    """Means at one neuron, given the covariances of its fields.

    Means are found many at once. While `planning`, what is asked for is noted and the answer is
    one; `settle` finds what was noted.

    Attributes:
        kernels: covariances of pairs of fields, the later field first.
        ntks: the NTK of the same pairs.
    """

    def __init__(
        self,
        samples: int,
        means: Callable[[Names, int], LayerMeans],
        functions: Callable[[str, int], Sequence[Function]],
    ) -> None:
        self.samples = samples
        self.means = means
        self.functions = functions
        self.kernels: dict[tuple[int, int], Array] = {}
        self.ntks: dict[tuple[int, int], Array] = {}
        self.planning = False
        self.tables: dict[Wanted, Array] = {}
        self.asked: set[Wanted] = set()
        self.found: dict[Key, Array] = {}
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
            if key not in self.found:
                value = self._product(factors)
                for f, u, g, v in links:
                    value = value * self.on_axes(self.ntk(f, g), u, v)
                self.found[key] = value
            total = total + number * self.found[key]
        return total

    def settle(self) -> None:
        """Find the means that were noted."""
        groups: dict[tuple[frozenset[str], frozenset[int]], list[Wanted]] = defaultdict(list)
        for wanted in self.asked:
            groups[frozenset(wanted[0]), frozenset(wanted[1])].append(wanted)
        self.asked = set()
        for (names, fields), listed in groups.items():
            self._settle_group(tuple(sorted(names)), sorted(fields), sorted(listed))

    def on_axes(self, matrix: Array, u: Vertex, v: Vertex) -> Array:
        """A matrix over samples on the axes of two vertices."""
        if u == v:
            return np.diagonal(matrix).reshape(_shape({u: self.samples}))
        return (matrix if u < v else matrix.T).reshape(_shape({u: self.samples, v: self.samples}))

    def _pair(self, known: Mapping[tuple[int, int], Array], f: int, g: int) -> Array:
        if f < g:
            return self._pair(known, g, f).T
        zero = np.zeros((self.samples, self.samples), dtype=int)
        return known.get((f, g), zero)

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
        for place, (vertex, field, name, _) in enumerate(factors):
            if name is None:
                return self._by_parts(vertex, field, factors[:place] + factors[place + 1 :])
        value = ONE
        for group in self._independent(factors):
            value = value * self._group(group)
        return value

    def _by_parts(self, vertex: Vertex, field: int, rest: tuple[VertexFactor, ...]) -> Array:
        """⟨z F⟩ by Stein's lemma."""
        total = 0 * ONE
        for u, g in dict.fromkeys((at, of) for at, of, _, _ in rest):
            for (left, _), number in derivative({(rest, ()): 1}, u, g).items():
                mean = self._product(left)
                total = total + number * self.on_axes(self.kernel(field, g), vertex, u) * mean
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
        if len(group) > VERTICES:
            raise LayerError(
                f"A mean joins {len(group)} functions of correlated fields of one neuron. Means of "
                "up to four are known. Let fields that are multiplied be independent, or linear."
            )
        ordered = sorted(
            group, key=lambda factor: (str(factor[2]), factor[3], factor[1], factor[0])
        )
        wanted: Wanted = (
            tuple(str(name) for _, _, name, _ in ordered),
            tuple(field for _, field, _, _ in ordered),
            tuple(order for *_, order in ordered),
        )
        if self.planning:
            if wanted not in self.tables:
                self.asked.add(wanted)
            return ONE
        places = [
            np.arange(self.samples).reshape(_shape({vertex: self.samples}))
            for vertex, *_ in ordered
        ]
        found: Array = self.tables[wanted][tuple(places)]
        return found

    def _settle_group(self, names: Names, fields: list[int], listed: list[Wanted]) -> None:
        odd = any(len(orders) % 2 for _, _, orders in listed)
        offset = {field: place * self.samples for place, field in enumerate(fields)}
        joint = np.block([[self.kernel(f, g) for g in fields] for f in fields])
        highest = max(max(orders) for _, _, orders in listed)
        ghost, size = 0, 1.0
        if odd:
            offset[GHOST] = len(joint)
            variance = float(np.diagonal(joint).mean()) or 1.0
            joint = np.pad(joint, (0, 1))
            joint[-1, -1] = variance
            ghost, size = self._ghost(names, variance)
            highest = max(highest, ghost)
        start = {name: place * stride(highest) for place, name in enumerate(names)}
        completed = []
        for chosen, of, orders in listed:
            at = [start[name] + order for name, order in zip(chosen, orders, strict=True)]
            both = [*zip(at, of, strict=True), *[(ghost, GHOST)] * (len(at) % 2)]
            columns = tuple(zip(*sorted(both), strict=True))
            completed.append((columns[0], columns[1]))
        tables = self._tables(self.means(names, highest), joint, completed, offset)
        for wanted, (orders, places) in zip(listed, completed, strict=True):
            table = tables[orders][np.ix_(*_labels(places, offset, self.samples))]
            if len(orders) > len(wanted[2]):
                table = np.take(table, 0, axis=places.index(GHOST)) / size
            self.tables[wanted] = table

    def _tables(
        self,
        means: LayerMeans,
        joint: Array,
        completed: Sequence[tuple[Orders, Fields]],
        offset: Mapping[int, int],
    ) -> dict[Orders, Array]:
        """The means of all patterns of orders; where two fields meet, two factors at each."""
        fours = [each for each in completed if len(each[0]) == VERTICES]
        patterns = sorted({orders for orders, _ in completed})
        if not fours:
            return dict(zip(patterns, means(joint, patterns, None), strict=True))
        rows = [_rows(_labels(places, offset, self.samples)) for _, places in fours]
        asked = np.unique(np.sort(np.concatenate(rows)), axis=0)
        fields = sorted(offset)
        halved = len(fields) == 2 and all(places.count(fields[0]) == 2 for _, places in fours)
        if not (halved and isinstance(means, SmoothMeans)):
            return dict(zip(patterns, means(joint, patterns, asked), strict=True))
        pairs = [orders for orders in patterns if len(orders) != VERTICES]
        tables = dict(zip(pairs, means(joint, pairs, None), strict=True)) if pairs else {}
        turned = sorted({_by_field(orders, places) for orders, places in fours})
        found = means.between(joint, turned, asked, self.samples)
        for orders, table in zip(turned, found, strict=True):
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


def _labels(fields: Fields, offset: Mapping[int, int], samples: int) -> list[NDArray[np.intp]]:
    return [offset[f] + np.arange(1 if f == GHOST else samples) for f in fields]


def _rows(labels: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """All quadruples of labels, one a row."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*labels, indexing="ij")], axis=1)


def _shape(sizes: Mapping[Vertex, int]) -> tuple[int, ...]:
    return tuple(sizes.get(vertex, 1) for vertex in range(VERTICES))
