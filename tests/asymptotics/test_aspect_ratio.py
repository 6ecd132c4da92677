"""Optimal depths over widths, against mutual information by quadrature for two laws."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from symdlt.asymptotics import mutual_information, optimal_aspect_ratio, skip_growth
from symdlt.cli import main
from symdlt.errors import SolutionError

SKIP = {"layer": "z' = xi z + b + W s(z)", "values": {"xi": 0.9}}


def lognormal(v):
    """Places and weights of a variance of mean 1 whose logarithm is Gaussian."""
    x, w = np.polynomial.hermite_e.hermegauss(120)
    width = math.log(1 + v)
    return np.exp(math.sqrt(width) * x - width / 2), w / w.sum()


def gamma(v):
    """One with the gamma law, as of a layer of 2/v linear neurons; its third moment is another."""
    y = np.linspace(-12, 12, 501) * math.sqrt(v)
    weights = np.exp((y - np.exp(y) + 1) / v)
    return np.exp(y), weights / weights.sum()


def relative_entropy(outputs, places, weights):
    """Of outputs that share one random variance, and independent ones, over the radius."""
    u = np.linspace(-70, 8, 3001)
    t = np.exp(u)
    logs = -outputs / 2 * np.log(places) + t[:, None] / 2 * (1 - 1 / places)
    most = logs.max(axis=1)
    density = most + np.log(np.exp(logs - most[:, None]) @ weights)
    chi = outputs / 2 * u - t / 2 - outputs / 2 * math.log(2) - math.lgamma(outputs / 2)
    return float(np.sum(np.exp(chi + density) * density) * (u[1] - u[0]))


def information(law, v, first, second):
    whole, *parts = (relative_entropy(N, *law(v)) for N in (first + second, first, second))
    return whole - sum(parts)


@pytest.mark.parametrize("law", [lognormal, gamma])
@pytest.mark.parametrize("groups", [(1, 1), (2, 3)])
def test_mutual_information_of_any_law_of_the_variance(law, groups):
    """Of second and of third order in v; the third moment of the law enters at the fourth."""
    two, three = mutual_information(*groups)
    rest = [(information(law, v, *groups) - float(two) * v**2) / v**3 for v in (1e-3, 2e-3)]
    assert 2 * rest[0] - rest[1] == pytest.approx(float(three), rel=5e-4)


@pytest.mark.parametrize("law", [lognormal, gamma])
def test_the_mutual_information_itself_has_no_maximum_there(law):
    """As docs/depth.md says: the expansion turns, and what it expands does not."""
    found = [information(law, v, 1, 1) for v in (0.077, 4 / 26, 0.31)]
    assert found[0] < found[1] < found[2]


@pytest.mark.parametrize("groups", [(1, 1), (1, 5), (3, 3), (2, 4), (4, 7)])
def test_the_spread_depends_on_the_number_of_outputs_alone(groups):
    """4/(20 + 3 n_L), which is how PDLT, appendix A, writes r* times ν."""
    two, three = mutual_information(*groups)
    assert -2 * two / (3 * three) == Fraction(4, 20 + 3 * sum(groups))


@pytest.mark.parametrize(
    ("name", "growth"), [("tanh", 2 / 3), ("sin", 2 / 3), ("relu", 5), ("linear", 2)]
)
def test_ratios_of_dense_networks(name, growth):
    """With ν = 2/3 of the K* = 0 class and 3 A_4/A_2² - 1 of the scale-invariant one."""
    found = optimal_aspect_ratio(name, 10)
    assert float(found.growth) == pytest.approx(growth)
    assert float(found.ratio) == pytest.approx(4 / 50 / growth)
    assert found.truncated_ratio == found.ratio


@pytest.mark.slow
def test_ratios_with_a_skip():
    """A skip lets networks be deeper: by 1/(1 - ξ⁴) for tanh, and for ReLU by less than is read."""
    tanh = optimal_aspect_ratio("tanh", **SKIP)
    assert float(tanh.ratio) == pytest.approx(4 / 26 / (2 / 3 * (1 - 0.9**4)))
    assert tanh.truncated_ratio == tanh.ratio
    relu, growth = optimal_aspect_ratio("relu", **SKIP), skip_growth("relu", values={"xi": 0.9})
    assert float(relu.ratio * growth.growth) == pytest.approx(4 / 26)
    C_W, xi_2 = 2 * (1 - 0.81), 0.81
    last = C_W**2 * (3 / 2 - 1 / 4) + 2 * xi_2 * C_W * (3 / 2 - 1 / 2)
    assert float(relu.truncated_ratio) == pytest.approx(4 / 26 / last)
    gelu = optimal_aspect_ratio("gelu", **SKIP)
    assert float(gelu.truncated_ratio / gelu.ratio) == pytest.approx(3.089, abs=1e-3)
    assert "of the last layer alone" in str(relu)


@pytest.mark.parametrize("outputs", [1, 0, 2.5, True])
def test_numbers_of_outputs_that_are_none(outputs):
    with pytest.raises(SolutionError, match="is no number of outputs"):
        optimal_aspect_ratio("tanh", outputs)


def test_networks_without_a_critical_point_are_refused():
    with pytest.raises(SolutionError, match="sigmoid"):
        optimal_aspect_ratio("sigmoid")


def test_command_line(capsys):
    assert main(["optimal-aspect-ratio", "tanh", "--outputs", "10", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["ratio"] == "3/25"
    options = ["--layer", SKIP["layer"], "--value", "xi=9/10"]
    assert main(["optimal-aspect-ratio", "relu", *options]) == 0
    assert "r* = L/n = 0.0606" in capsys.readouterr().out


def test_of_blocks_r_has_both_widths():
    """V/(nK²) of a block of two halves grows by 2/3 (1/n + 1/n_h) for tanh, 5 (…) for ReLU."""
    block = {"layer": "h = U s(z); z' = W s(h)", "values": {"C_U": 2}}
    of_relu = optimal_aspect_ratio("relu", 3, **block)
    dense = optimal_aspect_ratio("relu", 3)
    n, n_h = sp.symbols("n n_h", positive=True)
    assert sp.simplify(of_relu.ratio - dense.ratio * n_h / (n + n_h)) == 0
    assert of_relu.truncated_ratio == of_relu.ratio
    assert "(n + n_h)" in str(of_relu)
    assert of_relu.to_dict()["layer"] == block["layer"]


def test_residual_blocks_meet_noise_of_all_depths():
    """Without the inner site, n_h to infinity, r* is that of a layer of one weight."""
    block = {"layer": "h = U s(z); z' = xi z + W s(h)", "values": {"C_U": 1, "xi": 0.9}}
    found, one = (optimal_aspect_ratio("relu", **layer) for layer in (block, SKIP))
    wide = {x: 1 if x.name == "n" else 10**15 for x in found.ratio.free_symbols}
    assert float(found.ratio.subs(wide)) == pytest.approx(float(one.ratio), rel=1e-12)
    expected = float(one.truncated_ratio)
    assert float(found.truncated_ratio.subs(wide)) == pytest.approx(expected, rel=1e-12)
    assert "of the last layer alone" in str(found)
