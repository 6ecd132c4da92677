"""Asymptotic solutions as text and as LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from symdlt.asymptotics.asymptotes import Asymptote

# Digits of a table, a convention.
SHOWN = 10
LATEX_NAMES = {
    "lambda_b": r"\widetilde{\lambda}_b",
    "lambda_W": r"\widetilde{\lambda}_W",
    "p_perp": r"p_\perp",
    "l": r"\ell",
}


def table(tensors: Sequence[Asymptote]) -> list[str]:
    """A line for each tensor, under the heads of the columns."""
    heads = ("tensor", "p", "coefficient of l^-p", "dimensionless ratio", "")
    rows = [heads, *map(_row, tensors)]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[4]]).rstrip())
    return lines


def _row(a: Asymptote) -> tuple[str, str, str, str, str]:
    if a.coefficient == 0:
        return a.name, "", "0", a.ratio if a.order else "", "-> 0" if a.order else ""
    logs = f" * log(l){_exponent(a.log_power)}" if a.log_power else ""
    scale = _scale(a)
    ratio = short_text(a.ratio_coefficient) + (f" * {scale}" if scale else "") + logs
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


def _exponent(power: Any) -> str:
    return "" if power == 1 else f"^{power}"


def short_text(expression: Any) -> str:
    """A number or a formula with ten digits of what is in floating point."""
    return str(sp.sstr(_short(expression))).replace("**", "^")


def _short(expression: Any) -> Any:
    """With ten digits of what is in floating point."""
    expression = sp.sympify(expression)
    rounded = {x: sp.Float(x, SHOWN) for x in expression.atoms(sp.Float)}
    return expression.xreplace(
        {x: sp.Integer(1) if float(y) == 1.0 else y for x, y in rounded.items()}
    )


def latex(tensors: Sequence[Asymptote]) -> str:
    """A display: each tensor, and its dimensionless ratio if it is suppressed by 1/n."""
    names = {
        symbol: LATEX_NAMES[symbol.name]
        for symbol in sorted(_symbols(tensors), key=str)
        if symbol.name in LATEX_NAMES
    }
    rows = []
    for a in tensors:
        if a.coefficient == 0:
            rows.append(rf"{_letter(a.name)}^{{(\ell)}} &= 0")
            continue
        logs = [_latex_power(r"\log", a.log_power) + r" \ell"] if a.log_power else []
        power = sp.latex(-_short(a.exponent), symbol_names=names)
        depth = [_latex_power(r"\ell", power)] if a.exponent != 0 else []
        value = _latex_factor(a.coefficient, names)
        rows.append(_latex_row(rf"{_letter(a.name)}^{{(\ell)}}", [value, *depth, *logs]))
        if a.order:
            ratio = _latex_factor(a.ratio_coefficient, names)
            rows.append(_latex_row(_latex_ratio(a), [ratio, _latex_scale(a), *logs]))
    body = " \\\\\n".join(rows)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _latex_factor(value: Any, names: dict[Any, str]) -> str:
    """A number that other factors follow."""
    text = str(sp.latex(_short(value), symbol_names=names))
    return rf"\left({text}\right)" if sp.sympify(value).is_Add else text


def _latex_row(left: str, factors: list[str]) -> str:
    return f"{left} &= " + r"\,".join(factors) + r" + \cdots"


def _symbols(tensors: Sequence[Asymptote]) -> set[Any]:
    symbols: set[Any] = set()
    for a in tensors:
        for expression in (a.exponent, a.coefficient, a.ratio_coefficient):
            symbols |= sp.sympify(expression).free_symbols
    return symbols


def _letter(name: str) -> str:
    """K and Θ for the leading metric and NTK, otherwise the tensor's own name."""
    return {"G": "K", "H": r"\Theta"}.get(name, name if len(name) == 1 else rf"\text{{{name}}}")


def _latex_ratio(a: Asymptote) -> str:
    power = a.edges - a.pairs
    above = [_letter(a.name), *_factor("K", power)]
    below = [*_factor("n", a.order), *_factor("K", -power), *_factor(r"\Theta", a.edges)]
    return rf"\frac{{{' '.join(above)}}}{{{' '.join(below)}}}"


def _latex_scale(a: Asymptote) -> str:
    above = _factor(r"\ell", a.ratio_power) or ["1"]
    below = [*_factor(r"\ell", -a.ratio_power), *_factor("n", a.order)]
    return rf"\frac{{{' '.join(above)}}}{{{' '.join(below)}}}"


def _factor(name: str, exponent: int) -> list[str]:
    return [_latex_power(name, exponent)] if exponent > 0 else []


def _latex_power(name: str, exponent: Any) -> str:
    return name if str(exponent) == "1" else f"{name}^{{{exponent}}}"
