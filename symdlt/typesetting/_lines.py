"""Breaking sums of products over lines by their estimated widths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_]|\S")
_NO_WIDTH = frozenset(
    (r"\left", r"\right", r"\widehat", r"\mathrm", r"\mathcal", r"\frac", r"\in", r"\big", "'")
)
_GLYPH, _SCRIPT, _SPACE = 7.2, 5.2, 3.0


def estimated_width(latex: str) -> float:
    r"""The width of a formula in points at 10pt, rather too large than too small.

    >>> estimated_width("V_{12}") < estimated_width("V_{1234}")
    True
    """
    width, depth, scripts = 0.0, 0, []
    level = 0
    pending = False
    for token in _TOKEN.findall(latex):
        if token in "^_":
            pending = True
        elif token == "{":
            scripts.append(pending)
            level += pending
            pending = False
            depth += 1
        elif token == "}":
            level -= scripts.pop() if scripts else 0
            depth -= 1
        else:
            wide = 2.0 if token in (r"\sum", r"\langle", r"\rangle", r"\times") else 1.0
            if token not in _NO_WIDTH:
                width += (_SCRIPT if level or pending else _GLYPH) * wide
            pending = False
    return width + _SPACE


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
                line, used, piece, taken = "", 0.0, r"\qquad\times ", 40.0
            piece, taken = piece + factor + r"\,", taken + width
        line, used = line + piece.removesuffix(r"\,") + " ", used + taken
    if line:
        yield line
