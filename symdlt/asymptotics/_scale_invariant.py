r"""The scale-invariant class: every recursion is solved exactly, by a polynomial in the depth.

An activation with one slope on each side of zero has every K as a fixed point at $C_b = 0$,
$C_W = 2/(a_+^2 + a_-^2)$. Both susceptibilities are then 1 at every layer, so that a tensor changes
from layer to layer by its sources alone, which are polynomials in the depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import sympy as sp
from sympy.polys.fields import field

from symdlt.asymptotics._equations import double_factorial
from symdlt.asymptotics._parameters import LAMBDA_B, LAMBDA_W
from symdlt.asymptotics._smooth_pieces import smooth_pieces, straight_slopes
from symdlt.asymptotics._solution import Asymptote, AsymptoticSolution
from symdlt.errors import DerivationError, SolutionError
from symdlt.networks import activation
from symdlt.progress import track
from symdlt.recursions import Bracket, Recursion, RecursionSystem, Term, piece_name, to_z_form
from symdlt.recursions._printing import bracket_text

SCALE_INVARIANT = "scale-invariant"
LAYER, DEPTH = sp.Symbol("l", positive=True), sp.Symbol("L", positive=True)
KERNEL = sp.Symbol("K", positive=True)
SLOPES = sp.symbols("a_minus a_plus", real=True)
MANY = 20

Polynomial = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ScaleInvariant:
    """An activation, or the whole class, that is straight on both sides of zero.

    Attributes:
        given: the activation or class as it was given.
        left: the slope below zero.
        right: the slope above zero.
    """

    given: str
    left: Any
    right: Any

    @property
    def straight(self) -> bool:
        """Whether both slopes are the same, so that there is no kink."""
        return bool(sp.simplify(self.left - self.right) == 0)


def scale_invariant(what: Any) -> ScaleInvariant | None:
    """The slopes of an activation of this class, or nothing if it is of another one.

    Raises:
        ActivationError: if it cannot be read.
    """
    if isinstance(what, str):
        text = what.strip().lower()
        if text.startswith(SCALE_INVARIANT):
            return ScaleInvariant(what.strip(), *SLOPES)
        if text.startswith("k*"):
            return None
    found = activation(what)
    slopes = straight_slopes(smooth_pieces(found))
    return None if slopes is None else ScaleInvariant(found.name, *slopes)


@dataclass(frozen=True, slots=True)
class _Ring:
    """Numbers of the class as elements of one field.

    Attributes:
        left: the slope below zero.
        right: the slope above zero.
        kernel: K, which is the same at every layer.
        hyperparameters: C_b, C_W, λ_b, λ_W; the latter without their factor 1/L.
        kinked: whether the slopes differ.
    """

    left: Any
    right: Any
    kernel: Any
    hyperparameters: tuple[Any, Any, Any, Any]
    kinked: bool

    def mean(self, bracket: Bracket) -> Any:
        r"""A bracket at K, by the half moments of a Gaussian.

        With d the sum of 1 - k over its derivatives $\sigma^{(k)}$, it is
        $\langle a_\pm^q |z|^d\, \mathrm{He}_m(z/\sqrt K) \rangle K^{-m/2}$ for q factors and m
        inserted z. Derivatives of the slope are concentrated at zero, where the rest vanishes if
        it has enough factors of z.

        Raises:
            SolutionError: if it is infinite.
        """
        orders = [order for _, order in bracket.factors]
        degree, inserted = sum(1 - order for order in orders), len(bracket.inserted)
        if max(orders) > 1:
            if self.kinked and degree + inserted % 2 < 0:
                raise SolutionError(
                    f"Its recursion contains {bracket_text(bracket, single=True)}, which is "
                    "infinite for a slope that jumps. "
                    "Give a smooth activation, or ask for other tensors."
                )
            return 0 * self.kernel
        if (degree + inserted) % 2:
            raise DerivationError(
                f"The mean {bracket} is odd under a change of sign of z. Recursions have no such "
                "means. This is a fault of symdlt; please report it."
            )
        moment = sum(
            number * double_factorial(degree + power - 1) for power, number in _hermite(inserted)
        )
        sides = self.right ** len(orders) + self.left ** len(orders)
        return sides * moment / 2 * self.kernel ** ((degree - inserted) // 2)


def _hermite(order: int) -> Iterator[tuple[int, int]]:
    """Powers and coefficients of the Hermite polynomial of the Gaussian weight."""
    before: dict[int, int] = {}
    polynomial = {0: 1}
    for k in range(order):
        shifted = {power + 1: number for power, number in polynomial.items()}
        for power, number in before.items():
            shifted[power] = shifted.get(power, 0) - k * number
        before, polynomial = polynomial, shifted
    return iter(polynomial.items())


def solve_scale_invariant(
    found: ScaleInvariant, system: RecursionSystem, rates: dict[Any, Any]
) -> AsymptoticSolution:
    r"""The exact solution of a closed system at every layer (PDLT ∞.45–∞.50).

    At all layers $\lambda_b = \widetilde\lambda_b/L$ and $\lambda_W = \widetilde\lambda_W/L$.

    Args:
        found: the slopes.
        system: the recursions for one input, with those of G and H.
        rates: values of λ̃_b and λ̃_W that were given.
    """
    ring = _ring(found.straight)
    named = {symbol: value for symbol, value in rates.items() if value is not None}
    named |= dict(zip(SLOPES, (found.left, found.right), strict=True))
    known: dict[str, Polynomial] = {}
    refused: dict[str, str] = {}
    shown = None if len(system.names) > MANY else False
    for recursion in track(tuple(system), "solving tensors", shown):
        try:
            form = recursion if found.straight else to_z_form(recursion)
            known[recursion.name] = _solved(form, ring, known)
        except SolutionError as reason:
            refused[recursion.name] = f"{recursion.name} is not finite. {reason}"
    exact = {name: _in_depth(polynomial, named) for name, polynomial in known.items()}
    tensors = tuple(_asymptote(system[name], exact) for name in known)
    C_W = sp.factor(ring.hyperparameters[1].as_expr().subs(named))
    shown_rates = [(str(s), rates.get(s), s) for s in (LAMBDA_B, LAMBDA_W)]
    return AsymptoticSolution(
        found.given,
        SCALE_INVARIANT,
        tensors,
        (("a_minus", found.left), ("a_plus", found.right), ("p_perp", sp.Integer(0))),
        (
            ("C_b", sp.Integer(0)),
            ("C_W", C_W),
            *((f"{n}(l)", (s if v is None else v) / DEPTH) for n, v, s in shown_rates),
        ),
        (
            "one input, hidden layers of one width n, K the same at every layer",
            "exact at every layer; a tensor with e edges carries a factor L^(-e)",
        ),
        tuple(refused.items()),
    )


def _ring(straight: bool) -> _Ring:
    domain, lambda_b, lambda_W, kernel, left, right = field(
        [LAMBDA_B, LAMBDA_W, KERNEL, *SLOPES], sp.QQ
    )
    left = right if straight else left
    variance = 2 / (left**2 + right**2)
    return _Ring(left, right, kernel, (domain.zero, variance, lambda_b, lambda_W), not straight)


def _solved(recursion: Recursion, ring: _Ring, known: dict[str, Polynomial]) -> Polynomial:
    """A tensor as a polynomial in ℓ - 1: its value at layer 1, and the sum of its sources."""
    own = zero = 0 * ring.kernel
    source: Polynomial = ()
    for term in recursion.terms:
        names = [piece_name(t.correlator, t.piece) for t in term.tensors]
        number = _number(term, ring)
        if recursion.name in names and recursion.name != "G":
            own += number
            continue
        for name in names:
            if name not in known and number != 0:
                raise SolutionError(
                    f"Its recursion contains {name}, which has no solution. Ask for other tensors."
                )
        if number != 0:
            factors = (known[name] for name in names)
            source = _added(source, reduce(_multiplied, factors, (number,)))
    start = sum((_first(term, ring) for term in recursion.first_layer), zero)
    if recursion.name == "G":
        if source != (ring.kernel,) or start != ring.kernel:
            raise DerivationError(
                "The kernel of a scale-invariant activation does not stay. It was derived from "
                "the recursion of G. This is a fault of symdlt; please report it."
            )
        return source
    if own != 1:
        raise DerivationError(
            f"{recursion.name} is multiplied by {own} from layer to layer, not by 1. "
            "It is scale-invariant and critical. This is a fault of symdlt; please report it."
        )
    return _added((start,), _summed(source))


def _number(term: Term, ring: _Ring) -> Any:
    """A term without its tensors, at equal widths."""
    number = 0 * ring.kernel + term.coefficient.numerator
    number = number / term.coefficient.denominator
    for value, power in zip(ring.hyperparameters, term.hyperparameters.powers, strict=True):
        number = number * value**power if power else number
    for bracket in term.brackets:
        number = number * ring.mean(bracket)
    return number


def _first(term: Term, ring: _Ring) -> Any:
    """A term of the first layer, where the overlap of the input is K/C_W."""
    number = _number(term, ring)
    return number * ring.kernel / ring.hyperparameters[1] if term.overlap else number


def _added(first: Polynomial, second: Polynomial) -> Polynomial:
    longer, shorter = sorted((first, second), key=len, reverse=True)
    return tuple(a + b for a, b in zip(longer, shorter, strict=False)) + longer[len(shorter) :]


def _multiplied(first: Polynomial, second: Polynomial) -> Polynomial:
    if not first or not second:
        return ()
    zero = 0 * first[0]
    product = [zero] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            product[i + j] += a * b
    return tuple(product)


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
        product = _multiplied(product, (-falling * one, one)) if product else (0 * one, one)
        total = _added(total, tuple(constant * c / (falling + 1) for c in product))
        rest, falling = kept, falling + 1
    return total


def _in_depth(polynomial: Polynomial, values: dict[Any, Any]) -> Any:
    """A polynomial in ℓ - 1 as an expression in ℓ."""
    total = sum(
        (
            coefficient.as_expr().subs(values) * (LAYER - 1) ** power
            for power, coefficient in enumerate(polynomial)
        ),
        sp.Integer(0),
    )
    return sp.factor(total)


def _asymptote(recursion: Recursion, exact: dict[str, Any]) -> Asymptote:
    correlator = recursion.correlator
    edges, pairs = len(correlator.forest.edges), correlator.pairs
    order = pairs - 1 + recursion.piece
    (power, coefficient), (ntk_power, ntk) = (
        _leading(exact[name]) for name in (recursion.name, "H")
    )
    ratio = coefficient * exact["G"] ** (edges - pairs) / ntk**edges
    return Asymptote(
        name=recursion.name,
        edges=edges,
        pairs=pairs,
        order=order,
        exponent=-power,
        log_power=0,
        coefficient=coefficient,
        ratio_power=power - edges * ntk_power,
        ratio_coefficient=sp.factor(ratio),
        exact=exact[recursion.name],
    )


def _leading(exact: Any) -> tuple[Any, Any]:
    """The highest power of ℓ and its coefficient; minus infinity for zero."""
    if exact == 0:
        return -sp.oo, sp.Integer(0)
    highest = sp.Poly(sp.expand(exact), LAYER)
    return sp.Integer(highest.degree()), sp.factor(highest.LC())
