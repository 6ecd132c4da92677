"""Documents are well formed, no line is too wide, and pdflatex has nothing to complain of."""

import re
import shutil
import subprocess
from functools import cache

import pytest
from cases import slow
from hypothesis import given, settings
from hypothesis import strategies as st

from symdlt import (
    BOOK,
    Forest,
    Stack,
    derive,
    derive_system,
    forward_equation,
    layer_equations,
)
from symdlt.algebra import uniform
from symdlt.asymptotics import exponents
from symdlt.definitions import OBSERVABLES
from symdlt.derivation import FORMS
from symdlt.formats.latex import Conventions, document, estimated_width, to_latex

LONG = {
    "six-point vertex": lambda: derive("X6"),
    "six-point vertex in z form": lambda: derive("X6", form="z"),
    "eight-point vertex": lambda: derive("X8", inputs="one"),
    "eight-point vertex in z form": lambda: derive("X8", inputs="one", form="z"),
    "next order": lambda: derive("X6_01_12_34"),
    "next order in z form": lambda: derive("X6_01_23", form="z"),
    "correction of V": lambda: derive("V.1"),
    "correction of V in z form": lambda: derive("V.1", form="z"),
    "all, many inputs": lambda: derive_system(BOOK),
    "all, z form": lambda: derive_system(BOOK, form="z"),
    "all, one input": lambda: derive_system(BOOK, inputs="one"),
    "all, one input, z form": lambda: derive_system(BOOK, inputs="one", form="z"),
    "a path of six": lambda: forward_equation(Forest(6, ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5)))),
    "a tree of six": lambda: forward_equation(Forest(6, ((0, 1), (0, 2), (1, 3), (1, 4), (2, 5)))),
    "a star of four": lambda: forward_equation(Forest(5, ((0, 1), (0, 2), (0, 3), (0, 4)))),
    "two trees": lambda: forward_equation(Forest(4, ((0, 1),))),
    "trees of a gate": lambda: forward_equation(
        Forest(5, ((0, 1), (0, 2), (1, 3), (1, 4))), "u = U z; v = V z; z' = b + W s(u) v"
    ),
    "trees of a block": lambda: forward_equation(
        Forest(3, ((0, 1),)), "h_a = U_2 s(z); z' = xi_1 z + b_1 + W (tanh''(h_a) - 1/2 h_a)"
    ),
    "trees of norms": lambda: forward_equation(
        OBSERVABLES["dNTK"], "y = rmsnorm(z); h_a = U y; z' = z + W s(layernorm(h_a))"
    ),
    "trees of letters with indices": lambda: forward_equation(
        Forest(3, ((0, 1),)), "z' = xi_1 z + b_1 + W_2 s(z)"
    ),
    "with a skip": lambda: layer_equations("V", "z' = xi z + b + W s(z)"),
    "dNTK with a skip": lambda: layer_equations("P", "z' = xi z + b + W s(z)"),
    "a gate": lambda: layer_equations("A", "u = U z; v = V z; z' = b + W s(u) v"),
    "a norm": lambda: layer_equations("F", "z' = z + W s(U layernorm(z))"),
    "a convolution": lambda: layer_equations("D", "z' = b + W[3x3, stride 2, zero] s(z)"),
    "names with indices": lambda: layer_equations(
        "D", "h_a = U_2 s'''(z); z' = xi_1 z + b_1 + W tanh''(h_a)"
    ),
    "a block with indices": lambda: derive("H", layer="h_a = U_2 z; z' = xi_1 z + W s(h_a)"),
    "masks": lambda: layer_equations("G.1", "z' = b + W s(z) dropout(0.1)"),
    "fourth cumulants": lambda: layer_equations(
        "H.1", Stack("z' = b + W s(z)", laws={"W": uniform})
    ),
    "a block": lambda: derive("V.1", layer="h = U z; z' = xi z + W s(h)", inputs="one"),
    **{name: lambda f=forest: forward_equation(f) for name, forest in OBSERVABLES.items()},
}
BEGIN, END = r"\begin{document}", r"\end{document}"  # noqa: RUF027
WIDTHS = {"usual": Conventions(), "narrow": Conventions(width=330.0)}


def lines_of(text):
    """The lines of a formula, without the environment and its breaks."""
    inside = [line for line in text.split("\n") if not re.match(r"\\(begin|end)\{", line)]
    return [line.removesuffix(r" \\").replace("&", "") for line in inside]


def run_pdflatex(source, folder):
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed; it comes with texlive-latex-recommended")
    (folder / "paper.tex").write_text(source)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    log = (folder / "paper.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    return log


@cache
def long(name):
    """Several tests print one thing."""
    return LONG[name]()


@pytest.mark.parametrize("width", ["usual", slow("narrow")])
def test_pdflatex_compiles_without_an_overfull_box(width, tmp_path):
    """All documents in one, as they begin alike; the log says where each of them ends."""
    begin, parts = set(), []
    for name in LONG:
        source = document(long(name), conventions=WIDTHS[width]).source
        assert "hfuzz" not in source, name
        assert "resizebox" not in source, name
        assert "10pt" in source.split("\n")[0], name
        start, body = source.split(BEGIN)
        begin.add(start)
        parts.append(rf"{body.split(END)[0]} \clearpage \typeout{{END OF {name}.}}")
    (start,) = begin
    log = run_pdflatex("\n".join([start, BEGIN, *parts, END]), tmp_path)
    logs = dict(zip(LONG, re.split(r"END OF .*\n", log), strict=False))
    assert log.count("END OF ") == len(logs) == len(LONG)
    assert [n for n, one in logs.items() if "Overfull" in one or "LaTeX Warning" in one] == []


def test_an_overfull_box_would_be_noticed(tmp_path):
    source = document(derive("R"), conventions=Conventions(width=600.0)).source
    log = run_pdflatex(source.replace("textwidth=610pt", "textwidth=300pt"), tmp_path)
    assert "Overfull" in log


def test_estimated_widths_are_never_too_small_and_seldom_much_too_large(tmp_path):
    lines = [line for name in LONG for line in lines_of(to_latex(long(name)))]
    lines = list(dict.fromkeys(lines))
    boxes = [rf"\setbox0\hbox{{$\displaystyle{{}}{x}$}}\typeout{{WIDTH \the\wd0}}" for x in lines]
    start = r"\documentclass[10pt]{article} \usepackage{amsmath} \begin{document}"
    log = run_pdflatex("\n".join([start, *boxes, r"x \enddocument"]), tmp_path)
    real = [float(width) for width in re.findall(r"WIDTH ([\d.]+)pt", log)]
    excess = [estimated_width(line) - width for line, width in zip(lines, real, strict=True)]
    assert min(excess) > 0
    assert max(excess) < 45
    assert sorted(excess)[len(excess) // 2] < 20


def test_no_line_is_wider_than_allowed():
    for name in LONG:
        for width in (330.0, 700.0):
            lines = lines_of(to_latex(long(name), conventions=Conventions(width=width)))
            assert max(map(estimated_width, lines)) <= width, name


@st.composite
def trees(draw):
    size = draw(st.integers(1, 6))
    edges = tuple((draw(st.integers(0, v - 1)), v) for v in range(1, size))
    kept = draw(st.lists(st.booleans(), min_size=size - 1, max_size=size - 1))
    return Forest(size, tuple(edge for edge, keep in zip(edges, kept, strict=True) if keep))


conventions = st.builds(
    Conventions,
    layers=st.booleans(),
    sample=st.sampled_from([r"\delta", "", r"\alpha"]),
    width=st.floats(330.0, 700.0),
)


def check_well_formed(text):
    assert text.count(r"\Bigl[") == text.count(r"\Bigr]")
    for line in lines_of(text):
        depth = 0
        for brace in re.findall(r"(?<!\\)[{}]", line):
            depth += 1 if brace == "{" else -1
            assert depth >= 0
        assert depth == 0
        assert line.count(r"\left") == line.count(r"\right")
        assert line.count(r"\bigl") == line.count(r"\bigr")
        assert not re.search(r"\^\{[^{}]*\}\^|_\{[^{}]*\}_|'\^\{", line)


@settings(deadline=None, max_examples=60)
@given(trees(), conventions)
def test_forward_equations_are_well_formed(forest, use):
    check_well_formed(to_latex(forward_equation(forest), conventions=use))


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from([*BOOK, "G.1", "H.1", "X6_01_23", "X6_02_14"]),
    st.sampled_from(FORMS),
    st.sampled_from(["one", "many"]),
    conventions,
)
def test_recursions_are_well_formed(name, form, inputs, use):
    check_well_formed(to_latex(derive(name, form=form, inputs=inputs), conventions=use))


SOLVED = {
    "tanh": lambda: exponents("tanh"),
    "a quadratic part": lambda: exponents("sin(z) + z**2/5 + z**3/9"),
    "relu": lambda: exponents("relu"),
    "elu": lambda: exponents("elu"),
    "gelu": lambda: exponents("gelu"),
    "gelu at its fixed point": lambda: exponents("gelu", at_fixed_point=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVED)
def test_solutions_compile_as_they_stand(name, tmp_path):
    """Displays of exponents and coefficients, which may break over pages."""
    solution = SOLVED[name]()
    assert solution._repr_latex_().count("aligned") == 2
    start = r"\documentclass{article}\usepackage{amsmath}\allowdisplaybreaks\begin{document}"
    log = run_pdflatex(f"{start}\n{solution.latex()}\n{END}", tmp_path)
    assert "Overfull" not in log
