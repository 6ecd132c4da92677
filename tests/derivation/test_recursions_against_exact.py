"""The engine against the exact statistics of finite networks, beyond the book's thirteen tensors.

`exact.cumulant` differentiates networks with polynomial activations and expands nothing: it gives
a whole polynomial in the inverse widths. The recursions must give its coefficients, at the leading
order and beyond it, with 2, 3 and 4 pairs.
"""

from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest
from cases import slow, thinned
from direct import value
from exact import (
    Network,
    bracket_of,
    cumulant,
    deep_linear_moment,
    matrix,
    metric_cumulant,
    random_network,
    relu_metric_moment,
)

from symdlt.definitions import correlators, tensor
from symdlt.derivation import derive, derive_system, piece_name


def exact_coefficient(network, index, correlator, power):
    """The part of total order `power`, by powers of the last layer's width and of the others."""
    found = cumulant(network, index, correlator.forest.edges, correlator.matching, order=power)
    return {powers: number for powers, number in found.items() if sum(powers) == power}


def lower_layer(network, names, samples):
    """The named tensors one layer below the top, exactly, as dictionaries by index."""
    below = Network(network.metric, network.ntk, network.layers[:-1])

    class Exact:
        def __init__(self, correlator, piece):
            self.correlator, self.piece = correlator, piece

        def __len__(self):
            return samples

        @cache  # noqa: B019
        def __getitem__(self, index):
            if not below.layers:
                return first_layer_value(network, self.correlator, self.piece, index)
            power = self.correlator.pairs - 1 + self.piece
            found = exact_coefficient(below, index, self.correlator, power)
            return sum(found.values(), Fraction(0))

    return {name: Exact(correlator, piece) for name, (correlator, piece) in names.items()}


def first_layer_value(network, correlator, piece, index):
    if piece or correlator.pairs > 1:
        return Fraction(0)
    table = network.ntk if correlator.forest.edges else network.metric
    return table[index[0]][index[1]]


def engine_value(network, index, correlator, piece, inputs="many"):
    """The recursion evaluated on exact lower tensors; all hidden widths equal."""
    recursion = derive(correlator, piece=piece, inputs=inputs)
    names = {piece_name(c, p): (c, p) for c, p in recursion.dependencies}
    lower = lower_layer(network, names, len(network.metric))
    layer = network.layers[-1]
    kernel = [[lower["G"][(a, b)] for b in range(len(lower["G"]))] for a in range(len(lower["G"]))]
    return value(recursion, index, lower, bracket_of(layer, matrix(kernel)), layer.hyper(), 1)


ORDER_TWO = correlators(2)
SAMPLE = [c for k, c in enumerate(ORDER_TWO) if k % 3 == 0 or not c.forest.edges]


@pytest.mark.parametrize("correlator", thinned(ORDER_TWO, 3), ids=lambda c: c.name)
def test_second_layer_with_three_pairs(correlator):
    network = random_network(21, (3, 2, 3, 2, 2, 3))
    index = tuple(Random(correlator.name).sample(range(6), 6))
    found = exact_coefficient(network, index, correlator, 2)
    assert engine_value(network, index, correlator, 0) == sum(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["X8", "X8_01_23", "X8_01_02_03_45", "X8_02_13_46"])
def test_second_layer_with_four_pairs(name):
    correlator = tensor(name)
    network = random_network(22, (2,))
    index = (0,) * 8
    found = exact_coefficient(network, index, correlator, 3)
    assert engine_value(network, index, correlator, 0, "one") == sum(found.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("correlator", "piece"),
    [*((c, 1) for c in (*correlators(0), *correlators(1))), *((c, 2) for c in correlators(0))],
    ids=lambda value: getattr(value, "name", value),
)
def test_second_layer_beyond_the_leading_order(correlator, piece):
    network = random_network(23, (3, 2, 2, 3))
    index = (1, 0, 2, 3)[: correlator.axes]
    found = exact_coefficient(network, index, correlator, correlator.pairs - 1 + piece)
    assert engine_value(network, index, correlator, piece) == sum(found.values(), Fraction(0))


@pytest.mark.parametrize(
    "correlator",
    [slow(c) if c.name in ("A", "R") else c for c in (*correlators(0), *correlators(1))],
    ids=lambda c: c.name,
)
def test_third_layer_first_correction(correlator):
    degrees = (2, 2) if correlator.pairs == 1 else (1, 2)
    network = random_network(24, (2, 1), degrees)
    index = (1, 0, 0, 1)[: correlator.axes]
    found = exact_coefficient(network, index, correlator, correlator.pairs)
    expected = sum(found.values(), Fraction(0))
    assert expected != 0
    assert engine_value(network, index, correlator, 1) == expected


@pytest.mark.parametrize("correlator", thinned(SAMPLE[::2], 2), ids=lambda c: c.name)
def test_third_layer_with_three_pairs(correlator):
    network = random_network(25, (2, 1), (1, 2))
    index = tuple(Random(correlator.name).choices(range(2), k=6))
    found = exact_coefficient(network, index, correlator, 2)
    assert engine_value(network, index, correlator, 0) == sum(found.values(), Fraction(0))


@pytest.mark.parametrize("widths", [(1, 1), (3, 1), (1, 5)])
def test_unequal_widths(widths):
    """Sources made at a layer come with 1/n of that layer, inherited ones with that below."""
    network = random_network(26, (2, 2), (2, 1))
    index = (0, 1, 1, 0, 0, 1)
    correlator = ORDER_TWO[0]
    n_1, n_2 = widths
    found = exact_coefficient(network, index, correlator, 2)
    expected = sum(number * Fraction(n_2, n_1) ** powers[0] for powers, number in found.items())
    recursion = derive(correlator)
    names = {piece_name(c, p): (c, p) for c, p in recursion.dependencies}
    lower = lower_layer(network, names, 2)
    kernel = matrix([[lower["G"][(a, b)] for b in range(2)] for a in range(2)])
    layer = network.layers[-1]
    ratio = Fraction(n_2, n_1)
    bracket = bracket_of(layer, kernel)
    assert value(recursion, index, lower, bracket, layer.hyper(), ratio) == expected


def iterated(names, bracket, layers, form, hyper):
    """Single-input tensors of every layer from K = 1 and nothing else, equal widths."""
    system = derive_system(names, inputs="one", form=form)
    lower = {r.name: Fraction(int(r.name == "G")) for r in system}
    history = [lower]
    for _ in range(layers):
        lower = {
            r.name: value(
                r, (0,), {k: _Cell(v) for k, v in lower.items()}, bracket, hyper, 1, [[Fraction(1)]]
            )
            for r in system
        }
        history.append(lower)
    return history


class _Cell:
    """A tensor with one sample: every index gives its one value."""

    def __init__(self, number):
        self.number = number

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.number


HYPER = {"C_b": Fraction(0), "lambda_b": Fraction(0), "lambda_W": Fraction(0)}


def moments(powers):
    """E[z^p] = (p-1)!! at K = 1 for even p, 0 for odd."""
    return Fraction(int(np.prod(range(1, powers, 2)))) if powers % 2 == 0 else Fraction(0)


def linear_bracket(factors, inserted=()):
    slopes = [order for _, order in factors]
    if any(order > 1 for order in slopes):
        return Fraction(0)
    return moments(slopes.count(0) + len(inserted))


def relu_bracket(factors, inserted=()):
    """⟨relu(z)^k z^p⟩ with k ≥ 1: half of the Gaussian moment."""
    assert all(order == 0 for _, order in factors)
    powers = len(factors) + len(inserted)
    assert powers % 2 == 0
    return moments(powers) / 2


@pytest.mark.parametrize(
    ("bracket", "truth", "variance"),
    [(linear_bracket, deep_linear_moment, 1), (relu_bracket, relu_metric_moment, 2)],
    ids=["linear", "relu"],
)
def test_deep_scale_invariant_networks(bracket, truth, variance):
    layers = 4
    exact = {k: truth(k, layers) for k in (1, 2, 3, 4)}
    wanted = {
        "G.1": (1, 1),
        "G.2": (1, 2),
        "V": (2, 1),
        "V.1": (2, 2),
        "X6": (3, 2),
        "X8": (4, 3),
    }
    hyper = HYPER | {"C_W": Fraction(variance)}
    found = iterated(wanted, bracket, layers, "z", hyper)[-1]
    for name, (power, order) in wanted.items():
        polynomial = metric_cumulant({k: exact[k] for k in range(1, power + 1)}, power)
        expected = sum(c for powers, c in polynomial.items() if sum(powers) == order)
        assert found[name] == expected, name


def test_six_point_vertex_of_deep_linear_networks():
    hyper = HYPER | {"C_W": Fraction(1)}
    for k, layer in enumerate(iterated(["X6"], linear_bracket, 6, "derivative", hyper)):
        assert layer["X6"] == 8 * k + 12 * k * (k - 1)
