"""Two nearby inputs: the expanded map, its exponents, and direct iteration of two samples."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import sympy as sp

from symdlt import MLP
from symdlt.cli import main
from symdlt.errors import SolutionError
from symdlt.fixed_points import nearby
from symdlt.fixed_points.nearby_map import nearby_map

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(30)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
S, T = np.meshgrid(NODES, NODES[15:])
GRID = np.outer(WEIGHTS[15:], WEIGHTS)


def two_samples(activation, kernel):
    """The next kernel of two samples at C_b = 0 and C_W = 1, by Gauss-Hermite quadrature."""
    a, b, c = kernel
    root = math.sqrt(a)
    first = activation(root * S)
    second_plus = activation(b / root * S + math.sqrt(c - b * b / a) * T)
    second_minus = activation(b / root * S - math.sqrt(c - b * b / a) * T)
    mixed = np.sum(GRID * first * (second_plus + second_minus))
    own = np.sum(GRID * (second_plus**2 + second_minus**2))
    return WEIGHTS @ activation(root * NODES) ** 2, mixed, own


def differences(kernel):
    a, b, c = kernel
    return (a + 2 * b + c) / 4, (a - c) / 2, (a - 2 * b + c) / 4


def term_value(term, symbols, K, K_1, K_2):
    mean = 1 if term.order is None else symbols[term.order]
    z = sp.Symbol("K")
    value = sp.diff(mean, z, term.slope) if term.slope else mean
    value = value.subs(z, K) if term.order is not None else value
    p, q = term.differences
    C_b = dict(term.hyperparameters).get("C_b", 0)
    return float(term.coefficient * value * 0**C_b * K_1**p * K_2**q)  # at C_W = 1


def test_the_map_is_that_of_the_book():
    assert [[str(t) for t in terms] for terms in nearby_map()[1:]] == [
        ["C_W d/dK <s s> K_1"],
        ["C_W <s' s'> K_2", "1/2 C_W d/dK <s' s'> K_1^2"],
    ]


@pytest.mark.parametrize("distance", [1e-2, 1e-3])
def test_the_map_is_that_of_two_samples_of_sin(distance):
    K = sp.Symbol("K")
    means = {0: (1 - sp.exp(-2 * K)) / 2, 1: (1 + sp.exp(-2 * K)) / 2, 2: (1 - sp.exp(-2 * K)) / 2}
    K_0, K_1, K_2 = 0.7, 0.9 * distance, 2.5 * distance**2
    kernel = two_samples(np.sin, (K_0 + K_1 + K_2, K_0 - K_2, K_0 - K_1 + K_2))
    for terms, exact in zip(nearby_map(), differences(kernel), strict=True):
        found = sum(term_value(t, means, K_0, K_1, K_2) for t in terms)
        assert found == pytest.approx(exact, abs=5 * distance**3 + 1e-15)


@pytest.mark.parametrize("name", ["tanh", pytest.param("sin", marks=pytest.mark.slow)])
def test_exponents_against_two_samples_to_layer_20000(name):
    found = nearby(name)
    assert (found.p_parallel, found.p_perp, found.angle_exponent) == (2, 1, 0)
    kernel = (1.001, 0.9999, 0.9992)
    rows = []
    for layer in range(1, 20_001):
        if layer in (5_000, 10_000, 20_000):
            rows.append(differences(kernel))
        kernel = two_samples({"tanh": np.tanh, "sin": np.sin}[name], kernel)
    for column, power in ((1, found.first), (2, found.second), (0, found.kernel)):
        a, b, c = (row[column] for row in rows)
        slopes = [-math.log2(b / a), -math.log2(c / b)]
        assert 2 * slopes[1] - slopes[0] == pytest.approx(float(power.exponent), abs=2e-4)
    assert rows[-1][0] * 20_000 == pytest.approx(float(found.kernel.coefficient), rel=1e-3)


@pytest.mark.parametrize("name", ["tanh", "sin", "z - z**5"])
def test_what_the_square_of_the_first_difference_feeds(name):
    """h K_1^2 from layer to layer, iterated, against the driven asymptote."""
    found = nearby(name)
    z = sp.Symbol("z")
    activation = sp.lambdify(z, sp.sympify(name if "z" in name else f"{name}(z)"), "numpy")
    slope = sp.lambdify(z, sp.diff(sp.sympify(name if "z" in name else f"{name}(z)"), z), "numpy")
    K, K_1, last = 0.05, 1.0, 20_000
    for _ in range(1, last):
        y = math.sqrt(K) * NODES
        square = activation(y) ** 2
        K_1 *= WEIGHTS @ (square * (NODES**2 - 1)) / (2 * K)
        K = WEIGHTS @ square
    y = math.sqrt(K) * NODES
    source = WEIGHTS @ (slope(y) ** 2 * (NODES**2 - 1)) / (4 * K) * K_1**2
    scale = (K_1 * last ** float(found.p_parallel)) ** 2
    per_constant = float(found.driven.coefficient.subs(sp.Symbol("c_1", real=True), 1))
    expected = per_constant * float(found.p_perp - found.driven.exponent)
    exponent = float(found.driven.exponent) + 1
    assert source * last**exponent / scale == pytest.approx(expected, rel=2e-2)


def test_elu_and_the_kink_of_its_curvature():
    found = nearby("elu")
    assert (found.p_parallel, found.p_perp, found.driven.exponent) == (3, 2, 4)
    assert found.limits == ()


def test_deep_linear_and_relu_networks_keep_their_differences():
    for name in ("linear", "relu"):
        found = nearby(name)
        assert (found.p_parallel, found.p_perp, found.driven, found.kernel) == (0, 0, None, None)
    assert "goes to 1" not in str(nearby("linear"))
    assert "correlations go to 1" in str(nearby("relu"))
    data = [[1.0, 0.3], [1.001, 0.2996]]
    network = MLP(activation="linear", widths=[1] * 199, C_b=0, C_W=1)
    G = network.propagate(data, ["G"])["G"]
    np.testing.assert_allclose(G[-1], G[0], rtol=1e-12)


def test_the_distance_of_half_stable_kernels_grows():
    found = nearby("gelu")
    assert found.p_parallel == 2
    assert found.p_perp < -60
    assert "holds while it is small" in str(found)


def test_refused_without_criticality():
    with pytest.raises(SolutionError, match="cannot be critical"):
        nearby("sigmoid")


def test_notebook_and_command_line(capsys):
    assert r"K_{[1]} &= c_{1}\,\ell^{-2}" in nearby("tanh")._repr_latex_()
    assert main(["nearby", "tanh", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["asymptotes"]["K_2"] == {"exponent": "1", "coefficient": "c_2", "log_power": 0}
    assert main(["nearby", "sin"]) == 0
    assert "K_2 -> c_2 l^-1  and, fed by K_1^2, c_1^2/4 l^-3" in capsys.readouterr().out
