"""What the asymptotic solver returns: an asymptote for each tensor, and their table."""

from __future__ import annotations

from dataclasses import dataclass, fields
from reprlib import repr as short_repr
from typing import Any

import sympy as sp

from symdlt.errors import SolutionError, UnknownTensorError

SCHEMA = "symdlt.asymptotics"
VERSION = 1


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
    exponent: Any
    log_power: int
    coefficient: Any
    ratio_power: Any
    ratio_coefficient: Any
    exact: Any = None

    def __eq__(self, other: object) -> bool:
        """Fields are equal as numbers and formulas: SymPy may write a sum in brackets anew."""
        if not isinstance(other, Asymptote):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return all(a == b or (_is_formula(a, b) and sp.expand(a - b) == 0) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((self.name, self.order, self.log_power))

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


def _is_formula(*values: Any) -> bool:
    return all(isinstance(value, sp.Expr) for value in values)


@dataclass(frozen=True, slots=True)
class AsymptoticSolution:
    """Exponents, leading coefficients and dimensionless ratios of a system of recursions.

    Attributes:
        activation: what was solved for, as it was given.
        universality: the class.
        tensors: one asymptote for each tensor.
        values: names and values of what describes the activation: sigma_1, a_1, p_perp.
        hyperparameters: names and values of C_b, C_W, lambda_b(l), lambda_W(l).
        assumptions: under what conditions all this holds.
        unsolved: names of tensors that have no asymptote, and why.
    """

    activation: str
    universality: str
    tensors: tuple[Asymptote, ...]
    values: tuple[tuple[str, Any], ...]
    hyperparameters: tuple[tuple[str, Any], ...]
    assumptions: tuple[str, ...]
    unsolved: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, name: str) -> Asymptote:
        """The asymptote of that tensor.

        Raises:
            SolutionError: if it has none, with the reason.
            UnknownTensorError: if it was not asked for.
        """
        for asymptote in self.tensors:
            if asymptote.name == name:
                return asymptote
        for unsolved, why in self.unsolved:
            if unsolved == name:
                raise SolutionError(why)
        known = " ".join(asymptote.name for asymptote in self.tensors[:40])
        raise UnknownTensorError(
            f"There is no asymptote of {short_repr(name)}. The solution has {known}. "
            "Ask for others with `exponents(activation, tensors)`."
        )

    def __repr__(self) -> str:
        shown = self.activation if len(self.activation) <= 40 else self.activation[:37] + "..."
        return f"AsymptoticSolution({shown!r}, {self.universality}, tensors={len(self.tensors)})"

    def __str__(self) -> str:
        return self.table()

    @property
    def at_cutoff(self) -> tuple[str, ...]:
        r"""The tensors of order $1/n^s$, s > 0, whose ratios scale as $(\ell/n)^s$ (∞.38).

        They contribute to leading order in ℓ/n; the others are subleading (`Asymptote.cutoff`).

        >>> from symdlt.asymptotics import exponents
        >>> exponents("tanh").at_cutoff
        ('V', 'B', 'D', 'A', 'F', 'P', 'Q', 'R', 'S', 'T')
        """
        return tuple(a.name for a in self.tensors if a.order and a.cutoff == "at")

    def table(self) -> str:
        """Exponents, coefficients and ratios as text, one tensor a line."""
        from symdlt.asymptotics.tables import table

        return table(self)

    def latex(self) -> str:
        """The same as LaTeX, an `align*` environment in the notation of the book."""
        from symdlt.asymptotics.tables import latex

        return latex(self)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex().replace('{align*}', '{aligned}')}$"

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists, integers and strings; numbers are exact.

        The exponent p is that of $X \\propto \\ell^{-p}$.
        """
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "activation": self.activation,
            "class": self.universality,
            "values": {name: sp.sstr(value) for name, value in self.values},
            "hyperparameters": {name: sp.sstr(value) for name, value in self.hyperparameters},
            "assumptions": list(self.assumptions),
            "tensors": {asymptote.name: _entry(asymptote) for asymptote in self.tensors},
            "unsolved": dict(self.unsolved),
        }


def _entry(asymptote: Asymptote) -> dict[str, Any]:
    exact = {} if asymptote.exact is None else {"exact": sp.sstr(asymptote.exact)}
    return exact | {
        "exponent": sp.sstr(asymptote.exponent),
        "log_power": asymptote.log_power,
        "coefficient": sp.sstr(asymptote.coefficient),
        "ratio": {
            "definition": asymptote.ratio,
            "depth_power": sp.sstr(asymptote.ratio_power),
            "width_power": -asymptote.order,
            "coefficient": sp.sstr(asymptote.ratio_coefficient),
        },
    }


def _power(name: str, exponent: int) -> list[str]:
    if exponent <= 0:
        return []
    return [name if exponent == 1 else f"{name}^{exponent}"]
