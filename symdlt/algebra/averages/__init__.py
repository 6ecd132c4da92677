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

from symdlt.algebra.averages.averages import bracket as bracket
from symdlt.algebra.averages.expectation import connected as connected
from symdlt.algebra.averages.expectation import expectation as expectation
from symdlt.algebra.averages.orbit_averages import expectation_orbits as expectation_orbits
from symdlt.algebra.averages.orbits import Orbit as Orbit
from symdlt.algebra.averages.orbits import OrbitSum as OrbitSum
from symdlt.algebra.averages.pairings import expectation_terms as expectation_terms
from symdlt.errors import ExpectationError as ExpectationError
