"""The field in which a class of activations is solved: symbols and what they stand for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.polys.fields import field

from symdlt.asymptotics._equations import expand
from symdlt.errors import DerivationError
from symdlt.recursions import Recursion

SIGMA_1 = sp.Symbol("sigma_1", positive=True)
A_1 = sp.Symbol("a_1", negative=True)
P_PERP = sp.Symbol("p_perp", real=True)
LAMBDA_B = sp.Symbol("lambda_b", positive=True)
LAMBDA_W = sp.Symbol("lambda_W", positive=True)


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
    """Elements of one field of rational functions.

    Attributes:
        field: the field.
        taylor: σ_0, σ_1, …, as elements of its ring; σ_3 is expressed by a_1 and σ_2.
        ratio: σ_2/σ_1, zero if σ_2 is.
        a_1: the coefficient of K^2 in the recursion of the kernel, a symbol of the field.
        lambda_b: λ̃_b, or zero.
        lambda_W: λ̃_W, or zero.
        constants: for each tensor, the symbol of a constant that depends on the input.
    """

    field: Any
    taylor: tuple[Any, ...]
    ratio: Any
    a_1: Any
    lambda_b: Any
    lambda_W: Any
    constants: tuple[tuple[str, Any], ...]

    @property
    def zero(self) -> Any:
        """The zero of the field."""
        return 0 * self.a_1

    def constant(self, name: str) -> Any:
        """The constant of integration of a tensor, zero if it was not asked for."""
        return dict(self.constants).get(name, self.zero)

    def least(self, element: Any) -> Any:
        r"""The lower bound of an element over all activations with $a_1 < 0$, as a rational.

        The element is a number or $A + B\,(\sigma_2/\sigma_1)^2/a_1$, in which the last factor
        takes all negative values; then the bound is A if B ≤ 0 and there is none if B > 0.

        Returns:
            A rational number, or minus infinity.
        """
        if self.ratio == 0:
            return element.as_expr()
        number, slope = self.affine(element)
        return number if slope <= 0 else -sp.oo

    def affine(self, element: Any) -> tuple[Any, Any]:
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
) -> Parameters:
    """The field for activations with σ_0 = 0, some more σ_p zero and the others symbols.

    Args:
        metric: the recursion of the kernel, which says what a_1 is.
        length: how many Taylor coefficients are needed.
        vanishing: the p with σ_p = 0.
        rates: whether λ_b and λ_W are not zero.
        names: tensors that may need a constant of integration.
    """
    higher = [p for p in range(4, length) if p not in vanishing]
    curved = 2 not in vanishing
    symbols = [LAMBDA_B, LAMBDA_W, SIGMA_1, A_1, ratio_symbol(2)]
    symbols += [ratio_symbol(p) for p in higher]
    symbols += [constant_symbol(name) for name in names]
    domain, *generators = field(symbols, sp.QQ)
    lambda_b, lambda_W, sigma_1, a_1, s_2, *others = generators
    ratios = dict(zip(higher, others, strict=False)) | {1: domain.one}
    if curved:
        ratios[2] = s_2
    ratios[3] = _cubic(metric, a_1, ratios.get(2, domain.zero))
    return Parameters(
        domain,
        tuple(_polynomial(sigma_1 * ratios.get(p, domain.zero)) for p in range(length)),
        ratios.get(2, domain.zero),
        a_1,
        lambda_b if rates[0] else domain.zero,
        lambda_W if rates[1] else domain.zero,
        tuple(zip(names, others[len(higher) :], strict=True)),
    )


def quadratic(metric: Recursion, taylor: Sequence[Any]) -> Any:
    r"""The coefficient of $K^2$ over that of $K$ in the recursion of the kernel: $a_1$.

    Args:
        metric: the single-input recursion of G.
        taylor: σ_0 to σ_5 or more.
    """
    series = [s.series for s in expand(metric, taylor, 2).sources if s.hyperparameters[1]]
    return sum(s[2] for s in series) / sum(s[1] for s in series)


def _cubic(metric: Recursion, a_1: Any, s_2: Any) -> Any:
    """σ_3/σ_1 such that the kernel's recursion has the given a_1, in which it is linear."""
    zero = 0 * a_1

    def value(s_3: Any) -> Any:
        return quadratic(metric, [zero, zero + 1, s_2, zero + s_3, zero, zero, zero])

    at_zero = value(0)
    s_3 = (a_1 - at_zero) / (value(1) - at_zero)
    if value(s_3) != a_1:
        raise DerivationError(
            "The recursion of the kernel is not linear in sigma_3 at order K^2. "
            f"At sigma_3 = 0 its coefficient is {at_zero}. "
            "This is a fault of symdlt; please report it."
        )
    return s_3


def _polynomial(element: Any) -> Any:
    """An element of the field without symbols in its denominator as one of its ring."""
    return element.numer / element.denom
