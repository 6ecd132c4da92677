"""Means over two depths of a few samples: two functions here, and two at a later depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from symdlt.derivation.response.site_means import LEGS, SiteMeans, Wanted
from symdlt.means import Planes, SmoothMeans, by_samples, few_planes, largest_along, plane_means
from symdlt.networks.depths.products import Factor, activation_means, is_smooth
from symdlt.progress import track

Array = NDArray[np.float64]
Known = NDArray[np.bool_]
Two = tuple[Factor, Factor]


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
