"""symdlt: the recursions of finite-width networks, derived from the definitions.

    definition ─► forward equation ─► contraction ─► width expansion ─► recursion
    networks      forward             wick           expansion          recursions

    recursion ─┬─► LatexDocument        typesetting
               ├─► AsymptoticSolution   asymptotics
               └─► KernelSource         kernels

`mlp` puts networks and data into kernels, `training` predicts what they become when they are
trained, and `sampling` measures real networks.

`indices` is the language in which users write and average their own index expressions.

>>> import symdlt
>>> print(symdlt.derive("U", inputs="one"))
U[l+1] =
  + C_W^2 <s' s' s'' s''> H^3
  + (n/n') C_W^2 <s' s'>^2 U
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symdlt._api import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        """Load the library when it is first used, so that the command line can answer at once."""
        if name.startswith("_") and name != "__all__":
            raise AttributeError(name)
        offered = vars(import_module("symdlt._api"))
        later = offered["_LATER"]
        if name == "__all__":
            return [key for key in offered if not key.startswith("_")] + [*later]
        if name in later:
            return getattr(import_module(later[name]), name)
        if name not in offered and name not in globals():
            raise AttributeError(f"module 'symdlt' has no attribute {name!r}")
        return offered.get(name, globals().get(name))

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
