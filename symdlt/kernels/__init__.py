"""Kernels: modules that iterate recursions, in NumPy or in JAX, generated from these.

`generate_kernel` turns a closed `RecursionSystem` into a `KernelSource` that stands alone;
`kernel_for` derives the system first; `regenerate` keeps committed files in step. The kernels
`many_inputs` and `single_input` are such files, and import what all kernels share.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symdlt.kernels.generator.lowering import lower as lower
    from symdlt.kernels.generator.regeneration import Drift as Drift
    from symdlt.kernels.generator.regeneration import Provider as Provider
    from symdlt.kernels.generator.regeneration import kernel_files as kernel_files
    from symdlt.kernels.generator.regeneration import regenerate as regenerate
    from symdlt.kernels.generator.representation import KernelModule as KernelModule
    from symdlt.kernels.generator.source import KERNEL_SCHEMA as KERNEL_SCHEMA
    from symdlt.kernels.generator.source import KernelSource as KernelSource
    from symdlt.kernels.generator.source import generate_kernel as generate_kernel
    from symdlt.kernels.generator.source import kernel_for as kernel_for
    from symdlt.kernels.numpy_target.activations import NumpyActivation as NumpyActivation
    from symdlt.kernels.numpy_target.activations import activation_source as activation_source
    from symdlt.kernels.numpy_target.activations import numpy_activation as numpy_activation
else:
    _PLACES = {
        "generator.lowering": ("lower",),
        "generator.regeneration": ("Drift", "Provider", "kernel_files", "regenerate"),
        "generator.representation": ("KernelModule",),
        "generator.source": ("KERNEL_SCHEMA", "KernelSource", "generate_kernel", "kernel_for"),
        "numpy_target.activations": ("NumpyActivation", "activation_source", "numpy_activation"),
    }
    __all__ = sorted(name for names in _PLACES.values() for name in names)

    def __getattr__(name: str) -> object:
        """Load the generator when it is first used: a kernel that is run has no need of it."""
        for place, names in _PLACES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{place}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
