"""Moved to `symdlt.kernels.generator.expressions`; here until activations have moved as well."""

from symdlt.kernels.generator.expressions import Polynomial as Polynomial
from symdlt.kernels.generator.expressions import factored as factored
from symdlt.kernels.generator.expressions import monomial as monomial
