"""Exponents and coefficients against the recursions iterated in numbers; nothing is shared."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from asymptotics.depth_iteration import (
    errors,
    extrapolated,
    iterated,
    polynomial,
    sine,
    tanh,
    tilted_sine,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from symdlt import BOOK
from symdlt.asymptotics import exponents

RATES = (sp.Rational(7, 10), sp.Rational(13, 10))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "activation"),
    [
        ("tanh", tanh),
        ("sin", sine),
        ("2*tanh(z)", lambda k, z: 2 * tanh(k, z)),
        ("sin(z) + (1 - cos(z))/2", tilted_sine),
        ("tanh(z + 1/4) - tanh(1/4)", lambda k, z: tanh(k, z + 0.25) - (k == 0) * np.tanh(0.25)),
    ],
)
def test_thirteen_tensors_at_twenty_thousand_layers(text, activation):
    """The neglected orders are log³ℓ/ℓ² and less; the extrapolation is good to 1e-7."""
    solution = exponents(text, lambda_b=RATES[0], lambda_W=RATES[1])
    tensors = iterated(solution, activation, BOOK, RATES)
    found = errors(solution, tensors)
    assert len(found) == 13
    assert max(map(abs, found.values())) < 1e-6, found
    odd = solution.tensors if solution.universality == "K*=0, odd" else ()
    for asymptote in odd:
        deepest = tensors[asymptote.name][-1] * 20_000 ** float(asymptote.exponent)
        assert deepest == pytest.approx(float(asymptote.coefficient), rel=5e-3), asymptote.name


def test_without_weight_learning():
    solution = exponents("tanh", lambda_b=RATES[0], lambda_W=0)
    found = errors(solution, iterated(solution, tanh, BOOK, (RATES[0], 0)))
    assert max(map(abs, found.values())) < 1e-6, found


@pytest.mark.slow
def test_without_bias_learning():
    """The leading terms of D, A, Q and T have logarithms, which are harder to extrapolate."""
    solution = exponents("tanh", lambda_b=0, lambda_W=RATES[1])
    logarithms = {x.name: x.log_power for x in solution.tensors if x.log_power}
    assert logarithms == {"D": 1, "Q": 1, "A": 2, "T": 2}
    found = errors(solution, iterated(solution, tanh, BOOK, (0, RATES[1])))
    assert max(abs(error) for name, error in found.items() if name not in "DAQT") < 1e-6, found
    assert max(abs(found[name]) for name in "DQ") < 1e-4, found
    assert max(map(abs, found.values())) < 1e-3, found


def test_constant_of_integration_is_that_of_the_ntk():
    """Sine without bias learning: c_H read off from Θ gives D, A, Q and T."""
    solution = exponents("sin", lambda_b=0, lambda_W=RATES[1])
    c_H = sp.Symbol("c_H", real=True)
    for K in (0.5, 1.5):
        found = iterated(solution, sine, BOOK, (0, RATES[1]), K=K)
        theta = float(solution["H"].coefficient)
        constant = extrapolated(found["H"] - theta, 1)
        assert abs(constant) > 0.1
        for name in "DAQT":
            expected = float(solution[name].coefficient.subs(c_H, constant))
            limit = extrapolated(found[name], float(solution[name].exponent))
            assert limit == pytest.approx(expected, rel=1e-4), (name, K)


@pytest.mark.slow
@given(
    second=st.sampled_from([-6, -4, -2, 0, 0, 0, 2, 4, 6]),
    third=st.integers(6, 20),
    fourth=st.integers(-3, 3),
    fifth=st.integers(-6, 6),
    slope=st.integers(2, 8),
    bias=st.integers(1, 20),
    weight=st.integers(1, 20),
)
@settings(max_examples=8, deadline=None, derandomize=True)
def test_polynomials(second, third, fourth, fifth, slope, bias, weight):
    """Odd and general polynomials with a_1 < 0, from a kernel that is already small.

    What the extrapolation leaves goes as ℓ^-3 with logarithms.
    """
    fourth *= second != 0
    numbers = [0, 1, second / 20, -third / 24, fourth / 120, fifth / 120]
    terms = "z + {}/20*z**2 - {}/24*z**3 + {}/120*z**4 + {}/120*z**5"
    text = f"{slope}/4*({terms.format(second, third, fourth, fifth)})"
    rates = (sp.Rational(bias, 10), sp.Rational(weight, 10))
    solution = exponents(text, lambda_b=rates[0], lambda_W=rates[1])
    function = polynomial([slope / 4 * number for number in numbers])
    found = errors(solution, iterated(solution, function, BOOK, rates, depth=12_000, K=1 / third))
    assert max(map(abs, found.values())) < 1e-3, (text, found)
