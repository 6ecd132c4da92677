"""Equations of layers with norms, masks and laws of weights, against the numbers of networks.

The printed equations are evaluated from the tensors of the layer below, and compared with what
`propagate` finds for the layer above.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest
from cases import slow
from equations import ACTIVATION, COEFFICIENTS, Meaning, X

from symdlt import BOOK, Network, Stack, layer_equations, propagate
from symdlt.algebra import orthogonal, uniform

DENSE = "z' = b + W z"
WIDTHS = [5, 7, 6]
VALUES = {"C_b": 0.1, "C_W": 0.9, "C_U": 1.1, "lambda_b": 0.2, "lambda_W": 0.7, "lambda_U": 0.5}
PRUNED = Stack("m = prune(1/3); u = U m s(z); z' = b + W s(u)")
LAYERS = {
    "rmsnorm": Stack("z' = b + W s(rmsnorm(z))"),
    "layernorm": Stack("z' = b + W s(layernorm(z))"),
    "norm inside": Stack("h = U s(z); z' = b + W s(rmsnorm(h))"),
    "centred inside": Stack("h = U s(z); z' = b + W s(layernorm(h))"),
    "both norms": Stack("h = U s(layernorm(z)); z' = b + W s(rmsnorm(h))"),
    "dropout": Stack("z' = b + W dropout(1/4) s(z)"),
    "prune": PRUNED,
    "orthogonal": Stack("z' = b + W s(z)", laws={"W": orthogonal}),
    "orthogonal inside": Stack("h = U s(z); z' = b + W s(h)", laws={"U": orthogonal}),
    "orthogonal norm": Stack("z' = b + W s(layernorm(z))", laws={"W": orthogonal}),
}
HEAVY = {
    "uniform inside": Stack("h = U s(z); z' = b + W s(h)", laws={"U": uniform}),
    "uniform norm inside": Stack("h = U s(z); z' = b + W s(rmsnorm(h))", laws={"U": uniform}),
}
ONE_STREAM = ("rmsnorm", "layernorm", "dropout", "orthogonal", "orthogonal norm")
# in `G.1` and `H.1`
LONG = ("both norms", "orthogonal norm", "uniform norm inside", "centred inside", "layernorm")
CASES = [
    pytest.param(
        family,
        name,
        marks=()
        if family in ONE_STREAM or (name in "GHVBF" and family != "both norms")
        else (pytest.mark.slow if name in "VAT" else pytest.mark.sweep),
    )
    for family in LAYERS
    for name in BOOK
]


@cache
def numbers_of(family):
    """All tensors of the book of a network with such a layer, and corrections."""
    layer = (LAYERS | HEAVY)[family]
    values = {name: VALUES[name] for name in VALUES if name[-1] != "U" or "U" in str(layer)}
    inner = {field: 4 for field in "hu" if f"{field} =" in str(layer)}
    net = Network(ACTIVATION, WIDTHS, values, [DENSE, "z' = b + W s(z)", layer, DENSE], inner=inner)
    return propagate(net, X, [*BOOK, "G.1", "H.1"]).tensors


def meaning_of(layer, found):
    """The symbols of the layer above the second one."""
    K = found["G"][1]

    def scale(field, at):
        return covariance(field, at, field, at) ** -0.5

    def covariance(f, a, g, b):
        ends = []
        for field, at in ((f, a), (g, b)):
            if "norm(" in field:
                below = field[:-1].partition("(")[2]
                ends.append((below, scale(below, at)))
            else:
                ends.append((field, 1.0))
        (low, c), (other, d) = ends
        if low == other == "z":
            return K[a, b] * c * d
        if low == other:  # h or u, of weights U
            read = str(layer).partition(f"{low} = ")[2].partition(";")[0].removeprefix("U ")
            words = [f"{word}_{{}}" for word in read.split()]
            factors = [word.format(k) for word in words for k in "12"]
            kinds = [[w for w in factors if (w[:2] == "m_") == of] for of in (True, False)]
            at = {"1": a, "2": b}.get
            return VALUES["C_U"] * c * d * np.prod([m.mean(" ".join(k), at) for k in kinds if k])
        return 0.0

    def scale_of(below):
        return lambda at: scale(below, at)

    inner = "h" if "norm(h)" in str(layer) else "z"
    tensors = {name: (lambda *at, name=name: found[name][1][at]) for name in found}
    tensors |= {"c": scale_of(inner), "c(h)": scale_of("h"), "c(z)": scale_of("z")}
    # widths of layers ℓ-1, ℓ, ℓ+1 and inside; orthogonal weights have the larger one
    constants = VALUES | {"n'": 5, "n": 7, "n''": 6, "n_h": 4, "n_u": 4, "n_W": 7, "n_U": 7}
    kept = {"dropout": (0.75, False), "m": (2 / 3, True)}
    m = Meaning(COEFFICIENTS, covariance, constants, tensors, kept)
    return m


def moves(padding, stride):
    """A sample at a position of three, and the one that an offset reads."""

    def move(at, offset):
        sample, place = at
        moved = stride * place + offset
        if padding == "circular":
            return sample, moved % 3
        return (sample, moved) if 0 <= moved < 3 else None

    return move


def of_window(equations, found, labels, offsets, move, names):
    """The tensors of the next layer at all labels, each a sample and a position."""

    def covariance(f, a, g, b):
        del f, g
        return found["G"][a, b]

    tensors = {name: (lambda *at, name=name: found[name][at]) for name in found}
    constants = VALUES | {"n'": 1.0, "n": 1.0, "P": len(offsets)}
    meaning = Meaning(COEFFICIENTS, covariance, constants, tensors, None, offsets, move)
    made = {}
    for name in names:
        equation = equations[name]
        tail = equation.name.removesuffix("[l+1]").partition("_")[2]
        made[name] = {
            at: meaning.value(equation, dict(zip(tail, at, strict=True)).get)
            for at in product(labels, repeat=len(tail))
        }
    return made


@pytest.mark.parametrize("name", ["G.1", "H.1"])
@pytest.mark.parametrize("family", [slow(f) if f in LONG else f for f in (*LAYERS, *HEAVY)])
def test_corrections_are_those_of_networks(family, name):
    layer = (LAYERS | HEAVY)[family]
    found = numbers_of(family)
    (equation,) = layer_equations(name, layer).equations
    meaning = meaning_of(layer, found)
    expected, value = found[name][2], np.zeros((2, 2))
    for at in product(range(2), repeat=2):
        value[at] = meaning.value(equation, dict(zip("12", at, strict=True)).get)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["G.1", "H.1"])
def test_fourth_cumulants_of_weights_enter_corrections(name):
    """The block of the layer below, from its own equation one layer further down."""
    layer = Stack("z' = b + W s(z)", laws={"W": uniform})
    values = {key: value for key, value in VALUES.items() if key[-1] != "U"}
    net = Network(ACTIVATION, WIDTHS, values, [DENSE, layer, layer, DENSE])
    found = propagate(net, X, (*BOOK, "G.1", "H.1")).tensors
    equation, *blocks = layer_equations(name, layer).equations
    assert [one.name for one in blocks] == ["X_1234[l+1]", "XH_1234[l+1]"][: len(blocks)]
    below, above = ({key: found[key][at] for key in found} for at in (0, 1))
    joint = meaning_at(below, {})

    def block(number):
        return lambda *at: joint.value(blocks[number], dict(zip("1234", at, strict=True)).get)

    meaning = meaning_at(above, {"X": block(0), "XH": block(len(blocks) - 1)})
    expected = found[name][2]
    plain = propagate(
        Network(ACTIVATION, WIDTHS, values, [DENSE] + ["z' = b + W s(z)"] * 3), X, name
    )
    assert np.abs(plain[name][2] / expected - 1).max() > 0.05
    for at in product(range(2), repeat=2):
        value = meaning.value(equation, dict(zip("12", at, strict=True)).get)
        assert value == pytest.approx(expected[at], rel=1e-6)  # to what `propagate` finds means


def meaning_at(found, others):
    """The symbols of a layer that reads z alone."""

    def covariance(f, a, g, b):
        del f, g
        return found["G"][a, b]

    tensors = {key: (lambda *at, key=key: found[key][at]) for key in found} | others
    return Meaning(COEFFICIENTS, covariance, VALUES | {"n'": 5, "n": 7}, tensors)


@pytest.mark.parametrize(
    ("window", "read"),
    [
        ("[3]", "[all]"),
        ("[3, zero]", "[all]"),
        ("[2, zero, stride 2]", "[all]"),
        pytest.param("[3, zero]", "[mean]", marks=pytest.mark.slow),
    ],
)
def test_windows_are_sums_over_offsets(window, read):
    """Two convolutions and a readout of three positions, all labels written out."""
    names = ("G", "H", "V", "F")
    stride = 2 if "stride" in window else 1
    layers = [f"z' = b + W{window} z", f"z' = b + W{window} s(z)", f"z' = b + W{read} s(z)"]
    layers[0] = layers[0].replace(", stride 2", "")
    x = np.random.default_rng(0).standard_normal((1, 2, 3))
    values = {name: value for name, value in VALUES.items() if name[-1] != "U"}
    expected = propagate(Network(ACTIVATION, [4, 4], values, layers), x, names)
    size = int(window[1])
    offsets = [k - (size - 1) // 2 for k in range(size)]
    padding = "zero" if "zero" in window else "circular"
    labels = [(0, place) for place in range(3)]
    move, found = moves(padding, 1), {"G": {}, "H": {}}
    for a, b in product(labels, repeat=2):
        both = [(move(a, q), move(b, q)) for q in offsets]
        overlaps = [x[0, :, c[1]] @ x[0, :, d[1]] / 2 for c, d in both if c and d]
        for name, letter in (("G", "C"), ("H", "lambda")):
            found[name][a, b] = VALUES[f"{letter}_b"] + VALUES[f"{letter}_W"] * sum(overlaps) / size
    found |= {name: dict.fromkeys(product(labels, repeat=4), 0.0) for name in ("V", "F")}
    equations = {name: layer_equations(name, layers[1])[0] for name in names}
    made = labels[: -(-3 // stride)]
    found = of_window(equations, found, made, offsets, moves(padding, stride), names)
    equations = {name: layer_equations(name, layers[2])[0] for name in names}
    whole = range(len(made))
    at_end = of_window(equations, found, labels[:1], whole, lambda at, q: (0, q), names)
    for name in names:
        ((_, value),) = at_end[name].items()
        assert value == pytest.approx(expected[name][-1].item(), rel=1e-8)


@pytest.mark.parametrize(("family", "name"), CASES)
def test_equations_give_the_numbers_of_networks(family, name):
    found, layer = numbers_of(family), LAYERS[family]
    equation, *others = layer_equations(name, layer).equations
    assert not others
    meaning = meaning_of(layer, found)
    tail = equation.name.removesuffix("[l+1]").partition("_")[2]
    expected, value = found[name][2], np.zeros_like(found[name][2])
    for at in product(range(len(X)), repeat=len(tail)):
        value[at] = meaning.value(equation, dict(zip(tail, at, strict=True)).get)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())
