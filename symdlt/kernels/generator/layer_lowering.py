"""From the equations of a layer of several streams to what their kernel computes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from symdlt.definitions import BELOW, Layer, function_text
from symdlt.derivation import powers_text
from symdlt.derivation.response.symbolic.closed_systems import (
    DepthSystem,
    FieldFactor,
    LayerSystem,
    Read,
    ReadMask,
    ReadMean,
    ReadNoise,
    ReadScale,
    ReadTensor,
    SystemEquation,
    overlap_of,
)
from symdlt.errors import KernelError
from symdlt.kernels.generator.expressions import Monomial, factored, monomial, symbols
from symdlt.kernels.generator.gaussian_mean import centred, of_unit_length
from symdlt.kernels.generator.hyperparameters import (
    Hyperparameter,
    hyperparameters_of,
    identifier,
    table_of,
)
from symdlt.kernels.generator.lowering import MEAN_SIZES, ZERO, check_names, rank_in
from symdlt.kernels.generator.position_means import position_means, with_entries_of_parts
from symdlt.kernels.generator.representation import (
    METRIC,
    DepthFunctions,
    Entry,
    FieldFunction,
    KernelModule,
    Mean,
    TensorFunction,
)

GIVEN = "s"  # the activation of the network, in the text of layers
LATER = "^m"  # behind what is of a later layer
_LAYER = re.compile(r"\[[lm]\+1\](?= =)")  # of what an equation is
LATER_AXES = {"": 0, "m": 2, "lm": 1}  # how many samples of a tensor are of it, by its mark


def lower_layer(system: LayerSystem) -> KernelModule:
    """The kernel that computes all tensors of a system, for one input or for many.

    Raises:
        KernelError: for means that kernels do not take.
    """
    read, stride = _fields_read(system), _stride(system)
    tables = _Tables(system.inputs == "one", read, stride, _scales(system))
    every_equation = (*system.inside, *system.equations)
    functions = tuple(_function(system, one, tables) for one in every_equation)
    depths = None if system.depths is None else _depths(system, system.depths, tables)
    positions = position_means(system, partial(_function, system, tables=tables, solved=True))
    if positions is not None:
        functions = tuple(with_entries_of_parts(one, positions) for one in functions)
    fields = []
    for name, one in {BELOW: None, **{field.name: field for field in system.fields}}.items():
        if name in read or name in tables.scales:
            covariance = None if one is None else _function(system, one, tables)
            letter = tables.scales.get(name, "")
            fields.append(
                FieldFunction(
                    identifier(name),
                    covariance,
                    read.get(name, ()),
                    identifier(letter),
                    (name, letter),
                )
            )
    every = [*functions, *(field.covariance for field in fields if field.covariance is not None)]
    every += [] if depths is None else [*depths.kept, *depths.states]
    parameters = (*hyperparameters_of(system.layer), *_ratios(every))
    check_names(parameters, every, {})
    used = {name for one in every for name in (*one.reads, *symbols(one.first))}
    means = {entry.mean for one in every for entry in one.entries if entry.orders}
    return KernelModule(
        system.inputs,
        functions,
        tuple(sorted(means, key=lambda mean: (len(mean.orders), mean))),
        (),
        system.layer,
        parameters,
        tuple(one.name for one in parameters if one.name in used),
        tuple(fields),
        several=True,
        stride=stride,
        depths=depths,
        positions=positions,
    )


def _depths(system: LayerSystem, depths: DepthSystem, tables: _Tables) -> DepthFunctions:
    """What a skip adds."""
    kept, states = (
        tuple(_function(system, one, tables, solved=True) for one in some)
        for some in (depths.kept, depths.states)
    )
    entries = [entry for state in states for entry in state.entries if entry.later]
    read = sorted({entry.field for entry in entries if entry.orders})
    if len(read) > 1:
        raise KernelError(
            f"Later layers read functions of {' and of '.join(read)} at the same neurons in the "
            f"layer {system.layer}. Kernel files take means over one field at several depths. "
            "`propagate` of a `Network` of such layers takes them."
        )
    scaled = any(entry.scale for entry in (*entries, *(e for one in kept for e in one.entries)))
    scale = identifier(tables.scales[BELOW]) if scaled else ""
    observed = frozenset(map(table_of, depths.observed))
    return DepthFunctions(kept, states, observed, next(iter(read), BELOW), scale)


def _fields_read(system: LayerSystem) -> dict[str, tuple[str, ...]]:
    """The fields that means are taken of, and of each its functions, that which is given first.

    Raises:
        KernelError: for means that join several fields, or too many factors.
    """
    functions: dict[str, set[str]] = {}
    for read in _means_read(system):
        fields = sorted({field_of(factor) for factor in read.factors})
        many = system.inputs != "one" and len(read.factors) > max(MEAN_SIZES)
        if len(fields) > 1 or many:
            raise KernelError(
                f"A kernel of the layer {system.layer} needs means of {len(read.factors)} factors "
                f"that join the fields {', '.join(fields)}. Kernel files take means over one field "
                "at a time, of many inputs at four samples at most. `propagate` of a `Network` of "
                "such layers takes them. Functions of one field may be written as one activation, "
                'as "sin(z)*tanh(z)".'
            )
        functions.setdefault(fields[0], set()).update(factor.function for factor in read.factors)
    return {
        field: tuple(sorted(names, key=lambda name: (name != GIVEN, name)))
        for field, names in functions.items()
    }


def field_of(factor: FieldFactor) -> str:
    """The field of a factor, whatever the layer."""
    return factor.field.replace(LATER, "")


def _every_read(system: LayerSystem) -> Iterator[Read]:
    """All that equations of a system read."""
    states = () if system.depths is None else system.depths.states
    for one in (*system.fields, *system.inside, *system.equations, *states):
        yield from one.reads.values()


def _means_read(system: LayerSystem) -> Iterator[ReadMean]:
    """All means of a system."""
    yield from (read for read in _every_read(system) if isinstance(read, ReadMean))


def _scales(system: LayerSystem) -> dict[str, str]:
    """By the fields that are normalised the letters of what they are multiplied with."""
    scales = [read for read in _every_read(system) if isinstance(read, ReadScale)]
    return {read.field.replace(LATER, ""): read.name.replace(LATER, "") for read in scales}


def _stride(system: LayerSystem) -> int:
    """How far apart functions are numbered: with one between them, which nobody asks for."""
    orders = [factor.order for read in _means_read(system) for factor in read.factors]
    return max(orders, default=0) + 2


def _ratios(functions: Iterable[TensorFunction]) -> Iterator[Hyperparameter]:
    """The ratios of widths inside the layer that are read."""
    entries = {entry.name for one in functions for entry in one.entries}
    names = {name for one in functions for name in one.reads}
    read = {name for name in names - entries if name.startswith("r_")}
    for name in sorted(read):
        field = name.removeprefix("r_")
        over = f"that of {field} inside the layer"
        if field[0].isupper():  # of orthogonal weights
            over = f"the larger of the numbers of rows and columns of {field}"
        meaning = f"the width of the layer below over {over}."
        yield Hyperparameter(name, meaning, "ratio", 1.0)


@dataclass(frozen=True)
class _Tables:
    """How entries are named.

    Attributes:
        single: for one input, without samples.
        functions: of each field.
        stride: how far apart several functions are numbered.
        scales: by the fields that are normalised the letters of what they are multiplied with.
    """

    single: bool
    functions: dict[str, tuple[str, ...]]
    stride: int
    scales: dict[str, str]

    def entry(self, read: Read) -> Entry:
        """The entry of a table that is read; the orders of means ascend."""
        if isinstance(read, ReadMean):
            return self._mean(read)
        samples = () if self.single else read.samples
        if isinstance(read, ReadNoise):
            return Entry(table_of(read.name), samples, later=2 * read.later)
        if isinstance(read, ReadScale):
            name, later = identifier(read.name.replace(LATER, "")), int(LATER in read.name)
            of = identifier(read.field.replace(LATER, ""))
            name = "later_" * later + name
            return Entry(name, samples, field=of, later=later, scale=True)
        if isinstance(read, ReadMask):
            name = f"mask_{identifier(read.name.removesuffix(LATER))}"
            return Entry(name, samples, kept=read.kept)
        _, _, of = read.name.partition("^")
        return Entry(table_of(read.name), samples, later=LATER_AXES.get(of, 0))

    def _mean(self, read: ReadMean) -> Entry:
        """A mean of this layer, of a later one, or of both, those of the later one last."""
        field = field_of(read.factors[0])
        start = {name: k * self.stride for k, name in enumerate(self.functions[field])}
        numbered = sorted(
            (LATER in f.field, start[f.function] + f.order, f.sample) for f in read.factors
        )
        orders, samples = tuple(o for _, o, _ in numbered), tuple(at for *_, at in numbered)
        later = sum(above for above, *_ in numbered)
        parts = [f"{identifier(field)}_{Mean(orders[: len(orders) - later]).name}"]
        parts = parts[: later < len(orders)] + [f"later_{Mean(orders[-later:]).name}"] * bool(later)
        samples = () if self.single else samples
        return Entry("_".join(parts), samples, orders, identifier(field), (), later)


def _function(
    system: LayerSystem, one: SystemEquation, tables: _Tables, solved: bool = False
) -> TensorFunction:
    """One equation as a polynomial in entries, with common factors taken out.

    For one input samples are dropped, and what is linear in the tensor itself is its gain, if it
    is not solved for.
    """
    single = system.inputs == "one"
    entries = {symbol: tables.entry(read) for symbol, read in one.reads.items()}
    names = {symbol: entry.name for symbol, entry in entries.items()}
    for number in range(len(system.overlaps)):
        overlap = overlap_of(number)
        names[overlap] = Entry(overlap, () if single else one.samples).name
    value, gain = _coefficients(one.terms, names), {}
    if single:
        value = of_unit_length(value, _lengths(system, tables.entry))
    every = {entry.name: entry for entry in entries.values()}
    if single:
        value, every = _centred(value, every)
    if single and one.name != METRIC and not solved:
        own = Entry(one.name, ()).name
        gain = {_without(own, key): number for key, number in value.items() if own in dict(key)}
        value = {key: number for key, number in value.items() if own not in dict(key)}
    rank = rank_in(system.layer)
    listed = sorted(every.values(), key=lambda e: (not e.orders, len(e.samples), e))
    return TensorFunction(
        table_of(one.name),
        () if single else one.samples,
        _equation(system, one) if single else one.text,
        tuple(listed),
        factored(gain, rank) if gain else ZERO,
        factored(value, rank),
        factored(_coefficients(one.first, names), rank),
        () if single else one.symmetries,
    )


def _lengths(
    system: LayerSystem, named: Callable[[Read], Entry | str]
) -> dict[str, dict[Monomial, Fraction]]:
    """By what fields are multiplied with where they are normalised their mean squares."""
    known = {field.name: field for field in system.fields}
    lengths = {}
    for read in _every_read(system):
        if not isinstance(read, ReadScale):
            continue
        if read.field.replace(LATER, "") == BELOW:
            of = METRIC + read.field.removeprefix(BELOW)
            length = {monomial({_name(named(ReadTensor(of, ()))): 1}): Fraction(1)}
        else:
            field = known[read.field]
            names = {symbol: _name(named(own)) for symbol, own in field.reads.items()}
            length = _coefficients(field.terms, names)
        lengths[_name(named(read))] = length
    return lengths


def _name(named: Entry | str) -> str:
    return named if isinstance(named, str) else named.name


def _centred(
    terms: dict[Monomial, Fraction], entries: dict[str, Entry]
) -> tuple[dict[Monomial, Fraction], dict[str, Entry]]:
    """Central moments in place of differences of means over one field that nearly cancel."""
    known = dict(entries)
    of_layer = [entry for entry in entries.values() if entry.orders and not entry.later]
    for field in sorted({entry.field for entry in of_layer}):
        groups: dict[Monomial, dict[tuple[Mean, ...], Fraction]] = {}
        for key, number in terms.items():
            own = [(n, p) for n, p in key if n in known and _is_mean_of(known[n], field)]
            rest = monomial({n: p for n, p in key if (n, p) not in own})
            means = tuple(sorted(known[n].mean for n, p in own for _ in range(p)))
            groups.setdefault(rest, {})[means] = number
        terms = {}
        for rest, listed in groups.items():
            for means, number in centred(listed).items():
                powers = Counter(dict(rest))
                for mean in means:
                    entry = Entry(f"{field}_{mean.name}", (), mean.orders, field, mean.groups)
                    known[entry.name] = entry
                    powers[entry.name] += 1
                key = monomial(powers)
                terms[key] = terms.get(key, Fraction(0)) + number
    read = {name for key in terms for name, _ in key}
    return terms, {name: entry for name, entry in known.items() if name in read}


def _is_mean_of(entry: Entry, field: str) -> bool:
    """Whether it is a mean of this layer over a field, and not what that is multiplied with."""
    return entry.field == field and bool(entry.orders) and not entry.later


def _without(own: str, key: Monomial) -> Monomial:
    """A product without the tensor itself, in which recursions are linear."""
    powers = dict(key)
    assert powers.pop(own) == 1, key
    return monomial(powers)


def _equation(system: LayerSystem, one: SystemEquation) -> tuple[str, ...]:
    """An equation for one input as text, one term a line."""
    shown = {symbol: _shown(system, read) for symbol, read in one.reads.items()}
    lengths = _lengths(system, partial(_shown, system))
    terms, rank = of_unit_length(_coefficients(one.terms, shown), lengths), rank_in(system.layer)
    field = one.name in {field.name for field in system.fields}
    layer = _LAYER.search(one.text[0])
    later = any(isinstance(read, ReadNoise) and read.later for read in one.reads.values())
    head = f"{one.name}{LATER * later}{layer[0] if layer else ''}"
    lines = [f"<{one.name} {one.name}> =" if field else f"{head} ="]
    for key, number in terms.items():
        parts = [str(abs(number))] * (abs(number) != 1)
        parts += powers_text(sorted(key, key=lambda factor: rank(factor[0])))
        lines.append(f"  {'-' if number < 0 else '+'} {' '.join(parts) or '1'}")
    return tuple(lines)


def _shown(system: LayerSystem, read: Read) -> str:
    """A mean, a tensor or noise without its samples, as it is printed."""
    if isinstance(read, ReadTensor | ReadScale):
        return read.name
    if isinstance(read, ReadMask):
        return f"<{' '.join([read.name] * len(read.samples))}>"
    if isinstance(read, ReadNoise):
        return read.name + LATER * read.later
    plain = isinstance(system.layer, Layer)
    factors = sorted(read.factors, key=lambda factor: (factor.field, factor.order))
    texts = [
        f"{f.function}{function_text(f.order)[1:]}"
        + (LATER * (LATER in f.field) if plain else f"({f.field})")
        for f in factors
    ]
    return f"<{' '.join(texts)}>"


def _coefficients(
    terms: Iterable[tuple[Monomial, Fraction | int]], names: dict[str, str]
) -> dict[Monomial, Fraction]:
    """Terms in the names of entries, of hyperparameters, and of ratios of widths."""
    coefficients: dict[Monomial, Fraction] = {}
    for product, number in terms:
        powers: Counter[str] = Counter()
        above = 0
        for symbol, power in product:
            if symbol == "n":
                above = power
            elif symbol == "n'" or symbol.startswith("n_"):
                ratio = "r" if symbol == "n'" else f"r_{identifier(symbol.removeprefix('n_'))}"
                powers[ratio] -= power
                above += power
            else:
                powers[names.get(symbol, symbol)] += power
        assert above == 0, product
        key = monomial(powers)
        coefficients[key] = coefficients.get(key, Fraction(0)) + Fraction(number)
    return coefficients
