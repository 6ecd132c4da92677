"""Networks whose layers are put together at random, against sampled ones."""

from random import Random

import numpy as np
import pytest
from cases import thinned

from symdlt import Network, check

STARTS = ["", "z + ", "1/2 z + ", "xi z + "]
INSIDE = [
    ("", "W s(z)"),
    ("", "W (s(z) + 1/3 z)"),
    ("h = c + U s(z); ", "W s(h)"),
    ("u = U z; v = V z; ", "W (s(u) v)"),
    ("u = c + U s(z); v = V z; ", "W (s(u) v)"),
    ("h = U rmsnorm(z); ", "W s(h)"),
    ("h = U layernorm(z); ", "W s(h)"),
]
ACTIVATIONS = ["tanh", "gelu", "sin", "swish", "erf", "z + z**2/3"]
TENSORS = ["G", "H", "V", "A", "B", "D", "F", "P", "Q", "G.1", "H.1"]
X = [[0.8, -0.5, 0.3], [0.2, 0.9, -0.4]]


def random_network(seed):
    """Dense layers at both ends, and one definition at two or three layers between them."""
    rng = Random(seed)
    statements, summed = rng.choice(INSIDE)
    layer = f"{statements}z' = {rng.choice(STARTS)}{rng.choice(['', 'b + '])}{summed}"
    layers = ["z' = W z", *[layer] * rng.choice([2, 3]), "z' = W s(z)"]
    sizes = {name: round(rng.uniform(0.5, 1.3), 2) for name in ("C_U", "C_V", "C_W")}
    sizes |= {"C_b": 0.1, "C_c": 0.2}
    rates = {name.replace("C", "lambda"): round(0.7 * size, 2) for name, size in sizes.items()}
    numbers = sizes | rates | {"xi": 0.8}
    values = {k: v for k, v in numbers.items() if k.rpartition("_")[2] in layer + "W"}
    return Network(rng.choice(ACTIVATIONS), [32] * (len(layers) - 1), values, layers, n_L=3)


@pytest.mark.parametrize("seed", thinned(range(6), 3))
def test_random_networks_agree_with_samples(seed):
    network = random_network(seed)
    comparison = check(network, X[: 1 + seed % 2], TENSORS, networks=2000, seed=seed)
    scores = {name: float(np.abs(comparison.z_scores(name)).max()) for name in comparison.names}
    print(network, *(f"{name} {score:.1f}" for name, score in scores.items()))
    assert max(scores.values()) < 5
