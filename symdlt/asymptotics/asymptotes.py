"""What one tensor does at large depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import sympy as sp


@dataclass(frozen=True, slots=True)
class Asymptote:
    r"""How one tensor scales with depth.

    $$X^{(\ell)} \to x\, \ell^{-p}\, (\log\ell)^{j}\, L^{e(p_\perp - 1)}, \qquad
      \frac{X K^{e-m}}{n^{m-1}\Theta^e} \to r\, \ell^{q}\, (\log\ell)^{j} \frac{1}{n^{m-1}}$$

    Attributes:
        name: the tensor.
        edges: the number e of edges of its forest.
        pairs: the number m of matched pairs of neurons.
        order: the power of 1/n that multiplies the tensor.
        exponent: p.
        log_power: j, zero unless a source resonates.
        coefficient: x.
        ratio_power: q.
        ratio_coefficient: r.
        exact: X at layer ℓ, without the factor of L, where it is known in closed form.
    """

    name: str
    edges: int
    pairs: int
    order: int
    exponent: sp.Expr
    log_power: int
    coefficient: sp.Expr
    ratio_power: sp.Expr
    ratio_coefficient: sp.Expr
    exact: sp.Expr | None = None

    def __eq__(self, other: object) -> bool:
        """Fields are equal as numbers and formulas: SymPy may write a sum in brackets anew."""
        if not isinstance(other, Asymptote):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return all(a == b or (_is_formula(a, b) and sp.expand(a - b) == 0) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((self.name, self.order, self.log_power))

    @property
    def formulas(self) -> dict[str, sp.Expr]:
        """What may have symbols in it, by the names of the attributes."""
        names = ("exponent", "coefficient", "ratio_power", "ratio_coefficient", "exact")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def at(self, values: Mapping[sp.Symbol, sp.Expr]) -> Asymptote:
        """The same with numbers for symbols."""
        return replace(self, **{k: sp.sympify(f).subs(values) for k, f in self.formulas.items()})

    @property
    def ratio(self) -> str:
        """The dimensionless ratio as text, for instance "R K/(n Theta^3)"."""
        above = " ".join([self.name, *_power("K", self.edges - self.pairs)])
        below = [*_power("n", self.order), *_power("K", self.pairs - self.edges)]
        below += _power("Theta", self.edges)
        if not below:
            return above
        return f"{above}/{below[0] if len(below) == 1 else '(' + ' '.join(below) + ')'}"

    @property
    def cutoff(self) -> str:
        r"""How the ratio compares with the cutoff of the theory to its order, $(\ell/n)^s$.

        With s the power of 1/n it is "at" the cutoff if its power of ℓ is s, which is (∞.38) for
        R, S and T: $p_R + p_0 - 3 p_\Theta = -1$; "below" if it is smaller, as for U; and "above"
        if it is larger, so that the expansion in 1/n would break down before ℓ reaches n.
        """
        if self.ratio_power == self.order:
            return "above" if self.log_power > 0 else "at"
        return "below" if self.ratio_power < self.order else "above"

    def __repr__(self) -> str:
        return f"Asymptote({self.name}, exponent={sp.sstr(self.exponent)[:40]})"


def _is_formula(*values: object) -> bool:
    return all(isinstance(value, sp.Expr) for value in values)


def _power(name: str, exponent: int) -> list[str]:
    if exponent <= 0:
        return []
    return [name if exponent == 1 else f"{name}^{exponent}"]
