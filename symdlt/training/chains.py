r"""Sums over the steps at which the events of a chain happen.

A chain of k events is a linear recursion for k + 1 numbers. Let $\epsilon$ be the product of the
errors of the modes below event i, and $v_i$ what has passed the events up to i; then a step takes

$$v_{i} \to \prod_{m \in i} (1 - \eta_m h_m)\, v_{i} + c_{i+1} v_{i+1},$$

where $c_{i+1}$ is the coefficient of the event, with a step size for each new leaf and
$1 - \eta_m h_m$ for each mode that is carried through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import ceil, log2, prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symdlt.training.responses import Chain, Event

if TYPE_CHECKING:
    import sympy as sp

Array = NDArray[np.floating]
# Eigenvalues, step sizes and what follows from them.
Value: TypeAlias = "float | Array | sp.Expr"
Modes = Mapping[int, Value]
# Scaling and squaring (Moler, Van Loan, SIAM Review 45, 3): of a matrix of norm 1/2 the series
# after the power 14 is 0.5^15/15! = 2e-17, below rounding.
TAYLOR_ORDER = 14
# The norm up to which the series is taken.
SMALL = 0.5
MOST_NUMBERS = 1 << 18
"""In the steps that are prepared together: 2 MB, which stay in the cache of a processor."""


def fully_summed(chain: Chain, h: Modes, step: Modes) -> Value:
    """The sum over infinitely many steps, for an output that does not decay itself.

    Between two events errors decay by the same factor at each step, so the sums are geometric.

    Args:
        chain: the events.
        h: the eigenvalue of each mode, numbers, arrays or symbols.
        step: the step size of each mode.
    """
    return prod(
        strength(event, h, step) / lost(step[m] * h[m] for m in event.modes) for event in chain
    )


def flow_fully_summed(chain: Chain, h: Modes) -> Value:
    """The same in the limit of small steps, in which leaves grow one at a time."""
    if any(len(event.leaves) > 1 for event in chain):
        return 0
    return prod(_times(1, event) / sum(h[m] for m in event.modes) for event in chain)


def strength(event: Event, h: Modes, step: Modes) -> Value:
    """What an event multiplies by."""
    carried = prod(1 - step[m] * h[m] for m in event.carried)
    return _times(prod(step[m] for m in event.leaves) * carried, event)


def _times(value: Value, event: Event) -> Value:
    """A value times the coefficient; exact for symbols."""
    return value * event.coefficient.numerator / event.coefficient.denominator


def lost(fractions: Iterable[Value]) -> Value:
    """One less the product of 1 - x, without cancellation where the x are small."""
    return reduce(lambda total, x: total + x - total * x, fractions)


def step_matrix(chain: Chain, h: Modes, outer: Value, eta: float) -> Array:
    """The recursion of a chain over one step, as matrices along the last two axes."""
    return _bidiagonal(*_one_step(chain, h, outer, eta))


def passed(chains: Sequence[Chain], h: Modes, outer: Value, sizes: Sequence[float]) -> Array:
    """What passes some chains in steps of given sizes, added up: their recursions, iterated.

    The decay of the output itself is the only one that knows of `outer`. It is left to the end of
    each block of steps, where it is the weight of all that has passed in the block.
    """
    shape = np.broadcast_shapes((), *map(np.shape, h.values()))
    levels = max(map(len, chains))
    values = np.zeros((levels, len(chains), *shape))
    for k, chain in enumerate(chains):
        values[len(chain) - 1 : len(chain), k] = 1.0
    total = np.full(np.broadcast_shapes(shape, np.shape(outer)), float(levels == 0))
    together = max(1, MOST_NUMBERS // (2 * values.size + 1))
    for start in range(0, len(sizes), together):
        eta = np.array(sizes[start : start + together])
        kept = 1 - eta.reshape(-1, *(1,) * np.ndim(outer)) * np.asarray(outer)
        later = np.cumprod(np.concatenate([np.ones_like(kept[:1]), kept[:0:-1]]), axis=0)[::-1]
        total = total * (later[0] * kept[0])
        if levels:
            arrived = _iterated(chains, h, eta.reshape(-1, *(1,) * len(shape)), values)
            total = total + np.einsum("t...,t...->...", later, arrived)
    return total


def _iterated(chains: Sequence[Chain], h: Modes, eta: Array, values: Array) -> Array:
    """What arrives at the output in each step; the numbers of all chains are moved on in place."""
    left = np.zeros((len(eta), *values.shape))
    fed = np.zeros_like(left)
    for k, chain in enumerate(chains):
        decays, strengths = _one_step(chain, h, 0.0, eta)
        for level, (decay, factor) in enumerate(zip(decays[1:], strengths, strict=True)):
            left[:, level, k], fed[:, level, k] = decay, factor
    arrived = np.empty((len(eta), *values.shape[2:]))
    for now, decay, factor in zip(arrived, left, fed, strict=True):
        added = factor * values
        added[0].sum(axis=0, out=now)
        values *= decay
        values[:-1] += added[1:]
    return arrived


def _one_step(chain: Chain, h: Modes, outer: Value, eta: Value) -> tuple[list[Value], list[Value]]:
    """What is left of each number of a chain after a step, and what it gets of the next."""
    step = dict.fromkeys(h, eta)
    decays = [1 - eta * np.asarray(outer)]
    decays += [prod(1 - eta * h[m] for m in event.modes) for event in chain]
    return decays, [strength(event, h, step) for event in chain]


def flow_matrix(chain: Chain, h: Modes, outer: Value, time: float) -> Array:
    """The recursion of a chain of single leaves over a time of gradient flow."""
    decays = [-np.asarray(outer), *(-sum(h[m] for m in event.modes) for event in chain)]
    return _exponential(time * _bidiagonal(decays, [float(event.coefficient) for event in chain]))


def _bidiagonal(diagonal: list[Value], above: list[Value]) -> Array:
    shape = np.broadcast_shapes(*map(np.shape, (*diagonal, *above)))
    matrix = np.zeros((*shape, len(diagonal), len(diagonal)))
    for k, value in enumerate(diagonal):
        matrix[..., k, k] = value
    for k, value in enumerate(above):
        matrix[..., k, k + 1] = value
    return matrix


def _exponential(matrix: Array) -> Array:
    """By scaling and squaring; what is left after the Taylor series is below rounding."""
    size = float(np.abs(matrix).sum(axis=-1).max())
    halvings = max(0, ceil(log2(size / SMALL))) if size > 0 else 0
    small = matrix / 2**halvings
    total: Array = np.eye(matrix.shape[-1]) + small
    term = small
    for k in range(2, TAYLOR_ORDER + 1):
        term = term @ small / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total
