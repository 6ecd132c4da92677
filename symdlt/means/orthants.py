"""Gaussian means of polynomials where up to four variables are positive."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from symdlt.means.grids import Array
from symdlt.means.steps import BELL

Powers = tuple[int, ...]
Steps = tuple[bool, ...]

# The step of the rule, 73 nodes: half of it changes orthants by less than 2e-15 (measured).
PATH_STEP = 0.1
# Where the rule ends: its nodes are 1e-25 from the end of the path there.
PATH_REACH = 3.6
PAIRS = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2), (1, 2, 0, 3), (1, 3, 0, 2), (2, 3, 0, 1))


class Truncated:
    """Means of z^p over the region where some components are positive, for many covariances.

    By Stein's lemma <z_i F> = sum_j C_ij <dF/dz_j>, and the derivative of a step fixes z_j = 0.
    Fixing one after the other of variables that depend on each other takes many digits.
    """

    def __init__(self, covariance: NDArray[np.floating]) -> None:
        self.covariance = covariance
        self.known: dict[tuple[Powers, Steps], Array] = {}
        self.fixed: dict[int, Truncated] = {}

    def mean(self, powers: Powers, steps: Steps) -> Array:
        """The mean of the product of z_j^powers[j], and of the steps of those z_j that have one."""
        if (powers, steps) not in self.known:
            self.known[powers, steps] = (
                self.by_parts(powers, steps) if any(powers) else self.orthant(steps)
            )
        return self.known[powers, steps]

    def by_parts(self, powers: Powers, steps: Steps) -> Array:
        """Stein's lemma for one factor."""
        i = max(range(len(powers)), key=lambda j: (powers[j] > 0, not steps[j]))
        rest = lowered(powers, i)
        total = np.zeros_like(self.covariance[:, 0, 0])
        for j, power in enumerate(rest):
            row = self.covariance[:, i, j]
            if power:
                total += power * row * self.mean(lowered(rest, j), steps)
            elif steps[j]:
                density = BELL / np.sqrt(self.covariance[:, j, j])
                less = (*rest[:j], *rest[j + 1 :]), (*steps[:j], *steps[j + 1 :])
                total += row * density * self.at_zero(j).mean(*less)
        return total

    def at_zero(self, j: int) -> Truncated:
        """The same for the others where z_j is zero."""
        if j not in self.fixed:
            others = [k for k in range(self.covariance.shape[1]) if k != j]
            row = self.covariance[:, others, j]
            whole = self.covariance[:, others][:, :, others]
            square = row[:, :, None] * row[:, None, :]
            self.fixed[j] = Truncated(whole - square / self.covariance[:, j, j, None, None])
        return self.fixed[j]

    def orthant(self, steps: Steps) -> Array:
        """How likely all variables with a step are positive; up to three by the arcsine law."""
        those = [j for j, step in enumerate(steps) if step]
        roots = np.sqrt(np.einsum("rii->ri", self.covariance))[:, those]
        scale = roots[:, :, None] * roots[:, None]
        rho = (self.covariance[:, those][:, :, those] / scale).astype(np.float64)
        count = len(those)
        first, second = np.triu_indices(count, 1)
        angles = np.arcsin(np.clip(rho[:, first, second], -1.0, 1.0)).sum(axis=1)
        signs = 1.0 + 2.0 / math.pi * angles
        parts: Array = (signs + four_signs(rho) if count == 4 else signs) / 2.0**count
        return parts


def lowered(powers: Powers, i: int) -> Powers:
    """One factor less of z_i."""
    return tuple(power - (j == i) for j, power in enumerate(powers))


@lru_cache(maxsize=1)
def path() -> tuple[Array, Array]:
    """The distances 1 - t of nodes from the end of [0, 1], and their weights.

    The double exponential (tanh-sinh) rule, for integrands that are not smooth at the ends
    (H. Takahasi and M. Mori 1974).
    """
    x = PATH_STEP * np.arange(-round(PATH_REACH / PATH_STEP), round(PATH_REACH / PATH_STEP) + 1)
    y = 0.5 * math.pi * np.sinh(x)
    distances = 1.0 / (1.0 + np.exp(2.0 * y))
    return distances, 0.25 * PATH_STEP * math.pi * np.cosh(x) / np.cosh(y) ** 2


def four_signs(rho: Array) -> Array:
    """<sgn sgn sgn sgn> by Price's theorem, on the way from independent variables to these.

    R. L. Plackett, Biometrika 41, 1954, reduces probabilities of orthants to single integrals so.
    """
    distances, weights = path()
    t = 1.0 - distances
    total = np.zeros(rho.shape[0])
    for i, j, k, m in PAIRS:
        one = rho[:, i, j, None]
        gap = (1.0 - np.abs(one)) + distances * np.abs(one)
        free = gap * (2.0 - gap)
        angle = np.arcsin(np.clip(conditional_correlation(rho, t, free, (i, j, k, m)), -1.0, 1.0))
        total += (one / np.sqrt(free) * angle) @ weights
    mean: Array = 4.0 / math.pi**2 * total
    return mean


def conditional_correlation(
    rho: Array, t: Array, free: Array, names: tuple[int, int, int, int]
) -> Array:
    """The correlation of k and m for given i and j, where all correlations are t times rho."""
    i, j, k, m = names

    def left(a: int, b: int) -> Array:
        own = 1.0 if a == b else t * rho[:, a, b, None]
        ia, ja, ib, jb = (rho[:, x, y, None] for y in (a, b) for x in (i, j))
        taken: Array = t**2 * (ia * ib + ja * jb - t * rho[:, i, j, None] * (ia * jb + ja * ib))
        return own - taken / free

    size = np.sqrt(np.maximum(left(k, k) * left(m, m), 0.0))
    return np.divide(left(k, m), size, out=np.zeros_like(size), where=size > 0.0)


def choices(steps: Steps) -> Iterator[Steps]:
    """All ways to keep some of the steps."""
    if not steps:
        yield ()
        return
    for rest in choices(steps[1:]):
        yield (False, *rest)
        if steps[0]:
            yield (True, *rest)
