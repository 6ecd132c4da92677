"""Tensors of order 1/n of layers with attention: quadrature, sampled networks, and refusals.

Exact moments of linear attention are in `tests/exact/test_attention.py`.
"""

import numpy as np
import pytest

from symdlt import Network, Stack, check, propagate
from symdlt.algebra import orthogonal
from symdlt.definitions import program_of
from symdlt.derivation.response.fluctuations import Fluctuations
from symdlt.derivation.response.heads import Heads
from symdlt.derivation.response.site_functions import Vertex, at_vertex
from symdlt.derivation.response.site_kernels import SiteKernels
from symdlt.errors import LayerError
from symdlt.networks.streams import site_means, stream_tensors

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
    "orthogonal": Stack(
        HEADS + "z' = z + W tanh(q.k) v", laws={name: orthogonal for name in "QKVW"}
    ),
}


def sampled(case, names, networks):
    layer = ATTENTION[case]
    queries = "u" if "u = Q z" in str(layer) else "q"
    layers = ["z' = b + W z", layer, "z' = b + W[mean] s(z)"]
    net = network(layers, heads=16, v=32, **{queries: 128})
    if names == "all":
        return check(net.resized(n_L=4), X[:1], names, networks=networks)
    return check(net, X, names, networks=networks)


def test_theory_and_sampled_networks_agree():
    assert sampled("tanh", ["G", "V"], 300).agrees


@pytest.mark.slow
@pytest.mark.parametrize("case", ATTENTION)
def test_theory_and_many_sampled_networks_agree(case):
    comparison = sampled(case, ["G", "V"], 4000)
    print(case, comparison, sep="\n")
    assert max(np.abs(comparison.z_scores(name)).max() for name in "GV") < 3.5


@pytest.mark.slow
@pytest.mark.parametrize("case", ["tanh", "causal"])
def test_tensors_with_edges_and_many_sampled_networks_agree(case):
    comparison = sampled(case, "all", 20_000)
    print(case, comparison, sep="\n")
    assert comparison.names == ("G", "H", "V", "A", "B", "D", "F", "P", "Q")
    assert max(np.abs(comparison.z_scores(name)).max() for name in comparison.names) < 3.5


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


def test_corrections_of_kernels_and_trees_of_three_edges_are_refused():
    net = network(["z' = b + W z", ATTENTION["tanh"], MEAN])
    with pytest.raises(LayerError, match=r"^S U cannot be had: of attention, trees of three edges"):
        propagate(net, X, ["S", "U"])
    with pytest.raises(LayerError, match="scores are not Gaussian"):
        propagate(net, X, "G.1")
