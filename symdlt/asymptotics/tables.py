"""Asymptotic solutions as text and as LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import sympy as sp

from symdlt.asymptotics.asymptotes import Asymptote
from symdlt.definitions import split_subleading, tensor
from symdlt.formats.latex import Conventions, renamed, tensor_name
from symdlt.tables import text_table

# Digits of a table, a convention.
SHOWN = 10
# Of one display: TeX breaks pages between displays only. Convention.
MOST_ROWS = 10
# A display of an article is as wide as this; convention.
SHOWN_IN_DISPLAYS = 8
# In columns of a paper there is room for fewer.
SHOWN_IN_COLUMNS = 4
# Of powers of ℓ and L, a convention.
POWERS = 6
# Narrow gaps, so that it fits the column of an article.
COLUMNS = r"@{}l@{\quad}r@{\quad}l@{\ \ }l@{\ \ }l@{}"
LATEX_NAMES = {
    "p_perp": r"p_\perp",
    "l": r"\ell",
}


def table(tensors: Sequence[Asymptote]) -> list[str]:
    """A line for each tensor, under the heads of the columns."""
    heads = ("tensor", "p", "coefficient of l^-p", "dimensionless ratio", "")
    return text_table([heads, *map(_row, tensors)], left=len(heads))


def _row(a: Asymptote) -> tuple[str, str, str, str, str]:
    if a.coefficient == 0:
        return a.name, "", "0", a.ratio if a.order else "", "-> 0" if a.order else ""
    logs = f" * log(l){_exponent(a.log_power)}" if a.log_power else ""
    scale = _scale(a)
    number = short_text(a.ratio_coefficient)
    number = f"({number})" if sp.sympify(a.ratio_coefficient).is_Add else number
    ratio = number + (f" * {scale}" if scale else "") + logs
    ratios = (a.ratio, f"-> {ratio}") if a.order else ("", "")
    return a.name, short_text(a.exponent), short_text(a.coefficient) + logs, *ratios


def _scale(a: Asymptote) -> str:
    """The power of ℓ and of 1/n of a ratio: "(l/n)", "(1/(l n))"."""
    depth = f"l{_exponent(abs(a.ratio_power))}" if a.ratio_power else ""
    width = f"n{_exponent(a.order)}" if a.order else ""
    above = depth if a.ratio_power > 0 else ""
    below = [part for part in ("" if above else depth, width) if part]
    if not below:
        return above
    under = below[0] if len(below) == 1 else f"({' '.join(below)})"
    return f"{above or '1'}/{under}"


def _exponent(power: sp.Expr | int) -> str:
    return "" if power == 1 else f"^{power}"


def short_text(expression: sp.Expr) -> str:
    """A number or a formula with ten digits of what is in floating point."""
    return str(sp.sstr(_short(expression))).replace("**", "^")


def _short(expression: sp.Expr, digits: int = SHOWN) -> sp.Expr:
    """With so many digits of what is in floating point."""
    expression = sp.sympify(expression)
    rounded = {x: sp.Float(x, digits) for x in expression.atoms(sp.Float)}
    return expression.xreplace(
        {x: sp.Integer(1) if float(y) == 1.0 else y for x, y in rounded.items()}
    )


def latex(
    tensors: Sequence[Asymptote],
    settings: Sequence[tuple[str, sp.Expr]],
    values: Mapping[str, sp.Expr],
    use: Conventions,
    *,
    tabular: bool = False,
    most: int | None = MOST_ROWS,
) -> str:
    """Displays: the settings, each tensor, and its ratio if it is suppressed by 1/n.

    Or a table with a row for each tensor: power of ℓ, coefficient, ratio; then the settings.

    Args:
        tensors: what is printed.
        settings: of C_b, C_W and learning rates.
        values: what describes the activation; p_perp is in powers of the depth L.
        use: choices of notation.
        tabular: a table.
        most: rows of one display; all of them if None.
    """
    formulas = [value for _, value in settings] + [values.get("p_perp", sp.Integer(1))]
    free = _symbols(tensors).union(*(sp.sympify(one).free_symbols for one in formulas))
    letters = dict(use.letters)
    known = LATEX_NAMES | {"K": f"{use.kernel}_1"}
    rates = {s.name for s in free if s.name.startswith("lambda_")}
    known |= {k: rf"\widetilde{{\lambda}}_{_subscript(k)}" for k in rates}
    known |= {k: rf"\widetilde{{{letters[k]}}}" for k in rates if k in letters}
    names = {s: known[s.name] for s in sorted(free, key=str) if s.name in known}
    plain = replace(use, layers=False, letters=())
    digits = SHOWN_IN_COLUMNS if tabular else SHOWN_IN_DISPLAYS
    deep = sp.sympify(values.get("p_perp", 1)) - 1
    rows = [_LatexRow.of(asymptote, names, plain, digits, deep) for asymptote in tensors]
    set_to = [
        (_setting(name), sp.latex(_short(value, digits), symbol_names=names))
        for name, value in settings
    ]
    if any(symbol.name == "K" for symbol in names):
        set_to.append((f"{use.kernel}_1", f"{use.kernel}^{{(1)}}"))
    if not tabular:
        lines = [f"{name} &= {value}" for name, value in set_to]
        lines += [line for row in rows for line in row.equations()]
        step = most or len(lines)
        parts = (" \\\\\n".join(lines[k : k + step]) for k in range(0, len(lines), step))
        shown = "\n".join(f"\\begin{{align*}}\n{part}\n\\end{{align*}}" for part in parts)
        return renamed(shown, use)
    heads = r"& power of $\ell$ & coefficient & ratio & behaviour \\ \hline \noalign{\vskip 1ex}"
    body = " \\\\[0.8ex]\n".join(map(_LatexRow.cells, rows))
    told = ", ".join(f"${name} = {value}$" for name, value in set_to)
    body += f" \\\\ \\hline \\noalign{{\\vskip 1ex}}\n\\multicolumn{{5}}{{@{{}}l@{{}}}}{{{told}}}"
    return renamed(f"\\begin{{tabular}}{{{COLUMNS}}}\n{heads}\n{body}\n\\end{{tabular}}", use)


def _setting(name: str) -> str:
    """A variance, or a learning rate of a layer, whose name ends with "(l)"."""
    if name.endswith("(l)"):
        return rf"\lambda_{_subscript(name.removesuffix('(l)'))}^{{(\ell)}}"
    return f"C_{_subscript(name)}"


def _subscript(name: str) -> str:
    letter = name.partition("_")[2]
    return letter if len(letter) == 1 else f"{{{letter}}}"


@dataclass(frozen=True, slots=True)
class _LatexRow:
    """What is written of one asymptote: the tensor, how it scales, its ratio, how that scales."""

    letter: str
    power: str
    coefficient: str
    scale: tuple[str, ...]
    ratio: str
    behaviour: tuple[str, ...]

    @classmethod
    def of(
        cls,
        a: Asymptote,
        names: Mapping[sp.Symbol, str],
        use: Conventions,
        digits: int,
        deep: sp.Expr,
    ) -> _LatexRow:
        name, piece = split_subleading(a.name)
        letter = tensor_name(tensor(name), piece or 0, use)
        letter = f"{{{letter}}}" if piece else letter  # before another superscript
        if a.coefficient == 0:
            return cls(letter, "", "0", (), "", ())
        logs = (_latex_power(r"\log", a.log_power) + r" \ell",) if a.log_power else ()
        # Powers differ by small numbers, which rounding must leave there.
        power = sp.latex(-_short(a.exponent, max(digits, POWERS)), symbol_names=names)
        depth = (_latex_power(r"\ell", power),) if a.exponent != 0 else ()
        value = _latex_factor(a.coefficient, names, digits)
        if a.edges and deep != 0:
            exponent = sp.latex(_short(a.edges * deep, max(digits, POWERS)), symbol_names=names)
            value += rf"\,{_latex_power('L', exponent)}"
        if not a.order:
            return cls(letter, power, value, (*depth, *logs), "", ())
        ratio = _latex_factor(a.ratio_coefficient, names, digits)
        behaviour = (ratio, _latex_scale(a), *logs)
        return cls(letter, power, value, (*depth, *logs), _latex_ratio(a, letter, use), behaviour)

    def equations(self) -> list[str]:
        """The tensor at layer ℓ, and its ratio."""
        if not self.power:
            return [rf"{self.letter}^{{(\ell)}} &= 0"]
        first = _latex_row(rf"{self.letter}^{{(\ell)}}", (self.coefficient, *self.scale))
        return [first, *([_latex_row(self.ratio, self.behaviour)] if self.ratio else [])]

    def cells(self) -> str:
        """One row of a table, with fractions small."""
        behaviour = _product(self.behaviour)
        shown = (self.letter, self.power, self.coefficient, self.ratio, behaviour)
        return " & ".join(f"${text}$" if text else "" for text in shown)


def _latex_factor(value: sp.Expr, names: Mapping[sp.Symbol, str], digits: int) -> str:
    """A number that other factors follow."""
    text = str(sp.latex(_short(value, digits), symbol_names=names))
    return rf"\left({text}\right)" if sp.sympify(value).is_Add else text


def _latex_row(left: str, factors: Sequence[str]) -> str:
    return f"{left} &= " + _product(factors) + r" + \cdots"


def _product(factors: Sequence[str]) -> str:
    """Factors one after another, without a 1 in front of others."""
    return r"\,".join(factors[1:] if len(factors) > 1 and factors[0] == "1" else factors)


def _symbols(tensors: Sequence[Asymptote]) -> set[sp.Symbol]:
    symbols: set[sp.Symbol] = set()
    for a in tensors:
        for expression in (a.exponent, a.coefficient, a.ratio_coefficient):
            symbols |= sp.sympify(expression).free_symbols
    return symbols


def _latex_ratio(a: Asymptote, letter: str, use: Conventions) -> str:
    power = a.edges - a.pairs
    above = [letter, *_factor(use.kernel, power)]
    frozen = _factor(use.frozen_ntk, a.edges)
    below = [*_factor("n", a.order), *_factor(use.kernel, -power), *frozen]
    return rf"\frac{{{' '.join(above)}}}{{{' '.join(below)}}}"


def _latex_scale(a: Asymptote) -> str:
    above = _factor(r"\ell", a.ratio_power) or ["1"]
    below = [*_factor(r"\ell", -a.ratio_power), *_factor("n", a.order)]
    return rf"\frac{{{' '.join(above)}}}{{{' '.join(below)}}}"


def _factor(name: str, exponent: int) -> list[str]:
    return [_latex_power(name, exponent)] if exponent > 0 else []


def _latex_power(name: str, exponent: sp.Expr | str | int) -> str:
    return name if str(exponent) == "1" else f"{name}^{{{exponent}}}"
