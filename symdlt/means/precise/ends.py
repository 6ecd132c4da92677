"""Where panels end on which an activation varies by little, for the functions of its text."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import ceil, log2

import numpy as np

from symdlt.activations import Activation
from symdlt.activations.smooth_pieces import smooth_pieces
from symdlt.errors import ActivationError
from symdlt.means.grids import Array
from symdlt.means.precise.segments import DOUBLE, MeanError, segments


def ends_of(activation: Activation) -> Callable[[float], Array | None]:
    """What gives, for a standard deviation or a little more, the ends of panels, or None.

    Gauss's rule is right on each of them by disc arithmetic, so that they are short where the
    function varies fast, wherever that is. None says that there are too many, or that the text
    tells nothing of the kind. Functions that have it as their attribute `ends` are known by it.

    >>> from symdlt.activations import activation
    >>> ends = ends_of(activation("tanh(z) + exp(-10**6*(z - 3/10)**2)"))(0.8)
    >>> widths = np.diff(ends)
    >>> bool(0.28 < ends[widths.argmin()] < 0.32), bool(widths.min() < 3e-3)
    (True, True)
    """
    return partial(_ends, activation)


def _ends(activation: Activation, root: float) -> Array | None:
    return _kept_ends(activation, ceil(2.0 * log2(root)))


@lru_cache(maxsize=256)
def _kept_ends(activation: Activation, level: int) -> Array | None:
    """Those at a variance of two to the power of a level."""
    variance = 2.0**level
    try:
        laid = segments(smooth_pieces(activation), (variance, variance), DOUBLE)
    except (MeanError, ActivationError):
        return None
    return np.array([*(float(one.left) for one in laid), float(laid[-1].right)])
