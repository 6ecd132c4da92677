"""What fills the template of a kernel for many inputs."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
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
from symdlt.kernels.generator.python.layout import (
    INSIDE,
    bracketed,
    equation_lines,
    filled,
    quoted,
    tuple_behind,
)
from symdlt.kernels.generator.python.one_input import Data, first_layer
from symdlt.kernels.generator.python.printer import returned
from symdlt.kernels.generator.representation import (
    METRIC,
    Entry,
    FieldFunction,
    KernelModule,
    TensorFunction,
)
from symdlt.kernels.jax_target import template
from symdlt.kernels.jax_target.activations import jax_activation

NTK = "H"
# <f f> of any tensor, and <f' f'> of the NTK alone, since the kernel of inputs with themselves is
# found from <f f>.
EVEN, SLOPES = (0, 0), (1, 1)


def refuse_other_means(module: KernelModule) -> None:
    """Refuse what is not made of <f f> and <f' f'> over fields of one function each.

    Raises:
        KernelError: for such tensors and layers.
    """
    inside = [field.covariance for field in module.fields if field.covariance is not None]
    for one in (*module.functions, *inside):
        orders = (EVEN, SLOPES) if one.tensor == NTK else (EVEN,)
        for entry in one.entries:
            if entry.scale or entry.kept:
                continue
            known = entry.orders in orders if entry.orders else entry.table in (METRIC, NTK)
            if not known or entry.groups or entry.samples != one.samples:
                two = one.samples == (1, 2)
                needed = entry.name if two else "means and tensors at four inputs"
                raise KernelError(
                    f"{one.tensor} of many inputs cannot be written for JAX. With the layer "
                    f"{module.layer} it needs {needed}, and the target has <f f> and, of the "
                    "NTK, <f' f'> of a function f at two inputs. Take G and H of layers that read "
                    'one function of each field, or one input (inputs="one"), or the target '
                    '"numpy".'
                )


def recursions(module: KernelModule) -> list[str]:
    """The covariances of fields and the tensors as functions of the layer."""
    names = {name: f"h.{name}" for name in module.names}
    written = [_covariance(field, names) for field in module.fields]
    return written + [
        _written(f"advance_{one.variable.lower()}", f"{one.tensor} of layer l+1", one, names)
        for one in module.functions
    ]


def fields_table(module: KernelModule) -> list[str]:
    """The table of fields, of a layer that has several."""
    rows = [
        filled(
            template.ROW_PAIRS,
            name=field.name,
            function=f'function="{field.key}",' if field.functions else "",
            scale=f'scale="{field.scale}",' if field.scale else "",
        )
        for field in module.fields
    ]
    return [filled(template.FIELDS_PAIRS, rows=rows)] if module.several else []


def _covariance(field: FieldFunction, names: dict[str, str]) -> str:
    name, told = f"covariance_{field.name}", f"The covariance of the field {field.name}"
    if field.covariance is not None:
        return _written(name, told, field.covariance, names)
    same = [f"<z_1 z_2> = {METRIC}_12"]
    return _filled(name, told, same, [], f'return below["{METRIC}"]')


def _written(name: str, told: str, one: TensorFunction, names: dict[str, str]) -> str:
    entries = [f"{entry.name} = {_read(entry)}" for entry in one.entries]
    return _filled(name, told, one.equation, entries, returned(one.value, names, INSIDE))


def _filled(
    name: str, told: str, equation: Iterable[str], entries: Iterable[str], value: str
) -> str:
    arguments = ["h: Layer", "means: Mapping[str, Array]", "below: Mapping[str, Array]"]
    return filled(
        template.RECURSION_MANY,
        head=bracketed(f"def {name}(", arguments, ") -> Array:"),
        told=told,
        equation=equation_lines(equation),
        entries=entries,
        value=value,
    )


def _read(entry: Entry) -> str:
    """Where the function of a recursion finds an entry."""
    if entry.kept:
        return _mask(entry.kept, len(entry.samples), len({*entry.samples}))
    name = entry.name if entry.scale else entry.table
    return f'{entry.home}["{name}"]'


def _mask(kept: Fraction, factors: int, inputs: int) -> str:
    """The mean of factors of a mask, of which each input has a draw of its own."""
    same, other = (float(kept ** (draws - factors)) for draws in (1, inputs))
    return repr(same) if same == other else f'jnp.where(means["same"], {same!r}, {other!r})'


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
