"""Means of pairs for the kernels of one layer after the other, known to be covariances."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from symdlt.means._grids import (
    FIRST_STEP,
    PROBES,
    Array,
    Function,
    rescaled,
    whole_table,
)
from symdlt.means._pairs import clipped, means_by, split, tasks_of
from symdlt.means._spectra import (
    Spectra,
    Tasks,
    at_all_samples,
    bounds,
    coincident_products,
    few_places,
    first_terms,
    resolved_spectra,
    sampled,
)


class Tested(NamedTuple):
    """A step and a number of terms that are right up to a standard deviation and a correlation."""

    root: float
    most: float
    step: float
    terms: int


def trusted_means(activation: Sequence[Function], orders: Tasks) -> Callable[[Array], list[Array]]:
    """What gives the means of pairs, called with one kernel after the other.

    A grid and a length of the series are tested again only where variances or correlations grow:
    functions are smoother where the variance is smaller.
    """
    used, tasks, wanted = tasks_of(tuple(orders))
    known: Tested | None = None

    def means(K: Array) -> list[Array]:
        nonlocal known
        given = clipped(split(K))
        root = float(given.roots.max())
        if known is None or not (root <= known.root and given.most <= known.most):
            known = tested(activation, used, tasks, root, given.most)
        spectra = smoother_spectra(activation, used, given.roots, given.most, tasks, known)
        return means_by(activation, given, spectra, used, tasks, wanted)

    return means


def tested(
    activation: Sequence[Function], used: list[int], tasks: Tasks, root: float, most: float
) -> Tested:
    """Test at the largest standard deviation, with some room for correlations to grow."""
    room = max(0.5 * (1.0 + most), 0.5)
    found = resolved_spectra(activation, used, np.array([root]), room, tasks, None)
    return Tested(root, room, found.step, found.bound.size)


def smoother_spectra(
    activation: Sequence[Function],
    used: list[int],
    roots: Array,
    most: float,
    tasks: Tasks,
    known: Tested,
) -> Spectra:
    """The coefficients below what was tested, as many as matter."""
    step, largest = known.step, float(roots.max())
    if 0.0 < largest < known.root:
        wider = min(rescaled(step, largest / known.root), FIRST_STEP)
        step = wider if known.terms <= (math.pi / wider) ** 2 - 2.0 else step
    table = whole_table(step, known.terms)[len(PROBES) :][: first_terms(most, known.terms)]

    def at(points: Array) -> tuple[Spectra, Array]:
        values, weighted, norms = sampled(activation, used, points, step)
        coefficients = table @ values.transpose(0, 2, 1)
        diagonals = coincident_products(weighted, values, tasks)
        return Spectra(step, coefficients, diagonals, *bounds(coefficients, norms, tasks)), norms

    places = few_places(roots)
    everywhere = places and at_all_samples(*at(places.roots), places, tasks)
    return everywhere or at(roots)[0]
