"""From an activation to the critical exponents of every tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache, partial

import sympy as sp

from symdlt.activations.activation import ActivationLike
from symdlt.asymptotics.asymptotes import Asymptote
from symdlt.asymptotics.at_fixed_kernels import solve_at_fixed_kernel
from symdlt.asymptotics.classes import MARGINAL, PLAIN, Universality, classify
from symdlt.asymptotics.equations import check_degree, derivatives_needed
from symdlt.asymptotics.expansion_points import with_critical_point
from symdlt.asymptotics.expansions import (
    ExpandedSystem,
    named_expansion,
    powers_of_kernel,
    smooth_expansion,
)
from symdlt.asymptotics.layer_series import Solution, UndeterminedError
from symdlt.asymptotics.parameters import DEPTH, LAYER, Parameters
from symdlt.asymptotics.scale_invariant import scale_invariant, solve_scale_invariant
from symdlt.asymptotics.series import FieldElement
from symdlt.asymptotics.solution import AsymptoticSolution
from symdlt.asymptotics.solver import MANY, Schedule, critical_point, solve
from symdlt.asymptotics.translation import Leading, Translation, leading, translation
from symdlt.definitions import Correlator
from symdlt.derivation import derive_system
from symdlt.errors import SolutionError
from symdlt.progress import track
from symdlt.symbols import lambda_b as LAMBDA_B
from symdlt.symbols import lambda_W as LAMBDA_W

# Of 1/l, a convention: what cancels to so many is told; the work grows fast with each.
MOST_ORDERS = 4
# Shown of inexact numbers, of 64 that are worked with.
DIGITS = 30
INFINITE = (
    "The right-hand side of the recursion of {} is infinite, since it contains squares of delta "
    "functions. The slope of the activation jumps. Ask for other tensors, or give a smoother "
    "activation."
)


def dense_exponents(
    activation: ActivationLike,
    wanted: Sequence[str | Correlator],
    rates: Mapping[sp.Symbol, sp.Expr | None],
    *,
    at_fixed_point: bool = False,
) -> AsymptoticSolution:
    """Solve the single-input recursions of dense layers at criticality for large depth.

    Args:
        activation: a name, an expression in z, or a whole class.
        wanted: tensors besides G and H.
        rates: values of the symbols of learning rates, None for those that are left open.
        at_fixed_point: whether the kernel starts at K* > 0.

    Raises:
        ActivationError: if the activation cannot be read.
        SolutionError: if it has no critical point.
    """
    straight = scale_invariant(activation)
    if straight is not None:
        system = derive_system(["G", "H", *wanted], inputs="one")
        return solve_scale_invariant(straight, system, dict(rates))
    universality = with_critical_point(classify(activation))
    system = derive_system(["G", "H", *wanted], inputs="one")
    if at_fixed_point:
        return solve_at_fixed_kernel(universality, system, dict(rates))
    given = {symbol: rate for symbol, rate in rates.items() if rate is not None and rate != 0}
    live = (rates[LAMBDA_B] != 0, rates[LAMBDA_W] != 0)

    def solved(names: tuple[str, ...], orders: int) -> Solved:
        return _solved(universality, names, live, orders)

    def closed(names: Sequence[str]) -> tuple[str, ...]:
        return derive_system(names, inputs="one").names

    return solve_in_rounds(universality, system.names, solved, closed, given)


def solve_in_rounds(
    universality: Universality,
    all_names: tuple[str, ...],
    solve_at: Callable[[tuple[str, ...], int], Solved],
    closed: Callable[[Sequence[str]], tuple[str, ...]],
    given: Mapping[sp.Symbol, sp.Expr],
) -> AsymptoticSolution:
    """Solve with one order of the depth, and again with more what cancels at that order.

    Args:
        universality: the class, with the activation.
        all_names: the tensors of a closed system.
        solve_at: solves for some of them, to so many orders of the depth.
        closed: the names of a closed system with some tensors in it.
        given: values of learning rates.
    """
    rounds = []
    solved_asymptotes: dict[str, Asymptote] = {}
    refused: dict[str, str] = {}
    names = all_names
    again = list(names)
    for orders in range(1, MOST_ORDERS * universality.rate + 1):
        try:
            solved = solve_at(names, orders)
        except UndeterminedError:
            continue
        translate = translation(
            universality, solved.parameters, solved.schedule.perpendicular, given
        )
        rounds.append((solved, translate))
        asymptotes, unsolved = _asymptotes(
            solved, translate, skip=solved_asymptotes.keys() - {"G", "H"}
        )
        solved_asymptotes = asymptotes | solved_asymptotes
        refused |= {
            name: str(why) for name, why in unsolved if not isinstance(why, UndeterminedError)
        }
        again = [name for name in names if name not in solved_asymptotes and name not in refused]
        if not again:
            break
        names = closed(["G", "H", *again])
    if not rounds:
        raise SolutionError(
            f"The kernel of {universality.given[:60]!r} or its NTK does not change in the first "
            f"{MOST_ORDERS} orders of the depth. The expansion about the critical point says so. "
            "Give an activation that is less flat."
        )
    for name in again:
        refused[name] = (
            f"The leading behaviour of {name} cancels in the first {MOST_ORDERS} orders of 1/l. "
            f"The activation is {universality.given[:60]}. "
            "Give other learning rates, or ask for the other tensors only."
        )
    tensors = tuple(solved_asymptotes[name] for name in all_names if name in solved_asymptotes)
    return _collected(universality, *rounds[0], tensors, tuple(refused.items()))


@dataclass(frozen=True, slots=True)
class Solved:
    """A system solved in one field.

    Attributes:
        parameters: the field.
        solutions: one for each tensor that has one.
        unsolved: the others, and why.
        schedule: how the learning rates go with the layer.
        variable: the variable in which the brackets are expanded.
        point: the critical C_b and C_W, or nothing if they are not what was solved for.
        rates: the names of the learning rates.
    """

    parameters: Parameters
    solutions: tuple[Solution, ...]
    unsolved: tuple[tuple[str, SolutionError], ...]
    schedule: Schedule
    variable: Solution
    point: tuple[FieldElement, ...]
    rates: tuple[str, ...] = ("lambda_b", "lambda_W")


def _solved(
    universality: Universality, names: tuple[str, ...], live: tuple[bool, bool], orders: int
) -> Solved:
    if universality.kind not in (PLAIN, MARGINAL):
        return solve_named(universality, names, live, orders)
    rate = universality.rate
    needed = derivatives_needed(derive_system(names, inputs="one"))
    length = needed + 2 * powers_of_kernel(orders, rate) + 1
    vanishing = universality.vanishing(length) if orders > 1 or not universality.curved else ()
    return solve_class(names, universality.curved, vanishing, live, orders, rate)


@lru_cache(maxsize=32)
def solve_class(
    names: tuple[str, ...],
    curved: bool,
    vanishing: tuple[int, ...],
    live: tuple[bool, bool],
    orders: int,
    rate: int = 1,
) -> Solved:
    """Solve a closed system for all smooth activations that share their vanishing σ_p.

    Args:
        names: the tensors, in dependency order.
        curved: whether σ_2 is not zero.
        vanishing: the p with σ_p = 0 besides p = 2.
        live: whether λ_b and λ_W are not zero.
        orders: how many orders of the depth to keep.
        rate: r, if the kernel moves at order $K^{1+r}$.
    """
    flat = () if curved else (2,)
    zeros = tuple(sorted({*vanishing, *flat}))
    system = derive_system(names, inputs="one")
    return solve_expansion(smooth_expansion(system, zeros, live, orders, rate), orders)


@lru_cache(maxsize=32)
def solve_named(
    universality: Universality, names: tuple[str, ...], live: tuple[bool, bool], orders: int
) -> Solved:
    """Solve a closed system for one activation that is not in the plain K* = 0 class.

    Args:
        universality: the class, with its critical point.
        names: the tensors, in dependency order.
        live: whether λ_b and λ_W are not zero.
        orders: how many orders of the depth to keep.
    """
    system = derive_system(names, inputs="one")
    return solve_expansion(named_expansion(universality, system, live, orders), orders)


def solve_expansion(expanded: ExpandedSystem, orders: int) -> Solved:
    """Solve recursions that have been expanded about a critical point.

    Args:
        expanded: the recursions.
        orders: how many orders of the depth to keep.
    """
    constants, equations = expanded.parameters, expanded.finite
    edges = {equation.name: equation.edges for equation in equations}
    for equation in equations:
        check_degree(equation, edges, constants.variances)
    solutions, unsolved, schedule, variable = solve(equations, constants, orders)
    point = critical_point(equations[0], constants)
    endless = tuple((name, SolutionError(INFINITE.format(name))) for name in expanded.infinite)
    unsolved = (*unsolved, *endless)
    return Solved(constants, solutions, unsolved, schedule, variable, point, expanded.rates)


def _asymptotes(
    solved: Solved, translate: Translation, skip: Set[str]
) -> tuple[dict[str, Asymptote], tuple[tuple[str, SolutionError], ...]]:
    """The asymptotes of one round but those to skip, and the tensors that have none yet."""
    terms: dict[str, Leading] = {}
    asymptotes: dict[str, Asymptote] = {}
    unsolved = list(solved.unsolved)
    new = [solution for solution in solved.solutions if solution.equation.name not in skip]
    for solution in track(new, "reading off tensors", None if len(new) > MANY else False):
        name = solution.equation.name
        try:
            terms[name] = leading(solution, translate)
        except UndeterminedError as reason:
            unsolved.append((name, reason))
    rounded = partial(rounded_factors, solved.parameters.inexact)
    for solution in new:
        if solution.equation.name in terms:
            asymptotes[solution.equation.name] = _asymptote(solution, terms, translate, rounded)
    return asymptotes, tuple(unsolved)


def _collected(
    universality: Universality,
    solved: Solved,
    translate: Translation,
    tensors: tuple[Asymptote, ...],
    unsolved: tuple[tuple[str, str], ...],
) -> AsymptoticSolution:
    rounded = partial(rounded_factors, solved.parameters.inexact)
    p_perp = rounded(translate(solved.schedule.perpendicular))
    return AsymptoticSolution(
        universality.given,
        universality.name,
        tensors,
        (*_values(solved, translate, rounded), ("p_perp", p_perp)),
        _hyperparameters(solved, translate, rounded),
        _assumptions(p_perp, tensors),
        unsolved,
    )


def rounded_factors(inexact: bool, expression: sp.Expr) -> sp.Expr:
    """The expression, or in floating point if its numbers are not exact or too long to be read.

    Each factor then has 1 before its first term.
    """
    if not inexact or expression.is_Integer:
        return expression
    number, product = sp.Integer(1), sp.Integer(1)
    for factor, count in expression.as_powers_dict().items():
        symbols = sorted(factor.free_symbols, key=str)
        if not symbols:
            number *= factor**count
            continue
        (powers, lead), *others = sp.Poly(factor, *symbols).terms()
        number *= lead**count
        total = sp.prod(map(sp.Pow, symbols, powers))
        for powers, value in others:
            total += (value / lead).evalf(DIGITS) * sp.prod(map(sp.Pow, symbols, powers))
        product *= total**count
    return number.evalf(DIGITS) * product


def _values(
    solved: Solved, translate: Translation, rounded: Callable[[sp.Expr], sp.Expr]
) -> tuple[tuple[str, sp.Expr], ...]:
    """What describes the activation: its slope or K*, and how the kernel moves."""
    constants = solved.parameters
    approach = constants.denominator * solved.variable.series.at(1)[0] ** constants.denominator
    a_1 = ("a_1", rounded(translate(constants.field(-constants.root) / approach)))
    if constants.star != 0:
        step = translate(solved.variable.series.at(1)[0])
        return ("K*", rounded(translate(constants.star))), a_1, ("l (K - K*)", rounded(step))
    slope = (
        [("sigma_1", translate(constants.field(constants.taylor[1])))] if constants.taylor else []
    )
    power = 1 + sp.Rational(constants.denominator, constants.root)
    return (*slope, a_1, *([("kernel_power", power)] if power != 2 else []))


def _asymptote(
    solution: Solution,
    terms: dict[str, Leading],
    translate: Translation,
    rounded: Callable[[sp.Expr], sp.Expr],
) -> Asymptote:
    parameters, offset = translate.parameters, translate(solution.offset)
    equation = solution.equation
    own, K, ntk = terms[equation.name], terms["G"], terms["H"]
    power = equation.edges - equation.pairs
    if parameters.inexact:
        exact = parameters.field.to_field()
        above, kernel, below = (exact(x.element) for x in (own, K, ntk))
        ratio = translate(above * kernel**power / below**equation.edges)
    else:
        values = own.coefficient * K.coefficient**power / ntk.coefficient**equation.edges
        ratio = sp.factor(values)
    return Asymptote(
        name=equation.name,
        edges=equation.edges,
        pairs=equation.pairs,
        order=equation.order,
        exponent=rounded(sp.expand(offset + own.power)),
        log_power=own.log_power,
        coefficient=rounded(own.coefficient),
        ratio_power=equation.edges * ntk.power - power * K.power - own.power,
        ratio_coefficient=rounded(ratio),
    )


def _hyperparameters(
    solved: Solved, translate: Translation, rounded: Callable[[sp.Expr], sp.Expr]
) -> tuple[tuple[str, sp.Expr], ...]:
    schedule = solved.schedule
    p_perp = translate(schedule.perpendicular)
    rates = []
    for name, rate, power in zip(
        solved.rates, solved.parameters.rates, schedule.rates, strict=True
    ):
        scale = LAYER ** rounded(1 - p_perp - power) * DEPTH ** rounded(p_perp - 1)
        rates.append((f"{name}(l)", translate(rate) * sp.powsimp(scale)))
    point = (rounded(translate(number)) for number in solved.point)
    return (*zip(("C_b", "C_W"), point, strict=False), *rates)


def _assumptions(p_perp: sp.Expr, tensors: tuple[Asymptote, ...]) -> tuple[str, ...]:
    sentences = ["one input, hidden layers of one width n, X ~ l^-p at large depth l"]
    if p_perp != 1:
        sentences.append("coefficients of a tensor with e edges carry a factor L^(e (p_perp - 1))")
    if p_perp.free_symbols:
        sentences.append("sigma_2 is not zero, so p_perp < 1")
    constants = sorted(
        {str(s) for a in tensors for s in a.coefficient.free_symbols if str(s).startswith("c_")}
    )
    if constants:
        sentences.append(f"{', '.join(constants)}: constants that depend on the input")
    return tuple(sentences)
