"""The book's recursions against the exact statistics of finite networks.

At the second layer the tensors below are K and Θ alone, so what is made there is tested: the local
terms, at any index. At the third layer everything below is switched on, so the inherited terms are
tested too, with a ratio of widths that keeps the two apart. Every sample has an activation of its
own there, so that no term can stand in for another one. The fourth layer is needed because F of
the second is still symmetric under the exchange of its two preactivations, that of the third not.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from cases import slow, swept
from exact import Rows, bracket_of, cumulant, leading, matrix, random_network, second_layer, stacked

from .correlators import CORRELATORS, first_layer
from .recursions import RECURSIONS, step

RATIO = Fraction(3, 7)
ORDERS = ((0, 0, 1), (0, 1, 0), (1, 0, 0))


def exact_array(rows):
    return np.array([[Fraction(x) for x in row] for row in rows], dtype=object)


@cache
def second(network):
    """The thirteen tensors of the second layer by the book."""
    below = first_layer(exact_array(network.metric), exact_array(network.ntk))
    layer = network.layers[0]
    return step(below, bracket_of(layer, network.metric), layer.hyper(), RATIO)


@cache
def third(network):
    """The thirteen tensors of the third layer by the book."""
    return one_more(second(network.below()), network)


def one_more(below, network):
    """The thirteen tensors of the last layer, from those of the layer below it."""
    layer = network.layers[-1]
    bracket = bracket_of(layer, matrix(below["G"].tolist()))
    return step(below, bracket, layer.hyper(), RATIO)


def places(samples, axes):
    """All indices for few samples; for many, some with repetitions and some without."""
    everything = [tuple(int(i) for i in index) for index in np.ndindex((samples,) * axes)]
    return everything if len(everything) <= 16 else everything[:: len(everything) // 19]


@pytest.mark.parametrize(
    ("seed", "degrees", "shared"),
    [
        (1, (3, 3), True),
        (2, (4, 4), True),
        (3, (2, 3, 2), False),
        (4, (3, 2, 2, 3), False),
    ],
)
def test_second_layer(seed, degrees, shared):
    network = random_network(seed, degrees, shared=shared)
    by_book = second(network)
    for name, (edges, matching) in CORRELATORS.items():
        order = len(matching) - 1
        for index in places(len(degrees), 2 * len(matching)):
            found = second_layer(network, index, edges, matching)
            assert not any(found[:order])
            value = found[order] if len(found) > order else 0
            assert value == by_book[name][index], (name, index)


@pytest.mark.parametrize(
    ("seed", "degrees"),
    [
        (5, (2, 2, 2, 2)),
        slow(6, (3, 1, 1, 2)),
        (7, (1, 3, 2, 1)),
        swept(8, (2, 1, 3, 1)),
        (9, (1, 2, 1, 3)),
        swept(10, (3, 1, 2, 2)),
        swept(11, (2, 2, 1, 3)),
    ],
)
def test_third_layer(seed, degrees):
    network = stacked((1, (3, 2, 2, 2)), (seed, degrees))
    by_book = third(network)
    for name, (edges, matching) in CORRELATORS.items():
        if len(matching) == 1:
            continue
        made, inherited = leading(network, (0, 1, 2, 3), edges, matching)
        assert inherited != 0, name
        assert by_book[name][0, 1, 2, 3] == made + RATIO * inherited, name


def four_layers():
    """Few monomials, so that it stays cheap, but every inherited F term of T is there."""
    with_squares = (
        Rows([(0, 1, 2), (3, -1), (0, 2), (0, 1)]),
        Rows([(0, 0, s) for s in (1, -2, 3, 1)]),
    )
    plain = (random_network(seed, (1, 1, 1, 1)).layers[0] for seed in (2, 31))
    layers = (replace(p, activations=a) for p, a in zip(plain, with_squares, strict=True))
    return random_network(1, (1, 1, 1, 1)).on_top(*layers)


def exact_fourth(network, name, index):
    """Made there, inherited from the third layer, and inherited from the second."""
    found = cumulant(network, index, *CORRELATORS[name], order=1)
    return sum(found.get(p, 0) * RATIO**k for k, p in enumerate(ORDERS))


@pytest.mark.slow
def test_fourth_layer():
    network = four_layers()
    below = third(network.below())
    assert below["F"][1, 0, 2, 3] != below["F"][2, 0, 1, 3]
    by_book = one_more(below, network)
    for name, (_, matching) in CORRELATORS.items():
        for index in ((0, 1, 2, 3), (1, 0, 2, 3)) if name == "F" else ((0, 1, 2, 3),):
            if len(matching) == 2:
                assert by_book[name][index] == exact_fourth(network, name, index), name


def test_third_layer_with_one_activation_and_repeated_samples():
    network = random_network(10, (2, 2), (2, 2), shared=True)
    by_book = third(network)
    for name, (edges, matching) in CORRELATORS.items():
        if len(matching) == 1:
            continue
        for index in ((0, 0, 1, 1), (0, 1, 1, 1), (0, 1, 0, 1)):
            made, inherited = leading(network, index, edges, matching)
            assert by_book[name][index] == made + RATIO * inherited, (name, index)


def test_leading_metric_and_ntk_of_the_third_layer():
    network = random_network(11, (2, 3), (3, 2))
    by_book = third(network)
    for name in ("G", "H"):
        edges, matching = CORRELATORS[name]
        for index in ((0, 0), (0, 1), (1, 1)):
            assert mean_of(network, index, edges, matching) == by_book[name][index]


def mean_of(network, index, edges, matching):
    return cumulant(network, index, edges, matching, order=0)[0, 0]


@pytest.mark.parametrize("name", RECURSIONS)
def test_z_form_is_the_derivative_form(name):
    network = random_network(12, (3, 2, 3), (3, 2, 2))
    below, layer = second(network.below()), network.layers[1]
    kernel = exact_array(random_network(13, (1, 1, 1)).metric)
    below = below | {"G": kernel}
    arguments = (bracket_of(layer, matrix(kernel.tolist())), layer.hyper(), RATIO)
    by_z = RECURSIONS[name](below, *arguments, form="z")
    assert (by_z == RECURSIONS[name](below, *arguments)).all()


def test_symmetries_of_the_definitions():
    network = random_network(14, (2, 3), (3, 2))
    found = third(network)
    assert (found["V"] == found["V"].transpose(1, 0, 2, 3)).all()
    assert (found["V"] == found["V"].transpose(2, 3, 0, 1)).all()
    assert (found["A"] == found["A"].transpose(2, 3, 1, 0)).all()
    assert (found["B"] == found["B"].transpose(1, 0, 3, 2)).all()
    assert (found["D"] == found["D"].transpose(1, 0, 3, 2)).all()
    assert (found["F"] == found["F"].transpose(2, 3, 0, 1)).all()
    assert (found["P"] == found["P"].transpose(0, 2, 1, 3)).all()
    assert (found["R"] == found["R"].transpose(0, 1, 3, 2)).all()
    assert (found["S"] == found["S"].transpose(1, 0, 3, 2)).all()
    assert (found["T"] == found["T"].transpose(3, 2, 1, 0)).all()
    assert (found["U"] == found["U"].transpose(2, 3, 0, 1)).all()
    assert not (found["Q"] == found["Q"].transpose(0, 1, 3, 2)).all()
