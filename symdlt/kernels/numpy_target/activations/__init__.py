"""Activations and their derivatives as NumPy."""

from symdlt.kernels.numpy_target.activations.source import NumpyActivation as NumpyActivation
from symdlt.kernels.numpy_target.activations.source import activation_source as activation_source
from symdlt.kernels.numpy_target.activations.source import numpy_activation as numpy_activation
