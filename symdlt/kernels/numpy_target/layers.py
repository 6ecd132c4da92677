"""All tensors of many inputs, one layer after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from reprlib import repr as short_repr
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.kernels.numpy_target.problem import Problem, Tables, TensorRecursion, table_name
from symdlt.kernels.numpy_target.tuples import fill
from symdlt.means import Array, KernelInputError, LayerMeans, PairTables, Triangle, packed_tables

NamedMeans = Callable[[Any, Tables], Tables]  # of a layer, from its hyperparameters and below
SLICE = 1 << 15  # tuples at once: the arrays of a recursion then stay in the cache


def layers_of(
    problem: Problem,
    means: LayerMeans,
    first_layer: Callable[[Any, Array], dict[str, Array]],
    after_layer: Callable[[int], object] | None,
    named_means: NamedMeans | None = None,
) -> dict[str, Array]:
    """All tensors at all layers, with the layer as the first axis.

    Named means are those of a layer of several fields; else all are at the kernel of z.
    """
    check_functions(means=means, after_layer=after_layer)
    corner = problem.corner
    if corner is None:
        result = empty_layers(problem)
        write_first(problem, result, first_layer(problem.layers[0], problem.overlap))
        named = named_means or partial(means_by_name, problem, means)
        write_others(problem, result, partial(advance_all, problem, named), after_layer)
        return result
    overlap = corner.packed(problem.overlap)
    room = np.empty((len(problem.recursions), len(problem.layers), overlap.size))
    result = dict(zip(problem.recursions, room, strict=True))
    write_first(problem, result, first_layer(problem.layers[0], overlap))
    advance = partial(advance_pairs, problem, corner, pair_tables_of(problem, means))
    write_others(problem, result, advance, after_layer)
    return dict(zip(problem.recursions, corner.whole(room), strict=True))


def check_functions(**given: object) -> None:
    """Refuse what is no function, by its name."""
    for name, one in given.items():
        if one is not None and not callable(one):
            raise KernelInputError(
                f"{name} is {short_repr(one)}. Give a function, or leave it out."
            )


def write_first(problem: Problem, result: Tables, first: Tables) -> None:
    """The tensors at layer 1, where most of them vanish."""
    for name, one in problem.recursions.items():
        if name in first or name not in problem.tuples:
            result[name][0] = first.get(name, 0.0)
        else:
            fill(result[name][0], problem.tuples[name], one.symmetries, 0.0)
        if name in first and not np.isfinite(first[name]).all():
            raise KernelInputError(f"{name} overflows at layer 1. Give smaller learning rates.")


def write_others(
    problem: Problem,
    result: Tables,
    advance: Callable[[Any, Tables, Tables], None],
    after_layer: Callable[[int], object] | None,
) -> None:
    """The tensors of one layer after the other."""
    for layer, h in enumerate(problem.layers[1:], 1):
        below = {name: values[layer - 1] for name, values in result.items()}
        above = {name: values[layer] for name, values in result.items()}
        try:
            advance(h, below, above)
        except ValueError as reason:
            refuse_overflow(problem, result, layer)
            raise located(problem, result, reason, layer) from reason
        if after_layer is not None:
            after_layer(layer + 1)
    refuse_overflow(problem, result, len(problem.layers))


def pair_tables_of(problem: Problem, means: LayerMeans) -> PairTables:
    """What gives the means of pairs i <= j; ours do not check again that K is a covariance."""
    if hasattr(means, "pair_tables"):
        steps = [partial(variances_above, problem, h) for h in problem.layers[1:-1]]
        tables: PairTables = means.pair_tables(problem.means, steps)
        return tables
    return packed_tables(partial(tables_of_means, problem, means))


def variances_above(problem: Problem, h: Any, mean: Array) -> Array:
    """The variances of the next layer, from <s s> at single samples."""
    return problem.recursions["G"].advance(h, {table_name((0, 0)): mean}, {}, ())


def tables_of_means(problem: Problem, means: LayerMeans, K: Array) -> list[Array]:
    """All means that the recursions read."""
    tables = means(K, problem.means, problem.chosen)
    shapes = [np.shape(table) for table in tables] if isinstance(tables, (list, tuple)) else None
    if shapes != [(len(K),) * len(orders) for orders in problem.means]:
        raise KernelInputError(
            f"The means returned {short_repr(tables)} for the orders {short_repr(problem.means)}. "
            "They return a list with a table for each, of shape (N, N) or (N, N, N, N). "
            "Give for instance SmoothMeans(activation) of symdlt.means."
        )
    return list(tables)


def empty_layers(problem: Problem) -> dict[str, Array]:
    """Room for all tensors."""
    depth, count = len(problem.layers), len(problem.overlap)
    return {
        name: np.full((depth, *(count,) * one.axes), math.nan)
        for name, one in problem.recursions.items()
    }


def located(
    problem: Problem,
    result: Mapping[str, Array | Sequence[Array]],
    reason: ValueError,
    layer: int,
) -> KernelInputError:
    """An error, be it of means from elsewhere, with the layer that it happened below."""
    text = str(reason).rstrip(".") or "The means failed"
    start, largest = (float(variances(problem, result["G"][at]).max()) for at in (0, layer - 1))
    return KernelInputError(
        f"{text}. This happened on the way to layer {layer + 1} of {len(problem.layers)}; the "
        f"largest variance K is {largest:.3g} at layer {layer} and {start:.3g} at layer 1. Where K "
        "grows or decays, the variance of the weights is not at its critical value."
    )


def variances(problem: Problem, kernel: Array) -> Array:
    """Those of all samples."""
    return kernel.diagonal() if problem.corner is None else kernel[problem.corner.diagonal]


def refuse_overflow(problem: Problem, result: Tables, done: int) -> None:
    """Name the first tensor over pairs that is not finite; it never becomes finite again."""
    last = (values[done - 1].ravel() for values in result.values())
    if problem.tuples or all(math.isfinite(values @ values) for values in last):
        return
    for layer, (name, values) in product(range(done), result.items()):
        if not np.isfinite(values[layer]).all():
            reason = KernelInputError(f"{name} overflows.")
            raise located(problem, result, reason, max(layer, 1))


def advance_pairs(
    problem: Problem,
    corner: Triangle,
    tables: PairTables,
    h: Any,
    below: Tables,
    above: Mapping[str, Array],
) -> None:
    """Write the tensors of the next layer for the pairs i <= j."""
    named = dict(zip(problem.tables, tables(below["G"], corner), strict=True))
    for name, one in problem.recursions.items():
        above[name][...] = one.advance(h, named, below, (corner.first, corner.second))


def means_by_name(problem: Problem, means: LayerMeans, h: Any, below: Tables) -> Tables:
    """All means that the recursions read, at the kernel of the layer below."""
    del h
    return dict(zip(problem.tables, tables_of_means(problem, means, below["G"]), strict=True))


def advance_all(
    problem: Problem, named_means: NamedMeans, h: Any, below: Tables, above: Mapping[str, Array]
) -> None:
    """Write the tensors of the next layer."""
    pairs = np.ix_(*[np.arange(len(problem.overlap))] * 2)
    named = named_means(h, below)
    for name, one in problem.recursions.items():
        if name not in problem.tuples:
            above[name][...] = one.advance(h, named, below, pairs)
            wrong = not np.isfinite(above[name][known_pairs(problem, one)]).all()
        else:
            wrong = False
            rows = problem.tuples[name]
            for start in range(0, len(rows), SLICE):
                part = rows[start : start + SLICE]
                values = one.advance(h, named, below, tuple(part.T))
                wrong = wrong or not np.isfinite(values).all()
                fill(above[name], part, one.symmetries, values)
        if wrong:
            raise KernelInputError(f"{name} overflows.")


def known_pairs(problem: Problem, one: TensorRecursion) -> NDArray[np.bool_]:
    """The pairs at which the tensors that a recursion needs are computed."""
    count = len(problem.overlap)
    if problem.chosen is None or not any(name in problem.tuples for name in one.needs):
        return np.ones((count, count), dtype=bool)
    known = np.zeros((count, count), dtype=bool)
    i, j, k, m = problem.chosen.T
    twice = (i == j) & (k == m)
    known[i[twice], k[twice]] = known[k[twice], i[twice]] = True
    return known
