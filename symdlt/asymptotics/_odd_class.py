"""Critical exponents of odd activations with K* = 0, from their recursions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from symdlt.asymptotics._equations import derivatives_needed, expand
from symdlt.asymptotics._layer import Solution, UndeterminedError
from symdlt.asymptotics._parameters import A_1, SIGMA_1, parameters, quadratic
from symdlt.asymptotics._solver import MOST_ORDERS, Schedule, critical_variance, solve
from symdlt.errors import SolutionError
from symdlt.networks import BOOK
from symdlt.networks._activations import activation
from symdlt.recursions import RecursionSystem, derive_system

SCHEMA = "symdlt.asymptotics/1"
GENERIC = "K*=0, odd"


@dataclass(frozen=True, slots=True)
class Asymptote:
    r"""A tensor at large depth, $X \to coefficient\;\ell^{-exponent}$.

    Attributes:
        name: the tensor.
        exponent: p of $\ell^{-p}$.
        coefficient: what multiplies the power.
        width_power: m − 1, the power of 1/n that multiplies the tensor of 2m axes.
        ratio_power: the power of ℓ in $X K^{e-m}/(n^{m-1}\Theta^e)$, with e edges.
        ratio_coefficient: what multiplies that power over n^{m-1}.
    """

    name: str
    exponent: Any
    coefficient: Any
    width_power: int
    ratio_power: Any
    ratio_coefficient: Any


@dataclass(frozen=True, slots=True)
class AsymptoticSolution:
    """The asymptotes of a closed system of tensors.

    Attributes:
        activation: what was solved for, an activation or a whole class.
        universality: the class that it belongs to.
        assumptions: hyperparameters, and what else holds.
        tensors: one asymptote for each tensor, the kernel first.
    """

    activation: str
    universality: str
    assumptions: tuple[str, ...]
    tensors: tuple[Asymptote, ...]

    def __getitem__(self, name: str) -> Asymptote:
        """The asymptote of the tensor with that name.

        Raises:
            KeyError: if the system has none.
        """
        for asymptote in self.tensors:
            if asymptote.name == name:
                return asymptote
        raise KeyError(name)

    def __repr__(self) -> str:
        return f"AsymptoticSolution({self.activation[:60]}, {len(self.tensors)} tensors)"

    def __str__(self) -> str:
        return self.table()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def table(self) -> str:
        """A text table: exponent p of l^-p, coefficient, and dimensionless ratio."""
        rows = [("", "p", "coefficient", "ratio")]
        for x in self.tensors:
            unit = _unit(x.ratio_power, x.width_power)
            ratio = f"({sp.sstr(x.ratio_coefficient)}) {unit}".rstrip()
            rows.append((x.name, str(x.exponent), sp.sstr(x.coefficient), ratio))
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        head = f"{self.activation}: class {self.universality}; {'; '.join(self.assumptions)}"
        note = "X = coefficient * l^-p; ratio: X K^(e-m) / (n^(m-1) Theta^e), e edges, 2m axes"
        return "\n".join((head, note, *lines))

    def latex(self) -> str:
        """An aligned block, one line for each tensor."""
        lines = []
        for x in self.tensors:
            value = sp.latex(x.coefficient * sp.Symbol(r"\ell") ** -x.exponent)
            lines.append(rf"{x.name} &\to {value}")
        body = " \\\\\n".join(lines)
        return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as strings and dictionaries, ready for JSON."""
        return {
            "schema": SCHEMA,
            "activation": self.activation,
            "class": self.universality,
            "assumptions": list(self.assumptions),
            "tensors": {
                x.name: {
                    "exponent": str(x.exponent),
                    "coefficient": sp.sstr(x.coefficient),
                    "ratio": {
                        "power_of_l": str(x.ratio_power),
                        "power_of_n": str(-x.width_power),
                        "coefficient": sp.sstr(x.ratio_coefficient),
                    },
                }
                for x in self.tensors
            },
        }


def exponents(what: Any, system: RecursionSystem | None = None) -> AsymptoticSolution:
    r"""Critical exponents, leading coefficients and ratios for an odd activation.

    The brackets are expanded about K = 0, $C_W$ follows from a kernel that keeps its size, the
    learning rates from the equivalence principle (PDLT ∞.29), the powers from the balance.

    Args:
        what: "tanh", "sin(z)", a SymPy expression, or the class "K*=0, odd".
        system: closed single-input recursions; those of the thirteen tensors if left out.

    Raises:
        ActivationError: if the activation cannot be read.
        SolutionError: if it is outside the class; the condition that fails is named.

    >>> solution = exponents("tanh")
    >>> solution["U"].exponent, solution["V"].ratio_coefficient
    (0, 2/3)
    """
    recursions = derive_system(BOOK, inputs="one") if system is None else system
    solved = _solved(recursions, what)
    kernel, ntk = (_leading(solved.solutions[k])[1].subs(solved.numbers) for k in (0, 1))
    name = what if isinstance(what, str) else str(activation(what))
    tensors = tuple(_asymptote(s, kernel, ntk, solved.numbers) for s in solved.solutions)
    return AsymptoticSolution(name, GENERIC, solved.assumptions, tensors)


@dataclass(frozen=True, slots=True)
class _Solved:
    """Solutions for the generic class, and what its symbols are for the activation."""

    solutions: tuple[Solution, ...]
    schedule: Schedule
    variance: Any
    numbers: dict[Any, Any]

    @property
    def assumptions(self) -> tuple[str, ...]:
        rates = (("lambda_b", self.schedule.lambda_b), ("lambda_W", self.schedule.lambda_W))
        return (
            "one input, equal widths n",
            f"C_b = 0, C_W = {sp.sstr(self.variance.subs(self.numbers))}",
            ", ".join(f"{name} -> {name}{_over_depth(power)}" for name, power in rates),
        )


def _over_depth(power: int) -> str:
    return "" if power == 0 else "/l" if power == 1 else f"*l^({-power})"


def _solved(recursions: RecursionSystem, what: Any) -> _Solved:
    missing = ""
    for orders in range(1, MOST_ORDERS + 1):
        kept = orders + 2
        length = derivatives_needed(recursions) + 2 * kept + 1
        numbers = {} if what == GENERIC else odd_coefficients(recursions, what, length)
        field = parameters(
            recursions["G"], length, vanishing=range(2, length, 2), names=recursions.names
        )
        equations = [expand(r, field.taylor, kept, field.field) for r in recursions]
        try:
            solutions, schedule = solve(equations, field, orders)
        except UndeterminedError as reason:
            missing = str(reason)
            continue
        variance = critical_variance(equations[0], field).as_expr()
        return _Solved(solutions, schedule, variance, numbers)
    raise SolutionError(
        f"The leading term of {missing} cancels at {MOST_ORDERS} orders of 1/l. "
        "It may vanish identically. Leave the tensor out."
    )


def odd_coefficients(recursions: RecursionSystem, what: Any, length: int) -> dict[Any, Any]:
    """σ_1 and a_1 of an activation, after checking that it belongs to the class.

    Raises:
        SolutionError: naming the condition that fails.
    """
    function = activation(what)
    taylor = function.taylor(max(length, 7))
    even = next((p for p in range(0, length, 2) if sp.simplify(taylor[p]) != 0), None)
    shown = repr(function)
    if even == 0:
        raise SolutionError(
            f"sigma(0) is {taylor[0]}, not zero, so that K = 0 is no fixed point. "
            f"This is {shown}. Subtract the value at zero."
        )
    if sp.simplify(taylor[1]) == 0:
        raise SolutionError(
            f"sigma'(0) is zero, so that no C_W keeps a small kernel's size. This is {shown}. "
            "Give an activation with a slope at zero."
        )
    if even:
        raise SolutionError(
            f"The activation is not odd: its derivative {even} at zero is {taylor[even]}. "
            f"This is {shown}. Give an odd activation such as tanh, sin or erf."
        )
    growth = sp.simplify(quadratic(recursions["G"], taylor[:8]))
    if growth == 0:
        raise SolutionError(
            f"a_1 is zero: the kernel does not decay at order K^2. This is {shown}. "
            "Give an activation with a negative third derivative over its slope."
        )
    if not growth.is_negative:
        raise SolutionError(
            f"a_1 is {growth}, not negative, so that K = 0 is unstable and K grows with depth. "
            f"This is {shown}. Give an activation with a negative third derivative over its slope."
        )
    return {SIGMA_1: taylor[1], A_1: growth}


def _leading(solution: Solution) -> tuple[Any, Any]:
    power, logs = solution.series.terms[0]
    if len(logs) > 1:
        raise SolutionError(
            f"The leading term of {solution.equation.name} has a logarithm of l. "
            f"It goes as l^-({power}) log(l)^{len(logs) - 1}. Leave the tensor out."
        )
    offset = solution.offset.as_expr() if hasattr(solution.offset, "as_expr") else solution.offset
    return power + sp.sympify(offset), sp.factor(logs[0].as_expr())


def _asymptote(solution: Solution, kernel: Any, ntk: Any, numbers: dict[Any, Any]) -> Asymptote:
    exponent, generic = _leading(solution)
    coefficient = sp.factor(generic.subs(numbers))
    equation = solution.equation
    fewer = equation.edges - equation.pairs
    ratio = sp.factor(coefficient * kernel**fewer / ntk**equation.edges)
    order = equation.pairs - 1
    return Asymptote(equation.name, exponent, coefficient, order, -exponent - fewer, ratio)


def _unit(power: Any, order: int) -> str:
    above = "" if power == 0 else "l" if power == 1 else f"l^{power}"
    below = "" if order == 0 else "n" if order == 1 else f"n^{order}"
    return f"{above or 1}/{below}" if below else above
