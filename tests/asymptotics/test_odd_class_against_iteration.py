"""The derived asymptotes are where the recursions, iterated in numbers, go."""

import numpy as np
import pytest
from asymptotics.iteration import from_polynomial, hyperbolic, iterate, limit, sine
from hypothesis import given, settings
from hypothesis import strategies as st

from symdlt.asymptotics import exponents

RATES = (0.7, 1.3)


def value(expression, rates=RATES):
    numbers = dict(zip(("lambda_b", "lambda_W"), rates, strict=True))
    return float(expression.subs({s: numbers[s.name] for s in expression.free_symbols}))


def scaled(asymptote, tensors):
    layers = np.arange(1, len(tensors["G"]) + 1)
    return tensors[asymptote.name] * layers ** float(asymptote.exponent)


@pytest.mark.parametrize(
    ("name", "function", "slope"),
    [
        ("tanh", hyperbolic, 1.0),
        ("sin", sine, 1.0),
        ("2*tanh(z)", lambda z, k: 2 * hyperbolic(z, k), 2.0),
    ],
)
def test_named_activations_at_depth_20000(name, function, slope):
    """Extrapolated to 1e-5; without extrapolation at least the size and the sign."""
    tensors = iterate(function, slope, RATES, 20_000)
    for asymptote in exponents(name).tensors:
        expected = value(asymptote.coefficient)
        sequence = scaled(asymptote, tensors)
        assert limit(sequence) == pytest.approx(expected, rel=1e-5), asymptote.name
        assert sequence[-1] == pytest.approx(expected, rel=5e-3), asymptote.name


@given(
    cubic=st.integers(4, 24),
    quintic=st.integers(-6, 6),
    slope=st.integers(2, 8),
    bias=st.integers(1, 20),
    weight=st.integers(1, 20),
)
@settings(max_examples=7, deadline=None, derandomize=True)
def test_odd_polynomials(cubic, quintic, slope, bias, weight):
    """σ = s (z − c z³/24 + q z⁵/120), so that a_1 = −c/4, from a kernel that flows to zero.

    It does so as 1/(−a_1 (ℓ + 4)), near enough to its asymptote; what the extrapolation leaves
    goes as ℓ^-3 with logarithms.
    """
    text = f"{slope}/4*(z - {cubic}/24*z**3 + {quintic}/120*z**5)"
    s = slope / 4
    function = from_polynomial([0, s, 0, -s * cubic / 24, 0, s * quintic / 120])
    rates = (bias / 10, weight / 10)
    tensors = iterate(function, s, rates, 12_000, first=1 / cubic)
    for asymptote in exponents(text).tensors:
        expected = value(asymptote.coefficient, rates)
        found = limit(scaled(asymptote, tensors))
        assert found == pytest.approx(expected, rel=1e-3), (asymptote.name, text)
