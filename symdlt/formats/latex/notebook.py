"""What notebooks show: display mathematics, cut off where it would flood the page."""

from __future__ import annotations

from symdlt.formats.latex.documents import Printable, bodies
from symdlt.formats.latex.notation import Conventions

# By convention: what fits on a screen, and the tensors of the book.
MOST_TERMS = 12
MOST_RECURSIONS = 13  # those of the book; more of them nobody reads in a cell


def notebook_latex(what: Printable) -> str:
    """Display mathematics of a dozen terms an equation at most; `to_latex` gives it all."""
    printed = bodies(what, Conventions(), MOST_TERMS)
    shown = (body() for _, body in printed[:MOST_RECURSIONS])
    parts = [f"\\begin{{aligned}}{body}\\end{{aligned}}" for body in shown]
    if len(parts) < len(printed):
        parts.append(rf"\cdots\ \text{{({len(printed) - len(parts)} more recursions)}}")
    body = parts[0] if len(parts) == 1 else _column(parts)
    return f"$\\displaystyle {body}$"


def _column(parts: list[str]) -> str:
    return "\\begin{array}{l}" + " \\\\[1ex]\n".join(parts) + "\\end{array}"
