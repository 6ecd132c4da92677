"""Closed forms of the Gaussian means of all pairs of samples, for activations that have them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from symdlt.means.correlations import correlations
from symdlt.means.families import ALONE, GENERAL, LARGE, UNSCALED
from symdlt.means.gaps import gaps
from symdlt.means.grids import Array, KernelInputError
from symdlt.means.pairs import check_orders, wanted_by, whole_means
from symdlt.means.panels import all_finite
from symdlt.means.spectra import Tasks
from symdlt.means.steps import TOUCHING
from symdlt.means.triangle import Indices, PairTables, Triangle, triangle

SMALLEST = math.ulp(0.0)
# The full angle: arc sines over it are probabilities.
TWO_PI = 2.0 * math.pi
# Pairs at once: arrays of 256 kB, some of which a cache holds; for speed only.
CACHED = 1 << 15
# Rounding of t enters arcsin(t) as 1/sqrt(1 - t^2): by 2e-14 there, measured, and more beyond.
TOO_NEAR = 1.0 - 1e-5
# Orders are 0 … 11, as far as kinks are looked for as well; convention, formulas have no end.
MOST_ORDERS = 12
# Squares of scales, and of their reciprocals with a variance, are floats.
LEAST_SCALE, LARGEST_SCALE = 1e-100, 1e100
LAYERED = ((0, 0), (1, 1))
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
PairLayer = Callable[[Array, Array, Indices, Indices], tuple[Array, Array]]


def erf_layer(c: Array, variances: Array, i: Indices, j: Indices) -> tuple[Array, Array]:
    """For erf(z), from the covariances of pairs i, j and the variances of all samples.

    The arcsine law of steps (W. F. Sheppard 1899), here of smoothed ones (C. K. I. Williams 1997).
    """
    roots = np.sqrt(variances + 0.5)
    slopes = roots.take(i)
    slopes *= roots.take(j)
    kernel = c / slopes
    cosine = kernel * kernel
    np.subtract(1.0, cosine, out=cosine)
    np.sqrt(cosine, out=cosine)
    slopes *= cosine
    np.divide(2.0 / math.pi, slopes, out=slopes)
    np.arcsin(kernel, out=kernel)
    kernel *= 2.0 / math.pi
    return kernel, slopes


def gelu_layer(c: Array, variances: Array, i: Indices, j: Indices) -> tuple[Array, Array]:
    """For z (1 + erf(z/sqrt 2))/2, from the covariances of pairs and the variances of samples.

    The arcsine law of the smoothed step, and Stein's lemma for both factors z.
    """
    inverse = 1.0 / np.sqrt(variances + 1.0)
    shares, theirs = inverse.take(i), inverse.take(j)
    density = shares * theirs
    angle = c * density
    slopes = angle * angle
    np.subtract(1.0, slopes, out=slopes)
    np.sqrt(slopes, out=slopes)
    density /= slopes
    np.arcsin(angle, out=angle)
    angle *= 1.0 / TWO_PI
    angle += 0.25
    shares *= shares
    theirs *= theirs
    shares += theirs
    np.multiply(density, density, out=slopes)
    slopes += shares
    density *= 1.0 / TWO_PI
    weight = np.multiply(c, density, out=theirs)
    slopes *= weight
    slopes += angle
    shares -= 1.0
    shares *= weight
    angle += shares
    angle *= c
    kernel = variances.take(i)
    kernel *= variances.take(j)
    kernel *= density
    kernel += angle
    return kernel, slopes


def relu_layer(
    c: Array, variances: Array, i: Indices, j: Indices, left: float = 0.0, right: float = 1.0
) -> tuple[Array, Array]:
    """For left z below and right z above zero, from the covariances and the variances.

    Arc-cosine kernels (Y. Cho and L. K. Saul 2009), of degree one and, for the slopes, zero.
    """
    roots = np.sqrt(variances)
    scale = roots.take(i)
    scale *= roots.take(j)
    t = np.maximum(scale, SMALLEST)
    np.divide(c, t, out=t)
    near = np.abs(t) >= TOO_NEAR
    alone = len(variances) * (len(variances) + 1) == 2 * c.size
    # Each sample is near itself; with no other pairs, these are all that are to be moved to ±1.
    others = not alone or np.count_nonzero(near) > len(variances)
    np.rint(t, out=t, where=np.abs(t) >= TOUCHING if others else near)
    factor = (right - left) ** 2 / TWO_PI
    slopes = np.arcsin(t)
    kernel = 1.0 - t
    kernel *= 1.0 + t
    np.sqrt(kernel, out=kernel)
    if others:
        places = np.flatnonzero(near & (np.abs(t) < 1.0))
        s = np.sqrt(gaps(c[places], variances[i[places]], variances[j[places]]))
        kernel[places] = s
        slopes[places] = np.arctan2(t[places], s)
    slopes *= factor
    slopes += 0.25 * (left + right) ** 2
    kernel *= factor
    t *= slopes
    kernel += t
    kernel *= scale
    return kernel, slopes


def layer_of_pairs(
    layer: PairLayer, K: Array, variances: Array, corner: Triangle
) -> tuple[Array, Array]:
    """Both means for all pairs, in parts that fit into the cache."""
    if K.size <= CACHED:
        return layer(K, variances, corner.first, corner.second)
    both = np.empty_like(K), np.empty_like(K)
    for start in range(0, K.size, CACHED):
        part = slice(start, start + CACHED)
        tables = layer(K[part], variances, corner.first[part], corner.second[part])
        for values, own in zip(both, tables, strict=True):
            values[part] = own
    return both


LAYERS: dict[str, PairLayer] = {"erf": erf_layer, "gelu": gelu_layer}


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
    terms = parameters.get("terms", UNSCALED)
    if family not in LAYERS or len(terms) != 1 or np.any(parameters.get("coefficients", ALONE)):
        return None, 0.0
    ((weight, scale),) = terms
    if (weight, scale) == UNSCALED[0]:
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


def check_family(family: object, parameters: Mapping[str, object]) -> None:
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


def fits(name: str, value: object, shape: tuple[int | None, ...]) -> bool:
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
