"""How results show themselves in notebooks, without their rooms knowing the printer."""

from __future__ import annotations

from html import escape
from pkgutil import resolve_name

# An address, as an entry point is: what is printed lies below the room that prints it.
PRINTER = "symdlt.formats.latex.documents:notebook_latex"
TYPESETTER = "symdlt.formats.latex.documents:to_latex"
PEN = "symdlt.formats.drawings:draw"


def latex_for_display(what: object) -> str:
    """Display mathematics of a dozen terms an equation at most; `to_latex` gives it all."""
    text: str = resolve_name(PRINTER)(what)
    return text


def full_latex(what: object) -> str:
    """All of it, as `to_latex` gives it without choices of notation."""
    text: str = resolve_name(TYPESETTER)(what)
    return text


def drawing_for_display(what: object) -> str:
    """A forest or a tensor as SVG."""
    text: str = resolve_name(PEN)(what).svg
    return text


class ShownAsText:
    """Results whose text is a table: in a notebook they show it, in letters of one width."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class Explanation(str, ShownAsText):
    """A text of several lines, which a notebook shows as such."""

    __slots__ = ()
