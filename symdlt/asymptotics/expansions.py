"""The recursions of a system expanded about the critical point of a class."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp
from sympy.polys.fields import field
from sympy.polys.rings import ring

from symdlt.activations.smooth_pieces import sides, smooth_pieces
from symdlt.asymptotics.classes import KINKED, Universality
from symdlt.asymptotics.equations import (
    Equation,
    assembled,
    derivatives_needed,
    expand,
    orders_in,
    orders_of,
)
from symdlt.asymptotics.half_stable import WORKING, StationaryMeans
from symdlt.asymptotics.kinked_means import OneSidedMeans, needed
from symdlt.asymptotics.parameters import (
    Parameters,
    constant_symbol,
    parameters,
)
from symdlt.asymptotics.series import FieldElement
from symdlt.derivation import RecursionSystem
from symdlt.fixed_points.kernel_map import Orders
from symdlt.fixed_points.laurent import Laurent
from symdlt.symbols import lambda_b as LAMBDA_B
from symdlt.symbols import lambda_W as LAMBDA_W

# Characters, a convention: longer numbers are rounded, since the exact field is slow with them.
LONG = 8
# What makes numbers of the solver out of what brackets are.
Into = Callable[[FieldElement], FieldElement]
ROOT = sp.Symbol("r", positive=True)


@dataclass(frozen=True, slots=True)
class ExpandedSystem:
    """A system of recursions, ready for the solver.

    Attributes:
        parameters: the field, and what the variable of the expansions is.
        equations: in dependency order.
        infinite: names of tensors whose recursions contain infinite brackets.
        rates: the names of the learning rates.
    """

    parameters: Parameters
    equations: tuple[Equation, ...]
    infinite: tuple[str, ...] = ()
    rates: tuple[str, ...] = ("lambda_b", "lambda_W")

    @property
    def finite(self) -> tuple[Equation, ...]:
        """The equations without infinite brackets."""
        return tuple(e for e in self.equations if e.name not in self.infinite)


def powers_of_kernel(orders: int, rate: int = 1) -> int:
    """How many powers of K to keep for so many orders of 1/ℓ; sources start with K^2 or less."""
    return orders + 2 * rate


def smooth_expansion(
    system: RecursionSystem,
    vanishing: Collection[int],
    live: tuple[bool, bool],
    orders: int,
    rate: int,
) -> ExpandedSystem:
    """Expand a system about K* = 0 for all activations that share their vanishing σ_p.

    Args:
        system: recursions for one input.
        vanishing: the p with σ_p = 0.
        live: whether λ_b and λ_W are not zero.
        orders: how many orders of the depth are to be constants.
        rate: r, if the kernel moves at order $K^{1+r}$.
    """
    order = powers_of_kernel(orders, rate)
    constants = parameters(
        system["G"],
        derivatives_needed(system) + 2 * order + 1,
        vanishing=vanishing,
        rates=live,
        names=system.names if orders > 1 else (),
        rate=rate,
    )
    equations = (
        expand(recursion, constants.taylor, order, constants.field) for recursion in system
    )
    return ExpandedSystem(constants, tuple(equations))


def named_expansion(
    universality: Universality, system: RecursionSystem, live: tuple[bool, bool], orders: int
) -> ExpandedSystem:
    """Expand a system about the critical point of one activation, with its numbers.

    Args:
        universality: the class, with its critical point.
        system: recursions for one input.
        live: whether λ_b and λ_W are not zero.
        orders: how many orders of the depth are to be found.
    """
    if universality.kind == KINKED:
        return _kinked(universality, system, live, orders)
    return _stationary(universality, system, live, orders)


def _kinked(
    universality: Universality, system: RecursionSystem, live: tuple[bool, bool], orders: int
) -> ExpandedSystem:
    assert universality.activation is not None
    order = 2 * powers_of_kernel(orders)
    length = derivatives_needed(system) + order + 2
    taylor = [
        [sp.factorial(p) * c for p, c in enumerate(side.series(length))]
        for side in sides(smooth_pieces(universality.activation))
    ]
    inexact = any(not c.is_Rational or len(str(c)) > LONG for side in taylor for c in side)
    endless = sorted(set(needed(orders_in(system), universality.jump)))
    marks = [sp.Symbol("infinite_" + "".join(map(str, orders))) for orders in endless]
    names, height = system.names if orders > 1 else (), sp.sqrt(2 / sp.pi)
    if inexact:
        taylor = [[rational(c) for c in side] for side in taylor]
        constants = replace(_named(ring, marks, names, live), root=2, inexact=True)
        domain, root = constants.field, constants.field.from_expr(rational(height))
    else:
        values = ((ROOT, height),)
        constants = replace(_named(field, [ROOT, *marks], names, live), root=2, values=values)
        domain = constants.field.ring
        root = domain.from_expr(ROOT)
    left, right = (list(map(domain.from_expr, side)) for side in taylor)
    infinite = {orders: domain.from_expr(mark) for orders, mark in zip(endless, marks, strict=True)}
    means = OneSidedMeans(left, right, root, order, infinite)
    equations = _assembled(system, means, means.one, constants.field)
    bad: list[str] = []
    for equation in equations:
        lower = {name for source in equation.sources for name in source.tensors}
        if contains(equation, set(marks)) or lower & set(bad):
            bad.append(equation.name)
    return ExpandedSystem(constants, equations, tuple(bad))


def rational(number: sp.Expr) -> sp.Expr:
    """A number itself, or a rational that agrees with it to many digits."""
    return number if number.is_Rational else sp.Rational(number.evalf(WORKING))


def contains(equation: Equation, marks: set[sp.Symbol]) -> bool:
    """Whether an equation has one of some symbols, those of infinite brackets, in its series."""
    used = (c.as_expr().free_symbols for source in equation.sources for c in source.series)
    return bool(marks) and any(marks & symbols for symbols in used)


def _stationary(
    universality: Universality, system: RecursionSystem, live: tuple[bool, bool], orders: int
) -> ExpandedSystem:
    assert universality.activation is not None
    assert universality.point is not None
    means = StationaryMeans(
        universality.activation, universality.point.K, orders_in(system), orders
    )
    constants = _named(ring, [], system.names if orders > 1 else (), live)
    constants = replace(constants, star=constants.field(means.star), inexact=True)
    one = constants.field.one
    return ExpandedSystem(
        constants,
        _assembled(system, lambda b: means(b).scaled(one), means.one.scaled(one), constants.field),
    )


def _assembled(
    system: RecursionSystem,
    means: Callable[[Orders], Laurent[FieldElement]],
    one: Laurent[FieldElement],
    into: Into,
) -> tuple[Equation, ...]:
    return tuple(
        assembled(recursion, lambda b: means(orders_of(b)), one, into) for recursion in system
    )


def _named(
    make: Callable[..., Any],
    letters: Sequence[sp.Symbol],
    names: Sequence[str],
    live: tuple[bool, bool],
) -> Parameters:
    """The field or the ring for the numbers of one activation."""
    symbols = [LAMBDA_B, LAMBDA_W, *letters, *map(constant_symbol, names)]
    domain, lambda_b, lambda_W, *others = make(symbols, sp.QQ)
    return Parameters(
        domain,
        (),
        domain.zero,
        domain.one,
        (lambda_b if live[0] else domain.zero, lambda_W if live[1] else domain.zero),
        tuple(zip(names, others[len(letters) :], strict=True)),
    )
