"""Recursions of layers that are chains of steps, expanded about K* = 0 with numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import sympy as sp
from sympy.polys.domains.domain import Domain
from sympy.polys.rings import ring

from symdlt.activations import Activation
from symdlt.asymptotics.equations import Equation, Source, counts_of
from symdlt.asymptotics.expansions import ExpandedSystem, powers_of_kernel, rational
from symdlt.asymptotics.parameters import Parameters, constant_symbol
from symdlt.asymptotics.series import FieldElement
from symdlt.derivation import StackRecursion
from symdlt.derivation.stacks import Composition
from symdlt.fixed_points.laurent import Laurent
from symdlt.fixed_points.stack_maps import StackMap
from symdlt.fixed_points.step_series import (
    Graded,
    Means,
    SmallKernelMeans,
    StepSeries,
    highest_derivative,
)
from symdlt.symbols import n, named


@dataclass(frozen=True, slots=True)
class StackNumbers:
    """The numbers of a layer as elements of one field, for one value of its weight.

    Attributes:
        parameters: the field.
        symbols: values of the symbols of the layer and of ratios of widths, by name.
        derivatives: of each function, those at zero.
    """

    parameters: Parameters
    symbols: Mapping[str, FieldElement]
    derivatives: Mapping[str, Sequence[FieldElement]]


def stack_expansion(
    maps: StackMap,
    recursions: tuple[StackRecursion, ...],
    live: Sequence[bool],
    orders: int,
) -> ExpandedSystem:
    """Expand a closed system about K* = 0, at the weight that keeps a small kernel.

    Args:
        maps: the layer, whose functions are smooth at zero.
        recursions: for one input, G first.
        live: of each learning rate whether it is not zero.
        orders: how many orders of the depth are to be found.
    """
    names = tuple(one.name for one in recursions)
    length = powers_of_kernel(orders) + 1
    highest = highest_derivative(recursions) + 2 * length
    taylor = {name: _taylor(function, highest) for name, function in maps.functions.items()}
    numbers = _numbers(maps, taylor, names if orders > 1 else (), live)
    weight = critical_weight(maps, numbers, recursions[0])
    symbols = {**numbers.symbols, maps.weight: weight}
    values = composition(maps, replace(numbers, symbols=symbols), length)
    equations = tuple(equation_of(one, values(one)) for one in recursions)
    return ExpandedSystem(numbers.parameters, equations, (), maps.rates)


def composition(
    maps: StackMap,
    numbers: StackNumbers,
    length: int,
) -> Composition[Graded[FieldElement]]:
    """What makes series of so many powers of K of the recursions of a layer."""
    one, zero = numbers.parameters.zero + 1, numbers.parameters.zero
    means: Means[FieldElement] = SmallKernelMeans(numbers.derivatives)
    rest = (zero,) * (length - 2)
    reading = StepSeries(
        numbers.symbols,
        maps.rates,
        means,
        Laurent(0, (zero, one, *rest)),
        Laurent(0, (one, zero, *rest)),
    )
    return reading.composition


def critical_weight(maps: StackMap, numbers: StackNumbers, metric: StackRecursion) -> FieldElement:
    """The weight at which a small kernel keeps its size, in which its next one is linear."""

    def slope(weight: FieldElement) -> FieldElement:
        symbols = {**numbers.symbols, maps.weight: weight}
        value = composition(maps, replace(numbers, symbols=symbols), 2)(metric)
        (series,) = value.parts.values()
        return series.coefficients[1]

    return where_one(slope, numbers.parameters.zero + 1)


def where_one(line: Callable[[FieldElement], FieldElement], one: FieldElement) -> FieldElement:
    """Where a function that is linear is one, from its values at one and two."""
    first = line(one)
    rise = line(2 * one) - first
    return (1 - first + rise) / rise


def equation_of(recursion: StackRecursion, value: Graded[FieldElement]) -> Equation:
    """A recursion as the solver takes it, from its value."""
    return Equation(
        *counts_of(recursion),
        tuple(
            Source(*key, series.coefficients, series.lowest) for key, series in value.parts.items()
        ),
    )


@lru_cache(maxsize=64)
def _taylor(function: Activation, order: int) -> tuple[sp.Expr, ...]:
    return function.taylor(order)


def _numbers(
    maps: StackMap,
    taylor: Mapping[str, Sequence[sp.Expr]],
    constants: Sequence[str],
    live: Sequence[bool],
) -> StackNumbers:
    """The field and the numbers: exact ones, with a symbol for what is not rational.

    Of a function that is a rational one times a number, that number has a symbol. If there are
    others that are not rational, all are rounded.
    """
    scales = {name: _scale(series) for name, series in taylor.items()}
    ratios = {
        name: [sp.cancel(c / scales[name]) for c in series] for name, series in taylor.items()
    }
    given = maps.numbers
    exact = all(x.is_Rational for series in ratios.values() for x in series)
    roots = [(sp.Symbol(f"{name}_1"), x) for name, x in scales.items() if not x.is_Rational]
    roots += [(sp.Symbol(name), x) for name, x in given.items() if not x.is_Rational]
    widths = [(sp.Symbol(f"r_{site}"), n / width_symbol(site)) for site in maps.sites]
    replaced = dict(roots) if exact else {}
    # Nothing is divided by rates and widths, so that fractions are of the other numbers alone.
    known_numbers = sp.QQ.frac_field(*replaced) if replaced else sp.QQ
    parameters = ring_of(maps, [r for r, _ in widths], constants, live, known_numbers)
    domain = parameters.field
    known = {value: symbol for symbol, value in replaced.items()}

    def element(number: sp.Expr) -> FieldElement:
        return domain.from_expr(known[number] if number in known else rational(number))

    symbols = {name: element(value) for name, value in given.items()}
    symbols |= {
        site: domain.from_expr(ratio) for site, (ratio, _) in zip(maps.sites, widths, strict=True)
    }
    values = (*replaced.items(), *widths)
    return StackNumbers(
        replace(parameters, values=values, inexact=not exact),
        symbols,
        {
            name: [element(scales[name]) * element(x) for x in series]
            for name, series in ratios.items()
        },
    )


def width_symbol(site: str) -> sp.Symbol:
    """The symbol of the width of a site inside the layer."""
    return sp.Symbol(f"n_{site}", positive=True)


def _scale(derivatives: Iterable[sp.Expr]) -> sp.Expr:
    """The first number that is not zero."""
    return next((x for x in derivatives if x != 0), sp.Integer(1))


def ring_of(
    maps: StackMap,
    letters: Sequence[sp.Symbol],
    names: Sequence[str],
    live: Sequence[bool],
    numbers: Domain = sp.QQ,
) -> Parameters:
    """The ring of learning rates, other letters and constants of integration over numbers."""
    rates = [named(name) for name in maps.rates]
    domain, *generators = ring([*rates, *letters, *map(constant_symbol, names)], numbers)
    own = generators[: len(rates)]
    return Parameters(
        domain,
        (),
        domain.zero,
        domain.one,
        tuple(x if use else domain.zero for x, use in zip(own, live, strict=True)),
        tuple(zip(names, generators[len(rates) + len(letters) :], strict=True)),
        variances=0,
    )
