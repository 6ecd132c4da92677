"""The mean of the neural tangent kernel (PDLT 8.2).

One edge between two vertices: its parameter is a new bias, a new weight, or one from below, and
then the chain rule gives a derivative of σ at both ends.
"""

from symdlt import RecursionSystem, derive_system


def derive() -> RecursionSystem:
    """The recursions and every recursion that they need."""
    return derive_system(["H", "H.1"])


if __name__ == "__main__":
    system = derive()
    for name in ("H", "H.1"):
        print(system[name])
