"""The metric: E[z z] and its kernel K (PDLT 4.2, 5.1).

The metric is the first tensor there is: one pair of preactivations, no parameter
derivatives. Two biases or two weights of the new layer are contracted; what is left is a Gaussian
bracket at the kernel. The correction of relative order 1/n needs the four-point vertex.
"""

from symdlt import RecursionSystem, derive_system


def derive() -> RecursionSystem:
    """The recursions and every recursion that they need."""
    return derive_system(["G", "G.1"])


if __name__ == "__main__":
    system = derive()
    for name in ("G", "G.1"):
        print(system[name])
