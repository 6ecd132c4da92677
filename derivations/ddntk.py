"""The means of the two second differentials: R, S, T and U (PDLT ∞.3).

A star of four vertices and a path of four. These are (∞.177) and (∞.179)–(∞.181) of the book.
"""

from symdlt import RecursionSystem, derive_system


def derive() -> RecursionSystem:
    """The recursions and every recursion that they need."""
    return derive_system(["R", "S", "T", "U"])


if __name__ == "__main__":
    system = derive()
    for name in ("R", "S", "T", "U"):
        print(system[name])
