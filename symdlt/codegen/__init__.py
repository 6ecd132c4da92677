"""Activations and their derivatives as NumPy source that stands alone."""

from symdlt.codegen._activation_source import NumpyActivation as NumpyActivation
from symdlt.codegen._activation_source import activation_source as activation_source
from symdlt.codegen._activation_source import numpy_activation as numpy_activation
