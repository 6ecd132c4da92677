"""Projectors against the book's, and against the dynamics that they are to sum up."""

from itertools import permutations

import numpy as np
import pytest
import sympy as sp

from symdlt.training import GradientDescent, GradientFlow, TwoStep, projectors, train_network

from .dynamics import iterated

eta, h1, h2, h3 = sp.symbols("eta h_1 h_2 h_3", positive=True)


def X(*h):
    """The inverting tensors (∞.112)–(∞.116) in the eigenbasis: η times the sum over all steps."""
    return eta / (1 - sp.prod([1 - eta * value for value in h]))


def Y1(a, b, c):
    return X(a, b) / c - X(a, b, c) / c


def Y2(a, b):
    return 1 / (a * b) - X(a, b) / b


def Y3(a, b, c):
    return 1 / (a * b * c) - X(a, b) / (b * c) - X(b, c) / (a * c) + X(b, c) * X(a, b, c) / c


def Y4(a, b, c):
    return X(b, c) / a - X(b, c) * X(a, b, c)


def permuted(expression, *orders):
    """The mean over orders of the modes."""
    found = [expression(*order) for order in orders]
    return sum(found) / len(found)


BOOK = {
    "dNTK-A": (lambda a, b: Y2(a, b), [(h1, h2)]),
    "dNTK-B": (lambda a, b: Y2(a, b) + eta / 2 * X(a, b), list(permutations((h1, h2)))),
    "ddNTK-IA": (
        lambda a, b, c: -Y3(a, b, c) - eta / 2 * Y4(a, b, c),
        [(h1, h2, h3), (h1, h3, h2)],
    ),
    "ddNTK-IB": (
        lambda a, b, c: (
            -Y3(a, b, c) - eta / 2 * (Y4(a, b, c) + Y1(a, b, c)) - eta**2 / 6 * X(a, b, c)
        ),
        list(permutations((h1, h2, h3))),
    ),
    "ddNTK-IIA": (lambda a, b, c: -Y3(a, b, c), [(h1, h2, h3)]),
    "ddNTK-IIB": (
        lambda a, b, c: (
            -Y3(a, b, c) - Y3(b, a, c) - Y3(a, c, b) - eta * (Y4(a, b, c) + Y1(a, b, c))
        ),
        [(h1, h2, h3)],
    ),
}


@pytest.mark.parametrize("name", projectors())
def test_projectors_of_gradient_descent_are_those_of_the_book(name):
    book, orders = BOOK[name]
    modes = (h1, h2, h3)[: len(orders[0])]
    ours = projectors()[name].expression()

    def value(*order):
        return ours.subs(dict(zip(modes, order, strict=True)), simultaneous=True)

    difference = permuted(value, *orders) - permuted(book, *orders)
    rng = np.random.default_rng(0)
    for _ in range(6):
        numbers = [sp.Rational(*rng.integers(1, 1000, 2).tolist()) for _ in range(4)]
        assert difference.subs(dict(zip((eta, h1, h2, h3), numbers, strict=True))) == 0


@pytest.mark.parametrize("name", projectors())
def test_gradient_flow_is_the_limit_of_small_steps(name):
    projector = projectors()[name]
    limit = sp.limit(projector.expression(), eta, 0)
    assert sp.cancel(limit - projector.expression(GradientFlow())) == 0


def test_single_mode_values_of_the_book():
    one = sp.Integer(1)
    flow = {
        name: p.expression(GradientFlow()).subs({h1: 1, h2: 1, h3: 1})
        for name, p in projectors().items()
    }
    sixth = -one / 6
    assert list(flow.values()) == [one / 2, one / 2, sixth, sixth, sixth, -one / 2]
    found = projectors()["dNTK-A"].expression().subs(h2, h1)
    assert sp.cancel(found - (1 - eta * h1) / (h1**2 * (2 - eta * h1))) == 0


def test_two_steps_leave_only_the_trees_with_the_output_in_the_middle():
    found = {name: p.expression(TwoStep()) for name, p in projectors().items()}
    assert found.pop("dNTK-B") == 1 / (2 * h1 * h2)
    assert found.pop("ddNTK-IB") == -1 / (6 * h1 * h2 * h3)
    assert set(found.values()) == {0}


def symmetric(array, orders):
    return sum(array.transpose(order) for order in orders) / len(orders)


def random_network(seed, samples, train, size):
    """z, H and curvature of a given size with the symmetries of their definitions, and targets."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((samples, samples + 3))
    ntk = features @ features.T / (samples + 3) + 0.3 * np.eye(samples)
    three, four = ((samples,) * k for k in (3, 4))
    stars = [(0, *order) for order in permutations((1, 2, 3))]
    return (
        rng.standard_normal(samples),
        ntk,
        size * symmetric(rng.standard_normal(three), [(0, 1, 2), (0, 2, 1)]),
        size * symmetric(rng.standard_normal(four), stars),
        size * symmetric(rng.standard_normal(four), [(0, 1, 2, 3), (1, 0, 3, 2)]),
        rng.standard_normal(train),
    )


SCHEDULES = {
    "to the end": (lambda h: GradientDescent(0.7 / h), lambda h: [0.7 / h] * 1500),
    "large steps": (lambda h: GradientDescent(1.6 / h), lambda h: [1.6 / h] * 1500),
    "some steps": (lambda h: GradientDescent(0.4 / h, steps=9), lambda h: [0.4 / h] * 9),
    "a list": (
        lambda h: GradientDescent([0.1 / h, 1.2 / h, 0.5 / h]),
        lambda h: [0.1 / h, 1.2 / h, 0.5 / h],
    ),
}


@pytest.mark.parametrize(("seed", "samples", "train"), [(0, 5, 3), (1, 4, 1), (2, 4, 2)])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_iterated_dynamics_agree_to_first_order(schedule, seed, samples, train):
    algorithm, steps = SCHEDULES[schedule]
    errors = []
    for size in (1e-3, 1e-4):
        given = random_network(seed, samples, train, size)
        h = np.linalg.eigvalsh(given[1][:train, :train])[-1]
        predicted = train_network(*given, algorithm(h)).ravel()
        z, _, _ = iterated(*given, steps(h))
        errors.append(np.abs(z[train:] - predicted).max())
    assert errors[1] < 1e-4
    assert 60 < errors[0] / errors[1] < 160


def test_the_flow_is_approached_by_many_small_steps():
    given = random_network(5, 5, 3, 0.01)
    exact = train_network(*given, GradientFlow(2.0))
    coarse, fine = (train_network(*given, GradientDescent(2.0 / n, steps=n)) for n in (1000, 2000))
    assert np.abs(2 * fine - coarse - exact).max() < 1e-6
    ended = train_network(*given, GradientFlow())
    assert np.abs(train_network(*given, GradientFlow(2000.0)) - ended).max() < 1e-10
