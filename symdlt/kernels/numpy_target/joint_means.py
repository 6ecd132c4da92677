"""What layers that keep their neurons share: means over z of a layer and of a later one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symdlt.kernels.numpy_target.problem import table_name
from symdlt.means import Array, Indices, KernelInputError, LayerMeans, SmoothMeans

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
