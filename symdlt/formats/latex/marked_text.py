"""Words with formulas between back quotes, in which symbols stand as equations name them."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace

from symdlt.definitions import NAMED, SCALES
from symdlt.formats.latex.layer_symbols import (
    LAYER,
    between_latex,
    constant_latex,
    field_latex,
    function_latex,
    kernel_letter,
    symbol_latex,
    width_latex,
)
from symdlt.formats.latex.notation import Conventions, power, sigma, tensor_text

_MARKED = re.compile("`([^`]*)`")
_SCALE = rf"(?:{'|'.join((*SCALES, 'scale'))})\(\w+\)"  # what one field is multiplied with, c(h)
_TOKEN = re.compile(
    r"(?P<mean><[^>]*>)"
    r"|(?P<symbol>(?:Y(?:\^\(\w+\))?_\d+\[[^\]]*\]|Q?[A-Z][H3]?(?:\.1)?(?:\^\w*m|\^\([\w',]+\))?_\d[\d,+a-z]*)"
    rf"|{_SCALE}(?:\^m)?_\d(?:\+\w)?)(?:\^(?P<power>\d))?"
    rf"|(?P<scale>{_SCALE}(?:\^m)?)(?!\w)"
    r"|(?P<factor>[^\W\d_]\w*?'*(?:\(\w+(?:\(\w+\))?\))?(?:\^m)?_\d(?:\+\w)?(?:\^\d)?)"
    r"|(?P<above>\^\([^)]*\))"
    r"|(?P<word>[^\W\d]\w*(?:\.1)?(?:\^\w*m)?'*)"
    r"|(?P<number>\d+/\d+)"
    r"|(?P<other>>=|.)"
)
_HEAD = re.compile(r"(?P<part>Q?)(?P<letter>[A-Z]3?)(?P<piece>\.1)?(?:\^(?P<other>\w*)m)?")
_SIGNS = {">=": r"\ge ", "l": r"\ell"}


def marked_latex(text: str, constants: Container[str], use: Conventions) -> str:
    r"""The text with its formulas in LaTeX.

    Args:
        text: words, and formulas between back quotes.
        constants: the symbols of the layer, which are neither fields nor tensors.
        use: choices of notation.

    >>> marked_latex("`n'` times `QV_1234`", (), Conventions(sample=""))
    '$n_{\\ell-1}$ times $V_{(12)(34)}^{Q(\\ell)}$'
    """
    words = _MARKED.split(text.replace("…", r"\ldots{}"))
    return "".join(
        f"${formula_latex(part, constants, use)}$" if place % 2 else part
        for place, part in enumerate(words)
    )


def formula_latex(text: str, constants: Container[str], use: Conventions) -> str:
    """A formula, symbol by symbol."""
    return "".join(_token(match, constants, use) for match in _TOKEN.finditer(text))


def _token(match: re.Match[str], constants: Container[str], use: Conventions) -> str:
    text = match[0]
    name = text.partition("^")[0]
    if name in constants:
        exponent = int(text.partition("^")[2] or 1)
        return power(constant_latex(name, ""), exponent)
    if match["symbol"]:
        return power(symbol_latex(match["symbol"], LAYER, use), int(match["power"] or 1))
    if match["scale"]:
        letter, field = name.rstrip(")").split("(")
        return rf"{letter}^{{{field_latex(field)}{'(m)' * text.endswith('^m')}}}"
    if match["mean"] and "_" in text:
        return symbol_latex(text, LAYER, use)
    if match["mean"]:
        return rf"\left\langle {text[1:-1]}\right\rangle"
    if match["factor"]:
        return function_latex(text, use)
    if match["above"]:
        return f"^{{{text[2:-1]}}}"
    if match["number"]:
        return constant_latex(text, "")
    return _word(text, use) if match["word"] else _SIGNS.get(text, text)


def _word(text: str, use: Conventions) -> str:
    """The letter of a tensor, a width, a field, or what is told of functions."""
    known = _HEAD.fullmatch(text)
    if known and known["letter"] in NAMED and text != "Q":
        if known["other"] is not None:
            return kernel_letter(known["letter"], use) + between_latex(known["other"])
        piece = 1 if known["piece"] else 0
        alone = replace(use, layers=False)
        return tensor_text(NAMED[known["letter"]], piece, None, "", alone, known["part"])
    if re.fullmatch(r"n'?|n_\w+", text):
        return width_latex(text)
    if text.startswith("sum_"):
        return rf"\sum_{{{text.removeprefix('sum_')}}}"
    stem, later, _ = text.partition("^m")
    bare = stem.rstrip("'")
    if bare == "s":
        return sigma(len(stem) - 1, "") + r"^{(m)}" * bool(later)
    return _SIGNS.get(text) or field_latex(stem) + "^{(m)}" * bool(later)
