"""Means over four samples given those that lead one or two lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.means.grids import TINY, Array, Function, KernelInputError, evaluate, evaluated
from symdlt.means.lines import Lines, Remains
from symdlt.means.nodes import Cloud, Oscillator
from symdlt.means.triangle import Indices

Together = Callable[[Array, int], Sequence[Array]]
Outer = tuple[tuple[int, int], ...]
Rest = tuple[int, ...]
Products = dict[Outer, list[Rest]]
Means = dict[tuple[Outer, Rest], Array]
Buffers = dict[tuple[str, int], Array]

# Nodes of a plane times those of a line at once: 128 kB a sample and function, for the cache.
CHUNK = 1 << 14


class Model(NamedTuple):
    """The functions in use by order, their parities and norms by sample, and the samples."""

    functions: dict[int, Function]
    together: Together | None
    parities: dict[int, int]
    norms: dict[int, Array]
    lines: Lines


class Block(NamedTuple):
    """Samples that are given, the others and which pairs of samples to take of these, and products.

    Products have outer factors (order, sample) on the lines of the given samples, and a rest: the
    orders of functions at none, one or two other samples. Their means are arrays over the others.
    """

    leads: tuple[int, ...]
    others: Indices
    pairs: NDArray[np.bool_]
    products: Products


def values_at(model: Model, orders: Iterable[int], z: Array) -> dict[int, Array]:
    """The functions of some orders."""
    if model.together is None:
        return {k: evaluate(model.functions[k], k, z) for k in orders}
    count = max(orders) + 1
    try:
        tables = list(model.together(z, count))
    except (TypeError, ValueError) as reason:
        raise KernelInputError(
            f"The activation cannot return functions together: {reason}. "
            f"It was called with an array and {count}, the number of functions. "
            "Give a function that returns sigma, sigma', sigma'', … at z in a list."
        ) from reason
    if len(tables) < count:
        raise KernelInputError(
            f"The activation returned {len(tables)} functions together. "
            f"It was called with an array and {count}, the number of functions. "
            "Give a function that returns sigma, sigma', sigma'', … at z in a list."
        )
    return {k: evaluated(tables[k], k, z) for k in orders}


def block_means(
    model: Model, block: Block, left: Remains, given: Cloud, inner: Oscillator
) -> tuple[Means, Array]:
    """The means, and how far they are off in their norms without every second node, by signs.

    Of means with two others the first power of the correlations tells. Where others hardly depend
    on the given samples, as of inputs that are nearly orthogonal, that of odd functions is nearly
    zero whatever the step; so what the factors at the given samples are off by counts as well.
    """
    rows = last_rows(block)
    powers = correlation_powers(left.rho[np.ix_(block.others, block.others)], inner)
    count = block.others.size
    pairs = {b: np.zeros((inner.powers.size, len(r) * count, count)) for b, r in rows.items()}
    checks = {b: np.zeros((len(given.signs), len(r) * count, count)) for b, r in rows.items()}
    few = {
        (outer, rest): np.zeros((1 + len(given.signs),) + (count,) * len(rest))
        for outer, rests in block.products.items()
        for rest in rests
        if len(rest) < 2
    }
    width = max(1, CHUNK // inner.nodes.size)
    buffers: Buffers = {}
    # Of odd products half a cloud has no mean; where parities are unknown it is a whole one.
    even = [o for o in block.products if math.prod(model.parities[k] for k, _ in o) >= 0]
    apart: dict[Outer, Array] = {outer: np.zeros(len(given.signs)) for outer in even}
    for start in range(0, given.weights.size, width):
        part = slice(start, start + width)
        some = Cloud(given.nodes[:, part], given.weights[part], given.signs[:, part])
        weights = outer_weights(model, block, left, some)
        tables = inner_tables(model, block, left, some, inner, buffers)
        for outer, moved in apart.items():
            moved += some.signs @ weights[outer]
        add_pairs(pairs, checks, rows, weights, tables, some.signs, buffers)
        add_few(few, weights, tables, inner.table.sum(axis=1), some.signs)
    means: Means = {}
    off = np.zeros(len(given.signs))
    for outer, moved in apart.items():
        scale = norm_products(model, block.others, outer, ())
        np.maximum(off, np.abs(moved) / scale, out=off)
    for b, total in pairs.items():
        each = total.reshape(inner.powers.size, len(rows[b]), count, count)
        summed = np.einsum("mrkl,mkl->rkl", each, powers)
        check = np.abs(checks[b]).reshape(len(off), *summed.shape)
        for row, ((outer, a), mean) in enumerate(zip(rows[b], summed, strict=True)):
            means[outer, (a, b)] = mean
            scale = norm_products(model, block.others, outer, (a, b))
            np.maximum(off, (check[:, row] / scale).max(axis=(1, 2), initial=0.0), out=off)
    for (outer, rest), sums in few.items():
        means[outer, rest] = sums[0]
        scale = norm_products(model, block.others, outer, rest)
        moved = (np.abs(sums[1:]) / scale).reshape(len(off), -1)
        np.maximum(off, moved.max(axis=1, initial=0.0), out=off)
    return means, off


def last_rows(block: Block) -> dict[int, list[tuple[Outer, int]]]:
    """For each order of the last sample the outer factors and orders of the last but one."""
    rows: dict[int, list[tuple[Outer, int]]] = {}
    for outer, rests in block.products.items():
        for rest in rests:
            if len(rest) == 2:
                rows.setdefault(rest[1], []).append((outer, rest[0]))
    return rows


def correlation_powers(rho: Array, inner: Oscillator) -> Array:
    """The powers of all correlations, with the sign of the odd ones."""
    powers: Array = np.abs(rho) ** inner.powers[:, None, None]
    powers[inner.odd] *= np.where(rho < 0.0, -1.0, 1.0)
    return powers


def norm_products(model: Model, others: Indices, outer: Outer, rest: Rest) -> Array:
    """The products of the norms of all factors."""
    scale = np.array(math.prod(float(model.norms[k][sample]) for k, sample in outer))
    for k in rest:
        scale = scale[..., None] * model.norms[k][others]
    floored: Array = np.maximum(scale, TINY)
    return floored


def outer_weights(model: Model, block: Block, left: Remains, given: Cloud) -> dict[Outer, Array]:
    """The weights of the nodes times the outer factors."""
    orders: dict[int, set[int]] = {}
    for outer in block.products:
        for k, sample in outer:
            orders.setdefault(sample, set()).add(k)
    values = {}
    for sample, some in orders.items():
        z = model.lines.roots[sample] * (left.loads[:, sample] @ given.nodes)
        values.update({(k, sample): v for k, v in values_at(model, some, z).items()})
    return {
        outer: math.prod((values[factor] for factor in outer), start=given.weights)
        for outer in block.products
    }


def buffer(buffers: Buffers, key: tuple[str, int], shape: tuple[int, ...]) -> Array:
    """An array to be filled, in memory that is used again for each chunk of nodes.

    Measured: with arrays made anew for each chunk, eight raw rows of Iris take an eighth longer.
    """
    size = math.prod(shape)
    if key not in buffers or buffers[key].size < size:
        buffers[key] = np.empty(size)
    return buffers[key][:size].reshape(shape)


def inner_tables(
    model: Model, block: Block, left: Remains, given: Cloud, inner: Oscillator, buffers: Buffers
) -> dict[int, Array]:
    """For each order the coefficients (m, other sample, node)."""
    orders = sorted({k for rests in block.products.values() for rest in rests for k in rest})
    shape = (inner.powers.size, block.others.size, given.weights.size)
    tables = {k: buffer(buffers, ("table", k), shape) for k in orders}
    for place, sample in enumerate(block.others.tolist() if orders else []):
        root = model.lines.roots[sample]
        middle = root * (left.loads[:, sample] @ given.nodes)
        z = middle + (root * left.spread[sample] * inner.nodes)[:, None]
        for k, value in values_at(model, orders, z).items():
            np.matmul(inner.table, value, out=tables[k][:, place])
    return tables


def sizes_of_terms(
    model: Model, block: Block, left: Remains, given: Cloud, inner: Oscillator
) -> Array:
    """How much each power of the correlations has at most, in units of the norms.

    By Schwarz's inequality, with the outer factors in the weights: sums of |W T_a T_b| over the
    nodes are at most the roots of those of |W| T_a^2 and |W| T_b^2.
    """
    tables = inner_tables(model, block, left, given, inner, {})
    sums = {k: np.zeros((inner.powers.size, block.others.size)) for k in tables}
    for outer, weights in outer_weights(model, block, left, given).items():
        scale = max(math.prod(float(model.norms[k][sample]) for k, sample in outer), TINY)
        for k in {k for rest in block.products[outer] if len(rest) == 2 for k in rest}:
            squares = tables[k] ** 2 @ (np.abs(weights) / scale)
            norms = np.maximum(model.norms[k][block.others], TINY)
            np.maximum(sums[k], np.sqrt(squares) / norms, out=sums[k])
    largest = np.max([*sums.values()], axis=0)
    rho = np.abs(left.rho[np.ix_(block.others, block.others)])
    wanted = block.pairs[np.ix_(block.others, block.others)]
    powers = np.where(wanted, rho ** inner.powers[:, None, None], 0.0)
    squares = (powers * largest[:, :, None] * largest[:, None]).max(axis=(1, 2), initial=0.0)
    sizes: Array = squares
    return sizes


def add_pairs(
    pairs: dict[int, Array],
    checks: dict[int, Array],
    rows: dict[int, list[tuple[Outer, int]]],
    weights: dict[Outer, Array],
    tables: dict[int, Array],
    signs: Array,
    buffers: Buffers,
) -> None:
    """Add some nodes to the sums of products with two other samples."""
    for b, total in pairs.items():
        terms, count, width = tables[b].shape
        left = buffer(buffers, ("rows", 0), (terms, len(rows[b]), count, width))
        for row, (outer, a) in enumerate(rows[b]):
            np.multiply(tables[a], weights[outer], out=left[:, row])
        rows_of = left.reshape(terms, -1, width)
        right = tables[b].transpose(0, 2, 1)
        total += rows_of @ right
        checks[b] += rows_of[0] * signs[:, None] @ right[0]


def add_few(
    few: dict[tuple[Outer, Rest], Array],
    weights: dict[Outer, Array],
    tables: dict[int, Array],
    constant: Array,
    signs: Array,
) -> None:
    """Add some nodes to the sums of products with one other sample or none."""
    plain = np.vstack([np.ones_like(signs[:1]), signs])
    for (outer, rest), total in few.items():
        total += (plain * weights[outer]) @ (
            np.tensordot(constant, tables[rest[0]], 1).T if rest else np.ones(plain.shape[1])
        )
