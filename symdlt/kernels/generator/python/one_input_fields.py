"""Kernels for one input through layers of several fields, in any target written in Python."""

from __future__ import annotations

from symdlt.definitions import function_text
from symdlt.kernels.generator.expressions import symbols
from symdlt.kernels.generator.python.layout import (
    INSIDE,
    bracketed,
    equation_lines,
    filled,
    quoted,
    tuple_items,
)
from symdlt.kernels.generator.python.one_input import (
    Data,
    Spelling,
    declared,
    gain_and_source,
    integrands,
    recursion_text,
)
from symdlt.kernels.generator.python.printer import returned
from symdlt.kernels.generator.representation import (
    METRIC,
    DepthFunctions,
    FieldFunction,
    KernelModule,
    Mean,
    TensorFunction,
)

NOISE = "Y_"  # how names of covariances with noise begin


def is_noise(state: TensorFunction) -> bool:
    """Whether a state is a covariance with noise, which each later layer has."""
    return state.tensor.startswith(NOISE)


def kept_told(one: TensorFunction) -> str:
    """What goes on from layer to layer."""
    of = "NTK" if one.tensor[0] == "H" else "covariance"
    return f"The {of} of z of layer m+1 with z of an earlier layer l"


def depth_field(depths: DepthFunctions) -> Data:
    """The arguments that say what later layers read functions of, if not of z."""
    return {
        "field": "" if depths.field == "z" else f'field="{depths.field}",',
        "scale": f'scale="{depths.scale}",' if depths.scale else "",
    }


def depth_rows(module: KernelModule, depths: DepthFunctions) -> Data:
    """The rows of all tables for one input, but for those of noise."""
    joint = {both for one in depths.states for both in one.later_means if both[0]}
    return {
        "states": [f'"{one.tensor}": advance_{one.variable},' for one in depths.states],
        "joint": bracketed("joint=(", tuple_items(map(str, sorted(joint))), "),", INSIDE),
        "sums": [f'"{one.tensor}": advance_{one.variable.lower()},' for one in module.sums],
        "kept": [f'"{one.tensor}": keep_{one.variable},' for one in depths.kept],
        **depth_field(depths),
    }


def functions_read(module: KernelModule) -> str:
    """The functions that later layers read, as code."""
    depths = module.depths
    read = [one for one in module.fields if depths and one.name == depths.field and one.functions]
    return f'functions["{read[0].key}"]' if read else "()"


VALUE = '''\
def $name(h: Hyperparameters, means: Values, below: Values) -> $type:
    """$told

    $equation
    """
    $entries
    $value
'''

ROW_FIELD = """\
"$name": $field(
    variance_$name,
    "$functions",
    $table
    $names
    $scale
),"""


class FieldTexts:
    """The functions of a kernel as text.

    Args:
        module: what it computes.
        spelling: how its target spells them.
    """

    def __init__(self, module: KernelModule, spelling: Spelling) -> None:
        self.module, self.spelling = module, spelling
        self.linear = [
            one for one in module.functions if one is not module.metric and one not in module.sums
        ]
        self.listed = self._listed()

    def _listed(self) -> dict[str, list[Mean]]:
        """Of each field the means that are integrated, few factors first."""
        fields = self.module.fields
        every = [
            *self.module.functions,
            *(f.covariance for f in fields if f.covariance is not None),
        ]
        every += [] if self.module.depths is None else self.module.depths.states
        entries = [e for one in every for e in one.entries if e.orders]
        read = {(e.field, e.mean) for e in entries if e.later in (0, len(e.orders))}
        ordered = sorted(read, key=lambda each: (each[0], len(each[1].orders), each[1]))
        return {field.name: [m for of, m in ordered if of == field.name] for field in fields}

    def shared_data(self) -> Data:
        """What templates ask for in all targets: declarations, integrands and tables."""
        return declared(self.module, self.linear) | {
            "means_tables": "\n\n\n".join(
                self._means(field) for field in self.module.fields if self.listed[field.name]
            ),
            "fields_rows": [self._row(field) for field in self.module.fields],
            "recursions": "\n\n\n".join([*self.functions(), *self.of_depths()]),
        }

    def _row(self, field: FieldFunction) -> str:
        """A field in the table of all."""
        names = quoted(f"{field.name}_{mean.name}" for mean in self.listed[field.name])
        return filled(
            ROW_FIELD,
            field=self.spelling.field,
            name=field.name,
            functions=field.key,
            table=f"means_{field.name}," if names else "None,",
            names=bracketed("(", tuple_items(names), "),", INSIDE - 4),
            scale=f'scale="{field.scale}",' if field.scale else "",
        )

    def _means(self, field: FieldFunction) -> str:
        """The integrands of one field."""
        means = self.listed[field.name]
        count = self.module.derivatives + 1
        if len(field.functions) > 1:
            count = len(field.functions) * self.module.stride
        read = {order for mean in means for order in mean.orders}
        return integrands(
            self.spelling,
            f"means_{field.name}",
            means,
            [self._shown(field, mean) for mean in means],
            [f"s{k}" if k in read else f"_s{k}" for k in range(count)],
            f" over the field {field.name}",
        )

    def _shown(self, field: FieldFunction, mean: Mean) -> str:
        """A mean as it is printed, by the names of its functions where there are several."""
        if len(field.functions) == 1:
            return mean.text
        groups = []
        for group in mean.groups or (mean.orders,):
            numbered = [divmod(order, self.module.stride) for order in group]
            texts = [f"{field.functions[k]}{function_text(order)[1:]}" for k, order in numbered]
            groups.append(" ".join(texts))
        return f"<{'; '.join(groups)}>"

    def functions(self) -> list[str]:
        """The variances of fields, the kernel, and recursions that are linear."""
        told = f"The variance {METRIC} of layer l+1."
        return [
            *map(self._variance, self.module.fields),
            self.value("advance_g", told, self.module.metric),
            *map(self._recursion, self.linear),
        ]

    def _variance(self, field: FieldFunction) -> str:
        """The variance of a field."""
        told, name = f"The variance of the field {field.name}.", f"variance_{field.name}"
        if field.covariance is not None:
            return self.value(name, told, field.covariance)
        return filled(
            VALUE,
            name=name,
            type=self.spelling.value,
            told=told,
            equation="<z z> = G",
            entries="",
            value=f'return below["{METRIC}"]',
        )

    def value(self, name: str, told: str, one: TensorFunction) -> str:
        """An equation as a function that returns its value."""
        return filled(
            VALUE,
            name=name,
            type=self.spelling.value,
            told=told,
            equation=equation_lines(one.equation),
            entries=_entries(one),
            value=returned(one.value, self._names, INSIDE),
        )

    def _recursion(self, one: TensorFunction) -> str:
        """A recursion as gain and source."""
        read = symbols(one.gain) | symbols(one.value)
        return recursion_text(
            one,
            ["means: Values", "below: Values"],
            equation_lines(one.equation),
            [line for line in _entries(one) if line.split(" = ")[0] in read],
            gain_and_source(one, self._names, f"{self.spelling.library}.full_like"),
        )

    def of_depths(self) -> list[str]:
        """The functions that a skip adds."""
        if self.module.depths is None:
            return []
        functions = []
        for one in self.module.depths.kept:
            functions.append(self.value(f"keep_{one.variable}", f"{kept_told(one)}.", one))
        for one in self.module.depths.states:
            told = f"{one.tensor} of layer l+1{', for each later layer m' * is_noise(one)}."
            functions.append(self.value(f"advance_{one.variable}", told, one))
        for one in self.module.sums:
            told = f"{one.tensor} of a layer, from states of the same layer."
            functions.append(self.value(f"advance_{one.variable.lower()}", told, one))
        return functions

    @property
    def _names(self) -> dict[str, str]:
        return {name: f"h.{name}" for name in (*self.module.names, "r")}


def _entries(one: TensorFunction) -> list[str]:
    """The lines that name what an equation reads."""
    return [f'{e.name} = {e.home}["{e.table}"]' for e in one.entries]
