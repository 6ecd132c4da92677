"""The variance of the NTK: A and B (PDLT 8.3).

Two edges. In A the two ends of each edge share a neuron, in B the edges are tied to each other.
"""

from symdlt import RecursionSystem, derive_system


def derive() -> RecursionSystem:
    """The recursions and every recursion that they need."""
    return derive_system(["A", "B"])


if __name__ == "__main__":
    system = derive()
    for name in ("A", "B"):
        print(system[name])
