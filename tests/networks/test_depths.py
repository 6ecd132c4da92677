"""All depths of networks with skips at once, against fields one by one and closed forms."""

import numpy as np
import pytest
from cases import slow, swept

from symdlt import Network, Stack, propagate
from symdlt.algebra import orthogonal, uniform
from symdlt.definitions import program_of
from symdlt.networks import streams
from symdlt.networks.depths import tensors as depths
from symdlt.networks.depths.states import State, settled

RESIDUAL = "z' = xi z + b + W s(z)"
DENSE = "z' = b + W s(z)"
BLOCK = "h = U s(z); z' = z + b + W s(h)"
GATE = "u = U z; v = V z; z' = xi z + b + W s(u) v"
PRENORM = "z' = z + W s(U rmsnorm(z))"
MIXED = "z' = z + b + W (s(z) + 1/2 z)"
RATES = {"lambda_b": 0.3, "lambda_W": 0.7}
WITH_U = {"C_U": 0.9, "lambda_U": 0.4}
X = np.array([[1.0, 0.3, -0.2], [-0.4, 0.8, 0.5]])
KINKED = [*"GHVADBFPQ", "G.1"]
# The trapezoidal rule: for tanh its error is about exp(-2π·π/2√K/h), below rounding.
NODES = np.linspace(-9, 9, 145)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()


def residual(activation, depth, layers=RESIDUAL, **values):
    """Numbers that differ from layer to layer."""
    places = np.arange(depth)
    by_layer = {
        "xi": 0.6 + 0.2 * np.sin(places),
        "C_b": 0.1 + 0.05 * np.cos(places),
        "C_W": 1.0 + 0.2 * np.cos(2 * places),
        **RATES,
        **values,
    }
    values = {k: v if np.isscalar(v) else list(v) for k, v in by_layer.items() if v is not None}
    return Network(activation, [6] * (depth - 1), values, layers, n_L=6)


def one_field_after_the_other(network, x, names, monkeypatch):
    """What is found without depths taken together."""
    program = program_of(network.resized(n_0=np.shape(x)[1]), not network.missing_rates)
    assert depths.are_taken_together(network, program, names)
    with monkeypatch.context() as patched:
        patched.setattr(streams, "are_taken_together", lambda *_: False)
        return propagate(network, x, names, tolerance=1e-11)


def compare(network, x, names, monkeypatch, rtol=1e-9):
    found = propagate(network, x, names, tolerance=1e-11)
    expected = one_field_after_the_other(network, x, names, monkeypatch)
    assert found.names == expected.names
    for name in found.names:
        scale = max(np.abs(expected[name]).max(), 0.01)  # some vanish but for the tolerance
        np.testing.assert_allclose(found[name], expected[name], atol=rtol * scale, err_msg=name)


@pytest.mark.parametrize(
    "activation", [slow("tanh"), swept("gelu"), swept("sin"), slow("z + z**2/2")]
)
def test_one_input(activation, monkeypatch):
    compare(residual(activation, 5), X[:1], "all", monkeypatch)


@pytest.mark.parametrize("activation", ["relu", slow("where(z < 0, 0.3*z, z)"), swept("abs")])
def test_one_input_with_a_kink(activation, monkeypatch):
    compare(residual(activation, 5), X[:1], KINKED, monkeypatch)


def test_powers_whose_squares_no_grid_reaches(monkeypatch):
    """Of σσσσ = z^12, whose square is z^24, means are those of two products of two."""
    compare(residual("z**3", 4, C_W=0.1), X[:1], ["V", "G.1"], monkeypatch)


@pytest.mark.parametrize("activation", [slow("gelu"), *map(swept, ["tanh", "sin", "relu"])])
def test_twelve_layers(activation, monkeypatch):
    compare(residual(activation, 12), X[:1], KINKED if activation == "relu" else "all", monkeypatch)


def test_a_kink_away_from_zero(monkeypatch):
    compare(residual("relu(z - 1/2)", 4), X[:1], ["V", "F"], monkeypatch)


@pytest.mark.parametrize(("activation", "names"), [slow("swish", "all"), ("relu", [*"VF"])])
def test_two_inputs(activation, names, monkeypatch):
    compare(residual(activation, 4), X, names, monkeypatch)


@pytest.mark.parametrize("x", [X[:1], slow(X)])
def test_skips_that_keep_nothing_at_some_layers(x, monkeypatch):
    network = residual("swish", 6, xi=[0.6, 0.5, 0.0, 0.7, 0.3, 0.0])
    compare(network, x, [*"VDP"], monkeypatch)


def test_depths_far_apart_of_some_inputs(monkeypatch):
    """Coefficients in the plane serve pairs of depths that are little correlated."""
    x = np.array([[1.0, 0.3], [-0.4, 0.8], [0.2, -0.9]])
    network = residual("sin", 5, xi=0.4)
    found = propagate(network, x, [*"VBF"], tolerance=1e-7)
    expected = one_field_after_the_other(network, x, [*"VBF"], monkeypatch)
    for name in found:
        scale = np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name], expected[name], atol=1e-6 * scale, err_msg=name)


@pytest.mark.parametrize("x", [np.zeros((1, 3)), slow(X[[0, 1, 0]]), [X[0], 0 * X[0]]])
def test_zero_and_duplicate_inputs(x, monkeypatch):
    compare(residual("tanh", 4), x, ["V", "D", "P", "G.1"], monkeypatch)


@pytest.mark.parametrize(
    ("layers", "values", "inner"),
    [
        slow([DENSE, *[BLOCK] * 3], {"xi": None, **WITH_U}, {"h": [9, 5, 7, 9]}),
        slow(
            [DENSE, *[GATE] * 3],
            {"C_V": 0.8, "lambda_V": 0.5, **WITH_U},
            {"u": [9, 5, 7, 9]},
        ),
        swept([DENSE, *[MIXED] * 3], {"xi": None}, {}),
        swept([DENSE, *[MIXED] * 4], {"xi": None}, {}),
        swept([DENSE, *[BLOCK] * 4], {"xi": None, **WITH_U}, {"h": [9, 5, 7, 9, 4]}),
        slow([DENSE, BLOCK, RESIDUAL, BLOCK, DENSE], WITH_U, {}),
        slow([DENSE, *[RESIDUAL] * 2, DENSE, *[RESIDUAL] * 3], {}, {}),
        # Layers that close, and hand nothing on but what is known of z.
        slow(
            [DENSE, *["u = U z; v = V z; z' = b + W (s(u) v)"] * 3],
            {"xi": None, "C_V": 0.8, "lambda_V": 0.5, **WITH_U},
            {"u": [9, 5, 7, 9]},
        ),
        slow(
            [DENSE, *["h = U s(z); z' = b + W s(h)"] * 4],
            {"xi": None, **WITH_U},
            {"h": [9, 5, 7, 9, 4]},
        ),
        swept([DENSE, *["z' = b + W (s(z) z + 1/2 z)"] * 3], {"xi": None}, {}),
        swept([DENSE, *["u = U rmsnorm(z); z' = b + W s(u)"] * 3], {"xi": None, **WITH_U}, {}),
        slow(
            [DENSE, *["h = U s(z); z' = b + W s(h)", "z' = b + W s(z)"] * 3],
            {"xi": None, **WITH_U},
            {},
        ),
    ],
)
def test_blocks_and_several_streams(layers, values, inner, monkeypatch):
    network = residual("swish", len(layers), layers, **values)
    compare(network.resized(inner=inner), X[:1], "all", monkeypatch)


@pytest.mark.slow
def test_norms(monkeypatch):
    without = {"xi": None, "C_b": None, "lambda_b": None}
    network = residual("tanh", 4, ["z' = W z", *[PRENORM] * 3], **without, **WITH_U)
    compare(network, X, ["V", "D"], monkeypatch)
    compare(network, X[:1], "all", monkeypatch)


@pytest.mark.parametrize("law", [orthogonal, uniform])
def test_laws(law, monkeypatch):
    layer = Stack("z' = xi z + W s(z)", laws={"W": law})
    network = residual("tanh", 4, ["z' = W z", *[layer] * 3], C_b=None, lambda_b=None)
    compare(network, X, [*"VDFP"], monkeypatch)


def test_layers_in_windows_are_those_of_one(monkeypatch):
    network = residual("tanh", 9)
    whole = propagate(network, X[:1])
    monkeypatch.setattr(depths, "AT_ONCE", 20)
    parts = propagate(network, X[:1])
    for name in whole:
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-12, atol=1e-14)


def test_corrections_of_laws_with_a_fourth_cumulant_go_one_field_after_the_other():
    layer = Stack("z' = xi z + W s(z)", laws={"W": uniform})
    network = residual("tanh", 5, ["z' = W z", *[layer] * 4], C_b=None, lambda_b=None)
    program = program_of(network.resized(n_0=3))
    assert depths.are_taken_together(network, program, ["V"])
    assert not depths.are_taken_together(network, program, ["V", "G.1"])
    others = residual("tanh", 3, DENSE, xi=None)
    assert not depths.are_taken_together(others, program_of(others.resized(n_0=3)), ["V"])


def test_states_that_differ_in_the_names_of_legs_are_one():
    state = State((2, 3), (0, 1), ((0, 2),))
    first, order = settled(state)
    assert (first, order) == (State((0, 1), (2, 3), ((0, 2),)), (0, 1, 2, 3))
    other, order = settled(State((0, 3), (1, 2), ((2, 3),)))
    assert other == first
    assert {order[0], order[3]} in ({0, 1}, {2, 3})


@pytest.mark.slow
def test_linear_networks_of_a_thousand_layers_keep_their_exact_growth():
    """With C_W = 1 - ξ², |z|² is a product of independent factors: V/K² = 2(1 - ξ⁴) a layer."""
    depth, xi = 1000, 0.8
    values = {"xi": xi, "C_b": 0, "C_W": [1.0] + [1 - xi**2] * (depth - 1)}
    network = Network("z", [100] * (depth - 1), values, RESIDUAL, n_L=100)
    found = propagate(network, [[1.0]], ["G", "V"])
    np.testing.assert_allclose(found["G"].ravel(), 1.0, rtol=1e-11)
    np.testing.assert_allclose(found["V"].ravel(), 2 * (1 - xi**4) * np.arange(depth), rtol=1e-9)


@pytest.mark.slow
def test_relu_networks_of_three_hundred_layers_grow_as_their_sum():
    """Of V/K² a layer: 2(1 - ξ⁴) + C_W²B²[3 + 2Σ s(ξ^k)], B = ½, at C_W = 2(1 - ξ²)."""
    depth, xi = 300, 0.9**0.5
    C = 2 * (1 - xi**2)
    values = {"xi": xi, "C_b": 0, "C_W": [1.0] + [C] * (depth - 1)}
    V = propagate(Network("relu", [100] * (depth - 1), values, RESIDUAL, n_L=100), [[1.0]], "V")[
        "V"
    ]
    rho = xi ** np.arange(1, 400)
    s = 2 / np.pi * ((1 + 2 * rho**2) * np.arcsin(rho) + 3 * rho * np.sqrt(1 - rho**2))
    growth = 2 * (1 - xi**4) + C**2 / 4 * (3 + 2 * s.sum())
    assert np.diff(V.ravel())[-1] == pytest.approx(growth, rel=1e-6)
    assert growth == pytest.approx(1.4028, abs=1e-4)


def mean(function, variance):
    return WEIGHTS @ function(np.sqrt(variance) * NODES)


def covariances(first, second, K, depth, xi):
    """Of f(z_t) and g(z_m), t < m, all pairs by the trapezoidal rule over two variables."""
    found = np.zeros((depth, depth))
    z = np.sqrt(K)[:, None] * NODES
    f, g = first(z) * WEIGHTS, second(z) @ WEIGHTS
    for t in range(depth):
        for m in range(t + 1, depth):
            kept = xi ** (m - t)
            rest = np.sqrt(max(K[m] - kept**2 * K[t], 0.0))
            later = second(kept * z[t][:, None] + rest * NODES) @ WEIGHTS
            found[t, m] = f[t] @ later - f[t].sum() * g[m]
        found[t, t] = (first(z[t]) * second(z[t])) @ WEIGHTS - f[t].sum() * g[t]
    return found


def test_tanh_at_sixty_layers_by_pairs_of_depths():
    """One input: C' = χ²C + 2χY + var(σσ), Y[F] for all later F at once, V = C + 2Y[zz]."""
    depth, xi = 60, 0.8
    values = {"xi": xi, "C_b": 0.1, "C_W": 1.1}
    found = propagate(Network("tanh", [9] * (depth - 1), values, RESIDUAL, n_L=9), [[1.0]], "V")

    def square(z):
        return np.tanh(z) ** 2

    def curved(z):
        return 2 * (1 - np.tanh(z) ** 2) * (1 - 3 * np.tanh(z) ** 2)

    K = [0.1 + 1.1]
    for _ in range(depth - 1):
        K.append(xi**2 * K[-1] + 0.1 + 1.1 * mean(square, K[-1]))
    slopes = [xi**2 + 1.1 * mean(curved, k) / 2 for k in K]
    of_squares = covariances(square, square, np.array(K), depth, xi)
    of_fields = covariances(square, np.square, np.array(K), depth, xi)
    C, values = 0.0, [0.0]
    met, seen = np.zeros(depth), np.zeros(depth)  # noise of σσ and zz of each later layer
    for t in range(depth - 1):
        C = slopes[t] ** 2 * C + 2.2 * slopes[t] * met[t] + 1.21 * of_squares[t, t]
        met = slopes[t] * met + 1.1 * of_squares[t]
        seen = slopes[t] * seen + 1.1 * of_fields[t]
        values.append(C + 2 * seen[t + 1])
    np.testing.assert_allclose(found["V"].ravel(), values, rtol=1e-9, atol=1e-12)
