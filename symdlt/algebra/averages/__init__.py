"""Averages of index expressions over weights, biases and preactivations.

>>> from symdlt.algebra import activation, neurons, preactivations, weights
>>> W, z = weights(2), preactivations(1, single_input=True)
>>> i, k = neurons("i k", "n_2")
>>> j, = neurons("j", "n_1")
>>> σ = activation("σ", z)
>>> def signal(row):
...     return (W(row, j) * σ(j)).sum(j)
>>> print(expectation(signal(i) * signal(k), over=[W, z]))
C_W δ_{i k} ⟨σ σ⟩^(1)
"""

from symdlt.algebra.averages.averages import bracket
from symdlt.algebra.averages.expectation import connected, expectation
from symdlt.algebra.averages.orbit_averages import expectation_orbits
from symdlt.algebra.averages.orbits import Orbit, OrbitSum
from symdlt.algebra.averages.pairings import expectation_terms
from symdlt.errors import ExpectationError

__all__ = [
    "ExpectationError",
    "Orbit",
    "OrbitSum",
    "bracket",
    "connected",
    "expectation",
    "expectation_orbits",
    "expectation_terms",
]
