"""Means at one neuron of a skip, for a layer and a later one, and for all such pairs at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from symdlt.derivation.response.site_functions import Vertex
from symdlt.derivation.response.site_means import LEGS, SiteMeans, Wanted
from symdlt.networks.depths.alike_layers import AlikeLayers, FieldAt
from symdlt.networks.depths.kernels import DepthKernels
from symdlt.networks.depths.products import DepthPlanes, DepthProducts
from symdlt.progress import track

Array = NDArray[np.float64]
HERE, LATER = 0, 1  # of tables: the axis of a layer, and of a later one; samples follow


class DepthMeans(SiteMeans):
    """Means of functions of fields of layers of one definition, and of later layers.

    Arrays have an axis for each leg, one for the layer, and one for the later layer.

    Args:
        site: means for the fields of the network, one layer or pair of layers after the other.
        covariances: of fields of two depths.
        own: the layers.
        families: the later layers.
        places: of the fields that are numbered here.
        progress: as that of `propagate`.
    """

    def __init__(
        self,
        site: SiteMeans,
        covariances: DepthKernels,
        own: AlikeLayers,
        families: Sequence[AlikeLayers],
        places: Sequence[FieldAt],
        progress: bool | None = None,
    ) -> None:
        super().__init__(site.samples, site.means, site.functions, [()] * len(places))
        self.site, self.covariances = site, covariances
        self.own, self.families, self.places = own, families, places
        self.window = slice(None)
        self.stacks: dict[Wanted, Array] = {}
        self.pairs: dict[tuple[int, int, int], Array] = {}
        self.progress = progress
        self.products_of_two = DepthProducts(site, covariances, progress)
        self.planes = DepthPlanes(site, progress)

    def look_at(self, window: slice) -> None:
        """Give arrays of some of the layers from now on."""
        self.window = window
        self.by_key.clear()
        self.products.clear()
        self.planned.clear()

    def forget(self) -> None:
        """Ask for nothing that was noted."""
        self.asked.clear()
        self.planned.clear()

    def kernel(self, f: int, g: int) -> Array:
        """The covariances of two fields at each of their depths."""
        return self._depths(f, g, 0)

    def ntk(self, f: int, g: int) -> Array:
        """The NTKs of two fields at each of their depths."""
        return self._depths(f, g, 1)

    def _depths(self, f: int, g: int, edge: int) -> Array:
        if f < g:
            return self._depths(g, f, edge).swapaxes(-1, -2)
        return self._seen(self._everywhere(f, g, edge))

    def _everywhere(self, f: int, g: int, edge: int) -> Array:
        if (f, g, edge) not in self.pairs:
            self.pairs[f, g, edge] = self._pair_of(self.places[f], self.places[g], edge)
        return self.pairs[f, g, edge]

    def _joined(self, f: int, g: int) -> bool:
        """Whether two fields are correlated at any depth."""
        return f == g or bool(self._everywhere(max(f, g), min(f, g), 0).any())

    def _pair_of(self, first: FieldAt, second: FieldAt, edge: int) -> Array:
        one, other = self.layers_of(first), self.layers_of(second)
        if first.family == second.family:
            within = self.covariances.within(first.number, second.number, one, edge)
            return np.expand_dims(within, LATER if first.family is None else HERE)
        return self.covariances.between((one, first.number), (other, second.number), edge)

    def layers_of(self, place: FieldAt) -> AlikeLayers:
        """The layers that a field is of."""
        return self.own if place.family is None else self.families[place.family]

    def _seen(self, table: Array) -> Array:
        return table[self.window] if table.shape[HERE] > 1 else table

    def labels(self, vertex: Vertex, field: int) -> NDArray[np.intp]:
        """The samples on the axis of a leg."""
        del field
        shape = [1] * LEGS
        shape[vertex.leg] = self.samples
        return np.arange(self.samples).reshape(shape)

    def on_axes(self, matrix: Array, u: Vertex, v: Vertex, field: int) -> Array:
        """A matrix at each depth on the axes of two vertices."""
        return self._placed(matrix, [self.labels(u, field), self.labels(v, field)])

    def on_axis(self, vector: Array, vertex: Vertex) -> Array:
        """Numbers of samples at each depth on the axis of a vertex."""
        return self._placed(vector, [self.labels(vertex, 0)])

    def _placed(self, table: Array, rows: Sequence[NDArray[np.intp]]) -> Array:
        placed: Array = np.moveaxis(table, (HERE, LATER), (-2, -1))[tuple(rows)]
        return placed

    def _taken(self, wanted: Wanted, vertices: Sequence[Vertex]) -> Array:
        rows = [self.labels(v, f) for v, f in zip(vertices, wanted[1], strict=True)]
        return self._placed(self._seen(self.stacks[wanted]), rows)

    def settle(self) -> None:
        """Find the means that were noted, at all depths."""
        new = [wanted for wanted in self.asked if wanted not in self.stacks]
        self.asked.clear()
        by_fields: defaultdict[frozenset[int], list[Wanted]] = defaultdict(list)
        for wanted in new:
            by_fields[frozenset(wanted[1])].append(wanted)
        for fields, listed in by_fields.items():
            places = {field: self.places[field] for field in sorted(fields)}
            tables = self.products_of_two.tables(listed, places, self.layers_of)
            if not tables and [p.family is None for p in places.values()] == [True, False]:
                first, second = places
                tables, known = self.planes.tables(listed, (first, second), self._covariances)
                self._one_by_one({wanted: tables[wanted] for wanted in tables}, places, known)
            rest = [wanted for wanted in listed if wanted not in tables]
            shape = self._shape_of(places)
            empty = {w: np.zeros((*shape, *(self.samples,) * len(w[1]))) for w in rest}
            self._one_by_one(empty, places, np.zeros(shape, dtype=bool))
            self.stacks |= tables | empty

    def _covariances(self, f: int, g: int) -> Array:
        return self._everywhere(f, g, 0)

    def _one_by_one(
        self, tables: dict[Wanted, Array], places: dict[int, FieldAt], known: NDArray[np.bool_]
    ) -> None:
        """Fill in means at one depth, or pair of depths, after the other, but where it is known."""
        depths = [at for at in self._depths_of(places) if not known[at]] if tables else []
        for at in track(depths, "means", self.progress):
            numbers = self._in_program(places, at)
            for f, g in product(numbers, numbers):
                if f >= g and (numbers[f], numbers[g]) not in self.site.kernels:
                    joint = self._everywhere(f, g, 0)
                    here = at[HERE] if joint.shape[HERE] > 1 else 0
                    later = at[LATER] if joint.shape[LATER] > 1 else 0
                    self.site.kernels[numbers[f], numbers[g]] = joint[here, later]
            for wanted in tables:
                each = tuple((0, 0) for _ in wanted[1]) if len(wanted[1]) > 2 else ()
                self.site.asked[_renamed(wanted, numbers)].add(each)
            self.site.settle()
            for wanted, table in tables.items():
                table[at] = self.site.tables[_renamed(wanted, numbers), (0,)]

    def _shape_of(self, places: dict[int, FieldAt]) -> tuple[int, int]:
        """How many layers, and later ones, there are of a group of fields."""
        families = {place.family for place in places.values()}
        later = max((len(self.families[f].layers) for f in families if f is not None), default=1)
        return len(self.own.layers) if None in families else 1, later

    def _depths_of(self, places: dict[int, FieldAt]) -> list[tuple[int, int]]:
        """Where a group of fields has the same neurons, as places on the two axes of depths."""
        here = [place.number for place in places.values() if place.family is None]
        there = [place for place in places.values() if place.family is not None]
        if not here or not there:
            return list(np.ndindex(self._shape_of(places)))
        layers = self.layers_of(there[0]).layers
        same = np.equal.outer(
            self.covariances.sites(here[0], self.own.layers),
            self.covariances.sites(there[0].number, layers),
        )
        later = np.less.outer(self.own.layers, layers)
        return [(int(t), int(m)) for t, m in np.argwhere(same & later)]

    def _in_program(self, places: dict[int, FieldAt], at: tuple[int, int]) -> dict[int, int]:
        """The numbers that fields have in the program of the network, at some depths."""
        numbers = {}
        for field, place in places.items():
            layer = self.layers_of(place).layers[at[HERE if place.family is None else LATER]]
            numbers[field] = self.covariances.of(place.number, layer)
        return numbers


def _renamed(wanted: Wanted, numbers: dict[int, int]) -> Wanted:
    names, fields, orders = wanted
    return names, tuple(numbers[field] for field in fields), orders
