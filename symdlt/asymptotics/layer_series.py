"""The right-hand sides of recursions as series in 1/ℓ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul

from sympy import QQ

from symdlt.asymptotics.equations import Equation, Source
from symdlt.asymptotics.series import FieldElement, LogSeries, power
from symdlt.errors import SolutionError


class UndeterminedError(SolutionError):
    """All known orders of a right-hand side cancel: the work has to be redone with more."""


@dataclass(frozen=True, slots=True)
class Solution:
    r"""One tensor at large depth, $X^{(\ell)} = \ell^{-offset}$ times a series.

    Attributes:
        equation: what was solved.
        offset: the power e p_Θ that the learning rates bring.
        series: the rest, whose leading term stands first.
        gap: by how much a solution of the equation without its sources decays faster.
    """

    equation: Equation
    offset: FieldElement
    series: LogSeries
    gap: FieldElement


@dataclass(frozen=True, slots=True)
class DepthLayer:
    """What the right-hand sides need.

    Attributes:
        hyperparameters: C_b, C_W, λ_b, λ_W of layer ℓ+1.
        tensors: tensors of layer ℓ, each without its offset.
        variable: what brackets are expanded in, or None if that is the kernel.
    """

    hyperparameters: tuple[LogSeries, ...]
    tensors: Mapping[str, LogSeries]
    variable: LogSeries | None = None

    def total(self, sources: Sequence[Source], without: str = "") -> LogSeries | None:
        """The sum of the sources, each less one factor `without`, or None if there is none."""
        values = [self._value(source, without) for source in sources]
        return reduce(add, values) if values else None

    def _value(self, source: Source, without: str) -> LogSeries:
        names = list(source.tensors)
        if without:
            names.remove(without)
        factors = [
            self.in_depth(source.series, source.lowest),
            *(self.tensors[name] for name in names),
        ]
        for hyper, exponent in zip(self.hyperparameters, source.hyperparameters, strict=True):
            factors += [hyper] * exponent
        return reduce(mul, factors)

    def in_depth(self, series: Sequence[FieldElement], lowest: int = 0) -> LogSeries:
        """A series in the variable, which is of order one of the series in depth, as one in 1/ℓ."""
        variable = raised = self.tensors["G"] if self.variable is None else self.variable
        total = power(0, series[0], len(series))
        for coefficient in series[1:]:
            if coefficient != 0:
                total = total + raised.scaled(coefficient)
            raised = raised * variable
        for _ in range(-lowest):
            total = total * variable.reciprocal()
        return total


def continued(
    series: LogSeries,
    orders: int,
    residual: Callable[[LogSeries], LogSeries],
    gap: FieldElement,
    constant: FieldElement,
    denominator: int = 1,
) -> LogSeries:
    r"""Add orders of $\ell^{-1/d}$ to a solution.

    A term $x\,\ell^{-P-r}\log^j\ell$ changes the residual, right side less left side, by
    $-(c-P-r)\,x\log^j\ell - j\,x\log^{j-1}\ell$ at order $\ell^{-P-r-1}$, with $c - P$ the gap.

    Args:
        series: what is known; its precision is the power that comes next.
        orders: how many orders to add, counted in powers of $\ell^{-1/d}$.
        residual: right side less left side of the equation, for a trial series.
        gap: the distance c − P to the power of the solution without sources, from the first
            order that was known or is to be mismatch.
        constant: multiplies the solution without sources where it comes up.
        denominator: d.
    """
    first = series.valuation
    for _ in range(orders):
        exponent = series.precision
        mismatch = residual(series.truncated(exponent + denominator + 1))
        if mismatch.precision <= exponent + denominator:
            break
        rest = gap - QQ(exponent - first, denominator)
        logs = _balanced(mismatch.at(exponent + denominator), rest, constant)
        series = series.truncated(exponent + 1) + LogSeries(((exponent, logs),), exponent + 1)
    return series


def _balanced(
    residual: Sequence[FieldElement], gap: FieldElement, constant: FieldElement
) -> tuple[FieldElement, ...]:
    """Solve gap·x_j + (j+1)·x_{j+1} = residual_j, from the highest power of the logarithm on."""
    if gap == 0:
        return (constant, *(value / (j + 1) for j, value in enumerate(residual)))
    logs: list[FieldElement] = []
    above = gap * 0
    for j in reversed(range(len(residual))):
        above = (residual[j] - (j + 1) * above) / gap
        logs.insert(0, above)
    return tuple(logs)
