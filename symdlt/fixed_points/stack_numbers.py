r"""Chains of steps at kernels that are numbers: their maps, and where these have critical points.

About a kernel κ a Gaussian mean is a series by its moments,

$$\langle f \rangle_{\kappa + \delta} = \sum_n \frac{\delta^n}{n!\,(2\kappa)^n}
  \langle f\, \mathrm{He}_{2n}(z/\sqrt\kappa) \rangle_\kappa$$

and the recursions of G and H, put into each other, are one in $K - K_0$. Of the variances that are
solved for, that of the weights and that of the biases of z', the next kernel and what multiplies H
are linear, as they are of one layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from math import factorial, sqrt
from operator import sub
from typing import Generic

import sympy as sp
from sympy.polys.orthopolys import hermite_prob_poly

from symdlt.activations.rings import E
from symdlt.activations.smooth_pieces import SmoothPiece
from symdlt.derivation import StackRecursion, derive_stack_system
from symdlt.errors import SolutionError
from symdlt.fixed_points.kernel_curve import FEWEST, ROUGH, Curve, NumbersAt
from symdlt.fixed_points.kernel_map import KernelNumbers, Orders, Triple
from symdlt.fixed_points.laurent import Laurent, composed
from symdlt.fixed_points.scan import Beyond, points_beyond
from symdlt.fixed_points.stack_maps import StackMap
from symdlt.fixed_points.step_series import Functions, Graded, Key, StepSeries
from symdlt.means.precise import DOUBLE, GaussianMeans, MeanError, lengths
from symdlt.precision import AnyPrecision, mp, number

# Coefficients: the next kernel, and its first and second derivative.
LENGTH = 3


class MeansAtNumbers(Generic[E]):
    """Gaussian means of functions of a field whose kernel is a number, and small changes of it.

    Args:
        expansion: the coefficients of a mean in powers of that change.
    """

    def __init__(self, expansion: Callable[[Functions, E], Sequence[E]]) -> None:
        self._expansion = expansion
        self._known: dict[tuple[Functions, tuple[E, ...]], Laurent[E]] = {}

    def __call__(self, functions: Functions, kernel: Laurent[E]) -> Laurent[E]:
        """The mean as a series in what the kernel is one in."""
        place = functions, kernel.coefficients
        if place not in self._known:
            at, *change = kernel.coefficients
            outer = [*self._expansion(functions, at)][: len(kernel.coefficients)]
            self._known[place] = composed(outer, Laurent(0, (0 * at, *change)))
        return self._known[place]


class FunctionMeans:
    """Expansions of Gaussian means of products of one function, by their moments.

    Args:
        pieces: of each function by its name.
        products: of functions and their derivatives.
        digits: how many to work with; in floating point with at most 15.
        length: how many coefficients.

    Raises:
        SolutionError: for a product of several functions, or of second derivatives where there are
            kinks.
    """

    def __init__(
        self,
        pieces: Mapping[str, tuple[SmoothPiece, ...]],
        products: Iterable[Functions],
        digits: int,
        length: int,
    ) -> None:
        self._places: dict[str, list[Orders]] = {}
        for functions in sorted(products):
            names = {name for name, _ in functions}
            if len(names) > 1:
                raise SolutionError(
                    f"{' and '.join(sorted(names))} of one field are multiplied. Away from K = 0 "
                    "means are of products of one function. Write the sum of them as an activation."
                )
            self._places.setdefault(names.pop(), []).append(_orders(functions))
        self._means = {
            name: _gaussian_means(name, pieces[name], orders, digits, length)
            for name, orders in self._places.items()
        }
        self._length = length
        self.known: dict[tuple[str, AnyPrecision], tuple[tuple[AnyPrecision, ...], ...]] = {}

    def __call__(self, functions: Functions, kernel: AnyPrecision) -> list[AnyPrecision]:
        """The mean at a kernel, and the coefficients of its change.

        Raises:
            MeanError: if the means diverge there.
        """
        moments = self._moments(functions, kernel)
        return [
            sum((x * moments[k] for k, x in _hermite(n)), 0 * kernel) / _below(n, kernel)
            for n in range(self._length)
        ]

    def sizes(self, functions: Functions, kernel: AnyPrecision) -> list[float]:
        """The size of the terms that each of them is the sum of; of the mean that of the next."""
        largest = float(max(map(abs, self._moments(functions, kernel))))
        return [
            largest * sum(abs(x) for _, x in _hermite(n)) / float(_below(n, kernel))
            for n in range(self._length)
        ]

    def _moments(self, functions: Functions, kernel: AnyPrecision) -> tuple[AnyPrecision, ...]:
        name = functions[0][0]
        if (name, kernel) not in self.known:
            if not kernel > 0:
                raise MeanError(
                    f"A field inside the layer has the kernel {float(kernel):.6g}, where nothing "
                    "is to be averaged. Give its weights a positive variance"
                )
            self.known[name, kernel] = self._means[name](kernel)
        return self.known[name, kernel][self._places[name].index(_orders(functions))]


def _below(n: int, kernel: AnyPrecision) -> AnyPrecision:
    return factorial(n) * (2 * kernel) ** n


def _orders(functions: Functions) -> Orders:
    return tuple(sorted(order for _, order in functions))


def _gaussian_means(
    name: str, pieces: tuple[SmoothPiece, ...], orders: list[Orders], digits: int, length: int
) -> GaussianMeans:
    highest = max(map(max, orders))
    if highest > 1 and len(pieces) > 1:
        raise SolutionError(
            f"Derivative {highest} of {name} is needed, and has delta functions at its kinks. It "
            "is that of a field beside the function, or of the tensors. Give a smooth activation."
        )
    # in floating point nodes have values of a function and its slope
    working = FEWEST if highest > 1 and digits <= DOUBLE else digits
    whole = [piece.upto(highest) for piece in pieces] if highest > 1 else pieces
    return GaussianMeans(whole, orders, working, powers=length + 1)


@lru_cache(maxsize=64)
def _hermite(n: int) -> tuple[tuple[int, int], ...]:
    """The numbers of the polynomial He_2n by the power of the square."""
    terms = hermite_prob_poly(2 * n, polys=True).terms()
    return tuple((power // 2, int(number)) for (power,), number in terms)


def products_of(maps: StackMap, recursions: Sequence[StackRecursion]) -> set[Functions]:
    """The products of functions whose means the recursions contain."""
    found: set[Functions] = set()
    unit: Laurent[sp.Expr] = Laurent(0, (sp.Integer(1),))

    def recorded(functions: Functions, kernel: Laurent[sp.Expr]) -> Laurent[sp.Expr]:
        del kernel
        found.add(functions)
        return unit

    names = (*maps.numbers, maps.weight, *maps.sites)
    symbols = dict.fromkeys(names, sp.Integer(1))
    values = StepSeries(symbols, maps.rates, recorded, unit, unit).composition
    for recursion in recursions:
        values(recursion)
    return found


def numbers_of_stack(maps: StackMap, digits: int) -> tuple[NumbersAt, FunctionMeans]:
    """The kernel map of a layer to so many digits, and the means that it takes.

    Args:
        maps: the layer, whose weight is drawn by z'.
        digits: how many; in floating point with at most 15.

    Raises:
        SolutionError: for products of several functions, or kinks where derivatives are needed.
    """
    system = derive_stack_system(["G", "H"], maps.layer)
    means = FunctionMeans(maps.pieces, products_of(maps, system), digits, LENGTH)
    of_number: Callable[[sp.Expr], AnyPrecision] = float if digits <= DOUBLE else number

    def numbers_at(K: AnyPrecision) -> KernelNumbers:
        with mp.workdps(digits):
            one = of_number(sp.Integer(1))
            symbols = {name: of_number(value) for name, value in maps.numbers.items()}
            symbols |= dict.fromkeys(maps.sites, one)
            series = MeansAtNumbers(means)

            def read(weight: int, bias: int) -> tuple[Triple, Triple]:
                at = {**symbols, maps.weight: weight * one}
                if maps.outer_bias is not None:
                    at[maps.outer_bias] = bias * one
                kernel, unit = (Laurent(0, x) for x in ((K, one, 0 * one), (one, 0 * one, 0 * one)))
                reading = StepSeries(at, maps.rates, series, kernel, unit)
                metric, ntk = map(reading.composition, system)
                plain = reading.plain
                return _derivatives(metric, plain), _derivatives(ntk, (plain[0], ("H",)))

            (kept, moved), (whole, slopes) = read(0, 0), read(1, 0)
            g, g_1, g_2 = map(sub, whole, kept)
            d, d_1, _ = map(sub, slopes, moved)
            constant = read(0, 1)[0][0] - kept[0]
        return KernelNumbers(g, g_1, g_2, d, d_1, constant, kept, moved)

    return numbers_at, means


def _derivatives(value: Graded[AnyPrecision], key: Key) -> Triple:
    """What multiplies tensors and rates in a value, and its derivatives by K."""
    if key not in value.parts:
        return 0, 0, 0
    return tuple(factorial(n) * x for n, x in enumerate(value.parts[key].coefficients))


def curve_of_stack(maps: StackMap) -> Curve:
    """The kernel map of a layer in floating point, with the scales of all its functions."""
    numbers_at, means = numbers_of_stack(maps, ROUGH)
    squares = {name: [x**2 for x in lengths(pieces)] for name, pieces in maps.pieces.items()}
    # Products of fields alone have no scale.
    low, high = (
        end((x for many in squares.values() for x in many), default=1.0) for end in (min, max)
    )
    K = sqrt(low * high)
    try:
        numbers_at(K)
    except MeanError:
        return Curve(numbers_at, (low, high))
    ends = [(x * K / kernel) for name, kernel in means.known for x in squares[name]]
    return Curve(numbers_at, (float(min(ends, default=low)), float(max(ends, default=high))))


def points_of_stack(
    maps: StackMap, search: tuple[float, float] | None, digits: int
) -> Beyond | str:
    """The critical points with K* > 0 of a layer of several fields, or why they are not sought.

    Args:
        maps: the layer.
        search: the lowest and the highest K, or None.
        digits: how many to return.
    """
    if not maps.drawn_by_last(maps.weight):
        return (
            f"Points with K* > 0 are sought for a variance of weights that z' draws, and "
            f"{maps.weight} is that of a field inside; give it a value, and leave the other open"
        )
    jumping = [name for name, one in maps.functions.items() if one.kinks(0)]
    if jumping:
        return f"{jumping[0]} jumps, so that chi_perp diverges at K > 0"
    try:
        curve = curve_of_stack(maps)
        symbols = maps.outer_bias, maps.weight
        numbers_to = partial(_numbers_to, maps)
        return points_beyond(curve, numbers_to, symbols, search, digits, alone=True)
    except SolutionError as reason:
        return str(reason).removesuffix(".")


def _numbers_to(maps: StackMap, digits: int) -> NumbersAt:
    return numbers_of_stack(maps, digits)[0]
