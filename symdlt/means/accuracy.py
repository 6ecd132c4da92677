"""How fine and how wide the nodes for four functions must be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symdlt.means.blocks import Model, Together
from symdlt.means.grids import (
    FAR,
    SHIFT,
    TINY,
    Array,
    Function,
    KernelInputError,
    evaluate,
    rounded,
    trapezoid,
)
from symdlt.means.lines import Lines, Remains
from symdlt.means.nodes import lattice

Pattern = tuple[int, ...]

# A step for norms and sizes of functions that vary slowly.
FINE = 0.1
# How much larger than one the functions may be where steps for a Gaussian alone are chosen.
GROWTH = 1000.0
# Of the largest value: rounding of a function and its mirror image.
SYMMETRIC = 1e-14
# The product of four functions has four times their frequencies, and trapezoidal sums of step h
# see those below pi/h; a step for products of two is right up to twice theirs.
RESOLVING = 0.25
# Around a frequency: the width of a Gaussian's spectrum and a half, so that zeros of a spectrum
# are no gaps; between spectra that decay (1.1 at most) and those with a gap (from 1.8 on).
NEARBY = 1.5
# How much more than the least nearby, up to there, a spectrum that decays may have; convention.
RISE = 2.0
# Of a stretch, in steps. Measured, with 1.5 deviations across: twelve rows of raw lengths take
# 2.5 s with 8, 2.1 s with 4 or 3, and 7 s without.
STEPS_STRETCHED = 4.0
# Of the step for a Gaussian alone: sums with larger ones converge faster than those of any stretch.
STRETCHED_BELOW = 0.5


class Accuracy(NamedTuple):
    """The tolerance, how far nodes reach, and steps for the largest variance.

    The steps are right for standard Gaussians alone, for products of two of the functions, and of
    four. For sums over a plane and a line they are multiplied with what turned out to be needed
    along each axis. Whether spectra decay tells if a check with every second node can be relied on,
    and with a stretch nodes may lie farther apart away from zero, see `cloud`.
    """

    tolerance: float
    reach: float
    root: float
    gaussian: float
    double: float
    fourfold: float
    decays: bool
    stretches: bool
    plane: tuple[float, ...] = (1.0, 1.0)
    line: tuple[float, ...] = (1.0,)


def modelled(
    activation: Sequence[Function],
    lines: Lines,
    patterns: Sequence[Pattern],
    together: Together | None,
    step: float,
) -> tuple[Model, Array]:
    """The functions with their norms and parities, and the size of products up to a distance.

    The step is right for products of two.
    """
    x, weights = trapezoid(step, FAR)
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
    model: Model, envelope: Array, patterns: Sequence[Pattern], tolerance: float, resolved: float
) -> Accuracy:
    """The reach, and the steps that are right for products at one standard Gaussian.

    The envelope is that of products at steps of FINE or less, and a step of `resolved` is known to
    be right for products of two. The error of a step h is, by Poisson's formula, the sum of what
    the spectrum has at the multiples of 2 pi/h. Two steps that agree may miss, or share, what it
    has there; so it is looked at as a whole, and a step is taken if nothing is left from 2 pi/h on.
    """
    root = float(model.lines.roots.max())
    reach = reach_of(envelope, min(FINE, resolved), tolerance)
    if reach >= FAR - FINE:
        raise KernelInputError(
            f"The means of four functions do not converge at variance {root**2:.3g}. "
            f"Their products still matter at {FAR:g} standard deviations. "
            "Give an activation that grows more slowly, a smaller variance or a larger tolerance."
        )
    gaussian = 2.0 * math.pi / math.sqrt(2.0 * math.log(GROWTH / tolerance))
    parts: set[Pattern] = {(k,) for k in model.functions}
    for pattern in patterns:
        parts.update(combinations(pattern, 2))
    products = [*parts, *patterns]
    frequencies, sizes = spectra(model, products, RESOLVING * resolved)
    two, four = sizes[: len(parts)].max(axis=0), sizes[len(parts) :].max(axis=0)
    edges = [last_frequency(frequencies, one, tolerance) for one in (two, four)]
    if max(edges) == math.inf:
        raise unresolved(root**2, tolerance)
    double, fourfold = (min(gaussian, 2.0 * math.pi / edge) for edge in edges)
    plain = decays(frequencies, four, tolerance)
    steep = plain and double < STRETCHED_BELOW * gaussian
    stretches = steep and is_steep_at_zero(
        model, products, sizes[:, 0], double, fourfold, tolerance
    )
    return Accuracy(tolerance, reach, root, gaussian, double, fourfold, plain, stretches)


def spectra(model: Model, products: Sequence[Pattern], step: float) -> tuple[Array, Array]:
    """Frequencies, and how much products have at each at the sample of largest variance.

    In units of the norms, and with the weight of the Gaussian.
    """
    nodes, weights = trapezoid(step, FAR)
    weighted = weighted_products(model, products, nodes, weights)
    sizes: Array = np.abs(np.fft.rfft(weighted, axis=1))
    numbers = np.arange(sizes.shape[1], dtype=np.float64)
    return 2.0 * math.pi / (nodes.size * step) * numbers, sizes


def weighted_products(
    model: Model, products: Sequence[Pattern], nodes: Array, weights: Array
) -> list[Array]:
    """Products at the sample of largest variance, in units of the norms, times weights."""
    top = int(np.argmax(model.lines.roots))
    values = {
        k: evaluate(f, k, float(model.lines.roots[top]) * nodes)
        / max(float(model.norms[k][top]), TINY)
        for k, f in model.functions.items()
    }
    return [math.prod((values[k] for k in p), start=weights) for p in products]


def is_steep_at_zero(
    model: Model,
    products: Sequence[Pattern],
    sizes: Array,
    double: float,
    fourfold: float,
    tolerance: float,
) -> bool:
    """Whether what takes short steps is at zero alone, so that nodes may lie apart elsewhere.

    Means of products over two stretched lattices, moved by the golden part of a step, are to be
    those of the plain lattice that resolves all: a bump elsewhere is missed by one or both.
    """
    step = 0.5 * fourfold
    for moved in (0.0, SHIFT):
        _, nodes, weights = lattice(step, FAR, STEPS_STRETCHED * double, moved)
        sums = np.abs(np.sum(weighted_products(model, products, nodes, weights), axis=1))
        if not (np.abs(sums - sizes) <= tolerance).all():
            return False
    return True


def last_frequency(frequencies: Array, sizes: Array, tolerance: float) -> float:
    """From which frequency on both signs of it have less than the tolerance; infinite if none."""
    beyond = np.maximum.accumulate(2.0 * sizes[::-1])[::-1]
    place = max(1, int(np.count_nonzero(~(beyond <= tolerance))))
    return float(frequencies[place]) if place < frequencies.size else math.inf


def decays(frequencies: Array, sizes: Array, tolerance: float) -> bool:
    """Whether a spectrum has no gap that more lies beyond than in it.

    Only then does the sum over every second node see more than that over all.
    """
    width = int(NEARBY / frequencies[1])
    padded = np.pad(sizes, width)
    nearby = np.lib.stride_tricks.sliding_window_view(padded, 2 * width + 1).max(axis=1)
    least = np.maximum(np.minimum.accumulate(nearby), tolerance)
    return bool((sizes <= RISE * least).all())


def unresolved(variance: float, tolerance: float) -> KernelInputError:
    """The error for what no step resolves."""
    return KernelInputError(
        f"The means of four functions do not converge at variance {variance:.3g}. "
        f"The tolerance is {tolerance:.3g}. "
        "Give an activation that is smoother or oscillates more slowly, a smaller variance, or a "
        "larger tolerance."
    )


def steps_of(
    accuracy: Accuracy, left: Remains, pairs: NDArray[np.bool_], roots: Array
) -> tuple[float, ...]:
    """A step along each axis, for standard deviations along it and these pairs of other samples.

    On a line it is one for products of four. In a plane it is one for products of two if the check
    can be relied on. If not, it has room for all that the others have in the plane as well: in
    frequencies a and b of their white rests, at most four functions', and those with
    a^2 + b^2 + 2 rho a b beyond a Gaussian's are averaged away.
    """
    four = tuple(step_at(accuracy, accuracy.fourfold, root) for root in roots.tolist())
    if len(roots) == 1:
        return four
    two = tuple(step_at(accuracy, accuracy.double, root) for root in roots.tolist())
    if accuracy.decays:
        return two
    slopes = left.loads / np.where(left.spread > 0.0, left.spread, 1.0)
    far = np.zeros(pairs.shape)
    for sign in (1.0, -1.0):
        apart = ((slopes[:, :, None] + sign * slopes[:, None]) ** 2).sum(axis=0)
        room = 2.0 * (1.0 + sign * left.rho)
        far += np.divide(apart, room, out=np.where(apart > 0.0, np.inf, 0.0), where=room > 0.0)
    others = math.sqrt(far[pairs].max(initial=0.0)) / accuracy.gaussian
    return tuple(max(f, 1.0 / (1.0 / t + others)) for f, t in zip(four, two, strict=True))


def step_at(accuracy: Accuracy, step: float, root: float) -> float:
    """A step for the largest standard deviation at another one."""
    own = max(0.0, 1.0 / step - 1.0 / accuracy.gaussian)
    share = root / accuracy.root if accuracy.root > 0.0 else 0.0
    return rounded(1.0 / (1.0 / accuracy.gaussian + own * share))
