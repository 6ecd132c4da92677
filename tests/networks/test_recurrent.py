"""Weights that are used at several steps: iterations over pairs of steps, and sampled networks."""

import numpy as np
import pytest
from cases import slow, swept

from symdlt import Network, Stack, check, layer_equations, layer_phase, propagate
from symdlt.errors import LayerError

VALUES = {"C_b": 0.1, "C_W": 1.3, "C_U": 0.8}
RATES = {"lambda_b": 0.3, "lambda_W": 0.7, "lambda_U": 0.5}
C_b, C_W, C_U = VALUES.values()
L_b, L_W, L_U = RATES.values()
X = np.random.default_rng(1).standard_normal((2, 3, 5))
STEP = "z' = b + U s(z) + W s(z'[-1])"
ALL = "z' = b + W[all] s(z)"


def network(layers, activation="tanh", width=8, outputs=2, values=VALUES | RATES):
    return Network(activation, [width] * (len(layers) - 1), values, layers, n_L=outputs)


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def averages(K, t, s):
    """<sin sin> and <cos cos> of two steps, for all pairs of samples, by quadrature."""
    left, right = np.diag(K[t, t])[:, None, None, None], np.diag(K[s, s])[None, :, None, None]
    slope = K[t, s][:, :, None, None] / left
    rest = np.sqrt(np.maximum(right - slope**2 * left, 0.0))
    z = np.sqrt(left) * NODES[:, None]
    other = slope * z + rest * NODES
    both = np.sin(z) * np.sin(other), np.cos(z) * np.cos(other)
    return [np.einsum("abij,i,j->ab", one, WEIGHTS, WEIGHTS) for one in both]


def drawn(K, H, t, s, letter):
    """What weights make of a sine at two steps: their part of the kernel and of the NTK."""
    squares, slopes = averages(K, t, s)
    C, rate = VALUES[f"C_{letter}"], RATES[f"lambda_{letter}"]
    return np.array([C * squares, rate * squares + C * slopes * H[t, s]])


def iterated(K, H, leak=0.0, back=1):
    """K and Θ of all pairs of steps of a recurrent layer, each from those before.

    Args:
        K: of the layer below, for pairs of steps the matrix over samples.
        H: the same of the NTK.
        leak: how much of the step before is kept.
        back: how many steps before W reads.
    """
    fresh, above, ntk = {}, {}, {}
    for t in range(5):
        for s in range(t + 1):
            fresh[t, s] = np.array([[[C_b]], [[L_b]]]) + drawn(K, H, t, s, "U")
            if s >= back:
                fresh[t, s] = fresh[t, s] + drawn(above, ntk, t - back, s - back, "W")
            fresh[s, t] = fresh[t, s].swapaxes(1, 2)
            # z_t = drawn_t + leak drawn_(t-1) + leak² …
            pairs = [(i, j) for i in range(t + 1) for j in range(s + 1)]
            both = sum(leak ** (t - i + s - j) * fresh[i, j] for i, j in pairs)
            above[t, s], ntk[t, s] = both
            above[s, t], ntk[s, t] = both.swapaxes(1, 2)
    return above, ntk


def first(x):
    overlap = np.einsum("ajt,bjs->tsab", x, x) / x.shape[1]
    return C_b + C_U * overlap, L_b + L_U * overlap


def flattened(K, H):
    parts = [np.array([[[C_b]], [[L_b]]]) + drawn(K, H, t, t, "W") for t in range(5)]
    return sum(parts) / 5


@pytest.mark.parametrize(
    ("text", "leak", "back"),
    [
        (STEP, 0.0, 1),
        ("z' = b + U s(z) + W s(z'[-2])", 0.0, 2),
        ("z' = 1/2 z'[-1] + b + U s(z) + W s(z'[-1])", 0.5, 1),
    ],
)
def test_a_recurrent_layer_is_an_iteration_over_pairs_of_steps(text, leak, back):
    K, H = first(X)
    above = iterated(K, H, leak, back)
    found = propagate(network(["z' = b + U z", text, ALL], "sin"), X, ["G", "H"])
    for name, one, last in zip("GH", above, flattened(*above), strict=True):
        np.testing.assert_allclose(found[name][1], sum(one[t, t] for t in range(5)) / 5, rtol=1e-9)
        np.testing.assert_allclose(found[name][2], last, rtol=1e-9)


def test_a_linear_recurrent_layer_is_a_sum_over_delays():
    """z_t = Σ_k W^k U x_(t-k): the same power of W at both steps, Σ_k C_W^k C_U x x."""
    values = {"C_W": 0.7, "C_U": 1.1, "lambda_W": 0.4, "lambda_U": 0.3}
    net = network(["z' = U z + W z'[-1]", "z' = U[all] z"], values=values)
    found = propagate(net, X, ["G", "H"])
    overlap = np.einsum("ajt,bjs->tsab", X, X) / 3
    kernel, ntk = np.zeros((5, 5, 2, 2)), np.zeros((5, 5, 2, 2))
    for t in range(5):
        for s in range(5):
            for k in range(min(t, s) + 1):
                inputs = overlap[t - k, s - k]
                kernel[t, s] += 0.7**k * 1.1 * inputs
                # a path of k steps: one of its k weights W has the edge, or U.
                ntk[t, s] += (k * 0.4 / 0.7 + 0.3 / 1.1) * 0.7**k * 1.1 * inputs
    mean = np.einsum("ttab->ab", kernel) / 5
    np.testing.assert_allclose(found["G"][-1], 1.1 * mean, rtol=1e-12)
    expected = 0.3 * mean + 1.1 * np.einsum("ttab->ab", ntk) / 5
    np.testing.assert_allclose(found["H"][-1], expected, rtol=1e-12)


def test_one_step_is_a_dense_layer():
    layers = [["z' = b + U z", text, ALL] for text in ("z' = b + U s(z)", STEP)]
    one, other = (propagate(network(some), X[:, :, :1], "H")["H"] for some in layers)
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_what_comes_later_is_not_read():
    """The first three of five steps are those of three."""
    layers = ["z' = b + U z", STEP, "z' = b + W[3, valid, stride 5] s(z)", "z' = b + W[all] z"]
    moved = X.copy()
    moved[:, :, 3:] += 1.0
    kernels = [propagate(network(layers), x, ["G", "H"]) for x in (X, moved)]
    for name in "GH":
        one, other = (found[name][-1] for found in kernels)
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_all_fields_of_a_layer_are_at_each_step():
    """Two weights between steps: the second field reads the first of the same step."""
    values = VALUES | RATES
    stacked = network(
        ["z' = b + U z", "h = U s(z) + b; z' = W s(h) + V s(z'[-1])", ALL],
        values=values | {"C_V": 0.0, "lambda_V": 0.0},
    )
    dense = network(["z' = b + U z", "h = U s(z) + b; z' = W s(h)", ALL], values=values)
    found, expected = (propagate(net, X, ["G", "H"]) for net in (stacked, dense))
    # Without weights between steps only U, b and W are the same at all, as everywhere on a grid.
    for name in "GH":
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12)


def test_recurrent_layers_follow_each_other():
    strided = "z' = b + U[2, zero, stride 2] s(z) + W s(z'[-1])"
    net = network(["z' = b + U z", STEP, strided, "z' = b + W[mean] s(z)"])
    assert propagate(net, X).names == ("G", "H")
    assert check(net.resized(widths=[32] * 3, n_L=4), X, networks=100).agrees


CASES = {
    "plain": STEP,
    "two fields": "h = b + U[2] z + W s(z'[-1]); z' = z'[-2] + V s(h)",
    "leaky": "z' = 1/2 z'[-1] + b + W s(z'[-1]) + U z",
}


def sampled(case, networks):
    more = {"C_V": 0.9, "lambda_V": 0.6} if case == "two fields" else {}
    net = network(["z' = b + U z", CASES[case], ALL], "swish", 32, 4, VALUES | RATES | more)
    return check(net, X[:, :, :4], networks=networks)


@pytest.mark.parametrize("case", CASES)
def test_theory_and_sampled_networks_agree(case):
    comparison = sampled(case, 100)
    assert comparison.names == ("G", "H")
    assert comparison.agrees


@pytest.mark.parametrize("case", [swept("plain"), slow("two fields"), swept("leaky")])
def test_theory_and_many_sampled_networks_agree(case):
    comparison = sampled(case, 6000)
    print(case, comparison, sep="\n")
    assert max(np.abs(comparison.z_scores(name)).max() for name in "GH") < 3.5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("z' = W s(z[-1])", "and makes no such field"),
        ("z' = W s(u[-1])", "and makes no such field"),
        ("z' = W s(z')", "no field that was made before"),
        ("z' = W s(z'[-0])", "no field that was made before"),
        ("z' = W s(z'[1])", "no field that was made before"),
        ("z' = U z + W prune(0.1) s(z'[-1])", "has masks, and reads earlier steps"),
    ],
)
def test_steps_that_are_none_are_refused(text, reason):
    with pytest.raises(LayerError, match=reason.replace("[", r"\[")):
        Stack(text)


def test_what_is_not_known_of_recurrent_layers_is_refused():
    net = network(["z' = b + U z", STEP, ALL])
    with pytest.raises(LayerError, match=r"^V cannot be had: the weights of layer 2 are used at"):
        propagate(net, X, "V")
    with pytest.raises(LayerError, match="uses its weights at several steps"):
        layer_equations("V", STEP)
    with pytest.raises(LayerError, match="kernels of pairs of positions"):
        layer_phase(STEP, "tanh", VALUES)
    with pytest.raises(LayerError, match="reads earlier steps, and has positions"):
        propagate(net, X[:, :, 0], "G")
    with pytest.raises(LayerError, match="Steps are positions along one axis"):
        propagate(net, np.ones((1, 3, 2, 2)), "G")
    with pytest.raises(LayerError, match="have a window over steps"):
        propagate(network(["z' = b + U z", "z' = b + W s(z) s(z'[-1])", ALL]), X, "G")
    empty = network(["z' = b + U z", "h = W s(z'[-1]); z' = b + U s(h)", ALL])
    with pytest.raises(LayerError, match="has nothing at the first step"):
        propagate(empty, X, "G")
