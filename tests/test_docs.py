"""Every link between the pages leads somewhere."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from symdlt.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def prose(page):
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """The anchors of headings, as repositories on the web make them."""
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(prose(page)))
    return {heading.replace(" ", "-") for heading in kept}


def broken_links(page):
    for link in LINK.findall(re.sub("`[^`]*`", "", prose(page))):
        if link.startswith(("https:", "http:")):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    assert list(broken_links(page)) == []


def test_broken_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Here, `there`\n[a](#here-there) [b](page.md#gone) [c](gone.md) [d](#here)\n")
    assert list(broken_links(page)) == ["page.md#gone", "gone.md", "#here"]


COMMANDS = re.findall(
    r"`symdlt ([^`]+)`", (ROOT / "docs" / "coming_from_pdlt.md").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_for_readers_of_the_book_work(command, capsys):
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out


def test_the_cross_section_of_smoke_tests_is_there():
    smoke = runpy.run_path(str(ROOT / "conftest.py"))["SMOKE"]
    assert [path for path in smoke if not path.is_file()] == []


def test_the_version_is_one():
    from symdlt._version import VERSION

    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {VERSION}, " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# Made by `tests/training/figure.py`, and out of networks that were trained for it.
OF_TRAINED_NETWORKS = {"trained_networks.png", "ntk_ellipse.png"}


def test_every_picture_has_the_script_that_draws_it():
    scripts = [path.read_text(encoding="utf-8") for path in (ROOT / "docs/figures").glob("*.py")]
    pictures = [path.name for kind in ("png", "svg") for path in (ROOT / "docs").glob(f"*.{kind}")]
    undrawn = {name for name in pictures if not any(f'"{name}"' in text for text in scripts)}
    assert undrawn == OF_TRAINED_NETWORKS
