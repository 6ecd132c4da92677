"""Exponents and coefficients against the recursions iterated in numbers; nothing is shared."""

from __future__ import annotations

import pytest
import sympy as sp
from depth_iteration import extrapolated, iterate, sine, tanh, tilted_sine

from symdlt import BOOK, derive_system
from symdlt.asymptotics import exponents
from symdlt.networks import correlators

DEPTH = 20_000
RATES = (sp.Rational(7, 10), sp.Rational(13, 10))


def iterated(solution, activation, names, depth=DEPTH, rates=RATES, K=1.0):
    """All tensors at all layers, with the hyperparameters that the solution asks for."""
    p_perp = float(dict(solution.values)["p_perp"])
    variance = float(dict(solution.hyperparameters)["C_W"])
    return iterate(
        derive_system(names, inputs="one"),
        activation,
        depth,
        C_W=variance,
        lambda_b=lambda layer: float(rates[0]) * layer**-p_perp,
        lambda_W=lambda layer: float(rates[1]) * layer ** (1 - p_perp),
        K=K,
    )


def errors(solution, found):
    """Relative errors of the extrapolated coefficients."""
    return {
        a.name: extrapolated(found[a.name], float(a.exponent), a.log_power) / float(a.coefficient)
        - 1
        for a in solution.tensors
    }


@pytest.mark.parametrize(
    ("text", "activation"),
    [("tanh", tanh), ("sin", sine), ("sin(z) + (1 - cos(z))/2", tilted_sine)],
)
def test_thirteen_tensors_at_twenty_thousand_layers(text, activation):
    """The neglected orders are log³ℓ/ℓ² and less; the extrapolation is good to 1e-7."""
    solution = exponents(text, lambda_b=RATES[0], lambda_W=RATES[1])
    found = errors(solution, iterated(solution, activation, BOOK))
    assert len(found) == 13
    assert max(map(abs, found.values())) < 1e-6, found


def test_without_weight_learning():
    solution = exponents("tanh", lambda_b=RATES[0], lambda_W=0)
    found = errors(solution, iterated(solution, tanh, BOOK, rates=(RATES[0], 0)))
    assert max(map(abs, found.values())) < 1e-6, found


def test_without_bias_learning():
    """The leading terms of D, A, Q and T have logarithms, which are harder to extrapolate."""
    solution = exponents("tanh", lambda_b=0, lambda_W=RATES[1])
    found = errors(solution, iterated(solution, tanh, BOOK, rates=(0, RATES[1])))
    assert max(abs(error) for name, error in found.items() if name not in "DAQT") < 1e-6, found
    assert max(map(abs, found.values())) < 1e-3, found


def test_constant_of_integration_is_that_of_the_ntk():
    """Sine without bias learning: c_H read off from Θ gives D, A, Q and T."""
    solution = exponents("sin", lambda_b=0, lambda_W=RATES[1])
    c_H = sp.Symbol("c_H", real=True)
    for K in (0.5, 1.5):
        found = iterated(solution, sine, BOOK, rates=(0, RATES[1]), K=K)
        theta = float(solution["H"].coefficient)
        constant = extrapolated(found["H"] - theta, 1)
        assert abs(constant) > 0.1
        for name in "DAQT":
            expected = float(solution[name].coefficient.subs(c_H, constant))
            limit = extrapolated(found[name], float(solution[name].exponent))
            assert limit == pytest.approx(expected, rel=1e-4), (name, K)


@pytest.mark.slow
def test_all_tensors_of_the_next_order():
    """The 103 tensors of order 1/n², sine: exponents and coefficients."""
    wanted = correlators(2)
    solution = exponents("sin", wanted, lambda_b=RATES[0], lambda_W=RATES[1])
    found = iterated(solution, sine, wanted)
    assert max(map(abs, errors(solution, found).values())) < 1e-4
