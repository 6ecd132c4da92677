"""Means over the fields of a layer of several streams, one field after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from symdlt.kernels.numpy_target.layers import tables_of_means
from symdlt.kernels.numpy_target.problem import Problem, Samples, Tables, table_name
from symdlt.means import Array, Function, LayerMeans, Unrelated

PAIRED = {1: "aa->a", 3: "abcc->abc"}  # an odd mean is that of one more factor, which is one


class Field(NamedTuple):
    """A Gaussian field of a layer: its covariance from means of earlier fields, and its function.

    The means and fields are those that its covariance reads.
    """

    covariance: Callable[[Any, Tables, Tables, Samples], Array]
    function: str
    means: tuple[tuple[int, ...], ...]
    fields: tuple[str, ...]


def with_constant(activation: tuple[Function, ...]) -> tuple[Function, ...]:
    """An activation and its derivatives, and behind them the constant one, for odd means."""
    return (*activation, Unrelated(np.ones_like))


def means_of_fields(
    problem: Problem,
    fields: Mapping[str, Field],
    means: Mapping[str, LayerMeans],
    one: int,
    h: Any,
    below: Tables,
) -> Tables:
    """All means that the recursions read, by the names of their fields and orders.

    Args:
        problem: what is computed.
        fields: in the order of their computation.
        means: how those of each function are taken.
        one: the number of the constant one among derivatives.
        h: the hyperparameters of the layer.
        below: the tensors of the layer below.
    """
    wanted = {(f, order) for r in problem.recursions.values() for f, order in read_by(r)}
    for name in reversed([*fields]):
        if any(field == name for field, _ in wanted):
            wanted |= {*read_by(fields[name])}
    pairs = np.ix_(*[np.arange(len(problem.overlap))] * 2)
    named: dict[str, Array] = {}
    for name, field in fields.items():
        orders = sorted(order for of, order in wanted if of == name)
        if not orders:
            continue
        K = field.covariance(h, named, below, pairs)
        even = [(*order, one)[: len(order) + len(order) % 2] for order in orders]
        asked = problem._replace(means=tuple(sorted({*even})))
        tables = dict(
            zip(asked.means, tables_of_means(asked, means[field.function], K), strict=True)
        )
        for order, full in zip(orders, even, strict=True):
            table = tables[full]
            odd = PAIRED.get(len(order))
            named[f"{name}_{table_name(order)}"] = np.einsum(odd, table) if odd else table
    return named


def read_by(one: Any) -> list[tuple[str, tuple[int, ...]]]:
    """The means that a recursion or a covariance reads, with their fields."""
    return [*zip(one.fields, one.means, strict=True)]
