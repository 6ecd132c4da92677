"""The exact moments against small networks written out in their own parameters."""

from fractions import Fraction

import pytest

from .gaussian import Rows, matrix
from .literal import expectation, same_statistics, write_out
from .moments import moment
from .network import Layer, matched
from .widths import evaluate, perfect_matchings

FIRST = Layer(Rows(()), *(Fraction(x) for x in ("1/2", "3/2", "1/3", "2")))
INPUTS = (Fraction(1), Fraction(-2), Fraction(1, 2), Fraction(3))
QUADRATIC = ((1, 2, 3), (-1, 1, 2), (2, -3, 1), (1, 1, -2))
CUBIC = ((0, 2, 3, 1), (0, 1), (1, 1), (2, 1, 1))
SPARSE = ((0, 2, 3), (-1, 0, 2), (0, -3, 1), (1, 1, 0))
LINEAR = ((1, 2), (-1, 1), (2, -3), (1, 1))

FORESTS = {
    "z z": ((0, 1), ()),
    "H": ((0, 1), ((0, 1),)),
    "z z z z": ((0, 1, 2, 3), ()),
    "H H": ((0, 1, 2, 3), ((0, 1), (2, 3))),
    "H H, crossed samples": ((0, 1, 2, 3), ((0, 2), (1, 3))),
    "z z H": ((0, 1, 2, 3), ((2, 3),)),
    "dH z": ((0, 1, 2, 3), ((0, 1), (0, 2))),
    "dH z, repeated samples": ((0, 1, 1, 0), ((0, 1), (0, 2))),
    "ddI": ((0, 1, 2, 3), ((0, 1), (0, 2), (0, 3))),
    "ddII": ((0, 1, 2, 3), ((0, 1), (0, 2), (1, 3))),
}


def layer(activations: tuple[tuple[int, ...], ...]) -> Layer:
    hyper = (Fraction(x) for x in ("1/5", "2", "3/7", "1/2"))
    return Layer(Rows(activations), *hyper)


def from_matchings(layers, widths, neurons, samples, edges):
    """Σ over matchings of the deltas at the given neurons times the exact moment."""
    network = same_statistics(INPUTS, FIRST, layers)
    total = Fraction(0)
    for pairs in perfect_matchings(tuple(range(len(samples)))):
        if all(neurons[a] == neurons[b] for a, b in pairs):
            forest = matched(tuple(samples), edges, pairs)
            total += evaluate(moment(network, forest, None), widths)
    return total


def assignments(vertices):
    """All neurons equal, and the neurons that single out each matching."""
    yield (0,) * vertices
    if vertices == 4:
        yield from ((0, 0, 1, 1), (0, 1, 0, 1), (0, 1, 1, 0))


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("activations", [QUADRATIC, CUBIC], ids=["quadratic", "cubic"])
def test_second_layer_moments_are_those_of_a_network_of_width_two(name, activations):
    samples, edges = FORESTS[name]
    layers = [layer(activations)]
    literal = write_out(INPUTS, FIRST, layers, (2, 2))
    for neurons in assignments(len(samples)):
        found = expectation(literal, neurons, samples, edges)
        assert found == from_matchings(layers, (2,), neurons, samples, edges)


@pytest.mark.parametrize("name", FORESTS)
def test_third_layer_moments_are_those_of_a_network_of_widths_one_and_two(name):
    samples, edges = FORESTS[name]
    layers = [layer(QUADRATIC), layer(LINEAR)]
    literal = write_out(INPUTS, FIRST, layers, (1, 2, 2))
    for neurons in assignments(len(samples)):
        found = expectation(literal, neurons, samples, edges)
        assert found == from_matchings(layers, (1, 2), neurons, samples, edges)


@pytest.mark.parametrize("name", ["H", "z z z z", "z z H", "dH z", "ddI", "ddII"])
def test_third_layer_moments_with_two_nonlinear_layers(name):
    samples, edges = FORESTS[name]
    layers = [layer(SPARSE), layer(SPARSE)]
    literal = write_out(INPUTS, FIRST, layers, (1, 1, 1))
    neurons = (0,) * len(samples)
    found = expectation(literal, neurons, samples, edges)
    assert found == from_matchings(layers, (1, 1), neurons, samples, edges)
    assert found != 0


def test_a_larger_tree_and_three_pairs():
    """A path of five and an isolated vertex, at a width where all neurons may coincide."""
    samples, edges = (0, 1, 2, 3, 0, 1), ((0, 1), (1, 2), (2, 3), (3, 4))
    layers = [layer(QUADRATIC)]
    literal = write_out(INPUTS, FIRST, layers, (2, 3))
    for neurons in ((0, 0, 1, 1, 2, 2), (0, 1, 1, 2, 2, 0), (0, 0, 0, 1, 1, 0)):
        found = expectation(literal, neurons, samples, edges)
        assert found == from_matchings(layers, (2,), neurons, samples, edges)
        assert found != 0


def test_metric_of_the_first_layer_is_read_off_the_inputs():
    network = same_statistics(INPUTS[:2], FIRST, [])
    assert network.metric == matrix([[2, Fraction(-5, 2)], [Fraction(-5, 2), Fraction(13, 2)]])
