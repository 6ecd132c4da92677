"""Formulas set apart, and text between them, with the letters of the user."""

from __future__ import annotations

import re

from symdlt.formats.latex.notation import Conventions, renamed

PRIMED = r"""A prime on a tensor says that it is of layer~$\ell+1$; without one it is of
layer~$\ell$. """


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
