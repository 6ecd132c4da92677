"""What notebooks show: display mathematics, cut off where it would flood the page."""

from __future__ import annotations

from symdlt.derivation import ForwardEquation, Recursion, RecursionSystem
from symdlt.formats.latex.forward import forward_latex
from symdlt.formats.latex.notation import Conventions
from symdlt.formats.latex.recursions import recursion_latex

# By convention: what fits on a screen, and the tensors of the book.
MOST_TERMS = 12
MOST_RECURSIONS = 13  # those of the book; more of them nobody reads in a cell


def notebook_latex(what: Recursion | RecursionSystem | ForwardEquation) -> str:
    """Display mathematics of a dozen terms an equation at most; `to_latex` gives it all."""
    equations = what.recursions if isinstance(what, RecursionSystem) else (what,)
    shown = equations[:MOST_RECURSIONS]
    bodies = (
        recursion_latex(equation, Conventions(), MOST_TERMS)
        if isinstance(equation, Recursion)
        else forward_latex(equation, Conventions(), MOST_TERMS)
        for equation in shown
    )
    parts = [f"\\begin{{aligned}}{body}\\end{{aligned}}" for body in bodies]
    if len(shown) < len(equations):
        parts.append(rf"\cdots\ \text{{({len(equations) - len(shown)} more recursions)}}")
    body = parts[0] if len(parts) == 1 else _column(parts)
    return f"$\\displaystyle {body}$"


def _column(parts: list[str]) -> str:
    return "\\begin{array}{l}" + " \\\\[1ex]\n".join(parts) + "\\end{array}"
