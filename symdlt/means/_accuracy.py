"""How fine and how wide the nodes for four functions must be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from symdlt.means._blocks import Model, Together
from symdlt.means._grids import (
    FAR,
    TINY,
    Array,
    Function,
    KernelInputError,
    evaluate,
    rounded,
    trapezoid,
)
from symdlt.means._lines import Lines

Pattern = tuple[int, ...]

FINE = 0.1
GROWTH = 1000.0
COARSER = 2.0**0.125
SYMMETRIC = 1e-14


class Accuracy(NamedTuple):
    """The tolerance, how far nodes reach, and steps for the largest variance.

    The steps are right for standard Gaussians alone, for products of two of the functions, and of
    four. For sums over a plane and a line they are multiplied with what turned out to be needed.
    """

    tolerance: float
    reach: float
    root: float
    gaussian: float
    double: float
    fourfold: float
    plane: float = 1.0
    line: float = 1.0


def modelled(
    activation: Sequence[Function],
    lines: Lines,
    patterns: Sequence[Pattern],
    together: Together | None,
) -> tuple[Model, Array]:
    """The functions with their norms and parities, and the size of products up to a distance."""
    x, weights = trapezoid(FINE, FAR)
    functions = {k: activation[k] for k in sorted({k for p in patterns for k in p})}
    values = {k: evaluate(f, k, lines.roots[:, None] * x) for k, f in functions.items()}
    norms = {k: np.sqrt(v**2 @ weights) for k, v in values.items()}
    parities = {k: parity(v) for k, v in values.items()}
    model = Model(functions, together, parities, norms, lines)
    relative = {k: np.abs(v) / np.maximum(norms[k], TINY)[:, None] for k, v in values.items()}
    sizes = {
        k: np.maximum.accumulate(np.maximum(v, v[:, ::-1]).max(axis=0)[x >= 0.0])
        for k, v in relative.items()
    }
    products = [np.prod([sizes[k] for k in p], axis=0) for p in patterns]
    return model, np.max(products, axis=0)


def parity(values: Array) -> int:
    """1 for an even function, -1 for an odd one, and 0 for any other."""
    size = SYMMETRIC * np.abs(values).max(axis=1, keepdims=True)
    for sign in (1, -1):
        if (np.abs(values - sign * values[:, ::-1]) <= size).all():
            return sign
    return 0


def reach_of(products: Array, step: float, tolerance: float) -> float:
    """Beyond which distance in the plane the weights of the products are negligible."""
    x = step * np.arange(products.size)
    beyond = np.cumsum((x * np.exp(-0.5 * x**2) * products * step)[::-1])[::-1]
    return step * float(np.count_nonzero(beyond > 0.25 * tolerance))


def accuracy_for(
    model: Model, envelope: Array, patterns: Sequence[Pattern], tolerance: float, fine: float
) -> Accuracy:
    """The reach and the steps that are right for products at one standard Gaussian.

    The fine step is known to be right to the last digits.
    """
    root = float(model.lines.roots.max())
    reach = reach_of(envelope, FINE, tolerance)
    if reach >= FAR - FINE:
        raise KernelInputError(
            f"The means of four functions do not converge at variance {root**2:.3g}. "
            f"Their products still matter at {FAR:g} standard deviations. "
            "Give an activation that grows more slowly, a smaller variance or a larger tolerance."
        )
    gaussian = 2.0 * math.pi / math.sqrt(2.0 * math.log(GROWTH / tolerance))
    double: list[Pattern] = [pair for p in patterns for pair in combinations(p, 2)]
    single: list[Pattern] = [(k,) for k in model.functions]
    steps = [
        coarse_step(model, sorted(set(products)), tolerance, gaussian, fine)
        for products in (single + double, patterns)
    ]
    return Accuracy(tolerance, reach, root, gaussian, *steps)


def coarse_step(
    model: Model, products: Sequence[Pattern], tolerance: float, first: float, fine: float
) -> float:
    """The coarsest step at which the means of products are those of a fine one."""
    exact = one_sample_means(model, products, fine, 0.0)
    step = first
    while step > fine:
        found = [one_sample_means(model, products, step, shift) for shift in (0.0, 0.25, 0.5)]
        if np.abs(np.array(found) - exact).max() <= tolerance:
            return step
        step /= COARSER
    return fine


def one_sample_means(model: Model, products: Sequence[Pattern], step: float, shift: float) -> Array:
    """Means of products at the sample of largest variance, in units of the norms."""
    top = int(np.argmax(model.lines.roots))
    nodes, weights = trapezoid(step, FAR, shift)
    values = {
        k: evaluate(f, k, float(model.lines.roots[top]) * nodes)
        / max(float(model.norms[k][top]), TINY)
        for k, f in model.functions.items()
    }
    return np.array([math.prod((values[k] for k in p), start=weights).sum() for p in products])


def unresolved(variance: float, tolerance: float) -> KernelInputError:
    """The error for what no step resolves."""
    return KernelInputError(
        f"The means of four functions do not converge at variance {variance:.3g}. "
        f"The tolerance is {tolerance:.3g}. "
        "Give an activation that is smoother or oscillates more slowly, a smaller variance, or a "
        "larger tolerance."
    )


def step_at(accuracy: Accuracy, step: float, root: float) -> float:
    """A step for the largest standard deviation at another one."""
    own = max(0.0, 1.0 / step - 1.0 / accuracy.gaussian)
    share = root / accuracy.root if accuracy.root > 0.0 else 0.0
    return rounded(1.0 / (1.0 / accuracy.gaussian + own * share))
