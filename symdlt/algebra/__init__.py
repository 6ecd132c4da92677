"""Index expressions: named indices, tensors, sums, and one canonical form.

Declare indices and tensors, write a formula, and print it or compare it:

>>> i, j = neurons("i j", "n_1")
>>> x = constant("x", i)
>>> square = (x(i) * x(j) * delta(i, j)).sum(i, j)
>>> print(square)
Σ_i x_i²
>>> square == (x(j) ** 2).sum(j)
True
"""

from symdlt.algebra.evaluation import evaluate as evaluate
from symdlt.algebra.expression import Expression as Expression
from symdlt.algebra.expression import Letter as Letter
from symdlt.algebra.expression import as_expression as as_expression
from symdlt.algebra.expression import delta as delta
from symdlt.algebra.factors import Delta as Delta
from symdlt.algebra.factors import Tensor as Tensor
from symdlt.algebra.heads import Head as Head
from symdlt.algebra.heads import Kind as Kind
from symdlt.algebra.heads import Slot as Slot
from symdlt.algebra.index import Index as Index
from symdlt.algebra.index import Species as Species
from symdlt.algebra.index import neuron as neuron
from symdlt.algebra.index import neurons as neurons
from symdlt.algebra.index import sample as sample
from symdlt.algebra.index import samples as samples
from symdlt.algebra.laws import ORTHOGONAL as ORTHOGONAL
from symdlt.algebra.laws import Law as Law
from symdlt.algebra.laws import from_cumulants as from_cumulants
from symdlt.algebra.laws import from_moments as from_moments
from symdlt.algebra.laws import gaussian as gaussian
from symdlt.algebra.laws import hazard_value as hazard_value
from symdlt.algebra.laws import orthogonal as orthogonal
from symdlt.algebra.laws import signs as signs
from symdlt.algebra.laws import sparse as sparse
from symdlt.algebra.laws import truncated_normal as truncated_normal
from symdlt.algebra.laws import uniform as uniform
from symdlt.algebra.matrix_forms import MatrixForm as MatrixForm
from symdlt.algebra.matrix_forms import matrix_form as matrix_form
from symdlt.algebra.model import activation as activation
from symdlt.algebra.model import biases as biases
from symdlt.algebra.model import constant as constant
from symdlt.algebra.model import gaussian_vector as gaussian_vector
from symdlt.algebra.model import preactivations as preactivations
from symdlt.algebra.model import symbol as symbol
from symdlt.algebra.model import symbols as symbols
from symdlt.algebra.model import weights as weights
from symdlt.algebra.polynomial import Polynomial as Polynomial
from symdlt.algebra.polynomial import falling_factorial as falling_factorial
from symdlt.algebra.special_fields import dropout as dropout
from symdlt.algebra.special_fields import layernorm as layernorm
from symdlt.algebra.special_fields import prune as prune
from symdlt.algebra.special_fields import rmsnorm as rmsnorm
from symdlt.algebra.symmetry import Symmetry as Symmetry
from symdlt.algebra.symmetry import antisymmetric as antisymmetric
from symdlt.algebra.symmetry import generated as generated
from symdlt.algebra.symmetry import symmetric as symmetric
from symdlt.algebra.term import Term as Term
from symdlt.algebra.verbs import canonicalize as canonicalize
from symdlt.algebra.verbs import contract as contract
from symdlt.algebra.verbs import product as product
from symdlt.algebra.verbs import replace as replace
from symdlt.algebra.verbs import substitute as substitute
from symdlt.algebra.verbs import sum_over as sum_over
