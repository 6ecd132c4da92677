"""What fills the template of a kernel for one input."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from symdlt.kernels.generator.expressions import Multiple, Sum, Symbol, symbols
from symdlt.kernels.generator.lowering import ZERO
from symdlt.kernels.generator.python.layout import INSIDE, bracketed, filled, quoted, tuple_text
from symdlt.kernels.generator.python.printer import assignment, expression_text
from symdlt.kernels.generator.representation import KernelModule, Mean, TensorFunction
from symdlt.kernels.numpy_target import template


def data_of_one(module: KernelModule) -> dict[str, str | Iterable[str]]:
    """What the template asks for, apart from what all kernels have."""
    metric = module.metric
    linear = [function for function in module.functions if function is not metric]
    names = {name: f"h.{name}" for name in (*module.names, "r")}
    names |= {factor.name: f"m.{factor.name}" for factor in module.factors}
    read = [name for name in module.names if name in metric.reads]
    orders = ", ".join(f"s{k}" for k in range(module.derivatives + 1))
    arguments = [f"{name}: float" for name in ("overlap", *module.names)]
    rows = [f'"{f.tensor}": advance_{f.variable.lower()},' for f in linear]
    table = ["{", *(f"    {row}" for row in rows), "}"] if rows else ["{}"]
    return {
        # propagate keeps these for each layer, those of Python's lists included
        "arrays": str(23 + len(module.functions) + len(module.means) + len(module.factors)),
        "needed": tuple_text(quoted(module.hyperparameters)),
        "fields": [f"{name}: Array" for name in module.names],
        "count": str(len(module.means)),
        "listed": _listed([mean.text for mean in module.means]),
        "unpacked": orders if module.derivatives else f"{orders},",
        "products": _products(module.means),
        "centred": [
            f"c_{name} = {name} - centre * ({name} @ weights)[..., None]"
            for name in sorted({Mean(group).name for m in module.means for group in m.groups})
        ],
        "rows": _stacked(module.means),
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
        "first_layer_head": bracketed("def first_layer(", arguments, ") -> dict[str, float]:"),
        "first_layer": [
            f'"{f.tensor}": {expression_text(f.first, {})},'
            for f in module.functions
            if f.first != ZERO
        ],
        "metric_arguments": ", ".join(f"{name}: float" for name in read),
        "metric_equation": metric.equation,
        "metric_activations": [
            f"s{k} = s[{k}]" for k in sorted({k for e in metric.entries for k in e.orders})
        ],
        "metric_means": [
            f"{e.name} = float(({' * '.join(f's{k}' for k in e.orders)}) @ weights)"
            for e in metric.entries
        ],
        "metric": expression_text(metric.value, {}),
        "recursions": "\n\n\n".join(_recursion(one, module, names) for one in linear),
        "table": table,
        "metric_values": ", ".join(f"h.{name}" for name in read),
    }


def _listed(means: list[str]) -> str:
    """A sentence that lists means, none of them broken in two."""
    text = ", ".join(mean.replace(" ", "\0") for mean in means) + "."
    return textwrap.fill(text, INSIDE - 4, break_on_hyphens=False).replace("\0", " ")


def _products(means: Iterable[Mean]) -> list[str]:
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


def _stacked(means: Iterable[Mean]) -> str:
    """The table of means, a row for each."""
    rows = []
    for mean in means:
        groups = " * ".join(f"c_{Mean(group).name}" for group in mean.groups)
        rows.append(f"({groups}) @ weights" if groups else f"{mean.name} @ weights")
    if len(line := f"return np.stack([{', '.join(rows)}])") <= INSIDE:
        return line
    inner = bracketed("[", rows, "]", INSIDE - 4)
    return f"return np.stack(\n{textwrap.indent(inner, '    ')}\n)"


def _unpacked(module: KernelModule) -> str:
    """The rows of the table by name; an underscore marks those that only tests read."""
    used = {part for factor in module.factors for part, _ in factor.mean.plain}
    targets = [mean.name if mean in used else f"_{mean.name}" for mean in module.means]
    line = f"{', '.join(targets)} = means" if targets[1:] else f"{targets[0]} = means[0]"
    return line if len(line) <= INSIDE else bracketed("(", targets, ") = means", INSIDE)


def _plain_sum(mean: Mean) -> Sum:
    return Sum(tuple(Multiple(number, (Symbol(part.name),)) for part, number in mean.plain))


def _recursion(function: TensorFunction, module: KernelModule, names: Mapping[str, str]) -> str:
    arguments = ["h: Hyperparameters", "m: Factors", "below: Mapping[str, Array]"]
    opening = f"def advance_{function.variable.lower()}("
    below = [f for f in module.functions if f.variable in function.reads]
    parts = {
        target: assignment(target, value, names, INSIDE)
        if symbols(value)
        else f"{target} = np.full_like(h.r, {expression_text(value, {})})"
        for target, value in (("gain", function.gain), ("source", function.value))
    }
    return filled(
        template.RECURSION_ONE,
        head=bracketed(opening, arguments, ") -> tuple[Array, Array]:"),
        tensor=function.tensor,
        equation=function.equation,
        multiplications=str(function.cost.multiplications),
        additions=str(function.cost.additions),
        below=[f'{f.variable} = below["{f.tensor}"]' for f in below],
        **parts,
    )
