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

from symdlt.algebra.evaluation import evaluate
from symdlt.algebra.expression import Expression, Letter, as_expression, delta
from symdlt.algebra.factors import Delta, Tensor
from symdlt.algebra.heads import Head, Kind, Slot
from symdlt.algebra.index import Index, Species, neuron, neurons, sample, samples
from symdlt.algebra.laws import (
    ORTHOGONAL,
    Law,
    from_cumulants,
    from_moments,
    gaussian,
    hazard_value,
    orthogonal,
    signs,
    sparse,
    truncated_normal,
    uniform,
)
from symdlt.algebra.matrix_forms import MatrixForm, matrix_form
from symdlt.algebra.model import (
    activation,
    biases,
    constant,
    gaussian_vector,
    preactivations,
    symbol,
    symbols,
    weights,
)
from symdlt.algebra.polynomial import Polynomial, falling_factorial
from symdlt.algebra.special_fields import dropout, layernorm, prune, rmsnorm
from symdlt.algebra.symmetry import Symmetry, antisymmetric, generated, symmetric
from symdlt.algebra.term import Term
from symdlt.algebra.verbs import (
    canonicalize,
    contract,
    product,
    replace,
    substitute,
    sum_over,
)

__all__ = [
    "ORTHOGONAL",
    "Delta",
    "Expression",
    "Head",
    "Index",
    "Kind",
    "Law",
    "Letter",
    "MatrixForm",
    "Polynomial",
    "Slot",
    "Species",
    "Symmetry",
    "Tensor",
    "Term",
    "activation",
    "antisymmetric",
    "as_expression",
    "biases",
    "canonicalize",
    "constant",
    "contract",
    "delta",
    "dropout",
    "evaluate",
    "falling_factorial",
    "from_cumulants",
    "from_moments",
    "gaussian",
    "gaussian_vector",
    "generated",
    "hazard_value",
    "layernorm",
    "matrix_form",
    "neuron",
    "neurons",
    "orthogonal",
    "preactivations",
    "product",
    "prune",
    "replace",
    "rmsnorm",
    "sample",
    "samples",
    "signs",
    "sparse",
    "substitute",
    "sum_over",
    "symbol",
    "symbols",
    "symmetric",
    "truncated_normal",
    "uniform",
    "weights",
]
