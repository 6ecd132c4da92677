"""Gaussian means of functions that are straight on each side of zero, at kernels of any size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

import sympy as sp

from symdlt.asymptotics.kinked_means import OneSidedMeans, needed
from symdlt.asymptotics.series import FieldElement
from symdlt.errors import DerivationError, SolutionError
from symdlt.fixed_points.kernel_map import Orders
from symdlt.fixed_points.laurent import Laurent
from symdlt.fixed_points.moments import double_factorial
from symdlt.fixed_points.step_series import Functions

Slopes = Mapping[str, tuple[FieldElement, FieldElement]]
# The slope is the first derivative, and the one that jumps.
SLOPE = 1


class StraightMeans:
    r"""Means as powers of the kernel, $\langle\prod f\rangle_\kappa = c\,\kappa^{d/2}$.

    Of functions and their slopes they are half moments of a Gaussian. Where slopes jump, higher
    derivatives are delta functions, and a product of these is infinite: a symbol, which has to
    cancel at its kernel.

    Args:
        slopes: of each function, to the left and to the right.
        infinite: what stands for infinite means of a function.
        most: how many functions are multiplied.
    """

    def __init__(
        self,
        slopes: Slopes,
        infinite: Mapping[tuple[str, Orders], FieldElement],
        most: int,
    ) -> None:
        self._slopes, self._infinite, self._most = slopes, infinite, most
        self._kinked: dict[tuple[str, FieldElement], OneSidedMeans] = {}

    def __call__(
        self, functions: Functions, kernel: Laurent[FieldElement]
    ) -> Laurent[FieldElement]:
        """A mean at a kernel that is one number.

        Raises:
            SolutionError: for derivatives of a slope that jumps, times another function.
        """
        (K,) = kernel.coefficients
        return Laurent(0, (self._mean(functions, K),))

    def _mean(self, functions: Functions, K: FieldElement) -> FieldElement:
        if all(order <= SLOPE for _, order in functions):
            return self._of_slopes(functions, K)
        names = {name for name, _ in functions}
        if any(self._straight(name) and order > SLOPE for name, order in functions):
            return 0 * K
        if len(names) > 1:
            raise SolutionError(
                "A delta function, of a slope that jumps, stands beside another function. "
                "Mixtures are solved without these. Write the mixture as one activation."
            )
        return self._with_spikes(names.pop(), tuple(order for _, order in functions), K)

    def _straight(self, name: str) -> bool:
        left, right = self._slopes[name]
        return bool(left == right)

    def _of_slopes(self, functions: Functions, K: FieldElement) -> FieldElement:
        degree = sum(SLOPE - order for _, order in functions)
        _check_even(functions, degree)
        sides = (prod((self._slopes[name][k] for name, _ in functions), start=K**0) for k in (0, 1))
        return sum(sides, 0 * K) * double_factorial(degree - 1) / 2 * K ** (degree // 2)

    def _with_spikes(self, name: str, orders: Orders, K: FieldElement) -> FieldElement:
        if (name, K) not in self._kinked:
            # beyond the slope nothing, as far as derivatives of that many factors can reach
            rest = [0 * K] * (2 * self._most + 8)
            left, right = ([0 * K, slope, *rest] for slope in self._slopes[name])
            # symbols of different kernels are different, as these multiply them
            infinite = {of: x * K for (own, of), x in self._infinite.items() if own == name}
            self._kinked[name, K] = OneSidedMeans(left, right, K**0, self._most, infinite)
        series = self._kinked[name, K](tuple(sorted(orders)))
        total = 0 * K
        for power, coefficient in enumerate(series.coefficients, series.lowest):
            if coefficient != 0:
                _check_even(orders, power)
                total = total + coefficient * K ** (power // 2)
        return total


def infinite_means(
    products: Iterable[Functions], jumps: Mapping[str, int]
) -> dict[tuple[str, Orders], sp.Symbol]:
    """A symbol for each infinite mean that comes up in those of some products.

    Args:
        products: of functions, by their names, and derivatives.
        jumps: of each function with a kink, which of its derivatives is the first to jump.
    """
    marks: dict[tuple[str, Orders], sp.Symbol] = {}
    for name, jump in jumps.items():
        own = {
            tuple(sorted(order for _, order in one))
            for one in products
            if {other for other, _ in one} == {name}
        }
        for orders in sorted({*needed(sorted(own), jump)}):
            marks[name, orders] = sp.Symbol(f"infinite_{name}_{''.join(map(str, orders))}")
    return marks


def _check_even(product: object, degree: int) -> None:
    if degree % 2:
        raise DerivationError(
            f"The mean of {product} is odd under a change of sign of z. Recursions have no such "
            "means. This is a fault of symdlt; please report it."
        )
