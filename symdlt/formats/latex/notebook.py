"""What notebooks show: display mathematics, cut off where it would flood the page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from symdlt.derivation import ForwardEquation, RecursionSystem, StackForwardEquation
from symdlt.derivation.response.symbolic.layer_equations import LayerEquations
from symdlt.derivation.stacks import StackRecursion
from symdlt.formats.latex.documents import Printable
from symdlt.formats.latex.forward import forward_latex
from symdlt.formats.latex.layers import layer_equation_latex
from symdlt.formats.latex.norm_forward import forward_equation_latex
from symdlt.formats.latex.notation import Conventions
from symdlt.formats.latex.recursions import recursion_latex
from symdlt.formats.latex.stacks import step_latex

# By convention: what fits on a screen, and the tensors of the book.
MOST_TERMS = 12
MOST_RECURSIONS = 13  # those of the book; more of them nobody reads in a cell


def notebook_latex(what: Printable) -> str:
    """Display mathematics of a dozen terms an equation at most; `to_latex` gives it all."""
    bodies = _bodies(what)
    parts = [f"\\begin{{aligned}}{body()}\\end{{aligned}}" for body in bodies[:MOST_RECURSIONS]]
    if len(parts) < len(bodies):
        parts.append(rf"\cdots\ \text{{({len(bodies) - len(parts)} more recursions)}}")
    body = parts[0] if len(parts) == 1 else _column(parts)
    return f"$\\displaystyle {body}$"


def _bodies(what: Printable) -> list[Callable[[], str]]:
    """What prints the equations, one after the other."""
    use = Conventions()
    if isinstance(what, LayerEquations):
        return [partial(layer_equation_latex, one, what, use, MOST_TERMS) for one in what.equations]
    if isinstance(what, StackRecursion):
        return [partial(step_latex, one, use, MOST_TERMS) for one in what.equations]
    if isinstance(what, StackForwardEquation):
        return [partial(forward_equation_latex, one, use, MOST_TERMS) for one in what.equations]
    if isinstance(what, ForwardEquation):
        return [partial(forward_latex, what, use, MOST_TERMS)]
    recursions = what.recursions if isinstance(what, RecursionSystem) else (what,)
    return [partial(recursion_latex, one, use, MOST_TERMS) for one in recursions]


def _column(parts: list[str]) -> str:
    return "\\begin{array}{l}" + " \\\\[1ex]\n".join(parts) + "\\end{array}"
