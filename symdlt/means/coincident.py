"""Gaussian means of products of two functions with kinks of one and the same preactivation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from symdlt.means.grids import Array, Function, KernelInputError, evaluate
from symdlt.means.narrow import with_narrow
from symdlt.means.panels import (
    Kinks,
    Rule,
    all_finite,
    bells,
    checked_kinks,
    delta_mean,
    in_units,
    panel_rule,
    panels_of,
)
from symdlt.means.spectra import Tasks

# Of a place: kinks so near are one. Above rounding of roots and quotients; convention.
MATCH = 1e-12


def merged_means(
    activation: Sequence[Function],
    kinks: Sequence[tuple[float, Sequence[float]]],
    variances: Array,
    tasks: Sequence[tuple[int, int, int]],
) -> list[Array]:
    """The means of d^k(f_a f_b)/k! of one sample for each (a, b, k), at every variance.

    These are what recursions have where samples coincide, finite also where the single means of
    f_{a+c} f_{b+k-c} are not.
    """
    places = checked_kinks(activation, kinks)
    try:
        given = np.asarray(variances)
    except ValueError:
        given = np.array([])
    if given.ndim != 1 or given.dtype.kind not in "fiu" or not (given > 0.0).all():
        given = np.array([])
    if not given.size or not np.isfinite(given).all():
        raise KernelInputError(
            f"The variances are {variances!r}. They are those of one input each. "
            "Give a list of finite positive numbers."
        )
    roots = np.sqrt(given.astype(np.float64, copy=False))
    for task in tasks if isinstance(tasks, Sequence) else [tasks]:
        if (
            not isinstance(task, Sequence)
            or len(task) != 3
            or not all(isinstance(x, int) and x >= 0 for x in task)
            or max(task[:2]) + task[2] >= len(activation)
        ):
            raise KernelInputError(
                f"The means {task!r} cannot be taken: they are (a, b, k), and a + k and b + k are "
                f"derivatives. The activation is given by {len(activation)} functions. "
                "Give more derivatives, or lower orders."
            )
    orders = sorted({(a + c, b + k - c) for a, b, k in tasks for c in range(k + 1)})
    with np.errstate(all="ignore"):
        places = with_narrow(places, activation, roots)
        rule = panel_rule(activation, places, roots)
        single = coincident_means(activation, places, orders, roots, roots, rule)
    where = {order: index for index, order in enumerate(orders)}
    means = [
        np.sum(
            [
                single[where[a + c, b + k - c]] / (math.factorial(c) * math.factorial(k - c))
                for c in range(k + 1)
            ],
            axis=0,
        )
        for a, b, k in tasks
    ]
    return all_finite(means, float(given.max()))


def coincident_means(
    activation: Sequence[Function],
    kinks: Kinks,
    orders: Tasks,
    one: Array,
    other: Array,
    rule: Rule,
) -> Array:
    """<f_a(s x) f_b(t x)> over standard x for all s in one, t in other, as array (order, sample).

    Where kinks of both factors meet, products of a step and a delta function are their limit for a
    smoothed activation, and those that diverge are defined by Leibniz' rule and by leaving out
    what f_a f_a has beyond its regular part.
    """
    ours, theirs = in_units(kinks.places, one), in_units(kinks.places, other)
    x, w = panels_of(np.concatenate([ours, theirs], axis=1), rule)
    first = {a: w * evaluate(activation[a], a, one[:, None] * x) for a in {a for a, _ in orders}}
    second = {b: evaluate(activation[b], b, other[:, None] * x) for b in {b for _, b in orders}}
    means = np.array([np.einsum("ij,ij->i", first[a], second[b]) for a, b in orders])
    places = kinks.places
    meet = np.abs(other[:, None, None] * ours[..., None] - places) <= MATCH * np.abs(places)
    meet &= (one > 0.0)[:, None, None]
    for p in range(places.size):
        for q in np.flatnonzero(meet[:, p].any(axis=0)):
            rows = meet[:, p, q]
            means[:, rows] += met_kinks(
                activation, kinks, (p, int(q)), orders, one[rows], other[rows]
            )
        for single, s, t, turned in (
            (~meet[:, p].any(axis=1), one, other, False),
            (~meet[:, :, p].any(axis=1), other, one, True),
        ):
            rows = single & (one > 0.0)
            if rows.any():
                means[:, rows] += lone_kink(
                    activation,
                    kinks,
                    p,
                    [o[::-1] for o in orders] if turned else orders,
                    s[rows],
                    t[rows],
                )
    return means


def lone_kink(
    activation: Sequence[Function], kinks: Kinks, p: int, orders: Tasks, s: Array, t: Array
) -> Array:
    """What the delta functions of f_a at a kink add where f_b is smooth."""
    unit = in_units(kinks.places[p : p + 1], s)[:, 0]

    def smooth(b: int) -> Callable[[int], Array]:
        return lambda order: (t / s) ** order * evaluate(activation[b + order], b + order, t * unit)

    return np.array(
        [
            np.broadcast_to(delta_mean(kinks.jumps[p], a, unit, s, smooth(b)), s.shape)
            for a, b in orders
        ]
    )


def met_kinks(
    activation: Sequence[Function],
    kinks: Kinks,
    pair: tuple[int, int],
    orders: Tasks,
    s: Array,
    t: Array,
) -> Array:
    """What is added where both functions have a kink, by Leibniz' rule.

    excess(a, b, k) is that of d^a f(sx) d^b f(tx) times the Hermite polynomial He_k(x).
    """
    p, q = pair
    most = max(a + b for a, b in orders)
    table = bells(in_units(kinks.places[p : p + 1], s)[:, 0], most + 1)
    left, jump_left = sides(activation, kinks, p, s, most)
    right, jump_right = sides(activation, kinks, q, t, most)

    @cache
    def excess(a: int, b: int, k: int) -> Array:
        bell: Array = table[k]
        if a == b:
            return np.zeros_like(bell)
        if b == a + 1:
            return bell * left(a) * jump_right(a)
        if a == b + 1:
            return bell * right(b) * jump_left(b)
        a, b = (a, b - 1) if a < b else (a - 1, b)
        jump = left(a) * jump_right(b) + jump_left(a) * right(b)
        rest = excess(a + 1, b, k) if a < b else excess(a, b + 1, k)
        return excess(a, b, k + 1) + bell * jump - rest

    return np.array([excess(a, b, 0) / (s**a * t**b) for a, b in orders])


def sides(
    activation: Sequence[Function], kinks: Kinks, p: int, s: Array, most: int
) -> tuple[Callable[[int], Array], Callable[[int], Array]]:
    """The mean of both sides and the jump of d^k f(sx) at a kink, in the direction of x."""
    place = float(kinks.places[p])
    beside = np.array([np.nextafter(place, -math.inf), np.nextafter(place, math.inf)])

    def middle(k: int) -> Array:
        value: Array = s**k * float(evaluate(activation[k], k, beside).mean())
        return value

    def jump(k: int) -> Array:
        value: Array = np.sign(s) * s**k * kinks.jumps[p, k]
        return value

    return middle, jump
