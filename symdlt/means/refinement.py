"""The nodes of a block of samples: steps that are fine enough, and terms that matter."""

from __future__ import annotations

import math

import numpy as np

from symdlt.means.accuracy import Accuracy, plane_step, step_at, unresolved
from symdlt.means.blocks import Block, Means, Model, block_means, sizes_of_terms
from symdlt.means.grids import LEAST_STEP, TINY, rounded
from symdlt.means.lines import Remains, remains
from symdlt.means.nodes import Oscillator, cloud, kept_terms, largest_terms, oscillator

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
    root = float(lines.roots[[*others, *block.leads]].max())
    start = (
        plane_step(accuracy, left, block.pairs, root)
        if plane
        else step_at(accuracy, accuracy.fourfold, root)
    )
    half = all(model.parities.values())
    if plane and accuracy.decays and inner.powers.size >= MANY_TERMS:
        accuracy = accuracy._replace(plane=probed(model, accuracy, block, left, inner, start))
        coarse = rounded(min(COARSER * start * accuracy.plane, WIDEST_ESTIMATE))
        nodes = cloud(2, coarse, accuracy.reach, half)
        sizes = sizes_of_terms(model, block, left, nodes, inner)
        inner = largest_terms(inner, sizes, UNSURE * DROPPED * accuracy.tolerance)
    while True:
        step = rounded(start * (accuracy.plane if plane else accuracy.line))
        nodes = cloud(len(block.leads), step, accuracy.reach, half)
        means, off = block_means(model, block, left, nodes, inner)
        digits = digits_of(off, accuracy.tolerance)
        if digits >= 1.0:
            if plane and accuracy.decays and digits > CLOSE:
                wider = min(0.95 * math.sqrt(digits / SAFE), 1.3)
                accuracy = accuracy._replace(plane=min(step / start * wider, 1.0))
            return means, accuracy
        finer = step / start * max(0.95 * digits, 0.5)
        if finer * start < LEAST_STEP:
            raise unresolved(root**2, accuracy.tolerance)
        accuracy = accuracy._replace(plane=finer) if plane else accuracy._replace(line=finer)


def digits_of(off: float, tolerance: float) -> float:
    """The digits that a sum has, whose every second node is so far off, over those wanted."""
    return math.log(min(max(off, TINY) ** 2 / SLACK, 0.1)) / math.log(tolerance)


def probed(
    model: Model, accuracy: Accuracy, block: Block, left: Remains, inner: Oscillator, start: float
) -> float:
    """How much finer than the start the step of a plane must be, found out with one term.

    The first power of the correlations takes a small part of the time of all, and moves as they do
    if every second node is left out. What is moved falls as exp(-c/h^2) with the step h where the
    weight of the Gaussian decides, and as exp(-c/h) where poles of the activation do: the former
    makes the smaller changes, and what is too coarse after all is refined by `resolved_means`.
    """
    first = Oscillator(inner.nodes, inner.table[:1], inner.powers[:1], inner.odd[:1])
    half = all(model.parities.values())
    factor, coarsest = accuracy.plane, 0.0
    for _ in range(MOST_PROBES):
        nodes = cloud(len(block.leads), rounded(start * factor), accuracy.reach, half)
        off = block_means(model, block, left, nodes, first)[1]
        digits = digits_of(off, accuracy.tolerance)
        if digits >= 1.0:
            coarsest = max(coarsest, factor)
        if 1.0 <= digits <= CLOSE:
            break
        factor = max(factor * min(max(0.97 * digits**0.5, 0.5), 2.0), coarsest)
        if factor == coarsest:
            break
    return coarsest or factor
