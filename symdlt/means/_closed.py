"""Closed forms of the Gaussian means of all pairs of samples, for activations that have them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import product
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
from symdlt.means._gaps import gaps
from symdlt.means._grids import Array, KernelInputError
from symdlt.means._pairs import check_orders, wanted_by, whole_means
from symdlt.means._panels import all_finite
from symdlt.means._spectra import Tasks
from symdlt.means._steps import BELL, TOUCHING, single_moment, step_moments
from symdlt.means._triangle import Indices, PairTables, Triangle, triangle
from symdlt.means._waves import Row, wave_means, wave_single, waves

MOST_ORDERS = 12
# A smoothed step loses digits as the variance grows beyond that of its smoothing: by that factor
# in <f' f'>, 2e-14 here (measured).
LARGE = 64.0
# Beyond it 1 - t^2 has lost a digit.
NEAR = 0.9
# Squares and twelfth powers of scales and of their reciprocals are floats.
LEAST_SCALE, LARGEST_SCALE = 1e-100, 1e100
PLAIN = ((1.0, 1.0),)
ALONE = (0.0,)
FamilyMeans = Callable[..., list[Array]]
Terms = Sequence[tuple[float, float]]
Single = Callable[[int, Array], Array]


def relu_means(
    c: Array, one: Array, two: Array, orders: Tasks, left: float = 0.0, right: float = 1.0
) -> list[Array]:
    """Means for left z below and right z above zero, from covariances c and both variances.

    It is left z + (right - left) f_{-1}(z), with the means of steps and, by Stein's lemma, of z.
    """
    first, second = np.sqrt(one), np.sqrt(two)
    scale = first * second
    t: Array = np.clip(np.divide(c, scale, out=np.zeros_like(c), where=scale > 0.0), -1.0, 1.0)
    square = (1.0 - t) * (1.0 + t)
    alike = np.abs(t) >= NEAR
    square[alike] = gaps(*(values[alike] for values in np.broadcast_arrays(c, one, two)))
    touching = np.abs(t) >= TOUCHING
    np.copyto(t, np.sign(t), where=touching)
    square[touching] = 0.0
    moment = step_moments(t, np.sqrt(square), first, second)
    jump = right - left

    def line(a: int, b: int) -> Array | float:
        """<z^(a) f_{b-1}(y)>, the straight line with the positive part."""
        if a == 0:
            return t * single_moment(b)
        return single_moment(b - 1) if a == 1 else 0.0

    def mean(a: int, b: int) -> Array:
        total = jump**2 * moment(a - 1, b - 1)
        if left:
            lines = left * jump * (line(a, b) + line(b, a))
            if a == b < 2:
                lines = lines + left**2 * (1.0 if a else t)
            total = total + lines * powers(first, 1 - a) * powers(second, 1 - b)
        return total

    return [mean(a, b) for a, b in orders]


def powers(roots: Array, exponent: int) -> Array:
    """A power of standard deviations, not used where these are zero."""
    found: Array = (roots if exponent >= 0 else np.where(roots > 0.0, roots, 1.0)) ** exponent
    return found


def smoothed(
    c: Array, one: Array, two: Array, ours: float, theirs: float
) -> tuple[Array, Array, Array, Array]:
    """The correlation t, sqrt(1 - t^2), and both standard deviations, with noise that is added.

    The noise of x and y is independent and has the variances ours and theirs; 1 - t^2 is a sum of
    shares of the variances, none negative, where the difference has lost digits.
    """
    first, second = one + ours, two + theirs
    roots = np.sqrt(first), np.sqrt(second)
    t = c / roots[0] / roots[1]
    if one.max() <= LARGE * ours and two.max() <= LARGE * theirs:
        return t, np.sqrt((1.0 - t) * (1.0 + t)), *roots
    share, other = one / first, two / second
    square = share * (gaps(c, one, two) * other + theirs / second) + ours / first
    return t, np.sqrt(square), *roots


def erf_means(
    c: Array, one: Array, two: Array, orders: Tasks, scale: float = 1.0, other: float = 1.0
) -> list[Array]:
    """Means for erf(scale x) and erf(other y).

    erf(b z) is ±(2 f(z) - 1), f a step smoothed by a Gaussian of variance 1/(2 b^2).
    """
    t, s, *roots = smoothed(c, one, two, 0.5 / scale**2, 0.5 / other**2)
    moment = step_moments(t, s, *roots)
    sign = math.copysign(1.0, scale * other)

    def mean(a: int, b: int) -> Array:
        if (a + b) % 2:
            return np.zeros_like(c)
        return sign * (4.0 * moment(a, b) if a or b else 2.0 / math.pi * np.arctan2(t, s))

    return [mean(a, b) for a, b in orders]


def erf_single(order: int, variances: Array, scale: float = 1.0) -> Array:
    """<erf(scale z)^(order)>."""
    if order % 2 == 0:
        return np.zeros_like(variances)
    roots = np.sqrt(variances + 0.5 / scale**2)
    return math.copysign(2.0 * single_moment(order), scale * single_moment(order)) / roots**order


def gelu_means(
    c: Array, one: Array, two: Array, orders: Tasks, scale: float = 1.0, other: float = 1.0
) -> list[Array]:
    """Means for gelu(scale x) and gelu(other y), gelu(z) = z (1 + erf(z/sqrt 2))/2.

    gelu(b z) is b z times a step of sign b smoothed by a Gaussian η of variance v = 1/b^2. With
    z f(z + η) = (z + η) f(z + η) - η f(z + η), it is |b| (f_{-1} - v f_1) in smoothed steps, a
    difference that loses digits at variances below v alone; there Stein's lemma removes z.
    """
    v, w = 1.0 / scale**2, 1.0 / other**2
    sign, flip = math.copysign(1.0, scale), math.copysign(1.0, other)
    moment = step_moments(*smoothed((sign * flip) * c, one, two, v, w))
    bent = (sign * flip) * c

    def right(p: int, b: int) -> Array:
        """<f_p(x) g^(b)(y)> with the g of y."""
        found = moment(p, b - 1) - w * moment(p, b + 1)
        if b:
            return found
        return np.where(two < w, two * moment(p, 1) + bent * moment(p + 1, 0), found)

    def mean(a: int, b: int) -> Array:
        found = right(a - 1, b) - v * right(a + 1, b)
        if a == 0:
            found = np.where(one < v, one * right(1, b) + bent * right(0, b + 1), found)
        return (abs(scale * other) * sign**a * flip**b) * found

    return [mean(a, b) for a, b in orders]


def gelu_single(order: int, variances: Array, scale: float = 1.0) -> Array:
    """<gelu(scale z)^(order)>."""
    v = 1.0 / scale**2
    roots = np.sqrt(variances + v)
    if order == 0:
        return abs(scale) * variances * (BELL / roots)
    found = single_moment(order - 1) * roots ** (1 - order)
    found = found - v * single_moment(order + 1) / roots ** (order + 1)
    return abs(scale) * math.copysign(1.0, scale) ** order * found


def polynomial_single(order: int, variances: Array, coefficients: Sequence[float]) -> Array | float:
    """<f^(order)> for the sum of coefficients[k] z^k; a number where it does not vary."""
    total: Array | float = 0.0
    for k in range(order, len(coefficients), 2):
        if coefficients[k]:
            moment = math.perm(k, order) * math.prod(range(k - order - 1, 0, -2))
            power = variances ** ((k - order) // 2) if k > order else 1.0
            total = total + (coefficients[k] * moment) * power
    return total


def polynomial_means(
    c: Array,
    one: Array,
    two: Array,
    orders: Tasks,
    coefficients: Sequence[float] = (0.0, 1.0),
    others: Single | None = None,
) -> list[Array]:
    """Means for p, the sum of coefficients[k] z^k, with itself, and both with others, if any.

    Price's theorem with <f g> at c = 0, the product of single means: the Taylor series in c is the
    sum of c^m/m! <f^(a+m)> <g^(b+m)>, which ends at the degree of p.
    """
    degree = len(coefficients) - 1

    @cache
    def single(order: int, side: int) -> tuple[Array | float, Array | float]:
        variances = two if side else one
        straight = polynomial_single(order, variances, coefficients)
        return straight, 0.0 if others is None else others(order, variances)

    def mean(a: int, b: int) -> Array:
        total: Array | float = 0.0
        for m in range(degree - (max(a, b) if others is None else min(a, b)), -1, -1):
            (p, f), (q, g) = single(a + m, 0), single(b + m, 1)
            if np.ndim(total) or total:
                total = total * (c if m == 0 else c / (m + 1.0))
            total = total + (p * (q + g) + f * q)
        return np.zeros_like(c) + total

    return [mean(a, b) for a, b in orders]


def sums_of_scales(pair: FamilyMeans, alone: Callable[[int, Array, float], Array]) -> FamilyMeans:
    """Means for the sum of weight f(scale z) over all terms, and a polynomial."""

    def means(
        c: Array,
        one: Array,
        two: Array,
        orders: Tasks,
        terms: Terms = PLAIN,
        coefficients: Sequence[float] = ALONE,
    ) -> list[Array]:
        found = [np.zeros_like(c) for _ in orders]
        for (weight, scale), (factor, other) in product(terms, terms):
            for total, mean in zip(found, pair(c, one, two, orders, scale, other), strict=True):
                total += weight * factor * mean

        def single(order: int, variances: Array) -> Array:
            total = np.zeros_like(variances)
            for weight, scale in terms:
                total += weight * alone(order, variances, scale)
            return total

        return with_polynomial(found, c, one, two, orders, coefficients, single)

    return means


def exponential_means(
    c: Array,
    one: Array,
    two: Array,
    orders: Tasks,
    circular: Sequence[Row] = (),
    hyperbolic: Sequence[Row] = (),
    coefficients: Sequence[float] = ALONE,
) -> list[Array]:
    """Means for sums of sines, cosines less one, the same of sinh and cosh, and a polynomial."""
    terms = waves(circular, hyperbolic)
    found = wave_means(c, one, two, orders, terms)

    def single(order: int, variances: Array) -> Array:
        return wave_single(order, variances, terms)

    return with_polynomial(found, c, one, two, orders, coefficients, single)


def with_polynomial(
    found: list[Array],
    c: Array,
    one: Array,
    two: Array,
    orders: Tasks,
    coefficients: Sequence[float],
    single: Single,
) -> list[Array]:
    """Means for a function and a polynomial, from those of the function."""
    if not np.any(coefficients):
        return found
    more = polynomial_means(c, one, two, orders, coefficients, single)
    return [a + b for a, b in zip(found, more, strict=True)]


def sine_means(
    c: Array, one: Array, two: Array, orders: Tasks, frequency: float = 1.0, phase: float = 0.0
) -> list[Array]:
    """Means for sin(frequency z + phase)."""
    row = (frequency, math.cos(phase), math.sin(phase))
    return exponential_means(c, one, two, orders, [row], (), row[2:])


GENERAL: dict[str, FamilyMeans] = {
    "erf": sums_of_scales(erf_means, erf_single),
    "gelu": sums_of_scales(gelu_means, gelu_single),
    "relu": relu_means,
    "sin": sine_means,
    "exponential": exponential_means,
    "polynomial": polynomial_means,
}
LAYERED = ((0, 0), (1, 1))
LAYERS: dict[str, PairLayer] = {"erf": erf_layer, "gelu": gelu_layer}
# The shape of each parameter: a number, a list of any length, or rows of so many numbers.
NUMBER, LIST, TERMS, ROWS = (), (None,), (None, 2), (None, 3)
PARAMETERS: dict[str, dict[str, tuple[int | None, ...]]] = {
    "erf": {"terms": TERMS, "coefficients": LIST},
    "gelu": {"terms": TERMS, "coefficients": LIST},
    "relu": {"left": NUMBER, "right": NUMBER},
    "sin": {"frequency": NUMBER, "phase": NUMBER},
    "exponential": {"circular": ROWS, "hyperbolic": ROWS, "coefficients": LIST},
    "polynomial": {"coefficients": LIST},
}
SCALES = {"terms": 1, "circular": 0, "hyperbolic": 0, "frequency": 0}


def closed_pair_means(
    family: str, K: Array, orders: Sequence[tuple[int, int]], **parameters: Any
) -> list[Array]:
    """<f_a(z_i) f_b(z_j)> for z ~ N(0, K) as an N×N array for each (a, b) in orders.

    Families are erf and gelu, sums of weight f(scale z) over the rows (weight, scale) of terms;
    relu, which is left z below zero and right z above, by default 0 and 1; sin, which is
    sin(frequency z + phase); exponential, the sum of odd sin(scale z) + even (cos(scale z) - 1)
    over the rows (scale, odd, even) of circular, and the same of sinh and cosh for hyperbolic; and
    polynomial, the sum of coefficients[k] z^k, which erf, gelu and exponential can have besides.
    Means of relu have delta functions, and are those of kinked_pair_means. Errors are below 1e-13
    of the norms for all variances of floats and any correlation; in sums, of the norms of terms.
    """
    check_family(family, parameters)
    check_orders(MOST_ORDERS, orders)
    given = correlations(K, sys.float_info.max)
    check_kink(family, given.roots, orders)
    wanted = wanted_by(tuple((a, b) for a, b in orders))
    tasks = [(wanted.used[a], wanted.used[b]) for a, b in wanted.tasks]
    corner = triangle(len(given.roots))
    with np.errstate(all="ignore"):
        sums = closed_pair_tables(family, tasks, **parameters)(corner.packed(given.K), corner)
    all_finite(sums, float(given.K.diagonal().max()))
    return whole_means(np.array(sums), wanted, corner)


def closed_pair_tables(family: str, orders: Tasks, **parameters: Any) -> PairTables:
    """What gives the means for the pairs i <= j, from K that are not checked."""
    layer, most = layer_of_family(family, parameters)
    quick = [order for order in orders if order in LAYERED]
    slow = [order for order in orders if order not in LAYERED]

    def tables(K: Array, corner: Triangle) -> list[Array]:
        known: dict[tuple[int, int], Array] = {}
        variances = K.take(corner.diagonal)
        check_kink(family, variances, orders)
        others: Tasks = orders
        if layer is not None and quick and max(variances.tolist()) <= most:
            known[0, 0], known[1, 1] = layer_of_pairs(layer, K, variances, corner)
            others = slow
        if others:
            one, two = variances.take(corner.first), variances.take(corner.second)
            general = GENERAL[family](K, one, two, others, **parameters)
            known |= dict(zip(others, general, strict=True))
        return [known[order] for order in orders]

    return tables


def layer_of_family(family: str, parameters: Mapping[str, Any]) -> tuple[PairLayer | None, float]:
    """What gives <f f> and <f' f'> in few passes, if there is such, up to some variance."""
    if family == "relu":
        return partial(relu_layer, **parameters), math.inf
    terms = parameters.get("terms", PLAIN)
    if family not in LAYERS or len(terms) != 1 or np.any(parameters.get("coefficients", ALONE)):
        return None, 0.0
    ((weight, scale),) = terms
    if (weight, scale) == PLAIN[0]:
        return LAYERS[family], LARGE

    def scaled(c: Array, variances: Array, i: Indices, j: Indices) -> tuple[Array, Array]:
        kernel, slopes = LAYERS[family](scale**2 * c, scale**2 * variances, i, j)
        return weight**2 * kernel, (weight * scale) ** 2 * slopes

    return scaled, LARGE / scale**2


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
    known = PARAMETERS[family]
    try:
        accepted = all(fits(name, value, known[name]) for name, value in parameters.items())
    except (TypeError, ValueError, AttributeError, KeyError):
        accepted = False
    if not accepted:
        raise KernelInputError(
            f"The parameters {parameters!r} are not those of {family}. It has "
            f"{' and '.join(sorted(known))}. Give finite numbers for these, scales from "
            f"{LEAST_SCALE:g} to {LARGEST_SCALE:g}."
        )


def fits(name: str, value: Any, shape: tuple[int | None, ...]) -> bool:
    """Whether a parameter has numbers of the right form, none zero where it is a scale."""
    given = np.asarray(value)
    if given.size == 0:
        return shape in (TERMS, ROWS)
    if given.dtype.kind not in "fiu" or not np.isfinite(given).all() or given.ndim != len(shape):
        return False
    if any(size not in (None, own) for size, own in zip(shape, given.shape, strict=True)):
        return False
    if name not in SCALES:
        return True
    sizes = np.abs(np.atleast_1d(given)[..., SCALES[name]])
    return bool(((sizes >= LEAST_SCALE) & (sizes <= LARGEST_SCALE)).all())
