"""Derivatives of sampled networks whose positions are joined by scores, or by weights of steps."""

import numpy as np
import pytest
from sampling.complex_steps import check_derivatives

from symdlt import Network
from symdlt.definitions import CAUSAL_SOFTMAX
from symdlt.sampling.labelled import POSITION, SAMPLE, Labelled
from symdlt.sampling.normalisation import softmax

VALUES = {"C_b": 0.1, "C_W": 1.3, "C_Q": 1.1, "C_K": 0.9, "C_V": 1.2, "C_U": 0.7}
X = np.random.default_rng(1).standard_normal((2, 3, 3))
HEADS = "q = Q z; k = K s(z); v = V z; "
LAYERS = {
    "attention": HEADS + "z' = b + W tanh(q.k) v",
    "softmax": HEADS + "z' = z + W softmax(1/2 q.k) s(v)",
    "over the number of neurons": "k = K z; v = V z; z' = b + W softmax(k.k) s(v)",
    "causal": HEADS + "z' = b + W[causal] softmax(q.k) v",
    "causal scores": HEADS + "z' = b + W[causal] tanh(q.k) v",
    "scores with biases": HEADS + "z' = z + W s(1/2 q.k + b) s(v)",
    "values at the neurons below": "q = Q z; k = K z; z' = W tanh(q.k) s(z)",
    "steps": "z' = b + U s(z) + W s(z'[-1])",
    "two fields a step": "u = b + U[2] z + W s(z'[-1]); z' = z'[-2] + V s(u)",
}


@pytest.mark.parametrize("case", LAYERS)
def test_derivatives_where_positions_are_joined(case):
    layers = ["z' = b + W z", LAYERS[case], "z' = b + W[mean] s(z)"]
    used = {name for name in VALUES if name[2] in "".join(layers)}
    values = {name: VALUES[name] for name in used}
    rates = {f"lambda_{name[2]}": 0.3 + 0.1 * k for k, name in enumerate(sorted(used))}
    scores = next((name for name in ("q.k", "k.k") if name in LAYERS[case]), "")
    inner = {"heads": 2, scores[0]: 4} if scores else {}
    net = Network("tanh", [2, 2], values | rates, layers, n_L=2, inner=inner)
    check_derivatives(net.resized(n_0=3, positions=(3,)), X)


def test_later_keys_do_not_count_however_large_their_scores_are():
    scores = np.array([0.0, 800.0, 0.0, 0.0]).reshape(1, 1, 4, 1)  # exp(-800) is zero in doubles
    parts = softmax({0: Labelled(scores, (SAMPLE, POSITION))}, CAUSAL_SOFTMAX, 0)[0]
    np.testing.assert_array_equal(parts.values.ravel(), [1.0, 0.0, 0.5, 0.5])
