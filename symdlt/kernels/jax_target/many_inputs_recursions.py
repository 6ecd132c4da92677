"""The recursions of a kernel for many inputs, and its table of fields."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from symdlt.errors import KernelError
from symdlt.kernels.generator.python.layout import INSIDE, bracketed, equation_lines, filled
from symdlt.kernels.generator.python.printer import returned
from symdlt.kernels.generator.representation import (
    METRIC,
    Entry,
    FieldFunction,
    KernelModule,
    TensorFunction,
)
from symdlt.kernels.jax_target import template

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
