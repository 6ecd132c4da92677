"""Critical points of layers that are chains of steps, against one layer of `propagate`."""

import json

import numpy as np
import pytest
import sympy as sp
from cases import slow

from symdlt import Network, criticality, propagate
from symdlt.cli import main
from symdlt.errors import LayerError, SolutionError

BLOCK = "h = U s(z); z' = W s(h)"
RESIDUAL = "h = a + U s(z); z' = xi z + b + W s(h)"
GATE = "u = U z; v = V z; z' = W cos(u) v"


def layer_at(activation, layer, values, K):
    """The kernel above one of K, and what multiplies the NTK."""
    known = {name: float(sp.Rational(str(x))) for name, x in values.items()}
    letters = {one for one in "UVWab" if f"{one} " in layer}
    rates = {f"lambda_{one}": 0.0 for one in letters} | {"lambda_Q": 1.0, "C_Q": K}
    net = Network(activation, [9], known | rates, ["z' = Q z", layer], n_L=9)
    found = propagate(net, [[1.0]], ["G", "H"])
    (below, K_above), (ntk, ntk_above) = (found[name].ravel() for name in "GH")
    assert below == pytest.approx(K, rel=1e-12)
    return K_above, ntk_above / ntk


@pytest.mark.parametrize(
    ("activation", "layer", "values", "weight"),
    [
        ("tanh", BLOCK, {"C_U": "5/4"}, "C_W"),
        ("tanh", BLOCK, {"C_W": "5/4"}, "C_U"),
        ("tanh", RESIDUAL, {"C_U": "1/2", "xi": "3/5"}, "C_W"),
        ("tanh", "h = U z; z' = xi z + W s(h)", {"C_W": 2, "xi": "-3/5"}, "C_U"),
        ("erf", RESIDUAL, {"C_U": 2, "xi": "3/5"}, "C_W"),
        ("tanh(z) + tanh(z)**2/4", BLOCK, {"C_U": 1}, "C_W"),
        ("tanh", GATE, {"C_U": "1/2", "C_V": 3}, "C_W"),
        ("tanh", "z' = xi z + W (s(z) - 1/3 z)", {"xi": "1/2"}, "C_W"),
        ("tanh", "h = U s(z); g = V sin(h); z' = W (s(g) + 1/2 g)", {"C_U": 1, "C_V": 2}, "C_W"),
        ("tanh", "z' = b + W prune(1/3) s(z)", {}, "C_W"),
        (
            "tanh",
            "h = U dropout(1/4) s(z); z' = xi z + W prune(1/3) s(h)",
            {"C_U": 1, "xi": "3/5"},
            "C_W",
        ),
        ("selu", "m = prune(1/3); h = U z; z' = b + W m s(h)", {"C_U": 1}, "C_W"),
        ("elu", BLOCK, {"C_U": "3/2"}, "C_W"),
        ("elu", RESIDUAL, {"C_U": "1/2", "xi": "3/5"}, "C_W"),
        ("selu", BLOCK, {"C_U": 1}, "C_W"),
    ],
)
def test_small_kernels_move_as_they_should(activation, layer, values, weight):
    """K' = K + a_1 K^q and χ_⊥ = 1 + b_1 K^r, with an error that falls with K."""
    (point,) = criticality(activation, layer=layer, values=values).points
    assert point.symbols[1] == weight
    assert point.K == 0
    assert point.stability == "stable"
    whole = {**values, **{name: str(sp.N(x, 20)) for name, x in point.variances}}
    q, r, a, b = map(float, (point.kernel_power, point.perp_power, point.a_1, point.b_1))
    # the next power of K is 1 where the kernel is smooth, and 1/2 where it has a kink
    power, error = (1, 1e-6) if q == 2 else (0.5, 5e-4)
    kernels = np.array([1e-2, 1e-3, 1e-4])
    maps = [layer_at(activation, layer, whole, K) for K in kernels]
    moved = [(above - K) / (a * K**q) for (above, _), K in zip(maps, kernels, strict=True)]
    bent = [(slope - 1) / (b * K**r) for (_, slope), K in zip(maps, kernels, strict=True)]
    for ratios in (moved, bent):
        # three places fix the next two orders; of the third their product is left, 1e-9 or 3e-5,
        # times a coefficient of hundreds, or of ten, as moments grow with the power of K
        limit = np.polyfit(kernels**power, ratios, 2)[-1]
        assert limit == pytest.approx(1, abs=error), ratios


def test_every_kernel_is_kept_by_straight_functions():
    for activation in ("relu", "leaky_relu(z, 0.2)", "abs(z)", "linear"):
        found = criticality(activation, layer=RESIDUAL, values={"C_U": "2/3", "xi": "1/4"})
        (point,) = found.points
        assert found.universality == "scale-invariant"
        assert point.K is None
        values = {"C_U": "2/3", "xi": "1/4", **{name: str(x) for name, x in point.variances}}
        for K in (0.1, 3.0):
            above, slope = layer_at(activation, RESIDUAL, values, K)
            assert (above / K, slope) == pytest.approx((1, 1), rel=1e-12)


@pytest.mark.parametrize(
    ("activation", "layer", "values"),
    [
        ("gelu", BLOCK.replace("W s", "b + W s"), {"C_U": 1}),
        slow("swish", RESIDUAL, {"C_U": 2, "xi": "3/5", "C_a": "1/10"}),
        slow("gelu", GATE.replace("W cos", "b + W s"), {"C_U": "1/2", "C_V": 3}),
        # products of fields alone, and of straight functions, are critical at every K
        ("tanh", "u = U z; v = V z; z' = b + W u v", {"C_U": "1/2", "C_V": 3}),
        ("relu", GATE.replace("W cos", "b + W s"), {"C_U": "1/2", "C_V": 3}),
        slow("z + sin(z)**2", "z' = xi z + b + W (s(z) + 1/3 z)", {"xi": "1/2"}),
        ("gelu", "z' = b + W dropout(1/3) s(z)", {}),
        # with a kink at zero, which means of slopes do not mind
        slow("max(0, z) + sin(z)**2", RESIDUAL, {"C_U": 2, "xi": "3/5"}),
    ],
)
def test_kernels_near_a_positive_one_move_as_they_should(activation, layer, values):
    """K' = K* + (K - K*) + a_1 (K - K*)² and χ_⊥ = 1 + b_1 (K - K*), from differences."""
    found = criticality(activation, layer=layer, values=values)
    assert found.universality == "half-stable"
    assert found.scanned is not None
    for point in found.points:
        known = {**values, **{name: str(sp.N(x, 20)) for name, x in point.variances}}
        K, step = float(point.K), 1e-3 * float(point.K)
        maps = [layer_at(activation, layer, known, K + k * step) for k in (-2, -1, 0, 1, 2)]
        kernels, slopes = map(np.array, zip(*maps, strict=True))
        assert (kernels[2] / K, slopes[2]) == pytest.approx((1, 1), rel=1e-12)
        # central differences, good to the fourth power of the step
        first = np.array([1, -8, 0, 8, -1]) / (12 * step)
        second = np.array([-1, 16, -30, 16, -1]) / (12 * step**2)
        assert first @ kernels == pytest.approx(1, abs=1e-8)
        a_1 = second @ kernels / 2 * K
        assert a_1 == pytest.approx(float(point.a_1) * K, abs=1e-6)
        assert first @ slopes * K == pytest.approx(float(point.b_1) * K, abs=1e-8)


def test_dropout_tells_two_inputs_apart():
    """The covariance of two equal inputs, and of others, by many layers."""
    layer = "h = U dropout(1/4) s(z); z' = xi z + W dropout(1/3) s(h)"
    values = {"C_U": 2, "xi": "3/5"}
    found = criticality("tanh", layer=layer, values=values)
    # ξ² + C_W C_U, where C_W C_U/(3/4 · 2/3) is 1 - ξ²
    assert "Two that are the same part" in found.reasons[0]
    assert "is multiplied by 17/25 from layer to layer" in found.reasons[1]
    known = {"C_U": 2.0, "xi": 0.6, "C_W": float(found.points[0].C_W)}
    layers = ["z' = U z", *[layer] * 30]
    known["C_U"] = [1e-8, *[2.0] * 30]
    G = propagate(Network("tanh", [9] * 30, known, layers, n_L=9), [[1.0], [1.0]], "G")["G"]
    assert G[2:, 0, 1] / G[1:-1, 0, 1] == pytest.approx([17 / 25] * 29, rel=1e-6)
    assert G[2:, 0, 0] / G[1:-1, 0, 0] == pytest.approx([1] * 29, rel=1e-6)
    assert not criticality("tanh", layer=layer.replace("dropout", "prune"), values=values).reasons
    of_gelu = criticality("gelu", layer="z' = b + W dropout(1/2) s(z)", digits=6)
    assert of_gelu.reasons[-1] == "`layer_phase` has the covariance that they come to."


def test_points_beyond_a_stable_one_are_sought_on_request():
    found = criticality("tanh", layer=RESIDUAL, values={"C_U": 1, "xi": "1/2"}, search=(0.1, 10))
    assert [point.K for point in found.points] == [0]
    assert found.scanned == (0.1, 10)
    assert "chi_parallel is below chi_perp" in found.reasons[0]


def test_biases_and_the_text():
    found = criticality("tanh", layer=RESIDUAL, values={"C_U": 1, "xi": "4/5"})
    assert found.points[0].variances == (("C_a", 0), ("C_b", 0), ("C_W", sp.Rational(9, 25)))
    assert str(found).splitlines()[0] == f"tanh: universality class K*=0, of layers {RESIDUAL}"
    assert "  C_a          0" in str(found).splitlines()


def test_numbers_of_no_use():
    with pytest.raises(SolutionError, match="C_W = -1 is not a variance"):
        criticality("tanh", layer=BLOCK, values={"C_W": -1})
    with pytest.raises(SolutionError, match=r"lambda_U.*is no symbol .* that can have a value"):
        criticality("tanh", layer=BLOCK, values={"C_U": 1, "lambda_U": 1})
    with pytest.raises(SolutionError, match=r"search stands in the call.*C_U is that of a field"):
        criticality("tanh", layer=BLOCK, values={"C_W": 1}, search=(0.1, 1))
    with pytest.raises(SolutionError, match="second derivatives of a function whose slope jumps"):
        criticality("relu", layer="z' = W (s(z) + s(z) z)")


@pytest.mark.parametrize(
    ("layer", "values"),
    [
        ("h = xi z + U s(z); z' = xi h + W s(h)", {"xi": "7/10", "C_U": "51/100"}),
        ("h = xi z + U s(z); z' = 1/2 h + b + W s(h)", {"xi": "3/5", "C_U": "1/3"}),
        ("h = U s(z); z' = 1/2 h + b + W s(h)", {"C_U": "1/2"}),
        ("h = U s(z); z' = 1/2 h + W s(h)", {"C_U": "1/2"}),
    ],
)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_fields_inside_that_are_kept(activation, layer, values):
    (point,) = criticality(activation, layer=layer, values=values).points
    known = values | {"C_W": point.C_W} | ({"C_b": 0} if " b " in layer else {})
    for K in (1e-5, 1e-4):
        above, slope = layer_at(activation, layer, known, K)
        a_1, b_1 = (float(one or 0) for one in (point.a_1, point.b_1))
        assert (above / K - 1) / K == pytest.approx(a_1, abs=1e-9, rel=5 * K)
        assert (slope - 1) / K == pytest.approx(b_1, abs=1e-9, rel=5 * K)


def test_two_dense_layers_in_one():
    inside = criticality("tanh", layer="h = U s(z); z' = b + h").points[0]
    assert (inside.K, inside.C_W, inside.a_1) == (0, 1, -2)


def test_fields_that_are_kept_or_have_no_kernel():
    with pytest.raises(LayerError, match="has h on the neurons of z"):
        criticality("gelu", layer="h = U s(z); z' = z + h + W s(h)", values={"C_U": 1})
    with pytest.raises(LayerError, match="keeps z on its neuron"):
        criticality("tanh", layer="h = z + U s(z); z' = z + W s(h)", values={"C_U": 1})
    with pytest.raises(SolutionError, match="Give its weights a positive variance"):
        criticality("gelu", layer="h = U s(z); z' = b + W s(h)", values={"C_U": 0})


def test_on_the_command_line(capsys):
    words = ["criticality", "tanh", "--layer", BLOCK, "--value", "C_U=2", "--format", "json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["layer"] == BLOCK
    assert found["points"][0]["C_W"] == "1/2"
