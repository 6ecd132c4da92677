"""Known truths for one input, and two routes to each of them."""

from fractions import Fraction

import pytest

from .chains import (
    deep_linear_moment,
    metric_cumulant,
    polynomial_metric_moment,
    relu_metric_moment,
)
from .draws import random_network
from .gaussian import Rows, matrix, mean
from .moments import cumulant, moment, second_layer
from .network import Layer, Network, matched
from .widths import evaluate

ONE = Fraction(1)


def pairs(count):
    return tuple((2 * k, 2 * k + 1) for k in range(count))


def deep_linear(hidden, lambda_b=ONE, lambda_w=ONE):
    layer = Layer(Rows([(0, 1)]), Fraction(0), ONE, lambda_b, lambda_w)
    return Network(matrix([[1]]), matrix([[lambda_b + lambda_w]]), (layer,) * hidden)


@pytest.mark.parametrize("hidden", [1, 2, 3])
@pytest.mark.parametrize("power", [1, 2, 3])
def test_deep_linear_moments_are_products_over_layers(power, hidden):
    found = moment(deep_linear(hidden), matched((0,) * (2 * power), (), pairs(power)), None)
    assert found == deep_linear_moment(power, hidden)


def test_deep_linear_factors():
    assert deep_linear_moment(3, 1) == {(0,): 1, (1,): 6, (2,): 8}
    value = evaluate(deep_linear_moment(3, 2), (5, 7))
    assert value == (1 + Fraction(2, 5)) * (1 + Fraction(4, 5)) * (1 + Fraction(2, 7)) * (
        1 + Fraction(4, 7)
    )


@pytest.mark.parametrize("hidden", [1, 2, 3, 4])
def test_six_point_cumulant_of_a_deep_linear_network(hidden):
    cumulants = metric_cumulant({k: deep_linear_moment(k, hidden) for k in (1, 2, 3)}, 3)
    leading = sum(c for p, c in cumulants.items() if sum(p) == 2)
    assert leading == 8 * hidden + 12 * hidden * (hidden - 1)
    assert not any(sum(p) < 2 for p in cumulants)


def test_relu_metric_per_layer():
    assert relu_metric_moment(1, 1) == {(0,): 1}
    assert relu_metric_moment(2, 1) == {(0,): 1, (1,): 5}
    assert relu_metric_moment(3, 1) == {(0,): 1, (1,): 15, (2,): 44}


def test_relu_four_point_vertex_adds_five_at_each_layer():
    found = metric_cumulant({k: relu_metric_moment(k, 3) for k in (1, 2)}, 2)
    assert sum(c for p, c in found.items() if sum(p) == 1) == 15


@pytest.mark.parametrize(("degrees", "points"), [((3, 1), 4), ((2, 2), 4), ((2, 1), 6)])
def test_polynomial_chain_agrees_with_the_sum_over_matchings(degrees, points):
    network = random_network(points, *((d,) for d in degrees))
    moments = {k: polynomial_metric_moment(network, k) for k in range(1, points // 2 + 1)}
    for power in moments:
        by_matchings = cumulant(network, (0,) * (2 * power), (), pairs(power))
        assert metric_cumulant(moments, power) == by_matchings
        assert by_matchings


def test_subleading_metric_of_the_third_layer():
    """G ∋ (C_W/8) V ⟨∂⁴(σσ)⟩ / n_1, and no 1/n_2 at all."""
    network = random_network(4, (3,), (4,))
    top = network.layers[1]
    found = polynomial_metric_moment(network, 1)
    kernel = polynomial_metric_moment(network.below(), 1)[0,]
    vertex = metric_cumulant({k: polynomial_metric_moment(network.below(), k) for k in (1, 2)}, 2)[
        1,
    ]
    square = _bracket(top, kernel)
    bend = Fraction(1, 4) * square(0, 4) + square(1, 3) + Fraction(3, 4) * square(2, 2)
    assert found[1, 0] == top.C_W * vertex * bend
    assert all(a == 0 for _, a in found)


def _bracket(layer, kernel):
    return lambda a, b: mean(((0, a), (0, b)), layer.activations, matrix([[kernel]]))


@pytest.mark.parametrize("hidden", [1, 2, 3, 4])
def test_deep_linear_ddntk_tensors_are_those_of_the_book(hidden):
    """(∞.46)–(∞.48) with L in the rates: exact at leading order at every ℓ = hidden + 1."""
    rate_b, rate_w = Fraction(2, 3), Fraction(5, 7)
    network = deep_linear(hidden, rate_b, rate_w)
    size = Fraction((hidden + 1) ** 2 * ((hidden + 1) ** 2 - 1), 12)
    expected = {
        "S": size * (rate_b + rate_w) ** 2 * rate_w,
        "T": size * (rate_b + rate_w) * rate_w**2,
        "U": 0,
    }
    path = ((0, 1), (0, 2), (1, 3))
    matchings = {"S": ((0, 1), (2, 3)), "T": ((0, 2), (1, 3)), "U": ((0, 3), (1, 2))}
    for name, matching in matchings.items():
        found = cumulant(network, (0,) * 4, path, matching)
        assert sum(c for p, c in found.items() if sum(p) == 1) == expected[name], name
    star = ((0, 1), (0, 2), (0, 3))
    found = cumulant(network, (0,) * 4, star, ((0, 1), (2, 3)))
    assert not any(sum(p) < 2 for p in found)


def test_second_layer_orders_that_must_cancel_do():
    network = random_network(9, (2, 2))
    found = second_layer(network, (0, 1, 0, 1, 0, 1), ((0, 1), (2, 3)), pairs(3))
    assert found[:2] == [0, 0]
    assert found[2] != 0
