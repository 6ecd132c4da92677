"""Gaussian means of functions with kinks and jumps: panels that end at them, and what they add."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from symdlt.means._grids import TINY, Array, Function, KernelInputError, check_callable, evaluate

EDGE = 13.0
CENTRE = 0.37
BEYOND = 38.0
PANEL_NODES = (32, 48, 72, 108, 162, 243)
PANEL_AGREEMENT = 1e-13
PARTS_AGREEMENT = 1e-9


class Kinks(NamedTuple):
    """Where derivatives jump: places (p), and how far the k-th one does: jumps (p, k)."""

    places: Array
    jumps: Array


def checked_kinks(
    activation: Sequence[Function], kinks: Sequence[tuple[float, Sequence[float]]]
) -> Kinks:
    """The kinks as arrays."""
    check_callable(activation)
    count = len(activation)
    try:
        kinks = list(kinks)
        places = np.array([place for place, _ in kinks], dtype=np.float64)
        jumps = [np.array(jumps, dtype=np.float64)[:count] for _, jumps in kinks]
        table = np.array(jumps, dtype=np.float64).reshape(len(jumps), count)
    except (TypeError, ValueError, IndexError) as problem:
        raise KernelInputError(
            f"The kinks are {kinks!r}. Each is a position with the jumps of sigma, sigma', …. "
            f"Give as many jumps as functions, {count}, for each."
        ) from problem
    if not (np.isfinite(places).all() and np.isfinite(table).all()):
        raise KernelInputError(
            f"The kinks {kinks!r} are not all finite. Each is a position with the jumps of sigma, "
            "sigma', … there. Give finite numbers."
        )
    if np.unique(places).size < places.size:
        raise KernelInputError(
            f"The kinks {kinks!r} repeat a position. Each is a position with the jumps of sigma, "
            "sigma', … there. Give each position once."
        )
    return Kinks(places, table)


def all_finite(means: list[Array], highest: float) -> list[Array]:
    """Refuse to return what has overflowed."""
    if not all(np.isfinite(mean).all() for mean in means):
        raise KernelInputError(
            "The Gaussian means of the activation overflow. "
            f"The largest variance is {highest:.3g}. "
            "Give variances nearer to one, or lower orders."
        )
    return means


@lru_cache(maxsize=16)
def legendre(count: int) -> tuple[Array, Array]:
    """The Gauss-Legendre rule, its weights from the slopes at the nodes, to the last digits."""
    nodes: Array = np.polynomial.legendre.leggauss(count)[0]
    before, now = np.ones_like(nodes), nodes
    for k in range(2, count + 1):
        before, now = now, ((2 * k - 1) * nodes * now - (k - 1) * before) / k
    slopes = count * (nodes * now - before) / (nodes**2 - 1.0)
    return nodes, 2.0 / ((1.0 - nodes**2) * slopes**2)


def panels(edges: Array, count: int) -> tuple[Array, Array]:
    """Nodes and weights of a standard Gaussian on panels between edges, along the last axis."""
    x, w = legendre(count)
    edges = np.sort(np.clip(edges, -EDGE, EDGE), axis=-1)
    widths = np.diff(edges)
    used = widths.any(axis=tuple(range(widths.ndim - 1)))
    half = 0.5 * widths[..., used, None]
    nodes = edges[..., :-1][..., used, None] + half * (1.0 + x)
    weights = half * (w / math.sqrt(2.0 * math.pi)) * np.exp(-0.5 * nodes**2)
    shape = (*edges.shape[:-1], -1)
    return nodes.reshape(shape), weights.reshape(shape)


def with_ends(edges: Array) -> Array:
    """Edges along the last axis with both ends and, for no panel to be too wide, the centre."""
    ends = np.array([-EDGE, EDGE, CENTRE] if edges.any() or not edges.size else [-EDGE, EDGE])
    return np.concatenate([edges, np.broadcast_to(ends, (*edges.shape[:-1], ends.size))], axis=-1)


def in_units(places: Array, roots: Array) -> Array:
    """The places (r, p) in units of standard deviations, those beyond any Gaussian at the end."""
    units = np.full((roots.size, places.size), BEYOND)
    np.divide(places, roots[:, None], out=units, where=roots[:, None] != 0.0)
    clipped: Array = np.clip(units, -BEYOND, BEYOND)
    return clipped


def bells(x: Array, count: int) -> Array:
    """The Gaussian density and its derivatives times (-1)^k, in that order along a new axis."""
    table = np.empty((count, *x.shape))
    table[0] = np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi) * (np.abs(x) < BEYOND)
    for k in range(1, count):
        table[k] = x * table[k - 1] - ((k - 1.0) * table[k - 2] if k > 1 else 0.0)
    return table


def panel_nodes(activation: Sequence[Function], kinks: Kinks, root: float) -> int:
    """How many nodes a panel needs at the largest standard deviation.

    By parts, E[(x-1) e^x f] = s E[e^x f'] + sum over kinks of their jumps times e^x and density:
    this finds kinks that were not given, wrong jumps, and what is not a derivative.
    """
    edges = with_ends(in_units(kinks.places, np.array([root])))[0]
    before = None
    for count in PANEL_NODES:
        x, w = panels(edges, count)
        values = np.array([evaluate(f, k, root * x) for k, f in enumerate(activation)])
        products = (values[:, None] * values).reshape(-1, x.size)
        tilted = w * np.exp(x - 0.5)
        found = np.concatenate([products @ w, values @ tilted, values @ (x * tilted)])
        sizes = np.concatenate([np.abs(products) @ w, *2 * [np.abs(values) @ tilted]])
        if not np.isfinite(sizes).all():
            raise KernelInputError(
                f"The activation overflows or is not finite at variance {root**2:.3g}. "
                "It is averaged over a Gaussian. Give a smaller variance or a tamer activation."
            )
        if before is not None and (np.abs(found - before) <= PANEL_AGREEMENT * sizes + TINY).all():
            check_parts(kinks, root, values, x, tilted)
            return count
        before = found
    raise KernelInputError(
        f"The Gaussian means of the activation do not converge at variance {root**2:.3g}. "
        "It is integrated between its kinks. "
        "Give all kinks, or a smoother activation, or a smaller variance."
    )


def check_parts(kinks: Kinks, root: float, values: Array, x: Array, tilted: Array) -> None:
    """Test every function against the one before."""
    units = in_units(kinks.places, np.array([root]))[0]
    at_kinks = bells(units, 1)[0] * np.exp(units - 0.5)
    left = values[:-1] @ ((x - 1.0) * tilted)
    right = root * values[1:] @ tilted + at_kinks @ kinks.jumps[:, :-1]
    size = np.abs(values[:-1]) @ (np.abs(x - 1.0) * tilted) + root * np.abs(values[1:]) @ tilted
    wrong = ~(np.abs(left - right) <= PARTS_AGREEMENT * size + TINY)
    if wrong.any():
        order = int(np.argmax(wrong)) + 1
        raise KernelInputError(
            f"Function {order} of the activation is not the derivative of function {order - 1}. "
            f"Integration by parts with the given kinks fails for z of variance {root**2:.3g}. "
            "Give sigma, sigma', sigma'', … in order, and all kinks with their jumps."
        )


def delta_sum(jumps: Array, order: int, term: Callable[[int], Array]) -> Array | float:
    """The sum over r of the jump of function order-1-r times term(r), of one kink.

    That function of the activation, as a distribution, contains this combination of the
    derivatives delta^(r) at the kink.
    """
    total: Array | float = 0.0
    for r in range(order):
        if jumps[order - 1 - r]:
            total = total + jumps[order - 1 - r] * term(r)
    return total


def delta_mean(
    jumps: Array, order: int, unit: Array, root: Array, derivative: Callable[[int], Array]
) -> Array | float:
    """The mean over z = root x of the delta functions of one function at a kink times another.

    The kink is at x = unit, and derivative(c) is the c-th derivative of the other by z.
    """
    table = bells(unit, max(order, 1))

    def term(r: int) -> Array:
        total: Array = sum(
            math.comb(r, c) * (-1.0) ** c * derivative(c) * table[r - c] / root ** (r - c)
            for c in range(r + 1)
        )
        return total / np.abs(root)

    return delta_sum(jumps, order, term)
