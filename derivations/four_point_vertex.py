"""The four-point vertex V: how far preactivations are from Gaussian (PDLT 4.3).

V is the covariance of two stochastic metrics. Its source is one neuron that both share; what it
inherits is the V of the layer below.
"""

from symdlt import RecursionSystem, derive_system


def derive() -> RecursionSystem:
    """The recursions and every recursion that they need."""
    return derive_system(["V"])


if __name__ == "__main__":
    system = derive()
    for name in ("V",):
        print(system[name])
