"""Averages of index expressions over weights, biases and preactivations.

>>> from symdlt.indices import activation, neurons, preactivations, weights
>>> W, z = weights(2), preactivations(1, single_input=True)
>>> i, k = neurons("i k", "n_2")
>>> j, = neurons("j", "n_1")
>>> σ = activation("σ", z)
>>> def signal(row):
...     return (W(row, j) * σ(j)).sum(j)
>>> print(expectation(signal(i) * signal(k), over=[W, z]))
C_W δ_{i k} ⟨σ σ⟩^(1)
"""

from symdlt.errors import ExpectationError
from symdlt.wick._averages import bracket
from symdlt.wick._clusters import ContractedMoment, Contraction, contract_matching
from symdlt.wick._expectation import connected, expectation
from symdlt.wick._orbit_averages import expectation_orbits
from symdlt.wick._orbits import Orbit, OrbitSum
from symdlt.wick._pairings import expectation_terms

__all__ = [
    "ContractedMoment",
    "Contraction",
    "ExpectationError",
    "Orbit",
    "OrbitSum",
    "bracket",
    "connected",
    "contract_matching",
    "expectation",
    "expectation_orbits",
    "expectation_terms",
]
