"""From the equations of a layer of several streams to what their kernel computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from symdlt.algebra import Polynomial
from symdlt.definitions import BELOW, ascii_name
from symdlt.errors import KernelError
from symdlt.kernels.generator.expressions import Monomial, factored, monomial, symbols
from symdlt.kernels.generator.hyperparameters import Hyperparameter, hyperparameters_of
from symdlt.kernels.generator.layer_systems import (
    FieldFactor,
    LayerSystem,
    Read,
    ReadTensor,
    SystemEquation,
)
from symdlt.kernels.generator.lowering import MEAN_SIZES, ZERO, check_names, rank_in
from symdlt.kernels.generator.representation import (
    Entry,
    FieldFunction,
    KernelModule,
    Mean,
    TensorFunction,
)


def lower_layer(system: LayerSystem) -> KernelModule:
    """The kernel that computes all tensors of a system, for many inputs.

    Raises:
        KernelError: for means that kernels do not take.
    """
    functions = tuple(_function(system, one) for one in system.equations)
    read = _fields_read(system)
    fields = [FieldFunction(BELOW, None, read[BELOW])] if BELOW in read else []
    for one in system.fields:
        if one.name in read:
            covariance = _function(system, one)
            fields.append(FieldFunction(identifier(one.name), covariance, read[one.name]))
    parameters = (*hyperparameters_of(system.layer), *_ratios(functions))
    covariances = [field.covariance for field in fields if field.covariance is not None]
    check_names(parameters, [*functions, *covariances], {})
    used = {
        name for one in (*functions, *covariances) for name in (*one.reads, *symbols(one.first))
    }
    means = {Mean(orders) for one in (*functions, *covariances) for orders in one.means}
    return KernelModule(
        "many",
        functions,
        tuple(sorted(means, key=lambda mean: (len(mean.orders), mean))),
        (),
        system.layer,
        parameters,
        tuple(one.name for one in parameters if one.name in used),
        tuple(fields),
    )


def identifier(field: str) -> str:
    """The name of a field in code."""
    return ascii_name(field).replace("'", "_above")


def _fields_read(system: LayerSystem) -> dict[str, str]:
    """The fields that means are taken of, and of each its function.

    Raises:
        KernelError: for means that join several fields, or several functions.
    """
    found: dict[str, str] = {}
    for one in (*system.fields, *system.equations):
        for read in one.reads.values():
            if isinstance(read, ReadTensor):
                continue
            fields = sorted({factor.field for factor in read.factors})
            names = {factor.function for factor in read.factors}
            names |= {found.setdefault(field, min(names)) for field in fields}
            if len(fields) > 1 or len(names) > 1 or len(read.factors) > max(MEAN_SIZES):
                raise KernelError(
                    f"A kernel of the layer {system.layer} needs means of "
                    f"{' and '.join(sorted(names))} that join the fields {', '.join(fields)}. "
                    "Kernel files take means of one function of each field, at four samples at "
                    "most. `propagate` of a `Network` of such layers takes them."
                )
    return found


def _ratios(functions: tuple[TensorFunction, ...]) -> Iterator[Hyperparameter]:
    """The ratios of widths inside the layer that are read."""
    read = {name for one in functions for name in one.reads if name.startswith("r_")}
    for name in sorted(read):
        field = name.removeprefix("r_")
        meaning = f"the width of the layer below over that of {field} inside the layer."
        yield Hyperparameter(name, meaning, "ratio", 1.0)


def _function(system: LayerSystem, one: SystemEquation) -> TensorFunction:
    """One equation as a polynomial in entries, with common factors taken out."""
    entries = {symbol: entry_of(read) for symbol, read in one.reads.items()}
    names = {symbol: entry.name for symbol, entry in entries.items()}
    names["overlap"] = Entry("overlap", one.samples).name
    rank = rank_in(system.layer)
    return TensorFunction(
        one.name,
        one.samples,
        one.text,
        tuple(sorted(entries.values(), key=lambda e: (not e.orders, len(e.samples), e))),
        ZERO,
        factored(_coefficients(one.polynomial, names), rank),
        factored(_coefficients(one.first, names), rank),
        one.symmetries,
    )


def entry_of(read: Read) -> Entry:
    """The entry of a table that is read; the orders of means ascend."""
    if isinstance(read, ReadTensor):
        return Entry(read.name, read.samples)
    factors: list[FieldFactor] = sorted(read.factors, key=lambda f: (f.order, f.sample))
    orders = tuple(factor.order for factor in factors)
    field = identifier(factors[0].field)
    samples = tuple(factor.sample for factor in factors)
    return Entry(f"{field}_{Mean(orders).name}", samples, orders, field)


def _coefficients(polynomial: Polynomial, names: dict[str, str]) -> dict[Monomial, Fraction]:
    """A polynomial in the names of entries, of hyperparameters, and of ratios of widths."""
    found: dict[Monomial, Fraction] = {}
    for product, number in polynomial.terms:
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
        found[key] = found.get(key, Fraction(0)) + Fraction(number)
    return found
