"""Chains of steps about a critical kernel K* > 0, their numbers as rationals of many digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import sympy as sp
from sympy import QQ
from sympy.polys.rings import PolyRing, ring

from symdlt.asymptotics.asymptotes import Asymptote
from symdlt.asymptotics.equations import counts_of
from symdlt.asymptotics.exact_layers import ExactEquation, solve_exactly
from symdlt.asymptotics.expansions import ExpandedSystem, rational
from symdlt.asymptotics.half_stable import WORKING, ZERO_BELOW, as_rational
from symdlt.asymptotics.series import FieldElement
from symdlt.asymptotics.stack_expansions import equation_of, ring_of, width_symbol
from symdlt.asymptotics.stack_kept import FIRST_NTK, sources_of
from symdlt.derivation import StackRecursion
from symdlt.fixed_points.critical_points import CriticalPoint
from symdlt.fixed_points.kernel_curve import solved
from symdlt.fixed_points.laurent import Laurent
from symdlt.fixed_points.stack_maps import StackMap
from symdlt.fixed_points.stack_numbers import (
    FunctionMeans,
    MeansAtNumbers,
    numbers_of_stack,
    products_of,
)
from symdlt.fixed_points.step_series import Functions, Graded, Key, StepSeries
from symdlt.precision import mp, number
from symdlt.symbols import n, named

# What is smaller than its terms by so much is zero.
SMALL = 10.0**-ZERO_BELOW


@dataclass(frozen=True, slots=True)
class Sized:
    """An element of a ring with the size of the terms that it is the sum of.

    Attributes:
        value: the element.
        size: the sum of the absolute values of its terms, at 1 for all symbols.
    """

    value: FieldElement
    size: float

    def __add__(self, other: Sized) -> Sized:
        return Sized(self.value + other.value, self.size + other.size)

    def __sub__(self, other: Sized | int) -> Sized:
        return self + other * -1 if isinstance(other, Sized) else self + self.counted(-other)

    def __mul__(self, other: Sized | int) -> Sized:
        if isinstance(other, Sized):
            return Sized(self.value * other.value, self.size * other.size)
        return Sized(self.value * other, self.size * abs(other))

    def __rmul__(self, other: int) -> Sized:
        return self * other

    def __truediv__(self, other: Sized | int) -> Sized:
        if isinstance(other, Sized):
            return Sized(self.value / other.value, self.size / other.size)
        return Sized(self.value / other, self.size / abs(other))

    def counted(self, number: int) -> Sized:
        """A whole number in the same ring."""
        return Sized(self.value**0 * number, float(abs(number)))

    @property
    def decided(self) -> FieldElement:
        """The element without what is zero to half of the digits."""
        terms = {powers: x for powers, x in self.value.items() if float(abs(x)) > SMALL * self.size}
        return self.value.ring.from_dict(terms)


def stationary_expansion(
    maps: StackMap,
    point: CriticalPoint,
    recursions: tuple[StackRecursion, ...],
    live: Sequence[bool],
    orders: int,
) -> ExpandedSystem:
    """Expand a closed system about K*.

    Args:
        maps: the layer.
        point: where both susceptibilities are 1.
        recursions: for one input, G first.
        live: of each learning rate whether it is not zero.
        orders: how many orders of the depth are to be found.

    Raises:
        SolutionError: for products of several functions, or functions with kinks.
    """
    widths = _widths(maps)
    names = tuple(one.name for one in recursions) if orders > 1 else ()
    parameters = ring_of(maps, [*widths], names, live)
    star, values = _values(maps, point, recursions, parameters.field, orders + 2)
    parameters = replace(
        parameters, star=parameters.field(star), inexact=True, values=tuple(widths.items())
    )
    equations = tuple(map(equation_of, recursions, values))
    return ExpandedSystem(parameters, equations, (), maps.rates)


def solve_at_fixed_point(
    maps: StackMap,
    point: CriticalPoint,
    recursions: tuple[StackRecursion, ...],
    rates: Mapping[sp.Symbol, sp.Expr],
) -> tuple[tuple[Asymptote, ...], tuple[tuple[str, str], ...]]:
    """The tensors of a closed system at every layer of a network whose kernel starts at K*.

    Args:
        maps: the layer.
        point: where both susceptibilities are 1.
        recursions: for one input, G and H first.
        rates: values of learning rates.

    Raises:
        SolutionError: for products of several functions, or functions with kinks.
    """
    widths = _widths(maps)
    of_rates = [named(name) for name in maps.rates]
    domain = ring([*of_rates, FIRST_NTK, *widths], sp.QQ)[0]
    own = [domain.from_expr(symbol) for symbol in of_rates]
    star, values = _values(maps, point, recursions, domain, 1)
    starts = {"G": domain(star), "H": domain.from_expr(FIRST_NTK)}
    graded = dict(zip((one.name for one in recursions), values, strict=True))

    def of_one(recursion: StackRecursion) -> ExactEquation:
        return ExactEquation(
            *counts_of(recursion),
            tuple(sources_of(graded[recursion.name], own)),
            starts.get(recursion.name, domain.zero),
        )

    # a letter for each ratio of widths is one symbol, and not two, to expand in
    tensors, refused = solve_exactly(recursions, of_one, rates, inexact=True)
    return tuple(one.at(widths) for one in tensors), refused


def _widths(maps: StackMap) -> dict[sp.Symbol, sp.Expr]:
    return {sp.Symbol(f"r_{site}"): n / width_symbol(site) for site in maps.sites}


def _values(
    maps: StackMap,
    point: CriticalPoint,
    recursions: tuple[StackRecursion, ...],
    domain: PolyRing,
    length: int,
) -> tuple[QQ.dtype, Iterator[Graded[FieldElement]]]:
    """K*, and the tensors of the next layer as series in K - K*."""
    star, variances = _refined(maps, point)

    def sized(x: QQ.dtype, size: float = 0.0) -> Sized:
        return Sized(domain(x), max(size, float(abs(x))))

    means = FunctionMeans(maps.pieces, products_of(maps, recursions), WORKING, length)
    symbols = {
        name: sized(domain.domain.from_sympy(rational(value)))
        for name, value in maps.numbers.items()
    }
    symbols |= {name: sized(x) for name, x in variances.items()}
    symbols |= {
        site: Sized(domain.from_expr(letter), 1.0)
        for site, letter in zip(maps.sites, _widths(maps), strict=True)
    }
    zero, one = sized(QQ(0)), sized(QQ(1))
    rest = (zero,) * length
    reading = StepSeries(
        symbols,
        maps.rates,
        MeansAtNumbers(_expansion(means, sized)),
        Laurent(0, (sized(star), one, *rest)[:length]),
        Laurent(0, (one, *rest)[:length]),
    )
    composition, plain = reading.composition, reading.plain
    return star, (_decided(one, composition(one), plain, domain(star)) for one in recursions)


def _expansion(
    means: FunctionMeans, sized: Callable[[QQ.dtype, float], Sized]
) -> Callable[[Functions, Sized], list[Sized]]:
    def expansion(functions: Functions, kernel: Sized) -> list[Sized]:
        with mp.workdps(WORKING):
            exact = kernel.value.LC
            at = mp.mpf(int(exact.numerator)) / int(exact.denominator)
            exact = map(as_rational, map(mp.mpf, means(functions, at)))
            return [*map(sized, exact, means.sizes(functions, at))]

    return expansion


def _refined(maps: StackMap, point: CriticalPoint) -> tuple[QQ.dtype, dict[str, QQ.dtype]]:
    """K* and the variances there as rationals."""
    with mp.workdps(WORKING):
        numbers_at, _ = numbers_of_stack(maps, WORKING)
        K, at = solved(numbers_at, number(point.K), WORKING, lambda _, at: at.newton_step)
        found = {maps.weight: at.critical_weight}
        if maps.outer_bias is not None:
            found[maps.outer_bias] = at.critical_bias(K)
        return as_rational(K), {name: as_rational(x) for name, x in found.items()}


def _decided(
    recursion: StackRecursion, value: Graded[Sized], plain: Key, star: FieldElement
) -> Graded[FieldElement]:
    """The series with exact zeros, and exact ones where what makes the point critical is one.

    Both susceptibilities are 1, and so is what multiplies a tensor in its own recursion.
    """
    one = star**0
    known = [star, one] if recursion.name == "G" else [one]
    own = plain if recursion.name == "G" else (plain[0], (recursion.name,))
    parts = {
        key: tuple(x.decided for x in series.coefficients) for key, series in value.parts.items()
    }
    if own in parts:
        pairs = zip(known, value.parts[own].coefficients, strict=False)
        exact = [x if not (y - Sized(x, 0.0)).decided else y.decided for x, y in pairs]
        parts[own] = (*exact, *parts[own][len(exact) :])
    return Graded({key: Laurent(0, series) for key, series in parts.items()})
