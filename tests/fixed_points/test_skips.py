"""Phases, nearby inputs and recipes with a skip, against two samples in the tests' own layers."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import sympy as sp
from cases import swept

from symdlt import critical_line, nearby, phase, recipe
from symdlt.cli import main
from symdlt.errors import LayerError, SolutionError

SKIP = "z' = xi z + b + W s(z)"
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
RATES = {"lambda_b": 0.3, "lambda_W": 0.7}


def tanh_slope(z):
    return 1 - np.tanh(z) ** 2


def mean(f, g, a, b, rho):
    """⟨f(x) g(y)⟩ of variances a and b and a correlation, by Gauss's rule in two dimensions."""
    x = math.sqrt(a) * NODES[:, None]
    y = math.sqrt(b) * (rho * NODES[:, None] + math.sqrt(max(1 - rho * rho, 0)) * NODES[None, :])
    return float(WEIGHTS @ (f(x) * g(y)) @ WEIGHTS)


def iterated(xi, C_W, C_b, depth, kernel=(1.0, 0.6, 1.0)):
    """K, the correlation and the NTK of two samples of a residual tanh network, layer by layer."""
    (a, c, b), H = kernel, RATES["lambda_b"] + RATES["lambda_W"]
    rows = [(a, c / math.sqrt(a * b), H)]
    for _ in range(depth):
        rho = c / math.sqrt(a * b)
        square = mean(np.tanh, np.tanh, a, a, 1)
        chi = xi**2 + C_W * mean(tanh_slope, tanh_slope, a, a, 1)
        H = RATES["lambda_b"] + RATES["lambda_W"] * square + chi * H
        c = xi**2 * c + C_b + C_W * mean(np.tanh, np.tanh, a, b, rho)
        a = xi**2 * a + C_b + C_W * square
        b = a
        rows.append((a, c / math.sqrt(a * b), H))
    return np.array(rows).T


@pytest.mark.parametrize(
    ("xi", "C_W", "C_b", "side", "early", "late"),
    [
        (0.5, 0.5, 0.05, "ordered", 14, 30),
        (0.5, 1.5, 0.05, "chaotic", 12, 150),
        swept(0.5, 1.5, 0.0, "chaotic", 14, 150),
        (0.9, 0.15, 0.02, "ordered", 60, 300),
    ],
)
def test_rates_with_a_skip_against_iteration(xi, C_W, C_b, side, early, late):
    found = phase("tanh", C_W, C_b, layer=SKIP, values={"xi": xi})
    K, rho, H = iterated(xi, C_W, C_b, late + 2)

    def rate(values, limit, layer):
        return (values[layer + 1] - limit) / (values[layer] - limit)

    assert (found.side, found.values) == (side, (("xi", sp.Rational(str(xi))),))
    assert K[-1] == pytest.approx(float(found.K), rel=1e-7)
    assert rate(K, float(found.K), early) == pytest.approx(float(found.chi_parallel), rel=2e-3)
    assert rate(rho, float(found.rho), late) == pytest.approx(float(found.rho_factor), rel=1e-3)
    if side == "ordered":
        limit = found.ntk.subs({symbol: RATES[symbol.name] for symbol in found.ntk.free_symbols})
        factor = float(found.ntk_factor)
        assert rate(H, float(limit), late) == pytest.approx(factor, rel=2e-2)
    else:
        assert H[-1] / H[-2] == pytest.approx(float(found.chi_perp), rel=1e-3)


@pytest.mark.parametrize(("activation", "start"), [("tanh", 1.0), ("elu", 1.0), ("relu", 2.0)])
def test_a_skip_moves_as_a_dense_layer_that_does_less(activation, start):
    """K' - K is 1 - ξ² times that of a dense layer with both variances divided by 1 - ξ²."""
    share = 1 - sp.Rational(3, 5) ** 2
    skip = phase(
        activation, share * 3 / 2, share / 10, layer=SKIP, values={"xi": "3/5"}, start=start
    )
    dense = phase(activation, sp.Rational(3, 2), sp.Rational(1, 10), start=start)
    assert (skip.side, skip.rho is None) == (dense.side, dense.rho is None)
    for name in ("K", "rho"):
        assert abs(sp.N(getattr(skip, name) - getattr(dense, name))) < 1e-12
    for name in ("chi_parallel", "chi_perp"):
        moved = share * getattr(dense, name) + 1 - share
        assert abs(sp.N(getattr(skip, name) - moved)) < 1e-12


@pytest.mark.parametrize(("activation", "C_b"), [("tanh", 0.05), ("gelu", 0.1), ("tanh", 0)])
def test_the_critical_line_with_a_skip(activation, C_b):
    """K' - K and χ⊥ - 1 are those of a dense layer with both variances over 1 - ξ², times that."""
    share = sp.Rational(16, 25)
    skip = critical_line(activation, C_b * float(share), layer=SKIP, values={"xi": "3/5"})
    dense = critical_line(activation, C_b)
    assert len(skip) == len(dense) > 0
    for one, other in zip(skip, dense, strict=True):
        assert abs(sp.N(one.K - other.K)) < 1e-12
        assert abs(sp.N(one.C_W - share * other.C_W)) < 1e-12
        moved = share * other.chi_parallel + 1 - share
        assert abs(sp.N(one.chi_parallel - moved)) < 1e-12
    if activation == "tanh":  # whose kernel goes to the only fixed point
        values = {"xi": "3/5"}
        point = phase("tanh", skip[-1].C_W, C_b * float(share), layer=SKIP, values=values)
        assert point.side == "critical"


def test_kernels_that_a_skip_lets_grow():
    """tanh² goes to 1, so that K grows by C_W + C_b a layer if ξ = 1."""
    still = phase("tanh", 0.5, 0.05, layer=SKIP, values={"xi": 1})
    assert (still.side, still.chi_parallel, still.rho) == ("unbounded", 1, None)
    K, rho, _ = iterated(1, 0.5, 0.05, 3000)
    assert (K[3000] - K[2000]) / 1000 == pytest.approx(0.55, rel=0.03)
    assert rho[-1] < 0.99
    assert "not given for such a kernel" in str(still)
    growing = phase("tanh", 0.5, layer="z' = xi z + W s(z)", values={"xi": 1.5})
    assert (growing.chi_parallel, growing.rho) == (sp.Rational(9, 4), None)
    K, _, H = iterated(1.5, 0.5, 0.0, 40)
    assert K[-1] / K[-2] == pytest.approx(2.25, rel=1e-6)
    assert H[-1] / H[-2] == pytest.approx(2.25, rel=1e-6)
    assert "The NTK grows by a factor 9/4 a layer: e-fold" in str(growing)


def test_nearby_inputs_with_a_skip_against_two_samples_to_layer_20000():
    """tanh with K' = K - 2 (1 - ξ²) K² + ..., so that K_0 goes to 1/(2 (1 - ξ²) l)."""
    xi = 0.6
    found = nearby("tanh", layer=SKIP, values={"xi": xi})
    assert (found.p_parallel, found.p_perp, found.angle_exponent) == (2, 1, 0)
    assert found.kernel.coefficient == sp.Rational(25, 32)
    a, c, b = 1.001, 0.9999, 0.9992
    rows = []
    for layer in range(1, 20_001):
        if layer in (5_000, 10_000, 20_000):
            rows.append(((a + 2 * c + b) / 4, (a - b) / 2, (a - 2 * c + b) / 4))
        rho = min(c / math.sqrt(a * b), 1.0)
        angle = math.sqrt(max(a * b - c * c, 0) / (a * b))
        x, y = math.sqrt(a) * NODES, math.sqrt(b) * (rho * NODES)
        # tanh of the second sample, averaged over its own part to the fourth order of the angle.
        shift = math.sqrt(b) * angle
        t = np.tanh(y)
        second = -2 * t * (1 - t**2)
        fourth = (1 - t**2) * t * (16 - 24 * t**2)
        averaged = t + second * shift**2 / 2 + fourth * shift**4 / 8
        across = float(WEIGHTS @ (np.tanh(x) * averaged))
        squares = [float(WEIGHTS @ np.tanh(math.sqrt(v) * NODES) ** 2) for v in (a, b)]
        a, c, b = (
            xi**2 * old + (1 - xi**2) * new
            for old, new in zip((a, c, b), (squares[0], across, squares[1]), strict=True)
        )
    for column, power in ((0, found.kernel), (1, found.first), (2, found.second)):
        values = [row[column] for row in rows]
        slopes = [-math.log2(after / before) for before, after in pairwise(values)]
        assert 2 * slopes[1] - slopes[0] == pytest.approx(float(power.exponent), abs=2e-3)
    assert rows[-1][0] * 20_000 == pytest.approx(25 / 32, rel=2e-3)


def test_what_the_first_difference_feeds_is_less_by_what_the_skip_keeps():
    found = nearby("tanh", layer=SKIP, values={"xi": "4/5"})
    dense = nearby("tanh")
    share = 1 - sp.Rational(4, 5) ** 2
    assert found.driven.coefficient == share * dense.driven.coefficient
    assert found.driven.exponent == dense.driven.exponent
    assert nearby("gelu", layer=SKIP, values={"xi": "4/5"}).p_perp == pytest.approx(
        float(nearby("gelu").p_perp)
    )


def spreads(xi, depth=60):
    """How unlike the layers add to the last NTK: by biases, by weights, and by λ_b of plain 1/ℓ."""
    layers = recipe("tanh", [8] * (depth + 1), layer=SKIP, values={"xi": xi}).layers
    K, squares, slopes = 1.0, [1.0], []
    for _ in range(depth):
        square = float(WEIGHTS @ np.tanh(math.sqrt(K) * NODES) ** 2)
        slope = float(WEIGHTS @ tanh_slope(math.sqrt(K) * NODES) ** 2)
        squares.append(square)
        slopes.append(xi**2 + (1 - xi**2) * slope)
        K = xi**2 * K + (1 - xi**2) * square
    later = np.array([math.prod(slopes[k : depth - 1]) for k in range(depth)])
    biases = np.array([one.bias_rate for one in layers]) * later
    weights = np.array([one.weight_rate * one.fan_in for one in layers]) * later * squares[:depth]
    plain = later / np.arange(1, depth + 1)
    # Without the first layer, whose input is of any size.
    return [max(added[1:]) / min(added[1:]) for added in (biases, weights, plain)]


@pytest.mark.parametrize("xi", [0.3, 0.8, 0.97])
def test_layers_of_a_recipe_add_alike_to_the_ntk(xi):
    """Nearly, from K = 1, where tanh is not yet that of small K; dense ones to a factor 1.28."""
    biases, weights, plain = spreads(xi)
    assert max(biases, weights) < 1.6
    if xi > 0.9:
        assert plain > 8  # a weak layer does not follow powers of its number


def test_variances_of_a_recipe_keep_the_kernel():
    """GELU: the dense first layer sets K*, residual ones keep it, and so does a dense last one."""
    found = recipe("gelu", [4, 8, 8, 2], layer=SKIP, values={"xi": 0.6})
    K = float(found.point.K)
    first, middle, last = found.layers

    def gelu(z):
        return z * mpmath.ncdf(z)

    square = float(
        mpmath.quad(lambda z: gelu(z) ** 2 * mpmath.npdf(z, 0, mpmath.sqrt(K)), [-30, -5, 0, 5, 30])
    )
    assert first.bias_std**2 + 4 * first.weight_std**2 * found.input_square == pytest.approx(K)
    kept = 0.36 * K + middle.bias_std**2 + 8 * middle.weight_std**2 * square
    assert kept == pytest.approx(K)
    assert last.bias_std**2 + 8 * last.weight_std**2 * square == pytest.approx(K)


def test_layers_without_biases_have_no_rate_for_them():
    found = recipe("relu", [4, 4, 4], layer="z' = xi z + W s(z)", values={"xi": 0.5})
    assert [one.bias_rate for one in found.layers] == [0, 0]
    assert [one.weight_std**2 * 4 for one in found.layers] == pytest.approx([2, 1.5])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: phase("tanh", 1, 1, layer="z' = xi z + W s(z)", values={"xi": 1}), SolutionError,
         "has no biases"),
        (lambda: phase("tanh", 1, layer=SKIP), SolutionError, "xi is left in its kernel map"),
        (lambda: nearby("tanh", layer=SKIP, values={"xi": 1}), SolutionError, "cannot be critical"),
        (lambda: nearby("tanh", layer="z' = s(z) + b + W s(z)"), LayerError, "does not close"),
        (lambda: recipe("tanh", [4, 8, 16, 8], layer=SKIP, values={"xi": 0.5}), SolutionError,
         "Layer 2 would go from 8 to 16 neurons"),
        (lambda: recipe("tanh", [4, 4], layer="z' = W s(z) + U z", values={"C_U": 0.5}),
         SolutionError, "more than one weight"),
        (lambda: recipe("tanh", [4, 4], layer=SKIP, values={"xi": 1.5}), SolutionError,
         "multiplies the kernel by 2.25"),
    ],
)  # fmt: skip
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_commands_take_the_layer(capsys):
    options = ["--layer", SKIP, "--value", "xi=4/5", "--format", "json"]
    assert main(["phase", "tanh", "--C-W", "0.5", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["layer"], found["values"]) == (SKIP, {"xi": "4/5"})
    assert main(["nearby", "tanh", *options]) == 0
    assert json.loads(capsys.readouterr().out)["p_perp"] == "1"
    assert main(["recipe", "tanh", "--widths", "4,4,4", *options]) == 0
    layers = json.loads(capsys.readouterr().out)["layers"]
    assert layers[1]["weight_std"] == pytest.approx(0.3)
