"""Activations and their derivatives as NumPy."""

from symdlt.codegen.activations.source import NumpyActivation as NumpyActivation
from symdlt.codegen.activations.source import activation_source as activation_source
from symdlt.codegen.activations.source import numpy_activation as numpy_activation
