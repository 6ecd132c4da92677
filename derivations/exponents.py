"""The critical exponents of the K* = 0 class (PDLT ∞.30–∞.37).

The thirteen single-input recursions are solved for an odd activation at criticality. Nothing is
fitted: the powers of ℓ come from balancing the recursions, the coefficients with them.
"""

from symdlt import BOOK, RecursionSystem, derive_system
from symdlt.asymptotics import exponents


def derive() -> RecursionSystem:
    """The recursions that are solved."""
    return derive_system(BOOK, inputs="one")


if __name__ == "__main__":
    print(exponents("tanh").table())
