"""Means over the fields of a layer, one field after the other, of many inputs and of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from symdlt.kernels.numpy_target.checks import scale_of
from symdlt.kernels.numpy_target.layers import tables_of_means
from symdlt.kernels.numpy_target.problem import Problem, Samples, Tables, table_name
from symdlt.kernels.numpy_target.quadrature import MeanTable, Quadrature, check_finite
from symdlt.means import Array, Function, KernelInputError, LayerMeans, Unrelated

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


Values = Mapping[str, Any]  # arrays over the layers, or numbers of one layer


class FieldMeans(NamedTuple):
    """A Gaussian field of a layer: its variance from means of earlier ones, and what is integrated.

    The names are those of the rows of its table. Of a field that is normalised, `scale` names what
    it is multiplied with there.
    """

    variance: Callable[[Any, Values, Values], Any]
    functions: str
    table: MeanTable | None
    names: tuple[str, ...]
    scale: str = ""


def means_over_layers(
    fields: Mapping[str, FieldMeans],
    functions: Mapping[str, Sequence[Function]],
    advance: Callable[[Any, Values, Values], Any],
    first: float,
    h: Any,
) -> tuple[Array, dict[str, Array]]:
    """The variance K at every layer, and all means of the layers that others read.

    Args:
        fields: in the order of their computation.
        functions: of each list of functions these and their derivatives.
        advance: K of layer l+1.
        first: that of layer 1.
        h: the hyperparameters, one value a layer.
    """
    quadratures = {
        n: Quadrature(functions[f.functions], f.table) for n, f in fields.items() if f.table
    }
    K = [first]
    rows: list[dict[str, float]] = []
    for layer, values in enumerate(zip(*h, strict=True), 1):
        at, below, means = type(h)(*values), {"G": K[-1]}, dict[str, float]()
        for name, field in fields.items():
            variance = float(field.variance(at, means, below))
            refuse_negative(f"the field {name}", variance, layer + 1)
            if field.scale:
                means[field.scale] = float(scale_of(name, variance))
            if name in quadratures:
                own = quadratures[name].at(variance, layer)
                means |= dict(zip(field.names, own.tolist(), strict=True))
        K.append(float(advance(at, means, below)))
        rows.append(means)
        if not math.isfinite(K[-1]):
            check_finite("G", np.array(K), np.array(K))
        refuse_negative("G", K[-1], layer + 1)
    return np.array(K), {name: np.array([row[name] for row in rows]) for name in rows[0]}


def refuse_negative(name: str, variance: float, layer: int) -> None:
    """Refuse a variance that is none."""
    if not variance >= 0.0:
        raise KernelInputError(
            f"The variance of {name} is {variance:.3g} at layer {layer}. A variance is never "
            "negative. This is a fault of the kernel or of the activation given to it."
        )
