"""What the asymptotic solver returns: an asymptote for each tensor, and their table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from reprlib import repr as short_repr
from typing import Any

import sympy as sp

from symdlt.asymptotics.asymptotes import Asymptote
from symdlt.asymptotics.tables import latex, short_text, table
from symdlt.definitions import DENSE, Layer, Stack, canonical_name
from symdlt.errors import SolutionError, UnknownTensorError, require
from symdlt.fixed_points.number_text import layer_entries
from symdlt.formats.latex import Conventions
from symdlt.tables import Tabular

SCHEMA = {"schema": "symdlt.asymptotics", "version": 1}


@dataclass(frozen=True, slots=True)
class AsymptoticSolution(Tabular):
    """Exponents, leading coefficients and dimensionless ratios of a system of recursions.

    Attributes:
        activation: what was solved for, as it was given.
        universality: the class.
        tensors: one asymptote for each tensor.
        values: names and values of what describes the activation: sigma_1, a_1, p_perp.
        hyperparameters: names and values of C_b, C_W, lambda_b(l), lambda_W(l).
        assumptions: under what conditions all this holds.
        unsolved: names of tensors that have no asymptote, and why.
        layer: how a layer is made of the one below.
    """

    activation: str
    universality: str
    tensors: tuple[Asymptote, ...]
    values: tuple[tuple[str, sp.Expr], ...]
    hyperparameters: tuple[tuple[str, sp.Expr], ...]
    assumptions: tuple[str, ...]
    unsolved: tuple[tuple[str, str], ...] = ()
    layer: Layer | Stack = DENSE

    def __getitem__(self, name: str) -> Asymptote:
        """The asymptote of that tensor.

        Raises:
            SolutionError: if it has none, with the reason.
            UnknownTensorError: if it was not asked for.
            InputError: if it is no name.
        """
        for asymptote in self.tensors:
            if asymptote.name == canonical_name(name):
                return asymptote
        for unsolved, why in self.unsolved:
            if unsolved == canonical_name(name):
                raise SolutionError(why)
        known = " ".join(asymptote.name for asymptote in self.tensors[:40])
        raise UnknownTensorError(
            f"There is no asymptote of {short_repr(name)}. The solution has {known}. "
            "Ask for others with `exponents(activation, tensors)`."
        )

    def at(self, **values: float | Fraction | sp.Expr) -> AsymptoticSolution:
        """The same with numbers for symbols, such as lambda_b=0.

        Raises:
            SolutionError: for a symbol that the solution does not have.

        >>> from symdlt import exponents
        >>> exponents("tanh").at(lambda_b=0, lambda_W=1)["H"].coefficient
        1/2
        """
        shown = {
            str(symbol): symbol
            for tensor in self.tensors
            for formula in tensor.formulas.values()
            for symbol in sp.sympify(formula).free_symbols
        }
        unknown = sorted({*values} - {*shown})
        if unknown:
            raise SolutionError(
                f"The solution does not have the symbols {', '.join(unknown)}. It has "
                f"{', '.join(sorted(shown)) or 'none'}. Give values to these."
            )
        known = {shown[name]: sp.sympify(value) for name, value in values.items()}
        tensors = tuple(tensor.at(known) for tensor in self.tensors)
        for tensor in tensors:
            if any(
                sp.sympify(f).has(sp.zoo, sp.oo, -sp.oo, sp.nan) for f in tensor.formulas.values()
            ):
                raise SolutionError(
                    f"{tensor.name} or its ratio has no finite value with "
                    f"{', '.join(f'{name}={value}' for name, value in values.items())}. They were "
                    "put in for symbols. Give others: Theta is the denominator of ratios."
                )
        settings = ((name, sp.sympify(value).subs(known)) for name, value in self.hyperparameters)
        return replace(self, tensors=tensors, hyperparameters=tuple(settings))

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
        lines = [f"{self.activation}: universality class {self.universality}"]
        for group in (self.values, self.hyperparameters):
            shown = [f"{name} = {short_text(x)}" for name, x in group if short_text(x) != name]
            lines += [f"  {', '.join(shown)}"] if shown else []
        lines += [f"  {assumption}" for assumption in self.assumptions]
        lines += ["", *table(self.tensors)]
        lines += [f"{name} is not solved: {why}" for name, why in self.unsolved]
        return "\n".join(lines)

    def columns(self) -> dict[str, list[Any]]:
        """A row for each tensor, in SymPy; `to_pandas` makes a DataFrame of them.

        >>> from symdlt import exponents
        >>> exponents("tanh", ["V"]).columns()["ratio"]
        ['G/K', 'H/Theta', 'V/(n K^2)']
        """
        names = "name exponent log_power coefficient ratio ratio_power ratio_coefficient cutoff"
        return {name: [getattr(tensor, name) for tensor in self.tensors] for name in names.split()}

    def latex(self, conventions: Conventions | None = None, *, tabular: bool = False) -> str:
        r"""The same as LaTeX in the notation of the book, or that of the user.

        Args:
            conventions: choices of notation.
            tabular: a table, with a row for each tensor, instead of an `align*` environment.

        Raises:
            InputError: for conventions that are none.

        >>> from symdlt import exponents
        >>> print(exponents("tanh", ["V"]).latex(tabular=True).splitlines()[2])
        $K$ & $-1$ & $\frac{1}{2}$ &  &  \\[0.8ex]
        """
        use = Conventions() if conventions is None else conventions
        require(use, Conventions, "a choice of notation", "Give `Conventions(...)`.")
        return latex(self.tensors, self.hyperparameters, dict(self.values), use, tabular=tabular)

    def _repr_latex_(self) -> str:
        whole = latex(
            self.tensors, self.hyperparameters, dict(self.values), Conventions(), most=None
        )
        return f"$\\displaystyle {whole.replace('{align*}', '{aligned}')}$"

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists, integers and strings; numbers are exact.

        The exponent p is that of $X \\propto \\ell^{-p}$.
        """
        return {
            **SCHEMA,
            "activation": self.activation,
            **layer_entries(self.layer),
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
