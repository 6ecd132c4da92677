"""Breaking sums of products over lines by their estimated widths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_]|\S")
_NO_WIDTH = frozenset((r"\left", r"\right", r"\widehat", r"\mathrm", r"\mathcal", r"\text", r"\\"))
_WIDE = {r"\sum": 17.0, r"\qquad": 20.0, r"\ldots": 12.0, r"\times": 12.0, r"\,": 1.7, "'": 2.5}
_GLYPH, _SCRIPT, _SIGN = 6.0, 4.4, 12.5


def estimated_width(latex: str) -> float:
    r"""The width of a formula in points at 10pt, rather too large than too small.

    >>> estimated_width("V_{12}") < estimated_width("V_{1234}")
    True
    >>> estimated_width("V_{12}^{3}") == estimated_width("V_{12}")
    True
    """
    return _width(_TOKEN.findall(latex), _GLYPH)


def _width(tokens: list[str], glyph: float) -> float:
    """Widths add up, but scripts above and below one another count once, and so do fractions."""
    total, scripts, position = 0.0, 0.0, 0
    while position < len(tokens):
        token = tokens[position]
        if token in "^_":
            group, position = _group(tokens, position + 1)
            scripts = max(scripts, _width(group, _SCRIPT))
            continue
        total, scripts = total + scripts, 0.0
        if token == r"\frac":
            above, position = _group(tokens, position + 1)
            below, position = _group(tokens, position)
            total += max(_width(above, glyph), _width(below, glyph)) + 3.0
        elif token == "{":
            group, position = _group(tokens, position)
            total += _width(group, glyph)
        else:
            large = _SIGN if token in "+-=" and glyph == _GLYPH else glyph
            total += 0.0 if token in _NO_WIDTH else _WIDE.get(token, large)
            position += 1
    return total + scripts


def _group(tokens: list[str], start: int) -> tuple[list[str], int]:
    """The tokens of the group that starts there, without its braces, and where it ends."""
    if start >= len(tokens) or tokens[start] != "{":
        return tokens[start : start + 1], start + 1
    depth = 0
    for position in range(start, len(tokens)):
        depth += (tokens[position] == "{") - (tokens[position] == "}")
        if not depth:
            return tokens[start + 1 : position], position + 1
    return tokens[start + 1 :], len(tokens)


def broken_lines(
    terms: Iterable[tuple[str, Sequence[str]]], first: float, limit: float
) -> Iterator[str]:
    r"""Terms packed in lines no wider than the limit; a long term is broken between factors.

    Args:
        terms: sign and factors of each term.
        first: the width that the left-hand side takes from every line.
        limit: the width of a line.
    """
    room = limit - first
    line, used = "", 0.0
    for sign, factors in terms:
        whole = estimated_width(sign + " ".join(factors))
        if line and used + whole > room:
            yield line
            line, used = "", 0.0
        piece, taken = sign, estimated_width(sign)
        for factor in factors:
            width = estimated_width(factor)
            if used + taken + width > room and piece.strip() != sign.strip():
                yield line + piece
                line, used, piece, taken = "", 0.0, r"\qquad\times ", 36.0
            piece, taken = piece + factor + r"\,", taken + width
        line, used = line + piece.removesuffix(r"\,") + " ", used + taken
    if line:
        yield line
