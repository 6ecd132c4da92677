"""Ordered, chaotic and unbounded networks: rates against iteration of two samples."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy as sp
from cases import slow

from symdlt import MLP
from symdlt.activations import activation
from symdlt.activations.smooth_pieces import smooth_pieces
from symdlt.cli import main
from symdlt.errors import ActivationError, SolutionError
from symdlt.fixed_points import phase
from symdlt.fixed_points.correlation import HermiteSquares

RATES = {"lambda_b": 0.3, "lambda_W": 0.7}


def iterated(name, C_W, C_b, depth):
    """K of one sample, the correlation with another of the same kernel, and the NTK."""
    x = np.array([[1.0, 0.0], [0.6, 0.8]]) * math.sqrt(2 * (1 - C_b) / C_W)
    network = MLP(activation=name, widths=[1] * (depth - 1), C_b=C_b, C_W=C_W, **RATES)
    found = network.propagate(x, ["G", "H"])
    G = found["G"]
    return G[:, 0, 0], G[:, 0, 1] / G[:, 0, 0], found["H"][:, 0, 0]


def rate(values, limit, layer):
    return (values[layer + 1] - limit) / (values[layer] - limit)


@pytest.mark.parametrize(
    ("name", "C_W", "C_b", "side", "early", "late"),
    [
        ("tanh", 1.5, 0.05, "ordered", 25, 150),
        slow("tanh", 3.0, 0.1, "chaotic", 12, 150),
        ("sin", 2.0, 0.3, "chaotic", 12, 150),
        ("gelu", 1.5, 0.1, "ordered", 25, 30),
        ("relu", 1.0, 0.1, "ordered", 20, 30),
        ("linear", 0.8, 0.3, "ordered", 60, 120),
        pytest.param("elu", 1.5, 0.1, "ordered", 60, 150, marks=pytest.mark.slow),
    ],
)
def test_rates_against_iteration(name, C_W, C_b, side, early, late):
    found = phase(name, C_W, C_b)
    K, rho, H = iterated(name, C_W, C_b, late + 3)
    assert found.side == side
    assert K[-1] == pytest.approx(float(found.K), rel=1e-7)
    assert rate(K, float(found.K), early) == pytest.approx(float(found.chi_parallel), rel=2e-3)
    assert rate(rho, float(found.rho), late) == pytest.approx(float(found.rho_factor), rel=1e-2)
    if side == "ordered":
        limit = found.ntk.subs({symbol: RATES[symbol.name] for symbol in found.ntk.free_symbols})
        resonance = 1 + 1 / late if found.chi_perp == found.chi_parallel else 1
        expected = float(found.ntk_factor) * resonance
        assert rate(H, float(limit), late) == pytest.approx(expected, rel=1e-2)
    else:
        assert found.ntk is None
        assert H[-1] / H[-2] == pytest.approx(float(found.chi_perp), rel=2e-2)


def test_small_kernels_keep_their_correlation():
    found = phase("tanh", 0.8)
    K, rho, _ = iterated("tanh", 0.8, 0.0, 80)
    assert (found.K, found.rho, found.side) == (0, None, "ordered")
    assert K[-1] / K[-2] == pytest.approx(float(found.chi_parallel), rel=1e-6)
    assert rho[-1] == pytest.approx(rho[-20], rel=1e-6)
    assert 0.5 < rho[-1] < 1
    assert str(found.ntk) == "5*lambda_b"


@pytest.mark.parametrize(("name", "C_W", "factor"), [("relu", 3, 1.5), ("linear", 1.2, 1.2)])
def test_exploding_kernels(name, C_W, factor):
    found = phase(name, C_W)
    K, rho, H = iterated(name, C_W, 0.0, 200)
    assert (found.side, found.K, found.ntk) == ("unbounded", sp.oo, None)
    assert float(found.chi_parallel) == factor
    assert K[-1] / K[-2] == pytest.approx(factor, rel=1e-9)
    assert H[-1] / H[-2] == pytest.approx(factor * 200 / 199, rel=1e-3)
    assert float(found.xi_parallel) == pytest.approx(1 / math.log(factor))
    assert found.rho == (1 if name == "relu" else None)
    assert (rho[-1] > 0.999) == (name == "relu")


def test_kernels_that_explode_without_a_rate():
    found = phase("z**3", 1)
    assert (found.K, found.chi_parallel, found.rho) == (sp.oo, sp.oo, None)
    assert "faster than exponentially" in str(found)
    small = phase("z**3", 1, start=0.01)
    assert (small.K, small.chi_parallel, small.rho) == (0, 0, None)
    assert [float(other.K) for other in small.others[:1]] == pytest.approx([15**-0.5])


@pytest.mark.parametrize("name", ["relu", "leaky_relu(z, 0.2)"])
def test_exactly_solved_scale_invariance(name):
    left = 0 if name == "relu" else Fraction(1, 5)
    found = phase(name, Fraction(3, 2), Fraction(1, 4))
    factor = Fraction(3, 4) * (1 + left**2)
    assert (found.chi_perp, found.chi_parallel) == (sp.Rational(factor),) * 2
    assert sp.Rational(Fraction(1, 4) / (1 - factor)) == found.K


def test_sine_to_25_digits_against_its_closed_form():
    """⟨sin sin⟩ = e^(-K) sinh(ρK), so that everything is the root of an elementary equation."""
    found = phase("sin", 3, Fraction(1, 10), digits=25)
    with mpmath.workdps(40):
        K = mpmath.findroot(lambda K: 0.1 + 3 * (1 - mpmath.exp(-2 * K)) / 2 - K, 1.5)
        K = mpmath.findroot(lambda K: mpmath.mpf(1) / 10 + 3 * (1 - mpmath.exp(-2 * K)) / 2 - K, K)
        rho = mpmath.findroot(
            lambda r: (mpmath.mpf(1) / 10 + 3 * mpmath.exp(-K) * mpmath.sinh(r * K)) / K - r, 0.2
        )
        slope = 3 * mpmath.exp(-K) * mpmath.cosh(rho * K)
        expected = (K, 3 * mpmath.exp(-2 * K), 3 * (1 + mpmath.exp(-2 * K)) / 2, rho, slope)
        numbers = (found.K, found.chi_parallel, found.chi_perp, found.rho, found.rho_slope)
        for number, exact in zip(numbers, expected, strict=True):
            assert abs(number._to_mpmath(140) / exact - 1) < mpmath.mpf(10) ** -24
    assert all(error < 1e-20 for _, error in (*found.errors, *found.kernel.errors))


def test_hermite_squares_give_the_arc_cosine_kernel():
    squares = HermiteSquares(
        smooth_pieces(activation("relu")), mpmath.mpf(1), mpmath.mpf(1) / 2, 14
    )
    rho = 0.5
    found = sum(float(a) * rho**k for k, a in enumerate(squares.up_to(rho)))
    angle = math.acos(rho)
    exact = (math.sin(angle) + (math.pi - angle) * rho) / (2 * math.pi)
    assert found == pytest.approx(exact, rel=1e-12)


def test_odd_chaos_forgets_everything():
    found = phase("tanh", 1.5)
    assert (found.side, found.rho) == ("chaotic", 0)
    assert found.rho_slope < 1 < found.chi_perp
    assert found.others[0].K == 0


def test_a_fixed_point_too_near_1_is_bounded():
    found = phase("selu", 0.6, digits=6)
    assert (found.side, found.rho) == ("chaotic", None)
    assert 0.5 < found.rho_above < 1
    assert "between" in str(found)


@pytest.mark.slow
def test_half_stable_kernels_depend_on_where_they_start():
    C_W, C_b = 1.98305825743754712520547798583, 0.172922390756067351749853179777
    above, below = (phase("gelu", C_W, C_b, start=K) for K in (5.0, 1.0))
    assert float(above.K) == pytest.approx((3 + math.sqrt(17)) / 2, rel=1e-12)
    assert above.side == "critical"
    assert below.K < above.K
    assert below.side == "ordered"


@pytest.mark.parametrize("name", ["tanh", "relu", "elu"])
def test_critical_networks_are_called_critical(name):
    found = phase(name, 2 if name == "relu" else 1)
    assert found.side == "critical"
    assert found.xi_parallel == sp.oo
    assert "slower than exponentially" in str(found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0,), "C_W = 0 is not a variance"),
        ((-1,), "must be a number that is positive"),
        ((math.nan,), "is not a variance"),
        (("much",), "is not a variance"),
        ((True,), "is not a variance"),
        ((sp.Symbol("w"),), "is not a variance"),
        ((1, -1), "C_b = -1 is not a variance"),
    ],
)
def test_variances_that_are_none(arguments, words):
    with pytest.raises(SolutionError, match=words):
        phase("tanh", *arguments)


def test_other_messages():
    with pytest.raises(SolutionError, match="not a number of digits"):
        phase("tanh", 1.5, digits=0)
    with pytest.raises(SolutionError, match="not a kernel to start from"):
        phase("tanh", 1.5, start=-1)
    with pytest.raises(SolutionError, match="jumps"):
        phase("Piecewise((0, z < 0), (1, True))", 1.5)
    with pytest.raises(SolutionError, match="starts from there"):
        phase("exp(z**2)", 1.5)
    with pytest.raises(SolutionError, match="its rate is not known"):
        phase("z*sin(z)", 3)
    with pytest.raises(ActivationError, match="not finite"):
        phase("1/z", 1.5)


def test_the_command_line(capsys):
    assert main(["phase", "tanh", "--C-W", "1.5"]) == 0
    assert "chi_perp       1.04056756503252" in capsys.readouterr().out
    assert main(["phase", "relu", "--C-W", "1", "--C-b", "0.1", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["side"], data["kernel"]["K"], data["rho_slope"]) == ("ordered", "1/5", "1/2")


@pytest.mark.slow
def test_the_command_line_takes_fractions_and_both_spellings(capsys):
    for name, number in (("--C-W", "3/2"), ("--C_W", "1.5")):
        assert main(["phase", "tanh", name, number]) == 0
    first, second = capsys.readouterr().out.split("tanh: ")[1:]
    assert first == second
    with pytest.raises(SystemExit):
        main(["phase", "tanh", "--C-W", "3/0"])
    assert "'3/0' is no number; give one such as 1.5 or 3/2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("steepness", "C_W", "C_b"),
    [
        (1.0, 1.0, 0.0),
        slow(100.0, 1.0, 0.0),
        (100.0, 1.5, 0.05),
        slow(100.0, 30.0, 1e-4),
        slow(1e5, 1.5, 1e-4),
    ],
)
def test_bumps_whose_kernel_falls_below_that_of_zero(steepness, C_W, C_b):
    """<s s> of exp(-a z^2) is (1 + 4 a K)^(-1/2), less than sigma(0)^2 = 1 by any factor."""
    found = phase(f"exp(-{steepness:.0f}*z**2)", C_W, C_b)
    low, high = 0.0, C_b + C_W
    for _ in range(200):
        K = 0.5 * (low + high)
        low, high = (K, high) if C_b + C_W / math.sqrt(1 + 4 * steepness * K) > K else (low, K)
    assert float(found.K) == pytest.approx(K, rel=1e-12)
    slope = -2.0 * steepness * C_W * (1 + 4 * steepness * K) ** -1.5
    assert float(found.chi_parallel) == pytest.approx(slope, rel=1e-11)


def test_what_is_there_after_one_layer_has_no_depth():
    told = str(phase("1", 1, 0.5))
    assert told.count("faster than exponentially") == 3
    assert "xi = 0" not in told
