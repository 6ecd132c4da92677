"""Which universality class an activation belongs to, or why it is in none that is solved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import sympy as sp
from sympy.polys.fields import field

from symdlt.activations import Activation, activation
from symdlt.activations.activation import ActivationLike
from symdlt.activations.exact_numbers import is_positive, is_zero
from symdlt.activations.series import KinkError
from symdlt.asymptotics.parameters import quadratic
from symdlt.derivation import derive
from symdlt.errors import ActivationError, SolutionError
from symdlt.fixed_points.critical_points import CriticalPoint
from symdlt.fixed_points.number_text import short

ODD = "K*=0, odd"
GENERAL = "K*=0, general"
CLASSES = (ODD, GENERAL)
PLAIN, MARGINAL, KINKED, ELSEWHERE = "plain", "marginal", "kinked", "elsewhere"


@dataclass(frozen=True, slots=True)
class Universality:
    r"""A class, and the numbers of the activation if one was named.

    Attributes:
        name: what the class is called.
        given: the activation or class as it was given.
        curved: whether σ_2 is not zero.
        activation: the activation, or None for a whole class.
        a_1: the coefficient of the first power of K - K* at which its kernel moves, or None for a
            whole class.
        kind: PLAIN, or what the expansion about the critical point is if it is not that of K* = 0.
        reason: why it is ELSEWHERE than in the K* = 0 class.
        rate: r in $K' - K \propto K^{1+r}$ for a smooth activation at K* = 0.
        jump: the lowest derivative that jumps at zero, or 0.
        point: the critical point if K* > 0.
    """

    name: str
    given: str
    curved: bool
    activation: Activation | None = None
    a_1: sp.Expr | None = None
    kind: str = PLAIN
    reason: str = ""
    rate: int = 1
    jump: int = 0
    point: CriticalPoint | None = None

    def vanishing(self, length: int) -> tuple[int, ...]:
        """The p < length with σ_p = 0 that the solver may use."""
        if self.curved:
            return ()
        if self.activation is None:
            return tuple(range(2, length, 2))
        taylor = self.activation.taylor(length - 1)
        leading = 2 * self.rate + 1
        return tuple(p for p in range(2, length) if p != leading and is_zero(taylor[p]))


def classify(what: ActivationLike) -> Universality:
    """The universality class of an activation, or the class that is named.

    Args:
        what: a name, a text, a SymPy expression, an `Activation`, or one of `CLASSES`.

    Raises:
        ActivationError: if it cannot be read, or is not finite at zero.
        SolutionError: if there is no such class.
    """
    if isinstance(what, str):
        squeezed = what.replace(" ", "").lower()
        for name in CLASSES:
            if squeezed == name.replace(" ", "").lower():
                return Universality(name, name, name == GENERAL)
        if squeezed.startswith("k*"):
            raise SolutionError(
                f"There is no universality class {what[:40]!r} here. "
                f"The solver knows {', '.join(map(repr, CLASSES))} and 'scale-invariant'. "
                "Give one of them."
            )
    named = activation(what)
    try:
        taylor = named.taylor(5)
    except KinkError:
        return Universality("K*=0, kink", named.name, False, named, kind=KINKED)
    return _classified(named, taylor)


def _classified(named: Activation, taylor: tuple[sp.Expr, ...]) -> Universality:
    for number in taylor:
        if not number.is_finite or number.is_real is False:
            raise ActivationError(
                f"{shown(named)} is not real and finite at zero. "
                f"A coefficient of its Taylor series is {sp.sstr(number)[:40]}. "
                "Give a real function that is analytic at zero."
            )
    if not is_zero(taylor[0]):
        return _elsewhere(
            named,
            f"sigma(0) = {short(taylor[0])} is not zero. "
            "A bias-like constant makes the kernel nonzero at every layer.",
        )
    if is_zero(taylor[1]):
        return _elsewhere(
            named,
            "sigma'(0) is zero. No C_W then keeps a small kernel at its size from layer to layer.",
        )
    curvature = a_1_of(taylor)
    curved = not is_zero(taylor[2])
    if is_zero(curvature):
        return Universality("K*=0, a_1=0", named.name, curved, named, kind=MARGINAL)
    if is_positive(curvature):
        return _elsewhere(
            named,
            f"a_1 = {short(curvature)} is positive. "
            "The fixed point K* = 0 is unstable, a small kernel grows away from it.",
        )
    odd = not curved and is_zero(taylor[4])
    name = ODD if odd else GENERAL if curved else "K*=0, sigma_2=0"
    return Universality(name, named.name, curved, named, sp.factor(curvature))


def _elsewhere(named: Activation, reason: str) -> Universality:
    why = f"{shown(named)} is not in the K*=0 class: {reason}"
    return Universality("K*>0", named.name, False, named, kind=ELSEWHERE, reason=why)


def a_1_of(taylor: tuple[sp.Expr, ...]) -> sp.Expr:
    """a_1 of an activation with these σ_0, …, σ_5, from the recursion of the kernel."""
    s_2, s_3 = sp.symbols("s_2 s_3")
    return _a_1_formula().subs({s_2: taylor[2] / taylor[1], s_3: taylor[3] / taylor[1]})


@lru_cache(maxsize=1)
def _a_1_formula() -> sp.Expr:
    domain, s_2, s_3 = field("s_2,s_3", sp.QQ)
    zero = domain.zero
    metric = derive("G", inputs="one")
    return quadratic(metric, [zero, domain.one, s_2, s_3, zero, zero]).as_expr()


def shown(named: Activation) -> str:
    """The name of an activation in a message."""
    return repr(named.name if len(named.name) <= 60 else named.name[:57] + "...")
