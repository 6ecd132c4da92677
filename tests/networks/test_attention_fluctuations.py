"""Tensors of order 1/n of layers with attention: quadrature, sampled networks, and refusals.

Exact moments where scores are read by polynomials are in `tests/exact/test_attention.py`.
"""

from itertools import product

import numpy as np
import pytest
from cases import swept

from symdlt import BOOK, Network, Stack, check, propagate
from symdlt.algebra import orthogonal
from symdlt.definitions import program_of
from symdlt.derivation.response.fluctuations import Fluctuations
from symdlt.derivation.response.heads import Heads
from symdlt.derivation.response.site_functions import Vertex, at_vertex
from symdlt.derivation.response.site_kernels import SiteKernels
from symdlt.errors import LayerError
from symdlt.networks.streams import (
    known_tensors,
    site_means,
    stream_tensors,
    without_corrections,
)

HEADS = "q = Q z; k = K z; v = V z; "
VALUES = {"C_b": 0.1, "C_W": 1.3, "C_Q": 1.1, "C_K": 0.9, "C_V": 1.2, "C_U": 0.8}
RATES = {
    "lambda_b": 0.3,
    "lambda_W": 0.7,
    "lambda_Q": 0.5,
    "lambda_K": 0.6,
    "lambda_V": 0.8,
    "lambda_U": 0.4,
}
X = np.random.default_rng(1).standard_normal((2, 3, 2))
MEAN = "z' = b + W[mean] z"
WIDTHS = {"heads": 16, "q": 128, "v": 32}
OUTPUTS = 64  # of which V has pairs: the noise of the last weights is averaged away


def network(layers, changed=None, **inner):
    text = " ".join(map(str, layers))
    numbers = VALUES | RATES | (changed or {})
    values = {name: one for name, one in numbers.items() if name[-1] == "b" or name[-1] in text}
    widths = [16] * (len(layers) - 1)
    return Network("tanh", widths, values, layers, n_L=OUTPUTS, inner=inner or WIDTHS)


@pytest.mark.parametrize("function", ["tanh", "relu"])
@pytest.mark.parametrize(("heads", "values"), [(1, 6), (3, 6), (6, 6)])
def test_scores_of_inputs_make_neurons_of_a_head_fluctuate_together(heads, values, function):
    """Of one position, where z' has the fourth moment of a product: all by quadrature."""
    x = X[:1, :, :1]
    square = float((x**2).mean())
    deviation = np.sqrt(VALUES["C_Q"] * VALUES["C_K"]) * square
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    score = np.tanh(deviation * nodes)
    two, four = (weights @ score**power / weights.sum() for power in (2, 4))
    if function == "relu":
        two, four = deviation**2 / 2, 3 * deviation**4 / 2  # half of the Gaussian moments
    # <vvvv> is 3, and of two neurons of a head 1, times the square of the variance.
    noise = 2 * four / values + (four - two**2) / heads
    expected = (VALUES["C_W"] * VALUES["C_V"] * square) ** 2 * noise
    net = network([HEADS + f"z' = b + W {function}(q.k) v", MEAN], heads=heads, v=values)
    found = propagate(net, x, "V")["V"]
    np.testing.assert_allclose(found[0].item(), expected, rtol=1e-9)


def others(legs):
    """The rest of four legs, so that the first is paired with another one than the second."""
    _, b, c, d = legs
    return [c, b, d], [d, b, c]


def parts_of(edges, count):
    """All ways to give each edge one of several places."""
    for places in product(range(count), repeat=len(edges)):
        yield [[e for e, at in zip(edges, places, strict=True) if at == k] for k in range(count)]


def paired(pairs, edges, scale, rate):
    """A product of covariances scale + rate ε ε of some pairs, the coefficient of edges."""
    known = [tuple(sorted(pair)) for pair in pairs]
    inside = len({*edges}) == len(edges) and all(tuple(sorted(e)) in known for e in edges)
    return inside * rate ** len(edges) * scale ** (len(pairs) - len(edges))


@pytest.mark.parametrize("name", [name for name in BOOK if name not in "GH"])
def test_trees_of_scores_of_inputs_are_means_of_derivatives_of_tanh(name):
    """Of one position all four scores of a head are one Gaussian, and the rest are products.

    An edge is one of W, of the values, or of the scores, where it derives tanh at its two ends.
    """
    heads, values, square = 3, 6, float((X[:1, :, :1] ** 2).mean())
    C, rate = (
        {k: known[n + k] * square for k in "QKV"}
        for known, n in ((VALUES, "C_"), (RATES, "lambda_"))
    )
    variance, edge = C["Q"] * C["K"], rate["Q"] * C["K"] + C["Q"] * rate["K"]
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    chain, t = [np.polynomial.Polynomial([0, 1])], np.tanh(np.sqrt(variance) * nodes)
    for _ in range(3):
        chain.append(chain[-1].deriv() * np.polynomial.Polynomial([1, 0, -1]))

    def mean(legs, edges):
        orders = [sum(leg in e for e in edges) for leg in legs]
        return weights @ np.prod([chain[k](t) for k in orders], axis=0) / weights.sum()

    def of_scores(legs, edges):
        return edge ** len(edges) * mean(legs, edges)

    matching = BOOK[name].matching
    legs = [leg for pair in matching for leg in pair]
    ways = [((a, b), (c, d)) for a, b, c, d in [legs, *(legs[:1] + r for r in others(legs))]]
    total = 0.0
    for by_weights, by_values, by_scores in parts_of(BOOK[name].forest.edges, 3):
        drawn = paired(matching, by_weights, VALUES["C_W"], RATES["lambda_W"])
        near = of_scores(legs, by_scores)
        same, *crossed = (paired(way, by_values, C["V"], rate["V"]) for way in ways)
        within = [[e for e in by_scores if {*e} <= {*pair}] for pair in matching]
        apart = (sum(map(len, within)) == len(by_scores)) * np.prod(
            [of_scores(pair, inside) for pair, inside in zip(matching, within, strict=True)]
        )
        total += drawn * (near * sum(crossed) / values + (near - apart) * same / heads)
    net = network([HEADS + "z' = b + W tanh(q.k) v", MEAN], heads=heads, v=values)
    found = propagate(net, X[:1, :, :1], name, tolerance=1e-9)[name][0].item()
    np.testing.assert_allclose(found, total, rtol=1e-8)


def site_kernels(net):
    """Of the inputs, no field known yet; and the inputs' overlaps."""
    sized, data = net.resized(n_0=3, positions=(2,)), X.swapaxes(1, 2).reshape(-1, 3)
    program, overlap = program_of(sized), data @ data.T / 3
    return SiteKernels(program, overlap, site_means(sized, program, len(X), 1e-7)), overlap


def test_covariances_of_copies_do_not_depend_on_when_they_are_asked_for():
    """a = S/2 + b is copied before c = 2 a is known; their copies have other biases."""
    layer = "q = Q z; k = K z; v = V z; a = 1/2 q.k + b; c = 2 a; z' = W tanh(a) tanh(c) v"
    kernels, _ = site_kernels(network(["z' = b + W z", layer, MEAN], {"C_b": 0.3}))
    means, fields = kernels.means, kernels.program.fields
    heads = Heads(kernels.program, means)
    score = next(n for n, one in enumerate(fields) if one.branches and one.branches[0].fixed)
    a, c, count = score + 1, score + 2, len(fields)
    for field in range(c):
        kernels.add(field)
    heads.other_neuron(at_vertex(((1.0, ((a, None, 0),)),), Vertex(0)))
    kernels.add(c)
    heads.other_neuron(at_vertex(((1.0, ((c, None, 0),)),), Vertex(0)))
    quarter = means.kernel(score, score) / 4
    for pair, expected in [
        ((count + a, a), quarter),
        ((count + a, c), 2 * quarter),
        ((count + c, a), 2 * quarter),
        ((count + c, c), 4 * quarter),
        ((count + c, count + a), 2 * (quarter + 0.3)),
        ((count + c, count + c), 4 * (quarter + 0.3)),
    ]:
        np.testing.assert_allclose(means.kernel(*pair), expected, rtol=1e-12)


class HalfShared(Fluctuations):
    """As if of two neurons that are the same only each second one were."""

    def shared(self, site, other):
        return 0.5 * super().shared(site, other)


@pytest.mark.slow
def test_neurons_that_are_shared_in_part_share_all_of_their_noise_in_part():
    """V is linear in the noise that neurons share, of which that of heads is a part."""
    net = network(["z' = b + W z", ATTENTION["tanh"], MEAN]).resized(n_0=3, positions=(2,))
    _, overlap = site_kernels(net)
    whole = stream_tensors(net, overlap, ["V"], 1e-7)["V"]
    half = stream_tensors(net, overlap, ["V"], 1e-7, response=HalfShared)["V"]
    np.testing.assert_allclose(half, whole / 2, rtol=1e-12)


def test_names_of_scores_are_one_field():
    """tanh(S) tanh(S/2) v, the second score under a name, and with keys that are half of others."""
    texts = [
        HEADS + "z' = b + W tanh(q.k) tanh(1/2 q.k) v",
        HEADS + "a = 1/2 q.k; z' = b + W tanh(q.k) tanh(a) v",
        HEADS + "u = 1/2 k; z' = b + W tanh(q.k) tanh(q.u) v",
    ]
    found = [propagate(network(["z' = b + W z", text, MEAN]), X, ["G", "H"]) for text in texts]
    for other in found[1:]:
        for name in "GH":
            np.testing.assert_allclose(other[name], found[0][name], rtol=1e-12)


@pytest.mark.slow
def test_factors_of_scores_and_of_queries_are_the_same():
    """A field that keeps scores is copied to another neuron with all that is in it."""
    texts = [
        HEADS + "z' = z + W tanh(1/2 q.k) s(v)",
        HEADS + "u = 1/2 q; z' = z + W tanh(u.k) s(v)",
        "q = Q z; k = K z; v = V z; a = 1/2 q.k + b; z' = z + W tanh(a) s(v)",
    ]
    # without biases all three are one network
    found = [
        propagate(network(["z' = b + W z", text, MEAN], {"C_b": 0.0}), X[:1], "V")["V"]
        for text in texts
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-7)


ATTENTION = {
    "tanh": HEADS + "z' = b + W tanh(q.k) v",
    "causal": HEADS + "z' = z + b + W[causal] tanh(q.k) s(v)",
    "biases of scores": HEADS + "z' = z + W tanh(1/2 q.k + b) s(v)",
    "norm before": "y = rmsnorm(z); q = Q y; k = K y; v = V y; z' = z + W tanh(q.k) v",
    "mean taken away": "y = layernorm(z); q = Q y; k = K y; v = V y; z' = z + W tanh(q.k) v",
    "norms of queries and keys": "u = Q z; w = K z; q = rmsnorm(u); k = rmsnorm(w); v = V z; "
    "z' = z + W tanh(q.k) v",
    "a width of its own": HEADS + "h = U tanh(q.k) v; z' = z + W s(h)",
    "two readers": HEADS + "z' = z + W tanh(q.k) v + U tanh(q.k) s(v)",
    "masks": "q = Q dropout(0.25) z; k = K prune(0.25) z; v = V dropout(0.25) z; "
    "z' = z + W tanh(q.k) v",
    "orthogonal": Stack(
        HEADS + "z' = z + W tanh(q.k) v", laws={name: orthogonal for name in "QKVW"}
    ),
}


def between(case, heads=4):
    """Attention between a linear layer and a readout, of few heads, whose noise is large."""
    queries = "u" if "u = Q z" in str(ATTENTION[case]) else "q"
    layers = ["z' = b + W z", ATTENTION[case], "z' = b + W[mean] s(z)"]
    return network(layers, heads=heads, v=16, **{queries: 128}).resized(widths=(32, 32))


def precision(comparison, name):
    """The error bar of the largest entry, over the entry."""
    theory = np.abs(comparison.theory[name])
    return comparison.errors[name].flat[theory.argmax()] / theory.max()


@pytest.mark.slow
def test_theory_and_sampled_networks_agree():
    comparison = check(between("tanh"), X, ["G", "V"], networks=300)
    assert comparison.agrees
    assert precision(comparison, "V") < 0.5


@pytest.mark.sweep
@pytest.mark.parametrize("case", ATTENTION)
def test_theory_and_many_sampled_networks_agree(case):
    comparison = check(between(case), X, ["G", "V"], networks=4000)
    print(case, comparison, sep="\n")
    assert max(np.abs(comparison.z_scores(name)).max() for name in "GV") < 3.5
    assert precision(comparison, "V") < 0.25


@pytest.mark.parametrize(
    ("names", "one", "networks"),
    [swept(["V"], False, 12_000), swept(["B", "P"], True, 3000)],
)
def test_sampled_networks_tell_the_noise_of_heads(names, one, networks):
    """All are linear in 1/H where n_v stays; without that part the same sample rejects them."""
    outputs, x = (8, X[:1]) if one else (OUTPUTS, X)
    comparison = check(between("tanh").resized(n_L=outputs), x, names, networks=networks)
    few, more = (propagate(between("tanh", heads), x, names) for heads in (4, 8))
    print(comparison)
    for name in names:
        assert np.abs(comparison.z_scores(name)).max() < 3.5
        np.testing.assert_allclose(few[name][-1], comparison.theory[name], rtol=1e-6)
        without = 2 * more[name][-1] - few[name][-1]
        apart = (comparison.measured[name] - without) / comparison.errors[name]
        print(name, apart)
        assert np.abs(apart).max() > 5


@pytest.mark.parametrize(
    ("layer", "widths", "reason"),
    [
        (HEADS + "z' = b + W softmax(q.k) v", WIDTHS, "four softmaxes"),
        (HEADS + "z' = b + W tanh(q.k) v", {"q": 128}, "number of heads is not known"),
        (HEADS + "z' = b + W tanh(q.k) v", {"heads": 16, "v": 8}, "do not make 16 heads"),
        ("k = K z; v = V z; z' = b + W tanh(k.k) v", {"heads": 16}, "field with itself"),
        ("q = Q z; k = K z; z' = b + W tanh(q.k) s(z)", {"heads": 16}, "at the neurons of z"),
        (HEADS + "z' = b + W tanh(q.k) v + U s(v)", WIDTHS, "read by weights without scores"),
        (HEADS + "z' = b + W tanh(q.k) v + U s(q)", WIDTHS, "read by weights without scores"),
        ("u = Q z; q = layernorm(u); k = K z; v = V z; z' = W tanh(q.k) v", WIDTHS, "taken away"),
        (HEADS + "u = rmsnorm(v); z' = b + W tanh(q.k) u", WIDTHS, "norms, or masks"),
        (HEADS + "u = U z; z' = W tanh(q.k) tanh(q.u) v", WIDTHS, "sums over the same neurons"),
    ],
)
def test_what_is_not_known_at_finite_width_is_refused(layer, widths, reason):
    given = {"u" if name == "q" and "u = Q z" in layer else name: n for name, n in widths.items()}
    net = network(["z' = b + W z", layer, MEAN], **given)
    with pytest.raises(LayerError, match=rf"^V cannot be had: in layer 2 .*{reason}"):
        propagate(net, X, "V")
    assert propagate(net, X, tolerance=1e-4).names == ("G", "H")


def test_corrections_of_kernels_are_refused():
    net = network(["z' = b + W z", ATTENTION["tanh"], MEAN])
    with pytest.raises(LayerError, match="scores are not Gaussian"):
        propagate(net, X, "G.1")
    assert without_corrections(net)
    assert known_tensors(net, [*BOOK, "G.1", "H.1"]) == tuple(BOOK)
