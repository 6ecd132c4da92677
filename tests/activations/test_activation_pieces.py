"""Pieces of activations and the jumps between them."""

from __future__ import annotations

import pytest
import sympy as sp

from symdlt.activations import activation
from symdlt.errors import ActivationError

SELU = sp.Rational("1.0507009873554805")
ALPHA = sp.Rational("1.6732632423543772")


@pytest.mark.parametrize(
    ("what", "found"),
    [
        ("gelu", {}),
        ("relu", {0: (0, 1, 0, 0)}),
        ("leaky_relu", {0: (0, sp.Rational(99, 100), 0, 0)}),
        ("leaky_relu(z, 1/10)", {0: (0, sp.Rational(9, 10), 0, 0)}),
        ("elu", {0: (0, 0, -1, -1)}),
        ("elu(z, 2)", {0: (0, -1, -2, -2)}),
        ("selu", {0: (0, SELU * (1 - ALPHA), -SELU * ALPHA, -SELU * ALPHA)}),
        ("softsign", {0: (0, 0, -4, 0)}),
        ("relu(z)**2", {0: (0, 0, 2, 0)}),
        ("relu(z**2) + relu(z - z)", {}),
        ("abs(z)*z**3", {}),
        ("sign(z)", {0: (2, 0, 0, 0)}),
        ("heaviside(2*z - 1)*z", {sp.Rational(1, 2): (sp.Rational(1, 2), 1, 0, 0)}),
        ("max(-1, min(z, 1))", {-1: (0, 1, 0, 0), 1: (0, -1, 0, 0)}),
        ("where(1/(z - 1) < 0, -1, 1)", {1: (2, 0, 0, 0)}),
        ("where(tanh(1/z) < 2, z, -z)", {}),
        ("relu(atan(z) - 2) + relu(tanh(z) - 1) + relu(-exp(z)) + relu(-1/sinh(z)**2)", {}),
        ("abs(tanh(z))", {0: (0, 2, 0, -4)}),
        ("relu(exp(z) - 2)", {sp.log(2): (0, 2, 2, 2)}),
        ("where(z < sqrt(2), 0, z**2 - 2)", {sp.sqrt(2): (0, 2 * sp.sqrt(2), 2, 0)}),
        (sp.Max(0, sp.Symbol("x") - sp.pi), {sp.pi: (0, 1, 0, 0)}),
    ],
)
def test_kinks(what, found):
    kinks = activation(what).kinks(3)
    assert {kink.position: kink.jumps for kink in kinks} == found


def test_order_of_a_kink_and_of_its_search():
    (kink,) = activation("softsign").kinks(4)
    assert kink.order == 2
    assert activation("softsign").kinks(1) == ()


def test_kinks_are_found_in_order_at_roots_of_any_polynomial():
    found = activation("max(z**5 - z - 1, 0) + abs(z**3 - 2*z)").kinks(1)
    positions = [float(kink.position) for kink in found]
    assert positions == pytest.approx([-(2**0.5), 0.0, 1.1673039782614187, 2**0.5])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("relu(sin(z))", "It cannot be told where sin\\(z\\) is 0"),
        ("relu(pi*z**3 + 1)", "Write rational coefficients"),
        ("relu(z**21 - z - 1)", "a degree of at most 20"),
        ("relu(log(z))", "is not a real one everywhere"),
        ("relu(log(z) - 1)", "is not a real one everywhere"),
        ("relu(1 - 1/log(z))", "is not a real one everywhere"),
        ("relu(1/(z - 1))", "not smooth up to its end at z = 1"),
        ("where(z < 0, 0, sqrt(z))", "not smooth up to its end at z = 0"),
        pytest.param("abs(" * 40 + "z" + "-1)" * 40, "more than 64 pieces", marks=pytest.mark.slow),
    ],
)
def test_what_has_no_pieces(text, message):
    with pytest.raises(ActivationError, match=message):
        activation(text).kinks(2)
