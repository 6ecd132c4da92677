"""Where panels end about what is narrow in an activation of a known text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from symdlt.means.grids import Array, Function, KernelInputError, known_ends
from symdlt.means.panels import Kinks

# Parts of the usual panel, which is about two standard deviations unless a function oscillates.
# Half of it rules follow, from 32 nodes on; what is wider than the second need not end.
FOLLOWED = 0.3
# Of the widest panel: those not narrower need not end where they do.
UNDIVIDED = 0.5
# Ends are laid for 21 nodes between them, and rules have 32 to 243.
JOINED = 4.0
# A bound of the work, as pairs take the square of the panels; convention.
MOST_ENDS = 100
# Of one, or of a place: nearer ends are the same.
SAME_END = 1e-12


def with_narrow(
    kinks: Kinks, activation: Sequence[Function], roots: Array, most: float = JOINED
) -> Kinks:
    """The kinks, and where panels are to end because the activation is known to vary fast there.

    Nothing jumps at these. Rules see themselves what is not narrow, and what is so everywhere, as
    oscillations are. Neighbouring panels are joined to at most so many times their shortest.
    """
    root = float(roots.max())
    ends = known_ends(activation, root)
    if ends is None:
        return kinks
    widths = np.sort(np.diff(ends))
    # of the panel that half of all z are in one as short as
    usual = widths[np.searchsorted(widths.cumsum(), 0.5 * widths.sum())]
    if not widths[0] < FOLLOWED * usual:
        return kinks
    joined = np.array(fewer(ends.tolist(), most))
    widths = np.diff(joined)
    shorter = np.minimum(widths[:-1], widths[1:])
    places = joined[1:-1][shorter < UNDIVIDED * widths.max()]
    if len(places) > MOST_ENDS:
        places = joined[1:-1][shorter < UNDIVIDED * usual]
    apart = np.abs(places[:, None] - kinks.places)
    places = places[(apart > SAME_END * np.maximum(1.0, np.abs(places))[:, None]).all(axis=1)]
    if len(places) > MOST_ENDS:
        raise KernelInputError(
            f"The activation varies within {np.diff(ends).min():.2g} somewhere at variance "
            f"{root**2:.3g}. "
            f"Panels would end at {len(places)} places for that. "
            "Give an activation that varies slower, or a smaller variance."
        )
    nothing = np.zeros((places.size, kinks.jumps.shape[1]))
    return Kinks(np.append(kinks.places, places), np.concatenate([kinks.jumps, nothing]))


def fewer(ends: list[float], most: float) -> list[float]:
    """Ends of which neighbouring panels are joined to at most so many times their shortest."""
    kept, shortest = [ends[0]], math.inf
    for left, right in pairwise(ends):
        shortest = min(shortest, right - left)
        if right - kept[-1] > most * shortest:
            if left > kept[-1]:
                kept.append(left)
            shortest = right - left
    return [*kept, ends[-1]]
