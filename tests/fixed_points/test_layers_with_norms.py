"""What is told of layers with norms, which have no critical point, against layers one by one."""

import re

import numpy as np
import pytest
from cases import swept

from symdlt import Network, critical_value, criticality, exponents, layer_phase, propagate
from symdlt.cli import main
from symdlt.errors import LayerError

BEHIND = "z' = b + W s({}(z))"
BEFORE = "z' = {}z + W s(U {}(z))"


def told(activation, layer, values=None):
    with pytest.raises(LayerError, match=r"has the field .*, a norm") as reason:
        criticality(activation, layer=layer, values=values)
    return str(reason.value)


def number_in(text, before, after):
    found = re.search(f"{re.escape(before)}([0-9.e-]+?){re.escape(after)}", text)
    assert found, text
    return float(found[1])


@pytest.mark.parametrize(
    ("activation", "norm"),
    [
        ("tanh", "layernorm"),
        ("gelu", "rmsnorm"),
        swept("tanh", "rmsnorm"),
        swept("gelu", "layernorm"),
    ],
)
def test_a_norm_in_front_of_weights(activation, norm):
    """The line of biases is that of fixed points with χ_⊥ = 1, by linear response."""
    text = told(activation, BEHIND.format(norm))
    square = number_in(text, "K* = C_b + C_W ", ",")
    found = layer_phase(BEHIND.format(norm), activation, {"C_b": 0.2, "C_W": 1.7})
    assert (found.K, found.chi_parallel) == pytest.approx((0.2 + 1.7 * square, 0), rel=1e-7)
    slope = number_in(text, "chi_perp = C_W ", "/K*")
    assert found.chi_perp == pytest.approx(1.7 * slope / found.K, rel=1e-7)
    share = number_in(text, "is 1 for C_b = ", " C_W")
    line = critical_value(BEHIND.format(norm), activation, {"C_W": 3.0}, "C_b")
    assert line.values["C_b"] == pytest.approx(3 * share, rel=1e-6)


def test_other_lines_of_biases():
    assert "which is 1 for C_b = 0." in told("relu", BEHIND.format("rmsnorm"))
    text = told("tanh", "z' = W s(rmsnorm(z))")
    found = layer_phase("z' = W s(rmsnorm(z))", "tanh", {"C_W": 0.4})
    assert number_in(text, "/K* = ", "; biases") == pytest.approx(found.chi_perp, rel=1e-7)
    assert "which is below 1" in told("sigmoid", BEHIND.format("rmsnorm"))
    assert layer_phase(BEHIND.format("rmsnorm"), "sigmoid", {"C_b": 0, "C_W": 2}).chi_perp < 1


def test_norms_with_masks_of_one_draw():
    layer = "z' = b + W prune(1/2) s(rmsnorm(z))"
    text = told("tanh", layer)
    found = layer_phase(layer, "tanh", {"C_b": 0.2, "C_W": 1.7})
    K = 0.2 + 1.7 * number_in(text, "K* = C_b + C_W ", ",")
    slope = 1.7 * number_in(text, "chi_perp = C_W ", "/K*")
    assert (found.K, found.chi_perp) == pytest.approx((K, slope / K), rel=1e-7)


@pytest.mark.parametrize(
    ("layer", "values"),
    [
        ("y = rmsnorm(z); z' = 1/2 y + W s(y)", {}),
        ("h = U rmsnorm(z); z' = W s(rmsnorm(h))", {"C_U": 1.3}),
        ("u = U layernorm(z); v = V rmsnorm(z); z' = W s(u) v", {"C_U": 1.3, "C_V": 0.7}),
        ("h = U rmsnorm(z); g = V s(h); z' = W s(g)", {"C_U": 1.3, "C_V": 2}),
    ],
)
def test_norms_in_front_of_all_that_weights_read(layer, values):
    """Against linear response in floating point, at another value of the weight."""
    text = told("tanh", layer, values)
    found = layer_phase(layer, "tanh", {**values, "C_W": 1.7})
    fixed, sloped = (
        sum(1.7 * float(one[4:]) if "C_W" in one else float(one) for one in part.split(" + "))
        for part in re.search(r"K\* = (.*?), for .*chi_perp = \(?(.*?)\)?/K\*", text).groups()
    )
    assert (found.K, found.chi_parallel) == pytest.approx((fixed, 0), rel=1e-7)
    assert found.chi_perp == pytest.approx(sloped / fixed, rel=1e-7)


def test_norms_with_a_name():
    named = told("tanh", "y = rmsnorm(z); h = U y; z' = z + W s(h)", {"C_U": 1})
    other = told("tanh", BEFORE.format("", "rmsnorm"), {"C_U": 1})
    assert named.partition("a norm. ")[2] == other.partition("a norm. ")[2]


def two_near(layer, values, depth):
    """The kernel and the distance of two near inputs at each layer."""
    layers = ["z' = W z", *[layer] * (depth - 1)]
    net = Network("tanh", [9] * (depth - 1), values, layers, n_L=9)
    G = propagate(net, [[1.0, 0.0], [np.cos(1e-3), np.sin(1e-3)]], "G", tolerance=1e-12)["G"]
    return G[:, 0, 0], G[:, 0, 0] - G[:, 0, 1]


def test_a_norm_next_to_a_skip_of_one():
    values = {"C_W": 1.5, "C_U": 1.0}
    text = told("tanh", BEFORE.format("", "rmsnorm"), {"C_U": 1})
    K, apart = two_near(BEFORE.format("", "rmsnorm"), values, 200)
    step = 1.5 * number_in(text, "draws C_W ", ",")
    assert np.diff(K) == pytest.approx([step] * 199, rel=1e-7)
    # log δ' - log δ = log(1 + p (K' - K)/K), in which the distance has the power p
    power = number_in(text, "near inputs grow as l^", ",")
    grown = np.log(apart[-1] / apart[99]) / np.log(K[-1] / K[99])
    assert grown == pytest.approx(power, rel=2e-3)
    assert number_in(text, "goes as l^", ". `layer") == pytest.approx(power - 1, abs=1e-5)


def test_a_norm_next_to_a_smaller_skip():
    values = {"C_W": 1.5, "C_U": 1.0, "xi": 0.6}
    text = told("tanh", BEFORE.format("xi ", "layernorm"), {"C_U": 1, "xi": "3/5"})
    found = layer_phase(BEFORE.format("xi ", "layernorm"), "tanh", values)
    assert number_in(text, "chi_parallel is ", ",") == pytest.approx(found.chi_parallel)
    assert number_in(text, "chi_perp is ", ",") == pytest.approx(found.chi_perp, rel=1e-7)
    drawn, rest = number_in(text, "draws C_W ", ","), number_in(text, "is drawn over ", ". Without")
    assert pytest.approx(1.5 * drawn / rest, rel=1e-7) == found.K
    grows = told("tanh", BEFORE.format("xi ", "rmsnorm"), {"C_U": 1, "xi": 2})
    assert "keeps 4 K" in grows
    assert "K grows by that factor" in grows


@pytest.mark.parametrize(
    ("layer", "values"),
    [
        ("h = U s(z); z' = W s(rmsnorm(h))", {"C_U": 1}),
        ("z' = b + W dropout(1/2) s(rmsnorm(z))", {}),
        (BEFORE.format("", "rmsnorm"), {}),  # of which U has no value
        ("z' = W s(rmsnorm(z)) + U s(z)", {"C_U": 1}),
        ("z' = W sign(rmsnorm(z))", {}),
    ],
)
def test_norms_of_other_layers(layer, values):
    text = told("tanh", layer, values)
    assert "do not depend on that of the field" in text
    assert "`critical_value`" in text


def test_exponents_and_the_command_line_say_the_same(capsys):
    layer = BEHIND.format("rmsnorm")
    with pytest.raises(LayerError) as reason:
        exponents("tanh", layer=layer)
    assert str(reason.value) == told("tanh", layer)
    assert main(["criticality", "tanh", "--layer", layer]) == 1
    assert told("tanh", layer) in capsys.readouterr().err
