"""Covariances of samples: checked, and as correlations."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from symdlt.means.grids import LARGEST_VARIANCE, Array, KernelInputError
from symdlt.means.triangle import Indices, Triangle, triangle

# What a covariance may lack of symmetry, or a correlation exceed one: ten digits, by convention.
ROUNDING = 1e-10
# Below the root of every float but zero, 2e-162; its reciprocal is finite.
LEAST_ROOT = 1e-162


class Correlations(NamedTuple):
    """K, standard deviations, and correlations without the diagonal."""

    K: Array
    roots: Array
    rho: Array


class Pairs(NamedTuple):
    """Some pairs: covariances, correlations and their squares, and both standard deviations.

    These are those of the samples with numbers i and j.
    """

    K: Array
    rho: Array
    square: Array
    roots: Array
    i: Indices
    j: Indices

    def at(self, places: Indices) -> Pairs:
        """Some of them."""
        K, rho, square = (table[places] for table in (self.K, self.rho, self.square))
        return Pairs(K, rho, square, self.roots, self.i[places], self.j[places])


class Upper(NamedTuple):
    """All pairs i <= j, the correlation 0 where i = j; the largest |rho|; where pairs are."""

    pairs: Pairs
    most: float
    corner: Triangle

    @property
    def roots(self) -> Array:
        """The standard deviations of all samples."""
        return self.pairs.roots


def correlations(K: ArrayLike, largest: float = LARGEST_VARIANCE) -> Correlations:
    """Check that K is a covariance with variances up to the largest, and split it."""
    given = covariance(K, largest)
    with np.errstate(all="ignore"):
        roots = np.sqrt(given.diagonal())
        inverse = 1.0 / np.maximum(roots, LEAST_ROOT)
        rho = given * inverse[:, None] * inverse
    np.fill_diagonal(rho, 0.0)
    if not roots.all() and given[roots == 0.0].any():
        raise refusal("has samples of variance zero that are correlated with others")
    if not (given == given.T).all():
        if not (np.abs(rho - rho.T) <= ROUNDING).all():
            raise refusal("is not symmetric, or not finite")
        given, rho = 0.5 * (given + given.T), 0.5 * (rho + rho.T)
    most = float(np.abs(rho).max())
    if not most <= 1.0 + ROUNDING:
        raise refusal(f"has a correlation of size {most}")
    return Correlations(given, roots, np.clip(rho, -1.0, 1.0))


def covariance(K: ArrayLike, largest: float = LARGEST_VARIANCE) -> Array:
    """K as a matrix with variances on the diagonal; the correlations are not yet checked."""
    try:
        given = np.asarray(K)
    except ValueError:
        raise refusal("has rows that differ in length") from None
    if isinstance(K, np.ma.MaskedArray):
        raise refusal("is a masked array")
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not given.size:
        raise refusal(f"has the shape {given.shape}")
    if given.dtype.kind not in "fiu":
        raise refusal(f"is an array of {given.dtype}")
    with np.errstate(over="ignore"):
        given = given.astype(np.float64, copy=False)
    variances = given.diagonal()
    if not (np.isfinite(variances) & (variances >= 0.0)).all():
        raise refusal(f"has {variances.min()} and {variances.max()} on the diagonal")
    if variances.max() > largest:
        raise KernelInputError(
            f"The kernel K has the variance {variances.max():.3g}. Means of products are too large "
            f"for double precision beyond {largest:g}. Scale the samples down."
        )
    return given


def refusal(what: str) -> KernelInputError:
    """The error for a K that is no covariance."""
    return KernelInputError(
        f"The kernel K {what}. "
        "It is the covariance of all samples, a symmetric matrix of finite numbers with "
        "K_ii >= 0 and |K_ij| <= sqrt(K_ii K_jj). "
        "Give it as an array of floats of shape (N, N)."
    )


def upper(given: Correlations) -> Upper:
    """The pairs of a checked covariance."""
    corner = triangle(len(given.roots))
    return correlated(corner.packed(given.K), given.roots, corner.packed(given.rho), corner)


def upper_of(K: Array, corner: Triangle) -> Upper:
    """The pairs of a covariance that is not checked, from its upper triangle."""
    roots = np.sqrt(K.take(corner.diagonal))
    inverse = 1.0 / np.maximum(roots, LEAST_ROOT)
    rho = inverse.take(corner.first)
    rho *= K
    rho *= inverse.take(corner.second)
    rho[corner.diagonal] = 0.0
    return correlated(K, roots, rho, corner)


def correlated(K: Array, roots: Array, rho: Array, corner: Triangle) -> Upper:
    """The pairs of some correlations; those that rounding took beyond one are moved to it."""
    square = rho * rho
    most = math.sqrt(np.maximum.reduce(square))
    if most > 1.0:
        rho, most = np.clip(rho, -1.0, 1.0), 1.0
        square = rho * rho
    return Upper(Pairs(K, rho, square, roots, corner.first, corner.second), most, corner)
