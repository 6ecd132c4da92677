"""What layers that keep their neurons share: means over z of a layer and of a later one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.kernels.numpy_target.problem import table_name
from symdlt.means import (
    Array,
    Indices,
    KernelInputError,
    LayerMeans,
    Planes,
    SmoothMeans,
    by_samples,
    few_planes,
    largest_along,
    plane_means,
)

# The functions of z of a layer, and of a later one.
JointOrders = tuple[tuple[int, ...], tuple[int, ...]]
TWO = 2  # functions of each layer; where there is one, the constant one stands next to it


def joint_name(field: str, orders: JointOrders) -> str:
    """The name of a table: z_s0_s0_later_s1 for <s s s'^m> over z."""
    here, later = orders
    return f"{field}_{table_name(here)}_later_{table_name(later)}"


def of_unit_variance(K: Array) -> Array:
    """The covariance of normalised fields."""
    scales: Array = K.diagonal() ** -0.5
    return K * scales * scales[:, None]


def joint_tables(
    means: LayerMeans, one: int, K: Array, orders: Sequence[JointOrders], rows: Indices
) -> list[Array]:
    """The tables of means over two layers, with an axis for each function.

    Args:
        means: of the functions of z.
        one: the number of the constant one behind them.
        K: the covariance of z of the layer at all samples, and behind them of z of the later one.
        orders: the functions of each.
        rows: the samples of two of the layer and of two of the later one.
    """
    half = len(K) // TWO
    asked = np.unique(np.sort(rows + np.array([0, 0, half, half]), axis=1), axis=0)
    pairs: list[tuple[int, ...]] = [
        (*here, *later) for here, later in orders if len(here) == len(later) == 1
    ]
    fours = [
        (*here, one)[:TWO] + (*later, one)[:TWO]
        for here, later in orders
        if len(here) + len(later) > TWO
    ]
    known = dict(zip(pairs, means(K, pairs, None) if pairs else [], strict=True))
    if isinstance(means, SmoothMeans):
        known |= dict(zip(fours, means.between(K, fours, asked, half), strict=True))
    else:
        plain = sorted({tuple(sorted(four)) for four in fours})
        tables = dict(zip(plain, means(K, plain, asked) if plain else [], strict=True))
        known |= {four: in_given_order(tables[tuple(sorted(four))], four) for four in fours}
    return [between_layers(known, here, later, one, half) for here, later in orders]


def in_given_order(table: Array, orders: tuple[int, ...]) -> Array:
    """A table whose axes are those of ascending orders, with its axes in the order of others."""
    return table.transpose(np.argsort(np.argsort(orders, kind="stable"), kind="stable"))


def between_layers(
    known: dict[tuple[int, ...], Array],
    here: tuple[int, ...],
    later: tuple[int, ...],
    one: int,
    half: int,
) -> Array:
    """The part of a table that has samples of both layers, without axes of the constant one."""
    if len(here) == len(later) == 1:
        return known[(*here, *later)][:half, half:]
    table = known[(*here, one)[:TWO] + (*later, one)[:TWO]][:half, :half, half:, half:]
    axes = ("aa" if len(here) == 1 else "ab") + ("cc" if len(later) == 1 else "cd")
    entries: Array = np.einsum(f"{axes}->{''.join(sorted({*axes}))}", table)
    return entries


def refuse_unequal(ratios: Sequence[float]) -> None:
    """Refuse widths that differ, as neurons are kept."""
    if any(ratio != 1.0 for ratio in ratios):
        raise KernelInputError(
            "The widths differ. A layer with a skip keeps the neurons of the layer below, so that "
            "all have the same number of them. Give equal widths, or leave them out."
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
