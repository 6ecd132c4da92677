"""Doctests in docstrings as blocks of code, for the pages of reference."""

from __future__ import annotations

import re
from typing import Any

import griffe

STARRED = re.compile(r"(?<=[Kρ])\*")  # K* is no emphasis


class Doctests(griffe.Extension):
    """Puts a fence around each doctest, which ends at a blank line."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Text with fences around its doctests."""
    lines: list[str] = []
    margin = None
    for line in [*text.split("\n"), ""]:
        if margin is None and line.lstrip().startswith(">>>"):
            margin = line[: len(line) - len(line.lstrip())]
            lines.append(f"{margin}```pycon")
        elif margin is not None and not line.strip():
            lines.append(f"{margin}```")
            margin = None
        lines.append(line if margin is not None else STARRED.sub(r"\\*", line))
    return "\n".join(lines)
