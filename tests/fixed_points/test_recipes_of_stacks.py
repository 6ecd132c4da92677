"""Recipes of layers of several fields: sizes that stay, and layers that add alike to the NTK."""

import json

import numpy as np
import pytest
from cases import slow, swept

from symdlt import Network, Stack, propagate, recipe
from symdlt.cli import main
from symdlt.errors import SolutionError
from symdlt.networks.exponent_check import extrapolated

BLOCK = "h = U z; z' = xi z + b + W s(h)"
TWO = "h = a + U s(z); z' = b + W s(h)"
READING = "h = U s(z); z' = xi z + b + W s(h)"
DEPTH, DEEP, WIDTH = 30, 3000, 64
FUNCTIONS = {
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "relu": (lambda z: np.maximum(z, 0), lambda z: z > 0),
}


def numbers_of(found, depth):
    """Variances and rates by letter, a list over the layers; 0 where there is no such letter."""
    values = {}
    for one in found.drawn:
        for kind, number in (("C", one.std**2), ("lambda", one.rate)):
            listed = values.setdefault(f"{kind}_{one.tensor}", [0.0] * depth)
            listed[one.layer - 1] = number * one.fan_in
    return values


def propagated(activation, layer, values, name, layers):
    """What each of some layers adds to the last NTK by one letter alone, by linear response."""
    learning = [own for own in values if own.startswith("lambda_")]
    for number in layers:
        alone = {own: [0.0] * DEPTH for own in learning}
        alone[name][number - 1] = values[name][number - 1]
        chain = ["z' = b + W z", *[layer] * (DEPTH - 1)]
        net = Network(activation, [WIDTH] * (DEPTH - 1), values | alone, chain, n_L=WIDTH)
        found = propagate(net, [[1.0]], ["H"])
        yield found["H"].ravel()[-1]


def added(activation, layer, values, depth):
    """What each layer adds to the last NTK, by each letter, from K = 1 on: by the chain rule.

    The sum over one neuron after the other of the squares of what a letter is multiplied by, and
    of the slopes that follow it.
    """
    function, slope = FUNCTIONS[activation]
    z, weights = np.polynomial.hermite_e.hermegauss(80)
    weights /= weights.sum()

    def mean(f, K):
        return weights @ f(np.sqrt(K) * z) ** 2

    xi = values.get("xi", 0.0)
    own, one = (function, slope) if "U s(z)" in layer else (np.positive, np.ones_like)
    sources = {name: np.ones(depth) for name in "abUW"}
    K, passed = 1.0, np.ones(depth)
    for place in range(1, depth):
        C_U, C_W = values["C_U"][place], values["C_W"][place]
        inside = C_U * mean(own, K)
        drawn, through = mean(function, inside), C_W * mean(slope, inside)
        sources["W"][place] = drawn
        sources["U"][place] = through * mean(own, K)
        sources["a"][place] = through
        passed[place] = xi**2 + through * C_U * mean(one, K)
        K = xi**2 * K + C_W * drawn
    after = np.append(np.cumprod(passed[:0:-1])[::-1], 1.0)
    rates = {name: np.array(values[f"lambda_{name}"]) for name in "abUW" if f"C_{name}" in values}
    return {name: rate * sources[name] * after for name, rate in rates.items()}


@pytest.mark.parametrize(
    ("activation", "layer", "given"),
    [
        ("tanh", BLOCK, {"C_U": 1, "xi": 0.8}),
        swept("tanh", TWO, {"C_U": 1}),
        slow("tanh", READING, {"C_U": 2, "xi": 0.6}),
        swept("relu", READING, {"C_U": 1, "xi": 0.8}),
        slow("relu", BLOCK, {"C_U": 1, "xi": 0.8}),
    ],
)
def test_layers_add_alike_to_the_last_ntk(activation, layer, given):
    """At large depth what layer ℓ adds is a constant: extrapolated, two thirds have the same."""
    constants = {name: x for name, x in given.items() if name == "xi"}
    found = recipe(activation, [32] + [WIDTH] * DEPTH, layer=layer, values=given)
    values = numbers_of(found, DEPTH) | constants
    parts = added(activation, layer, values, DEPTH)
    layers = (3, 8, 15, 22, DEPTH)
    for name, part in parts.items():
        alone = [*propagated(activation, layer, values, f"lambda_{name}", layers)]
        assert alone == pytest.approx([part[number - 1] for number in layers], rel=1e-9), name
    found = recipe(activation, [32] + [WIDTH] * DEEP, layer=layer, values=given)
    parts = added(activation, layer, numbers_of(found, DEEP) | constants, DEEP)
    assert parts.keys() == {one.tensor for one in found.drawn}
    for name, part in parts.items():
        if activation == "relu":
            # the first layer has no U, and W of it reads the input
            assert part[1:] == pytest.approx(part[-1], rel=1e-9), name
            continue
        # of a power of ℓ too much, 1e-4, these two would differ by 4e-5
        whole, less = (extrapolated(part[:end], 0.0) for end in (DEEP, 2 * DEEP // 3))
        assert whole == pytest.approx(less, rel=1e-5), name


def test_kernels_stay_where_they_start():
    """ReLU, a bottleneck and a last layer of another width."""
    widths, given = [32, 64, 64, 64, 10], {"C_U": "5/3", "xi": 0.6}
    found = recipe("relu", widths, layer=BLOCK, values=given, inner={"h": 16})
    assert [(one.tensor, one.fan_in, one.fan_out) for one in found.drawn] == [
        ("b", 1, 64), ("W", 32, 64),
        ("U", 64, 16), ("b", 1, 64), ("W", 16, 64),
        ("U", 64, 16), ("b", 1, 64), ("W", 16, 64),
        ("b", 1, 10), ("W", 64, 10),
    ]  # fmt: skip
    values = {}
    for one in found.drawn:
        values.setdefault(f"C_{one.tensor}", [0.0] * 4)[one.layer - 1] = one.std**2 * one.fan_in
    dense = "z' = b + W z"
    layers = [dense, BLOCK, BLOCK, dense]
    net = Network("relu", widths[1:-1], {**values, "xi": 0.6}, layers, inner={"h": 16}, n_L=10)
    assert propagate(net, [[0.7]], "G")["G"].ravel() == pytest.approx([0.49] * 4, rel=1e-12)


def test_two_halves_are_two_dense_layers():
    """Blocks 2, 3, … have the rates of the dense layers 3, 5, …, over those of the first."""
    blocks = recipe("tanh", [64] * 6, layer=Stack(TWO), values={"C_U": 1})
    dense = recipe("tanh", [64] * 10)
    own = [one.rate for one in blocks.drawn if one.tensor == "b"]
    others = [one.bias_rate for one in dense.layers[::2]]
    assert np.array(own) / own[0] == pytest.approx(np.array(others) / others[0], rel=1e-12)
    own = [one.rate for one in blocks.drawn if one.tensor == "W"]
    others = [one.weight_rate for one in dense.layers[::2]]
    assert np.array(own) / own[0] == pytest.approx(np.array(others) / others[0], rel=1e-12)


@pytest.mark.parametrize(
    ("widths", "options", "message"),
    [
        ([8, 16, 32, 16, 2], {}, "Layer 2 would go from 16 to 32 neurons"),
        ([8, 16, 16], {"inner": {"g": 4}}, "inner has a width of g.* are h. Name these"),
        ([8, 16, 16], {"inner": {"h": 0}}, "no widths inside"),
        ([8, 16, 16], {"inner": [4]}, "no widths inside"),
        ([8], {}, "are no widths"),
    ],
)
def test_refusals(widths, options, message):
    with pytest.raises(SolutionError, match=message):
        recipe("tanh", widths, layer=BLOCK, values={"C_U": 1, "xi": 0.5}, **options)


def test_what_is_no_recipe():
    with pytest.raises(SolutionError, match="has no widths inside"):
        recipe("tanh", [8, 8], inner={"h": 3})
    with pytest.raises(SolutionError, match="unstable"):
        recipe("z + z**2", [8, 8], layer=TWO, values={"C_U": 1})


def test_on_the_command_line(capsys):
    words = ["recipe", "tanh", "--widths", "8,16,16", "--layer", TWO, "--value", "C_U=2"]
    assert main([*words, "--inner", "h=4", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["layer"] == TWO
    assert found["values"] == {"C_U": "2"}
    assert [one["fan_in"] for one in found["drawn"]] == [1, 8, 1, 16, 1, 4]
    assert main([*words, "--inner", "h=4"]) == 0
    assert "tanh: C_a 0, C_b 0, C_W 0.5, C_U 2" in capsys.readouterr().out
