"""Attention at infinite width: iterations over all labels, exact networks, and sampled ones."""

import numpy as np
import pytest
from cases import slow, swept

from symdlt import Network, Stack, check, layer_equations, layer_phase, predict_infinite, propagate
from symdlt.cli import main
from symdlt.errors import KernelError, LayerError, SamplingError
from symdlt.means import SmoothMeans, softmax
from symdlt.training import predict_kernel

HEADS = "q = Q z; k = K z; v = V z; "
VALUES = {"C_b": 0.1, "C_W": 1.3, "C_Q": 1.1, "C_K": 0.9, "C_V": 1.2}
RATES = {"lambda_b": 0.3, "lambda_W": 0.7, "lambda_Q": 0.5, "lambda_K": 0.6, "lambda_V": 0.8}
C_b, C_W, C_Q, C_K, C_V = VALUES.values()
L_b, L_W, L_Q, L_K, L_V = RATES.values()
X = np.random.default_rng(1).standard_normal((2, 3, 4))
MEAN = "z' = b + W[mean] z"


def network(layers, activation="tanh", width=8, outputs=2, **inner):
    values = VALUES | RATES
    return Network(
        activation, [width] * (len(layers) - 1), values, layers, n_L=outputs, inner=inner
    )


def tanh_means(covariance):
    """<tanh tanh> and that of its slopes, of all pairs."""
    chain = (np.tanh, lambda z: 1 / np.cosh(z) ** 2)
    return SmoothMeans(chain, 1e-10)(covariance, [(0, 0), (1, 1)])


def scored(covariance, means):
    """Means of pairs of scores, whose covariance has the axes (δ p r, δ' p' r')."""
    shape = covariance.shape
    count = int(np.prod(shape[: len(shape) // 2]))
    return [table.reshape(shape) for table in means(covariance.reshape(count, count))]


def attention(K, H, means, causal=False):
    """K and Θ after attention, written out: axes are sample, position, sample, position."""
    read = np.tri(K.shape[1]) if causal else np.ones((K.shape[1],) * 2)
    scores = np.einsum("apbs,arbt->aprbst", C_Q * K, C_K * K)
    squares, slopes = scored(scores, means)
    moved_queries = np.einsum("apbs,arbt->aprbst", L_Q * K + C_Q * H, C_K * K)
    moved_keys = np.einsum("apbs,arbt->aprbst", C_Q * K, L_K * K + C_K * H)
    average = np.einsum("aprbst,arbt,pr,st->apbs", squares, C_V * K, read, read)
    values = L_V * K + C_V * H
    by_values = np.einsum("aprbst,arbt,pr,st->apbs", squares, values, read, read)
    edges = slopes * (moved_queries + moved_keys)
    by_scores = np.einsum("aprbst,arbt,pr,st->apbs", edges, C_V * K, read, read)
    return C_b + C_W * average, L_b + L_W * average + C_W * (by_values + by_scores)


def inputs(x):
    return np.einsum("ajp,bjs->apbs", x, x) / x.shape[1]


def over_positions(K):
    return np.einsum("apbs->ab", K) / K.shape[1] ** 2


def readout(K, H):
    K, H = over_positions(K), over_positions(H)
    return C_b + C_W * K, L_b + L_W * K + C_W * H


@pytest.mark.parametrize("weights", ["W", "W[causal]"])
@pytest.mark.parametrize("skip", ["", "z + "])
def test_attention_of_each_score_is_an_iteration_over_all_labels(skip, weights):
    K, H = C_b + C_W * inputs(X), L_b + L_W * inputs(X)
    above, moved = attention(K, H, tanh_means, "causal" in weights)
    if skip:
        above, moved = K + above, H + moved
    net = network(["z' = b + W z", HEADS + f"z' = {skip}b + {weights} tanh(q.k) v", MEAN])
    found = propagate(net, X, ["G", "H"])
    diagonal = np.einsum("apbp->ab", above) / X.shape[2]
    np.testing.assert_allclose(found["G"][1], diagonal, rtol=1e-8)
    for name, expected in zip("GH", readout(above, moved), strict=True):
        np.testing.assert_allclose(found[name][2], expected, rtol=1e-8)


def linear(covariance):
    return covariance, np.ones_like(covariance)


# `nngp` and `ntk` of version 0.6.5, in double precision: stax.serial of a Dense, of
# GlobalSelfAttention with linear_scaling=False and IDENTITY, or True and SOFTMAX or RELU, of Relu,
# GlobalAvgPool and a Dense, whose rates are the variances; above the diagonal.
NEURAL_TANGENTS = {
    "(q.k)": [
        (0.993624994248953, 0.718065754001095, 1.240691328733037),
        (4.675779486187318, 1.188235502376746, 6.473333428138853),
    ],
    "softmax(k.k)": [
        (0.3841903907043711, 0.32296248209328093, 0.5009057620933611),
        (1.0329220963964778, 0.6190918682387554, 1.5254003368407956),
    ],
    "relu(k.k)": [
        (0.4575235202951907, 0.4089226369804283, 0.7691010849960832),
        (1.1505197408671388, 0.7010503568624011, 2.421814380081095),
    ],
}


@pytest.mark.parametrize("scores", NEURAL_TANGENTS)
def test_attention_is_that_of_neural_tangents(scores):
    fields = HEADS if "q" in scores else "k = K z; v = V z; "
    layers = ["z' = b + W z", fields + f"z' = b + W {scores} v", "z' = b + W[mean] s(z)"]
    values = {name: number for name, number in VALUES.items() if name != "C_Q" or "q" in scores}
    rates = {f"lambda_{name[2]}": value for name, value in values.items()}
    found = propagate(Network("relu", [8, 8], values | rates, layers), X, ["G", "H"])
    upper = np.triu_indices(2)
    for name, expected in zip("GH", NEURAL_TANGENTS[scores], strict=True):
        np.testing.assert_allclose(found[name][-1][upper], expected, rtol=1e-13)


def test_causal_scores_over_the_number_of_neurons():
    """Weights that do not fluctuate: a triangle of them on both sides of the kernel."""
    K = C_b + C_W * inputs(X)
    same = C_K * np.einsum("apar->apr", K)
    powers = np.exp(same) * np.tri(4)
    parts = {
        "softmax(k.k)": powers / powers.sum(axis=2, keepdims=True),
        "tanh(2 k.k)": np.tanh(2 * same) * np.tri(4),
    }
    for scores, part in parts.items():
        layers = ["z' = b + W z", f"k = K z; v = V z; z' = b + W[causal] {scores} v", MEAN]
        values = {name: number for name, number in VALUES.items() if name != "C_Q"}
        found = propagate(Network("tanh", [8, 8], values, layers), X, "G")["G"]
        above = C_b + C_W * np.einsum("apr,arbt,bst->apbs", part, C_V * K, part)
        np.testing.assert_allclose(found[2], C_b + C_W * over_positions(above), rtol=1e-12)


@pytest.mark.parametrize("shape", [(2, 3, 3), (1, 2, 2, 2)])
def test_linear_attention_is_a_polynomial_of_the_inputs(shape):
    x = np.random.default_rng(2).standard_normal(shape)
    flat = x.reshape(*shape[:2], -1)
    expected = readout(*attention(inputs(flat), 0 * inputs(flat), linear))
    found = propagate(network([HEADS + "z' = b + W (q.k) v", MEAN]), x, ["G", "H"])
    for name, one in zip("GH", expected, strict=True):
        np.testing.assert_allclose(found[name][-1], one, rtol=1e-12)


@pytest.mark.parametrize("inner", [{}, {"q": 2}, {"q": 4, "heads": 2, "v": 4}])
def test_linear_attention_of_the_inputs_has_these_means_at_every_width(inner):
    """One head of one neuron will do: each weight stands once in a path, and E[S S] knows no d."""
    net = network(
        [HEADS + "z' = b + W (q.k) v", MEAN], width=2, **{"v": 1, "q": 1, "heads": 1} | inner
    )
    comparison = check(net, X[:, :, :2], ["G", "H"], networks=20_000, extrapolate=False)
    print(comparison)
    assert max(np.abs(comparison.z_scores(name)).max() for name in "GH") < 4


def test_the_kernel_does_not_know_the_order_of_positions():
    layers = ["z' = b + W z", HEADS + "z' = b + W tanh(q.k) v", "z' = b + W[mean] s(z)"]
    found, turned = (propagate(network(layers), x, ["G", "H"]) for x in (X, X[:, :, [2, 0, 3, 1]]))
    for name in "GH":
        np.testing.assert_allclose(found[name][-1], turned[name][-1], rtol=1e-12)


@pytest.mark.parametrize("function", ["tanh(q.k)", "softmax(q.k)"])
def test_causal_attention_does_not_read_what_comes_later(function):
    """The window reads the first two of four positions, and makes one."""
    attending, two = HEADS + f"z' = b + W[causal] {function} v", "z' = b + W[2, valid, stride 3] z"
    moved = X.copy()
    moved[:, :, 2:] += 1.0
    net = network(["z' = b + W z", attending, two, "z' = b + W[all] z"])
    found = [propagate(net, x, ["G", "H"], tolerance=1e-4) for x in (X, moved)]
    for name in "GH":
        one, other = (each[name][-1] for each in found)
        np.testing.assert_allclose(one, other, rtol=1e-3 if "soft" in function else 1e-12)


def test_factors_and_names_of_scores():
    """Half the score twice, a name of its own, and queries that carry the factor are the same."""
    texts = [
        HEADS + "z' = b + W tanh(1/2 q.k) v",
        HEADS + "a = 1/2 q.k; z' = b + W tanh(a) v",
        HEADS + "u = 1/2 q; z' = b + W tanh(u.k) v",
    ]
    found = [propagate(network(["z' = b + W z", text, MEAN]), X, ["G", "H"]) for text in texts]
    for other in found[1:]:
        np.testing.assert_allclose(other["H"], found[0]["H"], rtol=1e-12)
    assert Stack(texts[0]).sites == (("z",), ("q", "k"), ("v", "q.k", "h"), ("z'",))


def test_attention_is_followed_by_convolutions_and_predicts():
    layers = [
        "z' = b + W[3] z",
        HEADS + "z' = z + b + W s(q.k) s(v)",
        "z' = b + W[2, stride 2] s(z)",
    ]
    net = network([*layers, "z' = b + W[all] s(z)"])
    found = propagate(net, X, "all")
    assert found.names == ("G", "H")
    predicted = predict_infinite(net, X[:1], [[1.0, -1.0]], X)
    np.testing.assert_allclose(predicted.mean[0], [1.0, -1.0], rtol=1e-9)


def softmax_means(scores, values, moved, first_only=(False, False)):
    """By independent quadrature of each pair of rows: two positions, so sigmoids of differences.

    Of a row that reads the first position only the part is one, and moves by nothing."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    a, b = scores
    (xx, xy), (_, yy) = np.array([[a[0], a[1]], [b[0], b[1]]])
    x = np.sqrt(xx) * nodes[:, None]
    y = xy / xx * x + np.sqrt(max(yy - xy**2 / xx, 0.0)) * nodes
    first, second = (np.stack([1 / (1 + np.exp(-z)), 1 / (1 + np.exp(z))]) for z in (x, y))
    for row, alone in zip((first, second), first_only, strict=True):
        row[0], row[1] = (1.0, 0.0) if alone else (row[0], row[1])
    slopes = [one[0] * one[1] * np.array([1, -1])[:, None, None] for one in (first, second)]
    average = np.einsum("rij,sij,rs,i,j->", first, second, values, weights, weights)
    # Both scores move their difference: by the NTK of the differences.
    edge = np.einsum("rij,sij,rs,i,j->", *slopes, values, weights, weights) * moved
    return average, edge


@pytest.mark.parametrize("weights", ["W", "W[causal]"])
def test_softmax_of_two_positions_is_a_sigmoid_of_their_difference(weights):
    x = X[:, :, :2]
    K, H = C_b + C_W * inputs(x), L_b + L_W * inputs(x)
    difference = np.array([1.0, -1.0])
    rows = np.einsum("apbs,arbt,r,t->apbs", C_Q * K, C_K * K, difference, difference)
    theta = np.einsum("apbs,arbt,r,t->apbs", L_Q * K + C_Q * H, C_K * K, difference, difference)
    theta += np.einsum("apbs,arbt,r,t->apbs", C_Q * K, L_K * K + C_K * H, difference, difference)
    above, moved = np.zeros_like(K), np.zeros_like(H)
    for a, p, b, s in np.ndindex(K.shape):
        pair = [[rows[i, u, j, v] for j, v in ((a, p), (b, s))] for i, u in ((a, p), (b, s))]
        V, E = C_V * K[a, :, b], L_V * K[a, :, b] + C_V * H[a, :, b]
        alone = [weights != "W" and row == 0 for row in (p, s)]
        average, edge = softmax_means(pair, V, theta[a, p, b, s], alone)
        by_values, _ = softmax_means(pair, E, 0.0, alone)
        above[a, p, b, s] = C_b + C_W * average
        moved[a, p, b, s] = L_b + L_W * average + C_W * (by_values + edge)
    net = network(["z' = b + W z", HEADS + f"z' = b + {weights} softmax(q.k) v", MEAN])
    found = propagate(net, x)
    for name, expected in zip("GH", readout(above, moved), strict=True):
        np.testing.assert_allclose(found[name][2], expected, rtol=1e-6)


def test_softmax_without_scores_is_a_mean_over_positions():
    """Scores of variance zero: every part is 1/P."""
    values = VALUES | RATES | {"C_Q": 0.0, "lambda_Q": 0.0, "lambda_K": 0.0}
    layers = ["z' = b + W z", HEADS + "z' = b + W softmax(q.k) v", MEAN]
    K, H = C_b + C_W * inputs(X), L_b + L_W * inputs(X)
    K, H = C_V * over_positions(K), L_V * over_positions(K) + C_V * over_positions(H)
    above, moved = C_b + C_W * K, L_b + L_W * K + C_W * H
    found = propagate(Network("tanh", [8, 8], values, layers), X, ["G", "H"])
    np.testing.assert_allclose(found["G"][2], C_b + C_W * above, rtol=1e-12)
    np.testing.assert_allclose(found["H"][2], L_b + L_W * above + C_W * moved, rtol=1e-12)


@pytest.mark.parametrize("positions", [3, 5])
def test_grids_and_lattices_of_softmax_agree_as_closely_as_they_say(positions, monkeypatch):
    x = np.random.default_rng(3).standard_normal((1, 1, positions))  # of rank one: two variables
    net = network(["z' = b + W z", HEADS.replace("K z", "1/2 K z") + "z' = W softmax(q.k) v", MEAN])
    fine = propagate(net, x, ["G", "H"], tolerance=1e-9)
    monkeypatch.setattr(softmax, "FEW", 0)
    coarse = propagate(net, x, ["G", "H"], tolerance=1e-4)
    for name in "GH":
        np.testing.assert_allclose(coarse[name], fine[name], rtol=3e-4)


def test_softmax_of_several_positions_says_how_well_it_can_be_had():
    net = network(["z' = b + W z", HEADS + "z' = b + W softmax(q.k) v", MEAN])
    with pytest.raises(
        KernelError, match=r"could be had to about .* Give `propagate` tolerance=1e-06, fewer"
    ):
        propagate(net, X, "G")
    found, better = (propagate(net, X, "H", tolerance=t)["H"][-1] for t in (1e-3, 2e-5))
    np.testing.assert_allclose(found, better, rtol=3e-3)


def test_a_tolerance_is_handed_on(tmp_path, capsys):
    definition = HEADS + "z' = b + W softmax(q.k) v"
    net = network(["z' = b + W z", definition, MEAN], outputs=1)
    data = tmp_path / "x.npy"
    np.save(data, X)
    command = ["propagate", "--activation", "tanh", "--widths", "8,8", "--data", str(data)]
    command += ["--layer", definition, "--first", "z' = b + W z", "--last", MEAN]
    for name, value in (VALUES | RATES).items():
        command += ["--value", f"{name}={value}"]
    command += ["--tensors", "G"]
    assert main([*command, "--tolerance", "1e-3"]) == 0
    assert capsys.readouterr().out == f"{propagate(net, X, 'G', tolerance=1e-3)}\n"
    assert main(command) == 1
    assert "could be had to about" in capsys.readouterr().err
    with pytest.raises(KernelError, match="could be had to about"):
        predict_infinite(net, X[:1], [1.0], X[1:])
    kernels = propagate(net, X, ("G", "H"), tolerance=1e-3)
    found = predict_infinite(net, X[:1], [1.0], X[1:], tolerance=1e-3)
    expected = predict_kernel(kernels["H"][-1], [1.0], kernels["G"][-1])
    np.testing.assert_array_equal(found.mean, expected.mean)


CASES = {
    "softmax": "z' = b + W softmax(q.k) v",
    "causal": "z' = z + b + W[causal] softmax(q.k) v",
    "softmax with a skip": "z' = z + W softmax(2 q.k) s(v)",
    "tanh": "z' = b + W tanh(q.k) v",
    "over the number of neurons": "z' = z + W softmax(k.k) s(v)",
    "a kink": "z' = b + W relu(q.k) v",
    "skip": "z' = z + b + W (q.k) s(v)",
    "biases of scores": "z' = W tanh(1/2 q.k + b) v",
}


@pytest.mark.parametrize("case", ["softmax", "tanh", "skip"])
def test_theory_and_sampled_networks_agree(case):
    comparison = sampled(case, 100)
    assert comparison.agrees


@pytest.mark.parametrize("case", [(slow if one == "causal" else swept)(one) for one in CASES])
def test_theory_and_many_sampled_networks_agree(case):
    comparison = sampled(case, 6000)
    print(case, comparison, sep="\n")
    assert max(np.abs(comparison.z_scores(name)).max() for name in "GH") < 3.5


def sampled(case, networks):
    fields = HEADS.replace("K z", "K s(z)").replace("q = Q z; " * ("q.k" not in CASES[case]), "")
    layers = ["z' = b + W z", fields + CASES[case], "z' = b + W[mean] s(z)"]
    letters = "bWKV" + "Q" * ("q.k" in CASES[case])
    values = {name: one for name, one in (VALUES | RATES).items() if name[-1] in letters}
    inner = {"heads": 16, "q" if "q.k" in CASES[case] else "k": 128}
    net = Network("swish", [16, 16], values, layers, n_L=4, inner=inner)
    return check(net, X[:, :, :3], ["G", "H"], networks=networks)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("z' = W (z.k) v", "at the neurons of z"),
        ("z' = W (q.w) v", "reads w before it is made"),
        ("z' = W tanh(q.k)", "read scores without values"),
        ("z' = W (tanh(q.k) v + v)", "or a sum"),
        ("z' = W[3] tanh(q.k) v", "with a window, or a mask"),
        ("z' = W[causal] v", "that read no scores"),
        ("z' = W[causal, stride 2] (q.k) v", "stand alone"),
        ("z' = W prune(0.1) tanh(q.k) v", "with a window, or a mask"),
        ("z' = q.k", "ends with scores"),
        ("z' = W softmax(v) v", "softmax of a field that is no score"),
        ("z' = W tanh(q.k) v + U s(z'[-1])", "reads earlier steps"),
    ],
)
def test_scores_that_are_none_are_refused(text, reason):
    with pytest.raises(LayerError, match=reason):
        Stack(HEADS + text)


@pytest.mark.parametrize(
    "fields",
    [
        "q = Q z; k = q",
        "q = Q z; k = 1/2 q",
        "u = Q z; q = 1/2 u; k = 1/3 u",
        "q = Q z; k = rmsnorm(q)",
        "q = Q z; k = q + K z",
    ],
)
def test_keys_that_are_made_of_queries_are_refused(fields):
    """The mean of such scores is the root of d times a covariance, and has no limit.

    Only of a field with itself, by one name, are scores over d.
    """
    layer = fields + "; v = V z; z' = b + W tanh(q.k) v"
    values = {n: v for n, v in (VALUES | RATES).items() if n[-1] != "K" or "K z" in fields}
    inner = {"heads": 4, "v": 8, "u" if "u" in fields else "q": 8}
    net = Network("tanh", [8, 8], values, ["z' = b + W z", layer, MEAN], inner=inner)
    for names in ("G", "V"):
        with pytest.raises(LayerError, match="queries and keys of layer 2 are correlated"):
            propagate(net, X, names)
        with pytest.raises(LayerError, match="queries and keys of layer 2 are correlated"):
            check(net, X, names, networks=100)


def test_queries_that_learn_together_with_keys_are_refused_even_where_they_are_zero():
    layer = "q = Q z; k = 1/2 q; v = V z; z' = b + W tanh(q.k) v"
    values = {n: v for n, v in (VALUES | RATES | {"C_Q": 0.0}).items() if n[-1] != "K"}
    net = Network("tanh", [8, 8], values, ["z' = b + W z", layer, MEAN])
    with pytest.raises(LayerError, match="queries and keys of layer 2 are correlated"):
        propagate(net, X, "H")


def test_check_compares_what_is_known_of_softmax():
    """Scores of four positions would stand in V, and nothing else of order 1/n is asked for."""
    layer = HEADS + "z' = b + W softmax(q.k) v"
    net = network(["z' = b + W z", layer, MEAN], heads=8, q=16, v=8)
    comparison = check(net, X[:1, :, :2], networks=100)
    assert comparison.names == ("G", "H")
    assert comparison.agrees
    with pytest.raises(LayerError, match="four softmaxes"):
        check(net, X[:1, :, :2], "V", networks=100)


def test_what_is_not_known_of_attention_is_refused():
    layer = HEADS + "z' = b + W tanh(q.k) v"
    net = network(["z' = b + W z", layer, MEAN])
    with pytest.raises(LayerError, match="has scores"):
        layer_equations("V", layer)
    with pytest.raises(LayerError, match="kernels of pairs of positions"):
        layer_phase(layer, "tanh", VALUES)
    with pytest.raises(LayerError, match="between positions, and what it reads has none"):
        propagate(net, X[:, :, 0], "G")
    shared = network(["z' = b + W z", layer.replace("K z", "q + K z"), MEAN])
    with pytest.raises(LayerError, match="queries and keys of layer 2 are correlated"):
        propagate(shared, X, "G")
    both = network(["z' = b + W z", HEADS + "z' = b + W tanh(k.k + q.k) v", MEAN])
    with pytest.raises(LayerError, match="is added to what fluctuates"):
        propagate(both, X, "G")
    with pytest.raises(LayerError, match="Attention has one softmax"):
        propagate(network(["z' = b + W z", HEADS + "z' = b + W (k.k) softmax(q.k) v", MEAN]), X)
    causal = network(["z' = b + W z", layer.replace("W t", "W[causal] t"), MEAN])
    with pytest.raises(LayerError, match="They have no order"):
        propagate(causal, np.ones((1, 3, 2, 2)), "G")
    with pytest.raises(SamplingError, match="an unknown number of heads"):
        check(net, X, "G", networks=100)
    with pytest.raises(SamplingError, match="do not make 3 heads"):
        check(net.resized(inner={"heads": 3}), X, "G", networks=100)
    with pytest.raises(LayerError, match="inner names the fields heads"):
        network(["z' = b + W z", MEAN], heads=2)
