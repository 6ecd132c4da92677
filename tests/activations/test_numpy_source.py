"""Activations as NumPy: values against mpmath, and what is refused."""

from __future__ import annotations

import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from cases import slow

from symdlt.activations import activation
from symdlt.activations.sympy_form import Z, expression
from symdlt.errors import ActivationError
from symdlt.kernels import activation_source, numpy_activation
from symdlt.kernels.numpy_target.activations.domain import compiled
from symdlt.kernels.numpy_target.activations.error_function import error_function_source

ORDERS = 6
POINTS = (-700, -40, -5, -1, -1e-3, -1e-9, -0.0, 0.0, 1e-9, 0.3, 2, 20, 700)
WIDE = np.linspace(-1000.0, 1000.0, 4001)


NAMED = ("asinh", "elu", "gelu", "hardswish", "mish", "selu", "softsign", "tanh")
EXPRESSIONS = (
    "2/(1 + exp(-2*z)) - 1",
    "(exp(z) - exp(-z))/(exp(z) + exp(-z))",
    "1/cosh(z)",
    "log(cosh(z))",
    "log(exp(z)/2 + 1/2)",
    "log(sigmoid(z))",
    "sigmoid(z + 1)*sigmoid(2 - z)",
    "1/(1 + exp(z))/(1 + exp(-2*z))",
    "1/(1 + exp(z) + z**2)",
    "sqrt(1 + exp(z/2))/(1 + exp(z))",
    "z*erf(log(1 + exp(z)))",
    "z*erfc(-z/sqrt(2))/2",
    "0.5*z*(1 + tanh(sqrt(2/pi)*(z + 0.044715*z**3)))",
    "z/sqrt(1 + z**2)",
    "(1 + z**2)**(1/3)",
    "1/(2 + sin(z))",
    "exp(-z**2/2)*cos(5*z)",
    "(1 + z + sin(z))**3",
    "z**7/5040 - z**3 + pi*z",
    "3",
    "z*min(max(z + 3, 0), 6)/6",
    "abs(tanh(z))",
    "where(z < 1, sin(z), sin(1)*exp(1 - z))",
)
LONG = (*EXPRESSIONS[1::2], "z*erf(log(1 + exp(z)))")


@pytest.mark.parametrize("text", [slow(t) if t in LONG else t for t in EXPRESSIONS])
def test_expressions(text):
    """Against SymPy's derivatives of each piece, in so many digits that nothing overflows."""
    found = numpy_activation(text, ORDERS - 1)
    values = found.together(np.array(POINTS), ORDERS)
    for piece, end in ends(activation(text).pieces()):
        smooth = expression(piece.node)
        for order in range(ORDERS):
            function = sp.lambdify(Z, smooth, "mpmath")
            for column, point in enumerate(POINTS):
                if not piece.start <= point < end:
                    continue
                with mp.workdps(700):
                    expected = function(mp.mpf(float(point)))
                error = abs(values[order][column] - expected)
                assert error < 1e-13 * max(1, abs(point), abs(expected)), (point, order)
            smooth = smooth.diff(Z)


def ends(pieces):
    return zip(pieces, [*(piece.start for piece in pieces[1:]), sp.oo], strict=True)


@pytest.mark.parametrize("what", [*NAMED, *EXPRESSIONS])
def test_each_derivative_alone_equals_all_together(what):
    found = numpy_activation(what, ORDERS - 1)
    together = found.together(WIDE, ORDERS)
    for count in range(1, ORDERS + 1):
        assert len(found.together(WIDE, count)) == count
    for function, values in zip(found.functions, together, strict=True):
        assert values.shape == WIDE.shape
        assert np.isfinite(values).all()
        np.testing.assert_array_equal(function(WIDE), values)
        assert function(np.float64(0.25)) == pytest.approx(float(function(np.array([0.25]))[0]))
    assert found.source == activation_source(what, ORDERS - 1)


@pytest.mark.parametrize("text", ["relu(z - 1/3)", "elu(z, 2)", "max(-1, min(z, 1))", "relu(z)**2"])
def test_values_jump_as_the_kinks_say(text):
    functions = numpy_activation(text, 3).functions
    for kink in activation(text).kinks(3):
        right = float(kink.position)
        left = np.nextafter(right, -np.inf)
        jumps = [float(s(right)) - float(s(left)) for s in functions]
        assert jumps == pytest.approx([float(jump) for jump in kink.jumps], abs=1e-12)


@pytest.mark.parametrize(("near", "power"), [("elu", 1), ("selu", 1), ("erf", 1), ("tanh", 1)])
def test_small_arguments_keep_their_digits(near, power):
    s0, s1 = numpy_activation(near, 1).functions
    z = -np.geomspace(1e-300, 1e-10, 30)
    np.testing.assert_allclose(s0(z), s1(z) * z**power, rtol=1e-9)
    tiny = z[z > -1e-17]
    np.testing.assert_allclose(s0(tiny), s1(tiny) * tiny, rtol=4e-16)


def test_gelu_keeps_its_digits_far_to_the_left():
    (s0,) = numpy_activation("gelu", 0).functions
    for point in (-3.0, -8.0, -20.0):
        with mp.workdps(30):
            expected = mp.mpf(point) * mp.ncdf(point)
        assert s0(point) == pytest.approx(float(expected), rel=1e-13)


def test_error_function():
    functions = compiled(error_function_source())
    x = np.concatenate([np.linspace(-7.0, 7.0, 2001), np.geomspace(1e-300, 1.0, 200)])
    x = np.concatenate([x, 1.0 + np.linspace(-1e-3, 1e-3, 101), [-26.0, 26.0, 1e3, -1e3, np.inf]])
    bell = np.exp(-x * x)
    with mp.workdps(30):
        expected = np.array([float(mp.erf(mp.mpf(float(v)))) for v in x])
        complement = np.array([float(mp.erfc(mp.mpf(float(v)))) for v in x])
    found = functions["erf"](x, bell)
    assert np.abs(found - expected).max() <= 2.3e-16
    np.testing.assert_allclose(found, expected, rtol=4e-16, atol=0.0)
    found = functions["erfc"](x, bell)
    assert np.abs(found - complement).max() <= 4e-16
    np.testing.assert_allclose(found, complement, rtol=1e-13, atol=0.0)


def test_growing_functions_overflow_in_silence():
    s0, s1 = numpy_activation("sinh(z) + exp(z**2)", 1).functions
    assert s0(np.array([1e3])) == s1(np.array([1e3])) == np.inf
    assert "errstate" in activation_source("sinh(z)", 0)
    assert "errstate" not in "".join(activation_source(name, 5) for name in NAMED)


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("1/z", "0"),
        ("sin(z)/z", "0"),
        ("log(z)", "0"),
        ("sqrt(2 - z**2)", "-1.41421"),
        ("1/(z - 1/3)**2", "0.333333"),
        ("1/(exp(z) - 2)", "0.7"),
        ("1/(1 + sin(z))", "-1.5708"),
        ("where(z < 2, 1/(z - 2), -1)", "2"),
        ("relu(z)**(3/2)", "0"),
        ("log(sin(z))", "-?0"),
        ("1/(1 + erf(z))", "-27.23"),
    ],
)
def test_functions_that_are_not_finite_or_not_smooth(text, point):
    with pytest.raises(ActivationError, match=rf"cannot be evaluated at z = {point}\d*\. "):
        activation_source(text, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sqrt(-2)*z", "I, which is not a real number"),
        ("log(-1)*z", "I, which is not a real number"),
        ("z + 1/(1 - 1)", "zoo, which is not a real number"),
        ("z*exp(200)**20", "exp(4000), which is not a real number of moderate size"),
        ("sqrt(z**2)", "no rule to evaluate Abs(z)"),
        ("*".join(f"(z+sin({k}*z))" for k in range(20)), "when it is multiplied out"),
        ("tanh(" * 30 + "z" + ")" * 30, "terms. At most 500 are evaluated"),
        pytest.param(
            "elu(" * 30 + "z" + ", 2)" * 30,
            "terms. At most 500 are evaluated",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_functions_that_cannot_be_generated(text, message):
    with pytest.raises(ActivationError) as caught:
        activation_source(text, 5)
    assert message in str(caught.value)


@pytest.mark.parametrize("number", [-1, 21, 1.5, None])
def test_number_of_derivatives(number):
    with pytest.raises(ActivationError) as caught:
        activation_source("tanh", number)
    assert str(caught.value) == (
        f"{number!r} derivatives of an activation cannot be generated. "
        "Their number is a whole number from 0 to 20. Give another."
    )


def test_source_holds_nothing_of_the_text():
    source = activation_source(" tanh( 0x.5 )".replace("0x", "z*0"), 1)
    assert source == activation_source("tanh(z*0.5)", 1)
    with pytest.raises(ActivationError, match=r"position 1 of"):
        activation_source("z#", 1)


@pytest.mark.slow
def test_source_is_the_same_whatever_the_hash_seed():
    code = (
        "from symdlt.kernels import activation_source as source; "
        f"print([source(what, 4) for what in {['gelu', 'mish', 'selu', *EXPRESSIONS]!r}])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
