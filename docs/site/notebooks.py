"""Tutorials as notebooks, and their pictures: `python docs/site/notebooks.py` writes both."""

from __future__ import annotations

import json
import re
from doctest import DocTestParser
from pathlib import Path

TUTORIALS = Path(__file__).parents[1] / "tutorials"
BLOCK = re.compile(r"```pycon\n(.*?)\n*```", re.DOTALL)
LINK = re.compile(r"\n\[As a notebook\]\(.*?\)\.\n")


def notebook(markdown: str) -> str:
    """A page as a notebook: its text, and what is typed in its sessions."""
    cells: list[dict[str, object]] = []
    parts = BLOCK.split(LINK.sub("", markdown))
    for number, part in enumerate(parts):
        lines = _typed(part) if number % 2 else part.strip("\n").split("\n")
        if any(line.strip() for line in lines):
            cells.append(_cell(len(cells), "code" if number % 2 else "markdown", lines))
    whole = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def notebooks() -> dict[Path, str]:
    """All notebooks by their paths."""
    pages = sorted(TUTORIALS.glob("*.md"))
    return {page.with_suffix(".ipynb"): notebook(page.read_text("utf-8")) for page in pages}


def _typed(session: str) -> list[str]:
    """The lines that are typed, without prompts; what is printed is left to the notebook."""
    return [line[4:] for line in session.split("\n") if line.startswith((">>> ", "... "))]


def _cell(number: int, kind: str, lines: list[str]) -> dict[str, object]:
    source = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    cell: dict[str, object] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": source}


def draw_pictures(page: Path) -> None:
    """Run a page and save what it draws, numbered, next to it."""
    names: dict[str, object] = {}
    drawn = 0
    for session in BLOCK.findall(page.read_text("utf-8")):
        names["ax"] = None
        for example in DocTestParser().get_examples(session):
            exec(compile(example.source, str(page), "single"), names)
        if names["ax"] is not None:
            drawn += 1
            figure = names["ax"].figure  # type: ignore[attr-defined]
            figure.savefig(page.with_name(f"{page.stem}_{drawn}.png"), dpi=100)


if __name__ == "__main__":
    for path, text in notebooks().items():
        path.write_text(text, "utf-8")
    for tutorial in sorted(TUTORIALS.glob("*.md")):
        draw_pictures(tutorial)
