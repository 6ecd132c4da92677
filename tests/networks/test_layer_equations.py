"""Equations of layers in symbols, against the derivation by Wick contraction, and as text."""

import pytest
from sympy import Rational, Symbol, expand

from symdlt import BOOK, Stack, derive, layer_equations
from symdlt.algebra import signs
from symdlt.cli import main
from symdlt.derivation.terms import bracket_text, tensor_text
from symdlt.errors import LayerError, OrderError, SchemaError, UnknownTensorError
from symdlt.networks import LayerEquations

RESIDUAL = "z' = xi z + b + W s(z)"
GATE = "u = U z; v = V z; z' = b + W s(u) v"


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


@pytest.mark.parametrize("layer", ["z' = b + W s(z)", "z' = W s(z) + U s'(z)"])
@pytest.mark.parametrize("name", BOOK)
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
    latex = found.to_latex()
    assert found._repr_latex_() == latex
    assert latex.startswith(r"\begin{align*}" "\n" r"\widehat{F}_{1324}\Big|_{\ell+1} ={}&")
    assert r"Y_{13}^{(34)}[z^{(m)}_{2} \,z^{(m)}_{4}]" in latex
    assert "<" not in latex.replace(r"\left<", "")
    named = layer_equations("B", "h = U s(z); z' = z + W tanh(h)").to_latex()
    assert r"\mathrm{tanh}'(h_{1})" in named


def test_functions_that_differ_by_their_constants_have_noises_of_their_own():
    found = layer_equations("V", "z' = xi z + W (s(z) + 1/2 z) + U (s(z) - alpha z)")
    noises = [equation.name for equation in found.equations if equation.name[0] == "Y"]
    assert noises == [
        "Y_12[s(z^m)_3 s(z^m)_4 + 1/2 s(z^m)_3 z^m_4 + 1/2 z^m_3 s(z^m)_4 + 1/4 z^m_3 z^m_4][l+1]",
        "Y_12[s(z^m)_3 s(z^m)_4 - alpha s(z^m)_3 z^m_4 - alpha z^m_3 s(z^m)_4"
        " + alpha^2 z^m_3 z^m_4][l+1]",
        "Y_12[z^m_3 z^m_4][l+1]",
    ]
    latex = found.to_latex()
    assert r"- \alpha \,\sigma(z^{(m)}_{3}) \,z^{(m)}_{4}" in latex
    assert r"+ \alpha^2 \,z^{(m)}_{3} \,z^{(m)}_{4}]" in latex
    assert r"+ \tfrac{1}{2} \,\sigma(z^{(m)}_{3})" in latex
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


def test_what_cannot_be_derived_is_refused():
    with pytest.raises(UnknownTensorError):
        layer_equations("nothing", GATE)
    with pytest.raises(OrderError, match="3 pairs"):
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


def test_json_of_a_layer_whose_text_does_not_say_all():
    of_signs = Stack("h = U s(z); z' = W s(h)", laws={"W": signs})
    with pytest.raises(SchemaError, match="is not what its text says"):
        layer_equations("G", of_signs).to_json()
