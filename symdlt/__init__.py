"""symdlt: the recursions of finite-width networks, derived from the definitions.

    definition ─► forward equation ─► contraction ─► width expansion ─► recursion
    definitions   derivation ─────────────────────────────────────────────────►

    recursion ─┬─► LatexDocument        formats
               ├─► Criticality, Phase   fixed_points
               ├─► AsymptoticSolution   asymptotics
               └─► KernelSource         kernels

`networks` puts networks and data into kernels, `training` predicts what they become when they are
trained, and `sampling` measures real networks.

`algebra` is the language in which layers are defined, and in which users write and average their
own index expressions.

>>> import symdlt
>>> print(symdlt.derive("U", inputs="one"))
U[l+1] =
  + C_W^2 <s' s' s'' s''> H^3
  + (n/n') C_W^2 <s' s'>^2 U
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symdlt import activations as activations
    from symdlt import algebra as algebra
    from symdlt import asymptotics as asymptotics
    from symdlt import definitions as definitions
    from symdlt import derivation as derivation
    from symdlt import errors as errors
    from symdlt import fixed_points as fixed_points
    from symdlt import formats as formats
    from symdlt import kernels as kernels
    from symdlt import means as means
    from symdlt import networks as networks
    from symdlt import sampling as sampling
    from symdlt import symbols as symbols
    from symdlt import training as training
    from symdlt._api import *  # noqa: F403
    from symdlt._version import VERSION

    __version__ = VERSION
else:

    def __getattr__(name: str) -> object:
        """Load the library when it is first used, so that the command line can answer at once."""
        from importlib import import_module

        if name == "__version__":
            return import_module("symdlt._version").VERSION
        if name.startswith("_") and name != "__all__":
            raise AttributeError(name)
        offered = vars(import_module("symdlt._api"))
        if name == "__all__":
            return sorted([*(key for key in offered if key[0] != "_"), *offered["_LATER"]])
        if name in offered["_LATER"]:
            return getattr(import_module(offered["_LATER"][name]), name)
        if name in offered:
            return offered[name]
        if name in _rooms():
            return import_module(f"symdlt.{name}")
        raise AttributeError(f"module 'symdlt' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*__getattr__("__all__"), *_rooms(), "__version__", "__doc__", "__all__"})

    def _rooms() -> set[str]:
        """The packages of the library, and its errors; the command line is none of them."""
        from pkgutil import iter_modules

        modules = iter_modules(globals()["__path__"])
        return {module.name for module in modules if module.ispkg} - {"cli"} | {"errors", "symbols"}
