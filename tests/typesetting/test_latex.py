"""LaTeX: golden text, well-formed braces, every term once, and no overfull box."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from symdlt import BOOK, Forest, derive, derive_system, forward_equation
from symdlt.codegen import regenerate
from symdlt.networks import OBSERVABLES
from symdlt.typesetting import Conventions, document, golden_files, to_latex

ROOT = Path(__file__).parents[2]
LONG = {
    "six-point vertex": lambda: derive("X6"),
    "six-point vertex in z form": lambda: derive("X6", form="z"),
    "eight-point vertex": lambda: derive("X8", inputs="one"),
    "eight-point vertex in z form": lambda: derive("X8", inputs="one", form="z"),
    "next order": lambda: derive("X6_01_12_34"),
    "correction of V": lambda: derive("V.1"),
    "all, many inputs": lambda: derive_system(BOOK),
    "all, z form": lambda: derive_system(BOOK, form="z"),
    "all, one input": lambda: derive_system(BOOK, inputs="one"),
    "all, one input, z form": lambda: derive_system(BOOK, inputs="one", form="z"),
    "a path of six": lambda: forward_equation(Forest(6, ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5)))),
    "a star of four": lambda: forward_equation(Forest(5, ((0, 1), (0, 2), (0, 3), (0, 4)))),
    "two trees": lambda: forward_equation(Forest(4, ((0, 1),))),
    **{name: lambda f=forest: forward_equation(f) for name, forest in OBSERVABLES.items()},
}


def test_golden_files_are_what_is_generated():
    drifts = regenerate(ROOT, check=True, providers=(golden_files,))
    assert not drifts, "".join(map(str, drifts))


@pytest.mark.parametrize("name", LONG)
def test_pdflatex_compiles_without_an_overfull_box(name, tmp_path):
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed; it comes with texlive-latex-recommended")
    source = document(LONG[name]()).source
    assert "hfuzz" not in source
    assert "resizebox" not in source
    (tmp_path / "paper.tex").write_text(source)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    log = (tmp_path / "paper.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert "Overfull" not in log


@pytest.mark.parametrize("name", LONG)
def test_braces_and_delimiters_balance(name):
    text = to_latex(LONG[name]())
    for line in text.split("\\\\\n"):
        assert line.count("{") == line.count("}")
        assert line.count(r"\left") == line.count(r"\right")
    assert not re.search(r"\^\{[^{}]*\}\^", text)


@pytest.mark.parametrize("form", ["derivative", "z"])
@pytest.mark.parametrize("name", BOOK)
def test_every_term_is_printed_once(name, form):
    recursion = derive(name, form=form)
    text = to_latex(recursion, conventions=Conventions(layers=False))
    body = text.split("&=", 1)[1].replace(r"\qquad\times", "")
    outside = re.sub(r"\{[^{}]*\}|\([^()]*\)", "", re.sub(r"\{[^{}]*\}", "", body))
    outside = re.sub(r"\\left.*?\\right.", "", outside)
    signs = len(re.findall(r"[+-]", outside))
    leading_minus = recursion.terms[0].coefficient < 0
    assert signs == len(recursion.terms) - (not leading_minus)


def test_display_is_bounded():
    shown = derive("X6")._repr_latex_()
    assert shown.startswith("$\\displaystyle")
    assert "380 more terms" in shown
    assert len(shown) < 10_000
    assert "more terms" not in derive("R")._repr_latex_()
    assert derive_system(["R"])._repr_latex_().count("&=") == 5


def test_pieces_and_larger_tensors_have_readable_names():
    plain = Conventions(layers=False)
    assert to_latex(derive("G.1", inputs="one"), conventions=plain).count(r"G^{\{1\}}") == 3
    assert r"X^{[02,14]}" in to_latex(derive("X6_02_14", inputs="one"), conventions=plain)
