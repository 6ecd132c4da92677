r"""Labels of legs in the equations of a layer: a sample, at a position where there are windows.

Weights with a window read a sample at shifted positions, of both ends of a pair together,

$$S_{12} = C_b + \frac{C_W}{Q}\sum_q M(φ_{1+q}\,φ_{2+q}) ,$$

so that a vertex has a shift next to its leg, written behind its label, and the sum is a symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from symdlt.algebra import Polynomial
from symdlt.definitions import Window
from symdlt.derivation.response.site_functions import Vertex
from symdlt.derivation.response.site_means import LEGS

# The shifts of vertices by their number: none, those of the pair that has the first leg and of the
# other pair, and those of the second ends where the two ends of a pair go their own ways.
SHIFTS = ("", "q", "r", "t", "u")
SUMS = tuple(f"sum_{shift}" for shift in SHIFTS[1:])
APART = 2  # from the shift of a first end to that of a second one
POSITIONS = "P"  # the number of all positions
Ends = tuple[Vertex, Vertex]


class Labels:
    """The labels of vertices.

    Args:
        samples: of each leg.
        windows: of weights by their names.
    """

    def __init__(self, samples: Sequence[str], windows: Mapping[str, Window]) -> None:
        self.samples, self.windows = samples, windows
        self.shifts = len(SHIFTS) if windows else 1
        self.vertices = [
            Vertex(leg, 0, shift) for leg in range(LEGS) for shift in range(self.shifts)
        ]

    @property
    def window(self) -> Window:
        """The only one, where there are any."""
        (window,) = {*self.windows.values()}
        return window

    def row(self, vertex: Vertex) -> int:
        """The row of a vertex in matrices."""
        return vertex.leg * self.shifts + vertex.offset

    def of(self, vertex: Vertex) -> str:
        """The label of a vertex."""
        return self.samples[vertex.leg] + "+" * bool(vertex.offset) + SHIFTS[vertex.offset]

    def number(self, vertex: Vertex) -> int:
        """A number for a label, that of the sample where there are no windows."""
        return int(self.samples[vertex.leg]) * self.shifts + vertex.offset

    def named(self, number: int) -> str:
        """The label of that number."""
        sample, shift = divmod(number, self.shifts)
        return str(sample) + "+" * bool(shift) + SHIFTS[shift]

    def read(self, weights: str, ends: Ends) -> tuple[Ends, Polynomial]:
        """What weights read of two ends, and the mean over the positions that are read."""
        one = Polynomial.number(1)
        if weights not in self.windows:
            return ends, one
        window, (first, second) = self.windows[weights], ends
        shift = 1 if 0 in (first.leg, second.leg) else 2
        both = [shift, shift + APART * window.pools]
        count = one / (Polynomial.symbol(POSITIONS) if window.whole else window.count)
        for each in dict.fromkeys(both):
            one = one * count * Polynomial.symbol(SUMS[each - 1])
        return (first._replace(offset=both[0]), second._replace(offset=both[1])), one

    def meaning(self, weights: str) -> str:
        """What the sum over the positions that are read is, in words."""
        window = self.windows[weights]
        if window.whole:
            return f"over all `{POSITIONS}` positions: `1+q` is sample 1 at position `q`"
        told = f"over the {window.count} offsets of the window of `{weights}`"
        low = 0 if window.padding == "valid" else -((min(window.kernel, default=1) - 1) // 2)
        at = "that of 1"
        if window.stride > 1:
            at = f"{window.stride} times {at}"
        beyond = {"zero": "; what lies beyond the edge is zero", "valid": ""}
        closed = beyond.get(window.padding, ", on a grid that closes upon itself")
        return f"{told}, from `{low}` on: `1+q` is sample 1, `q` positions on from {at}{closed}"


def joined(labels: Iterable[str]) -> str:
    """Labels one behind the other, with commas where one is shifted."""
    every = [*labels]
    return ("," if any(len(label) > 1 for label in every) else "").join(every)
