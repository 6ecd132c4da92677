r"""Sums over the steps at which the events of a chain happen.

A chain of k events is a linear recursion for k + 1 numbers. Let $\epsilon$ be the product of the
errors of the modes below event i, and $v_i$ what has passed the events up to i; then a step takes

$$v_{i} \to \prod_{m \in i} (1 - \eta_m h_m)\, v_{i} + c_{i+1} v_{i+1},$$

where $c_{i+1}$ is the coefficient of the event, with a step size for each new leaf and
$1 - \eta_m h_m$ for each mode that is carried through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from math import ceil, log2, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.training._responses import Chain, Event

Array = NDArray[Any]
Modes = Mapping[int, Any]
TAYLOR_ORDER = 14
SMALL = 0.5


def fully_summed(chain: Chain, h: Modes, step: Modes) -> Any:
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


def flow_fully_summed(chain: Chain, h: Modes) -> Any:
    """The same in the limit of small steps, in which leaves grow one at a time."""
    if any(len(event.leaves) > 1 for event in chain):
        return 0
    return prod(_times(1, event) / sum(h[m] for m in event.modes) for event in chain)


def strength(event: Event, h: Modes, step: Modes) -> Any:
    """What an event multiplies by."""
    carried = prod(1 - step[m] * h[m] for m in event.carried)
    return _times(prod(step[m] for m in event.leaves) * carried, event)


def _times(value: Any, event: Event) -> Any:
    """A value times the coefficient; exact for symbols."""
    return value * event.coefficient.numerator / event.coefficient.denominator


def lost(fractions: Iterable[Any]) -> Any:
    """One less the product of 1 - x, without cancellation where the x are small."""
    return reduce(lambda total, x: total + x - total * x, fractions)


def step_matrix(chain: Chain, h: Modes, outer: Any, eta: float) -> Array:
    """The recursion of a chain over one step, as matrices along the last two axes."""
    step = dict.fromkeys(h, eta)
    decays = [1 - eta * np.asarray(outer)]
    decays += [prod(1 - eta * h[m] for m in event.modes) for event in chain]
    return _bidiagonal(decays, [strength(event, h, step) for event in chain])


def flow_matrix(chain: Chain, h: Modes, outer: Any, time: float) -> Array:
    """The recursion of a chain of single leaves over a time of gradient flow."""
    decays = [-np.asarray(outer), *(-sum(h[m] for m in event.modes) for event in chain)]
    return _exponential(time * _bidiagonal(decays, [float(event.coefficient) for event in chain]))


def _bidiagonal(diagonal: list[Any], above: list[Any]) -> Array:
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
