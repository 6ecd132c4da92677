"""What is printed is what was derived: the LaTeX is read back and compared."""

import pytest
from latex_reader import read_back

from symdlt import BOOK, derive, layer_equations
from symdlt.derivation import FORMS
from symdlt.formats.latex import Conventions, to_latex


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*BOOK, "G.1", "H.1", "V.1", "X6", "X6_01_02_34"])
def test_the_printed_recursion_is_the_derived_one(name, form):
    printed = derive(name, form=form)
    assert read_back(to_latex(printed), printed) == derive(name)


@pytest.mark.parametrize("name", [*BOOK, "G.1", "H.1"])
def test_the_printed_equation_of_a_layer_that_is_dense_is_the_derived_recursion(name):
    derived = derive(name)
    latex = to_latex(layer_equations(name, "z' = b + W s(z)"))
    assert read_back(latex, derived) == derived


@pytest.mark.parametrize("width", [260.0, 900.0])
def test_line_breaks_change_nothing(width):
    printed = derive("V.1", form="z")
    text = to_latex(printed, conventions=Conventions(width=width))
    assert read_back(text, printed) == derive("V.1")


def test_the_reader_notices_a_changed_sample_a_sign_and_a_lost_term():
    printed = derive("R")
    text = to_latex(printed)
    swapped = text.replace(r"\sigma''_{\delta_{0}}", r"\sigma''_{\delta_{1}}", 1)
    assert swapped != text
    assert read_back(swapped, printed) != printed
    negated = text.replace(r"\quad + ", r"\quad - ", 1)
    assert read_back(negated, printed) != printed
    first, lost, *others = text.split("\\\\\n")
    assert r"\Bigl" not in lost
    assert read_back("\\\\\n".join([first, *others]), printed) != printed
    assert read_back(text, printed) == printed
