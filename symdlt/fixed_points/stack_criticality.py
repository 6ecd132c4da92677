r"""Critical points of layers that are chains of steps.

The recursions of G and H of all steps, put into each other, are series in K, of which the first
says at which weight a small kernel keeps its size, and the next ones how it moves. Where kernels
leave K* = 0, points with K* > 0 are sought as those of one layer are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import factorial

import sympy as sp

from symdlt.activations import Activation
from symdlt.activations.exact_numbers import is_positive, is_zero
from symdlt.activations.smooth_pieces import sides
from symdlt.definitions import Stack, has_dropout
from symdlt.derivation import StackRecursion, derive, derive_stack_system
from symdlt.errors import LayerError, SolutionError
from symdlt.fixed_points.critical_points import (
    HALF_STABLE,
    SCALE_INVARIANT,
    ZERO,
    Criticality,
    CriticalPoint,
)
from symdlt.fixed_points.laurent import Laurent
from symdlt.fixed_points.norms import refuse_norms
from symdlt.fixed_points.number_text import short
from symdlt.fixed_points.one_sided_moments import OneSidedMoments
from symdlt.fixed_points.origin import Origin
from symdlt.fixed_points.stack_maps import ELSEWHERE, StackMap, stack_map
from symdlt.fixed_points.stack_numbers import points_of_stack
from symdlt.fixed_points.step_series import (
    Graded,
    Means,
    SmallKernelMeans,
    StepSeries,
    highest_derivative,
)
from symdlt.precision import NumberLike

# Powers of K that are expanded: to K^2, which moves most kernels, and if it does not to K^5.
FEW, MANY = 2, 5
ONE = sp.Integer(1)


def stack_criticality(
    own: Activation,
    layer: Stack,
    values: Mapping[str, NumberLike] | None,
    digits: int,
    search: tuple[float, float] | None = None,
) -> Criticality:
    """The critical points of a layer of several fields.

    Those with K* > 0 are sought where K* = 0 is none that kernels come to, or on request.

    Args:
        own: the activation.
        layer: a chain of steps, or one that keeps z besides.
        values: numbers for all symbols but learning rates, one variance of weights, and biases,
            which are zero but for that of z' where K* > 0.
        digits: how many are shown of what is not exact.
        search: the lowest and the highest K between which points with K* > 0 are sought.

    Raises:
        LayerError: for a layer whose kernel is not one number.
        SolutionError: if there is no such point, or values are missing.
    """
    refuse_norms(own, layer, values)
    maps = stack_map(own, layer, values)
    origin = origin_of_stack(maps)
    at_zero = () if isinstance(origin, str) else (_point_at_zero(origin, maps),)
    if at_zero and (search is None or at_zero[0].K is None):
        kind = SCALE_INVARIANT if at_zero[0].K is None else ZERO
        told = tuple(_told_apart(maps, at_zero[0]))
        return Criticality(own.name, kind, at_zero, told, None, digits, layer)
    beyond = points_of_stack(maps, search, digits)
    reasons = [f"{origin}."] if isinstance(origin, str) else []
    if isinstance(beyond, str) and not reasons:
        raise SolutionError(
            f"Of the layer {layer} there is a critical point at K* = 0. search stands in the call: "
            f"{beyond}. Leave search out."
        )
    if isinstance(beyond, str):
        raise _nowhere(maps, *reasons, f"{beyond}.")
    reasons += [*beyond.refused, *beyond.about]
    others = tuple((name, maps.numbers[name]) for name in maps.biases if name != maps.outer_bias)
    zeros = tuple(one for one in others if one[1] == 0)
    found = tuple(replace(point, others=zeros) for point in beyond.points)
    if not at_zero and not found:
        raise _nowhere(maps, *reasons)
    kind = ZERO if at_zero else HALF_STABLE
    points = (*at_zero, *found)
    reasons += _told_apart(maps, points[0])
    return Criticality(own.name, kind, points, tuple(reasons), beyond.scanned.range, digits, layer)


def _told_apart(maps: StackMap, point: CriticalPoint) -> Iterator[str]:
    """What becomes of two inputs of which each has masks of its own, if there are such."""
    if not has_dropout(maps.layer.streams):
        return
    yield (
        "Each input has a draw of dropout of its own: K, chi_parallel and chi_perp are those of "
        "one input. Two that are the same part from layer to layer; with prune, "
        "one draw for all, they stay together."
    )
    if point.K == 0 and maps.smooth:
        (covariance,) = _small_kernels(maps, point.C_W, 1, [derive("G", layer=maps.layer)])
        (series,) = covariance.parts.values()
        yield (
            "Where kernels are small the covariance of two inputs is multiplied by "
            f"{short(series.coefficients[1])} from layer to layer."
        )
    else:
        yield "`layer_phase` has the covariance that they come to."


def _point_at_zero(origin: Origin, maps: StackMap) -> CriticalPoint:
    others = tuple((name, sp.Integer(0)) for name in maps.biases[:-1])
    stability = "neutral" if origin.power is None else "stable"
    return origin.point(stability, (maps.bias, maps.weight), others)


def origin_of_stack(maps: StackMap) -> Origin | str:
    """The kernel map of a layer at small K, with the weight that keeps a small kernel.

    Or why K* = 0 is no fixed point, or one that kernels leave.
    """
    if maps.biased:
        return f"{maps.biased} keeps the kernel from 0"
    free = sp.Symbol(maps.weight, positive=True)
    try:
        kernel, _ = _series(maps, free, 1)
    except SolutionError as reason:
        return str(reason).partition(". ")[0]
    if not is_zero(kernel[0]):
        return "z' has a kernel where z has none, by a function not zero at zero"
    line = sp.Poly(kernel[1 if maps.smooth else 2], free)
    drawn, kept = line.coeff_monomial(free), line.coeff_monomial(1)
    if is_zero(drawn):
        return (
            f"no {maps.weight} keeps a small kernel at its size, as that of z' is then "
            f"{short(kept)} K and terms of higher order"
        )
    if not is_positive(1 - kept) or not is_positive(drawn):
        return f"a small kernel is multiplied by {short(kept)} without {maps.weight}"
    weight = sp.factor((1 - kept) / drawn)
    origin = _expanded(maps, weight, FEW)
    if origin.power is None or origin.perpendicular_power is None:
        origin = _expanded(maps, weight, MANY)
    if origin.power is None and maps.straight is None:
        return f"the kernel does not move up to K^{MANY}"
    if origin.power is not None and is_positive(origin.a):
        return (
            f"K* = 0 is unstable: a_1 = {short(origin.a)} is positive, and a small kernel "
            "grows away from it"
        )
    return origin


def _expanded(maps: StackMap, weight: sp.Expr, order: int) -> Origin:
    kernel, slope = _series(maps, weight, order)
    root = 1 if maps.smooth else 2
    q, a = _first(kernel, root + 1, root)
    r, b = _first(slope, 1, root)
    return Origin(weight, q, a, r, b)


def _first(series: Sequence[sp.Expr], start: int, root: int) -> tuple[sp.Rational | None, sp.Expr]:
    """The power and the coefficient of the first term that does not vanish."""
    for n, number in enumerate(series[start:], start):
        if not is_zero(number):
            return sp.Rational(n, root), sp.factor(number)
    return None, sp.Integer(0)


def _series(maps: StackMap, weight: sp.Expr, order: int) -> tuple[list[sp.Expr], list[sp.Expr]]:
    """The next kernel and what multiplies H in its recursion, as series in K or its root."""
    metric, ntk = kernel_series(maps, weight, order)
    plain = (0,) * len(maps.rates)
    parts = metric.parts[plain, ()], ntk.parts[plain, ("H",)]
    kernels, slopes = ([*map(sp.expand, part.coefficients)] for part in parts)
    return kernels, slopes


def kernel_series(
    maps: StackMap, weight: sp.Expr, order: int
) -> tuple[Graded[sp.Expr], Graded[sp.Expr]]:
    """The next kernel and the next NTK as series in K, or its root where functions have kinks.

    Args:
        maps: the layer.
        weight: the value of the weight that is solved for.
        order: the highest power of K.

    Raises:
        LayerError: for a layer that is no chain of steps.
    """
    try:
        system = derive_stack_system(["G", "H"], maps.layer)
    except LayerError as reason:
        raise LayerError(f"{reason} {ELSEWHERE}") from reason
    metric, ntk = _small_kernels(maps, weight, order, system)
    return metric, ntk


def _small_kernels(
    maps: StackMap, weight: sp.Expr, order: int, system: Sequence[StackRecursion]
) -> list[Graded[sp.Expr]]:
    """The recursions of G and H in numbers, or that of G for inputs with masks of their own."""
    length = order + 1
    means: Means[sp.Expr]
    if maps.smooth:
        highest = highest_derivative(system) + 2 * length
        means = SmallKernelMeans({name: f.taylor(highest) for name, f in maps.functions.items()})
        kernel = [0, 1, *[0] * (length - 2)]
    else:
        # each step takes a root, and with it one order of the root of K
        length = 2 * order + 1 + maps.inner_steps + 1
        taylor = {
            name: [
                [factorial(p) * c for p, c in enumerate(side.series(length + 2))]
                for side in sides(pieces)
            ]
            for name, pieces in maps.pieces.items()
        }
        means = OneSidedMoments(taylor)
        kernel = [0, 0, 1, *[0] * (length - 3)]
    symbols = maps.numbers | {maps.weight: weight} | dict.fromkeys(maps.sites, ONE)
    one = Laurent(0, (ONE, *[sp.Integer(0)] * (length - 1)))
    given = Laurent(0, tuple(map(sp.Integer, kernel)))
    reading = StepSeries(symbols, maps.rates, means, given, one)
    return [*map(reading.composition, system)]


def _nowhere(maps: StackMap, why: str, *others: str) -> SolutionError:
    said = " ".join(others)
    return SolutionError(
        f"The layer {maps.layer} has no critical point at K* = 0: {why} {said} {ELSEWHERE}"
    )
