r"""Labels of legs in the equations of a layer: a sample, at a position where there are windows.

Weights with a window read a sample at shifted positions, of both ends of a pair together,

$$S_{12} = C_b + \frac{C_W}{Q}\sum_q M(φ_{1+q}\,φ_{2+q}) ,$$

so that a vertex has a shift next to its leg, written behind its label, and the sum is a symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from symdlt.algebra import Polynomial
from symdlt.definitions import Layer, Stack, Window
from symdlt.derivation.response.site_functions import Vertex
from symdlt.derivation.response.site_means import LEGS

# The shifts of vertices, those of each window: of the pair that has the first leg and of the other
# pair, and of the second ends where the two ends of a pair go their own ways.
SHIFTS = ("qrtu", "abcd", "efgh", "ijkl")
OF_WINDOW = len(SHIFTS[0])
SUMS = tuple(f"sum_{shift}" for shift in "".join(SHIFTS))
PAIRS, ENDS = 2, 2  # of legs, and of each of these
APART = 2  # from the shift of a first end to that of a second one
POSITIONS = "P"  # the number of all positions, or of those that are pooled
Ends = tuple[Vertex, Vertex]


class PairOver(NamedTuple):
    """The window that a pair of legs goes over, and which of the two pairs it is."""

    window: int
    pair: int


class Labels:
    """The labels of vertices.

    Args:
        samples: of each leg.
        windows: of weights by their names.
    """

    def __init__(self, samples: Sequence[str], windows: Mapping[str, Window]) -> None:
        self.samples, self.windows = samples, windows
        self.kinds = tuple(dict.fromkeys(windows.values()))
        self.shifts = 1 + OF_WINDOW * len(self.kinds)
        self.vertices = [
            Vertex(leg, 0, shift) for leg in range(LEGS) for shift in range(self.shifts)
        ]

    def row(self, vertex: Vertex) -> int:
        """The row of a vertex in matrices."""
        return vertex.leg * self.shifts + vertex.offset

    def of(self, vertex: Vertex) -> str:
        """The label of a vertex."""
        return self.samples[vertex.leg] + _behind(vertex.offset)

    def number(self, vertex: Vertex) -> int:
        """A number for a label, that of the sample where there are no windows."""
        return int(self.samples[vertex.leg]) * self.shifts + vertex.offset

    def named(self, number: int) -> str:
        """The label of that number."""
        sample, shift = divmod(number, self.shifts)
        return str(sample) + _behind(shift)

    def read(self, weights: str, ends: Ends) -> tuple[Ends, Polynomial]:
        """What weights read of two ends, and the mean over the positions that are read."""
        if weights not in self.windows:
            return ends, Polynomial.number(1)
        window, (first, second) = self.windows[weights], ends
        pair = 0 if 0 in (first.leg, second.leg) else 1
        shift = 1 + OF_WINDOW * self.kinds.index(window) + pair
        both = [shift, shift + APART * window.pools]
        count, power = read_together(window)
        over = Polynomial.number(1) / count / Polynomial.symbol(POSITIONS) ** power
        for each in dict.fromkeys(both):
            over = over * Polynomial.symbol(SUMS[each - 1])
        return (first._replace(offset=both[0]), second._replace(offset=both[1])), over

    def meaning(self) -> str:
        """What the sums over the positions that are read are, in words."""
        told = []
        for number, window in enumerate(self.kinds):
            one, first, second, third = (*SHIFTS[number],)
            letters = [weights for weights, own in self.windows.items() if own == window]
            goes = f"`sum_{one}` goes {_goes(window, one, second, letters)}"
            told.append(f"{goes}; and alike `{first}`, `{second}` and `{third}`")
        return ". ".join(told)


def _goes(window: Window, one: str, other: str, letters: Sequence[str]) -> str:
    """What a sum goes over, and what a shift is."""
    if window.whole:
        return f"over all `{POSITIONS}` positions: `1+{one}` is sample 1 at position `{one}`"
    of = " and of ".join(f"`{letter}`" for letter in letters)
    low = 0 if window.padding == "valid" else -((min(window.kernel, default=1) - 1) // 2)
    at = "that of 1"
    if window.stride > 1:
        at = f"{window.stride} times {at}"
    beyond = {"zero": "; what lies beyond the edge is zero", "valid": ""}
    closed = beyond.get(window.padding, ", on a grid that closes upon itself")
    if window.pool > 1:
        closed += (
            f", whose positions are {window.pool} along each axis that are pooled: `{one}` and "
            f"`{other}` go over all of these, at one offset"
        )
    return (
        f"over the {window.count} offsets of the window of {of}, from `{low}` on: `1+{one}` is "
        f"sample 1, `{one}` positions on from {at}{closed}"
    )


def _behind(shift: int) -> str:
    """What stands behind a label."""
    return f"+{''.join(SHIFTS)[shift - 1]}" if shift else ""


def pair_over(shift: int) -> PairOver:
    """The window, and the pair, of the shift of a vertex.

    >>> pair_over(1), pair_over(4), pair_over(6)
    (PairOver(window=0, pair=0), PairOver(window=0, pair=1), PairOver(window=1, pair=1))
    """
    window, place = divmod(shift - 1, OF_WINDOW)
    return PairOver(window, place % PAIRS)


def read_together(window: Window) -> tuple[int, int]:
    """How many pairs of positions a window reads, a number times a power of P.

    >>> read_together(Window.read("3x3")), read_together(Window.read("3, pool 2"))
    ((9, 0), (12, 0))
    >>> read_together(Window.read("all")), read_together(Window.read("mean"))
    ((1, 1), (1, 2))
    """
    if window.whole:
        return 1, ENDS if window.pools else 1
    if window.pool > 1 and not window.kernel:  # along as many axes as there are
        return 1, ENDS
    return window.count * window.pool ** (ENDS * len(window.kernel)), 0


def windows_of(layer: Layer | Stack) -> dict[str, Window]:
    """The windows of weights, by the names of these.

    >>> [*windows_of(Stack("u = U z; z' = b + W[3] s(u) + P[2] z"))]
    ['W', 'P']
    """
    drawn = (one for stream in layer.streams for one in stream.drawn)
    return {one.tensor.name: one.window for one in drawn if one.window}


def joined(labels: Iterable[str]) -> str:
    """Labels one behind the other, with commas where one is shifted."""
    every = [*labels]
    return ("," if any(len(label) > 1 for label in every) else "").join(every)
