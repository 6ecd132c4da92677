"""The lengths in the text of an activation: where it changes its form as |z| grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from symdlt.activations.nodes import Node
from symdlt.activations.rings import number
from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.means.precise.discs import ARRAYS, Reals

# Numbers in activations are at most 1e99 and at least 1e-99; 2**332 is about 1e100.
OCTAVES = np.arange(-332, 333)
# Not a number that sums of small integers hit, as 1 + exp(z) does near zero.
TWICE = 2.3
BOUNDED: dict[str, Callable[[Reals], Reals]] = {
    "sin": lambda u: np.clip(u, -1, 1),
    "cos": np.ones_like,
}


def lengths(pieces: Sequence[SmoothPiece]) -> tuple[float, float]:
    """The smallest and the largest length; both 1 if there is none.

    A kink has one, the argument of a function where it passes 1, and a sum where one of its terms
    becomes the larger.

    >>> from symdlt.activations.smooth_pieces import smooth_pieces
    >>> from symdlt.activations import activation
    >>> [round(x) for x in lengths(smooth_pieces(activation("tanh(z/50) + z**3/10**9")))]
    [23, 1448]
    """
    ends = tuple(float(piece.start) for piece in pieces[1:])
    return _lengths(tuple(piece.node for piece in pieces), ends)


@lru_cache(maxsize=64)  # each rule that is laid asks for them
def _lengths(nodes: tuple[Node, ...], ends: tuple[float, ...]) -> tuple[float, float]:
    """The same of functions and the places between them."""
    z = 2.0 ** np.stack([OCTAVES, OCTAVES])
    z[0] *= -1
    changing: list[float] = []
    with np.errstate(all="ignore"):
        for node, low, high in zip(nodes, [-np.inf, *ends], [*ends, np.inf], strict=True):
            inside = (z >= low) & (z <= high)
            changes = np.zeros(z[:, 1:].shape, dtype=bool)
            _sizes(node, z, changes)
            changes &= inside[:, 1:] | inside[:, :-1]
            changing += [
                float(2.0 ** (OCTAVES[k] + 0.5)) for k in np.flatnonzero(changes.any(axis=0))
            ]
    changing += [abs(end) for end in ends if end]
    return (min(changing), max(changing)) if changing else (1.0, 1.0)


def _sizes(node: Node, z: Reals, changes: NDArray[np.bool_]) -> Reals:
    """The values of a function, oscillations replaced by their envelope; marks its changes."""
    if node.kind == "variable":
        return z
    if not node.children:
        return np.full_like(z, float(number(node)))
    first, *others = (_sizes(child, z, changes) for child in node.children)
    if node.kind == "add":
        changes |= _steps(first, others[0])
        return first + others[0]
    if node.kind == "multiply":
        return first * others[0]
    if node.kind == "divide":
        return first / others[0]
    if node.kind == "power":
        whole = node.number.denominator == 1
        return (first if whole else abs(first)) ** float(node.number)
    changes |= _steps(first, np.ones_like(z))
    if node.name == "sigmoid":
        return 1 / (1 + np.exp(-first))
    envelope = BOUNDED.get(node.name) or getattr(ARRAYS, node.name)
    return envelope(first)


def _steps(first: Reals, second: Reals) -> NDArray[np.bool_]:
    """Where it changes which of two is the larger, twice the other at least, or neither.

    A term that is zero has no length; it may have lost its digits, as exp(z) - 1 does.
    """
    a, b = abs(first), abs(second)
    order = (a > TWICE * b).astype(int) - (b > TWICE * a)
    known = (a > 0) & (b > 0)
    steps: NDArray[np.bool_] = (order[:, 1:] != order[:, :-1]) & known[:, 1:] & known[:, :-1]
    return steps
