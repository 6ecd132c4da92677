"""Equations of layers in symbols, against the derivation by Wick contraction, and as text."""

import re
from fractions import Fraction
from functools import partial

import pytest
from cases import slow, swept
from sympy import Rational, Symbol, expand, sqrt

from symdlt import BOOK, Stack, derive, explain, from_json, layer_equations, to_json, to_latex
from symdlt.algebra import Polynomial, from_cumulants, orthogonal, signs, sparse, uniform
from symdlt.cli import main
from symdlt.definitions import ascii_name
from symdlt.derivation.response.symbolic.glossary import head_of
from symdlt.derivation.response.symbolic.symbolic_layer import symbolic_layer
from symdlt.derivation.terms import bracket_text, tensor_text
from symdlt.errors import LayerError, OrderError, SchemaError, UnknownTensorError
from symdlt.formats.latex import Conventions, document
from symdlt.formats.latex.marked_text import marked_latex
from symdlt.formats.latex.notation import tensor_name
from symdlt.networks import LayerEquations

BARE = Conventions(sample="")

RESIDUAL = "z' = xi z + b + W s(z)"
MASKED = "z' = b + W dropout(0.1) s(z)"
WINDOWED = "z' = b + W[3] s(z)"
GATE = "u = U z; v = V z; z' = b + W s(u) v"


def short(variance):
    """A law that does not tell its fourth cumulant."""
    return from_cumulants({2: variance})


def in_symbols(recursion):
    """A recursion of the derivation, with symbols that are named as they are printed."""
    total = Rational(0)
    for term in recursion.terms:
        number = Rational(term.coefficient.numerator, term.coefficient.denominator)
        product = number * (Symbol("n") / Symbol("n'")) ** term.width_ratio
        for name, power in term.hyperparameters.named:
            product *= Symbol(name) ** power
        for bracket in term.brackets:
            product *= Symbol(bracket_text(bracket, False))
        for factor in term.tensors:
            product *= Symbol(tensor_text(factor, False))
        total += product
    return expand(total)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        *((name, "z' = b + W s(z)") for name in BOOK),
        *((name, "z' = W s(z) + U s'(z)") for name in BOOK if name != "A"),
        slow("A", "z' = W s(z) + U s'(z)"),
    ],
)
def test_layers_that_close_have_the_recursions_of_the_derivation(name, layer):
    (equation,) = layer_equations(name, layer).equations
    assert equation.to_sympy() == in_symbols(derive(name, layer=layer))


def test_the_ntk_of_a_gated_unit():
    assert str(layer_equations("H", GATE)) == (
        "H_12[l+1] =\n"
        "  + lambda_b\n"
        "  + C_V lambda_W <s(u)_1 s(u)_2> G_12\n"
        "  + C_W lambda_V <s(u)_1 s(u)_2> G_12\n"
        "  + C_V C_W lambda_U <s'(u)_1 s'(u)_2> G_12^2\n"
        "  + C_V C_W <s(u)_1 s(u)_2> H_12\n"
        "  + C_U C_V C_W <s'(u)_1 s'(u)_2> G_12 H_12"
    )


def test_linear_gates_have_the_v_of_products_of_gaussians():
    """z' = W uv with u = U z, v = V z: E S² of S = C_W Σ u²v²/n by Wick, one input."""
    (equation,) = layer_equations("V", "u = U z; v = V z; z' = W u v").equations
    one = {s: Symbol(str(s).split("_")[0]) for s in equation.to_sympy().free_symbols}
    one = {s: t for s, t in one.items() if str(s)[0] in "GV"}
    G, V, n = Symbol("G"), Symbol("V"), Symbol("n")
    C = Symbol("C_U") * Symbol("C_V") * Symbol("C_W")
    # ⟨u⁴⟩⟨v⁴⟩ - ⟨uu⟩²⟨vv⟩² = 8 K_u²K_v² at a neuron; K_u and K_v both follow Σ z²/n.
    own = 8 * C**2 * G**4 * n / Symbol("n_u")
    passed = 4 * C**2 * G**2 * (V * n / Symbol("n'") + 2 * G**2)
    assert expand(equation.to_sympy().subs(one) - own - passed) == 0


def test_a_skip_has_a_system():
    found = layer_equations("V", RESIDUAL)
    names = [equation.name for equation in found.equations]
    assert names == [
        "QV_1234[l+1]",
        "Y_12[s^m_3 s^m_4][l+1]",
        "Y_12[z^m_3 z^m_4][l+1]",
        "V_1234",
    ]
    assert str(found[1]) == (
        "Y_12[s^m_3 s^m_4][l+1] =\n"
        "  + C_W <s_1 s_2 s^m_3 s^m_4>\n"
        "  - C_W <s_1 s_2> <s^m_3 s^m_4>\n"
        "  + 1/2 (n/n') C_W <s''_1 s_2> Y_11[s^m_3 s^m_4]\n"
        "  + (n/n') xi^2 Y_12[s^m_3 s^m_4]\n"
        "  + (n/n') C_W <s'_1 s'_2> Y_12[s^m_3 s^m_4]\n"
        "  + 1/2 (n/n') C_W <s_1 s''_2> Y_22[s^m_3 s^m_4]"
    )
    without = {Symbol("xi"): 0}
    dense = in_symbols(derive("V"))
    noise = {s: 0 for s in found[0].to_sympy().free_symbols if str(s)[0] == "Y"}
    tensors = {Symbol(f"Q{s}"): s for s in dense.free_symbols if str(s)[0] == "V"}
    assert found[0].to_sympy().subs(without | noise).xreplace(tensors) == dense


def test_latex():
    found = layer_equations("F", RESIDUAL)
    assert found.to_latex() == to_latex(found)
    latex = to_latex(found, conventions=BARE)
    assert latex.startswith(r"\begin{align*}" "\n" r"F_{1324}^{Q(\ell+1)} &= ")
    assert r"Y_{13}^{[34](\ell)}[z_{2}^{(m)}z_{4}^{(m)}]" in latex
    assert "<" not in latex
    named = to_latex(layer_equations("B", "h = U s(z); z' = z + W tanh(h)"), conventions=BARE)
    assert r"\mathrm{tanh}'(h_{1})" in named
    without = to_latex(found, conventions=Conventions(layers=False, letters={"sigma": r"\phi"}))
    assert r"F_{\delta_{1}\delta_{3}\delta_{2}\delta_{4}}^{Q\prime} &=" in without
    assert r"\phi'_{\delta_{3}}" in without
    assert r"\sigma" not in without
    own = Conventions(letters={"sigma": r"\phi", "C_W": r"\alpha_w"})
    source = document(found, conventions=own).source
    assert r"\item[${\alpha_w}$] the variance of the weights" in source
    assert r"\sigma" not in source
    assert "C_W" not in source
    numbered = to_latex(found, numbered=True)
    labels = re.findall(r"\\label\{eq:([^}]*)\}", numbered)
    assert labels == ["F-1", "F-2", "F-3", "F"]


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("V", RESIDUAL),
        ("R", RESIDUAL),
        ("G.1", RESIDUAL),
        swept("A", GATE),
        ("G.1", MASKED),
        ("D", WINDOWED),
        ("F", "h = U s(layernorm(z)); z' = z + W tanh(h)"),
        ("Q", "y = rmsnorm(z); z' = alpha y + W s(y)"),
        slow("V", "l = z + U s(z); z' = l + W s(l)"),
    ],
)
def test_documents_define_every_letter_of_their_equations(name, layer):
    found = layer_equations(name, layer)
    source = document(found, conventions=BARE).source
    told, _ = source.split("and follows from")
    title = tensor_name(found.correlator, found.piece, Conventions(layers=False))
    assert f"\\subsection*{{The tensor ${title}$}}" in told
    names = {n for one in found.equations for m, _ in one.polynomial.terms for n, _ in m}
    heads = {head_of(name) for name in names}
    defined = {head.partition(".")[0] for head in heads if head.partition(".")[0] in BOOK}
    for letter in defined - {"G", "H"}:
        assert f"{letter}_{{" in told
    constants = {ascii_name(symbol) for symbol in found.layer.symbols}
    items = re.findall(r"\\item\[\$(.*?)\$\]", source)
    assert len({*items}) == len(items)
    assert len(heads - defined - {"G.1", "H.1"}) <= len(items)
    for head in heads - defined - {"<", "Y_", "sum_", "G.1", "H.1"}:
        assert marked_latex(f"`{head}`", constants, BARE)[1:-1] in items
    saved = LayerEquations.from_json(found.to_json())
    assert document(saved, conventions=BARE).source == source
    assert main(["latex", name, "--layer", layer, "--document"]) == 0


def test_notebooks_show_a_dozen_terms_of_each_equation():
    shown = layer_equations("F", RESIDUAL)._repr_latex_()
    assert shown.count(r"\begin{aligned}") == len(layer_equations("F", RESIDUAL))
    assert "more terms)" in shown


def test_a_field_that_is_called_as_a_layer_is_keeps_its_own_symbols():
    named, same = (
        str(layer_equations("V", f"{f} = z + U s(z); z' = {f} + W s({f})")) for f in "lh"
    )
    renamed = named.replace("(l)", "(h)").replace("l^m", "h^m").replace("_l)", "_h)")
    assert sorted(renamed.replace("G^llm", "G^hm").split("\n")) == sorted(same.split("\n"))


def test_functions_that_differ_by_their_constants_have_noises_of_their_own():
    found = layer_equations("V", "z' = xi z + W (s(z) + 1/2 z) + U (s(z) - alpha z)")
    noises = [equation.name for equation in found.equations if equation.name[0] == "Y"]
    assert noises == [
        "Y_12[s(z^m)_3 s(z^m)_4 + 1/2 s(z^m)_3 z^m_4 + 1/2 z^m_3 s(z^m)_4 + 1/4 z^m_3 z^m_4][l+1]",
        "Y_12[s(z^m)_3 s(z^m)_4 - alpha s(z^m)_3 z^m_4 - alpha z^m_3 s(z^m)_4"
        " + alpha^2 z^m_3 z^m_4][l+1]",
        "Y_12[z^m_3 z^m_4][l+1]",
    ]
    latex = to_latex(found, conventions=BARE)
    assert r"- \alpha\sigma(z_{3}^{(m)})z_{4}^{(m)}" in latex
    assert r"+ \alpha^{2}z_{3}^{(m)}z_{4}^{(m)}]" in latex
    assert r"+ \tfrac{1}{2}\sigma(z_{3}^{(m)})" in latex
    # at one vertex more the two differ in what they make of the same neuron
    one, other = (found[k].polynomial for k in (1, 2))
    assert one != other


def test_commands(capsys):
    assert main(["derive", "H", "--layer", GATE]) == 0
    assert capsys.readouterr().out == f"{layer_equations('H', GATE)}\n"
    assert main(["derive", "V", "--layer", RESIDUAL, "--format", "latex"]) == 0
    assert capsys.readouterr().out == f"{layer_equations('V', RESIDUAL).to_latex()}\n"
    assert main(["derive", "V", "--layer", RESIDUAL, "--format", "json"]) == 0
    assert LayerEquations.from_json(capsys.readouterr().out) == layer_equations("V", RESIDUAL)
    with pytest.raises(SystemExit):
        main(["derive", "V", "H", "--layer", RESIDUAL, "--format", "json"])
    assert "equations of one tensor" in capsys.readouterr().err


@pytest.mark.parametrize("layer", ["z' = b + W s(z)", "z' = W s(z) + U s'(z)"])
@pytest.mark.parametrize("name", ["G.1", "H.1"])
def test_corrections_of_layers_that_close_are_those_of_the_derivation(name, layer):
    (equation,) = layer_equations(name, layer).equations
    assert equation.to_sympy() == in_symbols(derive(name, layer=layer))


def test_families_read_their_names_in_latex_json_and_on_the_command_line(capsys):
    uniform_weights = Stack("z' = b + W s(z)", laws={"W": uniform})
    found = layer_equations("G.1", uniform_weights)
    assert repr(found) == 'LayerEquations(G.1, "z\' = b + W s(z)")'
    latex = to_latex(found, conventions=BARE)
    assert latex.startswith(r"\begin{align*}" "\n" r"G_{12}^{\{1\}(\ell+1)} &= ")
    fourth = r"\left\langle \sigma^{(4)}_{1}\sigma_{2}\right\rangle_{K^{(\ell)}} X_{1111}^{(\ell)}"
    assert rf"\tfrac{{1}}{{24}} {fourth}" in latex
    normed = "z' = xi z + b + W s(layernorm(z))"
    for name, layer in (
        ("V", MASKED),
        ("V", normed),
        ("F", WINDOWED),
        ("V", "z' = W[mean] s(z)"),
    ):
        equations = layer_equations(name, layer)
        for again in (from_json(to_json(equations)), LayerEquations.from_json(equations.to_json())):
            assert (again, str(again)) == (equations, str(equations))
        assert "<" not in equations.to_latex()
        assert main(["derive", name, "--layer", layer]) == 0
        assert capsys.readouterr().out == f"{equations}\n"
    latex = to_latex(layer_equations("V", normed), conventions=BARE)
    assert r"\mathrm{layernorm}(z_{3}^{(m)})" in latex
    assert r"c_{1}^{3}\,c_{2}" in latex
    assert r"\sum_{q} \sum_{r}" in layer_equations("F", WINDOWED).to_latex()
    assert main(["explain", "V", "--layer", MASKED, "--term", "2"]) == 0
    assert capsys.readouterr().out == f"{explain(layer_equations('V', MASKED), 2)}\n"


def test_a_linear_layer_behind_a_norm_has_no_v():
    """The length is fixed: at one input nothing fluctuates."""
    (equation,) = layer_equations("V", "z' = W rmsnorm(z)").equations
    one = {s: Symbol(str(s).split("_")[0]) for s in equation.to_sympy().free_symbols}
    one = {s: t for s, t in one.items() if str(s)[0] in "GVc"}
    value = equation.to_sympy().subs(one).subs(Symbol("c"), 1 / sqrt(Symbol("G")))
    assert expand(value) == 0


def test_squares_behind_a_norm_are_those_of_a_sphere():
    """The mean of f^4 on a sphere is 3n/(n + 2) = 3 - 6/n + …."""
    equation = layer_equations("G.1", "z' = W s(rmsnorm(z))")[0].to_sympy()
    means = {"<s'' s''>": 4, "<s' s'>": 4}
    values = {Symbol("c"): 1, Symbol("G"): 1, Symbol("C_W"): 1, Symbol("V"): 0, Symbol("G.1"): 0}
    total = equation
    for symbol in equation.free_symbols:
        name = str(symbol)
        if name[0] == "<":
            bare = re.sub(r"\(rmsnorm\(z\)\)|_\d", "", name)
            total = total.subs(symbol, means.get(bare, 0))
        else:
            total = total.subs(symbol, values.get(Symbol(name.split("_")[0]), symbol))
    assert total.subs(Symbol("C_W"), 1) == -6


def test_what_cannot_be_derived_is_refused():
    for name, layer, reason in (
        ("H.1", "z' = z + rmsnorm(z) + W s(z)", "each of which is itself in the length"),
        ("G.1", "z' = rmsnorm(z) + W s(z)", "each of which is itself in the length"),
        ("G.1", Stack(RESIDUAL, laws={"W": uniform}), "is known without fourth cumulants"),
        ("G.1", Stack("z' = W s(z)", laws={"W": short}), "without a fourth cumulant"),
        ("G.1", Stack(WINDOWED, laws={"W": uniform}), "windows and weights with a fourth"),
        ("G.1", "h = U[3] s(z); z' = W[3] s(h)", "has a window inside, .* G.1 is known"),
        ("A3", "h = U[3] s(z); z' = z + W[3] s(h)", "has a window inside, .* A3 is known"),
        ("V", "g = z + U s(z); h = V s(g); z' = h + W s(h)", "others than z of the neurons of z"),
        ("G.1", "h = U s(z); z' = h + W s(h)", "reads neurons that z' keeps"),
        ("V", "h = U s(z); g = V[3] s(h); z' = z + W s(g) h", "neurons again that a window"),
        ("V", "z' = A[1] z + B[2] z + C[3] z + D[4] z + E[5] z", "more than 4 windows"),
    ):
        with pytest.raises(LayerError, match=reason):
            layer_equations(name, layer)
    for name in ("V.1", "G.2"):
        with pytest.raises(OrderError, match="no equations of"):
            layer_equations(name, GATE)
    with pytest.raises(UnknownTensorError):
        layer_equations("nothing", GATE)
    with pytest.raises(OrderError, match="6 axes"):
        layer_equations("X6", GATE)
    with pytest.raises(LayerError, match="keeps s"):
        layer_equations("V", "z' = s(z) + W z")


@pytest.mark.parametrize(
    "layer",
    [
        "z' = xi z + b + W s(z)",
        "u = U z; v = V z; z' = b + W s(u) v",
        "h = U s(z); z' = z + W s(h)",
    ],
)
@pytest.mark.parametrize("name", ["H", "V", "R"])
def test_json_is_read_back(name, layer):
    found = layer_equations(name, layer)
    again = LayerEquations.from_json(found.to_json())
    assert (again, str(again), again.to_latex()) == (found, str(found), found.to_latex())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("symdlt.layer-equations", "symdlt.recursion"), "its schema is not"),
        (('"1"', '"1/0"'), "Fraction"),
        (('"1"', '"one"'), "Invalid literal"),
        (('"C_b": 1', '"C_b": 1.5'), "no whole number"),
        (('"tensor": "G"', '"tensor": "Gee"'), "no tensor"),
        (("z' = xi", "z = xi"), "does not begin"),
        (('"terms"', '"term"'), "missing 'terms'"),
    ],
)
def test_json_that_is_none_is_refused(change, message):
    text = layer_equations("G", "z' = xi z + b + W s(z)").to_json()
    assert change[0] in text
    with pytest.raises(SchemaError, match=message):
        LayerEquations.from_json(text.replace(*change))


@pytest.mark.parametrize("law", [signs, uniform, orthogonal])
def test_json_has_the_names_of_laws(law):
    found = layer_equations("G.1", Stack("h = U s(z); z' = W s(h)", laws={"W": law}))
    text = found.to_json()
    again = LayerEquations.from_json(text)
    assert (again, again.layer, str(again)) == (found, found.layer, str(found))
    assert again.layer.drawn[1].tensor.law == found.layer.drawn[1].tensor.law
    for changed in (text.replace('"version": 2', '"version": 1'), text.replace('"laws"', '"law"')):
        with pytest.raises(SchemaError, match=r"is not symdlt\.layer-equations of version"):
            LayerEquations.from_json(changed)


def test_json_of_a_layer_whose_text_does_not_say_all():
    for stack in (
        Stack("h = U s(z); z' = W s(h)", laws={"W": partial(sparse, density=Fraction(1, 3))}),
        Stack("h = U s(z); z' = W s(h)", rates={"W": Polynomial.symbol("c")}),
    ):
        with pytest.raises(SchemaError, match="is not what its text says"):
            layer_equations("G", stack).to_json()


@pytest.mark.parametrize(
    "layer", ["z' = xi z + W s(z) + P z", "u = U z; v = V z; z' = xi z + W s(u) v"]
)
def test_the_average_of_a_number_has_no_noise(layer):
    """The second derivative of z z, which weights read, is one."""
    equations = layer_equations("G.1", layer).equations
    read = {s for one in equations for monomial, _ in one.polynomial.terms for s, _ in monomial}
    noises = [s for s in (*read, *(one.name for one in equations)) if s.startswith("Y_")]
    assert noises
    assert all("_" in s.partition("[")[2] for s in noises)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        swept("V", "z' = W layernorm(z) s(z) + z"),
        slow("V", "u = U layernorm(z) s(z) + z; z' = W prune(1/4) u"),
        ("G.1", "u = U s(z); v = V z; z' = W u v"),
    ],
)
def test_who_watches_sees_how_many_covariances_are_known(name, layer, monkeypatch, capsys):
    symbolic_layer.cache_clear()
    plain = layer_equations(name, layer)
    assert capsys.readouterr().err == ""
    symbolic_layer.cache_clear()
    monkeypatch.setattr("symdlt.progress._is_watched", lambda: True)
    watched = layer_equations(name, layer)
    counts = re.findall(r"covariances (\d+)/(\d+)", capsys.readouterr().err)
    assert len(counts) > 10
    following = [*counts[1:], ("1", "")]
    ends = [one for one, after in zip(counts, following, strict=True) if after[0] == "1"]
    assert all(done == of for done, of in ends)  # each equation is counted to its end
    assert str(plain) == str(watched)
    assert plain.glossary == watched.glossary


def test_a_product_with_one_term_is_sorted_and_exact():
    a, b, n = (Polynomial.symbol(name) for name in "abn")
    many = a / 2 + b * n**2 - b / (a * n)
    term = Fraction(2, 3) * n / (a * b)
    values = {"a": Fraction(3, 7), "b": 5, "n": Fraction(-2, 9)}
    exact = [one.substitute(values).as_fraction() for one in (many, term)]
    assert (many * term).substitute(values).as_fraction() == exact[0] * exact[1]
    in_order = sum((Polynomial((one,)) for one in (many * term).terms), Polynomial.number(0))
    assert (many * term).terms == (term * many).terms == in_order.terms
    assert many * Polynomial.number(4) == many * 4
    assert (many * n) * (1 / n) == many
