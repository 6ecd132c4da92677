"""Dropout and pruning, against exact moments and sampled networks."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from cases import slow, swept

from symdlt import BOOK, Network, check, layer_phase, predict, propagate
from symdlt.definitions import Stack
from symdlt.errors import LayerError, SamplingError, TrainingError
from symdlt.sampling import draw_parameters, evaluate_networks

FIRST, DENSE = "z' = b + W z", "z' = b + W s(z)"
VALUES = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.2, "lambda_W": 0.7}
X = np.array([[1.0, 0.3], [-0.4, 0.8]])
RATE = Fraction(1, 4)


def mask_moment(kind, samples):
    """The mean of a product of masks at some samples, over all draws of zero or one."""
    places = sorted({*samples}) if kind == "dropout" else [0]
    total = Fraction(0)
    for drawn in product([0, 1], repeat=len(places)):
        chance = prod((1 - RATE) if one else RATE for one in drawn)
        value = prod(
            Fraction(drawn[places.index(s) if kind == "dropout" else 0]) / (1 - RATE)
            for s in samples
        )
        total += chance * value
    return total


def gaussian_moment(samples, K):
    """Of a product of Gaussians by Isserlis' theorem."""
    if not samples:
        return Fraction(1)
    first, *rest = samples
    return sum(
        K[first][other] * gaussian_moment(rest[:place] + rest[place + 1 :], K)
        for place, other in enumerate(rest)
    )


def test_moments_of_masks():
    assert mask_moment("dropout", [0, 1]) == 1
    assert mask_moment("prune", [0, 1]) == Fraction(4, 3)


@pytest.mark.parametrize("kind", ["dropout", "prune"])
def test_tensors_of_the_square_with_masks_are_exact(kind):
    """φ = m z²: the layer above is Gaussian with S = C M(φφ), and V and G.1 are moments of S.

    E z_a² z_b² = S_aa S_bb + 2 S_ab², of which 1/n has the covariance of one neuron.
    """
    C, x = Fraction(6, 5), [[Fraction(1), Fraction(0)], [Fraction(1, 2), Fraction(1)]]
    K = [[C * sum(a * b for a, b in zip(u, v, strict=True)) / 2 for v in x] for u in x]

    def mean(*samples):
        return mask_moment(kind, samples) * gaussian_moment([s for s in samples for _ in "zz"], K)

    def covariance(a, b, c, d):
        return C**2 * (mean(a, b, c, d) - mean(a, b) * mean(c, d))

    def correction(a, b):
        both = covariance(a, a, b, b) + 2 * covariance(a, b, a, b)
        return C * mask_moment(kind, [a, b]) * both

    layer = f"z' = W {kind}(0.25) s(z)"
    network = Network("z**2", [9, 9], {"C_W": float(C)}, ["z' = W z", layer, layer])
    found = propagate(network, np.array(x, float), ["G", "V", "G.1"], tolerance=1e-11)
    pairs = list(product(range(2), repeat=2))
    for a, b in pairs:
        assert found["G"][1, a, b] == pytest.approx(float(C * mean(a, b)), rel=1e-10)
        assert found["G.1"][2, a, b] == pytest.approx(float(correction(a, b)), rel=1e-9)
        for c, d in pairs:
            assert found["V"][1, a, b, c, d] == pytest.approx(
                float(covariance(a, b, c, d)), rel=1e-9
            )


def test_a_mask_that_drops_nothing_is_none():
    layers = [FIRST, "z' = 1/2 z + b + W dropout(0) s(z)", "z' = b + W prune(0.0) s(z)"]
    plain = [FIRST, "z' = 1/2 z + b + W s(z)", DENSE]
    first, second = (
        propagate(Network("swish", [9, 9], VALUES, each), X) for each in (layers, plain)
    )
    for name in (*BOOK, "G.1", "H.1"):
        np.testing.assert_allclose(first[name], second[name], atol=1e-12)


def test_a_mask_that_is_named_is_one_draw_for_all_that_read_it():
    """E m² of one mask is 1/q, of two that are independent 1."""
    K = 1.2
    for layer, both in (
        ("m = prune(1/2); z' = W (m z + m m z)", 2 + 2 * 4 + 8),
        ("z' = W (prune(1/2) z + prune(1/2) z)", 2 + 2 * 1 + 2),
    ):
        network = Network("z", [9], {"C_W": K}, ["z' = W z", layer])
        found = propagate(network, [[1.0]], "G")["G"].ravel()
        assert found[1] == pytest.approx(K * K * both)


def test_dropout_parts_samples_that_are_the_same():
    """Without a bias, the correlation of two equal samples is 1 - p after each layer."""
    network = Network("z", [9] * 3, {"C_W": 0.75}, ["z' = W z", *["z' = W dropout(0.25) z"] * 3])
    found = propagate(network, [[1.0], [1.0]], "G")["G"]
    correlation = found[:, 0, 1] / found[:, 0, 0]
    np.testing.assert_allclose(correlation, 0.75 ** np.arange(4), rtol=1e-12)


def test_theory_and_sampled_dropout_agree():
    network = Network(
        "tanh", [10, 12], VALUES, [FIRST, *["z' = b + W dropout(0.25) s(z)"] * 2], n_L=4
    )
    comparison = check(network, X, ["G", "H", "V", "B", "F", "D"], networks=1000, seed=2)
    assert comparison.agrees


SKIP = "z' = xi z + b + W dropout(0.2) s(z)"
BLOCK = "h = U prune(0.1) s(z); z' = xi z + b + W dropout(0.2) s(h)"
NORMED = "z' = xi z + b + W dropout(0.2) s(layernorm(z))"
WINDOW = "z' = b + W[3] dropout(0.3) s(z)"


@pytest.mark.montecarlo
@pytest.mark.parametrize("layer", [swept(SKIP), slow(BLOCK), swept(NORMED)])
def test_all_tensors_of_four_layers_with_masks(layer):
    values = VALUES | {"xi": 0.7} | ({"C_U": 1.1, "lambda_U": 0.4} if "U" in layer else {})
    # Masks make terms of order 1/n² large, so that networks are wide.
    network = Network("swish", [64] * 3, values, [FIRST, *[layer] * 2, DENSE], n_L=4)
    comparison = check(network, X, networks=500, seed=4)
    print(layer, comparison, sep="\n")
    assert comparison.agrees


@pytest.mark.slow
@pytest.mark.montecarlo
def test_a_mask_of_channels():
    layers = ["z' = b + W[3] z", WINDOW, "z' = b + W[all] prune(0.2) s(z)"]
    network = Network("tanh", [16, 16], VALUES, layers, n_L=4, positions=(4,))
    x = np.random.default_rng(0).normal(size=(2, 2, 4))
    names = ["G", "H", "V", "B", "F", "D", "G.1", "H.1"]
    comparison = check(network, x, names, networks=3000, seed=4)
    print(comparison)
    assert comparison.agrees


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("z' = W dropout s(z)", "a number from 0 up to below 1, as in dropout"),
        ("z' = W dropout(1) s(z)", "without the part of the neurons"),
        ("z' = W dropout(p) s(z)", "without the part of the neurons"),
        ("z' = W dropout(0.1", "a bracket that is not closed"),
        ("z' = W dropout", "without the part of the neurons"),
        ("z' = W dropout(0.1)", "read a mask alone"),
        ("m = prune(0.1); z' = W s(m) z", "a function of a mask"),
        ("m = prune(0.1); z' = W z + m", "adds prune|adds m to what its neurons hold"),
        ("z' = z + dropout(0.1) z + W z", "keeps dropout"),
        ("m = dropout(0.1); z' = W z", "computes m, which nothing reads"),
        ("z' = dropout(0.1)", "adds a mask"),
    ],
)
def test_masks_that_are_none_are_refused(text, reason):
    with pytest.raises(LayerError, match=reason):
        Stack(text)


def test_what_is_not_known_of_masks_is_refused():
    layer = "z' = b + W dropout(0.1) s(z)"
    network = Network("tanh", [4], VALUES, [FIRST, layer], n_L=2)
    with pytest.raises(TrainingError, match="has dropout"):
        predict(network, X, [[1.0, 0.0]] * 2, X)
    with pytest.raises(LayerError, match="Layer 1 of"):
        propagate(Network("tanh", [4], VALUES, ["z' = b + W dropout(0.1) z", DENSE]), X)
    drawn = draw_parameters(network.resized(n_0=2), 3, np.random.default_rng(0))
    with pytest.raises(SamplingError, match="there are 2 samples"):
        evaluate_networks(drawn, network, [np.tanh], X, ["z"])
    K = layer_phase("z' = b + W prune(0.1) s(z)", "tanh", {"C_b": 0.1, "C_W": 0.9}).K
    assert pytest.approx(layer_phase(DENSE, "tanh", {"C_b": 0.1, "C_W": 1.0}).K) == K
