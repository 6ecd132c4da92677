"""What fills the template of a kernel for many inputs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from symdlt.kernels.generator.expressions import symbols
from symdlt.kernels.generator.lowering import OVERLAP, ZERO
from symdlt.kernels.generator.python.layout import (
    COLUMNS,
    INSIDE,
    bracketed,
    filled,
    quoted,
    tuple_items,
)
from symdlt.kernels.generator.python.printer import assignment, expression_text
from symdlt.kernels.generator.representation import Entry, KernelModule, TensorFunction
from symdlt.kernels.numpy_target import template

_EQUATION = textwrap.TextWrapper(COLUMNS - 12, subsequent_indent=" " * 6, break_on_hyphens=False)


def data_of_many(module: KernelModule) -> dict[str, str | Iterable[str]]:
    """What the template asks for, apart from what all kernels have."""
    names = {name: f"h.{name}" for name in (*module.names, "r")}
    first = []
    for function in module.functions:
        if function.first != ZERO:
            same = {name: OVERLAP for name in symbols(function.first) if OVERLAP in name}
            first.append(f'"{function.tensor}": {expression_text(function.first, names | same)},')
    return {
        "fields": [f"{name}: float" for name in module.names],
        "first_layer": first,
        "recursions": "\n\n\n".join(recursion_text(f, module.names) for f in module.functions),
        "table": [_row(function, module.names) for function in module.functions],
    }


def recursion_text(function: TensorFunction, hyperparameters: Sequence[str]) -> str:
    """A recursion as a function of the layer, the means, the tensors below and the tuples."""
    four = len(function.samples) == 4
    read = _gathered if four else _whole
    names = {name: f"h.{name}" for name in (*hyperparameters, "r")}
    zero = not symbols(function.value)
    return filled(
        template.RECURSION_MANY,
        name=function.variable.lower(),
        tensor=function.tensor,
        where="at the tuples x" if four else "at all pairs",
        equation=[part for line in function.equation for part in _EQUATION.wrap(line)],
        samples=f"{', '.join(f'x{label}' for label in function.samples)} = x" if four else "",
        entries=[f"{entry.name} = {read(entry, function)}" for entry in function.entries],
        value="return np.zeros(x[0].shape)"
        if zero
        else assignment("return", function.value, names, INSIDE),
    )


def _table(entry: Entry) -> str:
    return f'{"means" if entry.orders else "below"}["{entry.table}"]'


def _gathered(entry: Entry, function: TensorFunction) -> str:
    """The entries of a table at the tuples."""
    return f"{_table(entry)}[{', '.join(f'x{label}' for label in entry.samples)}]"


def _whole(entry: Entry, function: TensorFunction) -> str:
    """The entries of a table at all pairs: the table, its transpose, or a diagonal of it."""
    first, second = function.samples
    if entry.samples == (first, second):
        return _table(entry)
    if entry.samples == (second, first):
        return f"{_table(entry)}.T"
    letters = {first: "i", second: "j"}
    axes = "".join(letters[label] for label in entry.samples)
    kept = "".join(sorted(set(axes)))
    column = "[:, None]" if kept == "i" else ""
    return f'diagonal("{axes}->{kept}", {_table(entry)}){column}'


def _row(function: TensorFunction, hyperparameters: Sequence[str]) -> str:
    used = function.reads | symbols(function.first)
    rows = {
        "needs": quoted(function.tensors),
        "means": map(str, function.means),
        "hyperparameters": quoted(name for name in hyperparameters if name in used),
        "symmetries": map(str, function.symmetries),
    }
    return filled(
        template.ROW_MANY,
        tensor=function.tensor,
        name=function.variable.lower(),
        local=str(function.local),
        **{
            name: bracketed(f"{name}=(", tuple_items(items), "),", COLUMNS - 8)
            for name, items in rows.items()
        },
    )
