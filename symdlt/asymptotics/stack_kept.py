r"""Chains of steps whose functions are straight on both sides of zero: solved exactly.

Every kernel is kept without biases at one product of the variances of weights, and the kernel of
each field is a number times K. So a tensor changes from layer to layer by its sources alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import sympy as sp
from sympy.polys.fields import field

from symdlt.asymptotics.asymptotes import Asymptote
from symdlt.asymptotics.equations import counts_of
from symdlt.asymptotics.exact_layers import ExactEquation, solve_exactly
from symdlt.asymptotics.series import FieldElement
from symdlt.asymptotics.stack_expansions import where_one, width_symbol
from symdlt.asymptotics.straight_means import SLOPE, StraightMeans, infinite_means
from symdlt.derivation import StackRecursion
from symdlt.derivation.stacks import Composition
from symdlt.errors import SolutionError
from symdlt.fixed_points.laurent import Laurent
from symdlt.fixed_points.stack_maps import StackMap
from symdlt.fixed_points.stack_numbers import products_of
from symdlt.fixed_points.step_series import Graded, StepSeries
from symdlt.symbols import K as KERNEL
from symdlt.symbols import n, named

# L times the NTK of the first layer, which reads the input.
FIRST_NTK = sp.Symbol("Theta_1", positive=True)
INFINITE = (
    "Its recursion contains squares of delta functions, as the slope of an activation jumps. "
    "Give a smooth activation, or ask for other tensors."
)


def solve_kept(
    maps: StackMap,
    slopes: Mapping[str, tuple[sp.Expr, sp.Expr]],
    recursions: tuple[StackRecursion, ...],
    rates: Mapping[sp.Symbol, sp.Expr],
) -> tuple[tuple[Asymptote, ...], tuple[tuple[str, str], ...]]:
    """The tensors of a closed system at every layer, and those that are infinite.

    Args:
        maps: the layer.
        slopes: of each function, to the left and to the right of zero.
        recursions: for one input, G and H first.
        rates: values of learning rates.
    """
    products = products_of(maps, recursions)
    kinked = [name for name, (left, right) in slopes.items() if left != right]
    marks = infinite_means(products, dict.fromkeys(kinked, SLOPE))
    letters = dict(_letters(maps, slopes))
    of_rates = [named(name) for name in maps.rates]
    domain = field([*of_rates, KERNEL, FIRST_NTK, *letters, *marks.values()], sp.QQ)[0]
    known = {value: symbol for symbol, value in letters.items()}

    def element(number: sp.Expr) -> FieldElement:
        return domain.from_expr(known.get(number, number))

    infinite = {which: domain.from_expr(mark) for which, mark in marks.items()}
    of_functions = {name: (element(a), element(b)) for name, (a, b) in slopes.items()}
    most = max(map(len, products), default=0)
    means = StraightMeans(of_functions, infinite, most)
    symbols = {name: element(value) for name, value in maps.numbers.items()}
    symbols |= {site: element(n / width_symbol(site)) for site in maps.sites}
    kernel, first_ntk, one = map(domain.from_expr, (KERNEL, FIRST_NTK, sp.Integer(1)))

    def values(weight: FieldElement) -> Composition[Graded[FieldElement]]:
        at = {**symbols, maps.weight: weight}
        K, unit = (Laurent(0, (x,)) for x in (kernel, one))
        return StepSeries(at, maps.rates, means, K, unit).composition

    def growth(weight: FieldElement) -> FieldElement:
        (series,) = values(weight)(recursions[0]).parts.values()
        return series.coefficients[0] / kernel

    composed = values(where_one(growth, one))
    starts = {"G": kernel, "H": first_ntk}
    own = [domain.from_expr(symbol) for symbol in of_rates]

    def equation_of(recursion: StackRecursion) -> ExactEquation:
        sources = tuple(sources_of(composed(recursion), own))
        infinities = {*marks.values()}
        if infinities and any(infinities & x.as_expr().free_symbols for x, _ in sources):
            raise SolutionError(INFINITE)
        return ExactEquation(
            *counts_of(recursion),
            sources,
            starts.get(recursion.name, 0 * one),
        )

    return solve_exactly(recursions, equation_of, {**letters, **rates})


def sources_of(
    value: Graded[FieldElement], rates: Sequence[FieldElement]
) -> list[tuple[FieldElement, tuple[str, ...]]]:
    """The value of a tensor as numbers, each with the tensors that it multiplies."""
    sums: dict[tuple[str, ...], FieldElement] = {}
    for (powers, tensors), series in value.parts.items():
        (number,) = series.coefficients
        number = prod((r**p for r, p in zip(rates, powers, strict=True)), start=number)
        sums[tensors] = sums[tensors] + number if tensors in sums else number
    return [(number, tensors) for tensors, number in sums.items() if number != 0]


def _letters(
    maps: StackMap, slopes: Mapping[str, tuple[sp.Expr, sp.Expr]]
) -> list[tuple[sp.Symbol, sp.Expr]]:
    """Symbols of the field and what they stand for: widths, and numbers that are not rational."""
    letters = [(sp.Symbol(f"r_{site}"), n / width_symbol(site)) for site in maps.sites]
    numbers = [*maps.numbers.values(), *(x for two in slopes.values() for x in two)]
    roots = sorted({x for x in numbers if not x.is_Rational}, key=sp.default_sort_key)
    return letters + [(sp.Symbol(f"x_{k}"), number) for k, number in enumerate(roots)]
