"""The balance of powers: each recursion solved by a series in 1/ℓ and log ℓ, order by order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil, floor
from operator import mul

import sympy as sp
from sympy import QQ

from symdlt.asymptotics.equations import Equation, Source
from symdlt.asymptotics.layer_series import DepthLayer, Solution, UndeterminedError, continued
from symdlt.asymptotics.parameters import Parameters
from symdlt.asymptotics.series import FieldElement, LogSeries, power
from symdlt.errors import SolutionError
from symdlt.progress import track

# Tensors, a convention: the thirteen of the book show no progress.
MANY = 20


@dataclass(frozen=True, slots=True)
class Schedule:
    r"""How the learning rates depend on the layer, $\lambda^{(\ell)} \propto \ell^{-power}$.

    Attributes:
        perpendicular: p_⊥, from χ_⊥ = 1 − p_⊥/ℓ + ….
        rates: the power for each learning rate, less p_Θ = p_⊥ − 1.
    """

    perpendicular: FieldElement
    rates: tuple[sp.Rational, ...]

    @property
    def offset(self) -> FieldElement:
        """p_Θ, which each edge of a tensor brings."""
        return self.perpendicular - 1


def solve(
    equations: Sequence[Equation], parameters: Parameters, orders: int
) -> tuple[tuple[Solution, ...], tuple[tuple[str, SolutionError], ...], Schedule, Solution]:
    r"""Solve a closed system, the kernel and the NTK first.

    Args:
        equations: in dependency order, G and H first, expanded beyond the given order.
        parameters: the class of activations.
        orders: how many orders of $\ell^{-1/d}$ to keep in every tensor.

    Returns:
        Solutions, then the tensors that have none and why, which is an `UndeterminedError` where
        more orders may help, how the learning rates go, and the variable of the brackets.

    Raises:
        SolutionError: if the NTK depends on the input at leading order.
    """
    variable = solve_kernel(equations[0], parameters, orders)
    kernel = _kernel(variable, parameters)
    tensors = {"G": kernel.series}
    cutoff = variable.series.precision
    point = tuple(power(0, c, cutoff) for c in critical_point(equations[0], parameters))
    bare = DepthLayer(point, tensors, variable.series)
    schedule = equivalent_rates(equations[1], bare, parameters.denominator)
    rates = _rates(schedule, parameters, cutoff + parameters.denominator)
    layer = DepthLayer((*point, *rates), tensors, variable.series)
    solutions = [kernel]
    unsolved: list[tuple[str, SolutionError]] = []
    shown = None if len(equations) > MANY else False
    for equation in track(equations[1:], "solving tensors", shown):
        try:
            _check_needs(equation, tensors, dict(unsolved))
            solution = solve_driven(equation, layer, schedule.offset, parameters, orders)
        except SolutionError as reason:
            if equation is equations[1] and not isinstance(reason, UndeterminedError):
                raise
            unsolved.append((equation.name, reason))
            known = _bound(equation, layer, schedule.offset, parameters, reason)
        else:
            solutions.append(solution)
            known = solution.series
        if known is not None:
            tensors[equation.name] = known
    return tuple(solutions), tuple(unsolved), schedule, variable


def _check_needs(
    equation: Equation, tensors: Mapping[str, LogSeries], unsolved: Mapping[str, SolutionError]
) -> None:
    for name in sorted({name for source in equation.sources for name in source.tensors}):
        if name not in tensors and name != equation.name:
            if isinstance(unsolved.get(name), UndeterminedError):
                raise UndeterminedError(equation.name)
            raise SolutionError(
                f"The recursion of {equation.name} contains {name}, which has no solution. "
                "What a tensor does cannot be told without those it contains. "
                f"See why there is none of {name}."
            )


def _bound(
    equation: Equation,
    layer: DepthLayer,
    per_edge: FieldElement,
    parameters: Parameters,
    reason: SolutionError,
) -> LogSeries | None:
    """A series without terms for a tensor whose sources cancel: it stays below some power."""
    d = parameters.denominator
    try:
        decay = _decay(equation, layer, d) - per_edge * equation.edges
        source = layer.total(_split(equation)[1])
    except (SolutionError, KeyError):
        return None
    if not isinstance(reason, UndeterminedError):
        return None
    least = parameters.least(parameters.field(decay))
    if least == -sp.oo:
        return None
    slowest = floor(d * least)
    return LogSeries((), min(slowest, source.precision - d) if source else slowest)


def _kernel(variable: Solution, parameters: Parameters) -> Solution:
    """The kernel from the variable x, $K = K^* + x^{root}$."""
    series = reduce(mul, [variable.series] * parameters.root)
    if parameters.star != 0:
        series = power(0, parameters.star, series.precision) + series
    return Solution(variable.equation, variable.offset, series, variable.gap)


def solve_kernel(equation: Equation, parameters: Parameters, orders: int) -> Solution:
    r"""Solve $x' - x = A x^{1+r} + \cdots$ by $x = k\,\ell^{-1/r} + \cdots$ with $k^r = -1/(rA)$.

    For x = K and r = 1 this is $K' - K = a_1 K^2 + \cdots$. An order that is by 1/ℓ smaller than
    the leading one brings a constant that depends on the input: ℓ may be shifted.

    Args:
        equation: the recursion of G, expanded in x.
        parameters: the class of activations, which says what x is.
        orders: how many orders of $\ell^{-1/r}$ to keep.

    Raises:
        SolutionError: if K* is no fixed point.
        UndeterminedError: if x does not move at any order that is kept.
    """
    image = _image(equation, parameters)
    moving = next((n for n, c in enumerate(image) if n > 1 and c != 0), 0)
    if not moving:
        raise UndeterminedError(equation.name)
    rate, growth = moving - 1, image[moving]
    first = (parameters.zero - 1) / growth if parameters.first is None else parameters.first

    def residual(trial: LogSeries) -> LogSeries:
        moved = DepthLayer((), {"G": trial}).in_depth(image)
        change = trial + trial.step(parameters.zero, rate)
        return moved + change.scaled(parameters.zero - 1)

    gap = -moving * growth * first**rate - QQ(1, rate)
    start = LogSeries(((1, (first,)),), 2)
    series = continued(start, orders - 1, residual, gap, parameters.constant("G"), rate)
    return Solution(equation, parameters.zero, series, gap)


def _image(equation: Equation, parameters: Parameters) -> tuple[FieldElement, ...]:
    """The coefficients of x' in powers of x: those of x^root → x'^root, and the root of that."""
    variance, root = critical_variance(equation, parameters), parameters.root
    change = [variance * c for c in _driving(equation, parameters)[root:]]
    return (parameters.zero, *(_square_root(change) if root == 2 else change))


def _square_root(series: Sequence[FieldElement]) -> list[FieldElement]:
    """The square root of a series that starts with 1."""
    root = [series[0]]
    for n in range(1, len(series)):
        mixed = sum((root[i] * root[n - i] for i in range(1, n)), 0 * series[0])
        root.append((series[n] - mixed) / 2)
    return root


def _driving(equation: Equation, parameters: Parameters) -> tuple[FieldElement, ...]:
    """What C_W multiplies in the recursion of the kernel, as a series in x; or all of it."""
    return next(s.series for s in equation.sources if s.hyperparameters == parameters.weighed)


def critical_variance(equation: Equation, parameters: Parameters) -> FieldElement:
    r"""The $C_W$ at which a small change of the kernel keeps its size: its slope is 1.

    Raises:
        SolutionError: if K* = 0 is no fixed point, which needs $\sigma_0 = 0$.
    """
    series = _driving(equation, parameters)
    if parameters.star == 0 and any(c != 0 for c in series[: parameters.root]):
        raise SolutionError(
            "K = 0 is not a fixed point of the kernel. sigma(0) is not zero. "
            "Subtract the value at zero from the activation."
        )
    return (parameters.zero + 1) / series[parameters.root]


def critical_point(equation: Equation, parameters: Parameters) -> tuple[FieldElement, ...]:
    """C_b and C_W at which K* is a fixed point and the slope of the kernel's recursion is 1.

    Nothing if variances are numbers in the series already.
    """
    variance = critical_variance(equation, parameters)
    bias = parameters.star - variance * _driving(equation, parameters)[0]
    return (bias, variance)[: parameters.variances]


def equivalent_rates(equation: Equation, layer: DepthLayer, denominator: int = 1) -> Schedule:
    r"""The learning-rate equivalence principle: every layer adds alike to the last NTK.

    What enters the NTK at layer ℓ reaches layer L diminished by
    $\prod\chi_\perp \propto (\ell/L)^{c}$, with $\chi_\perp = 1 - c/\ell$. So each source, a
    learning rate times a bracket of order $\ell^{-v}$, has to go as $\ell^{-c}$, and the rate as
    $\ell^{-c+v}$; a common factor $L^{c-1}$ keeps the sum over the layers at order one.

    Args:
        equation: the recursion of H.
        layer: C_b, C_W and the kernel; it needs no learning rates.
        denominator: d, if the series are those in $\ell^{-1/d}$.
    """
    unit = power(0, layer.tensors["G"].terms[0][1][0] * 0 + 1, 99)
    known = len(layer.hyperparameters)
    count = len(equation.sources[0].hyperparameters) - known
    bare = DepthLayer((*layer.hyperparameters, *[unit] * count), layer.tensors, layer.variable)
    decay = _decay(equation, bare, denominator)
    powers: dict[int, sp.Rational] = {}
    for source in equation.sources:
        if equation.name not in source.tensors:
            reach = bare.total([source])
            rate = source.hyperparameters[known:].index(1)
            if reach is not None and reach.terms:
                powers[rate] = 1 - sp.Rational(reach.valuation, denominator)
    if len(powers) < count:
        raise UndeterminedError(equation.name)
    return Schedule(decay, tuple(powers[rate] for rate in range(count)))


def _rates(schedule: Schedule, parameters: Parameters, precision: int) -> tuple[LogSeries, ...]:
    """The learning rates of layer ℓ+1 as series in 1/ℓ."""
    d = parameters.denominator
    pairs = zip(schedule.rates, parameters.rates, strict=True)
    below = [power(int(d * p), rate, precision) for p, rate in pairs]
    return tuple(rate + rate.step(schedule.offset, d) for rate in below)


def solve_driven(
    equation: Equation,
    layer: DepthLayer,
    per_edge: FieldElement,
    parameters: Parameters,
    orders: int,
) -> Solution:
    r"""Solve $X' = (1 - c/\ell + \cdots) X + s\,\ell^{-q} + \cdots$ by $X = x\,\ell^{-P} + \cdots$.

    The left side less $X$ is $-P x\,\ell^{-P-1}$, so that $P = q - 1$ and $x = s/(c - P)$. A
    solution without the source goes as $\ell^{-c}$, with a coefficient that depends on the input,
    and must decay faster.

    Args:
        equation: one that is linear in its own tensor.
        layer: hyperparameters, and the solutions of what it depends on.
        per_edge: p_Θ.
        parameters: the class of activations.
        orders: how many orders of 1/ℓ to keep.

    Raises:
        SolutionError: if the tensor has no source, or keeps the memory of its input.
        UndeterminedError: if all known orders of the source cancel.
    """
    own, others = _split(equation)
    offset = per_edge * equation.edges
    source = layer.total(others)
    if source is None or not source.terms:
        raise UndeterminedError(equation.name)
    d = parameters.denominator
    start = source.valuation - d
    gap = parameters.field(_decay(equation, layer, d) - offset - QQ(start, d))
    least = parameters.least(gap)
    if least < 0:
        raise _forgets_nothing(equation.name, gap)
    linear = layer.total(own, equation.name)
    assert linear is not None

    def residual(trial: LogSeries) -> LogSeries:
        change = trial + trial.step(offset, d)
        return source + linear * trial + change.scaled(parameters.zero - 1)

    whole = parameters.is_number(gap) and (d * least).is_Integer
    kept = orders if whole else min(orders, ceil(d * least))
    empty = LogSeries((), start)
    series = continued(empty, kept, residual, gap, parameters.constant(equation.name), d)
    return Solution(equation, offset, series, gap)


def _split(equation: Equation) -> tuple[list[Source], list[Source]]:
    """The sources that contain the tensor itself, and the others."""
    own = [s for s in equation.sources if equation.name in s.tensors]
    return own, [s for s in equation.sources if equation.name not in s.tensors]


def _decay(equation: Equation, layer: DepthLayer, denominator: int) -> FieldElement:
    """c, if the tensor without sources is multiplied by 1 − c/ℓ from layer to layer."""
    linear = layer.total(_split(equation)[0], equation.name)
    if linear is None or linear.precision <= denominator:
        raise UndeterminedError(equation.name)
    zero = 0 * linear.terms[0][1][0]
    leading, first = linear.at(0), linear.at(denominator)
    if len(leading) != 1 or leading[0] != 1 or len(first) > 1:
        raise SolutionError(
            f"{equation.name} does not stay of its own size from layer to layer. "
            f"Its recursion multiplies it by {leading}, not by 1. "
            "The network is not critical; give the critical C_W."
        )
    slow = next((k for k in range(1, denominator) if linear.at(k)), 0)
    if slow:
        raise SolutionError(
            f"{equation.name} grows or falls exponentially in a power of the depth. Its recursion "
            f"multiplies it by 1 + c l^(-{slow}/{denominator}), and not by 1 + c/l. "
            "Give an activation whose chi_perp comes to 1 faster; for K* = 0 an odd one."
        )
    return -first[0] if first else zero


def _forgets_nothing(name: str, gap: FieldElement) -> SolutionError:
    number = -gap.as_expr()
    shown = number if len(str(number)) <= 30 or number.free_symbols else number.evalf(8)
    return SolutionError(
        f"The leading growth of {name} depends on the input of the network. "
        f"Without sources it decays slower than with them, by the power {shown} of l. "
        "Only exponents of tensors that forget their initial values are given."
    )
