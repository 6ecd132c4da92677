"""Code generation: from recursions to NumPy modules that stand alone.

`generate_kernel` turns a closed single-input `RecursionSystem` into a `KernelSource`;
`kernel_for` derives the system first; `regenerate` keeps committed artefacts in step.
`activation_source` and `numpy_activation` do the same for activations and their derivatives.
"""

from symdlt.codegen._ir import KernelModule as KernelModule
from symdlt.codegen._lowering import lower as lower
from symdlt.codegen._regeneration import Drift as Drift
from symdlt.codegen._regeneration import Provider as Provider
from symdlt.codegen._regeneration import kernel_files as kernel_files
from symdlt.codegen._regeneration import regenerate as regenerate
from symdlt.codegen._source import KernelSource as KernelSource
from symdlt.codegen._source import generate_kernel as generate_kernel
from symdlt.codegen._source import kernel_for as kernel_for
from symdlt.codegen._template import KERNEL_SCHEMA as KERNEL_SCHEMA
from symdlt.codegen.activations import NumpyActivation as NumpyActivation
from symdlt.codegen.activations import activation_source as activation_source
from symdlt.codegen.activations import numpy_activation as numpy_activation
