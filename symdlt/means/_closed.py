"""Closed forms of the Gaussian means of all pairs of samples, for activations that have them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from symdlt.means._closed_layers import (
    PairLayer,
    erf_layer,
    gelu_layer,
    layer_of_pairs,
    relu_layer,
)
from symdlt.means._correlations import correlations
from symdlt.means._grids import Array, KernelInputError
from symdlt.means._pairs import check_orders, wanted_by, whole_means
from symdlt.means._panels import all_finite
from symdlt.means._spectra import Tasks
from symdlt.means._steps import TOUCHING, Moment, single_moment, step_moments
from symdlt.means._triangle import PairTables, Triangle, triangle

MOST_ORDERS = 12
FamilyMeans = Callable[..., list[Array]]


def relu_means(
    c: Array, one: Array, two: Array, orders: Tasks, left: float = 0.0, right: float = 1.0
) -> list[Array]:
    """Means for left z below and right z above zero, from covariances c and both variances."""
    first, second = np.sqrt(one), np.sqrt(two)
    scale = first * second
    t: Array = np.clip(np.divide(c, scale, out=np.zeros_like(c), where=scale > 0.0), -1.0, 1.0)
    np.copyto(t, np.sign(t), where=np.abs(t) >= TOUCHING)
    moment = step_moments(t, np.sqrt((1.0 - t) * (1.0 + t)))
    jump = right - left

    def line(a: int, b: int) -> Array | float:
        """<z^(a) f_{b-1}(y)>, the straight line with the positive part."""
        if a == 0:
            return t * single_moment(b)
        return single_moment(b - 1) if a == 1 else 0.0

    def mean(a: int, b: int) -> Array:
        total = jump**2 * moment(a - 1, b - 1)
        if left:
            total = total + left * jump * (line(a, b) + line(b, a))
            if a == b < 2:
                total = total + left**2 * (1.0 if a else t)
        return total * powers(first, 1 - a) * powers(second, 1 - b)

    return [mean(a, b) for a, b in orders]


def powers(roots: Array, exponent: int) -> Array:
    """A power of standard deviations, not used where these are zero."""
    found: Array = (roots if exponent >= 0 else np.where(roots > 0.0, roots, 1.0)) ** exponent
    return found


def smoothed_steps(c: Array, first: Array, second: Array) -> Moment:
    """The moments for steps smoothed by a Gaussian, from its variance plus those of the samples."""
    ours, theirs = 1.0 / np.sqrt(first), 1.0 / np.sqrt(second)
    t = c * ours
    t *= theirs
    s = t * t
    np.subtract(1.0, s, out=s)
    np.sqrt(s, out=s)
    moment = step_moments(t, s)

    @cache
    def scaled(p: int, q: int) -> Array:
        found = moment(p, q)
        return found if p == q == 0 else found * ours**p * theirs**q

    return scaled


def erf_means(c: Array, one: Array, two: Array, orders: Tasks) -> list[Array]:
    """Means but <erf erf>; erf(z) = 2 f(z) - 1, f a step smoothed by a Gaussian of variance 1/2."""
    moment = smoothed_steps(c, one + 0.5, two + 0.5)

    return [np.zeros_like(c) if (a + b) % 2 else 4.0 * moment(a, b) for a, b in orders]


def gelu_means(c: Array, one: Array, two: Array, orders: Tasks) -> list[Array]:
    """Means for z f(z), with the step f smoothed by a Gaussian of variance 1; by parts."""
    moment = smoothed_steps(c, one + 1.0, two + 1.0)

    def left(a: int, b: int) -> Array:
        return one * moment(a + 1, b) + c * moment(a, b + 1)

    def right(a: int, b: int) -> Array:
        return two * moment(a, b + 1) + c * moment(a + 1, b)

    def both(a: int, b: int) -> Array:
        return c * moment(a, b) + one * right(a + 1, b) + c * right(a, b + 1)

    def mean(a: int, b: int) -> Array:
        total = both(a, b)
        if b:
            total = total + b * left(a, b - 1)
        if a:
            total = total + a * right(a - 1, b)
        return total + a * b * moment(a - 1, b - 1) if a and b else total

    return [mean(a, b) for a, b in orders]


def sine_means(
    c: Array, one: Array, two: Array, orders: Tasks, frequency: float = 1.0, phase: float = 0.0
) -> list[Array]:
    """Means for sin(frequency z + phase), by the sum and the difference of both angles."""
    square, size = frequency**2, np.abs(c)
    apart = np.exp(-0.5 * square * np.maximum(one + two - 2.0 * size, 0.0))
    less = np.expm1(-2.0 * square * size)
    turn = (math.cos(2.0 * phase), -math.sin(2.0 * phase))

    def mean(a: int, b: int) -> Array:
        minus = (1.0, 0.0, -1.0, 0.0)[(a - b) % 4]
        plus = (turn[0], turn[1], -turn[0], -turn[1])[(a + b) % 4]
        return (0.5 * frequency ** (a + b)) * (
            apart * ((minus - plus) + np.where(c < 0.0, minus, -plus) * less)
        )

    return [mean(a, b) for a, b in orders]


def polynomial_means(
    c: Array, one: Array, two: Array, orders: Tasks, coefficients: Sequence[float] = (0.0, 1.0)
) -> list[Array]:
    """Means for the sum of coefficients[k] z^k: the sum of c^m/m! <f^(a+m)> <f^(b+m)>."""
    degree = len(coefficients) - 1

    def single(order: int, variances: Array) -> Array:
        total = np.zeros_like(variances)
        for k in range(order, degree + 1, 2):
            moment = math.perm(k, order) * math.prod(range(k - order - 1, 0, -2))
            total += coefficients[k] * moment * variances ** ((k - order) // 2)
        return total

    def mean(a: int, b: int) -> Array:
        total = np.zeros_like(c)
        for m in range(degree - max(a, b), -1, -1):
            outer = single(a + m, one) * single(b + m, two)
            total = total * (c / (m + 1.0)) + outer
        return total

    return [mean(a, b) for a, b in orders]


GENERAL: dict[str, FamilyMeans] = {
    "erf": erf_means,
    "gelu": gelu_means,
    "relu": relu_means,
    "sin": sine_means,
    "polynomial": polynomial_means,
}
LAYERED = ((0, 0), (1, 1))
LAYERS: dict[str, PairLayer] = {"erf": erf_layer, "gelu": gelu_layer, "relu": relu_layer}
LARGEST_PARAMETER = 1e100  # products of a few of them are finite
PARAMETERS = {"relu": {"left", "right"}, "sin": {"frequency", "phase"}}


def closed_pair_means(
    family: str, K: Array, orders: Sequence[tuple[int, int]], **parameters: float
) -> list[Array]:
    """<f_a(z_i) f_b(z_j)> for z ~ N(0, K) as an N×N array for each (a, b) in orders.

    Families are erf; gelu; relu, which is left z below zero and right z above, by default 0 and 1;
    sin, which is sin(frequency z + phase); and polynomial, the sum of coefficients[k] z^k. Means
    of relu have delta functions, and are those of kinked_pair_means.
    """
    check_family(family, parameters)
    check_orders(MOST_ORDERS, orders)
    given = correlations(K)
    check_kink(family, given.roots, orders)
    wanted = wanted_by(tuple((a, b) for a, b in orders))
    tasks = [(wanted.used[a], wanted.used[b]) for a, b in wanted.tasks]
    corner = triangle(len(given.roots))
    with np.errstate(all="ignore"):
        sums = closed_pair_tables(family, tasks, **parameters)(corner.packed(given.K), corner)
    all_finite(sums, float(given.roots.max()) ** 2)
    return whole_means(np.array(sums), wanted, corner)


def closed_pair_tables(family: str, orders: Tasks, **parameters: float) -> PairTables:
    """What gives the means for the pairs i <= j, from K that are not checked."""
    layered = family in LAYERS and any(order in LAYERED for order in orders)
    others = [order for order in orders if not layered or order not in LAYERED]
    layer = partial(LAYERS[family], **parameters) if layered else None

    def tables(K: Array, corner: Triangle) -> list[Array]:
        known: dict[tuple[int, int], Array] = {}
        variances = K.take(corner.diagonal)
        check_kink(family, variances, orders)
        if layer is not None:
            known[0, 0], known[1, 1] = layer_of_pairs(layer, K, variances, corner)
        if others:
            one, two = variances.take(corner.first), variances.take(corner.second)
            general = GENERAL[family](K, one, two, others, **parameters)
            known |= dict(zip(others, general, strict=True))
        return [known[order] for order in orders]

    return tables


def check_kink(family: str, variances: Array, orders: Tasks) -> None:
    """Refuse derivatives at the kink."""
    if family == "relu" and not variances.all() and any(a or b for a, b in orders):
        raise KernelInputError(
            "The kernel K has samples of variance zero. The activation has a kink at zero, where "
            "not all of its derivatives are defined. Give samples that are not zero, or a bias."
        )


def check_family(family: Any, parameters: Any) -> None:
    """Refuse what has no closed form, and parameters that it does not have."""
    if not isinstance(family, str) or family not in GENERAL:
        raise KernelInputError(
            f"There is no closed form for {family!r}. Families are {' '.join(GENERAL)}. "
            "Use pair_means, or kinked_pair_means for activations with kinks."
        )
    known = PARAMETERS.get(family, {"coefficients"} if family == "polynomial" else set())
    axes = 1 if family == "polynomial" else 0
    try:
        values = [np.asarray(value) for value in parameters.values()]
        accepted = parameters.keys() <= known and all(
            v.ndim == axes and v.dtype.kind in "fiu" and (np.abs(v) <= LARGEST_PARAMETER).all()
            for v in values
        )
    except (TypeError, ValueError, AttributeError):
        accepted = False
    if not accepted:
        raise KernelInputError(
            f"The parameters {parameters!r} are not those of {family}. "
            f"It has {' and '.join(sorted(known)) or 'none'}. "
            f"Give numbers of at most {LARGEST_PARAMETER:g} for these."
        )
