r"""The scale-invariant class: every recursion is solved exactly, by a polynomial in the depth.

An activation with one slope on each side of zero has every K as a fixed point at $C_b = 0$,
$C_W = 2/(a_+^2 + a_-^2)$. Both susceptibilities are then 1 at every layer, so that a tensor changes
from layer to layer by its sources alone, which are polynomials in the depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import sympy as sp
from sympy.polys.fields import field
from sympy.polys.orthopolys import hermite_prob_poly

from symdlt.activations import activation
from symdlt.activations.activation import ActivationLike
from symdlt.activations.smooth_pieces import smooth_pieces, straight_slopes
from symdlt.asymptotics.exact_layers import (
    ConstantKernel,
    dense_equation,
    exact_solution,
    solve_exactly,
)
from symdlt.asymptotics.series import FieldElement
from symdlt.asymptotics.solution import AsymptoticSolution
from symdlt.derivation import Bracket, RecursionSystem, to_z_form
from symdlt.derivation.terms import bracket_text
from symdlt.errors import DerivationError, SolutionError
from symdlt.fixed_points.moments import double_factorial
from symdlt.symbols import K as KERNEL
from symdlt.symbols import lambda_b as LAMBDA_B
from symdlt.symbols import lambda_W as LAMBDA_W

SCALE_INVARIANT = "scale-invariant"
SLOPES = sp.symbols("a_minus a_plus", real=True)


@dataclass(frozen=True, slots=True)
class ScaleInvariant:
    """An activation, or the whole class, that is straight on both sides of zero.

    Attributes:
        given: the activation or class as it was given.
        left: the slope below zero.
        right: the slope above zero.
    """

    given: str
    left: sp.Expr
    right: sp.Expr

    @property
    def straight(self) -> bool:
        """Whether both slopes are the same, so that there is no kink."""
        return bool(sp.simplify(self.left - self.right) == 0)


def scale_invariant(what: ActivationLike) -> ScaleInvariant | None:
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
    named = activation(what)
    slopes = straight_slopes(smooth_pieces(named))
    return None if slopes is None else ScaleInvariant(named.name, *slopes)


@dataclass(frozen=True, slots=True)
class HomogeneousMeans:
    """Brackets of an activation that is straight on both sides of zero.

    Attributes:
        left: the slope below zero.
        right: the slope above zero.
        kernel: K.
    """

    left: sp.Expr | FieldElement
    right: sp.Expr | FieldElement
    kernel: sp.Expr | FieldElement

    def __call__(self, bracket: Bracket) -> sp.Expr | FieldElement:
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
            if self.left != self.right and degree + inserted % 2 < 0:
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
        hermite = hermite_prob_poly(inserted, polys=True)
        moment = sum(
            number * double_factorial(degree + power - 1) for (power,), number in hermite.terms()
        )
        sides = self.right ** len(orders) + self.left ** len(orders)
        return sides * moment / 2 * self.kernel ** ((degree - inserted) // 2)


def solve_scale_invariant(
    sides: ScaleInvariant, system: RecursionSystem, rates: Mapping[sp.Symbol, sp.Expr | None]
) -> AsymptoticSolution:
    r"""The exact solution of a closed system at every layer (PDLT ∞.45–∞.50).

    At all layers $\lambda_b = \widetilde\lambda_b/L$ and $\lambda_W = \widetilde\lambda_W/L$.

    Args:
        sides: the slopes.
        system: the recursions for one input, with those of G and H.
        rates: values of λ̃_b and λ̃_W that were given.
    """
    domain, lambda_b, lambda_W, kernel, left, right = field(
        [LAMBDA_B, LAMBDA_W, KERNEL, *SLOPES], sp.QQ
    )
    left = right if sides.straight else left
    variance = 2 / (left**2 + right**2)
    means = HomogeneousMeans(left, right, kernel)
    numbers = ConstantKernel(kernel, (domain.zero, variance, lambda_b, lambda_W), means)
    values = {symbol: value for symbol, value in rates.items() if value is not None}
    values |= dict(zip(SLOPES, (sides.left, sides.right), strict=True))
    recursions = tuple(system) if sides.straight else tuple(map(to_z_form, system))
    solved = solve_exactly(recursions, partial(dense_equation, numbers=numbers), values)
    C_W = sp.factor(variance.as_expr().subs(values))
    slopes = (("a_minus", sides.left), ("a_plus", sides.right))
    variances = (("C_b", sp.Integer(0)), ("C_W", C_W))
    return exact_solution(sides.given, SCALE_INVARIANT, solved, slopes, variances, rates)
