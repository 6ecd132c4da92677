r"""Sums of products, broken over lines by their estimated widths, and set apart from text.

A sum is a tuple of groups, $\pm\,\text{prefix}\,[\pm\text{product}\pm\cdots]$. It is broken before
groups; where a group is too wide, before the products in its brackets; and where a product is too
wide, between two factors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from symdlt.formats.latex.notation import Conventions, renamed
from symdlt.formats.latex.widths import estimated_width

_INNER = (r"\left", r"\frac", r"\tfrac", r"\sum")
_INDENT = ("", r"\quad ", r"\qquad ", r"\qquad\quad ")
_TIMES = r"\times "
_LONG_HEAD = 75.0  # points; a longer left side has the terms below it, not beside it
_EQUALS = 14.0  # points that an equals sign takes with its spaces

PRIMED = r"""A prime on a tensor says that it is of layer~$\ell+1$; without one it is of
layer~$\ell$. """


@dataclass(frozen=True, slots=True)
class Product:
    """A product with its sign; where it must be broken, it is best broken before the tail."""

    negative: bool
    factors: tuple[str, ...]
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Products in brackets behind common factors; a single product has no brackets."""

    negative: bool
    prefix: tuple[str, ...]
    products: tuple[Product, ...]


@dataclass(slots=True)
class _Piece:
    """What is never broken: its text, what joins it to the one before, what leads a new line."""

    text: str
    joint: str
    lead: str
    indent: int
    width: float


_Clause = tuple[_Piece, ...]


def _piece(text: str, joint: str, lead: str, indent: int) -> _Piece:
    return _Piece(text, joint, lead, indent, estimated_width(text) + estimated_width(joint))


@dataclass(slots=True)
class _Page:
    """Lines being filled; the first may have less room than the others."""

    rooms: tuple[float, float]
    lines: list[str] = field(default_factory=lambda: [""])
    used: float = 0.0
    bare: bool = True

    def room(self) -> float:
        return self.rooms[len(self.lines) > 1]

    def fits(self, pieces: Sequence[_Piece]) -> bool:
        return self.used + sum([piece.width for piece in pieces]) <= self.room()

    def place(self, clauses: Sequence[_Clause]) -> None:
        """Put clauses on the line if they fit, else on a new line, else one after another."""
        pieces = [piece for clause in clauses for piece in clause]
        if not self.fits(pieces):
            self.start(pieces[0])
        if self.fits(pieces):
            for piece in pieces:
                self.append(piece)
        elif len(clauses) > 1:
            for clause in clauses:
                self.place((clause,))
        else:
            for piece in pieces:
                if not self.fits((piece,)):
                    self.start(piece)
                self.append(piece)

    def start(self, piece: _Piece) -> None:
        """Begin a new line with the piece, unless this one is empty."""
        if not self.bare:
            self.lines.append(_INDENT[piece.indent] + piece.lead)
            self.used = 10.0 * piece.indent + estimated_width(piece.lead)
            self.bare = True

    def append(self, piece: _Piece) -> None:
        self.lines[-1] += piece.text if self.bare else piece.joint + piece.text
        self.used += piece.width
        self.bare = False


def equation_lines(head: str, groups: Sequence[Group], width: float) -> str:
    """The equation `head = groups` as lines of an `align` body.

    Lines are aligned at the equals sign, or hang from the left margin if the head is long.

    Args:
        head: the left-hand side.
        groups: the right-hand side; none for zero.
        width: the width of a line in points.
    """
    taken = estimated_width(head) + _EQUALS
    hanging = taken > _LONG_HEAD
    page = _Page((width - taken, width if hanging else width - taken))
    clauses = [_clauses(group, first=k == 0) for k, group in enumerate(groups)]
    flat = [clause for group in clauses for clause in group]
    if sum(piece.width for clause in flat for piece in clause) <= page.room():
        page.place(flat)
    else:
        for k, group in enumerate(clauses):
            if k:
                page.start(group[0][0])
            page.place(group)
    first, *rest = page.lines
    start = f"&{head} = " if hanging else f"{head} &= "
    return " \\\\\n".join([start + (first.strip() or "0"), *("&" + line for line in rest)])


def _clauses(group: Group, *, first: bool) -> list[_Clause]:
    """The group, split where it is broken first: before the brackets and the terms in them."""
    sign = "-" if group.negative else "" if first else "+"
    if len(group.products) == 1:
        (only,) = group.products
        start = len(group.prefix) + len(only.factors)
        pieces = tuple(_pieces(sign, (*group.prefix, *only.factors, *only.tail), 1))
        return [part for part in (pieces[:start], pieces[start:]) if part]
    (opening, *others) = group.products
    opened = _bracketed((*opening.factors, *opening.tail))
    clauses = [tuple(_pieces("", opened, 2))]
    if group.prefix:
        inside = clauses[0][0]
        spaced = _piece(inside.text, joint(group.prefix[-1], inside.text), _TIMES, 2)
        clauses = [tuple(_pieces(sign, group.prefix, 1)), (spaced, *clauses[0][1:])]
    for product in others:
        factors = (*product.factors, *product.tail) or ("1",)
        clauses.append(tuple(_pieces("-" if product.negative else "+", factors, 2)))
    *earlier, last = clauses[-1]
    closed = _piece(last.text + "\\Bigr]", last.joint, last.lead, last.indent)
    return [*clauses[:-1], (*earlier, closed)]


def _bracketed(factors: tuple[str, ...]) -> tuple[str, ...]:
    first, *rest = factors or ("1",)
    return (r"\Bigl[" + first, *rest)


def _pieces(sign: str, factors: Sequence[str], indent: int) -> Iterator[_Piece]:
    """The first factor with the sign, then the others with what joins each to the one before."""
    first, *rest = factors
    yield _piece(f"{sign} {first}".strip(), " ", "", indent)
    for before, factor in pairwise((first, *rest)):
        yield _piece(factor, joint(before, factor), _TIMES, indent + 1)


def joint(before: str, after: str) -> str:
    r"""A thin space where TeX sets none of its own between two factors."""
    last = before.removeprefix(r"\Bigl[")
    own = last.startswith(_INNER) or after.startswith((*_INNER, r"\Bigl")) or last.isdigit()
    return " " if own else r"\,"


def product_text(factors: Iterable[str]) -> str:
    r"""Factors one after another.

    >>> product_text(["C_W", "K", r"\frac{1}{2}"])
    'C_W\\,K \\frac{1}{2}'
    """
    listed = list(factors)
    text = "".join(listed[:1])
    for before, factor in pairwise(listed):
        text += joint(before, factor) + factor
    return text


def displayed(body: str, use: Conventions, label: str = "") -> str:
    """Lines of an `align` body as an environment, numbered where there is a label."""
    body = renamed(body, use)
    if not label:
        return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"
    rows = body.replace(" \\\\\n", " \\nonumber \\\\\n")
    return f"\\begin{{align}}\n{rows} \\label{{eq:{label}}}\n\\end{{align}}"


def prose(text: str, use: Conventions) -> str:
    """A text with letters of the user in its formulas."""
    return re.sub(r"\$[^$]+\$", lambda match: renamed(match[0], use), text)
