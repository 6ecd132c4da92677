"""Means over two depths, of one sample or a few: all pairs of depths at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import prod

import numpy as np
from numpy.typing import NDArray

from symdlt.derivation.response.site_means import LEGS, SiteMeans, Wanted
from symdlt.means import (
    Function,
    KinkedMeans,
    LayerMeans,
    Planes,
    SmoothMeans,
    Unrelated,
    by_samples,
    closed_pair_means,
    few_planes,
    largest_along,
    pair_means,
    plane_means,
)
from symdlt.networks.depths.alike_layers import AlikeLayers, FieldAt
from symdlt.networks.depths.kernels import DepthKernels
from symdlt.networks.layer_means import MeansWithConstants
from symdlt.progress import track

Array = NDArray[np.float64]
Factor = tuple[str, int]  # an activation and its derivative
Product = tuple[Factor, ...]  # at one field
Sides = tuple[Product, Product]
Two = tuple[Factor, Factor]
Known = NDArray[np.bool_]

# Pairs of products in one call: each takes twelve numbers for each pair of depths meanwhile, 100 MB
# at a thousand layers for eight of them. For memory only.
TOGETHER = 8
# Depths in one call of means at one depth, whose tables are square. For speed only.
FEW = 32


class DepthProducts:
    r"""Means $⟨f(z_t)\,g(z_m)⟩$ of one sample, where f and g are products of activations.

    All depths of one neuron are samples of pairs then: Mehler's formula takes the coefficients of
    f and g once at each depth.

    Args:
        site: means for the fields of the network.
        covariances: of two depths.
        progress: as that of `propagate`.
    """

    def __init__(
        self, site: SiteMeans, covariances: DepthKernels, progress: bool | None = None
    ) -> None:
        self.site = site
        self.progress = progress
        self.covariances = covariances

    def tables(
        self,
        listed: Sequence[Wanted],
        places: Mapping[int, FieldAt],
        layers_of: Callable[[FieldAt], AlikeLayers],
    ) -> dict[Wanted, Array]:
        """The means of functions of a field here, a later one, or both; empty if not known so."""
        families = [place.family for place in places.values()]
        if self.site.samples > 1 or len({*families}) < len(families):
            return {}
        sides = {wanted: tuple(_product(wanted, field) for field in places) for wanted in listed}
        fields = [
            [(place.number, layer) for layer in layers_of(place).layers]
            for place in places.values()
        ]
        if len(fields) == 1:
            return self._of_one({w: one for w, (one,) in sides.items()}, fields[0], families[0])
        return self._of_two(sides, *fields)

    def _of_one(
        self, sides: dict[Wanted, Product], fields: list[tuple[int, int]], family: int | None
    ) -> dict[Wanted, Array]:
        """Means at one depth."""
        products = sorted({*sides.values()})
        variances = np.array(
            [self.site.kernels[self.covariances.of(*f), self.covariances.of(*f)] for f in fields]
        ).ravel()
        if not self._is_smooth(products, float(variances.max())):
            return {}
        # Means of two: of one function and the constant one the square would have to converge too.
        halves = [(product[:2], product[2:]) for product in products]
        parts = sorted({half for pair in halves for half in pair})
        functions = self._functions(parts)
        orders = [(2 * parts.index(one), 2 * parts.index(other)) for one, other in halves]
        means = np.empty((len(products), len(fields)))
        for start in range(0, len(fields), FEW):
            some = np.s_[start : start + FEW]
            tables = pair_means(functions, np.diag(variances[some]), orders)
            means[:, some] = [table.diagonal() for table in tables]
        shape = (-1, 1) if family is None else (1, -1)
        return {
            wanted: means[products.index(one)].reshape(*shape, *(1,) * len(wanted[1]))
            for wanted, one in sides.items()
        }

    def _of_two(
        self,
        sides: dict[Wanted, tuple[Product, ...]],
        here: list[tuple[int, int]],
        there: list[tuple[int, int]],
    ) -> dict[Wanted, Array]:
        """Means over two depths."""
        numbers = {self.covariances.of(*field): field for field in (*here, *there)}
        known = sorted(numbers)
        place = {number: at for at, number in enumerate(known)}
        K = self.covariances.matrix([numbers[number] for number in known])
        rows, columns = ([place[self.covariances.of(*f)] for f in some] for some in (here, there))
        pairs = sorted({(one, other) for one, other in sides.values()})
        products = sorted({product for pair in pairs for product in pair})
        means: Callable[[Sequence[Sides]], list[Array]]
        if self._is_smooth(products, float(K.diagonal().max())):
            means = partial(self._smooth, K)
        elif slopes := self._slopes(products, float(K.diagonal().max())):
            means = partial(_of_slopes, K, slopes)
        else:
            return {}
        by_pair: dict[tuple[Product, ...], Array] = {}
        for start in track(range(0, len(pairs), TOGETHER), "means", self.progress):
            some = pairs[start : start + TOGETHER]
            tables = (table[np.ix_(rows, columns)] for table in means(some))
            by_pair |= dict(zip(some, tables, strict=True))
        return {
            wanted: by_pair[pair].reshape(len(here), len(there), *(1,) * len(wanted[1]))
            for wanted, pair in sides.items()
        }

    def _smooth(self, K: Array, pairs: Sequence[Sides]) -> list[Array]:
        products = sorted({product for pair in pairs for product in pair})
        orders = [(2 * products.index(one), 2 * products.index(other)) for one, other in pairs]
        return pair_means(self._functions(products), K, orders)

    def _functions(self, products: Sequence[Product]) -> list[Function]:
        """Functions two apart, so that none is taken for the derivative of another."""
        functions: list[Function] = []
        for product in products:
            factors = [self.site.functions(name, order)[order] for name, order in product]
            functions += [Unrelated(partial(_multiplied, factors)), Unrelated(np.zeros_like)]
        return functions

    def _is_smooth(self, products: Sequence[Product], variance: float) -> bool:
        return is_smooth(
            self.site, [factor for product in products for factor in product], variance
        )

    def _slopes(self, products: Sequence[Product], variance: float) -> tuple[float, float] | None:
        """Those of an activation that is straight but for zero, of which all products are two."""
        means = activation_means(self.site, _factors(products))
        two = all(tuple(order for _, order in product) in _OF_ORDERS for product in products)
        if two and len(means) == 1 and isinstance(means[0], KinkedMeans):
            return means[0].slopes if means[0].is_straight(variance) else None
        return None


def activation_means(site: SiteMeans, factors: Iterable[Factor]) -> list[LayerMeans]:
    """How means of each activation are taken."""
    highest: dict[str, int] = {}
    for name, order in factors:
        highest[name] = max(order, highest.get(name, 0))
    means = [site.means((name,), order) for name, order in highest.items()]
    return [one.means if isinstance(one, MeansWithConstants) else one for one in means]


def is_smooth(site: SiteMeans, factors: Iterable[Factor], variance: float) -> bool:
    """Whether nodes at equal steps follow all functions."""
    means = activation_means(site, factors)
    return all(isinstance(one, SmoothMeans) and not one.is_narrow(variance) for one in means)


def _of_slopes(K: Array, slopes: tuple[float, float], pairs: Sequence[Sides]) -> list[Array]:
    r"""Means of an activation that is straight but for zero.

    With r of the squares of its slopes, $σσ = z\,r$, $σσ' = r$, $σ'σ' = r'$,
    $σ'σ'' = \frac12r''$ and $σσ'' = 0$; z is removed by Stein's lemma.
    """
    left, right = (slope**2 for slope in slopes)
    own = np.broadcast_to(K.diagonal()[:, None], K.shape)
    known: dict[tuple[int, int], Array] = {}

    def mean(powers: tuple[int, int], orders: tuple[int, int]) -> Array:
        p, q = powers
        d, e = orders
        if p:
            return own * mean((0, q), (d + 1, e)) + K * (
                q * mean((0, 0), orders) + mean((0, q), (d, e + 1))
            )
        if q:
            return own.T * mean((0, 0), (d, e + 1)) + K * mean((0, 0), (d + 1, e))
        if orders not in known:
            (known[orders],) = closed_pair_means("relu", K, [orders], left=left, right=right)
        return known[orders]

    tables = []
    for pair in pairs:
        (a, p, d), (b, q, e) = (
            _OF_ORDERS[tuple(order for _, order in product)] for product in pair
        )
        tables.append(a * b * mean((p, q), (d, e)))
    return tables


# Of two orders: the number in front, the power of z, and the derivative of r.
_OF_ORDERS: dict[tuple[int, ...], tuple[float, int, int]] = {
    (0, 0): (1.0, 1, 0),
    (0, 1): (1.0, 0, 0),
    (0, 2): (0.0, 0, 1),
    (1, 1): (1.0, 0, 1),
    (1, 2): (0.5, 0, 2),
}


def _product(wanted: Wanted, field: int) -> Product:
    """The factors at a field."""
    names, fields, orders = wanted
    return tuple(
        sorted((n, k) for n, of, k in zip(names, fields, orders, strict=True) if of == field)
    )


def _factors(products: Sequence[Product]) -> list[Factor]:
    return [factor for product in products for factor in product]


def _multiplied(factors: Sequence[Function], z: Array) -> Array:
    product: Array = prod((factor(z) for factor in factors), start=np.ones_like(z))
    return product


class DepthPlanes:
    """Means of two functions of samples at a depth and two at a later one, all depths at once.

    Args:
        site: means for the fields of the network.
        progress: as that of `propagate`.
    """

    def __init__(self, site: SiteMeans, progress: bool | None) -> None:
        self.site = site
        self.progress = progress

    def tables(
        self,
        listed: Sequence[Wanted],
        fields: tuple[int, int],
        covariance: Callable[[int, int], Array],
    ) -> tuple[dict[Wanted, Array], Known]:
        """The means that are known so, of shape (T, M, N, N, N, N), and at which depths they are.

        Args:
            listed: means of functions of a field and of a later one.
            fields: their numbers.
            covariance: of both, at all depths of each.
        """
        f, g = fields
        here, there = covariance(f, f)[:, 0], covariance(g, g)[0]
        joint = np.swapaxes(covariance(g, f), -1, -2)
        known = np.zeros(joint.shape[:2], dtype=bool)
        sides = {w: _sides(w, fields) for w in listed if w[1].count(f) == w[1].count(g) == 2}
        factors = sorted({factor for two in sides.values() for side in two for factor in side})
        lefts, rights = (
            sorted({turned for two in sides.values() for turned in (two[k], two[k][::-1])})
            for k in (0, 1)
        )
        kinds = sorted({*lefts, *rights})
        # Depths that are here once and later once have their coefficients once.
        K, place = np.unique(np.concatenate([here, there]), axis=0, return_inverse=True)
        if not sides or not is_smooth(self.site, factors, largest_along(K)):
            return {}, known
        means = activation_means(self.site, factors)
        tolerance = min(one.tolerance for one in means if isinstance(one, SmoothMeans))
        functions = [self.site.functions(name, k)[k] for name, k in factors]
        products = [(factors.index(a), factors.index(b)) for a, b in kinds]
        whole = few_planes(functions, products, K, tolerance)
        if whole is None:
            return {}, known
        first = whole.at(place.ravel()[: len(here)]).of([kinds.index(two) for two in lefts])
        second = whole.at(place.ravel()[len(here) :]).of([kinds.index(two) for two in rights])
        table = self._means(first, second, joint, tolerance, known)
        return {
            wanted: _placed(table, lefts, rights, two, wanted, fields)
            for wanted, two in sides.items()
        }, known

    def _means(
        self, first: Planes, second: Planes, joint: Array, tolerance: float, known: Known
    ) -> Array:
        """Means of all functions of pairs with all others; `known` is filled."""
        kinds = first.levels[0].shape[2], second.levels[0].shape[2]
        pairs = (first.inverse.shape[1],) * 2
        table = np.zeros((*joint.shape[:2], *pairs, *kinds))
        for depth in track(range(len(joint)), "means", self.progress):
            later = np.flatnonzero(joint[depth].any(axis=(1, 2)))
            if later.size:
                means, done = plane_means(
                    first.at(np.array([depth])),
                    second.at(later),
                    joint[depth, later],
                    tolerance,
                )
                table[depth, later], known[depth, later] = means, done
        return table


def _sides(wanted: Wanted, fields: tuple[int, int]) -> tuple[Two, Two]:
    """The factors at each of two fields."""
    names, of, orders = wanted
    factors = list(zip(names, of, orders, strict=True))
    (a, b), (c, d) = ([(n, k) for n, at, k in factors if at == field] for field in fields)
    return (a, b), (c, d)


def _placed(
    means: Array,
    lefts: Sequence[Two],
    rights: Sequence[Two],
    sides: tuple[Two, Two],
    wanted: Wanted,
    fields: tuple[int, int],
) -> Array:
    """Means with an axis for each factor, from those of pairs of samples i <= j."""
    table = by_samples(means, lefts, rights, *sides)
    of = wanted[1]
    places = [k for field in fields for k in range(LEGS) if of[k] == field]
    return np.moveaxis(table, (2, 3, 4, 5), [2 + place for place in places])
