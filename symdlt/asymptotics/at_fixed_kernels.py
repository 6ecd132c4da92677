"""Networks that start at a critical kernel K* > 0 and stay there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import sympy as sp
from sympy.polys.fields import field

from symdlt.asymptotics.classes import Universality, shown
from symdlt.asymptotics.equations import orders_in, orders_of
from symdlt.asymptotics.exact_layers import (
    DIGITS,
    ConstantKernel,
    dense_equation,
    exact_solution,
    solve_exactly,
)
from symdlt.asymptotics.half_stable import StationaryMeans
from symdlt.asymptotics.solution import AsymptoticSolution
from symdlt.derivation import RecursionSystem
from symdlt.errors import SolutionError
from symdlt.fixed_points.critical_points import HALF_STABLE
from symdlt.fixed_points.kernel_map import kernel_map
from symdlt.symbols import lambda_b as LAMBDA_B
from symdlt.symbols import lambda_W as LAMBDA_W


def solve_at_fixed_kernel(
    universality: Universality, system: RecursionSystem, rates: Mapping[sp.Symbol, sp.Expr | None]
) -> AsymptoticSolution:
    r"""The exact solution at every layer for a kernel that is K* at the first.

    Both susceptibilities are then 1 at all layers, as in the scale-invariant class, and learning
    rates are $\widetilde\lambda/L$.

    Args:
        universality: the class, with its critical point.
        system: the recursions for one input, with those of G and H.
        rates: values of λ̃_b and λ̃_W that were given.

    Raises:
        SolutionError: if the critical point is not at K* > 0.
    """
    named, point = universality.activation, universality.point
    if named is None or point is None or universality.kind != HALF_STABLE:
        name = universality.given if named is None else shown(named)
        raise SolutionError(
            f"{name} has no critical point with K* > 0 to start at. It was asked for with "
            "at_fixed_point. Leave that out: other kernels that stay are solved exactly without."
        )
    means = StationaryMeans(named, point.K, orders_in(system), 0)
    domain, lambda_b, lambda_W = field([LAMBDA_B, LAMBDA_W], sp.QQ)
    kernel, slope = (domain(means.numbers[orders]) for orders in kernel_map().products)
    star, variance = domain(means.star), 1 / slope
    bias = star - variance * kernel
    numbers = ConstantKernel(
        star,
        (bias, variance, lambda_b, lambda_W),
        lambda bracket: domain(means.numbers[orders_of(bracket)]),
    )
    values = {symbol: value for symbol, value in rates.items() if value is not None}
    C_b, C_W = (number.as_expr().evalf(DIGITS) for number in (bias, variance))
    return exact_solution(
        universality.given,
        f"{universality.name}, at K*",
        solve_exactly(
            tuple(system), partial(dense_equation, numbers=numbers), values, inexact=True
        ),
        (("K*", star.as_expr().evalf(DIGITS)),),
        (("C_b", C_b), ("C_W", C_W)),
        rates,
    )
