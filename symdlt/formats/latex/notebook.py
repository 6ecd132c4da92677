"""What notebooks show: display mathematics, cut off where it would flood the page."""

from __future__ import annotations

from collections.abc import Sequence

from symdlt.derivation import ForwardEquation, Recursion, RecursionSystem
from symdlt.derivation.stacks import StackRecursion, StepRecursion
from symdlt.formats.latex.forward import forward_latex
from symdlt.formats.latex.notation import Conventions
from symdlt.formats.latex.recursions import recursion_latex
from symdlt.formats.latex.stacks import step_latex

Equation = Recursion | ForwardEquation | StepRecursion

# By convention: what fits on a screen, and the tensors of the book.
MOST_TERMS = 12
MOST_RECURSIONS = 13  # those of the book; more of them nobody reads in a cell


def notebook_latex(what: Recursion | RecursionSystem | ForwardEquation | StackRecursion) -> str:
    """Display mathematics of a dozen terms an equation at most; `to_latex` gives it all."""
    equations: Sequence[Equation] = (what,) if isinstance(what, Recursion | ForwardEquation) else ()
    if isinstance(what, RecursionSystem):
        equations = what.recursions
    elif isinstance(what, StackRecursion):
        equations = what.equations
    shown = equations[:MOST_RECURSIONS]
    bodies = map(_body, shown)
    parts = [f"\\begin{{aligned}}{body}\\end{{aligned}}" for body in bodies]
    if len(shown) < len(equations):
        parts.append(rf"\cdots\ \text{{({len(equations) - len(shown)} more recursions)}}")
    body = parts[0] if len(parts) == 1 else _column(parts)
    return f"$\\displaystyle {body}$"


def _body(equation: Equation) -> str:
    if isinstance(equation, Recursion):
        return recursion_latex(equation, Conventions(), MOST_TERMS)
    if isinstance(equation, StepRecursion):
        return step_latex(equation, Conventions(), MOST_TERMS)
    return forward_latex(equation, Conventions(), MOST_TERMS)


def _column(parts: list[str]) -> str:
    return "\\begin{array}{l}" + " \\\\[1ex]\n".join(parts) + "\\end{array}"
