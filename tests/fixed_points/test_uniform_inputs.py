"""Layers with windows at inputs that are the same at all positions, against other ways to them."""

import json

import numpy as np
import pytest
import sympy as sp
from cases import slow, swept

from symdlt import (
    BOOK,
    Network,
    Stack,
    criticality,
    exponents,
    layer_phase,
    optimal_aspect_ratio,
    phase,
    propagate,
)
from symdlt.algebra import uniform
from symdlt.cli import main
from symdlt.errors import LayerError

CONVOLUTION = "z' = b + W[3] s(z)"
VALUES = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.3, "lambda_W": 0.7}
# The trapezoidal rule in the plane, for functions that are analytic near it.
NODES = np.linspace(-7, 7, 57)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()


@pytest.mark.parametrize(
    ("layer", "plain"),
    [
        slow(CONVOLUTION, "z' = b + W s(z)"),
        swept("z' = 3/5 z + b + W[2] s(z)", "z' = 3/5 z + b + W s(z)"),
    ],
)
def test_uniform_inputs_see_no_windows(layer, plain):
    """All thirteen tensors and both corrections, of linear response over all positions."""
    names = [*BOOK, "G.1", "H.1"]
    first = layer.partition("W")[2].partition("]")[0] + "]"
    layers = [f"z' = b + W{first} z", *[layer] * 2, "z' = b + W[mean] s(z)"]
    x = np.array([[1.0, 0.5], [-0.4, 0.8]])
    widths = [6, 6, 6]
    with_windows = Network("tanh", widths, VALUES, layers)
    found = propagate(with_windows, np.repeat(x[:, :, None], 3, axis=2), names, tolerance=1e-12)
    dense = ["z' = b + W z", *[plain] * 2, "z' = b + W s(z)"]
    expected = propagate(Network("tanh", widths, VALUES, dense), x, names, tolerance=1e-12)
    for name in names:
        assert found[name][-1] == pytest.approx(expected[name][-1], rel=1e-9, abs=1e-12), name


def next_covariances(K, window, kept, drawn):
    """One layer of covariances of all pairs of positions, by their definition."""
    above = kept * K
    places = len(K)
    means = np.empty_like(K)
    for p in range(places):
        for r in range(places):
            a, b = np.sqrt(K[p, p]), np.sqrt(K[r, r])
            rho = min(1.0, K[p, r] / (a * b))
            other = rho * NODES[:, None] + np.sqrt(1 - rho**2) * NODES
            means[p, r] = WEIGHTS @ (np.tanh(a * NODES)[:, None] * np.tanh(b * other)) @ WEIGHTS
    for q in window:
        shifted = np.roll(means, (-q, -q), axis=(0, 1))
        above = above + drawn * shifted / len(window)
    return above


@pytest.mark.parametrize(
    ("layer", "xi", "window"),
    [
        ("z' = W[3] s(z)", 0, (-1, 0, 1)),
        ("z' = xi z + W[3] s(z)", "3/5", (-1, 0, 1)),
        ("z' = xi z + W[2] s(z)", "3/5", (0, 1)),
    ],
)
def test_modes_fall_as_they_are_said_to(layer, xi, window):
    values = {"xi": xi} if xi else {}
    found = criticality("tanh", layer=layer, values=values)
    assert (
        found.points
        == criticality(
            "tanh", layer=str(Stack(layer)).replace(f"[{len(window)}]", ""), values=values
        ).points
    )
    told = next(reason for reason in found.reasons if "exp(i k p)" in reason)
    formula = sp.sympify(told.partition("multiplied by ")[2].partition(" from layer")[0])
    places, kept = 6, float(sp.Rational(str(xi))) ** 2
    at, size, tiny = np.arange(places), 1e-5, 1e-2
    for mode, distance in ((1, 0), (2, 1), (3, 2)):
        K = np.full((places, places), 0.3 * size) + 0.7 * size * np.eye(places)
        wave = np.cos(2 * np.pi * mode * at / places)
        K[at, (at + distance) % places] += tiny * size * wave
        if distance:
            K[(at + distance) % places, at] += tiny * size * wave
        above = next_covariances(K, window, kept, float(found.points[0].C_W))
        moved = np.fft.fft(above[at, (at + distance) % places])[mode]
        expected = complex(formula.subs(sp.Symbol("k"), 2 * sp.pi * mode / places).evalf())
        assert moved / np.fft.fft(tiny * size * wave)[mode] == pytest.approx(expected, abs=1e-3)


def test_windows_of_several_axes_and_steps():
    layer = "h = U[3x3] s(z); z' = xi z + b + W s(h)"
    found = criticality("tanh", layer=layer, values={"C_U": 2, "xi": "3/5"})
    assert (
        found.points
        == criticality(
            "tanh", layer=layer.replace("[3x3]", ""), values={"C_U": 2, "xi": "3/5"}
        ).points
    )
    assert "16*(2*cos(k_1)/3 + 1/3)*(2*cos(k_2)/3 + 1/3)/25 + 9/25" in found.reasons[-1]
    both = criticality("tanh", layer="z' = W[3] s(z) + U z", values={"C_U": "1/4"})
    assert "several windows" in both.reasons[-1]
    gelu = criticality("gelu", layer=CONVOLUTION, digits=8)
    assert gelu.points == criticality("gelu", digits=8).points
    assert "2*cos(k)/3 + 1/3" in gelu.reasons[-1]


def test_exponents_are_those_of_the_dense_network():
    found, dense = exponents("tanh", layer=CONVOLUTION), exponents("tanh")
    assert found.tensors == dense.tensors
    assert "the same at all positions" in str(found)
    ratio = optimal_aspect_ratio("tanh", layer=CONVOLUTION)
    assert ratio.ratio == optimal_aspect_ratio("tanh").ratio
    assert "W[3] s(z), 2 outputs, at inputs that are the same at all positions" in str(ratio)
    skip = exponents("tanh", ["V"], layer="z' = xi z + b + W[3] s(z)", values={"xi": "1/2"})
    assert skip["V"].ratio_coefficient == sp.Rational(5, 8)
    pruned = exponents("tanh", ["V"], layer="z' = W[3] prune(1/2) s(z)")
    assert pruned["V"].ratio_coefficient == sp.Rational(5, 3)


def test_phases_are_those_of_the_dense_network():
    found = layer_phase(CONVOLUTION, "tanh", {"C_b": 0.1, "C_W": 1.5})
    expected = phase("tanh", 1.5, 0.1)
    assert "W[3]" in str(found)
    for name in ("K", "chi_parallel", "chi_perp"):
        assert getattr(found, name) == pytest.approx(float(getattr(expected, name)), rel=1e-9)


def test_windows_of_other_laws():
    layer = Stack(CONVOLUTION, laws={"W": uniform})
    assert exponents("tanh", ["V"], layer=layer)["V"].ratio_coefficient == sp.Rational(2, 3)
    with pytest.raises(LayerError, match="the fourth cumulants of W"):
        exponents("tanh", ["G.1"], layer=layer)


@pytest.mark.parametrize(
    ("window", "why"),
    [
        ("3, zero", "zeros beyond the edge"),
        ("3, valid", "makes other positions"),
        ("all", "makes other positions"),
        ("mean", "makes other positions"),
        ("3, stride 2", "fewer positions"),
        ("3, pool 2", "fewer positions"),
    ],
)
def test_windows_that_do_not_keep_positions_are_refused(window, why):
    layer = f"z' = b + W[{window}] s(z)"
    for asked in (
        lambda: criticality("tanh", layer=layer),
        lambda: exponents("tanh", layer=layer),
        lambda: layer_phase(layer, "tanh", {"C_b": 0.1, "C_W": 1.0}),
    ):
        with pytest.raises(LayerError, match=why + r".*Ask `propagate`"):
            asked()


def test_on_the_command_line(capsys):
    assert main(["criticality", "tanh", "--layer", CONVOLUTION, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["layer"] == CONVOLUTION
    assert found["points"][0]["C_W"] == "1"
    assert main(["criticality", "tanh", "--layer", "z' = W[3, zero] s(z)"]) == 1
    assert "zeros beyond the edge" in capsys.readouterr().err
