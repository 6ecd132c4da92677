"""Moved to `symdlt.kernels.generator.expressions`; here until activations have moved as well."""

from symdlt.kernels.generator.expressions import Expression as Expression
from symdlt.kernels.generator.expressions import Power as Power
from symdlt.kernels.generator.expressions import Product as Product
from symdlt.kernels.generator.expressions import Sum as Sum
from symdlt.kernels.generator.expressions import Symbol as Symbol
from symdlt.kernels.generator.expressions import symbols as symbols
