"""Activations by name, as text and from SymPy: what is read, what is refused and how."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from symdlt.activations import ACTIVATIONS, Activation, activation
from symdlt.activations.grammar import NAMES
from symdlt.errors import ActivationError, SymdltError

Z = sp.Symbol("z", real=True)
GRAMMAR = (
    f"Write numbers, + - * / **, parentheses, z, pi, E, the functions {' '.join(NAMES)}, "
    "and activations by name as in gelu(z/2)."
)


def at(what, point):
    return float(activation(what).to_sympy().subs(Z, point))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("tanh", math.tanh),
        ("erf", math.erf),
        ("gelu", lambda z: z * (1 + math.erf(z / math.sqrt(2))) / 2),
        ("swish", lambda z: z / (1 + math.exp(-z))),
        ("mish", lambda z: z * math.tanh(math.log1p(math.exp(z)))),
        ("softplus", lambda z: math.log1p(math.exp(z))),
        ("sigmoid", lambda z: 1 / (1 + math.exp(-z))),
        ("relu", lambda z: max(z, 0.0)),
        ("leaky_relu", lambda z: z if z > 0 else z / 100),
        ("elu", lambda z: z if z > 0 else math.expm1(z)),
        ("softsign", lambda z: z / (1 + abs(z))),
        ("linear", lambda z: z),
    ],
)
def test_named_activations(name, function):
    for point in (-1.25, -0.5, 0.5, 2.0):
        assert at(name, point) == pytest.approx(function(point), rel=1e-12)


def test_selu_has_its_published_constants():
    """Both sides of the kink: 1.0507… z and 1.0507…·1.6732… (exp z − 1)."""
    assert at("selu", 2.0) == pytest.approx(2 * 1.0507009873554805)
    assert at("selu", -40.0) == pytest.approx(-1.7580993408473766, rel=1e-12)


def test_those_whose_slope_jumps_are_kinked():
    """Softsign, ELU and the squared ReLU have kinks in their slope, and none themselves."""
    kinked = {name for name in ACTIVATIONS if activation(name).kinked}
    assert kinked == {
        *("abs", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "heaviside", "leaky_relu"),
        *("relu", "relu6", "selu", "sign", "softshrink"),
    }
    assert activation("relu(z + 1) - 1").kinked
    assert not activation("abs(z)*tanh(z)").kinked
    assert not activation("1/z").kinked


def test_kink_away_from_zero_does_not_enter_the_series():
    assert activation("relu(z + 1)").taylor(3) == (1, 1, 0, 0)
    assert activation("abs(z - 2)").taylor(3) == (2, -1, 0, 0)


def test_removable_singularity():
    """The series of sin z/z, the cardinal sine."""
    found = activation("sin(z)/z").taylor(4)
    assert found == (1, 0, sp.Rational(-1, 3), 0, sp.Rational(1, 5))


def test_exact_constants_stay_small():
    """The coefficients are polynomials in tanh(1/2), not towers of products."""
    t = sp.Symbol("t")
    found = activation("tanh(z + 1/2)").taylor(6)[6]
    polynomial = found.subs(sp.tanh(sp.Rational(1, 2)), t)
    assert sp.degree(polynomial, t) == 7
    assert activation("mish").taylor(3) == (
        0,
        sp.Rational(3, 5),
        sp.Rational(16, 25),
        sp.Rational(-12, 125),
    )


def test_derivatives():
    assert activation("z**3 - 2*z").derivatives(3) == (Z**3 - 2 * Z, 3 * Z**2 - 2, 6 * Z, 6)


@given(st.lists(st.fractions(max_denominator=50), min_size=1, max_size=6))
def test_polynomials_have_their_coefficients(coefficients):
    text = " + ".join(f"({c})*z^{p}" for p, c in enumerate(coefficients))
    expected = [math.factorial(p) * c for p, c in enumerate(coefficients)]
    found = activation(text).taylor(len(coefficients) - 1)
    assert [(c.p, c.q) for c in found] == [(c.numerator, c.denominator) for c in expected]


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    found = reason = None
    try:
        found = activation(text)
    except ActivationError as refused:
        reason = refused
    assert (found is None) != (reason is None)
    assert len(repr(found)) < 80
    assert len(str(reason)) < 700


def test_sympy_expressions():
    x = sp.Symbol("x")
    assert activation(sp.tanh(x) + sp.exp(1)).text == "tanh(z) + E"
    assert activation(sp.Abs(x) / sp.pi).to_sympy() == sp.Abs(Z) / sp.pi
    assert activation(activation("sin")) == activation("sin")


@pytest.mark.parametrize(
    "expression",
    [
        lambda x: sp.Piecewise((sp.Float(1.0507009873554805) * x, x < 0), (x, True)),
        lambda x: sp.Piecewise((x, (x > -1) & (x <= 1)), (1, x >= 1), (-1, True)),
        lambda x: sp.Max(-1, sp.Min(x, 1), x / 3),
        lambda x: sp.Heaviside(x - 2) * sp.erfc(x) + sp.sign(x + 1) * sp.Abs(x),
        lambda x: sp.Float("1e-7") * x**2 / (1 + sp.exp(-x)),
    ],
)
def test_sympy_expressions_keep_their_values(expression):
    x = sp.Symbol("x")
    for point in (-3, -0.5, 0.25, 1.5, 4):
        expected = float(expression(x).subs(x, point))
        assert at(expression(x), point) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    "what", [sp.oo, sp.zoo, sp.nan, sp.true, sp.Matrix([1]), sp.Function("f")(sp.Symbol("x"))]
)
def test_sympy_objects_that_are_no_real_function(what):
    with pytest.raises(ActivationError):
        activation(what)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("leaky_relu(z, 1/10)", "relu(z) - relu(-z)/10"),
        ("elu(2*z, 3)", "relu(2*z) + 3*exp(-relu(-2*z)) - 3"),
        ("max(z, 1, -z)", "relu(abs(z) - 1) + 1"),
        ("min(z, 1/2)", "1/2 - relu(1/2 - z)"),
        ("where(z > 1/3, z, 2*z - 1/3)", "leaky_relu(3*z - 1, 2)/3 + 1/3"),
        ("where(1/3 <= z, 1, 0)", "heaviside(z - 1/3)"),
        ("Piecewise((1, (z < -1) | (z > 1)), (z*z, True))", "min(z**2, 1)"),
        ("piecewise((z, (z < 1) & (z > -1)), (sign(z), True))", "max(-1, min(1, z))"),
        ("erfc(z)", "1 - erf(z)"),
    ],
)
def test_cases_are_what_they_stand_for(text, same):
    for point in (-3, -0.75, 0.2, 0.6, 1.5):
        assert at(text, point) == pytest.approx(at(same, point), rel=1e-14)
    for centre in ("z - 2", "z + 2"):
        moved = [t.replace("z", f"({centre})") for t in (text, same)]
        first, second = (activation(t).taylor(3) for t in moved)
        assert [sp.N(a) for a in first] == pytest.approx([sp.N(b) for b in second])


def test_equality_hash_pickle_and_repr():
    found = activation(" sin(z) ")
    assert found == Activation("sin(z)", "sin(z)")
    assert hash(found) == hash(Activation("sin(z)", "sin(z)"))
    assert pickle.loads(pickle.dumps(found)) == found
    assert repr(found) == "Activation(sin(z))"
    assert repr(activation("gelu")) == "Activation(gelu: z*(1 + erf(z/sqrt(2)))/2)"
    assert len(repr(activation("z + " * 99 + "z"))) < 80
    with pytest.raises(FrozenInstanceError):
        found.text = "z"


@pytest.mark.parametrize(
    ("text", "number", "position"),
    [
        ("1e400*z", "1e400", 0),
        ("z*1e-300", "1e-300", 2),
        ("z + 2.5E+100", r"2.5E\+100", 4),
        ("1e" + "9" * 400, "1e9+", 0),
    ],
)
def test_numbers_out_of_range(text, number, position):
    message = f"The number {number} is out of range. It stands at position {position} of"
    with pytest.raises(ActivationError, match=message):
        activation(text)


def test_numbers_with_exponents():
    for text, value in (("1e99*z", 1e99), ("1.5E-007*z", 1.5e-7), ("2e+05*z", 2e5)):
        assert at(text, 1) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "what", "position"),
    [
        ("tanh(z))", "')'", 7),
        ("tanh(z", "the end", 6),
        ("z +", "the end", 3),
        ("2 z", "'z'", 2),
        ("c*z", "'c'", 0),
        ("tanh*z", "'*'", 4),
        ("z; import os", "';'", 1),
        ("z.real", "'.'", 1),
        ("z[0]", "'['", 1),
        ("lambda: z", "':'", 6),
        ("lambda(z)", "'lambda'", 0),
        ("9" * 41 + "*z", repr("9" * 41), 0),
        ("1 < z", "'<'", 2),
        ("z, 1", "','", 1),
        ("where(z, 1, 2)", "','", 7),
        ("where(0 < z < 1, 1, 2)", "'<'", 12),
        ("where(z < 1, 2)", "')'", 14),
        ("where(z < 1 & z, 1, 2)", "','", 15),
        ("where((z < 1, 1, 2)", "','", 12),
        ("abs(z < 1)", "'<'", 6),
        ("piecewise((z, z < 1))", "')'", 20),
        ("piecewise((z, True), (1, z < 1))", "','", 19),
        ("piecewise(z, z < 1)", "'z'", 10),
        ("", "the end", 0),
    ],
)
def test_position_of_what_cannot_be_read(text, what, position):
    with pytest.raises(ActivationError) as caught:
        activation(text)
    assert str(caught.value) == (
        f"Cannot read {what} in an activation. It stands at position {position} of "
        f"{text[:60]!r}. {GRAMMAR}"
    )


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            "tan",
            "There is no activation 'tan'. Did you mean tanh or atan? "
            f"Known are {' '.join(ACTIVATIONS)}. "
            "Give one of these or an expression in z such as 'sin(z) + z/2'.",
        ),
        (
            "x*z",
            "The activation 'x*z' has two variables, x and z. "
            "It must be a function of one preactivation. Use one of them only.",
        ),
        (
            "2**z",
            "An exponent is not a number of moderate size. It stands after position 1 of '2**z'. "
            "Write exp(...) for other powers.",
        ),
        (
            "z + " * 200 + "z",
            "The activation has 801 characters. It starts with 'z + z + z + z + z + '. "
            "Write it with at most 500.",
        ),
        (
            sp.Symbol("a") * sp.tanh(sp.Symbol("x")),
            "The activation has the symbols a, x. It must be a function of one preactivation. "
            "Substitute numbers for the parameters.",
        ),
        (
            "z + leaky_relu(z, 1, 2)",
            "The function leaky_relu has 3 arguments. It stands at position 4 of "
            "'z + leaky_relu(z, 1, 2)'. Give one or two.",
        ),
        (
            "max(z)",
            "The function max has one argument. It stands at position 0 of 'max(z)'. "
            "Give two or more.",
        ),
        (
            "tanh(z, 2)",
            "The function tanh has 2 arguments. It stands at position 0 of 'tanh(z, 2)'. Give one.",
        ),
        (
            sp.gamma(sp.Symbol("x")),
            "The activation holds the function gamma. It is not among those that an activation can "
            f"have: {' '.join(NAMES)}. Rewrite it in these.",
        ),
        (
            sp.I * sp.Symbol("x"),
            "The activation holds I. Its values must be real numbers. "
            "Give a real function of a real variable.",
        ),
        (
            sp.Symbol("x") < 1,
            "An activation cannot be made of StrictLessThan. It must have numbers as values. "
            "Give an expression such as sympy.tanh(x).",
        ),
        (
            3,
            "An activation cannot be made of int. "
            "It is a name, a text, or a SymPy expression in one symbol. "
            "Give for instance 'tanh' or 'sin(z) + z/2'.",
        ),
    ],
)
def test_messages(what, message):
    with pytest.raises(ActivationError) as caught:
        activation(what)
    assert str(caught.value) == message


def test_errors_are_ours_and_built_in():
    assert issubclass(ActivationError, SymdltError)
    assert issubclass(ActivationError, ValueError)


@pytest.mark.parametrize("text", ["1/z", "log(z)", "sqrt(z)", "z/(z - z)", "z**-2"])
def test_not_finite_at_zero(text):
    with pytest.raises(ActivationError, match=r"not finite and smooth at zero: .*\. Its Taylor"):
        activation(text).taylor(2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sqrt(-2)*z", "holds I"),
        ("z/(1 - 1)", "holds zoo"),
        ("relu(sqrt(-2)*z)", "holds I"),
        ("where(sqrt(-2) < 0, 1, z)", "compares what is not real"),
    ],
)
def test_not_real(text, reason):
    with pytest.raises(ActivationError, match=reason):
        activation(text).to_sympy()
    with pytest.raises(ActivationError):
        activation(text).taylor(1)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "((z**99)**99)**99",
        "(" * 200 + "z" + ")" * 200,
        "-" * 300 + "z",
        "z**(10**30)",
        "2**(1/10**30)*z",
        "*".join(["(9**60)"] * 60),
        "__import__('os').system('true')",
        "leaky_relu(" * 40 + "z",
        "where(" * 80 + "z",
        "where(z<1 & " * 40,
    ],
)
def test_hostile_text_is_refused_at_once(text):
    with pytest.raises(ActivationError):
        activation(text)


def test_reading_does_not_load_sympy():
    code = (
        "import sys; from symdlt.activations import activation; "
        "activation('tanh(z)/2'); sys.exit('sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
