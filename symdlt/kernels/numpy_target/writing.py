"""A kernel as a NumPy module: the template, and what fills it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from string import Template

from symdlt.errors import KernelError
from symdlt.kernels.generator.expressions import Product, Sum, Symbol, symbols
from symdlt.kernels.generator.lowering import OVERLAP, ZERO
from symdlt.kernels.generator.representation import (
    HYPERPARAMETERS,
    NAMES,
    Entry,
    KernelModule,
    Mean,
    SharedFactor,
    TensorFunction,
)
from symdlt.kernels.numpy_target import template
from symdlt.kernels.numpy_target.linking import imported, linked
from symdlt.kernels.numpy_target.printer import (
    COLUMNS,
    assignment,
    bracketed,
    expression_text,
    tuple_items,
    tuple_text,
)

_ALONE = re.compile(r"( *)\$(\w+)")
_INSIDE = COLUMNS - 4
_BY_LAYER = {name: f"h.{name}" for name in (*NAMES, "r")}


def module_text(
    module: KernelModule,
    banner: str,
    provenance: str,
    activation: str = "",
    kinked: bool = False,
    standalone: bool = True,
) -> str:
    """The whole file.

    Args:
        module: what it computes.
        banner: the first line.
        provenance: where it comes from, as text of the module's docstring.
        activation: the source of the activation that it brings along.
        kinked: whether this has kinks, named in KINKS.
        standalone: whether the file brings all its definitions along, or imports them.
    """
    one = module.inputs == "one"
    body = _body_one(module, activation) if one else _body_many(module, activation, kinked)
    needs = (linked if standalone else imported)(template.IMPORTS, body)
    return filled(
        template.MODULE,
        banner=banner,
        provenance=provenance,
        notation=template.NOTATION_ONE if one else template.NOTATION_MANY,
        example=_example(module, bool(activation)),
        imports=needs.imports,
        body="\n\n\n".join(filter(None, (needs.definitions, body))),
    )


def filled(text: str, **values: str) -> str:
    """A template with all its placeholders replaced; empty blocks go, with their blank lines.

    Raises:
        KernelError: if a placeholder has no value, or a value no placeholder.

    >>> print(filled("def $name():\\n    $body", name="f", body="x = 1\\nreturn x"))
    def f():
        x = 1
        return x
    """
    odd = set(Template(text).get_identifiers()) ^ set(values)
    if odd:
        raise KernelError(
            f"The placeholders {' '.join(sorted(odd))} stand in the template or in its data, but "
            f"not in both. The template begins {text[:40]!r}. Correct one of them."
        )
    lines = []
    for line in text.splitlines():
        if alone := _ALONE.fullmatch(line):
            indent, name = alone.groups()
            lines += [textwrap.indent(values[name].rstrip("\n"), indent)] if values[name] else []
        else:
            lines.append(Template(line).substitute(values))
    return re.sub("\n{4,}", "\n\n\n", "\n".join(lines) + "\n" * text.endswith("\n"))


def _example(module: KernelModule, brought: bool) -> str:
    rates = any(not one.variance and one.name in module.hyperparameters for one in HYPERPARAMETERS)
    given = [f"{one.name}={one.example}" for one in HYPERPARAMETERS if one.variance or rates]
    if module.inputs == "one":
        count = str(module.derivatives + 1)
        return filled(template.EXAMPLE_ONE, count=count, hyperparameters=", ".join(given))
    sine = template.EXAMPLE_ONE.partition("\n")[0]
    return filled(
        template.EXAMPLE_MANY,
        sine="" if brought else sine,
        functions="ACTIVATION" if brought else "2 * sine",
        hyperparameters=", ".join(given),
    )


def _hyperparameters(kind: str) -> dict[str, str]:
    """What both bodies say about the hyperparameters, whose values are of a kind."""
    variances = [one.name for one in HYPERPARAMETERS if one.variance]
    optional = {True: "", False: " | None = None"}
    return {
        "names": tuple_text(map(repr_of, NAMES)),
        "variances": tuple_text(map(repr_of, variances)),
        "fields": _lines(f"{name}: {kind}" for name in NAMES),
        "parameters": _lines(
            f"{one.name}: PerLayer{optional[one.variance]}," for one in HYPERPARAMETERS
        ),
        "meanings": _lines(f"{one.name}: {one.meaning}" for one in HYPERPARAMETERS),
        "values": tuple_text(NAMES),
    }


def _body_one(module: KernelModule, activation: str) -> str:
    metric = module.metric
    linear = [function for function in module.functions if function is not metric]
    read = [name for name in NAMES if name in metric.reads]
    arguments = ["overlap: float", *(f"{name}: float" for name in NAMES)]
    rows = [f'"{f.tensor}": advance_{f.variable.lower()},' for f in linear]
    used = {part for factor in module.factors for part, _ in factor.mean.plain}
    targets = [mean.name if mean in used else f"_{mean.name}" for mean in module.means]
    orders = [f"s{k}" for k in range(module.derivatives + 1)]
    return filled(
        template.BODY_ONE,
        derivatives=str(module.derivatives),
        arrays=str(_arrays(module)),
        needed=tuple_text(map(repr_of, module.hyperparameters)),
        activation=activation,
        count=str(len(module.means)),
        listed=_filled_text([mean.text for mean in module.means]),
        unpacked=", ".join(orders) + "," * (len(orders) == 1),
        products=_lines(_products(module)),
        centred=_lines(_centred(module)),
        rows=_stacked(list(map(_row, module.means))),
        factor_fields=_lines(f"{f.name}: Array  # {f.text}" for f in module.factors),
        means=_unpacked(targets, "means"),
        taylor_means=_lines(_taylor_means(module)),
        factors=bracketed("return Factors(", list(map(_factor, module.factors)), ")", _INSIDE),
        first_layer_head=bracketed("def first_layer(", arguments, ") -> dict[str, float]:"),
        first_layer=_first_layer(module),
        recursions="\n\n\n".join(
            [_metric(metric, read), *(_linear_recursion(function, module) for function in linear)]
        ),
        table=(
            f"RECURSIONS: dict[str, Advance] = {{\n{textwrap.indent(_lines(rows), '    ')}\n}}"
            if rows
            else "RECURSIONS: dict[str, Advance] = {}"
        ),
        metric_values=", ".join(f"h.{name}" for name in read),
        **_hyperparameters("Array"),
    )


def _arrays(module: KernelModule) -> int:
    """How many numbers `propagate` keeps for each layer, those of Python's lists included."""
    return 23 + len(module.functions) + len(module.means) + len(module.factors)


def _products(module: KernelModule) -> list[str]:
    """Every product of σ's, formed once, from shorter ones."""
    products: dict[Mean, None] = {}
    for mean in module.means:
        for group in mean.groups or (mean.orders,):
            _add_products(Mean(group), products)
    return [f"{mean.name} = {' * '.join(h.name for h in _halves(mean))}" for mean in products]


def _halves(mean: Mean) -> tuple[Mean, Mean]:
    cut = len(mean.orders) - (2 if len(mean.orders) > 2 else 1)
    return Mean(mean.orders[:cut]), Mean(mean.orders[cut:])


def _add_products(mean: Mean, products: dict[Mean, None]) -> None:
    if len(mean.orders) > 1 and mean not in products:
        for half in _halves(mean):
            _add_products(half, products)
        products[mean] = None


def _centred(module: KernelModule) -> list[str]:
    """The products whose central moments are meant, less their means."""
    names = sorted({Mean(group).name for mean in module.means for group in mean.groups})
    return [f"c_{name} = {name} - centre * ({name} @ weights)[..., None]" for name in names]


def _row(mean: Mean) -> str:
    groups = " * ".join(f"c_{Mean(group).name}" for group in mean.groups)
    return f"({groups}) @ weights" if groups else f"{mean.name} @ weights"


def _unpacked(targets: list[str], rows: str) -> str:
    line = f"{', '.join(targets)} = {rows}" if targets[1:] else f"{targets[0]} = {rows}[0]"
    return line if len(line) <= _INSIDE else bracketed("(", targets, f") = {rows}", _INSIDE)


def _stacked(rows: list[str]) -> str:
    line = f"return np.stack([{', '.join(rows)}])"
    if len(line) <= _INSIDE:
        return line
    inner = bracketed("[", rows, "]", _INSIDE - 4)
    return f"return np.stack(\n{textwrap.indent(inner, '    ')}\n)"


def _taylor_means(module: KernelModule) -> list[str]:
    lines = []
    for mean in dict.fromkeys(f.mean for f in module.factors if f.mean.derivatives):
        parts = tuple(Product(number, (Symbol(part.name),)) for part, number in mean.plain)
        lines.append(assignment(mean.name, Sum(parts), {}, _INSIDE))
    return lines


def _factor(factor: SharedFactor) -> str:
    lead = f"h.{factor.hyperparameter} * " if factor.hyperparameter else ""
    return f"{factor.name}={lead}{factor.mean.name}"


def _first_layer(module: KernelModule) -> str:
    """What each tensor that does not vanish at layer 1 is there."""
    names = _BY_LAYER if module.inputs == "many" else {}
    lines = []
    for function in module.functions:
        if function.first != ZERO:
            same = {name: OVERLAP for name in symbols(function.first) if OVERLAP in name}
            value = expression_text(function.first, names | same)
            lines.append(f'"{function.tensor}": {value},')
    return _lines(lines)


def _metric(metric: TensorFunction, hyperparameters: Sequence[str]) -> str:
    orders = sorted({order for entry in metric.entries for order in entry.orders})
    return filled(
        template.METRIC_ONE,
        arguments=", ".join(f"{name}: float" for name in hyperparameters),
        equation=_lines(metric.equation),
        activations=_lines(f"s{order} = s[{order}]" for order in orders),
        means=_lines(
            f"{entry.name} = float(({' * '.join(f's{k}' for k in entry.orders)}) @ weights)"
            for entry in metric.entries
        ),
        value=expression_text(metric.value, {}),
    ).rstrip("\n")


def _linear_recursion(function: TensorFunction, module: KernelModule) -> str:
    names = _BY_LAYER | {factor.name: f"m.{factor.name}" for factor in module.factors}
    below = [f for f in module.functions if f.variable in function.reads]
    parts = {
        target: assignment(target, value, names, _INSIDE)
        if symbols(value)
        else f"{target} = np.full_like(h.r, {expression_text(value, {})})"
        for target, value in (("gain", function.gain), ("source", function.value))
    }
    arguments = ["h: Hyperparameters", "m: Factors", "below: Mapping[str, Array]"]
    return filled(
        template.RECURSION_ONE,
        head=bracketed(
            f"def advance_{function.variable.lower()}(", arguments, ") -> tuple[Array, Array]:"
        ),
        tensor=function.tensor,
        equation=_lines(function.equation),
        multiplications=str(function.cost.multiplications),
        additions=str(function.cost.additions),
        below=_lines(f'{f.variable} = below["{f.tensor}"]' for f in below),
        **parts,
    ).rstrip("\n")


def _body_many(module: KernelModule, activation: str, kinked: bool) -> str:
    return filled(
        template.BODY_MANY,
        derivatives=str(module.derivatives),
        activation=activation,
        first_layer=_first_layer(module),
        recursions="\n\n\n".join(map(recursion_of_many, module.functions)),
        table=_lines(map(_row_of_many, module.functions)),
        taken=template.MEANS_KINKED if kinked else template.MEANS_SMOOTH,
        **_hyperparameters("float"),
    )


def recursion_of_many(function: TensorFunction) -> str:
    """A recursion as a function of the layer, the means, the tensors below and the tuples."""
    four = len(function.samples) == 4
    labels = ", ".join(f"x{label}" for label in function.samples)
    reader = _gathered if four else _whole
    zero = "return np.zeros(x[0].shape)"
    value = assignment("return", function.value, _BY_LAYER, _INSIDE)
    return filled(
        template.RECURSION_MANY,
        name=function.variable.lower(),
        tensor=function.tensor,
        where="at the tuples x" if four else "at all pairs",
        equation=_wrapped_equation(function),
        samples=f"{labels} = x" if four else "",
        entries=_lines(f"{entry.name} = {reader(entry, function)}" for entry in function.entries),
        value=value if symbols(function.value) else zero,
    ).rstrip("\n")


def _wrapped_equation(function: TensorFunction) -> str:
    wrapper = textwrap.TextWrapper(COLUMNS - 12, subsequent_indent=" " * 6, break_on_hyphens=False)
    return _lines(part for line in function.equation for part in wrapper.wrap(line))


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


def _row_of_many(function: TensorFunction) -> str:
    used = function.reads | symbols(function.first)
    rows = {
        "needs": map(repr_of, function.tensors),
        "means": map(str, function.means),
        "hyperparameters": (repr_of(name) for name in NAMES if name in used),
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


def repr_of(name: str) -> str:
    """A text in double quotes."""
    return f'"{name}"'


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def _filled_text(words: list[str]) -> str:
    """A sentence that lists some words, which may have blanks in them."""
    text = ", ".join(word.replace(" ", "\0") for word in words) + "."
    return textwrap.fill(text, _INSIDE - 4, break_on_hyphens=False).replace("\0", " ")
