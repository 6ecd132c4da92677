"""What fills the template of a kernel for many inputs, also of such with positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import lcm
from string import Template

from symdlt.definitions import Window
from symdlt.derivation.response.symbolic.closed_systems import overlap_of
from symdlt.kernels.generator.expressions import symbols
from symdlt.kernels.generator.lowering import OVERLAP
from symdlt.kernels.generator.python.layout import (
    COLUMNS,
    INSIDE,
    bracketed,
    equation_lines,
    filled,
    quoted,
    tuple_behind,
    tuple_items,
    tuple_text,
)
from symdlt.kernels.generator.python.one_input import first_layer
from symdlt.kernels.generator.python.one_input_fields import depth_field, is_noise, kept_told
from symdlt.kernels.generator.python.printer import returned
from symdlt.kernels.generator.representation import (
    METRIC,
    Entry,
    FieldFunction,
    KernelModule,
    PositionMeans,
    PositionPart,
    TensorFunction,
)
from symdlt.kernels.numpy_target import template
from symdlt.kernels.numpy_target.problem import PAIR


def data_of_many(module: KernelModule) -> dict[str, str | Iterable[str]]:
    """What the template asks for, apart from what all kernels have."""
    overlaps = {n for f in module.functions for n in symbols(f.first) if OVERLAP in n}
    names = {name: f"h.{name}" for name in (*module.names, "r")}
    names |= {name: name.rpartition("_")[0] for name in overlaps}
    return {
        "fields": [f"{name}: float" for name in module.names],
        "first_layer": first_layer(module, names),
        "recursions": "\n\n\n".join(
            [
                *(_covariance(field, module) for field in module.fields),
                *_functions_text(module),
                *states_text(module),
            ]
        ),
        "table": [_row(function, module) for function in module.functions],
        "fields_table": "\n\n".join(filter(None, _more_tables(module))),
        **(template.SAMPLES if module.positions is None else positions_data(module.positions)),
        **overlaps_text(module.positions),
    }


def _more_tables(module: KernelModule) -> Iterator[str]:
    """The tables of fields, of what a skip adds, and of what a window adds."""
    yield _fields_table(module)
    yield depths_tables(module)
    if module.positions is not None:
        yield positions_tables(module.positions)


def _functions_text(module: KernelModule) -> Iterator[str]:
    """The recursions as functions, and with windows the parts of these."""
    for one in module.functions:
        if one in module.sums:
            yield recursion_text(one, module.names, ", from states of the same layer")
        elif module.positions is None:
            yield recursion_text(one, module.names)
    for part in () if module.positions is None else module.positions.parts:
        told = " of layer l, under means over positions"
        told = told if part.over else ", which comes to means over positions"
        if is_noise(part.function):
            told = f", {'under' if part.over else 'beside'} means, for each later layer m"
        yield recursion_text(part.function, module.names, told, part.name)


def states_text(module: KernelModule) -> list[str]:
    """What a skip adds, as functions: how covariances go on, and the states of layers."""
    if module.depths is None:
        return []
    kept = [
        filled(
            template.RECURSION_MANY,
            name=f"keep_{one.variable}",
            told=kept_told(one),
            where="all pairs",
            equation=one.equation,
            samples="",
            entries=[f"{entry.name} = {_whole(entry, one)}" for entry in one.entries],
            value=_value(one, module.names),
        )
        for one in module.depths.kept
    ]
    told, states = ", for each later layer m", module.depths.states
    if module.positions is not None:  # whose parts are functions
        states = ()
    return kept + [recursion_text(one, module.names, told * is_noise(one)) for one in states]


def depths_tables(module: KernelModule) -> str:
    """The tables of what a skip adds."""
    if module.depths is None:
        return ""
    depths = module.depths
    noises = [
        filled(
            template.ROW_NOISE,
            tensor=one.tensor,
            later=_listed("later", [str(there) for here, there in one.later_means if not here]),
            joint=_listed("joint", [str(both) for both in one.later_means if both[0]]),
            observed=str(one.tensor in depths.observed),
        )
        for one in depths.states
        if is_noise(one)
    ]
    sums = [f'"{one.tensor}": {tuple_text(quoted(one.tensors))},' for one in module.sums]
    return filled(
        template.DEPTHS,
        rows=[_row(one, module) for one in depths.states],
        noises=noises,
        sums=sums,
        kept=[f'"{one.tensor}": keep_{one.variable},' for one in depths.kept],
        **depth_field(depths),
    )


def _listed(name: str, items: Sequence[str]) -> str:
    """An argument that is a tuple."""
    return bracketed(f"{name}=(", tuple_items(items), "),", COLUMNS - 8)


def _fields_table(module: KernelModule) -> str:
    """The fields of a layer of several streams, if it is one."""
    rows = []
    for field in module.fields:
        read = () if field.covariance is None else field.covariance.field_means
        reads = bracketed("(", tuple_items(_quoted(read)), "),", COLUMNS - 8)
        names = {"name": field.name, "functions": field.key}
        scale = f'scale="{field.scale}",' if field.scale else ""
        rows.append(filled(template.ROW_FIELD, **names, reads=reads, scale=scale))
    if not rows:
        alone = module.depths is None and module.positions is None
        return "" if alone else "FIELDS: dict[str, Field] = {}"
    return filled(template.FIELDS, rows=rows)


def _quoted(read: Iterable[tuple[str, tuple[int, ...]]]) -> list[str]:
    """Means over fields as code."""
    return [f'("{field}", {orders})' for field, orders in read]


def _covariance(field: FieldFunction, module: KernelModule) -> str:
    """The covariance of a field as a function of the layer, of means and tensors below."""
    one = field.covariance
    if one is None:
        entries, equation, value = [], ["<z_1 z_2> = G_12"], f'return below["{METRIC}"]'
    else:
        names = {name: f"h.{name}" for name in (*module.names, "r")}
        placed = bool(module.positions)
        entries = [f"{entry.name} = {_whole(entry, one, placed)}" for entry in one.entries]
        equation = equation_lines(one.equation)
        value = returned(one.value, names, INSIDE)
    return filled(
        template.RECURSION_MANY,
        name=f"covariance_{field.name}",
        told=f"The covariance of the field {field.name}",
        where="all pairs",
        equation=equation,
        samples="",
        entries=entries,
        value=value,
    )


def recursion_text(
    function: TensorFunction, hyperparameters: Sequence[str], told: str = "", part: str = ""
) -> str:
    """A recursion as a function of the layer, the means, the tensors below and the tuples.

    Args:
        function: the recursion.
        hyperparameters: the names of those of a layer.
        told: more that is said of it, behind where it is.
        part: of a part of it, with samples that have positions, its name.
    """
    tuples = len(function.samples) > PAIR
    read = _gathered if tuples else _whole
    return filled(
        template.RECURSION_MANY,
        name=part or f"advance_{function.variable.lower()}",
        told=f"{function.tensor} of layer l+1",
        where=("the tuples x" if tuples else "all pairs") + told,
        equation=equation_lines(function.equation),
        samples=f"{', '.join(f'x{label}' for label in function.samples)} = x" if tuples else "",
        entries=[
            f"{entry.name} = {read(entry, function, bool(part))}" for entry in function.entries
        ],
        value=_value(function, hyperparameters),
    )


def _value(function: TensorFunction, hyperparameters: Sequence[str]) -> str:
    """The value at all samples, which is a number where nothing is read."""
    if not symbols(function.value):
        return "return np.zeros(np.broadcast(*x).shape)"
    names = {name: f"h.{name}" for name in (*hyperparameters, "r")}
    return returned(function.value, names, INSIDE)


def _table(entry: Entry) -> str:
    return f'{entry.home}["{entry.table}"]'


def _gathered(entry: Entry, function: TensorFunction, placed: bool = False) -> str:
    """The entries of a table at the tuples."""
    if entry.kept:
        return _mask(entry, [f"x{label}" for label in entry.samples], placed)
    axes = [*["..."] * bool(entry.later), *(f"x{label}" for label in entry.samples)]
    return f"{_table(entry)}[{', '.join(axes)}]"


def _whole(entry: Entry, function: TensorFunction, placed: bool = False) -> str:
    """The entries of a table at all pairs: the table, its transpose, or a diagonal of it."""
    first, second = function.samples
    if entry.kept:
        at = [f"x[{function.samples.index(label)}]" for label in entry.samples]
        return _mask(entry, at, placed)
    if len(entry.samples) == 1:
        return _table(entry) + "[:, None]" * (entry.samples == (first,))
    if entry.samples == (first, second):
        return _table(entry)
    if entry.samples == (second, first):
        return f"{_table(entry)}.T"
    letters = {first: "i", second: "j"}
    axes = "".join(letters[label] for label in entry.samples)
    kept = "".join(sorted(set(axes)))
    column = "[:, None]" if kept == "i" else ""
    return f'diagonal("{axes}->{kept}", {_table(entry)}){column}'


def _mask(entry: Entry, at: Sequence[str], placed: bool) -> str:
    """The mean of factors of a mask, whose draws are those of samples at all their positions."""
    samples = f'*map(below["sample"].take, ({", ".join(at)}))' if placed else ", ".join(at)
    return f"mask_mean({float(entry.kept)!r}, {samples})"


def _row(function: TensorFunction, module: KernelModule) -> str:
    fields = {field.name: field.covariance for field in module.fields}
    listed, read, used = [function], {field for field, _ in function.field_means}, set[str]()
    for name, covariance in reversed(fields.items()):  # those that a field reads stand before it
        if name in read and covariance is not None:
            listed.append(covariance)
            read |= {field for field, _ in covariance.field_means}
    for one in listed:
        used |= one.reads | symbols(one.first)
    needs = {name for one in listed for name in one.tensors}
    needs |= {METRIC} if fields else set()  # covariances are made of it
    over = tuple_items(_quoted(function.field_means))
    plain = [*(orders for _, orders in function.field_means if orders)]
    if module.depths is not None:
        states = module.depths.needed_by(function)
        plain += [o for s in states for _, o in s.field_means if o]
        plain += [(*here, *there) for s in states for here, there in s.later_means]
        used = used.union(*(one.reads for one in (*states, *module.depths.kept)))
        if function in module.sums:  # which is called with them alone
            read = {name.partition("_")[0] for s in states for name in s.tensors}
            needs = (read & {"H"}) | {METRIC}
    rows = {
        "needs": quoted(sorted(needs)),
        "means": list(dict.fromkeys(str(module.plain(o)) for o in plain)),
        "hyperparameters": quoted(name for name in module.names if name in used),
        "symmetries": map(str, function.symmetries),
    }
    lines = {
        name: bracketed(f"{name}=(", tuple_items(items), "),", COLUMNS - 8)
        for name, items in rows.items()
    }
    return filled(
        template.ROW_MANY,
        tensor=function.tensor,
        name=function.variable.lower(),
        local=str(function.local and not module.several),
        fields=bracketed("fields=(", over, "),", COLUMNS - 8) if fields else "",
        **lines,
    )


LAYERS = 2  # of an example that read positions
FEW = 3  # positions of an axis in an example without a window of its own
CHANNELS = 2  # in an example


def positions_tables(positions: PositionMeans) -> str:
    """The windows of a layer, and the parts of each tensor."""
    rows = [
        filled(
            template.ROW_PARTS,
            tensor=tensor,
            layer=_parts("layer", positions.layer.get(tensor, ())),
            readout=_parts("readout", positions.readout_of(tensor)),
        )
        for tensor in dict.fromkeys([*positions.layer, *positions.readout])
    ]
    windows = bracketed("WINDOWS = (", tuple_items(map(_window, positions.windows)), ")")
    return filled(
        template.PARTS,
        windows=windows.removeprefix("WINDOWS = "),
        overlaps=str(positions.overlaps),
        rows=rows,
        inside=f"INSIDE = {tuple_behind('INSIDE = ', quoted(positions.inside))}"
        if positions.inside
        else "",
    )


def _parts(name: str, parts: Iterable[PositionPart]) -> list[str]:
    """The parts of a tensor as code, an argument of this name if there are any."""
    listed = [
        f"    Moved({', '.join([part.name, *[str(part.over)] * bool(part.over)])}),"
        for part in parts
    ]
    return [f"{name}=(", *listed, "),"] if listed else []


def positions_data(positions: PositionMeans) -> dict[str, str]:
    """What the template asks for where samples have positions."""
    inside = ", INSIDE" * bool(positions.inside)
    data = dict(template.POSITIONS)
    if inside:
        data["tensors"] = "asked_outside(tensors, INSIDE)"
    return data | {"positions": Template(data["positions"]).substitute(inside=inside)}


def overlaps_text(positions: PositionMeans | None) -> dict[str, str]:
    """The overlaps that layer 1 reads as arguments, and a call for one that all of them are."""
    count = 1 if positions is None else len(positions.overlaps)
    names = [overlap_of(number) for number in range(count)]
    alike = f"lambda h, x: first_layer(h, {', '.join(['x'] * count)})"
    return {
        "overlaps": ", ".join(f"{name}: Array" for name in names),
        "first_layer_alike": "first_layer" if count == 1 else alike,
    }


def _window(window: Window) -> str:
    """A window as code."""
    given = [tuple_text(map(str, window.kernel)) if window.kernel else "()"]
    if window.whole:
        given.append(f'whole="{window.whole}"')
    else:
        given += [f"stride={window.stride}", f'padding="{window.padding}"']
        given += [f"pool={window.pool}"] * (window.pool > 1)
    return f"GridWindow({', '.join(given)})"


def example_shape(positions: PositionMeans) -> tuple[int, ...]:
    """The shape of one input whose positions its windows fit."""
    axes = max(len(window.kernel) for window in positions.windows) or 1
    return 1, CHANNELS, *(_length(positions.windows, axis) for axis in range(axes))


def _length(windows: Iterable[Window], axis: int) -> int:
    """As many positions of an axis as two layers with the windows need."""
    lengths, pools = [FEW], [1]
    for window in windows:
        size = window.kernel[axis] if window.kernel else 1
        valid = size + (size - 1) * window.stride
        lengths.append(window.pool * (valid if window.padding == "valid" else size))
        pools.append(window.pool * window.stride if window.pool > 1 else 1)
    whole: int = lcm(*pools) ** LAYERS  # of which both layers pool
    return whole * -(-max(lengths) // whole)
