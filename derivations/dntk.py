"""The first differential of the NTK with a preactivation: P and Q (PDLT 11.2).

A path of three vertices and an isolated one. The mean of the dNTK alone vanishes, an odd number of
vertices having no perfect matching.
"""

from symdlt import RecursionSystem, derive_system


def derive() -> RecursionSystem:
    """The recursions and every recursion that they need."""
    return derive_system(["P", "Q"])


if __name__ == "__main__":
    system = derive()
    for name in ("P", "Q"):
        print(system[name])
