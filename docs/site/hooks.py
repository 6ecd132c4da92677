"""What the site needs beyond Markdown: equations without a network, and pages that are made."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Equations as pymdownx.arithmatex leaves them.
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
CODE_OR_MATH = re.compile(r"(```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$)", re.DOTALL)
STARRED = re.compile(r"(?<=[Kρ])\*")
EVERY_NAME = "<!-- every public name -->"
# What the converter does not know, in words that it does.
PLAIN = {
    r"\tfrac": r"\frac",
    r"\dfrac": r"\frac",
    r"\operatorname": r"\mathrm",
    r"\Bigl": "",
    r"\Bigr": "",
    r"\bigl": "",
    r"\bigr": "",
    r"\Bigg": "",
    r"\Big": "",
    r"\!": "",
    r"\lvert": "|",
    r"\rvert": "|",
}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in the page of all public names; K* is no emphasis."""
    parts = CODE_OR_MATH.split(markdown)
    parts[::2] = [STARRED.sub(r"\\*", part) for part in parts[::2]]
    return "".join(parts).replace(EVERY_NAME, _reference() if EVERY_NAME in markdown else "")


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Equations as MathML, which browsers show by themselves."""

    def converted(found: re.Match[str]) -> str:
        from latex2mathml.converter import convert

        latex = html.unescape(found[3])
        for word, plain in PLAIN.items():
            latex = re.sub(re.escape(word) + r"(?![a-zA-Z])", lambda _, plain=plain: plain, latex)
        return convert(latex, display="block" if found[2] == "[" else "inline")

    return EQUATION.sub(converted, content)


def _reference() -> str:
    """Every public name, by the room that it is of."""
    import symdlt

    rooms: dict[str, list[str]] = {}
    for name in sorted(symdlt.__all__):
        what = getattr(symdlt, name)
        if getattr(what, "__module__", "").startswith("symdlt."):
            room = what.__module__.split(".")[1]
            rooms.setdefault(room, []).append(f"{what.__module__}.{what.__name__}")
    parts = []
    for room, names in sorted(rooms.items()):
        parts.append(f"## {room}\n")
        parts += [f"::: {name}\n" for name in names]
    return "\n".join(parts)
