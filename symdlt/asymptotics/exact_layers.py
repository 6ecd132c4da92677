r"""Recursions solved exactly where the kernel stays: polynomials in the depth.

At a critical point both susceptibilities are 1. If the kernel does not move either, a tensor
changes from layer to layer by its sources alone, which are polynomials in the depth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import TypeVar

import sympy as sp

from symdlt.asymptotics.asymptotes import Asymptote
from symdlt.asymptotics.equations import Polynomial, check_dense, counts_of
from symdlt.asymptotics.parameters import DEPTH, LAYER
from symdlt.asymptotics.series import FieldElement
from symdlt.asymptotics.solution import AsymptoticSolution
from symdlt.asymptotics.solver import MANY
from symdlt.derivation import Bracket, Recursion, RecursionTerm, StackRecursion
from symdlt.errors import DerivationError, SolutionError
from symdlt.fixed_points.products import polynomial_product
from symdlt.progress import track

# Shown of inexact numbers, of 64 that are worked with.
DIGITS = 30
# A convention: ratios of coefficients that agree so far are one ratio.
ROUNDING = 1e-12

R = TypeVar("R", bound=Recursion | StackRecursion)


@dataclass(frozen=True, slots=True)
class ExactEquation:
    """A recursion where the kernel stays, at equal widths of z.

    Attributes:
        name: the tensor.
        edges: the number e of its edges.
        pairs: the number m of its matched pairs.
        order: the power of 1/n that multiplies it.
        sources: numbers, each with the names of the tensors that it multiplies.
        first: the tensor at layer 1.
    """

    name: str
    edges: int
    pairs: int
    order: int
    sources: tuple[tuple[FieldElement, tuple[str, ...]], ...]
    first: FieldElement


@dataclass(frozen=True, slots=True)
class ConstantKernel:
    """Numbers of a network whose kernel is the same at every layer, as elements of one field.

    Attributes:
        kernel: K.
        hyperparameters: C_b, C_W, λ_b, λ_W; the latter without their factor 1/L.
        mean: the brackets at K.
    """

    kernel: FieldElement
    hyperparameters: tuple[FieldElement, FieldElement, FieldElement, FieldElement]
    mean: Callable[[Bracket], FieldElement]
    known: dict[object, FieldElement] = field(default_factory=dict, repr=False, compare=False)

    def rational(self, number: Fraction) -> FieldElement:
        """A fraction as an element of the field, which takes long to make, as all below do.

        It is made of one: adding to zero, SymPy gives the number itself, of which Python then
        makes a float.
        """
        return self._known(number, lambda: self.kernel**0 * number.numerator / number.denominator)

    def power(self, place: int, power: int) -> FieldElement:
        """A power of a hyperparameter."""
        return self._known((place, power), lambda: self.hyperparameters[place] ** power)

    def mean_of(self, bracket: Bracket) -> FieldElement:
        """A bracket at K."""
        return self._known(bracket, lambda: self.mean(bracket))

    def _known(self, key: object, made: Callable[[], FieldElement]) -> FieldElement:
        if key not in self.known:
            self.known[key] = made()
        return self.known[key]


def solve_exactly(
    recursions: tuple[R, ...],
    equation_of: Callable[[R], ExactEquation],
    values: Mapping[sp.Symbol, sp.Expr],
    *,
    inexact: bool = False,
) -> tuple[tuple[Asymptote, ...], tuple[tuple[str, str], ...]]:
    """The tensors of a closed system at every layer, and those that are infinite.

    Args:
        recursions: for one input, G and H first.
        equation_of: makes numbers of one, and refuses one that is infinite.
        values: what to insert for symbols of the field.
        inexact: whether the numbers are known to some digits only.
    """
    known: dict[str, Polynomial] = {}
    finite: list[ExactEquation] = []
    refused: dict[str, str] = {}
    shown = None if len(recursions) > MANY else False
    for recursion in track(recursions, "solving tensors", shown):
        try:
            equation = equation_of(recursion)
            known[recursion.name] = _solved(equation, known)
        except SolutionError as reason:
            refused[recursion.name] = f"{recursion.name} is not finite. {reason}"
        else:
            finite.append(equation)
    exact = {name: _in_depth(p, values, inexact) for name, p in known.items()}
    return tuple(_asymptote(one, exact, inexact) for one in finite), tuple(refused.items())


def dense_equation(recursion: Recursion, numbers: ConstantKernel) -> ExactEquation:
    """A recursion of dense layers in numbers.

    Args:
        recursion: for one input.
        numbers: those of the network.

    Raises:
        SolutionError: if it is of other layers, or infinite.
    """
    check_dense(recursion)
    return ExactEquation(
        *counts_of(recursion),
        tuple(
            (_number(term, numbers), tuple(one.name for one in term.tensors))
            for term in recursion.terms
        ),
        sum((_first(term, numbers) for term in recursion.first_layer), 0 * numbers.kernel),
    )


def exact_solution(
    given: str,
    universality: str,
    solved: tuple[tuple[Asymptote, ...], tuple[tuple[str, str], ...]],
    values: tuple[tuple[str, sp.Expr], ...],
    variances: tuple[tuple[str, sp.Expr], ...],
    rates: Mapping[sp.Symbol, sp.Expr | None],
) -> AsymptoticSolution:
    """The solution with learning rates that are alike at all layers (PDLT ∞.45)."""
    tensors, refused = solved
    return AsymptoticSolution(
        given,
        universality,
        tensors,
        (*values, ("p_perp", sp.Integer(0))),
        (
            *variances,
            *((f"{s.name}(l)", (s if v is None else v) / DEPTH) for s, v in rates.items()),
        ),
        (
            "one input, hidden layers of one width n, K the same at every layer",
            "exact at every layer; a tensor with e edges carries a factor L^(-e)",
        ),
        refused,
    )


def _solved(equation: ExactEquation, known: dict[str, Polynomial]) -> Polynomial:
    """A tensor as a polynomial in ℓ - 1: its value at layer 1, and the sum of its sources."""
    own = 0 * equation.first
    source: Polynomial = ()
    for number, names in equation.sources:
        if equation.name in names and equation.name != "G":
            own += number
            continue
        for name in names:
            if name not in known and number != 0:
                raise SolutionError(
                    f"Its recursion contains {name}, which has no solution. Ask for other tensors."
                )
        if number != 0:
            factors = (known[name] for name in names)
            source = _added(source, reduce(polynomial_product, factors, (number,)))
    if equation.name == "G":
        if source != (equation.first,):
            raise DerivationError(
                "The kernel does not stay where it is said to. It follows from the recursion of G. "
                "This is a fault of symdlt; please report it."
            )
        return source
    if own != 1:
        raise DerivationError(
            f"{equation.name} is multiplied by {own} from layer to layer, not by 1. "
            "The network is critical. This is a fault of symdlt; please report it."
        )
    return _added((equation.first,), _summed(source))


def _number(term: RecursionTerm, numbers: ConstantKernel) -> FieldElement:
    """A term without its tensors, at equal widths."""
    number = numbers.rational(term.coefficient)
    for place, power in enumerate(term.hyperparameters.powers):
        number = number * numbers.power(place, power) if power else number
    for bracket in term.brackets:
        number = number * numbers.mean_of(bracket)
    return number


def _first(term: RecursionTerm, numbers: ConstantKernel) -> FieldElement:
    """A term of the first layer, where the overlap of the input is (K - C_b)/C_W."""
    number = _number(term, numbers)
    bias, variance, *_ = numbers.hyperparameters
    return number * (numbers.kernel - bias) / variance if term.overlap else number


def _added(first: Polynomial, second: Polynomial) -> Polynomial:
    longer, shorter = sorted((first, second), key=len, reverse=True)
    return tuple(a + b for a, b in zip(longer, shorter, strict=False)) + longer[len(shorter) :]


def _summed(source: Polynomial) -> Polynomial:
    r"""The polynomial $\sum_{y=0}^{x-1} s(y)$ in x, by falling factorials."""
    total: Polynomial = ()
    rest, falling = list(source), 0
    product: Polynomial = ()
    while rest:
        quotient = [rest[-1]]
        for coefficient in reversed(rest[:-1]):
            quotient.append(coefficient + falling * quotient[-1])
        constant, *kept = reversed(quotient)
        one = 0 * constant + 1
        product = polynomial_product(product, (-falling * one, one)) if product else (0 * one, one)
        total = _added(total, tuple(constant * c / (falling + 1) for c in product))
        rest, falling = kept, falling + 1
    return total


def _in_depth(
    polynomial: Polynomial, values: Mapping[sp.Symbol, sp.Expr], inexact: bool
) -> sp.Expr:
    """A polynomial in ℓ - 1 as an expression in ℓ."""
    total = sum(
        (
            coefficient.as_expr().subs(values) * (LAYER - 1) ** power
            for power, coefficient in enumerate(polynomial)
        ),
        sp.Integer(0),
    )
    return sp.expand(total).evalf(DIGITS) if inexact else sp.factor(total)


def _asymptote(equation: ExactEquation, exact: dict[str, sp.Expr], inexact: bool) -> Asymptote:
    edges, pairs = equation.edges, equation.pairs
    (power, coefficient), (ntk_power, ntk) = (
        _leading(exact[name]) for name in (equation.name, "H")
    )
    ratio = coefficient * exact["G"] ** (edges - pairs) / ntk**edges
    number = _multiple(coefficient, ntk**edges) if inexact else None
    if number is not None:
        ratio = number * exact["G"] ** (edges - pairs)
        lead = sp.Poly(ntk).LC() if ntk.free_symbols else ntk
        coefficient = number * lead**edges * sp.expand(ntk / lead) ** edges
    return Asymptote(
        name=equation.name,
        edges=edges,
        pairs=pairs,
        order=equation.order,
        exponent=-power,
        log_power=0,
        coefficient=coefficient,
        ratio_power=power - edges * ntk_power,
        ratio_coefficient=ratio.evalf(DIGITS) if inexact else sp.factor(ratio),
        exact=exact[equation.name],
    )


def _multiple(value: sp.Expr, unit: sp.Expr) -> sp.Expr | None:
    """The number of units that a polynomial with rounded coefficients is, if it is one."""
    symbols = sorted(unit.free_symbols, key=str)
    if not symbols or value == 0:
        return None
    own, one = (dict(sp.Poly(sp.expand(x), *symbols).terms()) for x in (value, unit))
    if own.keys() != one.keys():
        return None
    first, *others = (own[powers] / one[powers] for powers in one)
    same = all(_largest(other - first) < ROUNDING * _largest(first) for other in others)
    return first if same else None


def _largest(value: sp.Expr) -> sp.Expr:
    """The largest coefficient of a polynomial in widths and their inverses, or a number itself."""
    return max(map(abs, sp.expand(value).as_coefficients_dict().values()), default=sp.Integer(0))


def _leading(exact: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """The highest power of ℓ and its coefficient; minus infinity for zero."""
    if exact == 0:
        return -sp.oo, sp.Integer(0)
    polynomial = sp.Poly(sp.expand(exact), LAYER)
    leading = polynomial.LC()
    return sp.Integer(polynomial.degree()), leading if exact.has(sp.Float) else sp.factor(leading)
