"""Means over the fields of a layer of several streams, one field after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from symdlt.kernels.numpy_target.checks import scale_of
from symdlt.kernels.numpy_target.layers import tables_of_means
from symdlt.kernels.numpy_target.problem import Problem, Samples, Tables, table_name
from symdlt.means import Array, Function, LayerMeans, Unrelated

PAIRED = {1: "aa->a", 3: "abcc->abc"}  # an odd mean is that of one more factor, which is one


class Field(NamedTuple):
    """A Gaussian field of a layer: its covariance, and the functions that means are taken of.

    Its covariance reads means of earlier fields, each with the numbers of its functions; without
    any it reads what that field is multiplied with where it is normalised, which `scale` names.
    """

    covariance: Callable[[Any, Tables, Tables, Samples], Array]
    functions: str
    reads: tuple[tuple[str, tuple[int, ...]], ...]
    scale: str = ""


def with_constant(activation: tuple[Function, ...]) -> tuple[Function, ...]:
    """An activation and its derivatives, and behind them the constant one, for odd means."""
    return (*activation, Unrelated(np.ones_like))


def joined(stride: int, count: int, *activations: Sequence[Function]) -> tuple[Function, ...]:
    """Several activations in one list, so many functions of each, a stride apart."""
    chain: list[Function] = []
    for first, *others in activations:
        own: list[Function] = [Unrelated(first), *others[: count - 1]]
        chain += own
        chain += [Unrelated(np.zeros_like)] * (stride - len(own))
    return tuple(chain)


def means_of_fields(
    problem: Problem,
    fields: Mapping[str, Field],
    means: Mapping[str, LayerMeans],
    ones: Mapping[str, int],
    h: Any,
    below: Tables,
    prepare: Callable[[str, Tables], None] | None = None,
) -> Tables:
    """All means that the recursions read, by the names of their fields and functions.

    Args:
        problem: what is computed.
        fields: in the order of their computation.
        means: how those of each list of functions are taken.
        ones: the number of the constant one behind each list.
        h: the hyperparameters of the layer.
        below: the tensors of the layer below.
        prepare: called with each field before its covariance is asked for, and the means so far.
    """
    wanted = {read for one in problem.recursions.values() for read in one.fields}
    for name in reversed([*fields]):
        if any(field == name for field, _ in wanted):
            wanted |= {*fields[name].reads}
    pairs = np.ix_(*[np.arange(len(problem.overlap))] * 2)
    named: dict[str, Array] = {}
    for name, field in fields.items():
        asked_of = sorted(order for of, order in wanted if of == name)
        if not asked_of:
            continue
        if prepare is not None:
            prepare(name, named)
        K = field.covariance(h, named, below, pairs)
        if field.scale:
            named[field.scale] = scale_of(name, K.diagonal())
        if not (orders := [order for order in asked_of if order]):
            continue
        one = ones[field.functions]
        even = [(*order, one)[: len(order) + len(order) % 2] for order in orders]
        asked = problem._replace(means=tuple(sorted({*even})))
        tables = dict(
            zip(asked.means, tables_of_means(asked, means[field.functions], K), strict=True)
        )
        for order, full in zip(orders, even, strict=True):
            table = tables[full]
            odd = PAIRED.get(len(order))
            named[f"{name}_{table_name(order)}"] = np.einsum(odd, table) if odd else table
    return named
