"""Tutorials are pages that doctest runs; their notebooks are made of them."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MADE = runpy.run_path(str(ROOT / "docs/site/notebooks.py"))["notebooks"]()


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.stem)
def test_notebooks_are_what_is_made_of_the_pages(path):
    assert path.read_text("utf-8") == MADE[path]


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.stem)
def test_notebooks_hold_code_that_compiles(path):
    """The pages run in the doctests; here it is only seen that nothing was lost on the way."""
    cells = json.loads(MADE[path])["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    page = path.with_suffix(".md").read_text("utf-8")
    assert len(code) == page.count("```pycon")
    for text in code:
        compile(text, path.name, "exec")
    assert sum(text.count("\n") + 1 for text in code) == page.count(">>> ") + page.count("\n... ")
