"""The parts of the solver: series in 1/ℓ with logarithms, brackets, and the balance of powers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from sympy import QQ

from symdlt import derive
from symdlt.asymptotics.equations import (
    Equation,
    Source,
    check_degree,
    expand,
    gaussian_series,
)
from symdlt.asymptotics.layer_series import DepthLayer, UndeterminedError
from symdlt.asymptotics.parameters import parameters
from symdlt.asymptotics.series import LogSeries, power
from symdlt.asymptotics.solver import solve_driven, solve_kernel
from symdlt.derivation import Bracket
from symdlt.errors import SolutionError

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def number(series: LogSeries, ell: float, offset: float = 0.0) -> float:
    return sum(
        float(c) * math.log(ell) ** j * ell ** -(k + offset)
        for k, logs in series.terms
        for j, c in enumerate(logs)
    )


@pytest.mark.parametrize("offset", [QQ(0), QQ(-1, 3)])
def test_step_is_the_difference_of_neighbouring_layers(offset):
    series = LogSeries(((1, (QQ(2), QQ(0), QQ(3))), (2, (QQ(-1), QQ(5)))), 9)
    step, far = series.step(offset), 200.0
    expected = number(series, far + 1, float(offset)) - number(series, far, float(offset))
    assert number(step, far, float(offset)) == pytest.approx(expected, rel=1e-12)
    assert step.valuation == 2


def test_product_knows_how_precise_it_is():
    first = LogSeries(((1, (QQ(2),)),), 3)
    second = LogSeries(((0, (QQ(1), QQ(1))), (1, (QQ(4),))), 2)
    product = first * second
    assert product == LogSeries(((1, (QQ(2), QQ(2))), (2, (QQ(8),))), 3)
    assert (first + first.scaled(QQ(-1))).valuation == 3


@pytest.mark.parametrize("orders", [(0, 0), (0, 2), (1, 1, 1, 3), (0, 0, 1, 1), (2, 2)])
def test_brackets_are_gaussian_means(orders):
    """A polynomial σ, for which the series in K ends."""
    sigma = np.polynomial.Polynomial([0.0, 1.0, 0.5, -0.25])
    taylor = [Fraction(0), Fraction(1), Fraction(1), Fraction(-3, 2)] + [Fraction(0)] * 30
    series = gaussian_series(Bracket(tuple((0, k) for k in orders)), taylor, 8)
    for K in (0.3, 1.7):
        z = math.sqrt(K) * NODES
        mean = WEIGHTS @ np.prod([sigma.deriv(k)(z) if k else sigma(z) for k in orders], axis=0)
        assert sum(float(c) * K**k for k, c in enumerate(series)) == pytest.approx(mean)


def test_cancellations_between_brackets_are_exact():
    """⟨σ'σ'σ'σ'⟩ − ⟨σ'σ'⟩² is of order K² for odd σ, and of order K otherwise."""
    odd = [Fraction(c) for c in (0, 1, 0, -2, 0, 16, 0, -272, 0, 7936, 0)]
    bent = [Fraction(c) for c in (0, 1, 1, -2, 1, 16, 0, -272, 0, 7936, 0)]
    for taylor, order in ((odd, 2), (bent, 1)):
        sources = expand(derive("A", inputs="one"), taylor, 3).sources
        fresh = next(s for s in sources if s.tensors == ("H", "H"))
        assert next(k for k, c in enumerate(fresh.series) if c) == order


@pytest.fixture(scope="module")
def odd():
    return parameters(derive("G", inputs="one"), 9, vanishing=(2, 4, 6, 8), names=("G", "X"))


@pytest.fixture(scope="module")
def layer(odd):
    kernel = solve_kernel(expand(derive("G", inputs="one"), odd.taylor, 4, odd.field), odd, 2)
    nothing = power(0, odd.zero, 3)
    return DepthLayer((nothing,) * 4, {"G": kernel.series})


def artificial(odd, decay, source):
    """X' = (1 + decay·a_1 K) X + Σ_k source_k K^k, so that c = decay."""
    one = odd.zero + 1
    fresh = tuple(odd.zero + c for c in source)
    own = Source((0, 0, 0, 0), ("X",), (one, decay * odd.a_1, odd.zero, odd.zero))
    return Equation("X", 0, 2, 1, (Source((0, 0, 0, 0), (), fresh), own))


def test_kernel_has_a_logarithm_and_a_constant_at_the_next_order(odd, layer):
    """K = k/ℓ + (c_G + k' log ℓ)/ℓ²: shifting ℓ changes the constant only."""
    (_, (first,)), (_, (constant, logarithm)) = layer.tensors["G"].terms
    assert first == -1 / odd.a_1
    assert constant == odd.constant("G")
    assert logarithm != 0


def test_kernel_logarithm_is_where_the_iteration_goes(odd, layer):
    """σ = z − z³/3: K − k/ℓ − k' log ℓ/ℓ² is a constant over ℓ², up to log²ℓ/ℓ³."""
    at = {"a_1": -2, "s_5": 0, "sigma_1": 1}
    logarithm = layer.tensors["G"].terms[1][1][1].as_expr()
    slope = float(logarithm.subs({s: at[str(s)] for s in logarithm.free_symbols}))
    K, rests = 0.3, []
    for ell in range(1, 40_001):
        if ell in (20_000, 40_000):
            rests.append((K - 0.5 / ell - slope * math.log(ell) / ell**2) * ell**2)
        K = K - 2 * K**2 + 15 * K**3 / 9
    assert abs(slope) > 0.05
    assert rests[0] == pytest.approx(rests[1], rel=0, abs=2e-3)


def test_driven_solution(odd, layer):
    """X' − X = −3X/ℓ + s/ℓ²: X = s/(3 − 1)/ℓ."""
    found = solve_driven(artificial(odd, 3, (0, 0, 1, 0)), layer, odd.zero, odd, 1)
    assert found.gap == 2
    assert found.series.terms == ((1, (1 / odd.a_1**2 / 2,)),)


def test_resonance_brings_a_logarithm(odd, layer):
    """X' − X = −X/ℓ + s/ℓ²: both powers agree, X = s log ℓ/ℓ."""
    found = solve_driven(artificial(odd, 1, (0, 0, 1, 0)), layer, odd.zero, odd, 1)
    assert found.gap == 0
    assert found.series.terms == ((1, (odd.constant("X"), 1 / odd.a_1**2)),)


def test_homogeneous_solution_must_not_dominate(odd, layer):
    with pytest.raises(SolutionError) as caught:
        solve_driven(artificial(odd, 0, (0, 0, 1, 0)), layer, odd.zero, odd, 1)
    assert str(caught.value) == (
        "The leading growth of X depends on the input of the network. "
        "Without sources it decays slower than with them, by the power 1 of l. "
        "Only exponents of tensors that forget their initial values are given."
    )


def test_tensor_without_a_source_is_undetermined(odd, layer):
    with pytest.raises(UndeterminedError, match=r"^X$"):
        solve_driven(artificial(odd, 3, (0, 0, 0, 0)), layer, odd.zero, odd, 1)


def test_off_criticality_is_refused(odd, layer):
    equation = artificial(odd, 3, (0, 0, 1, 0))
    own = equation.sources[1]
    doubled = Source(own.hyperparameters, own.tensors, tuple(2 * c for c in own.series))
    off = Equation("X", 0, 2, 1, (equation.sources[0], doubled))
    with pytest.raises(SolutionError, match=r"multiplies it by .*, not by 1"):
        solve_driven(off, layer, odd.zero, odd, 1)


def test_recursions_that_cannot_be_expanded():
    taylor = [Fraction(1)] * 20
    with pytest.raises(SolutionError, match="V is for several inputs"):
        expand(derive("V"), taylor, 2)
    with pytest.raises(SolutionError, match="z form"):
        expand(derive("V", inputs="one", form="z"), taylor, 2)


def test_degree_in_the_learning_rates():
    equation = Equation("X", 2, 2, 1, (Source((0, 1, 0, 1), ("V",), (1,)),))
    with pytest.raises(SolutionError, match="A source of X has degree 1 in the learning rates"):
        check_degree(equation, {"V": 0, "X": 2}, 2)


def test_bounds_over_all_activations():
    """With σ_2 ≠ 0 exponents are linear in (σ_2/σ_1)²/a_1 < 0."""
    found = parameters(derive("G", inputs="one"), 9)
    ratio = found.ratio**2 / found.a_1
    assert found.affine(3 - 2 * ratio) == (3, -2)
    assert found.least(3 - 2 * ratio) == 3
    assert found.least(3 + 2 * ratio) == -sp.oo
