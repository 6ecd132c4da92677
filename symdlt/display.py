"""What notebooks show: display mathematics, cut off where it would flood the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symdlt.recursions import Recursion, RecursionSystem

MOST_TERMS = 12
MOST_RECURSIONS = 13


def latex_for_display(what: Recursion | RecursionSystem) -> str:
    """Display mathematics of a dozen terms a recursion at most; `to_latex` gives it all."""
    from symdlt.recursions import Recursion
    from symdlt.typesetting import Conventions, recursion_latex

    recursions = (what,) if isinstance(what, Recursion) else what.recursions
    shown = recursions[:MOST_RECURSIONS]
    parts = [
        f"\\begin{{aligned}}{recursion_latex(recursion, Conventions(), MOST_TERMS)}\\end{{aligned}}"
        for recursion in shown
    ]
    if len(shown) < len(recursions):
        parts.append(rf"\cdots\ \text{{({len(recursions) - len(shown)} more recursions)}}")
    body = parts[0] if len(parts) == 1 else _column(parts)
    return f"$\\displaystyle {body}$"


def _column(parts: list[str]) -> str:
    return "\\begin{array}{l}" + " \\\\[1ex]\n".join(parts) + "\\end{array}"
