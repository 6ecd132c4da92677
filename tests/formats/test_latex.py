"""LaTeX: golden text, definitions, first layers, conventions, and what notebooks show."""

from pathlib import Path

import pytest

from symdlt import BOOK, Forest, derive, derive_system, forward_equation, layer_equations
from symdlt.definitions import OBSERVABLES
from symdlt.derivation import RecursionSystem
from symdlt.errors import NotationError
from symdlt.formats.latex import Conventions, document, golden_files, to_latex
from symdlt.kernels import regenerate

ROOT = Path(__file__).parents[2]
PLAIN = Conventions(layers=False, sample="")


def test_golden_files_are_what_is_generated():
    drifts = regenerate(ROOT, check=True, providers=(golden_files,))
    assert not drifts, "".join(map(str, drifts))


def test_a_recursion_in_the_shortest_notation():
    assert to_latex(derive("F", form="z", inputs="one"), conventions=PLAIN) == (
        "\\begin{align*}\n"
        "F^{\\prime} &= C_W^{2} "
        "\\left\\langle \\sigma\\sigma\\sigma'\\sigma'\\right\\rangle_{K} \\Theta "
        "+ \\left(\\frac{n_{\\ell}}{n_{\\ell-1}}\\right) C_W^{2} "
        "\\left\\langle z\\sigma\\sigma'\\right\\rangle_{K}^{2} \\frac{F}{K^{2}}\n"
        "\\end{align*}"
    )


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("G", r"\mathbb{E}\bigl[z_{i_1;1}z_{i_2;2}\bigr] &= \delta_{i_1i_2}\,K_{12} + O"),
        ("H", r"\mathbb{E}\bigl[\widehat{H}_{i_1i_2;12}\bigr] &= \delta_{i_1i_2}\,\Theta_{12}"),
        ("V", r"\bigr]_{\text{connected}} &= \frac{1}{n_{\ell-1}} \Bigl[\delta_{i_1i_2}\,"),
        ("V", r"\delta_{i_1i_4}\,\delta_{i_2i_3}\,V_{(14)(23)} + O\bigl(1/n_{\ell-1}\bigr)\Bigr]"),
        ("A", r"\widehat{\Delta H}_{i_1i_2;12}\widehat{\Delta H}_{i_3i_4;34}\bigr]"),
        ("B", r"A_{(12)(34)} + \delta_{i_1i_3}\,\delta_{i_2i_4}\,B_{1324} + \delta_{i_1i_4}"),
        ("D", r"\mathbb{E}\bigl[z_{i_1;1}z_{i_2;2}\widehat{\Delta H}_{i_3i_4;34}\bigr]"),
        ("F", r"\delta_{i_1i_2}\,\delta_{i_3i_4}\,D_{1234} + \delta_{i_1i_3}\,\delta_{i_2i_4}\,F"),
        ("P", r"\mathbb{E}\bigl[\widehat{\mathrm{d}H}_{i_0i_1i_2;012}z_{i_3;3}\bigr]"),
        ("P", r"\delta_{i_0i_3}\,\delta_{i_1i_2}\,P_{0123}"),
        ("Q", r"\delta_{i_0i_1}\,\delta_{i_2i_3}\,Q_{0123} + \delta_{i_0i_2}\,\delta_{i_1i_3}"),
        ("R", r"\mathbb{E}\bigl[\widehat{\mathrm{dd}_{\mathrm{I}}H}_{i_0i_1i_2i_3;0123}\bigr]"),
        ("R", r"\delta_{i_0i_1}\,\delta_{i_2i_3}\,R_{0123}"),
        ("S", r"\mathbb{E}\bigl[\widehat{\mathrm{dd}_{\mathrm{II}}H}_{i_1i_2i_3i_4;1234}\bigr]"),
        ("T", r"S_{1234} + \delta_{i_1i_3}\,\delta_{i_2i_4}\,T_{1342} + \delta_{i_1i_4}"),
        ("U", r"\delta_{i_1i_4}\,\delta_{i_2i_3}\,U_{1423} + O\bigl(1/n_{\ell-1}\bigr)\Bigr]"),
        ("G.1", r"\left(K_{12} + \frac{1}{n_{\ell-1}} G_{12}^{\{1\}}\right)"),
        ("G.1", r"\right) + O\bigl(1/n_{\ell-1}^{2}\bigr)"),
        ("X6", r"\frac{1}{n_{\ell-1}^{2}} \Bigl[\delta_{i_1i_2}\,\delta_{i_3i_4}\,\delta_{i_5i_6}"),
        ("X6", r"\text{(14 other matchings)}"),
    ],
)
def test_documents_say_how_the_tensor_is_defined(name, right):
    wide = Conventions(layers=False, sample="", width=2000.0)
    source = document(derive(name), conventions=wide).source.replace("&= ", "= ")
    assert right.replace("&= ", "= ") in source


def test_documents_give_the_first_layer():
    source = document(derive_system(BOOK), conventions=PLAIN).source
    assert source.count("In the first layer") == 2
    assert source.count("It vanishes in the first layer") == 11
    overlap = r"\frac{1}{n_0} \sum_{j} x_{j;1}\,x_{j;2}"
    assert rf"K_{{12}}^{{(1)}} &= C_b + C_W {overlap}" in source
    assert rf"\Theta_{{12}}^{{(1)}} &= \lambda_b + \lambda_W {overlap}" in source


def test_documents_explain_only_what_occurs():
    assert "Wick-ordered" not in document(derive("V", form="z")).source
    assert "Wick-ordered" in document(derive("X6", form="z")).source
    assert "inverse" not in document(derive("V")).source
    assert "inverse" in document(derive("V", form="z")).source
    assert "number in braces" not in document(derive("V")).source
    assert "number in braces" in document(derive("G.1")).source
    path_of_six = Forest(6, ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5)))
    assert "lists the edges" in document(forward_equation(path_of_six)).source


def test_sums_over_neurons_name_every_neuron():
    text = to_latex(forward_equation(Forest(6, ((0, 1), (0, 2), (1, 3), (1, 4), (2, 5)))))
    assert r"\sum_{j_0,j_1,j_2,j_3,j_4,j_5}" in text
    assert r"\sum_{j_0,j_2,j_3,j_4,j_5}" in text
    assert "ldots" not in text


def test_conventions():
    recursion = derive("H")
    text = to_latex(recursion, conventions=Conventions(kernel="G", frozen_ntk="H"))
    assert text.count("H_") == 2
    assert r"\rangle_{G^{(\ell)}}" in text
    assert "K" not in text
    assert "Theta" not in text
    assert r"H_{12}^{\prime} &=" in to_latex(
        recursion, conventions=Conventions(layers=False, sample="", frozen_ntk="H")
    )


def test_without_layers_what_is_above_has_a_prime():
    """V = … V would say two things."""
    for name in ("V", "G.1", "X6"):
        text = to_latex(derive(name, inputs="one"), conventions=Conventions(layers=False))
        assert r"\prime}" in text.partition("&=")[0]
        assert r"\prime" not in text.partition("&=")[2]


def test_letters_of_ones_own():
    letters = {
        "sigma": r"\phi",
        "C_W": r"\sigma_w^2",
        "lambda_W": r"\eta_w",
        "n": "N",
        "V": r"\VEns",
    }
    plain = Conventions(layers=False, letters=letters)
    text = to_latex(derive("V", inputs="one"), conventions=plain)
    assert r"\sigma_w^{4} \Bigl[\left\langle \phi\phi\phi\phi" in text
    assert text.startswith("\\begin{align*}\n\\VEns^{\\prime} &=")
    assert r"\frac{N_{\ell}}{N_{\ell-1}}" in text
    layered = to_latex(derive("H"), conventions=Conventions(letters=letters))
    assert r"{\sigma_w^2}^{(\ell+1)}" in layered
    assert r"{\eta_w}^{(\ell+1)}" in layered
    source = document(derive("V"), conventions=Conventions(letters=letters)).source
    assert r"$\phi$, $\phi'$" in source
    assert r"\sigma" not in source.replace(r"\sigma_w", "")


@pytest.mark.parametrize(
    "letters",
    [
        {"V": r"\input x"},
        {"V": "}{"},
        {"V": ""},
        {"V": 3},
        {3: "V"},
        {"V": "a\\\\b"},
        {"V": "$x$"},
    ],
)
def test_letters_that_would_do_more_are_refused(letters):
    with pytest.raises(NotationError, match="cannot be the letter"):
        Conventions(letters=letters)


def test_equations_are_numbered_once_and_labelled():
    text = to_latex(derive("V"), numbered=True)
    rows = text.count("\\\\\n")
    assert rows > 1
    assert text.count(r"\nonumber") == rows
    assert text.endswith("\\label{eq:V}\n\\end{align}")
    assert (
        to_latex(forward_equation(OBSERVABLES["NTK"]), numbered=True).count(r"\label{eq:forward}")
        == 1
    )


def test_widths_by_the_name_of_a_class():
    assert Conventions(width="revtex").points == 246.0
    narrow, wide = (to_latex(derive("V"), conventions=Conventions(width=w)) for w in ("icml", "a4"))
    assert narrow.count("\\\\\n") > wide.count("\\\\\n")
    with pytest.raises(NotationError, match="There is no width 'folio'"):
        Conventions(width="folio")


def test_notation_is_read_from_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("layers = false\nwidth = \"icml\"\n[letters]\nsigma = '\\phi'\n")
    assert Conventions.read(path) == Conventions(
        layers=False, width="icml", letters={"sigma": r"\phi"}
    )
    path.write_text("colour = 1\n")
    with pytest.raises(NotationError, match="has the keys colour"):
        Conventions.read(path)
    with pytest.raises(NotationError, match="cannot be read: No such file"):
        Conventions.read(tmp_path / "none.toml")
    path.write_text("layers = \n")
    with pytest.raises(NotationError, match="is no TOML"):
        Conventions.read(path)


def test_pieces_and_larger_tensors_have_readable_names():
    plain = Conventions(layers=False)
    assert to_latex(derive("G.1", inputs="one"), conventions=plain).count(r"G^{\{1\}") == 2
    assert r"X_{6}^{[02,14]}" in to_latex(derive("X6_02_14", inputs="one"), conventions=plain)


def test_tensors_without_a_letter_differ_for_one_input():
    text = to_latex(derive("X8", inputs="one"))
    assert r"X_{8}^{(\ell)}" in text
    assert r"X_{6}^{(\ell)}" in text
    assert r"X^" not in text


def test_display_is_bounded():
    shown = derive("X6")._repr_latex_()
    assert shown.startswith("$\\displaystyle")
    assert "380 more terms" in shown
    assert len(shown) < 10_000
    assert "more terms" not in derive("R")._repr_latex_()
    assert derive_system(["R"])._repr_latex_().count(r"\begin{aligned}") == 5
    system = RecursionSystem((derive("R"),) * 40)
    assert "27 more recursions" in system._repr_latex_()
    assert len(system._repr_latex_()) < 50_000


def test_the_repr_of_a_document_is_short():
    paper = document(derive("X6"))
    assert repr(paper) == f"LatexDocument({paper.source.count(chr(10))} lines)"
    assert str(paper) == paper.source


def test_a_forward_equation_shows_itself():
    from symdlt import Forest, forward_equation

    small = forward_equation(Forest(2, ((0, 1),)))._repr_latex_()
    assert small.startswith(r"$\displaystyle \begin{aligned}\widehat{H}")
    assert "more terms" not in small
    path = forward_equation(Forest(5, ((0, 1), (1, 2), (2, 3), (3, 4))))
    assert f"({len(path.terms) - 12} more terms)" in path._repr_latex_()


def test_dummies_count_up_as_one_reads():
    latex = to_latex(derive("V", form="z"))
    assert r"V_{(\delta_{9}\delta_{10})(\delta_{11}\delta_{12})}^{(\ell)}" in latex
    assert "<s_1 s_2 :z^a z^b:> <s_3 s_4 :z^c z^d:> V_abcd" in str(derive("V", form="z"))


def test_summed_samples_have_a_letter_where_others_are_numbers():
    latex = to_latex(derive("F", form="z"), conventions=Conventions(sample="", layers=False))
    assert r"\sum_{\beta_{1},\ldots,\beta_{4}\in\mathcal{D}}" in latex
    assert r"F_{\beta_{3},3,\beta_{4},4}" in latex


def test_numbers_stand_in_front_where_that_is_shorter():
    shorter, longer = (to_latex(derive(name)) for name in ("V", "G.1"))
    assert r"\tfrac{1}{4} \left(\frac{n_{\ell}}{n_{\ell-1}}\right)" in shorter
    assert "tfrac{1}{8} " + r"\left(" not in longer
    assert r"\Bigl[4 " not in longer


def test_a_misspelt_symbol_of_letters_is_told():
    with pytest.raises(NotationError, match=r"Did you mean sigma\?"):
        Conventions(letters={"sigmma": "x"})


def test_a_line_must_hold_something():
    with pytest.raises(NotationError, match="A line of 20 points holds no formula"):
        Conventions(width=20)


def test_documents_without_layers_say_what_a_prime_is():
    plain, layered = (
        document(derive("V"), conventions=Conventions(layers=layers)).source
        for layers in (False, True)
    )
    assert "A prime on a tensor" in plain
    assert "A prime on a tensor" not in layered
    assert "joint cumulant" in plain


@pytest.mark.parametrize(
    "choices",
    [
        {"letters": {"V": "K"}},
        {"kernel": "V"},
        {"letters": {"C_W": "C_b"}},
        {"sample": "K"},
        {"frozen_ntk": "K"},
    ],
)
def test_no_letter_has_two_meanings(choices):
    with pytest.raises(NotationError, match=r"stands for .* and for .*A letter has one meaning"):
        Conventions(**choices)


@pytest.mark.parametrize("letters", ["V", [("V",)], {"C_W": "2"}])
def test_letters_of_other_kinds_are_refused(letters):
    with pytest.raises(NotationError, match="cannot be the letter"):
        Conventions(letters=letters)


def test_a_forward_equation_without_layers_has_a_prime():
    equation = forward_equation(Forest(2, ((0, 1),)))
    source = document(equation, conventions=Conventions(layers=False)).source
    assert r"^{\prime} &=" in source
    assert "The prime of the left side" in source


def test_laws_of_a_layer_have_the_letters_too():
    recursion = derive("G", layer="z' = W s(z) + b", inputs="one")
    other = derive("G", layer="z' = xi z + W s(z)", inputs="one", at=2)
    use = Conventions(letters={"C_W": "g^2", "lambda_W": r"\eta"})
    for one in (recursion, other):
        source = document(one, conventions=use).source
        assert "C_W" not in source
        assert "C_{W}" not in source


@pytest.mark.parametrize("layer", ["dense", "u = U z; v = V z; z' = b + W s(u) v"])
@pytest.mark.parametrize("name", ["G", "H", "V", "A", "P", "R", "S"])
def test_documents_tell_of_the_differentials_that_stand_in_them_alone(name, layer):
    what = derive(name) if layer == "dense" else layer_equations(name, layer)
    source = document(what).source
    told, _, _ = source.partition(r"\subsection*{The tensor")
    for kind in (r"\mathrm{d}", r"\mathrm{dd}_{\mathrm{I}}", r"\mathrm{dd}_{\mathrm{II}}"):
        hat = rf"\widehat{{{kind}H}}"
        assert (f"${hat}$" in told) == (f"{hat}_" in source), kind
    assert (r"\widehat{H}$" in told) == (name not in "GV")
    # of the layers, only the dense one tells of the first, where inputs are
    assert ("Inputs are" in told) == (layer == "dense" and name in "GH")
    assert ("joint cumulant" in told) == (r"\text{connected}" in source)
    assert ("the deviation from the mean" in told) == (r"\widehat{\Delta " in source)


def test_activations_have_the_letters_of_the_definition_in_all_equations():
    layer = "h = U leaky_relu(z); z' = W s(h)"
    for what in (derive("H", layer=layer), forward_equation(OBSERVABLES["NTK"], layer)):
        source = document(what).source
        defined, _, equations = source.partition(r"\end{align*}")
        letter = r"\mathrm{leaky}_{relu}"
        assert letter in defined
        assert f"{letter}(" in equations
        assert f"{letter}'(" in equations
        assert "leaky_relu" not in source


@pytest.mark.parametrize("equations", [derive, layer_equations])
def test_greek_biases_and_weights_are_commands_in_subscripts_too(equations):
    """Characters that are no ASCII stop pdflatex, and words would be products of letters."""
    layer = "mu = alpha + U s(z); z' = beta_2 + Gamma s(mu)"
    text = to_latex(equations("H", layer=layer))
    for symbol in (r"\lambda_{\alpha}^", r"\lambda_{\beta_2}^", r"C_{\Gamma}^"):
        assert symbol in text
    assert text.isascii()


def test_a_document_of_a_layer_says_once_what_is_read_and_where_its_edges_stand():
    told = document(layer_equations("H.1", "z' = xi z + b + W s(z)")).source
    definitions = [line for line in told.splitlines() if "widehat{\\Delta H}" in line]
    assert len(definitions) == len({*definitions}) == 1  # D and F have one correlator
    assert "edges stand above it in brackets" in told
    assert "^{[12](\\ell)}" in told


def test_what_is_told_of_scales_and_fields_inside_is_written_as_equations_have_it():
    equations = layer_equations("V", "h = U[3] rmsnorm(z); z' = z + W s(rmsnorm(h))")
    assert "C_U sum_q c(z)_1+q c(z)_2+q G^lm_3,1+q" in str(equations)
    told = document(equations, conventions=Conventions(sample="")).source
    for symbol in (r"c_{1}^{h}\,c_{2}^{h}", r"[$c^{h}$] $c_{1}^{h} = ", r"$c_{1}^{h} K_{12}^{h}$"):
        assert symbol in told
    assert r"\sum_{q} c_{1+q}^{z}" in told
    assert "c(" not in told


def test_a_document_of_a_forward_equation_says_what_norms_do():
    equation = forward_equation(OBSERVABLES["NTK"], "y = rmsnorm(z); z' = W s(y)")
    source = document(equation, conventions=Conventions(sample="", layers=False)).source
    assert "is multiplied with $c$, one over its length" in source
    assert r"c_{0}^{-2} &= \frac{1}{n_{\ell}} \sum_{j_0} z_{j_0;0}^{2}" in source
    both = r"c_{0}\,c_{1} \frac{1}{n_{\ell}^{2}} y_{i_0;0}\,y_{i_1;1} \sum_{j_0,j_1} y_{j_0;0}"
    assert both in source
    last = forward_equation(OBSERVABLES["NTK"], "h = z + W s(z); z' = rmsnorm(h)")
    assert r"z_{i_0;\delta_{0}}^{(\ell+1)} &= c_{\delta_{0}}\,h_{i_0;\delta_{0}}" in to_latex(last)


def test_a_document_of_a_forward_equation_says_what_offsets_are():
    layers = ("z' = xi z + W[3] s(z)", "z' = xi z + W dropout(0.1) s(z)")
    told = [document(forward_equation(OBSERVABLES["NTK"], layer)).source for layer in layers]
    assert ["offset" in one for one in told] == [True, False]
