"""What fills the template of a kernel for one input through layers of several fields."""

from __future__ import annotations

import textwrap

from symdlt.definitions import function_text
from symdlt.kernels.generator.expressions import Formula, symbols
from symdlt.kernels.generator.lowering import ZERO
from symdlt.kernels.generator.python.layout import (
    INSIDE,
    bracketed,
    filled,
    quoted,
    tuple_behind,
    tuple_items,
)
from symdlt.kernels.generator.python.one_input import Data, products_of, stacked
from symdlt.kernels.generator.python.printer import assignment, expression_text
from symdlt.kernels.generator.representation import (
    METRIC,
    FieldFunction,
    KernelModule,
    Mean,
    TensorFunction,
)
from symdlt.kernels.numpy_target import template
from symdlt.kernels.numpy_target.named_functions import listed

_EQUATION = textwrap.TextWrapper(INSIDE - 4, subsequent_indent=" " * 6, break_on_hyphens=False)


def data_of_one_with_fields(module: KernelModule) -> Data:
    """What the template asks for, apart from what all kernels have."""
    arguments = [f"{name}: float" for name in ("overlap", *module.names)]
    linear = [function for function in module.functions if function is not module.metric]
    table = [f'"{one.tensor}": advance_{one.variable.lower()},' for one in linear]
    given = {key: listed(module, key, "activation", "DERIVATIVES + 1") for key in module.keys}
    told = f"The variance {METRIC} of layer l+1."
    return {
        "needed": tuple_behind("NEEDED = ", quoted(module.hyperparameters)),
        "arrays": str(23 + len(module.functions) + sum(map(len, _listed(module).values()))),
        "fields": [f"{name}: Array" for name in module.names],
        "means_tables": "\n\n\n".join(_means(module, field) for field in module.fields),
        "first_layer_head": bracketed("def first_layer(", arguments, ") -> dict[str, float]:"),
        "first_layer": [
            f'"{one.tensor}": {expression_text(one.first, {})},'
            for one in module.functions
            if one.first != ZERO
        ],
        "recursions": "\n\n\n".join(
            [
                *(_variance(field, module) for field in module.fields),
                _value("advance_g", told, module.metric, module),
                *(_recursion(one, module) for one in linear),
            ]
        ),
        "fields_rows": [_row(module, field) for field in module.fields],
        "table": ["{", *(f"    {row}" for row in table), "}"] if table else ["{}"],
        "by_function": [f'"{key}": {code},' for key, code in given.items()],
    }


def _listed(module: KernelModule) -> dict[str, list[Mean]]:
    """Of each field the means that are integrated, few factors first."""
    every = [*module.functions, *(f.covariance for f in module.fields if f.covariance is not None)]
    read = {(e.field, e.mean) for one in every for e in one.entries if e.orders}
    ordered = sorted(read, key=lambda each: (each[0], len(each[1].orders), each[1]))
    return {field.name: [m for of, m in ordered if of == field.name] for field in module.fields}


def _means(module: KernelModule, field: FieldFunction) -> str:
    """The integrands of one field."""
    means = _listed(module)[field.name]
    count = module.derivatives + 1
    if len(field.functions) > 1:
        count = len(field.functions) * module.stride
    orders = ", ".join(f"s{order}" for order in range(count))
    texts = ", ".join(_shown(module, field, mean).replace(" ", "\0") for mean in means) + "."
    wrapped = textwrap.fill(texts, INSIDE - 4, break_on_hyphens=False).replace("\0", " ")
    return filled(
        template.MEANS_ONE,
        field=field.name,
        count=str(len(means)),
        listed=wrapped,
        unpacked=orders if count > 1 else f"{orders},",
        products=products_of(means),
        centred=[
            f"c_{name} = {name} - centre * ({name} @ weights)[..., None]"
            for name in sorted({Mean(group).name for mean in means for group in mean.groups})
        ],
        rows=stacked(means, "np"),
    )


def _shown(module: KernelModule, field: FieldFunction, mean: Mean) -> str:
    """A mean as it is printed, by the names of its functions where there are several."""
    if len(field.functions) == 1:
        return mean.text
    groups = []
    for group in mean.groups or (mean.orders,):
        numbered = [divmod(order, module.stride) for order in group]
        texts = [f"{field.functions[k]}{function_text(order)[1:]}" for k, order in numbered]
        groups.append(" ".join(texts))
    return f"<{'; '.join(groups)}>"


def _entries(one: TensorFunction) -> list[str]:
    """The lines that name what an equation reads."""
    return [f'{e.name} = {"means" if e.orders else "below"}["{e.table}"]' for e in one.entries]


def _wrapped(lines: tuple[str, ...]) -> list[str]:
    return [part for line in lines for part in _EQUATION.wrap(line)]


def _names(module: KernelModule) -> dict[str, str]:
    return {name: f"h.{name}" for name in (*module.names, "r")}


def _variance(field: FieldFunction, module: KernelModule) -> str:
    """The variance of a field."""
    told, name = f"The variance of the field {field.name}.", f"variance_{field.name}"
    if field.covariance is not None:
        return _value(name, told, field.covariance, module)
    return filled(
        template.VARIANCE_ONE,
        name=name,
        told=told,
        equation="<z z> = G",
        entries="",
        value=f'return below["{METRIC}"]',
    )


def _value(name: str, told: str, one: TensorFunction, module: KernelModule) -> str:
    """An equation as a function that returns its value."""
    return filled(
        template.VARIANCE_ONE,
        name=name,
        told=told,
        equation=_wrapped(one.equation),
        entries=_entries(one),
        value=assignment("return", one.value, _names(module), INSIDE),
    )


def _recursion(one: TensorFunction, module: KernelModule) -> str:
    """A recursion as gain and source."""
    arguments = ["h: Hyperparameters", "means: Values", "below: Values"]
    name = f"def advance_{one.variable.lower()}("
    read = symbols(one.gain) | symbols(one.value)
    return filled(
        template.RECURSION_FIELDS_ONE,
        head=bracketed(name, arguments, ") -> tuple[Array, Array]:"),
        tensor=one.tensor,
        equation=_wrapped(one.equation),
        multiplications=str(one.cost.multiplications),
        additions=str(one.cost.additions),
        entries=[line for line in _entries(one) if line.split(" = ")[0] in read],
        gain=_part("gain", one.gain, module),
        source=_part("source", one.value, module),
    )


def _part(target: str, value: Formula, module: KernelModule) -> str:
    """The gain or the source, one value a layer."""
    if symbols(value):
        return assignment(target, value, _names(module), INSIDE)
    return f"{target} = np.full_like(h.r, {expression_text(value, {})})"


def _row(module: KernelModule, field: FieldFunction) -> str:
    names = quoted(f"{field.name}_{mean.name}" for mean in _listed(module)[field.name])
    return filled(
        template.ROW_FIELD_ONE,
        name=field.name,
        functions=field.key,
        names=bracketed("(", tuple_items(names), "),", INSIDE - 4),
    )
