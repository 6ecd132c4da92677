"""Exponents and growth with a skip, against the tests' own iteration over pairs of depths.

A layer z' = ξ z + b + W σ(z) moves the covariance Q and the NTK T of its neurons by

    δQ' = χ δQ + C_W η(σσ),  δT' = χ⊥ δT + λ_W (η(σσ) + g' δQ) + C_W Θ (η(σ'σ') + h' δQ)

with g = <σσ>, h = <σ'σ'>. The noise η of a function of the neurons is a sum over Hermite
polynomials of their z, which are correlated between depths by the power k of the correlation. F and
B are noise of σσ'w and σ'σ'ww with directional derivatives w, of covariance Θ, kept like z.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import sympy as sp
from cases import slow, swept

from symdlt import Network, propagate
from symdlt.asymptotics import exponents, skip_growth
from symdlt.cli import main
from symdlt.errors import SolutionError
from symdlt.networks import check_exponents
from symdlt.symbols import K, lambda_b, lambda_W

SKIP = "z' = xi z + b + W s(z)"
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
COUNT = 50
HERMITE = np.array(
    [
        np.polynomial.hermite_e.hermeval(NODES, np.eye(COUNT)[k]) / math.sqrt(math.factorial(k))
        for k in range(COUNT)
    ]
)
RATE_B, RATE_W = 0.5, 0.7


def iterated(sigma, slope, xi, C, depth, start=1.0, rates=None):
    """K, Θ, V, D, A, F, B of one input at the last layer, from pairs of depths."""
    C_b, C_W = C
    K, ntk = start, 0.0
    V = D = A = F = B = 0.0
    Y, Z, YF, YB = (np.zeros(COUNT) for _ in range(4))
    for layer in range(1, depth + 1):
        bias_rate, rate = rates(layer)
        if layer == 1:
            ntk = bias_rate + rate * K
            continue
        z = math.sqrt(K) * NODES
        s, d = sigma(z), slope(z)
        f, h, p = ((HERMITE * WEIGHTS) @ function for function in (s * s, d * d, s * d))
        # The derivatives by K are the second Hermite coefficients over sqrt(2) K.
        g_1, h_1 = f[2] / (math.sqrt(2) * K), h[2] / (math.sqrt(2) * K)
        chi, perp = xi**2 + C_W * g_1, xi**2 + C_W * h[0]
        beta = rate * g_1 + C_W * ntk * h_1
        f, own = np.r_[0, f[1:]], np.r_[0, h[1:]]
        noise = rate * f + C_W * ntk * own
        above = perp * Z + beta * Y
        A = perp**2 * A + 2 * perp * beta * D + beta**2 * V + 2 * noise @ above + noise @ noise
        D = chi * (perp * D + beta * V + noise @ Y) + C_W * (f @ above + f @ noise)
        V = chi**2 * V + 2 * chi * C_W * f @ Y + C_W**2 * f @ f
        F = chi**2 * F + 2 * chi * C_W * p @ YF + C_W**2 * ntk * p @ p
        B = perp**2 * B + 2 * perp * C_W * h @ YB + C_W**2 * ntk**2 * h @ h
        mean = float(WEIGHTS @ (s * s))
        following = xi**2 * K + C_b + C_W * mean
        kept = (xi * math.sqrt(K / following)) ** np.arange(COUNT)
        Z = kept * (above + noise)
        Y = kept * (chi * Y + C_W * f)
        YF = xi * kept * (chi * YF + C_W * p * ntk)
        YB = xi**2 * kept * (perp * YB + C_W * h * ntk**2)
        K, ntk = following, bias_rate + rate * mean + perp * ntk
    return {"G": K, "H": ntk, "V": V, "D": D, "A": A, "F": F, "B": B}


def tanh_slope(z):
    return 1 - np.tanh(z) ** 2


def test_the_iteration_is_that_of_propagate():
    """Of a network that ends in a dense layer, where V is the covariance of δQ alone."""
    xi = 0.7
    network = Network(
        "tanh",
        [1] * 4,
        {"xi": xi, "C_b": 0.1, "C_W": 0.8, "lambda_b": RATE_B, "lambda_W": RATE_W},
        ["z' = b + W z", SKIP, SKIP, SKIP, "z' = b + W s(z)"],
        n_L=1,
    )
    found = propagate(network, [[1.0]], ["G", "H"])
    own = iterated(
        np.tanh, tanh_slope, xi, (0.1, 0.8), 4, start=0.9, rates=lambda _: (RATE_B, RATE_W)
    )
    assert found["G"][3].item() == pytest.approx(own["G"])
    # C_W of the first layer: K = 0.1 + 0.8, of which the NTK has λ_b + λ_W x·x.
    assert found["G"][0].item() == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("xi", "name"),
    [slow(0.6, "tanh"), swept(0.8, "tanh"), slow(0.6, "curved")],
)
def test_leading_coefficients_at_large_depth(xi, name):
    if name == "tanh":
        text, sigma, slope = "tanh", np.tanh, tanh_slope
    else:
        text = "sin(z) + (1 - cos(z))/3"
        sigma = lambda z: np.sin(z) + (1 - np.cos(z)) / 3  # noqa: E731
        slope = lambda z: np.cos(z) + np.sin(z) / 3  # noqa: E731
    names = ["V", "D", "A", "F", "B"]
    solution = exponents(text, names, layer=SKIP, values={"xi": xi})
    C_W = float(dict(solution.hyperparameters)["C_W"])
    p = float(dict(solution.values)["p_perp"])
    assert pytest.approx(1 - xi**2) == C_W

    def at(depth):
        def rates(layer):
            scale = layer**-p * depth ** (p - 1)
            return RATE_B * scale, RATE_W * scale * layer

        return iterated(sigma, slope, xi, (0, C_W), depth, rates=rates)

    depths = (3_000, 6_000, 12_000)
    found = [at(depth) for depth in depths]
    numbers = {lambda_b: RATE_B, lambda_W: RATE_W}
    for tensor in ["G", "H", *names]:
        a = solution[tensor]
        x = float(sp.sympify(a.coefficient).subs(numbers))
        power = float(-a.exponent + a.edges * (p - 1))
        r = [one[tensor] / (x * depth**power) for one, depth in zip(found, depths, strict=True)]
        assert r[2] == pytest.approx(1, abs=0.02)
        # What is left falls as (a + b log l)/l, which doubled depths take away.
        first, second = 2 * r[1] - r[0], 2 * r[2] - r[1]
        assert 2 * second - first == pytest.approx(1, abs=3e-3), tensor


@pytest.mark.slow
@pytest.mark.parametrize("text", ["tanh"])
def test_all_tensors_go_to_their_asymptotes(text):
    """The whole recursion over pairs of depths, of networks of 20 and 40 layers."""
    xi, rates = 0.6, {lambda_b: 0.5, lambda_W: 1}
    solution = exponents(text, layer=SKIP, values={"xi": xi})
    ratios = []
    for depth in (20, 40):
        values = {"xi": xi, "C_b": 0.0, "C_W": 1 - xi**2, "lambda_W": 1.0}
        values["lambda_b"] = [0.5 / layer for layer in range(1, depth + 1)]
        network = Network(text, [1] * (depth - 1), values, SKIP, n_L=1)
        found = propagate(network, [[1.0]], [a.name for a in solution.tensors])
        ratios.append(
            {
                a.name: found[a.name][-1].item()
                / float(a.coefficient.subs(rates) * depth ** (-a.exponent))
                for a in solution.tensors
            }
        )
    for name in ratios[0]:
        # The noise is 1.36 times that of a dense layer, and s = 0.64: far beyond what is left.
        assert 2 * ratios[1][name] - ratios[0][name] == pytest.approx(1, abs=0.07), name
    assert len(ratios[0]) == 12


def exact_growth(left, right, xi):
    """2(1-ξ⁴) + C_W² B² [3 + 2 Σ s(ξ^k)], of docs/architectures.md, in mpmath."""
    A, B = (right**2 + left**2) / 2, (right**2 - left**2) / 2
    C_W = (1 - xi**2) / A

    def s(rho):
        return (
            2
            / mpmath.pi
            * ((1 + 2 * rho**2) * mpmath.asin(rho) + 3 * rho * mpmath.sqrt(1 - rho**2))
        )

    total = mpmath.fsum(s(xi**k) for k in range(1, 700))  # 0.9^700 = 1e-32
    return 2 * (1 - xi**4) + C_W**2 * B**2 * (3 + 2 * total)


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [("relu", 0, 1), ("leaky_relu(z, 1/5)", "1/5", 1), ("linear", 1, 1), ("abs(z)", -1, 1),
     ("2*relu(z) - 3*relu(-z)", 3, 2)],
)  # fmt: skip
@pytest.mark.parametrize("xi", ["1/2", "9/10"])
def test_growth_of_pairs_of_slopes_is_the_closed_sum(text, left, right, xi):
    found = skip_growth(text, values={"xi": xi}, digits=25)
    with mpmath.workdps(35):
        left, right, skip = (
            mpmath.mpf(sp.Rational(x).p) / sp.Rational(x).q for x in (left, right, xi)
        )
        expected = exact_growth(left, right, skip)
        assert abs(mpmath.mpf(str(found.growth)) / expected - 1) < mpmath.mpf(10) ** -20


@pytest.mark.slow
def test_growth_of_relu_is_that_of_a_deep_network():
    """The last layer of the recursion over pairs of depths."""
    xi = 0.5**0.5
    found = skip_growth("relu", values={"xi": xi})
    network = Network("relu", [1] * 27, {"xi": xi, "C_b": 0.0, "C_W": 1.0}, SKIP, n_L=1)
    tensors = propagate(network, [[1.0]], ["G", "V"])
    V = tensors["V"].ravel() / tensors["G"].ravel() ** 2
    # Below the first layer there is none, whose noise would reach this far by ξ^27.
    assert V[27] - V[26] == pytest.approx(float(found.growth), rel=xi**27 * 2)
    assert float(found.last_layer) == pytest.approx(2.25)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["relu", "leaky_relu(z, 1/5)"])
def test_all_that_lines_gather_is_that_of_a_deep_network(text):
    """The p-th differences of a polynomial of degree p, up to what falls with ξ."""
    xi, depth, names = 0.4, 18, list("VDAFB")
    solution = exponents(text, names, layer=SKIP, values={"xi": xi})
    C_W = float(dict(solution.hyperparameters)["C_W"])
    rates = {"lambda_b": 0.4, "lambda_W": 0.9}
    network = Network(
        text, [1] * (depth - 1), {"xi": xi, "C_b": 0.0, "C_W": C_W} | rates, SKIP, n_L=1
    )
    found = propagate(network, [[C_W**-0.5]], ["G", "H", *names])
    numbers = {lambda_b: 0.4, lambda_W: 0.9, K: 1}
    for name in ["G", "H", *names]:
        power = int(-solution[name].exponent)
        expected = float(solution[name].coefficient.subs(numbers))
        differences = np.diff(found[name].ravel(), n=power) / math.factorial(power)
        assert differences[-1] == pytest.approx(expected, rel=2e-5), name


def test_a_line_gathers_what_the_last_layer_alone_has():
    """2(1-ξ⁴) and 1-ξ⁴ of docs/architectures.md, without sums over depths."""
    solution = exponents("linear", list("VFB"), layer=SKIP, values={"xi": "3/5"})
    share = 1 - 0.6**4
    for name, ratio in (("V", 2 * share), ("F", share / 2), ("B", share / 3)):
        assert float(solution[name].ratio_coefficient) == pytest.approx(ratio)


@pytest.mark.slow
def test_growth_of_gelu_at_its_critical_point():
    xi = 0.6
    found = skip_growth("gelu", values={"xi": xi})
    assert "2.93037" in str(found)
    K, C_b, C_W = (float(x) for x in (found.point.K, found.point.C_b, found.point.C_W))
    cdf = np.vectorize(lambda z: 0.5 * math.erfc(-z / math.sqrt(2)))

    def slope(z):
        return cdf(z) + z * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    V = [
        iterated(
            lambda z: z * cdf(z), slope, xi, (C_b, C_W), depth, start=K, rates=lambda _: (1, 1)
        )["V"]
        for depth in (150, 151)
    ]
    assert (V[1] - V[0]) / K**2 == pytest.approx(float(found.growth), rel=1e-5)
    solution = exponents("gelu", ["V"], layer=SKIP, values={"xi": xi}, at_fixed_point=True)
    assert solution["V"].ratio_coefficient == found.growth


@pytest.mark.slow
def test_a_skip_that_turns_the_sign():
    """Of odd functions nothing changes; pairs of slopes meet the noise of every other layer."""
    both = [exponents("tanh", layer=SKIP, values={"xi": xi}) for xi in (0.6, -0.6)]
    for one, other in zip(*(solution.tensors for solution in both), strict=True):
        assert one == other
    xi, depth = -0.6, 200
    found = exponents("relu", ["V", "F", "B"], layer=SKIP, values={"xi": xi})
    values = {"xi": xi, "C_b": 0.0, "C_W": 2 * (1 - xi**2), "lambda_b": 0.0, "lambda_W": 1.0}
    network = Network("relu", [9] * depth, values, SKIP, n_L=9)
    tensors = propagate(network, [[1.0]], ["G", "V", "F", "B"])
    kept, layers = tensors["G"].ravel()[-1], depth + 1
    for name, power in (("V", 1), ("F", 2), ("B", 3)):
        expected = float(found[name].coefficient.subs({K: kept, lambda_b: 0, lambda_W: 1}))
        assert tensors[name].ravel()[-1] / layers**power == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("activation", ["tanh", "relu", slow("gelu")])
def test_a_skip_of_nothing_is_the_dense_layer(activation):
    skip, dense = (
        exponents(activation, ["V", "F"], **given)
        for given in ({"layer": SKIP, "values": {"xi": 0}}, {})
    )
    for name in ("V", "F"):
        assert skip[name].exponent == dense[name].exponent
        assert skip[name].coefficient == dense[name].coefficient


@pytest.mark.slow
def test_what_is_left_open_says_why():
    skip = {"layer": SKIP, "values": {"xi": 0.5}}
    with pytest.raises(SolutionError, match="by the sources of each layer"):
        exponents("tanh", ["U"], **skip)["U"]
    with pytest.raises(SolutionError, match=r"of order 1/n\^2"):
        exponents("tanh", ["X6"], **skip)["X6"]
    with pytest.raises(SolutionError, match="without second derivatives"):
        exponents("relu", ["P"], **skip)["P"]
    with pytest.raises(SolutionError, match="known for V"):
        exponents("gelu", ["F"], **skip, at_fixed_point=True)["F"]
    for name, match in (
        ("selu", "jumps at zero"),
        ("gelu", "comes to K"),
        ("sigmoid", "does neither"),
    ):
        with pytest.raises(SolutionError, match=match):
            exponents(name, ["V"], **skip)
    with pytest.raises(SolutionError, match=r"keeps 0\.5 of the kernel, and has 2 weights"):
        exponents("tanh", ["V"], layer="z' = b + W s(z) + U z", values={"C_U": 0.5})
    with pytest.raises(SolutionError, match="to start at"):
        exponents("tanh", ["V"], **skip, at_fixed_point=True)
    with pytest.raises(SolutionError, match="does not stay"):
        skip_growth("tanh", values={"xi": 0.5})
    with pytest.raises(SolutionError, match="so near to 1"):
        skip_growth("relu", values={"xi": 1 - 1e-7})
    with pytest.raises(SolutionError, match="are dense ones and chains of steps"):
        check_exponents(exponents("tanh", ["V"], **skip), 2000)


def test_learning_rates_that_are_given():
    skip = {"layer": SKIP, "values": {"xi": "3/5"}}
    open_, given = (
        exponents("tanh", ["A"], **skip, **r) for r in ({}, {"lambda_b": 2, "lambda_W": 3})
    )
    assert open_.at(lambda_b=2, lambda_W=3)["A"] == given["A"]
    assert exponents("tanh", ["H"], **skip, lambda_b=0)["H"].coefficient == lambda_W * 25 / 32


def test_command_line(capsys):
    assert main(["exponents", "tanh", "--layer", SKIP, "--value", "xi=3/5"]) == 0
    assert "V       1  " in capsys.readouterr().out.replace("V       1   ", "V       1  ")
    assert main(["skip-growth", "relu", "--value", "xi=1/2", "--format", "json"]) == 0
    assert '"growth": "6.49631254' in capsys.readouterr().out


def test_corrections_of_kernels_that_stay_are_not_solved():
    known = exponents("relu", ["G.1", "V"], layer=SKIP, values={"xi": "4/5"})
    assert [name for name, _ in known.unsolved] == ["G.1"]
    assert [one.name for one in known.tensors] == ["G", "H", "V"]
