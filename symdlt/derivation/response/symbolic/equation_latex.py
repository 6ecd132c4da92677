"""The text of equations of layers in LaTeX, symbol by symbol."""

from __future__ import annotations

import re

from symdlt.algebra.names import GREEK

# A bracket, a noise with its function, a ratio, or a word without blanks; each with its power.
_PARTS = re.compile(r"<[^>]*>(?:\^\d+)?|Q?Y_[^\s\[]+\[[^\]]*\](?:\^\d+)?|\([^)]*\)|\S+")
_POWER = re.compile(r"(?P<base>.*[^\^])\^(?P<power>-?\d+)$")
_FACTOR = re.compile(
    r"(?P<name>[^\W\d_]\w*?)(?P<order>'*|\^\(\d+\))"
    r"(?:\((?:(?P<norm>\w+)\((?P<inner>\w+)(?:\^m)?\)|(?P<field>\w+)(?:\^m)?)\))?"
    r"(?P<later>\^m)?_(?P<at>\w(?:\+\w)?)$"
)
ROW = 75  # letters of text that fit into a row of LaTeX; measured at 10pt
_LETTERS = {"G": "K", "H": r"\Theta", **{name: rf"\{name}" for name in GREEK.values()}}


def term_latex(text: str) -> str:
    """A term of the text in LaTeX."""
    sign, body = ("- ", text[1:]) if text[0] == "-" else ("", text)
    factors = []
    for part in _PARTS.findall(body):
        power = _POWER.match(part)
        if power is None:
            factors.append(symbol_latex(part))
        elif part[0] in "<Y" or "^" in power["base"] or _is_tensor(part):
            factors.append(rf"\left({symbol_latex(power['base'])}\right)^{_above(power['power'])}")
        else:
            factors.append(_latex_constant(part))
    return sign + r" \, ".join(factors)


def _is_tensor(name: str) -> bool:
    return "_" in name and name[0].isupper() and name[0] not in "C"


def _above(power: str) -> str:
    """An exponent."""
    return power if len(power) == 1 else f"{{{power}}}"


def symbol_latex(name: str) -> str:
    """A symbol of the text in LaTeX."""
    widths = {"n": r"n_{\ell}", "n'": r"n_{\ell-1}"}
    if name in widths:
        return widths[name]
    if name[0] == "<":
        return rf"\left\langle {_latex_function(name[1:-1])}\right\rangle"
    if name[0] == "(":
        over, *under = name[1:-1].split("/")
        above = " ".join(map(_latex_constant, over.split()))
        return rf"\frac{{{above}}}{{{' '.join(map(_latex_constant, under))}}}"
    if name.startswith("sum_"):
        return rf"\sum_{{{name.removeprefix('sum_')}}}"
    if name[0].isdigit():
        above, slash, below = name.partition("/")
        return rf"\tfrac{{{above}}}{{{below}}}" if slash else above
    if name.startswith("Y_"):
        legs, _, inside = name[2:].rstrip("]").partition("[")
        function, _, edges = inside.partition("; ")
        above = rf"^{{({edges})}}" if edges else ""
        return rf"Y_{{{legs}}}{above}[{_latex_function(function)}]"
    head, _, tail = name.partition("_")
    letter, _, mark = head.partition("^")
    if letter.endswith(".1"):
        return rf"{letter[:-2]}^{{\{{1\}}}}_{{{tail}}}"
    letter = _LETTERS.get(letter, letter)
    if letter[0] == "Q" and len(letter) > 1:
        letter = rf"\widehat{{{letter[1:]}}}"
    mark = mark.replace("lm", r"\ell m") if mark in ("lm", "m", "") else f"{mark[:-1]} m"
    above = f"^{{({mark})}}" * bool(mark)
    return letter + above + (f"_{{{tail}}}" if tail else "")


def _latex_function(text: str) -> str:
    """Products of functions of fields, and sums of them."""
    summands = re.split(r"( [+-] )", text)
    return "".join(
        one if place % 2 else r" \,".join(map(_latex_factor, one.split()))
        for place, one in enumerate(summands)
    )


def _latex_constant(word: str) -> str:
    """A number or a symbol, with its power."""
    power = _POWER.match(word)
    if power is None:
        return symbol_latex(word)
    return f"{symbol_latex(power['base'])}^{_above(power['power'])}"


def _latex_factor(word: str) -> str:
    """A function of a field at a sample, the field itself, or a constant in front."""
    match = _FACTOR.match(word)
    if match is None:
        return _latex_constant(word)
    name, order, field, at = match["name"], match["order"], match["field"], match["at"]
    letter = r"\sigma" if name == "s" else name if len(name) == 1 else rf"\mathrm{{{name}}}"
    order = f"^{{{order[1:]}}}" if order[:1] == "^" else order
    later = r"^{(m)}" if "^m" in word else ""
    if match["norm"]:
        inner = rf"\mathrm{{{match['norm']}}}({match['inner']}{later}_{{{at}}})"
        return f"{letter}{order}({inner})"
    if field is None:
        return f"{letter}{order}{later}_{{{at}}}"
    return f"{letter}{order}({field}{later}_{{{at}}})"
