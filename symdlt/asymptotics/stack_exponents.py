"""Critical exponents of layers that are chains of steps: blocks of two weights, gates, mixtures.

A layer that keeps z and reads a function of it, h = U σ(z), z' = ξ z + W σ(h), is no such
chain: noise of a neuron meets that at all later depths. Near K* = 0 it is one again, as `skips`
says, to leading order in K, of tensors that noise of many layers feeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import sympy as sp

from symdlt.activations import Activation
from symdlt.asymptotics.classes import Universality
from symdlt.asymptotics.exact_layers import DIGITS, exact_solution
from symdlt.asymptotics.expansions import ExpandedSystem
from symdlt.asymptotics.power_laws import (
    Solved,
    rounded_factors,
    solve_expansion,
    solve_in_rounds,
)
from symdlt.asymptotics.skips import only_gathered
from symdlt.asymptotics.solution import AsymptoticSolution
from symdlt.asymptotics.stack_expansions import stack_expansion
from symdlt.asymptotics.stack_kept import solve_kept
from symdlt.asymptotics.stack_kinks import jumps_of, kinked_expansion
from symdlt.asymptotics.stack_skips import growth_of_v
from symdlt.asymptotics.stack_stationary import solve_at_fixed_point, stationary_expansion
from symdlt.definitions import (
    Correlator,
    Stack,
    canonical_name,
    has_dropout,
    is_chain,
    keeps_inside,
)
from symdlt.derivation import StackRecursion, derive_stack_system
from symdlt.errors import SolutionError
from symdlt.fixed_points import criticality
from symdlt.fixed_points.critical_points import (
    HALF_STABLE,
    SCALE_INVARIANT,
    ZERO,
    CriticalPoint,
)
from symdlt.fixed_points.number_text import LONGEST, power_text
from symdlt.fixed_points.stack_maps import StackMap, stack_map
from symdlt.precision import NumberLike
from symdlt.symbols import named

STEPS = "steps"
FIRST = "layer 1 reads the input, Theta_1 is L times its NTK"
# Whether a kink is solved in which that derivative is the first to jump.
KINKS = (False, True, True)
UNSOLVED = (
    "The growth of {} takes sums over pairs of depths, as the layer keeps neurons and reads "
    "functions of them. `propagate` counts all depths of a network, and a block that reads z "
    "itself, such as h = U z; z' = xi z + W s(h), is solved."
)


def stack_exponents(
    own: Activation,
    wanted: Sequence[str | Correlator],
    layer: Stack,
    values: Mapping[str, NumberLike] | None,
    rates: Mapping[str, sp.Expr | None],
    *,
    at_fixed_point: bool = False,
) -> AsymptoticSolution:
    """Solve the single-input recursions of a layer of several fields at criticality.

    Args:
        own: the activation.
        wanted: tensors besides G and H.
        layer: the layer.
        values: numbers for all its symbols but learning rates, one variance of weights and biases.
        rates: values of learning rates by their names, None for those that are left open.
        at_fixed_point: whether the kernel starts at K* > 0.

    Raises:
        LayerError: if the layer is no chain of steps.
        SolutionError: if it has no critical point, or kernels come to it in a way that is not
            solved.
    """
    maps = stack_map(own, layer, values)
    point = criticality(own, layer=layer, values=values).points[0]
    beyond = point.K is not None and point.K > 0
    if at_fixed_point and not beyond:
        raise SolutionError(
            f"The layer {layer} has no critical point with K* > 0 to start at. It was asked for "
            "with at_fixed_point. Leave that out."
        )
    left: list[str] = []
    if keeps_inside(layer):
        names = [canonical_name(one if isinstance(one, str) else one.name) for one in wanted]
        left, wanted = [name for name in names if name not in ("G", "H")], ()
    solution = _solved(own, maps, point, wanted, rates, at_fixed_point)
    unsolved = [(name, UNSOLVED.format(name)) for name in left]
    return replace(solution, unsolved=(*solution.unsolved, *unsolved))


def _solved(
    own: Activation,
    maps: StackMap,
    point: CriticalPoint,
    wanted: Sequence[str | Correlator],
    rates: Mapping[str, sp.Expr | None],
    at_fixed_point: bool,
) -> AsymptoticSolution:
    """The solution at a critical point."""
    slopes, closed = maps.straight, is_chain(maps.layer)
    if slopes is not None and point.K is None:
        return _staying(own, maps, slopes, point, wanted, rates)
    if point.K is not None and point.K > 0:
        _check_beyond(maps, point, closed)
    else:
        _check_at_zero(maps, point, closed)
    if at_fixed_point:
        return _started(own, maps, point, wanted, rates)
    solution = _moving(own, maps, point, wanted, rates, closed)
    return solution if closed else only_gathered(solution)


def _check_at_zero(maps: StackMap, point: CriticalPoint, closed: bool) -> None:
    jumps = jumps_of(maps)
    kinked = all(jump < len(KINKS) and KINKS[jump] for jump in jumps.values())
    line = closed or 1 not in jumps.values()
    if point.kernel_power != (sp.Rational(3, 2) if jumps else 2) or not kinked or not line:
        raise SolutionError(
            f"Near K* = 0 the kernel of the layer {maps.layer} moves as "
            f"{power_text('K', point.kernel_power)}. Of layers of several fields exponents are "
            "those of a kernel that moves as K^2, or as K^(3/2) by a jump of a first or second "
            "derivative, or not at all; where neurons are kept and functions of them are read, of "
            "an activation without a jump of its slope. Give one of these, with a_1 < 0."
        )


def _check_beyond(maps: StackMap, point: CriticalPoint, closed: bool) -> None:
    assert point.K is not None  # beyond zero
    if not closed:
        raise SolutionError(
            f"The layer {maps.layer} keeps neurons and reads functions of them, at a kernel that "
            f"comes to K* = {float(point.K):.6g}. There noise of all depths counts alike. Give a "
            "block that reads z itself, such as h = U z; z' = xi z + b + W s(h)."
        )
    if point.stability != HALF_STABLE:
        raise SolutionError(
            f"Near K* = {float(point.K):.6g} the kernel of the layer {maps.layer} does not move at "
            "order (K - K*)^2. `criticality` says so. Give other values."
        )


def _staying(
    own: Activation,
    maps: StackMap,
    slopes: Mapping[str, tuple[sp.Expr, sp.Expr]],
    point: CriticalPoint,
    wanted: Sequence[str | Correlator],
    rates: Mapping[str, sp.Expr | None],
) -> AsymptoticSolution:
    """A kernel that stays; of layers that are no chain of steps the kernel, the NTK, and V."""
    names = [canonical_name(one if isinstance(one, str) else one.name) for one in wanted]
    left = () if is_chain(maps.layer) else tuple(x for x in names if x not in ("G", "H"))
    solved = [name for name in names if name not in left]
    system = derive_stack_system(["G", "H", *solved], maps.layer)
    given = {named(name): rates.get(name) for name in maps.rates}
    known = {symbol: rate for symbol, rate in given.items() if rate is not None}
    solution = exact_solution(
        own.name,
        SCALE_INVARIANT,
        solve_kept(maps, slopes, system, known),
        maps.values,
        point.variances,
        given,
    )
    told = [FIRST]
    V = growth_of_v(maps, slopes, solution.tensors) if "V" in left else None
    if V is not None:
        left = tuple(name for name in left if name != "V")
        told.append("V at large depth, with noise of all depths counted")
    return replace(
        solution,
        tensors=(*solution.tensors, *([] if V is None else [V])),
        assumptions=(_sentence(maps), *solution.assumptions, *told),
        unsolved=(*solution.unsolved, *((name, UNSOLVED.format(name)) for name in left)),
        layer=maps.layer,
    )


def _started(
    own: Activation,
    maps: StackMap,
    point: CriticalPoint,
    wanted: Sequence[str | Correlator],
    rates: Mapping[str, sp.Expr | None],
) -> AsymptoticSolution:
    """A kernel that starts at K* > 0, and stays there."""
    given = {named(name): rates.get(name) for name in maps.rates}
    known = {symbol: rate for symbol, rate in given.items() if rate is not None}
    solution = exact_solution(
        own.name,
        f"{HALF_STABLE}, at K*",
        solve_at_fixed_point(maps, point, _system(["G", "H", *wanted], maps, True), known),
        (("K*", point.K), *((name, _readable(x)) for name, x in maps.values)),
        point.variances,
        given,
    )
    tensors = (
        replace(
            one,
            coefficient=rounded_factors(True, sp.together(one.coefficient)),
            ratio_coefficient=rounded_factors(True, sp.together(one.ratio_coefficient)),
        )
        for one in solution.tensors
    )
    assumptions = (_sentence(maps), *solution.assumptions, FIRST)
    return replace(solution, tensors=(*tensors,), assumptions=assumptions, layer=maps.layer)


def _moving(
    own: Activation,
    maps: StackMap,
    point: CriticalPoint,
    wanted: Sequence[str | Correlator],
    rates: Mapping[str, sp.Expr | None],
    closed: bool,
) -> AsymptoticSolution:
    """A kernel that comes to K* as a power of the depth."""
    names = tuple(one.name for one in _system(["G", "H", *wanted], maps, closed))
    live, jumps = [rates.get(name) != 0 for name in maps.rates], jumps_of(maps)
    given = {named(name): rate for name, rate in rates.items() if rate}

    def expanded(system: tuple[StackRecursion, ...], orders: int) -> ExpandedSystem:
        if point.K:
            return stationary_expansion(maps, point, system, live, orders)
        if jumps:
            return kinked_expansion(maps, system, live, orders, jumps)
        return stack_expansion(maps, system, live, orders)

    def solved(some: tuple[str, ...], orders: int) -> Solved:
        return solve_expansion(expanded(_system(some, maps, closed), orders), orders)

    def whole(some: Sequence[str]) -> tuple[str, ...]:
        return tuple(one.name for one in _system(some, maps, closed))

    universality = Universality(HALF_STABLE if point.K else ZERO, own.name, False, own, kind=STEPS)
    solution = solve_in_rounds(universality, names, solved, whole, given)
    return replace(
        solution,
        values=(*solution.values, *((name, _readable(x)) for name, x in maps.values)),
        hyperparameters=(
            *((name, _readable(x)) for name, x in point.variances),
            *solution.hyperparameters,
        ),
        assumptions=(_sentence(maps), *solution.assumptions),
        layer=maps.layer,
    )


def _system(
    names: Sequence[str | Correlator], maps: StackMap, closed: bool
) -> tuple[StackRecursion, ...]:
    return derive_stack_system(names, maps.layer, truncated=not closed)


def _readable(number: sp.Expr) -> sp.Expr:
    """An exact number, or its digits if it is long."""
    return number if len(str(number)) <= LONGEST else number.evalf(DIGITS)


def _sentence(maps: StackMap) -> str:
    widths = "".join(f", n_{site} neurons of {site}" for site in maps.sites)
    draw = ", of one input with its draw of dropout" * has_dropout(maps.layer.streams)
    return f"layers {maps.layer}{widths}{draw}"
