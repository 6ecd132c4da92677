"""Activations and their derivatives as JAX, from the same table and calculus as in NumPy."""

from __future__ import annotations

import re

from symdlt.activations import Activation
from symdlt.activations.functions import FUNCTIONS
from symdlt.kernels import activation_source
from symdlt.kernels.generator.python.calculus import DECAY
from symdlt.kernels.generator.python.code import Dialect, pieces_code, single_function

JAX = Dialect(
    "jnp",
    "jnp.asarray(z)",
    "jnp.full_like(z, {})",
    {f.numpy: f.jax for f in FUNCTIONS.values() if f.jax} | {DECAY: "bounded_exp({})"},
)


def jax_activation(activation: Activation, derivatives: int, name: str = "") -> str:
    """Functions s0(z), s1(z), … and ACTIVATION, the tuple of them; with a name, these by the name.

    Raises:
        ActivationError: if it is not finite on the whole real line, or not to be differentiated.

    >>> from symdlt.activations import activation
    >>> print(jax_activation(activation("gelu"), 0))
    def s0(z: Array) -> Array:
        z = jnp.asarray(z)
        tail = erfc(-0.7071067811865476 * z)
        return 0.5 * z * tail
    <BLANKLINE>
    <BLANKLINE>
    ACTIVATION = (s0,)
    """
    activation_source(activation, derivatives)  # tried in NumPy, and refused where not finite
    parts = pieces_code(activation, derivatives)
    functions = [single_function(parts, order, JAX) for order in range(derivatives + 1)]
    stem, constant = (f"{name}_", name.upper()) if name else ("s", "ACTIVATION")
    renamed = [re.sub(r"\bdef s(\d+)\(", rf"def {stem}\1(", text) for text in functions]
    names = ", ".join(f"{stem}{order}" for order in range(derivatives + 1))
    return "\n\n".join([*renamed, f"{constant} = ({names}{',' * (derivatives == 0)})"])
