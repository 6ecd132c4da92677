"""The nodes of a block of samples: steps that are fine enough, and terms that matter."""

from __future__ import annotations

import math

import numpy as np

from symdlt.means.accuracy import (
    STEPS_STRETCHED,
    STRETCHED_BELOW,
    Accuracy,
    step_at,
    steps_of,
    unresolved,
)
from symdlt.means.blocks import Block, Means, Model, block_means, sizes_of_terms
from symdlt.means.grids import LEAST_STEP, TINY, Array
from symdlt.means.lines import Remains, remains, turned
from symdlt.means.nodes import Oscillator, cloud, kept_terms, largest_terms, oscillator

AxisSteps = tuple[float, ...]

# Of the tolerance: what terms that are left out may have; convention.
DROPPED = 0.1
# How much the square of the error of twice the step, an estimate, may exceed the tolerance.
SLACK = 2.0
# Convention: of digits that are too many, as a factor, so few that no coarser step is sought.
CLOSE = 1.4
# The next block is likely to need what this one did, and as many digits more.
SAFE = 1.2
# Convention: steps of nearly the right size are found sooner.
MOST_PROBES = 4
# Of fewer terms most of the time goes into values of the functions, which a probe takes as well:
# with probes for all, sixteen Gaussian samples take a quarter longer.
MANY_TERMS = 30
# Sizes of terms are estimated with steps so many times as large, and not larger than a Gaussian's
# that is to be right to a percent; they count as if they were ten times as large.
COARSER, WIDEST_ESTIMATE, UNSURE = 2.5, 1.5, 0.1
# Of a stretch, in deviations across; measured, see STEPS_STRETCHED.
DEVIATIONS_STRETCHED = 1.5


def resolved_means(model: Model, accuracy: Accuracy, block: Block) -> tuple[Means, Accuracy]:
    """The means of a block on a grid that is fine enough, and the steps with what was learnt.

    For a smooth function whose spectrum decays the error of a step is about the square of that of
    twice the step. Where it does not decay, the steps to begin with are those for all products of
    four, and have nothing beyond that every second node could miss as well.
    """
    lines, others, plane = model.lines, block.others, len(block.leads) == 2
    left = remains(lines, block.leads)
    inner_root = float((left.spread * lines.roots)[others].max(initial=0.0))
    inner = oscillator(step_at(accuracy, accuracy.double, inner_root), accuracy.reach)
    most = np.abs(left.rho[block.pairs]).max(initial=0.0)
    inner = kept_terms(inner, most, DROPPED * accuracy.tolerance)
    left, roots = turned(left, lines.roots, [*others, *block.leads])
    start = steps_of(accuracy, left, block.pairs, roots)
    stretch = stretch_of(accuracy, start, roots)
    probing = plane and accuracy.decays
    half = all(model.parities.values())
    if probing and inner.powers.size >= MANY_TERMS:
        accuracy = accuracy._replace(
            plane=probed(model, accuracy, block, left, inner, start, stretch)
        )
        wide = [min(COARSER * step, WIDEST_ESTIMATE) for step in steps(start, accuracy.plane)]
        coarse = cloud(tuple(wide), accuracy.reach, half, stretch)
        sizes = sizes_of_terms(model, block, left, coarse, inner)
        inner = largest_terms(inner, sizes, UNSURE * DROPPED * accuracy.tolerance)
    while True:
        factors = accuracy.plane if plane else accuracy.line
        nodes = cloud(steps(start, factors), accuracy.reach, half, stretch)
        means, off = block_means(model, block, left, nodes, inner)
        digits = digits_of(off, accuracy.tolerance)
        if min(digits) >= 1.0:
            if probing:
                wider = (
                    min(f * min(0.95 * math.sqrt(d / SAFE), 1.3), 1.0) if d > CLOSE else f
                    for f, d in zip(factors, digits, strict=True)
                )
                accuracy = accuracy._replace(plane=tuple(wider))
            return means, accuracy
        finer = tuple(
            f * max(0.95 * d, 0.5) if d < 1.0 else f for f, d in zip(factors, digits, strict=True)
        )
        if min(steps(start, finer)) < LEAST_STEP:
            raise unresolved(
                float(lines.roots[[*others, *block.leads]].max()) ** 2, accuracy.tolerance
            )
        accuracy = accuracy._replace(plane=finer) if plane else accuracy._replace(line=finer)


def stretch_of(accuracy: Accuracy, start: AxisSteps, roots: Array) -> float:
    """Beyond which distance along the first axis nodes may lie farther apart, see `cloud`.

    Functions are steep at zero, as far as the step tells: at t = 0 the map x = c sinh(t/c) takes
    poles at a distance d in x to c arcsin(d/c), and the Gaussian decays for |Im t| < pi c/4, so
    that c need not be much larger than d. Across the axis samples are at zero at other places, as
    far as they vary along the second.
    """
    if not accuracy.stretches or start[0] > STRETCHED_BELOW * accuracy.gaussian:
        return math.inf
    across = float(roots[1] / roots[0]) if len(roots) == 2 and roots[0] > 0.0 else 0.0
    return math.hypot(STEPS_STRETCHED * start[0], DEVIATIONS_STRETCHED * across)


def steps(start: AxisSteps, factors: AxisSteps) -> AxisSteps:
    """The steps along each axis."""
    return tuple(step * factor for step, factor in zip(start, factors, strict=True))


def digits_of(off: Array, tolerance: float) -> list[float]:
    """The digits along each axis that a sum has, over those wanted; off is every second node.

    What is off along both axes counts for each.
    """
    worst = np.maximum(off[:2], off[-1])
    digits: list[float] = (
        np.log(np.clip(worst**2 / SLACK, TINY, 0.1)) / math.log(tolerance)
    ).tolist()
    return digits


def probed(
    model: Model,
    accuracy: Accuracy,
    block: Block,
    left: Remains,
    inner: Oscillator,
    start: AxisSteps,
    stretch: float,
) -> AxisSteps:
    """How much finer than the start the steps of a plane must be, found out with one term.

    The first power of the correlations takes a small part of the time of all, and moves as they do
    if every second node is left out. What is moved falls as exp(-c/h^2) with the step h where the
    weight of the Gaussian decides, and as exp(-c/h) where poles of the activation do: the former
    makes the smaller changes, and what is too coarse after all is refined by `resolved_means`.
    Half of the inner nodes tell as much.
    """
    some = slice((inner.nodes.size // 2) % 2, None, 2)
    first = Oscillator(
        inner.nodes[some], 2.0 * inner.table[:1, some], inner.powers[:1], inner.odd[:1]
    )
    half = all(model.parities.values())
    factors, coarsest = list(accuracy.plane), [0.0] * len(start)
    for _ in range(MOST_PROBES):
        nodes = cloud(steps(start, tuple(factors)), accuracy.reach, half, stretch)
        off = block_means(model, block, left, nodes, first)[1]
        before = list(factors)
        for axis, digits in enumerate(digits_of(off, accuracy.tolerance)):
            if digits >= 1.0:
                coarsest[axis] = max(coarsest[axis], factors[axis])
            if not 1.0 <= digits <= CLOSE:
                wanted = factors[axis] * min(max(0.97 * digits**0.5, 0.5), 2.0)
                factors[axis] = max(wanted, coarsest[axis])
        if factors == before:
            break
    return tuple(good or last for good, last in zip(coarsest, factors, strict=True))
