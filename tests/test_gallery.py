"""The gallery shows what its scripts draw, and each figure is there."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "figures" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_writes(gallery):
    assert (DOCS / "gallery.md").read_text("utf-8") == gallery.page()


def test_every_figure_is_there(gallery):
    drawn = {path.stem for path in (DOCS / "gallery").glob("*.png")}
    assert drawn == {figure.__name__ for figure in gallery.FIGURES}


@pytest.mark.parametrize("name", ["ratio", "criticality", "correlations"])
def test_figures_are_drawn(gallery, name):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = getattr(gallery, name)()
    assert ax.lines
    pyplot.close(ax.figure)
