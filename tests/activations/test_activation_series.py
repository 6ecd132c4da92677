"""Taylor coefficients of activations against the derivatives that SymPy takes."""

import pytest
import sympy as sp

from symdlt.activations import activation

Z = sp.Symbol("z", real=True)


@pytest.mark.parametrize(
    "text",
    [
        "tanh",
        "sin",
        "erf",
        "atan",
        "gelu",
        "swish",
        "softplus",
        "sigmoid",
        "linear",
        "sin(z) + (1 - cos(z))/3",
        "tanh(z + 1/4) - tanh(1/4)",
        "2.5*z*exp(-z**2/2)",
        "z/(1 + z^2)**(1/2)",
        "-x**2 + 2*x - 3",
        "log(1 + exp(-z))*sqrt(4 + z)",
    ],
)
def test_taylor_coefficients_are_derivatives_at_zero(text):
    found = activation(text)
    expression = found.to_sympy()
    for p, coefficient in enumerate(found.taylor(6)):
        expected = sp.diff(expression, Z, p).subs(Z, 0)
        assert abs(sp.N(coefficient - expected, 30)) < 1e-20, p


@pytest.mark.parametrize(
    ("text", "point", "expected"),
    [("2 - 3 - 4", 0, -5), ("2*3**2", 0, 18), ("-z**2", 3, -9), ("2**-1*z", 4, 2), ("8/4/2", 0, 1)],
)
def test_precedence(text, point, expected):
    assert activation(text).to_sympy().subs(Z, point) == expected
