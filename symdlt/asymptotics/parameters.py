"""The field in which a class of activations is solved: symbols and what they stand for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp
from sympy.polys.fields import FracField, field
from sympy.polys.rings import PolyRing

from symdlt.asymptotics.equations import expand
from symdlt.asymptotics.series import FieldElement
from symdlt.derivation import Recursion
from symdlt.errors import DerivationError
from symdlt.symbols import a_1, depth, lambda_b, lambda_W, layer, p_perp, sigma_1

SIGMA_1, A_1, P_PERP = sigma_1, a_1, p_perp
INVERSE = sp.Symbol("m", positive=True)
LAYER, DEPTH = layer, depth
LAMBDA_B, LAMBDA_W = lambda_b, lambda_W


def taylor_symbol(p: int) -> sp.Symbol:
    """The symbol of σ_p, the p-th derivative of the activation at zero."""
    return SIGMA_1 if p == 1 else sp.Symbol(f"sigma_{p}", real=True)


def ratio_symbol(p: int) -> sp.Symbol:
    """The symbol of σ_p/σ_1 in the field."""
    return sp.Symbol(f"s_{p}")


def constant_symbol(name: str) -> sp.Symbol:
    """The symbol of a constant of integration, which depends on the input of the network."""
    return sp.Symbol(f"c_{name}", real=True)


@dataclass(frozen=True, slots=True)
class Parameters:
    r"""Elements of one field of rational functions.

    Attributes:
        field: the field; or a ring, where only numbers are divided by, as of layers of fields.
        taylor: σ_0, σ_1, …, as elements of its ring; σ_3 is expressed by a_1 and σ_2.
        ratio: σ_2/σ_1, zero if σ_2 is.
        a_1: the coefficient of K^2 in the recursion of the kernel, a symbol of the field.
        rates: the learning rates λ̃, each a symbol of the field or zero.
        constants: for each tensor, the symbol of a constant that depends on the input.
        star: K*.
        root: the power of the variable x of the expansions in $K = K^* + x^{root}$.
        denominator: d, if x falls like $\ell^{-1/d}$.
        first: k in $x = k \ell^{-1/d}$, if it is a symbol of the field.
        values: symbols of the field and the numbers they stand for.
        inexact: whether numbers of the field are known to so many digits only.
        variances: how many of them stand before the learning rates in a source, C_b and C_W; none
            if they are numbers in its series.
    """

    field: FracField | PolyRing
    taylor: tuple[FieldElement, ...]
    ratio: FieldElement
    a_1: FieldElement
    rates: tuple[FieldElement, ...]
    constants: tuple[tuple[str, FieldElement], ...]
    star: FieldElement | int = 0
    root: int = 1
    denominator: int = 1
    first: FieldElement | None = None
    values: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()
    inexact: bool = False
    variances: int = 2

    @property
    def weighed(self) -> tuple[int, ...]:
        """The powers of the hyperparameters in what the weights add to the kernel."""
        return (0, 1)[: self.variances] + (0,) * len(self.rates)

    @property
    def zero(self) -> FieldElement:
        """The zero of the field."""
        return 0 * self.a_1

    def is_number(self, element: FieldElement) -> bool:
        """Whether an element contains no symbols."""
        whole = isinstance(self.field, PolyRing)
        parts = (element,) if whole else (element.numer, element.denom)
        return all(part.is_ground for part in parts)

    def constant(self, name: str) -> FieldElement:
        """The constant of integration of a tensor, zero if it was not asked for."""
        return dict(self.constants).get(name, self.zero)

    def least(self, element: FieldElement) -> sp.Expr:
        r"""The lower bound of an element over all activations with $a_1 < 0$, as a rational.

        The element is a number or $A + B\,(\sigma_2/\sigma_1)^2/a_1$, in which the last factor
        takes all negative values; then the bound is A if B ≤ 0 and there is none if B > 0.

        Returns:
            A rational number, or minus infinity.
        """
        if self.ratio == 0:
            return element.as_expr().subs(dict(self.values))
        number, slope = self.affine(element)
        return number if slope <= 0 else -sp.oo

    def affine(self, element: FieldElement) -> tuple[sp.Rational, sp.Rational]:
        """A and B of an element A + B (σ_2/σ_1)²/a_1.

        Raises:
            DerivationError: if the element is not of that form.
        """
        s_2 = self.ratio.numer
        at_zero = self.field(element.numer.subs(s_2, 0)) / self.field(element.denom.subs(s_2, 0))
        slope = (element - at_zero) * self.a_1 / self.ratio**2
        number, rate = at_zero.as_expr(), slope.as_expr()
        if not (number.is_Rational and rate.is_Rational):
            raise DerivationError(
                f"An exponent is not linear in p_perp: {sp.sstr(element.as_expr())[:80]}. "
                "It came out of the balance of a recursion. "
                "This is a fault of symdlt; please report it."
            )
        return number, rate


def parameters(
    metric: Recursion,
    length: int,
    *,
    vanishing: Collection[int] = (),
    rates: tuple[bool, bool] = (True, True),
    names: Sequence[str] = (),
    rate: int = 1,
) -> Parameters:
    """The field for activations with σ_0 = 0, some more σ_p zero and the others symbols.

    Args:
        metric: the recursion of the kernel, which says what a_1 is.
        length: how many Taylor coefficients are needed.
        vanishing: the p with σ_p = 0.
        rates: whether λ_b and λ_W are not zero.
        names: tensors that may need a constant of integration.
        rate: r, if the kernel moves at order $K^{1+r}$ and not before.
    """
    solved = range(3, 2 * rate + 2, 2)
    higher = [p for p in range(4, length) if p not in vanishing and p not in solved]
    curved = 2 not in vanishing
    symbols = [LAMBDA_B, LAMBDA_W, SIGMA_1, A_1 if rate == 1 else INVERSE, ratio_symbol(2)]
    symbols += [ratio_symbol(p) for p in higher]
    symbols += [constant_symbol(name) for name in names]
    domain, *generators = field(symbols, sp.QQ)
    lambda_b, lambda_W, sigma_1, moving, s_2, *others = generators
    a_1 = moving if rate == 1 else -(moving**rate) / rate
    ratios = dict(zip(higher, others, strict=False)) | {1: domain.one}
    if curved:
        ratios[2] = s_2
    for p in solved:
        wanted = a_1 if p == solved[-1] else domain.zero
        ratios[p] = _leading(metric, wanted, ratios, p)
    return Parameters(
        domain,
        tuple(_polynomial(sigma_1 * ratios.get(p, domain.zero)) for p in range(length)),
        ratios.get(2, domain.zero),
        a_1,
        (lambda_b if rates[0] else domain.zero, lambda_W if rates[1] else domain.zero),
        tuple(zip(names, others[len(higher) :], strict=True)),
        denominator=rate,
        first=None if rate == 1 else 1 / moving,
    )


def quadratic(metric: Recursion, taylor: Sequence[FieldElement], order: int = 2) -> FieldElement:
    r"""The coefficient of $K^2$ over that of $K$ in the recursion of the kernel: $a_1$.

    Args:
        metric: the single-input recursion of G.
        taylor: σ_0 to σ_5 or more.
        order: another power instead of the second.
    """
    series = [s.series for s in expand(metric, taylor, order).sources if s.hyperparameters[1]]
    return sum(s[order] for s in series) / sum(s[1] for s in series)


def _leading(
    metric: Recursion, wanted: FieldElement, ratios: Mapping[int, FieldElement], p: int
) -> FieldElement:
    """σ_p/σ_1 such that the kernel's recursion has a given coefficient, in which it is linear."""
    zero, order = 0 * wanted, (p + 1) // 2

    def value(s_p: FieldElement | int) -> FieldElement:
        known = {1: zero + 1, **ratios, p: zero + s_p}
        return quadratic(metric, [known.get(q, zero) for q in range(2 * order + 3)], order)

    at_zero = value(0)
    s_p = (wanted - at_zero) / (value(1) - at_zero)
    if value(s_p) != wanted:
        raise DerivationError(
            f"The recursion of the kernel is not linear in sigma_{p} at order K^{order}. "
            f"At sigma_{p} = 0 its coefficient is {at_zero}. "
            "This is a fault of symdlt; please report it."
        )
    return s_p


def _polynomial(element: FieldElement) -> FieldElement:
    """An element of the field without symbols in its denominator as one of its ring."""
    return element.numer / element.denom
