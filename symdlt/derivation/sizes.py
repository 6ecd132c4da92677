"""How much memory a derivation takes, before it starts."""

from __future__ import annotations

import math

from symdlt.definitions import Correlator
from symdlt.derivation.terms import piece_name
from symdlt.errors import OrderError
from symdlt.memory import memory_of_machine


def refuse_if_too_large(correlator: Correlator, piece: int, inputs: str) -> None:
    """Refuse a derivation that would not fit into the memory of the machine, before it starts.

    Raises:
        OrderError: with the estimated size and the size of the memory.
    """
    needed = estimated_bytes(correlator, piece, inputs)
    memory = memory_of_machine()
    if needed > memory:
        raise OrderError(
            f"Deriving {piece_name(correlator, piece)} with {inputs} input(s) would take about "
            f"{needed / 1e9:.2g} GB of memory. This machine has {memory / 1e9:.2g} GB. "
            "Ask for fewer axes, a lower piece, or a single input."
        )


def estimated_bytes(correlator: Correlator, piece: int, inputs: str) -> float:
    """Roughly the memory that a derivation takes, extrapolated from measured sizes.

    A vertex without edges has 3, 18, 195, 3198 diagrams at 2, 3, 4, 5 pairs; an edge multiplies
    their number by 3 at most, and many inputs by about 9 for each power of 1/n. A contribution
    takes about 1 kB.
    """
    order = correlator.pairs - 1 + piece
    digits = math.log10(3000) + len(correlator.forest.edges) * math.log10(3)
    digits += max(order - 1, 0) * math.log10(6)
    digits += math.comb(max(order - 1, 0), 2) * math.log10(2)
    digits += order * math.log10(9) if inputs == "many" else 0.0
    return math.pow(10, min(digits, 300.0))
