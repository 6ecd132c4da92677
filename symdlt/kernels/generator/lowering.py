"""From recursions to what their kernel computes: means collected once, common factors named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from keyword import iskeyword

from symdlt.definitions import Layer, Stack, ascii_name
from symdlt.derivation import Bracket, Recursion, RecursionSystem, RecursionTerm
from symdlt.errors import KernelError, LayerError, require
from symdlt.kernels.generator.equations import (
    ALWAYS_KNOWN,
    LocalTerm,
    Scaled,
    equation,
    local_terms,
    mean_of,
    representatives,
)
from symdlt.kernels.generator.expressions import (
    Coefficients,
    Formula,
    Monomial,
    Sum,
    factored,
    monomial,
)
from symdlt.kernels.generator.hyperparameters import Hyperparameter, hyperparameters_of
from symdlt.kernels.generator.representation import (
    METRIC,
    Entry,
    KernelModule,
    Mean,
    SharedFactor,
    TensorFunction,
)

MEAN_SIZES = (2, 4)
TENSOR_SIZES = (2, 4)
OVERLAP = "overlap"
ZERO = Sum(())

_TENSOR = re.compile(r"[A-Z](_\d+)?|[a-z](_\d+)+|x\d.*")


def lower(system: RecursionSystem) -> KernelModule:
    """The kernel that computes all tensors of a closed system, for one input or for many.

    Raises:
        LayerError: for a layer whose kernel cannot be had, with the reason.
        KernelError: if the system is not closed, mixes one input with many, or for one input a
            recursion is not linear in its own tensor, for many is in the z form or needs means
            over more than four samples.

    >>> from symdlt.derivation import derive_system
    >>> lower(derive_system(["V"]))
    KernelModule(2 tensors, 4 means)
    """
    advice = "Give what `derive_system` returns."
    require(system, RecursionSystem, "a system of recursions", advice)
    one = any(recursion.single_input for recursion in system)
    _check_layer(system)
    for recursion in system:
        _check_inputs(recursion, one)
        _check_closed(recursion, system.names)
    if METRIC not in system.names:
        raise KernelError(
            f"The system lacks the kernel {METRIC}. It has {len(system.names)} recursions. "
            "Use `derive_system`, which adds what is missing."
        )
    parameters = hyperparameters_of(system.layer)
    shared: dict[str, SharedFactor] = {}
    if one:
        local = {r.name: local_terms(r) for r in system if r.name != METRIC}
        means = [mean for terms in local.values() for term in terms for mean in term.means]
        known = representatives([*means, *ALWAYS_KNOWN])
        functions = [
            linear_function(r, local[r.name], known, shared) if r.name in local else function(r)
            for r in system
        ]
    else:
        functions = [function(recursion) for recursion in system]
    check_names(parameters, functions, shared)
    factors = sorted(shared.values(), key=lambda f: (len(f.mean.orders), f.mean, f.name))
    plain = {mean for factor in factors for mean, _ in factor.mean.plain}
    plain |= {Mean(orders) for one in functions for orders in one.means}
    return KernelModule(
        "one" if one else "many",
        tuple(functions),
        tuple(sorted(plain, key=lambda mean: (len(mean.orders), mean))),
        tuple(factors),
        system.layer,
        parameters,
        used_hyperparameters(system, parameters),
    )


def _check_layer(system: RecursionSystem) -> None:
    """Refuse layers for which kernels have no means, or hold at one depth alone."""
    layer = system.layer
    if alone := next((recursion for recursion in system if recursion.at is not None), None):
        raise KernelError(
            f"{alone!r} holds for layer {alone.at} alone. A kernel goes from layer to layer, and "
            "needs recursions that hold for all. Derive them without `at`."
        )
    reading = [branch for branch in layer.branches if branch.function is not None]
    for branch in reading:
        if branch.order != 0:
            raise LayerError(
                f"A kernel of the layer {layer} needs means of what {' '.join(branch.words)} "
                "reads. Kernels take means of s(z) and of what differentiation makes of it, with "
                "the variance of a layer from <s s>. Ask `kernel_for`, which takes the equations "
                "of such layers, or evaluate the recursions as `derive` gives them."
            )
    if not reading:
        raise LayerError(
            f"The layer {layer} reads nothing of the layer below. A kernel goes from layer to "
            'layer by what it reads. Give one with weights, as in "z\' = b + W s(z)".'
        )


def check_names(
    parameters: Iterable[Hyperparameter],
    functions: Iterable[TensorFunction],
    shared: Mapping[str, SharedFactor],
) -> None:
    """Refuse symbols of a layer that are names of something else in its kernel."""
    taken = {"r", OVERLAP, *shared, *(mean.mean.name for mean in shared.values())}
    for one in functions:
        taken |= {one.variable, *(entry.name for entry in one.entries)}
    for name in (one.name for one in parameters):
        if name in taken or not name.isidentifier() or iskeyword(name):
            raise KernelError(
                f"The symbol {name} of the layer cannot be a parameter of its kernel. It is no "
                "identifier, or names something else there. Call it otherwise in the layer."
            )


def _check_inputs(recursion: Recursion, one: bool) -> None:
    """Refuse what no kernel for one input, or for many, can compute."""
    if one and not recursion.single_input:
        raise KernelError(
            f"{recursion!r} has more than one input. Single-input kernels are generated from "
            'single-input recursions. Derive the system with inputs="one".'
        )
    if one:
        for term in recursion.terms:
            _check_linear(recursion, term)
        return
    if recursion.form != "derivative":
        raise KernelError(
            f"{recursion!r} is not for many inputs in the derivative form. Kernels for many "
            "inputs are sums of products of entries. Use `derive_system(...)` as it is."
        )
    sizes = {len(b.factors) for term in recursion.terms for b in term.brackets}
    if len(recursion.samples) not in TENSOR_SIZES or not sizes <= set(MEAN_SIZES):
        raise KernelError(
            f"{recursion!r} has {len(recursion.samples)} axes and means of up to "
            f"{max(sizes, default=0)} samples. Kernels for many inputs take tensors of two or "
            'four axes and means over at most four samples. Use inputs="one", or --inputs one.'
        )


def _check_closed(recursion: Recursion, names: Iterable[str]) -> None:
    needs = {t.name for term in recursion.terms for t in term.tensors}
    if recursion.terms:
        needs.add(METRIC)  # every mean is taken at the kernel K
    if not needs <= set(names):
        raise KernelError(
            f"The system is not closed: it lacks {' '.join(sorted(needs - set(names)))}. "
            f"{recursion!r} needs it. Use `derive_system`, which adds what is missing."
        )


def _check_linear(recursion: Recursion, term: RecursionTerm) -> None:
    own = sum(t.name == recursion.name for t in term.tensors)
    fluctuating = any(t.correlator.pairs > 1 or t.piece for t in term.tensors)
    if own > 1 or (term.width_ratio and not fluctuating):
        raise KernelError(
            f"The term {term!r} is not linear in {recursion.name}, or has a width ratio without "
            f"a tensor that vanishes at layer 1. It stands in {recursion!r}. "
            "Use recursions as `derive` returns them."
        )
    if recursion.name == METRIC and (term.tensors or any(b.inserted for b in term.brackets)):
        raise KernelError(
            f"The term {term!r} needs a tensor. It stands in the recursion of the kernel. "
            "Use recursions as `derive` returns them."
        )


def function(recursion: Recursion) -> TensorFunction:
    """One recursion as a polynomial in entries, with common factors taken out."""
    value, entries = polynomial(recursion.terms, recursion.single_input)
    return TensorFunction(
        recursion.name,
        () if recursion.single_input else recursion.samples,
        equation(recursion) if recursion.single_input else tuple(str(recursion).splitlines()),
        tuple(sorted(entries, key=lambda e: (not e.orders, len(e.samples), e))),
        ZERO,
        factored(value, rank_in(recursion.layer)),
        first_layer(recursion),
        recursion.correlator.symmetries,
    )


def linear_function(
    recursion: Recursion,
    terms: Iterable[LocalTerm],
    known: dict[Mean, Scaled],
    shared: dict[str, SharedFactor],
) -> TensorFunction:
    """A one-input recursion in gain and value; the intermediates it uses go into `shared`."""
    own, parameters = Entry(recursion.name, ()).name, hyperparameters_of(recursion.layer)
    parts: tuple[dict[Monomial, Fraction], ...] = ({}, {})
    for term in terms:
        powers, number = term.named(parameters, known, shared)
        part = parts[0 if powers[own] else 1]
        powers[own] = 0
        key = monomial(powers)
        part[key] = part.get(key, Fraction(0)) + number
    gain, value = (factored(part, rank_in(recursion.layer)) for part in parts)
    below = {t.name: None for term in recursion.terms for t in term.tensors}
    entries = tuple(Entry(name, ()) for name in below)
    first = first_layer(recursion)
    return TensorFunction(recursion.name, (), equation(recursion), entries, gain, value, first)


def first_layer(recursion: Recursion) -> Formula:
    """The value of a tensor at layer 1."""
    value, _ = polynomial(recursion.first_layer, recursion.single_input)
    return factored(value, rank_in(recursion.layer))


def polynomial(
    terms: Iterable[RecursionTerm], single_input: bool
) -> tuple[Coefficients, set[Entry]]:
    """Terms in the names of hyperparameters and entries, and these entries."""
    numbers: dict[Monomial, Fraction] = {}
    entries: set[Entry] = set()
    for term in terms:
        read = [mean_entry(bracket) for bracket in term.brackets]
        read += [Entry(factor.name, factor.samples) for factor in term.tensors]
        read += [Entry(OVERLAP, term.overlap)] if term.overlap else []
        if single_input:
            read = [Entry(entry.table, (), entry.orders) for entry in read]
        entries.update(read)
        powers = Counter(dict(term.hyperparameters.named))
        powers.update(entry.name for entry in read)
        powers["r"] += term.width_ratio
        key = monomial(powers)
        numbers[key] = numbers.get(key, Fraction(0)) + term.coefficient
    return numbers, entries


def mean_entry(bracket: Bracket) -> Entry:
    """The table of a bracket has its derivative orders ascending."""
    factors = sorted(bracket.factors, key=lambda factor: (factor[1], factor[0]))
    return Entry(
        mean_of(bracket)[0].name,
        tuple(sample for sample, _ in factors),
        tuple(order for _, order in factors),
    )


def used_hyperparameters(
    system: RecursionSystem, parameters: Iterable[Hyperparameter]
) -> tuple[str, ...]:
    """The hyperparameters that occur anywhere in the system."""
    terms = [t for r in system for t in (*r.terms, *r.first_layer)]
    used = {name for term in terms for name, power in term.hyperparameters.named if power}
    return tuple(one.name for one in parameters if one.name in used)


def rank_in(layer: Layer | Stack) -> Callable[[str], tuple[int, str]]:
    """Within a product: width ratio, hyperparameters, means and factors, tensors."""
    names = frozenset(map(ascii_name, layer.symbols))

    def rank(name: str) -> tuple[int, str]:
        if name == "r" or name.startswith("r_"):
            return 0, name
        if name in names:
            return 1, name
        return (3 if _TENSOR.fullmatch(name) else 2), name

    return rank
