"""What templates of kernels for one input ask for in any target that is written in Python."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from symdlt.kernels.generator.expressions import Multiple, Sum, Symbol, symbols
from symdlt.kernels.generator.lowering import ZERO
from symdlt.kernels.generator.python.layout import (
    INSIDE,
    bracketed,
    filled,
    quoted,
    tuple_behind,
    tuple_items,
)
from symdlt.kernels.generator.python.printer import Names, assignment, expression_text, shared_lines
from symdlt.kernels.generator.representation import KernelModule, Mean, TensorFunction

Data = dict[str, str | Iterable[str]]

INTEGRANDS = '''\
def $name($arguments) -> Array:
    """The $count means$over that are integrated$rows_told.

    $listed
    """
    $unpacked = s
    $products
    $centred
    $rows
'''

RECURSION = '''\
$head
    """Gain and source of $tensor[l+1] = gain $tensor[l] + source.

    $equation

    Operations a layer: $multiplications x, $additions +.
    """
    $entries
    $gain
    $source
    return gain, source
'''


class Spelling(NamedTuple):
    """How a target spells what a kernel for one input computes.

    Attributes:
        library: its name in code.
        arguments: those of functions that return what is integrated.
        rows_told: what is said of their values.
        centred: the line that takes the mean of a product away, by its name.
        value: the type of what an equation gives.
        field: the class of the fields of a layer.
    """

    library: str
    arguments: str
    rows_told: str
    centred: str
    value: str
    field: str


def shared_data(module: KernelModule, spelling: Spelling) -> Data:
    """What templates ask for in all targets: integrands, factors and recursions."""
    linear = [one for one in module.functions if one is not module.metric]
    return {
        **declared(module, linear),
        "plain_means": integrands(
            spelling,
            "plain_means",
            module.means,
            [mean.text for mean in module.means],
            [f"s{k}" for k in range(module.derivatives + 1)],
        ),
        "factor_fields": [f"{f.name}: Array  # {f.text}" for f in module.factors],
        "means": _unpacked(module),
        "taylor_means": [
            assignment(mean.name, _plain_sum(mean), {}, INSIDE)
            for mean in dict.fromkeys(f.mean for f in module.factors if f.mean.derivatives)
        ],
        "factors": bracketed(
            "return Factors(",
            [
                f"{f.name}={f'h.{f.hyperparameter} * ' if f.hyperparameter else ''}{f.mean.name}"
                for f in module.factors
            ],
            ")",
            INSIDE,
        ),
        "metric_equation": module.metric.equation,
        "metric_activations": [
            f"s{k} = s[{k}]" for k in sorted({k for e in module.metric.entries for k in e.orders})
        ],
    }


def declared(module: KernelModule, linear: Iterable[TensorFunction]) -> Data:
    """What is needed, the hyperparameters of layers, and the table of linear recursions."""
    rows = [f'    "{one.tensor}": advance_{one.variable.lower()},' for one in linear]
    return {
        "needed": tuple_behind("NEEDED = ", quoted(module.hyperparameters)),
        "fields": [f"{name}: Array" for name in module.names],
        "table": ["{", *rows, "}"] if rows else ["{}"],
    }


def first_layer(module: KernelModule, names: Names) -> list[str]:
    """The tensors that do not vanish at layer 1."""
    return [
        f'"{one.tensor}": {expression_text(one.first, names)},'
        for one in module.functions
        if one.first != ZERO
    ]


def names_of(module: KernelModule) -> dict[str, str]:
    """Hyperparameters and factors as the fields h and m of a recursion."""
    names = {name: f"h.{name}" for name in (*module.names, "r")}
    return names | {factor.name: f"m.{factor.name}" for factor in module.factors}


def integrands(
    spelling: Spelling,
    name: str,
    means: Sequence[Mean],
    texts: Iterable[str],
    functions: Sequence[str],
    over: str = "",
) -> str:
    """The function that returns what is integrated, from values of an activation.

    Args:
        spelling: of the target.
        name: of the function.
        means: what is integrated, a row for each.
        texts: these as they are listed, none of them broken in two.
        functions: the names of the values.
        over: what is said of the means.
    """
    listed = ", ".join(text.replace(" ", "\0") for text in texts) + "."
    centred = sorted({Mean(group).name for mean in means for group in mean.groups})
    return filled(
        INTEGRANDS,
        name=name,
        arguments=spelling.arguments,
        count=str(len(means)),
        over=over,
        rows_told=spelling.rows_told,
        listed=textwrap.fill(listed, INSIDE - 4, break_on_hyphens=False).replace("\0", " "),
        unpacked=", ".join(tuple_items(functions)),
        products=products_of(means),
        centred=[spelling.centred.format(product) for product in centred],
        rows=stacked(means, spelling.library),
    )


def stacked(means: Iterable[Mean], library: str) -> str:
    """The table of means, a row for each, stacked by a library."""
    rows = []
    for mean in means:
        groups = " * ".join(f"c_{Mean(group).name}" for group in mean.groups)
        rows.append(f"({groups}) @ weights" if groups else f"{mean.name} @ weights")
    if len(line := f"return {library}.stack([{', '.join(rows)}])") <= INSIDE:
        return line
    inner = bracketed("[", rows, "]", INSIDE - 4)
    return f"return {library}.stack(\n{textwrap.indent(inner, '    ')}\n)"


def recursions_text(module: KernelModule, filled_like: str) -> str:
    """The recursions of all tensors but the kernel, one below the other."""
    arguments, names = ("m: Factors", "below: Mapping[str, Array]"), names_of(module)
    texts = []
    for one in module.functions:
        if one is not module.metric:
            read = [f for f in module.functions if f.variable in one.reads]
            entries = [f'{f.variable} = below["{f.tensor}"]' for f in read]
            parts = gain_and_source(one, names, filled_like)
            texts.append(recursion_text(one, arguments, one.equation, entries, parts))
    return "\n\n\n".join(texts)


def recursion_text(
    one: TensorFunction,
    arguments: Iterable[str],
    equation: Iterable[str],
    entries: Iterable[str],
    parts: Mapping[str, str],
) -> str:
    """A recursion as a function.

    Args:
        one: the recursion.
        arguments: of the function, behind the hyperparameters.
        equation: what stands in its docstring.
        entries: the lines that name what it reads.
        parts: by "gain" and "source" the lines that assign these.
    """
    head = f"def advance_{one.variable.lower()}("
    return filled(
        RECURSION,
        head=bracketed(head, ["h: Hyperparameters", *arguments], ") -> tuple[Array, Array]:"),
        tensor=one.tensor,
        equation=equation,
        multiplications=str(one.cost.multiplications),
        additions=str(one.cost.additions),
        entries=entries,
        **parts,
    )


def gain_and_source(function: TensorFunction, names: Names, filled_like: str) -> dict[str, str]:
    """The lines that assign the gain and the source of a recursion, what they share first.

    Args:
        function: the recursion.
        names: how quantities are spelled.
        filled_like: the function that makes one value a layer of a number; none where it may stay.
    """
    lines, (gain, source) = shared_lines([function.gain, function.value], names, INSIDE)
    both = {
        target: assignment(target, value, names, INSIDE)
        if symbols(value) or not filled_like
        else f"{target} = {filled_like}(h.r, {expression_text(value, {})})"
        for target, value in (("gain", gain), ("source", source))
    }
    return both | {"gain": "\n".join([*lines, both["gain"]])}


def products_of(means: Iterable[Mean]) -> list[str]:
    """Every product of σ's, formed once, from shorter ones."""
    lines: dict[str, None] = {}

    def form(orders: tuple[int, ...]) -> str:
        name = Mean(orders).name
        if len(orders) > 1:
            cut = len(orders) - (2 if len(orders) > 2 else 1)
            lines[f"{name} = {form(orders[:cut])} * {form(orders[cut:])}"] = None
        return name

    for mean in means:
        for group in mean.groups or (mean.orders,):
            form(group)
    return list(lines)


def _unpacked(module: KernelModule) -> str:
    """The rows of the table by name; an underscore marks those that only tests read."""
    used = {part for factor in module.factors for part, _ in factor.mean.plain}
    targets = [mean.name if mean in used else f"_{mean.name}" for mean in module.means]
    line = f"{', '.join(targets)} = means" if targets[1:] else f"{targets[0]} = means[0]"
    return line if len(line) <= INSIDE else bracketed("(", targets, ") = means", INSIDE)


def _plain_sum(mean: Mean) -> Sum:
    return Sum(tuple(Multiple(number, (Symbol(part.name),)) for part, number in mean.plain))
