"""What is printed for one input, read back by a reader of its own, is the recursion, exactly."""

import re

import pytest
from one_input_reader import read_equation

from symdlt import BOOK, derive
from symdlt.definitions import correlators
from symdlt.derivation import FORMS
from symdlt.formats.latex import Conventions, to_latex

PLAIN = Conventions(layers=False)
LETTERS = {"K": ("G", 0), r"\Theta": ("H", 0)}
CONSTANTS = (("C", "b"), ("C", "W"), (r"\lambda", "b"), (r"\lambda", "W"))
NAMES = [*BOOK, "V.1", "P.1", "G.2", "X6", "X8", *(c.name for c in correlators(2)[::6])]


def derived(recursion):
    """The terms as {(n ratio, powers, brackets, tensors): coefficient}."""
    terms = {}
    for term in recursion.terms:
        brackets = [(tuple(k for _, k in b.factors), len(b.inserted)) for b in term.brackets]
        tensors = [(t.correlator.name, t.piece) for t in term.tensors]
        key = (term.width_ratio, term.hyperparameters.powers, ordered(brackets), ordered(tensors))
        terms[key] = term.coefficient
    return terms


def printed(latex):
    """The same of a printed right-hand side; like terms must have been collected."""
    _, right = read_equation(latex)
    terms = {meaning(monomial): number for monomial, number in right.items()}
    assert len(terms) == len(right)
    return terms


def meaning(monomial):
    atoms = dict(monomial)
    ratio = atoms.pop(("r", "", ""), 0)
    powers = tuple(atoms.pop((*name, ""), 0) for name in CONSTANTS)
    kernels = -atoms.pop(("K", "", ""), 0)
    brackets, tensors = [], []
    for atom, exponent in atoms.items():
        assert exponent > 0
        if atom[0] == "bracket":
            brackets += [atom[1:]] * exponent
        else:
            tensors += [tensor_of(*atom)] * exponent
    assert kernels == sum(inserted for _, inserted in brackets)
    return ratio, powers, ordered(brackets), ordered(tensors)


def tensor_of(letter, below, above):
    """The canonical name and the piece of a printed tensor."""
    name, piece = LETTERS.get(letter, (letter, 0))
    edges, correction = re.fullmatch(r"(?:\[([\w,]*)\])?(?:\\\{(\d+)\\\})?", above).groups()
    if letter == "X":
        name = "_".join([f"X{below}", *filter(None, (edges or "").split(","))])
    return name, int(correction or piece)


def ordered(items):
    return tuple(sorted(items))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_the_printed_recursion_reads_back_as_the_derived_one(name, form):
    recursion = derive(name, inputs="one", form=form)
    latex = to_latex(recursion, conventions=PLAIN)
    letter, below, above = read_equation(latex)[0]
    assert above.endswith(r"\prime")
    above = above.removesuffix(r"\prime")
    assert tensor_of(letter, below, above) == (recursion.correlator.name, recursion.piece)
    assert printed(latex) == derived(recursion)


@pytest.mark.parametrize("width", [200.0, 1000.0])
def test_line_breaks_change_nothing(width):
    recursion = derive("X8", inputs="one", form="z")
    latex = to_latex(recursion, conventions=Conventions(layers=False, width=width))
    assert printed(latex) == derived(recursion)


@pytest.mark.parametrize(
    ("old", "new"), [(" + ", " - "), (r"\sigma'", r"\sigma"), ("^{2}", "^{3}"), (r"\Theta", "K")]
)
def test_the_reader_notices_a_change(old, new):
    recursion = derive("P", inputs="one")
    latex = to_latex(recursion, conventions=PLAIN)
    assert printed(latex) == derived(recursion)
    changed = latex.replace(old, new, 1)
    assert changed != latex
    with pytest.raises(AssertionError):
        assert printed(changed) == derived(recursion)
