"""The derived exponents, coefficients and ratios of the K* = 0 class against the book's."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
import sympy as sp
from book.exponents import coefficients, four_point_ratio, kernel_exponents, ratios, symbols

from symdlt import BOOK
from symdlt.asymptotics import exponents

LAMBDA_B, LAMBDA_W = (sp.Symbol(name, positive=True) for name in ("lambda_b", "lambda_W"))
SIGMA_1, A_1 = sp.Symbol("sigma_1", positive=True), sp.Symbol("a_1", negative=True)
P_PERP = sp.Symbol("p_perp", real=True)
LAYER, DEPTH = (sp.Symbol(name, positive=True) for name in ("l", "L"))


@pytest.fixture(scope="module")
def odd():
    return exponents("K*=0, odd")


@pytest.fixture(scope="module")
def general():
    return exponents("K*=0, general")


def equal(first, second):
    return sp.simplify(first - second) == 0


def test_thirteen_tensors(odd):
    assert {a.name for a in odd.tensors} == set(BOOK)


@pytest.mark.parametrize("name", "RSTU")
def test_odd_class_is_the_books(odd, name):
    """(∞.30)–(∞.37)."""
    s = symbols()
    found = odd[name]
    assert found.exponent == kernel_exponents()[name]
    assert found.log_power == 0
    assert equal(found.coefficient, coefficients(s)[name])
    assert equal(found.ratio_coefficient, ratios(s)[name])
    assert found.ratio_power == (-1 if name == "U" else 1)
    assert found.ratio == f"{name} K/(n Theta^3)"


def test_kernel_ntk_and_four_point_vertex(odd):
    assert odd["G"].exponent == 1
    assert equal(odd["G"].coefficient, -1 / A_1)
    assert odd["H"].exponent == 0
    assert equal(odd["H"].coefficient, LAMBDA_B + LAMBDA_W * SIGMA_1**2 / -A_1)
    assert odd["V"].ratio == "V/(n K^2)"
    assert odd["V"].ratio_power == 1
    assert odd["V"].ratio_coefficient == four_point_ratio()


def test_no_ratio_grows_faster_than_depth_over_width(odd):
    powers = {found.name: found.ratio_power for found in odd.tensors}
    assert {powers.pop("G"), powers.pop("H")} == {0}
    assert powers.pop("U") == -1
    assert set(powers.values()) == {1}


def test_general_class_goes_over_into_the_odd_one(odd, general):
    """At p_⊥ = 1 all but U, whose leading coefficient vanishes there."""
    for found in odd.tensors:
        other = general[found.name]
        if found.name == "U":
            assert other.coefficient.subs(P_PERP, 1) == 0
            continue
        assert other.exponent.subs(P_PERP, 1) == found.exponent
        assert equal(other.coefficient.subs(P_PERP, 1), found.coefficient)


def test_general_class_keeps_the_powers_of_the_ratios_but_for_U(odd, general):
    for found in odd.tensors:
        raised = 1 if found.name == "U" else 0
        assert general[found.name].ratio_power == found.ratio_power + raised


def test_bare_exponents_of_the_general_class_shift_with_the_ntk(general):
    assert general["H"].exponent == P_PERP - 1
    for found in general.tensors:
        shift = sp.diff(found.exponent, P_PERP)
        assert shift == len(BOOK[found.name].forest.edges)


def test_learning_rates_follow_the_equivalence_principle(general):
    """(∞.29)."""
    hyper = dict(general.hyperparameters)
    assert hyper["C_b"] == 0
    assert equal(hyper["C_W"], 1 / SIGMA_1**2)
    assert equal(hyper["lambda_b(l)"], LAMBDA_B * LAYER**-P_PERP * DEPTH ** (P_PERP - 1))
    assert equal(hyper["lambda_W(l)"], LAMBDA_W * (DEPTH / LAYER) ** (P_PERP - 1))


@pytest.mark.slow
def test_named_activation_is_its_class_with_numbers(odd, general):
    for text, whole, values in (
        ("tanh", odd, {SIGMA_1: 1, A_1: -2}),
        ("erf", odd, {SIGMA_1: 2 / sp.sqrt(sp.pi), A_1: -2}),
        ("3*sin(z/2)", odd, {SIGMA_1: sp.Rational(3, 2), A_1: -sp.Rational(1, 4)}),
        ("z - z**3/4", odd, {SIGMA_1: 1, A_1: -sp.Rational(3, 2)}),
        ("2*sin(z) + 1 - cos(z)", general, {SIGMA_1: 2, A_1: sp.Rational(-13, 16)}),
    ):
        named = exponents(text)
        values[P_PERP] = dict(named.values)["p_perp"]
        assert dict(named.values)["a_1"] == values[A_1]
        for found in named.tensors:
            expected = whole[found.name]
            assert equal(found.coefficient, expected.coefficient.subs(values))
            ratio = sp.sympify(expected.ratio_coefficient).subs(values)
            assert equal(found.ratio_coefficient, ratio)
            assert found.exponent == expected.exponent.subs(values)
            assert found.ratio_power == expected.ratio_power


def test_first_taylor_coefficients_decide():
    """(∞.28): a_1 = σ_3/σ_1 + 3/4 (σ_2/σ_1)², and b_1 with 1 for 3/4 gives p_⊥ = b_1/a_1."""
    values = dict(exponents("2*z + z**2 - 3*z**3", ["V"]).values)
    ratio_2, ratio_3 = sp.Rational(2, 2), sp.Rational(-18, 2)
    a_1 = ratio_3 + sp.Rational(3, 4) * ratio_2**2
    assert values == {"sigma_1": 2, "a_1": a_1, "p_perp": (ratio_3 + ratio_2**2) / a_1}


def test_even_terms_beyond_the_second_do_not_matter():
    plain, more = exponents("z - z**3/6"), exponents("z - z**3/6 + z**4/3")
    assert more.universality == "K*=0, sigma_2=0"
    assert [a.coefficient for a in plain.tensors] == [a.coefficient for a in more.tensors]


def test_irrational_taylor_coefficients():
    found = exponents("tanh(z + 1/2) - tanh(1/2)", ["B"])
    t = sp.tanh(sp.Rational(1, 2))
    ratio_2, ratio_3 = -2 * t, -2 + 6 * t**2
    a_1 = ratio_3 + sp.Rational(3, 4) * ratio_2**2
    assert equal(dict(found.values)["p_perp"], (ratio_3 + ratio_2**2) / a_1)
    assert found["B"].ratio_coefficient == sp.Rational(1, 3)


def test_numbers_for_the_learning_rates():
    whole, given = exponents("tanh"), exponents("tanh", lambda_b=Fraction(1, 3), lambda_W=2)
    for a, b in zip(whole.tensors, given.tensors, strict=True):
        assert a.coefficient.subs({LAMBDA_B: sp.Rational(1, 3), LAMBDA_W: 2}) == b.coefficient


@pytest.mark.slow
def test_next_order_takes_over_when_the_leading_one_cancels():
    """Without weight learning S loses its ℓ², without bias learning T, Q, A and D lose theirs."""
    assert exponents("tanh", lambda_W=0)["S"].exponent == -1
    silent = exponents("tanh", lambda_b=0)
    logs = {a.name: (a.exponent, a.log_power) for a in silent.tensors if a.log_power}
    assert logs == {"D": (1, 1), "A": (1, 2), "Q": (0, 1), "T": (0, 2)}


@pytest.mark.slow
def test_constants_of_integration_are_named():
    """For the sine the logarithms cancel too, and what is left remembers the input."""
    found = exponents("sin", lambda_b=0)
    assert sp.Symbol("c_H", real=True) in found["D"].coefficient.free_symbols
    assert found.assumptions[-1] == "c_H: constants that depend on the input"


def test_sympy_expressions_are_taken():
    x = sp.Symbol("x")
    found, named = exponents(sp.tanh(x)), exponents("tanh")
    assert [a.coefficient for a in found.tensors] == [a.coefficient for a in named.tensors]


def test_subleading_pieces_and_larger_tensors():
    found = exponents("tanh", ["G.1", "X6"])
    assert found["G.1"].ratio == "G.1/(n K)"
    assert found["G.1"].ratio_power == 1
    assert (found["X6"].ratio, found["X6"].ratio_power) == ("X6/(n^2 K^3)", 2)


def test_json_is_plain_and_exact():
    found = exponents("tanh").to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["schema"] == "symdlt.asymptotics"
    assert found["version"] == 1
    assert found["tensors"]["R"] == {
        "exponent": "-2",
        "log_power": 0,
        "coefficient": "-(lambda_W + 2*lambda_b)**2*(2*lambda_W + 3*lambda_b)/96",
        "ratio": {
            "definition": "R K/(n Theta^3)",
            "depth_power": "1",
            "width_power": -1,
            "coefficient": "-(2*lambda_W + 3*lambda_b)/(24*(lambda_W + 2*lambda_b))",
        },
    }


def test_table_and_repr():
    found = exponents("tanh", ["V"], lambda_b=0)
    assert str(found) == found.table()
    assert found.table().splitlines() == [
        "tanh: universality class K*=0, odd",
        "  sigma_1 = 1, a_1 = -2, p_perp = 1",
        "  C_b = 0, C_W = 1, lambda_b(l) = 0, lambda_W(l) = lambda_W",
        "  one input, hidden layers of one width n, X ~ l^-p at large depth l",
        "",
        "tensor  p  coefficient of l^-p  dimensionless ratio",
        "G       1  1/2",
        "H       0  lambda_W/2",
        "V       1  1/6                  V/(n K^2)            -> 2/3 * l/n",
    ]
    assert repr(found) == "AsymptoticSolution('tanh', K*=0, odd, tensors=3)"
    assert repr(found["V"]) == "Asymptote(V, exponent=1)"
    assert len(repr(exponents("z - z**3" + " - z**3" * 60, ["V"]))) < 120


def test_latex():
    found = exponents("tanh", ["Q"], lambda_b=0).latex()
    assert r"Q^{(\ell)} &= - \frac{\widetilde{\lambda}_W^{2}}{64}\,\log \ell + \cdots" in found
    assert r"\frac{Q}{n \Theta^{2}} &= - \frac{1}{16}\,\frac{1}{n}\,\log \ell + \cdots" in found
    assert r"K^{(\ell)} &= \frac{1}{2}\,\ell^{-1} + \cdots" in found
    assert exponents("tanh")._repr_latex_().startswith(r"$\displaystyle \begin{aligned}")
