"""Bumps, spikes and steep steps that no grid would meet but for the text of the activation.

Right values are sums of my own over many panels that shrink towards the place, in this file.
"""

import pickle

import numpy as np
import pytest
from cases import slow, swept

from symdlt.activations import activation
from symdlt.kernels import numpy_activation
from symdlt.means import KernelInputError, KinkedMeans, SmoothMeans, choose_step, pair_means
from symdlt.networks import MLP

PLACE = 0.3
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def given(text, derivatives=2):
    found = activation(text)
    kinks = [(float(k.position), [float(j) for j in k.jumps]) for k in found.kinks(derivatives)]
    functions = numpy_activation(found, derivatives).functions
    return functions, (KinkedMeans(functions, kinks) if kinks else SmoothMeans(functions))


def panels(width, root, finest=1.0):
    """Nodes and weights on panels that grow from the place on, and are no wider than `finest`."""
    away = width * np.concatenate([np.arange(11), 10.0 * 2.0 ** np.arange(1, 40)])
    plain = np.arange(-11.0, 11.0 + finest, min(finest, 0.5)) * root
    edges = np.unique(np.concatenate([plain, [0.0], PLACE + away, PLACE - away]))
    edges = edges[np.abs(edges) <= 11.0 * root]
    half = 0.5 * np.diff(edges)[:, None]
    z = edges[:-1, None] + half * (1.0 + NODES)
    return z.ravel(), (half * WEIGHTS).ravel()


def mean_of(function, width, K):
    z, w = panels(width, np.sqrt(K))
    return float(w @ (function(z) * np.exp(-0.5 * z**2 / K))) / np.sqrt(2.0 * np.pi * K)


def mean_of_two(f, g, width, K, rho):
    z, w = panels(width, np.sqrt(K), 1.0 - rho**2)
    y = (z - rho * z[:, None]) / np.sqrt(K * (1.0 - rho**2))
    inner = np.exp(-0.5 * y**2) @ (w * g(z)) / np.sqrt(2.0 * np.pi * K * (1.0 - rho**2))
    return float(w @ (f(z) * inner * np.exp(-0.5 * z**2 / K))) / np.sqrt(2.0 * np.pi * K)


NARROW = [
    ("tanh(z) + exp(-10**6*(z - 3/10)**2)", 1e-3),
    ("max(z, 0) + exp(-10**7*(z - 3/10)**2)", 3e-4),
    ("tanh(z) + 1/(1 + (z - 3/10)**2*10**4)", 1e-2),
    ("tanh(z) + tanh(3000*(z - 3/10))", 3e-4),
    ("abs(z) + sigmoid(10*(z - 3/10))/100", 1e-1),
    ("max(z, 0) + exp(-900*(z - 3/10)**2)", 3e-2),
]


@pytest.mark.parametrize("K", [0.02, 0.7, 40.0])
@pytest.mark.parametrize(("text", "width"), NARROW)
def test_means_of_one_sample(text, width, K):
    functions, means = given(text)
    patterns = [(0, 0), (1, 1), (0, 0, 0, 0), (0, 0, 1, 1)]
    for pattern, table in zip(patterns, means(np.array([[K]]), patterns), strict=True):
        right = mean_of(lambda z, p=pattern: np.prod([functions[k](z) for k in p], 0), width, K)
        assert table.item() == pytest.approx(right, rel=1e-9 if len(pattern) == 2 else 1e-6)


@pytest.mark.parametrize(
    ("text", "width", "rho"),
    [
        *((*NARROW[5], rho) for rho in (0.4, 0.93)),
        (*NARROW[3], 0.4),
        swept(*NARROW[3], 0.93),
        (*NARROW[2], 0.4),
        slow(*NARROW[2], 0.93),
        (*NARROW[1], 0.4),
        swept(*NARROW[1], 0.93),
    ],
)
def test_means_of_two_samples(text, width, rho):
    functions, means = given(text)
    K = 0.7 * np.array([[1.0, rho], [rho, 1.0]])
    for k, table in enumerate(means(K, [(0, 0), (1, 1)])):
        right = mean_of_two(functions[k], functions[k], width, 0.7, rho)
        assert table[0, 1] == pytest.approx(right, rel=1e-9)


@pytest.mark.parametrize(("text", "width"), NARROW[:2])
def test_networks_see_them(text, width):
    """Through a network, from its text."""
    functions, _ = given(text)
    mlp = MLP(activation=text, widths=[8], C_b=0, C_W=0.7, lambda_b=0, lambda_W=[0, 1])
    found = mlp.propagate([[1.0]], ["G"]).tensors["G"]
    assert float(np.ravel(found[-1])[0]) == pytest.approx(
        0.7 * mean_of(lambda z: functions[0](z) ** 2, width, 0.7), rel=1e-9
    )


def test_what_equal_steps_cannot_meet_is_refused():
    functions, _ = given("tanh(z) + exp(-10**8*(z - 3/10)**2)")
    for call in (lambda: choose_step(functions, 0.7), lambda: pair_means(functions, [[0.7]], [])):
        with pytest.raises(KernelInputError, match=r"varies within .* about z = 0\.[23]"):
            call() or pair_means(functions, np.array([[0.7]]), [(0, 0)])


def test_three_samples_of_something_narrow_are_refused_at_once():
    _, means = given("tanh(z) + exp(-10**6*(z - 3/10)**2)")
    with pytest.raises(KernelInputError, match="take too long"):
        means(0.7 * (0.7 * np.eye(3) + 0.3), [(0, 0, 1, 1)])


def test_pickled_functions_know_their_text():
    numbers = pickle.loads(pickle.dumps(numpy_activation("tanh(50*z)", 1)))
    assert np.diff(numbers.functions[1].ends(1.0)).min() < 0.1


def test_a_bump_alone_is_not_taken_for_nothing():
    functions, means = given("exp(-(z - 3/10)**2*10**6)")
    (table,) = means(np.array([[0.01]]), [(0, 0, 0, 0)])
    right = mean_of(lambda z: functions[0](z) ** 4, 1e-3, 0.01)
    assert table.item() == pytest.approx(right, rel=1e-6)
