"""The balance of powers: each recursion solved by a series in 1/ℓ and log ℓ, order by order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from sympy import oo

from symdlt.asymptotics._equations import Equation, Source
from symdlt.asymptotics._layer import Layer, Solution, UndeterminedError, continued
from symdlt.asymptotics._parameters import Parameters
from symdlt.asymptotics._series import LogSeries, power
from symdlt.errors import SolutionError
from symdlt.progress import track

MANY = 20


@dataclass(frozen=True, slots=True)
class Schedule:
    r"""How the learning rates depend on the layer, $\lambda^{(\ell)} \propto \ell^{-power}$.

    Attributes:
        perpendicular: p_⊥, from χ_⊥ = 1 − p_⊥/ℓ + ….
        lambda_b: the power for λ_b, less p_Θ = p_⊥ − 1.
        lambda_W: the power for λ_W, less p_Θ.
    """

    perpendicular: Any
    lambda_b: int
    lambda_W: int

    @property
    def offset(self) -> Any:
        """p_Θ, which each edge of a tensor brings."""
        return self.perpendicular - 1


def solve(
    equations: Sequence[Equation], parameters: Parameters, orders: int
) -> tuple[tuple[Solution, ...], tuple[tuple[str, SolutionError], ...], Schedule]:
    """Solve a closed system, the kernel and the NTK first.

    Args:
        equations: in dependency order, G and H first, expanded beyond the given order.
        parameters: the class of activations.
        orders: how many orders of 1/ℓ to keep in every tensor.

    Returns:
        Solutions, then the tensors that have none and why, which is an `UndeterminedError` where
        more orders may help, and the schedule of the learning rates.
    """
    kernel = solve_kernel(equations[0], parameters, orders)
    variance = critical_variance(equations[0], parameters)
    tensors = {"G": kernel.series}
    cutoff = kernel.series.precision
    nothing, constant = (power(0, c, cutoff) for c in (parameters.zero, variance))
    schedule = equivalent_rates(equations[1], Layer((nothing, constant), tensors))
    rates = _rates(schedule, parameters, cutoff + 1)
    layer = Layer((nothing, constant, *rates), tensors)
    solutions, unsolved = [kernel], []
    shown = None if len(equations) > MANY else False
    for equation in track(equations[1:], "solving tensors", shown):
        try:
            _check_needs(equation, tensors)
            found = solve_driven(equation, layer, schedule.offset, parameters, orders)
        except SolutionError as reason:
            unsolved.append((equation.name, reason))
            known = _bound(equation, layer, schedule.offset, parameters, reason)
        else:
            solutions.append(found)
            known = found.series
        if known is not None:
            tensors[equation.name] = known
    return tuple(solutions), tuple(unsolved), schedule


def _check_needs(equation: Equation, tensors: Mapping[str, LogSeries]) -> None:
    for name in sorted({name for source in equation.sources for name in source.tensors}):
        if name not in tensors and name != equation.name:
            raise SolutionError(
                f"The recursion of {equation.name} contains {name}, which has no solution. "
                "What a tensor does cannot be told without those it contains. "
                f"See why there is none of {name}."
            )


def _bound(
    equation: Equation, layer: Layer, per_edge: Any, parameters: Parameters, reason: SolutionError
) -> LogSeries | None:
    """A series without terms for a tensor whose sources cancel: it stays below some power."""
    if not isinstance(reason, UndeterminedError):
        return None
    source = layer.total(_split(equation)[1])
    least = parameters.least(parameters.field(_decay(equation, layer) - per_edge * equation.edges))
    if least == -oo:
        return None
    return LogSeries((), min(floor(least), source.precision - 1 if source else floor(least)))


def solve_kernel(equation: Equation, parameters: Parameters, orders: int) -> Solution:
    r"""Solve $K' - K = a_1 K^2 + \cdots$ by $K = k/\ell + \cdots$.

    The first subleading order brings a constant that depends on the input: ℓ may be shifted.

    Args:
        equation: the recursion of G.
        parameters: the class of activations.
        orders: how many orders of 1/ℓ to keep.
    """
    variance = critical_variance(equation, parameters)
    sources = [source for source in equation.sources if not source.hyperparameters[0]]
    growth = sum((s.series[2] for s in sources), parameters.zero) * variance
    first = -1 / growth
    hyper = tuple(power(0, c, orders + 3) for c in (parameters.zero, variance))

    def residual(trial: LogSeries) -> LogSeries:
        moved = Layer((*hyper, hyper[0], hyper[0]), {"G": trial}).total(sources)
        assert moved is not None
        change = trial + trial.step(parameters.zero)
        return moved + change.scaled(parameters.zero - 1)

    gap = -2 * growth * first - 1
    start = LogSeries(((1, (first,)),), 2)
    series = continued(start, orders - 1, residual, gap, parameters.constant("G"))
    return Solution(equation, parameters.zero, series, gap)


def critical_variance(equation: Equation, parameters: Parameters) -> Any:
    r"""The $C_W$ at which a small kernel keeps its size: the slope of its recursion is 1.

    The recursion must also vanish at K = 0, which needs $C_b = 0$ and $\sigma_0 = 0$.

    Raises:
        SolutionError: if no C_W does it.
    """
    sources = [s for s in equation.sources if not s.hyperparameters[0]]
    if any(s.series[0] != 0 or s.hyperparameters != (0, 1, 0, 0) for s in sources):
        raise SolutionError(
            "K = 0 is not a fixed point of the kernel. sigma(0) is not zero. "
            "Subtract the value at zero from the activation."
        )
    return 1 / sum((s.series[1] for s in sources), parameters.zero)


def equivalent_rates(equation: Equation, layer: Layer) -> Schedule:
    r"""The learning-rate equivalence principle: every layer adds alike to the last NTK.

    What enters the NTK at layer ℓ reaches layer L diminished by
    $\prod\chi_\perp \propto (\ell/L)^{c}$, with $\chi_\perp = 1 - c/\ell$. So each source, a
    learning rate times a bracket of order $\ell^{-v}$, has to go as $\ell^{-c}$, and the rate as
    $\ell^{-c+v}$; a common factor $L^{c-1}$ keeps the sum over the layers at order one.

    Args:
        equation: the recursion of H.
        layer: C_b, C_W and the kernel; it needs no learning rates.
    """
    unit = power(0, layer.tensors["G"].terms[0][1][0] * 0 + 1, 99)
    bare = Layer((*layer.hyperparameters, unit, unit), layer.tensors)
    decay = _decay(equation, bare)
    powers = {}
    for source in equation.sources:
        if equation.name not in source.tensors:
            reach = bare.total([source])
            powers[source.hyperparameters[2:]] = 1 - (reach.valuation if reach else 0)
    return Schedule(decay, powers[1, 0], powers[0, 1])


def _rates(schedule: Schedule, parameters: Parameters, precision: int) -> tuple[LogSeries, ...]:
    """The learning rates of layer ℓ+1 as series in 1/ℓ."""
    rates = (parameters.lambda_b, parameters.lambda_W)
    powers = (schedule.lambda_b, schedule.lambda_W)
    below = [power(p, rate, precision) for p, rate in zip(powers, rates, strict=True)]
    return tuple(rate + rate.step(schedule.offset) for rate in below)


def solve_driven(
    equation: Equation, layer: Layer, per_edge: Any, parameters: Parameters, orders: int
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
    start = source.valuation - 1
    gap = parameters.field(_decay(equation, layer) - offset - start)
    least = parameters.least(gap)
    if least < 0:
        raise _forgets_nothing(equation.name, gap)
    linear = layer.total(own, equation.name)
    assert linear is not None

    def residual(trial: LogSeries) -> LogSeries:
        change = trial + trial.step(offset)
        return source + linear * trial + change.scaled(parameters.zero - 1)

    whole = gap.denom == 1 and gap.numer.is_ground and least.is_Integer
    kept = orders if whole else min(orders, ceil(least))
    empty = LogSeries((), start)
    series = continued(empty, kept, residual, gap, parameters.constant(equation.name))
    return Solution(equation, offset, series, gap)


def _split(equation: Equation) -> tuple[list[Source], list[Source]]:
    """The sources that contain the tensor itself, and the others."""
    own = [s for s in equation.sources if equation.name in s.tensors]
    return own, [s for s in equation.sources if equation.name not in s.tensors]


def _decay(equation: Equation, layer: Layer) -> Any:
    """c, if the tensor without sources is multiplied by 1 − c/ℓ from layer to layer."""
    linear = layer.total(_split(equation)[0], equation.name)
    if linear is None or linear.precision < 2:
        raise UndeterminedError(equation.name)
    zero = 0 * linear.terms[0][1][0]
    leading, first = linear.at(0), linear.at(1)
    if len(leading) != 1 or leading[0] != 1 or len(first) > 1:
        raise SolutionError(
            f"{equation.name} does not stay of its own size from layer to layer. "
            f"Its recursion multiplies it by {leading}, not by 1. "
            "The network is not critical; give the critical C_W."
        )
    return -first[0] if first else zero


def _forgets_nothing(name: str, gap: Any) -> SolutionError:
    return SolutionError(
        f"The leading growth of {name} depends on the input of the network. "
        f"Without sources it decays slower than with them, by the power {-gap.as_expr()} of l. "
        "Only exponents of tensors that forget their initial values are given."
    )
