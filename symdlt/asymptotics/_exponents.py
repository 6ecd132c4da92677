"""From an activation to the critical exponents of every tensor."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy as sp

from symdlt.asymptotics._classes import Universality, classify
from symdlt.asymptotics._equations import check_degree, derivatives_needed, expand
from symdlt.asymptotics._layer import Solution, UndeterminedError
from symdlt.asymptotics._parameters import LAMBDA_B, LAMBDA_W, Parameters, parameters
from symdlt.asymptotics._scale_invariant import scale_invariant, solve_scale_invariant
from symdlt.asymptotics._solution import Asymptote, AsymptoticSolution
from symdlt.asymptotics._solver import MANY, Schedule, critical_variance, solve
from symdlt.asymptotics._translation import Leading, Translation, leading, translation
from symdlt.errors import SolutionError
from symdlt.networks import BOOK, Correlator
from symdlt.progress import track
from symdlt.recursions import RecursionSystem, derive_system

MOST_ORDERS = 4
LAYER = sp.Symbol("l", positive=True)
DEPTH = sp.Symbol("L", positive=True)


def exponents(
    activation: Any,
    tensors: Iterable[str | Correlator] | None = None,
    *,
    lambda_b: Any = None,
    lambda_W: Any = None,
) -> AsymptoticSolution:
    r"""Solve the single-input recursions at criticality for large depth.

    Every recursion is expanded about K = 0 and solved by $X \propto \ell^{-p}$; the powers come
    from the balance of its terms. Nothing is fitted.

    Args:
        activation: a name such as "tanh", an expression in z as text or from SymPy, or a whole
            class: "K*=0, odd" or "K*=0, general".
        tensors: names of tensors; the thirteen of the book if left out.
        lambda_b: $\widetilde\lambda_b$ as a rational number, a symbol if left out.
        lambda_W: $\widetilde\lambda_W$ in the same way.

    Returns:
        Exponents, leading coefficients and dimensionless ratios (for odd activations and R, S,
        T, U those of ∞.30–∞.37). A tensor whose leading growth depends on the input, or cancels
        to the last order that is tried, stands in `unsolved` with the reason.

    Raises:
        ActivationError: if the activation cannot be read.
        SolutionError: if it is not in the K* = 0 class, or no learning rate is positive.

    >>> solution = exponents("tanh")
    >>> [str(solution[name].exponent) for name in "RSTU"]
    ['-2', '-2', '-2', '0']
    >>> solution["V"].ratio, solution["V"].ratio_power, solution["V"].ratio_coefficient
    ('V/(n K^2)', 1, 2/3)
    >>> exponents("K*=0, general", ["F"])["F"].coefficient
    (a_1*lambda_b - lambda_W*sigma_1**2)/(a_1**2*(p_perp - 5))
    """
    rates = {LAMBDA_B: _rate(lambda_b, "lambda_b"), LAMBDA_W: _rate(lambda_W, "lambda_W")}
    if all(rate == 0 for rate in rates.values()):
        raise SolutionError(
            "Both learning rates are zero, so there is no NTK and nothing to scale it by. "
            "lambda_b and lambda_W stand in the call. Leave one of them out."
        )
    wanted = tuple(BOOK) if tensors is None else tuple(tensors)
    system = derive_system(["G", "H", *wanted], inputs="one")
    straight = scale_invariant(activation)
    if straight is not None:
        return solve_scale_invariant(straight, system, rates)
    universality = classify(activation)
    given = {symbol: rate for symbol, rate in rates.items() if rate is not None and rate != 0}
    live = (rates[LAMBDA_B] != 0, rates[LAMBDA_W] != 0)
    return _solution(universality, system, live, given)


def _rate(value: Any, name: str) -> Any:
    if value is None:
        return None
    number = sp.sympify(value) if not isinstance(value, str | bytes) else None
    if number is None or not number.is_number or not number.is_nonnegative:
        raise SolutionError(
            f"{name} = {str(value)[:40]} is not a learning rate. "
            "It must be a number that is not negative. Give an int, a Fraction or a SymPy number."
        )
    return sp.Rational(str(value)) if number.is_Float else number


def _solution(
    universality: Universality,
    system: RecursionSystem,
    live: tuple[bool, bool],
    given: dict[Any, Any],
) -> AsymptoticSolution:
    """Solve with one order of 1/ℓ, and again with more what cancels at that order."""
    rounds = []
    found: dict[str, Asymptote] = {}
    refused: dict[str, str] = {}
    names = system.names
    for orders in range(1, MOST_ORDERS + 1):
        length = (
            derivatives_needed(map(system.__getitem__, names)) + 2 * powers_of_kernel(orders) + 1
        )
        vanishing = universality.vanishing(length) if orders > 1 or not universality.curved else ()
        solved = solve_class(names, universality.curved, vanishing, live, orders)
        translate = translation(
            universality, solved.parameters, solved.schedule.perpendicular, given
        )
        rounds.append((solved, translate))
        asymptotes, unsolved = _asymptotes(solved, translate, skip=found.keys() - {"G", "H"})
        found = asymptotes | found
        refused |= {
            name: str(why) for name, why in unsolved if not isinstance(why, UndeterminedError)
        }
        again = [name for name in names if name not in found and name not in refused]
        if not again:
            break
        names = derive_system(["G", "H", *again], inputs="one").names
    for name in again:
        refused[name] = (
            f"The leading behaviour of {name} cancels in the first {MOST_ORDERS} orders of 1/l. "
            f"The activation is {universality.given[:60]}. "
            "Give other learning rates, or ask for the other tensors only."
        )
    tensors = tuple(found[name] for name in system.names if name in found)
    return _collected(universality, *rounds[0], tensors, tuple(refused.items()))


def powers_of_kernel(orders: int) -> int:
    """How many powers of K to keep for so many orders of 1/ℓ; sources start with K^2 or less."""
    return orders + 2


@dataclass(frozen=True, slots=True)
class Solved:
    """A system solved in one field.

    Attributes:
        parameters: the field.
        solutions: one for each tensor that has one.
        unsolved: the others, and why.
        schedule: how the learning rates go with the layer.
        sigma_1: σ_1.
        variance: the critical C_W.
    """

    parameters: Parameters
    solutions: tuple[Solution, ...]
    unsolved: tuple[tuple[str, SolutionError], ...]
    schedule: Schedule
    sigma_1: Any
    variance: Any


@lru_cache(maxsize=32)
def solve_class(
    names: tuple[str, ...],
    curved: bool,
    vanishing: tuple[int, ...],
    live: tuple[bool, bool],
    orders: int,
) -> Solved:
    """Solve a closed system for all activations that share their vanishing σ_p.

    Args:
        names: the tensors, in dependency order.
        curved: whether σ_2 is not zero.
        vanishing: the p with σ_p = 0 besides p = 2.
        live: whether λ_b and λ_W are not zero.
        orders: how many orders of 1/ℓ to keep.
    """
    system = derive_system(names, inputs="one")
    order = powers_of_kernel(orders)
    length = derivatives_needed(system) + 2 * order + 1
    flat = () if curved else (2,)
    found = parameters(
        system["G"],
        length,
        vanishing=tuple(sorted({*vanishing, *flat})),
        rates=live,
        names=names if orders > 1 else (),
    )
    equations = [expand(recursion, found.taylor, order, found.field) for recursion in system]
    edges = {equation.name: equation.edges for equation in equations}
    for equation in equations:
        check_degree(equation, edges)
    solutions, unsolved, schedule = solve(equations, found, orders)
    sigma_1 = found.field(found.taylor[1])
    variance = critical_variance(equations[0], found)
    return Solved(found, solutions, unsolved, schedule, sigma_1, variance)


def _asymptotes(
    solved: Solved, translate: Translation, skip: Set[str]
) -> tuple[dict[str, Asymptote], tuple[tuple[str, SolutionError], ...]]:
    """The asymptotes of one round but those to skip, and the tensors that have none yet."""
    terms: dict[str, Leading] = {}
    found: dict[str, Asymptote] = {}
    unsolved = list(solved.unsolved)
    new = [solution for solution in solved.solutions if solution.equation.name not in skip]
    for solution in track(new, "reading off tensors", None if len(new) > MANY else False):
        name = solution.equation.name
        try:
            terms[name] = leading(solution, translate)
        except UndeterminedError as reason:
            unsolved.append((name, reason))
    for solution in new:
        if solution.equation.name in terms:
            found[solution.equation.name] = _asymptote(solution, terms, translate(solution.offset))
    return found, tuple(unsolved)


def _collected(
    universality: Universality,
    solved: Solved,
    translate: Translation,
    tensors: tuple[Asymptote, ...],
    unsolved: tuple[tuple[str, str], ...],
) -> AsymptoticSolution:
    p_perp = translate(solved.schedule.perpendicular)
    values = [("sigma_1", translate(solved.sigma_1)), ("a_1", translate(solved.parameters.a_1))]
    return AsymptoticSolution(
        universality.given,
        universality.name,
        tensors,
        (*values, ("p_perp", p_perp)),
        _hyperparameters(solved, translate, p_perp),
        _assumptions(p_perp, tensors),
        unsolved,
    )


def _asymptote(solution: Solution, terms: dict[str, Leading], offset: Any) -> Asymptote:
    equation = solution.equation
    own, K, ntk = terms[equation.name], terms["G"], terms["H"]
    power = equation.edges - equation.pairs
    ratio = own.coefficient * K.coefficient**power / ntk.coefficient**equation.edges
    return Asymptote(
        name=equation.name,
        edges=equation.edges,
        pairs=equation.pairs,
        order=equation.order,
        exponent=sp.expand(offset + own.power),
        log_power=own.log_power,
        coefficient=own.coefficient,
        ratio_power=equation.edges * ntk.power - power * K.power - own.power,
        ratio_coefficient=sp.factor(ratio),
    )


def _hyperparameters(
    solved: Solved, translate: Translation, p_perp: Any
) -> tuple[tuple[str, Any], ...]:
    schedule = solved.schedule
    rates = []
    for name, rate, power in (
        ("lambda_b(l)", solved.parameters.lambda_b, schedule.lambda_b),
        ("lambda_W(l)", solved.parameters.lambda_W, schedule.lambda_W),
    ):
        scale = LAYER ** (1 - p_perp - power) * DEPTH ** (p_perp - 1)
        rates.append((name, translate(rate) * sp.powsimp(scale)))
    return (("C_b", sp.Integer(0)), ("C_W", translate(solved.variance)), *rates)


def _assumptions(p_perp: Any, tensors: tuple[Asymptote, ...]) -> tuple[str, ...]:
    found = ["one input, hidden layers of one width n, X ~ l^-p at large depth l"]
    if p_perp != 1:
        found.append("coefficients of a tensor with e edges carry a factor L^(e (p_perp - 1))")
    if p_perp.free_symbols:
        found.append("sigma_2 is not zero, so p_perp < 1")
    constants = sorted(
        {str(s) for a in tensors for s in a.coefficient.free_symbols if str(s).startswith("c_")}
    )
    if constants:
        found.append(f"{', '.join(constants)}: constants that depend on the input")
    return tuple(found)
