"""Activations with σ_2 ≠ 0: the derived asymptotes against the recursions iterated in numbers."""

import numpy as np
import pytest
import sympy as sp
from asymptotics.iteration import from_polynomial, hyperbolic, iterate, limit, sine
from hypothesis import given, settings
from hypothesis import strategies as st

from symdlt.asymptotics import exponents

RATES = (0.7, 1.3)


def value(expression):
    numbers = dict(zip(("lambda_b", "lambda_W"), RATES, strict=True))
    return float(expression.subs({s: numbers[s.name] for s in expression.free_symbols}))


def limits(solution, tensors):
    """The limit of every tensor with its power taken off, over the derived coefficient."""
    layers = np.arange(1.0, len(tensors["G"]) + 1)
    return {
        a.name: limit(tensors[a.name] * layers ** float(a.exponent)) / value(a.coefficient)
        for a in solution.tensors
    }


def bent_sine(z, k):
    """Sin z + (1 − cos z)/2; the k-th derivative of −cos is sin shifted back."""
    return sine(z, k) + (sine(z, k - 1) + (k == 0)) / 2


def shifted(z, k):
    return hyperbolic(z + 0.25, k) - (k == 0) * np.tanh(0.25)


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("sin(z) + (1 - cos(z))/2", bent_sine),
        ("tanh(z + 1/4) - tanh(1/4)", shifted),
    ],
)
def test_named_activations_at_depth_20000(text, function):
    slope = float(function(np.float64(0), 1))
    second, third = (float(function(np.float64(0), k)) / slope for k in (2, 3))
    growth, decay = third + 3 / 4 * second**2, third + second**2
    solution = exponents(text)
    tensors = iterate(function, slope, RATES, 20_000, perpendicular=decay / growth)
    for name, found in limits(solution, tensors).items():
        assert found == pytest.approx(1, rel=1e-4), name


@given(
    quadratic=st.sampled_from([-6, -4, -2, 2, 4, 6]),
    cubic=st.integers(6, 16),
    quartic=st.integers(-3, 3),
)
@settings(max_examples=6, deadline=None, derandomize=True)
def test_polynomials(quadratic, cubic, quartic):
    """σ = z + q z²/20 − c z³/24 + r z⁴/120."""
    text = f"z + {quadratic}/20*z**2 - {cubic}/24*z**3 + {quartic}/120*z**4"
    second, third = quadratic / 10, -cubic / 4
    growth, decay = third + 3 / 4 * second**2, third + second**2
    function = from_polynomial([0, 1, second / 2, third / 6, quartic / 120])
    tensors = iterate(function, 1.0, RATES, 12_000, first=1 / cubic, perpendicular=decay / growth)
    for name, found in limits(exponents(text), tensors).items():
        assert found == pytest.approx(1, rel=1e-3), (name, text)


def test_general_class_is_the_odd_one_at_perpendicular_one():
    general, odd = exponents("K*=0, general"), exponents("K*=0, odd")
    for asymptote in general.tensors:
        if asymptote.name == "U":
            continue
        at = {s: 1 for s in sp.sympify(asymptote.coefficient).free_symbols if s.name == "p_perp"}
        difference = asymptote.coefficient.subs(at) - odd[asymptote.name].coefficient
        assert sp.simplify(difference) == 0, asymptote.name
        assert asymptote.ratio_power == odd[asymptote.name].ratio_power
    assert general["U"].ratio_power == odd["U"].ratio_power + 1
    u = general["U"].coefficient
    assert sp.simplify(u.subs({s: 1 for s in u.free_symbols if s.name == "p_perp"})) == 0
