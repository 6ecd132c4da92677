"""What templates of kernels for one input ask for in any target that is written in Python."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from symdlt.kernels.generator.expressions import Multiple, Sum, Symbol, symbols
from symdlt.kernels.generator.python.layout import INSIDE, bracketed, filled, quoted, tuple_text
from symdlt.kernels.generator.python.printer import Names, assignment, expression_text, shared_lines
from symdlt.kernels.generator.representation import KernelModule, Mean, TensorFunction

Data = dict[str, str | Iterable[str]]


def shared_data(module: KernelModule) -> Data:
    """Declarations, products of activations, and the factors of the recursions."""
    rows = [
        f'"{f.tensor}": advance_{f.variable.lower()},'
        for f in module.functions
        if f is not module.metric
    ]
    orders = ", ".join(f"s{k}" for k in range(module.derivatives + 1))
    return {
        "needed": tuple_text(quoted(module.hyperparameters)),
        "fields": [f"{name}: Array" for name in module.names],
        "count": str(len(module.means)),
        "listed": _listed([mean.text for mean in module.means]),
        "unpacked": orders if module.derivatives else f"{orders},",
        "products": products_of(module.means),
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
        "table": ["{", *(f"    {row}" for row in rows), "}"] if rows else ["{}"],
    }


def names_of(module: KernelModule) -> dict[str, str]:
    """Hyperparameters and factors as the fields h and m of a recursion."""
    names = {name: f"h.{name}" for name in (*module.names, "r")}
    return names | {factor.name: f"m.{factor.name}" for factor in module.factors}


def centred_products(module: KernelModule) -> list[str]:
    """The products of activations that are taken less their means, by name."""
    return sorted({Mean(group).name for mean in module.means for group in mean.groups})


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


def recursion_text(
    template: str, function: TensorFunction, module: KernelModule, parts: Mapping[str, str]
) -> str:
    """A recursion, from the lines that assign its gain and its source.

    Args:
        template: of the text.
        function: the recursion.
        module: of the kernel.
        parts: by "gain" and "source" the lines.
    """
    arguments = ["h: Hyperparameters", "m: Factors", "below: Mapping[str, Array]"]
    below = [f for f in module.functions if f.variable in function.reads]
    return filled(
        template,
        head=bracketed(
            f"def advance_{function.variable.lower()}(", arguments, ") -> tuple[Array, Array]:"
        ),
        tensor=function.tensor,
        equation=function.equation,
        multiplications=str(function.cost.multiplications),
        additions=str(function.cost.additions),
        below=[f'{f.variable} = below["{f.tensor}"]' for f in below],
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


def _listed(means: list[str]) -> str:
    """A sentence that lists means, none of them broken in two."""
    text = ", ".join(mean.replace(" ", "\0") for mean in means) + "."
    return textwrap.fill(text, INSIDE - 4, break_on_hyphens=False).replace("\0", " ")


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
