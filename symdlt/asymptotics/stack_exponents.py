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
from symdlt.asymptotics.power_laws import Solved, solve_expansion, solve_in_rounds
from symdlt.asymptotics.skips import only_gathered
from symdlt.asymptotics.solution import AsymptoticSolution
from symdlt.asymptotics.stack_expansions import stack_expansion
from symdlt.asymptotics.stack_kept import solve_kept
from symdlt.asymptotics.stack_kinks import jumps_of, kinked_expansion
from symdlt.asymptotics.stack_skips import growth_of_v
from symdlt.definitions import Correlator, Stack, canonical_name, is_chain
from symdlt.derivation import StackRecursion, derive_stack_system
from symdlt.errors import SolutionError
from symdlt.fixed_points import criticality
from symdlt.fixed_points.critical_points import SCALE_INVARIANT, CriticalPoint
from symdlt.fixed_points.number_text import LONGEST, power_text
from symdlt.fixed_points.stack_maps import StackMap, stack_map
from symdlt.precision import NumberLike
from symdlt.symbols import named

STEPS = "steps"
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
) -> AsymptoticSolution:
    """Solve the single-input recursions of a layer of several fields at criticality.

    Args:
        own: the activation.
        wanted: tensors besides G and H.
        layer: the layer.
        values: numbers for all its symbols but learning rates and one variance of weights.
        rates: values of learning rates by their names, None for those that are left open.

    Raises:
        LayerError: if the layer is no chain of steps.
        SolutionError: if it has no critical point at K* = 0, or kernels come to it in a way that is
            not solved.
    """
    maps = stack_map(own, layer, values)
    (point,) = criticality(own, layer=layer, values=values).points
    slopes, closed = maps.straight, is_chain(layer)
    if slopes is not None and point.K is None:
        return _staying(own, maps, slopes, point, wanted, rates)
    jumps = jumps_of(maps)
    kinked = all(jump < len(KINKS) and KINKS[jump] for jump in jumps.values())
    line = closed or 1 not in jumps.values()
    if point.kernel_power != (sp.Rational(3, 2) if jumps else 2) or not kinked or not line:
        raise SolutionError(
            f"Near K* = 0 the kernel of the layer {layer} moves as "
            f"{power_text('K', point.kernel_power)}. Of layers of several fields exponents are "
            "those of a kernel that moves as K^2, or as K^(3/2) by a jump of a first or second "
            "derivative, or not at all; where neurons are kept and functions of them are read, of "
            "an activation without a jump of its slope. Give one of these, with a_1 < 0."
        )
    solution = _falling(own, maps, point, wanted, rates, closed)
    return solution if closed else only_gathered(solution)


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
    told = ["layer 1 reads the input, Theta_1 is L times its NTK"]
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


def _falling(
    own: Activation,
    maps: StackMap,
    point: CriticalPoint,
    wanted: Sequence[str | Correlator],
    rates: Mapping[str, sp.Expr | None],
    closed: bool,
) -> AsymptoticSolution:
    """A kernel that falls to zero as 1/ℓ."""
    names = tuple(one.name for one in _system(["G", "H", *wanted], maps, closed))
    live, jumps = [rates.get(name) != 0 for name in maps.rates], jumps_of(maps)
    given = {named(name): rate for name, rate in rates.items() if rate}

    def solved(some: tuple[str, ...], orders: int) -> Solved:
        system = _system(some, maps, closed)
        if jumps:
            return solve_expansion(kinked_expansion(maps, system, live, orders, jumps), orders)
        return solve_expansion(stack_expansion(maps, system, live, orders), orders)

    def whole(some: Sequence[str]) -> tuple[str, ...]:
        return tuple(one.name for one in _system(some, maps, closed))

    universality = Universality("K*=0", own.name, False, own, kind=STEPS)
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
    return f"layers {maps.layer}{widths}"
