"""Two samples: every tensor against the recursions evaluated term by term, and real networks."""

from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np
import pytest
from direct import value
from oracle.montecarlo import function_of, gaussian_mean

from symdlt import MLP, check, derive
from symdlt.networks import TENSORS, tasks

X = np.array([[1.0, 0.4, -0.8], [0.3, -0.9, 0.7]])
HYPER = {
    "C_b": (0.2, 0.1, 0.15),
    "C_W": (1.2, 1.4, 1.1),
    "lambda_b": (0.3, 0.5, 0.2),
    "lambda_W": (0.8, 0.6, 0.9),
}
MLP3 = MLP(activation="tanh", widths=[12, 18], n_L=4, **HYPER)


def reference():
    """All tensors of the three layers, from the recursions as they are derived."""
    activation, overlap = function_of("sine"), X @ X.T / X.shape[1]
    axes = {name: derive(name).correlator.axes for name in TENSORS}
    layer = {name: np.zeros((2,) * axes[name]) for name in TENSORS}
    first = {name: rates[0] for name, rates in HYPER.items()}
    layer["G"] = first["C_b"] + first["C_W"] * overlap
    layer["H"] = first["lambda_b"] + first["lambda_W"] * overlap
    layers = [layer]
    for number, ratio in ((1, 1.0), (2, 18 / 12)):
        hyper = {name: rates[number] for name, rates in HYPER.items()}
        layers.append(one_more(layers[-1], activation, hyper, ratio))
    return {name: np.stack([layer[name] for layer in layers]) for name in TENSORS}


def one_more(lower, activation, hyper, ratio):
    @cache
    def bracket(factors, inserted=()):
        return gaussian_mean([(activation[k], sample) for sample, k in factors], lower["G"])

    return {
        name: np.array(
            [
                value(derive(name), index, lower, bracket, hyper, ratio)
                for index in np.ndindex(array.shape)
            ]
        ).reshape(array.shape)
        for name, array in lower.items()
    }


@pytest.mark.slow
def test_every_tensor_against_its_recursion():
    found = MLP(activation="sin", widths=[12, 18], **HYPER).propagate(X)
    assert found.names == TENSORS
    for name, expected in reference().items():
        tolerance = 1e-6 * np.abs(expected).max()
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=tolerance, err_msg=name)


def test_one_sample_among_many_is_the_kernel_of_one():
    alone, among = MLP3.propagate(X[:1]), MLP3.propagate(X)
    for name in TENSORS:
        entry = among[name][(slice(None), *(0,) * (among[name].ndim - 1))]
        np.testing.assert_allclose(alone[name].ravel(), entry, rtol=1e-5, atol=1e-7)


def test_groups_and_processes_give_what_one_task_gives(monkeypatch):
    monkeypatch.setattr(tasks, "TOGETHER", 6)
    x = np.random.default_rng(0).normal(size=(7, 4))
    names = ["G", "H", "V", "A", "G.1"]
    part, blocks = range(3, 6), (range(3, 6),) * 4
    whole = MLP3.propagate(x, names)
    alone = MLP3.propagate(x[part], names)
    with ProcessPoolExecutor(2) as processes:
        shared = MLP3.propagate(x, names, executor=processes)
    block = MLP3.propagate(x, names, blocks=blocks)
    for name in names:
        assert np.array_equal(whole[name], shared[name])
        np.testing.assert_allclose(block[name], alone[name], rtol=1e-9, atol=1e-12)
        cut = np.ix_(range(3), *(part,) * (whole[name].ndim - 1))
        np.testing.assert_allclose(whole[name][cut], alone[name], rtol=1e-5, atol=1e-7)


@pytest.mark.sweep
@pytest.mark.montecarlo
def test_theory_and_networks_agree():
    compared = check(MLP3, X, networks=10_000, seed=3)
    print(compared)
    assert compared.names == TENSORS
    assert compared.agrees
