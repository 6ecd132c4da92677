"""What notebooks show: display mathematics, cut off where it would flood the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symdlt.recursions import Recursion, RecursionSystem

MOST_TERMS = 12


def latex_for_display(what: Recursion | RecursionSystem) -> str:
    """Display mathematics of at most a dozen terms a recursion; `to_latex` gives it all."""
    from symdlt.recursions import Recursion
    from symdlt.typesetting import Conventions, recursion_latex

    recursions = (what,) if isinstance(what, Recursion) else what.recursions
    bodies = [recursion_latex(r, Conventions(), MOST_TERMS) for r in recursions]
    return "$\\displaystyle \\begin{aligned}" + " \\\\\n".join(bodies) + "\\end{aligned}$"
