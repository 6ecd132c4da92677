"""What fills the template of a kernel for many inputs."""

from __future__ import annotations

from typing import NamedTuple

from symdlt.activations import Activation
from symdlt.activations import activation as activation_of
from symdlt.activations.activation import kinks_of
from symdlt.activations.smooth_pieces import smooth_pieces, straight_slopes
from symdlt.activations.sympy_form import Z
from symdlt.errors import KernelError
from symdlt.kernels.generator.expressions import symbols
from symdlt.kernels.generator.layer_lowering import GIVEN
from symdlt.kernels.generator.lowering import OVERLAP
from symdlt.kernels.generator.python.layout import quoted, tuple_behind
from symdlt.kernels.generator.python.one_input import Data, first_layer
from symdlt.kernels.generator.representation import KernelModule
from symdlt.kernels.jax_target import template
from symdlt.kernels.jax_target.activations import jax_activation
from symdlt.kernels.jax_target.many_inputs_recursions import (
    fields_table,
    recursions,
    refuse_other_means,
)

# Families of closed means by the functions that have them, and whether these take a constant.
FAMILIES = {
    "erf": ("erf_means", True),
    "gelu": ("gelu_means", False),
    "exponential": ("wave_means", True),
}


def data_of_many(module: KernelModule) -> Data:
    """What the template asks for, apart from what all kernels have.

    Raises:
        KernelError: for tensors other than the kernel and the NTK, and for windows.
    """
    if module.positions is not None:
        raise KernelError(
            f"The layer {module.layer} has a window. Kernels for JAX take inputs without "
            'positions. Choose the target "numpy".'
        )
    refuse_other_means(module)
    names = {name: f"h.{name}" for name in module.names}
    overlap = next(n for f in module.functions for n in symbols(f.first) if OVERLAP in n)
    return {
        "needed": tuple_behind("NEEDED = ", quoted(module.hyperparameters)),
        "fields": [f"{name}: Array" for name in module.names],
        "overlap": overlap,
        "first_layer": first_layer(module, names),
        "table": [f'"{f.tensor}": advance_{f.variable.lower()},' for f in module.functions],
        "recursions": "\n\n\n".join([*recursions(module), *fields_table(module)]),
        **(template.THROUGH_FIELDS if module.several else template.THROUGH_ONE),
    }


class PairMeans(NamedTuple):
    """How a kernel has the means of a function over pairs.

    Attributes:
        code: the function and its derivative as code, if the kernel brings them along.
        functions: what they are called there.
        call: the call that makes the means.
        closed: whether they have a closed form.
    """

    code: str
    functions: str
    call: str
    closed: bool


def pair_means(module: KernelModule, brought: Activation | None) -> dict[str, PairMeans]:
    """How a kernel has the means of all its functions.

    Raises:
        KernelError: for kinks that have no closed form.
    """
    names = module.keys if module.several else (GIVEN,)
    return {n: _means_of(brought if n == GIVEN else activation_of(n), n) for n in names}


def _means_of(one: Activation | None, name: str) -> PairMeans:
    if one is None:
        functions, code, call = template.GIVEN.format(count=2), "", ""
    else:
        named = "" if name == GIVEN else name
        functions, code = named.upper() or "ACTIVATION", jax_activation(one, 1, named)
        call = closed_form(one)
    series = template.SERIES_MEANS.format(functions=functions, degrees=degrees(one))
    return PairMeans(code, functions, call or series, bool(call))


def closed_form(activation: Activation) -> str:
    """The call that makes the means of an activation in closed form, or an empty text.

    Raises:
        KernelError: for kinks that have no closed form.
    """
    if kinks_of(activation):
        slopes = straight_slopes(smooth_pieces(activation))
        if slopes is None:
            raise KernelError(
                f"The activation {activation.name or activation.text} has kinks, and its means no "
                "closed form that is known for JAX. Among kinked functions those of lines that "
                'meet at zero have one. Take such, a smooth activation, or the target "numpy".'
            )
        left, right = map(float, slopes)
        return f"relu_means({left!r}, {right!r})"
    family = activation.closed_family()
    if family is None or family[0] not in FAMILIES:
        return ""
    name, parameters = family
    function, constant = FAMILIES[name]
    straight = parameters.get("coefficients", ())
    if len(straight) > constant:
        return ""
    given = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    return f"{function}({given})"


def degrees(activation: Activation | None) -> str:
    """The degrees at which σ' has coefficients: half of them if σ is seen to be odd or even."""
    if activation is None:
        return "range(degree)"
    function = activation.to_sympy()
    mirrored = function.subs(Z, -Z)
    if mirrored == -function:
        return "range(0, degree, 2)"
    return "range(1, degree, 2)" if mirrored == function else "range(degree)"
