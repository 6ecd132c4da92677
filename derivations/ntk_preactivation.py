"""The cross-correlation of the NTK with the preactivations: D and F (PDLT 8.3).

One edge and two isolated vertices; D ties the preactivations to each other, F each of them to an
end of the edge.
"""

from symdlt import RecursionSystem, derive_system


def derive() -> RecursionSystem:
    """The recursions and every recursion that they need."""
    return derive_system(["D", "F"])


if __name__ == "__main__":
    system = derive()
    for name in ("D", "F"):
        print(system[name])
