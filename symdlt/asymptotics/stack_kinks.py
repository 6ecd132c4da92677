r"""Recursions of chains of steps about K* = 0 for an activation with a kink at zero.

They are series in $x = \sqrt K$, with numbers that are rounded to many digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import factorial
from operator import mul

import sympy as sp
from sympy import QQ

from symdlt.activations.smooth_pieces import sides
from symdlt.asymptotics.equations import Equation
from symdlt.asymptotics.expansions import (
    ExpandedSystem,
    contains,
    powers_of_kernel,
    rational,
)
from symdlt.asymptotics.half_stable import WORKING
from symdlt.asymptotics.kinked_means import MOST_DERIVATIVES, OneSidedMeans, first_jump
from symdlt.asymptotics.series import FieldElement
from symdlt.asymptotics.stack_expansions import (
    equation_of,
    ring_of,
    where_one,
    width_symbol,
)
from symdlt.asymptotics.straight_means import infinite_means
from symdlt.derivation import StackRecursion
from symdlt.derivation.stacks import Composition
from symdlt.errors import SolutionError
from symdlt.fixed_points.kernel_map import Orders
from symdlt.fixed_points.laurent import Laurent, composed
from symdlt.fixed_points.stack_maps import StackMap
from symdlt.fixed_points.stack_numbers import products_of
from symdlt.fixed_points.step_series import Functions, Graded, StepSeries, highest_derivative
from symdlt.symbols import n

Series = Laurent[FieldElement]
# Twice what the digits that are worked with take; products of longer ones grow with each order.
MOST_BITS = 8 * WORKING


def jumps_of(maps: StackMap) -> dict[str, int]:
    """Of each function with a kink at zero, which of its derivatives is the first to jump."""
    jumps = {name: first_jump(pieces) for name, pieces in maps.pieces.items()}
    return {name: jump for name, jump in jumps.items() if 0 < jump <= MOST_DERIVATIVES}


class KinkedStepMeans:
    r"""Means of functions of one kinked activation at a kernel that is a series in x.

    In $\kappa = x^2(k_0 + k_1 x + \cdots)$ a mean is even powers of $\sqrt\kappa$, which are powers
    of κ, and odd ones, of which each has one root.

    Args:
        means: of each activation, as series in the root of its kernel.
    """

    def __init__(self, means: Mapping[str, Callable[[Orders], Series]]) -> None:
        self._means = means
        self._known: dict[tuple[Functions, Series], Series] = {}

    def __call__(self, functions: Functions, kernel: Series) -> Series:
        """The mean as a series in x.

        Raises:
            SolutionError: for products of several activations.
        """
        if (functions, kernel) not in self._known:
            self._known[functions, kernel] = self._mean(functions, kernel)
        return self._known[functions, kernel]

    def _mean(self, functions: Functions, kernel: Series) -> Series:
        names = {name for name, _ in functions}
        if len(names) > 1:
            raise SolutionError(
                "A function with a kink at zero is multiplied by another one of the same field. "
                "Exponents are those of one. Write the product as an activation."
            )
        outer = self._means[names.pop()](tuple(sorted(order for _, order in functions)))
        pairs = [*enumerate(outer.coefficients, outer.lowest)]
        lowest = outer.lowest // 2
        even, odd = ([c for power, c in pairs if power % 2 == parity] for parity in (0, 1))
        kappa = Laurent(2, kernel.coefficients[2:])
        # the first even power may be above the first odd one
        first = next(power for power, _ in pairs if power % 2 == 0) // 2
        whole = _raised(composed(even, kappa), kappa, first)
        return whole + _raised(composed(odd, kappa), kappa, lowest) * _root(kappa)


def _raised(series: Series, kappa: Series, power: int) -> Series:
    """A series times a power of κ, which may be negative."""
    factor = kappa if power > 0 else _reciprocal(kappa)
    return reduce(mul, [factor] * abs(power), series)


def _reciprocal(kappa: Series) -> Series:
    first, *others = kappa.coefficients
    inverse = [first**0 / first]
    for k in range(1, len(kappa.coefficients)):
        mixed = sum((others[i] * inverse[k - 1 - i] for i in range(k)), 0 * first)
        inverse.append((0 * first - mixed) / first)
    return Laurent(-kappa.lowest, tuple(inverse))


def _root(kappa: Series) -> Series:
    """The root of a series that starts with the second power and a number."""
    first, *others = kappa.coefficients
    root = [first**0]
    for k, x in enumerate(others, 1):
        mixed = sum((root[i] * root[k - i] for i in range(1, k)), 0 * first)
        root.append((x / first - mixed) / 2)
    number = first**0 * rational(sp.sqrt(first.as_expr()))
    return Laurent(1, tuple(number * x for x in root))


def kinked_expansion(
    maps: StackMap,
    recursions: tuple[StackRecursion, ...],
    live: Sequence[bool],
    orders: int,
    jumps: Mapping[str, int],
) -> ExpandedSystem:
    """Expand a closed system about K* = 0, at the weight that keeps a small kernel.

    Args:
        maps: the layer.
        recursions: for one input, G first.
        live: of each learning rate whether it is not zero.
        orders: how many orders of the depth are to be found.
        jumps: of each function, which of its derivatives is the first to jump at zero.
    """
    # each step takes a root, and with it an order of x; so do delta functions
    order = 2 * powers_of_kernel(orders) + 2 * maps.inner_steps + 2
    length = highest_derivative(recursions) + order + 4
    marks = infinite_means(products_of(maps, recursions), jumps)
    widths = [(sp.Symbol(f"r_{site}"), n / width_symbol(site)) for site in maps.sites]
    letters = [*(ratio for ratio, _ in widths), *marks.values()]
    names = tuple(one.name for one in recursions) if orders > 1 else ()
    parameters = replace(
        ring_of(maps, letters, names, live), root=2, inexact=True, values=tuple(widths)
    )
    domain = parameters.field
    height = domain(rational(sp.sqrt(2 / sp.pi)))
    means: dict[str, Callable[[Orders], Series]] = {}
    for name, pieces in maps.pieces.items():
        left, right = (
            [domain(rational(factorial(p) * c)) for p, c in enumerate(side.series(length))]
            for side in sides(pieces)
        )
        infinite = {of: domain.from_expr(x) for (own, of), x in marks.items() if own == name}
        means[name] = OneSidedMeans(left, right, height, order, infinite)
    reading = KinkedStepMeans(means)
    symbols = {name: domain(rational(value)) for name, value in maps.numbers.items()}
    symbols |= {site: domain.from_expr(x) for site, (x, _) in zip(maps.sites, widths, strict=True)}

    def values(weight: FieldElement) -> Composition[Graded[FieldElement]]:
        zeros = (domain.zero,) * order
        kernel = Laurent(0, (domain.zero, domain.zero, domain.one, *zeros))
        one = Laurent(0, (domain.one, domain.zero, domain.zero, *zeros))
        at = {**symbols, maps.weight: weight}
        return StepSeries(at, maps.rates, reading, kernel, one).composition

    def slope(weight: FieldElement) -> FieldElement:
        (series,) = values(weight)(recursions[0]).parts.values()
        return series.coefficients[2 - series.lowest]

    composition = values(where_one(slope, domain.one))
    equations = [_rounded(equation_of(each, composition(each))) for each in recursions]
    bad: list[str] = []
    for equation in equations:
        lower = {name for source in equation.sources for name in source.tensors}
        if contains(equation, {*marks.values()}) or lower & {*bad}:
            bad.append(equation.name)
    return ExpandedSystem(parameters, tuple(equations), tuple(bad), maps.rates)


def _rounded(equation: Equation) -> Equation:
    """The equation with as many digits of its numbers as are worked with; what is zero stays so."""
    sources = (
        replace(
            source,
            series=tuple(
                c.ring.from_dict({powers: _short(x) for powers, x in c.items()})
                for c in source.series
            ),
        )
        for source in equation.sources
    )
    return replace(equation, sources=tuple(sources))


def _short(number: FieldElement) -> FieldElement:
    exact = QQ.to_sympy(number)
    long = exact.q.bit_length() > MOST_BITS
    return QQ.from_sympy(sp.Rational(exact.evalf(WORKING))) if long else number
