"""G.1 and H.1 of one layer in symbols, from those of the layer below."""

from __future__ import annotations

from symdlt.networks.corrections import Corrections
from symdlt.networks.site_averages import Edges, Pair
from symdlt.networks.site_means import ZERO
from symdlt.networks.symbolic.symbolic_response import (
    BASE,
    SymbolicResponse,
    Symbols,
    filled,
    symbol_named,
)

PIECES = ("G.1", "H.1")  # of the kernel and of the NTK


class SymbolicCorrections(Corrections):
    """Means of conditional covariances at order 1/n; of the layer below, symbols."""

    response: SymbolicResponse

    def __init__(self, response: SymbolicResponse) -> None:
        super().__init__(response)

    def shift(self, pair: Pair, edges: Edges) -> Symbols:
        """The mean of a conditional covariance; of the layer below, a symbol."""
        if any(field != BASE for field, _ in pair):
            return super().shift(pair, edges)
        legs = {vertex.leg for _, vertex in pair}
        if any(not {*edge} <= legs for edge in edges):
            return ZERO
        means = self.response.means
        labels = sorted(str(means.sample(vertex.leg)) for _, vertex in pair)
        known = filled(means.tensor(f"{self.response.prefix}{PIECES[bool(edges)]}", labels))
        shifted: Symbols = known / symbol_named("n'")
        return shifted
