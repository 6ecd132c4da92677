"""The thirteen recursions against real networks of three layers: two inputs, unequal widths.

The networks know nothing of the recursions; they are drawn and differentiated. They have a finite
width, and the recursions are the limit of a large one, so that two sizes are measured and the
correction of relative order 1/n is fitted away.
"""

from functools import cache

import numpy as np
import pytest
from direct import value

from oracle.montecarlo import extrapolate, function_of, gaussian_mean
from symdlt import BOOK, derive
from symdlt.sampling import NetworkEnsemble, measure

INPUTS = np.array([[1.0, 0.4, -0.8], [0.3, -0.9, 0.7]])
RATES = {
    "C_b": (0.2, 0.1, 0.15),
    "C_W": (1.2, 1.4, 1.1),
    "lambda_b": (0.3, 0.5, 0.2),
    "lambda_W": (0.8, 0.6, 0.9),
}
SCALES = {2: 60_000, 4: 60_000}


def predicted(activation):
    """The thirteen tensors of the output layer at leading order, for all pairs of inputs."""
    first = {name: rates[0] for name, rates in RATES.items()}
    overlap = INPUTS @ INPUTS.T / INPUTS.shape[1]
    layer = {name: np.zeros((2,) * BOOK[name].axes) for name in BOOK}
    layer["G"] = first["C_b"] + first["C_W"] * overlap
    layer["H"] = first["lambda_b"] + first["lambda_W"] * overlap
    for number, ratio in ((1, widths(1)[1] / widths(1)[0]), (2, widths(1)[2] / widths(1)[1])):
        hyper = {name: rates[number] for name, rates in RATES.items()}
        layer = one_more(layer, activation, hyper, ratio)
    return layer


def widths(scale):
    return 3, 6 * scale, 9 * scale, 2


def one_more(lower, activation, hyper, ratio):
    @cache
    def bracket(factors, inserted=()):
        return gaussian_mean([(activation[k], sample) for sample, k in factors], lower["G"])

    upper = {}
    for name, correlator in BOOK.items():
        recursion = derive(name)
        upper[name] = np.empty((2,) * correlator.axes)
        for index in np.ndindex(upper[name].shape):
            upper[name][index] = value(recursion, index, lower, bracket, hyper, ratio)
    return upper


@pytest.mark.slow
@pytest.mark.montecarlo
@pytest.mark.parametrize("name", ["tanh", "swish"])
def test_thirteen_tensors_of_three_layers(name):
    activation = function_of(name)
    expected = predicted(activation)
    rng = np.random.default_rng(2024)
    measured = {
        scale: measure(
            NetworkEnsemble.of(widths(scale), **RATES), activation, INPUTS, list(BOOK), count, rng
        )
        for scale, count in SCALES.items()
    }
    worst = {}
    for tensor in BOOK:
        limit = extrapolate({scale: m[tensor] for scale, m in measured.items()})
        scores = limit.z_scores(expected[tensor])
        worst[tensor] = np.abs(scores).max()
        size = np.abs(expected[tensor]).max()
        error = limit.standard_errors.max()
        print(
            f"{name} {tensor}: worst |z| = {worst[tensor]:.2f}, size {size:.3f}, error {error:.3f}"
        )
    assert max(worst.values()) < 4.5
