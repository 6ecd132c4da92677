"""Means over all pairs of depths of two functions at each, by coefficients in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.kernels.numpy_target.joint_means import TWO, JointOrders
from symdlt.means import (
    Array,
    Indices,
    LayerMeans,
    Planes,
    SmoothMeans,
    by_samples,
    few_planes,
    largest_along,
    plane_means,
)


class PlanesOfDepths(NamedTuple):
    """The products of two functions of z of each layer, in the planes of pairs of samples.

    Attributes:
        kinds: the functions of each product, by their numbers.
        planes: the coefficients of these, at all layers.
        tolerance: of means.
    """

    kinds: tuple[tuple[int, ...], ...]
    planes: Planes
    tolerance: float

    def tables(
        self, layer: int, later: Indices, joint: Array, listed: Sequence[JointOrders], one: int
    ) -> tuple[dict[JointOrders, Array], NDArray[np.bool_]]:
        """The means over a layer and each later one, and for which of these they are right.

        Args:
            layer: the number of the layer.
            later: those of the later ones.
            joint: the covariances of z of the layer, the first axis, with z of each.
            listed: the functions of each.
            one: the number of the constant one.
        """
        fours = {both: tuple((*side, one)[:TWO] for side in both) for both in listed}
        lefts, rights = (
            sorted({kind for four in fours.values() for kind in (four[k], four[k][::-1])})
            for k in (0, 1)
        )
        first, second = (
            self.planes.at(at).of([self.kinds.index(kind) for kind in side])
            for at, side in ((np.array([layer]), lefts), (later, rights))
        )
        means, known = plane_means(first, second, joint, self.tolerance)
        tables: dict[JointOrders, Array] = {}
        for (here, there), (left, right) in fours.items():
            table = by_samples(means, lefts, rights, left, right)
            axes = ("aa" if len(here) == 1 else "ab") + ("cc" if len(there) == 1 else "cd")
            tables[here, there] = np.einsum(f"...{axes}->...{''.join(sorted({*axes}))}", table)
        return tables, known


def planes_of_depths(
    means: LayerMeans, one: int, K: Array, joint: Sequence[JointOrders]
) -> PlanesOfDepths | None:
    """The planes of all layers, for functions that are smooth and not too steep.

    Args:
        means: of the functions.
        one: the number of the constant one behind them.
        K: the covariances of all layers, of shape (depth, N, N).
        joint: the functions of means over two layers.
    """
    if not isinstance(means, SmoothMeans) or means.is_narrow(largest_along(K)) or not len(K):
        return None
    fours = [(*side, one)[:TWO] for both in joint for side in both]
    kinds = tuple(sorted({kind for four in fours for kind in (four, four[::-1])}))
    pairs = [(kind[0], kind[1]) for kind in kinds]
    found = few_planes(means.activation, pairs, K, means.tolerance)
    return None if found is None else PlanesOfDepths(kinds, found, means.tolerance)
