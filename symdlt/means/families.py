"""Families of functions whose Gaussian means of two samples have closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

import numpy as np

from symdlt.means.gaps import gaps
from symdlt.means.grids import Array
from symdlt.means.spectra import Tasks
from symdlt.means.steps import BELL, TOUCHING, single_moment, step_moments
from symdlt.means.waves import WaveRow, wave_means, wave_single, waves

# A smoothed step loses digits as the variance grows beyond that of its smoothing: by that factor
# in <f' f'>, 2e-14 here (measured).
LARGE = 64.0
# Beyond it 1 - t^2 has lost a digit.
LOSING = 0.9
UNSCALED = ((1.0, 1.0),)
ALONE = (0.0,)
FamilyMeans = Callable[..., list[Array]]
Terms = Sequence[tuple[float, float]]
Single = Callable[[int, Array], Array]


def relu_means(
    c: Array, one: Array, two: Array, orders: Tasks, left: float = 0.0, right: float = 1.0
) -> list[Array]:
    """Means for left z below and right z above zero, from covariances c and both variances.

    It is left z + (right - left) f_{-1}(z), with the means of steps and, by Stein's lemma, of z.
    Orders zero and one are arc-cosine kernels (Y. Cho and L. K. Saul 2009).
    """
    first, second = np.sqrt(one), np.sqrt(two)
    scale = first * second
    t: Array = np.clip(np.divide(c, scale, out=np.zeros_like(c), where=scale > 0.0), -1.0, 1.0)
    square = (1.0 - t) * (1.0 + t)
    alike = np.abs(t) >= LOSING
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
    raised: Array = (roots if exponent >= 0 else np.where(roots > 0.0, roots, 1.0)) ** exponent
    return raised


def with_noise(
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

    erf(b z) is ±(2 f(z) - 1), f a step smoothed by a Gaussian of variance 1/(2 b^2): the arc sine
    of Sheppard at a smaller correlation (C. K. I. Williams 1997).
    """
    t, s, *roots = with_noise(c, one, two, 0.5 / scale**2, 0.5 / other**2)
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
    moment = step_moments(*with_noise((sign * flip) * c, one, two, v, w))
    bent = (sign * flip) * c

    def right(p: int, b: int) -> Array:
        """<f_p(x) g^(b)(y)> with the g of y."""
        value = moment(p, b - 1) - w * moment(p, b + 1)
        if b:
            return value
        return np.where(two < w, two * moment(p, 1) + bent * moment(p + 1, 0), value)

    def mean(a: int, b: int) -> Array:
        value = right(a - 1, b) - v * right(a + 1, b)
        if a == 0:
            value = np.where(one < v, one * right(1, b) + bent * right(0, b + 1), value)
        return (abs(scale * other) * sign**a * flip**b) * value

    return [mean(a, b) for a, b in orders]


def gelu_single(order: int, variances: Array, scale: float = 1.0) -> Array:
    """<gelu(scale z)^(order)>."""
    v = 1.0 / scale**2
    roots = np.sqrt(variances + v)
    if order == 0:
        return abs(scale) * variances * (BELL / roots)
    value = single_moment(order - 1) * roots ** (1 - order)
    value = value - v * single_moment(order + 1) / roots ** (order + 1)
    return abs(scale) * math.copysign(1.0, scale) ** order * value


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

    Price's theorem (R. Price 1958) with <f g> at c = 0, the product of single means: the Taylor
    series in c is the sum of c^m/m! <f^(a+m)> <g^(b+m)>, which ends at the degree of p.
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
        terms: Terms = UNSCALED,
        coefficients: Sequence[float] = ALONE,
    ) -> list[Array]:
        totals = [np.zeros_like(c) for _ in orders]
        for (weight, scale), (factor, other) in product(terms, terms):
            for total, mean in zip(totals, pair(c, one, two, orders, scale, other), strict=True):
                total += weight * factor * mean

        def single(order: int, variances: Array) -> Array:
            total = np.zeros_like(variances)
            for weight, scale in terms:
                total += weight * alone(order, variances, scale)
            return total

        return with_polynomial(totals, c, one, two, orders, coefficients, single)

    return means


def exponential_means(
    c: Array,
    one: Array,
    two: Array,
    orders: Tasks,
    circular: Sequence[WaveRow] = (),
    hyperbolic: Sequence[WaveRow] = (),
    coefficients: Sequence[float] = ALONE,
) -> list[Array]:
    """Means for sums of sines, cosines less one, the same of sinh and cosh, and a polynomial."""
    terms = waves(circular, hyperbolic)
    means = wave_means(c, one, two, orders, terms)

    def single(order: int, variances: Array) -> Array:
        return wave_single(order, variances, terms)

    return with_polynomial(means, c, one, two, orders, coefficients, single)


def with_polynomial(
    means: list[Array],
    c: Array,
    one: Array,
    two: Array,
    orders: Tasks,
    coefficients: Sequence[float],
    single: Single,
) -> list[Array]:
    """Means for a function and a polynomial, from those of the function."""
    if not np.any(coefficients):
        return means
    more = polynomial_means(c, one, two, orders, coefficients, single)
    return [a + b for a, b in zip(means, more, strict=True)]


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
