"""Means of four with delta functions that meet, against Price's theorem and by hand."""

import numpy as np
import pytest
from cases import slow, swept

from symdlt.activations import activation
from symdlt.activations.activation import kinks_of
from symdlt.errors import InfiniteMeanError
from symdlt.means import KinkedMeans
from symdlt.networks.layer_means import means_of

TWO = np.array([[1.0, 0.6], [0.6, 1.7]])
FOUR = np.array(
    [[1.1, 0.3, 0.2, 0.4], [0.3, 0.9, -0.1, 0.2], [0.2, -0.1, 1.3, 0.5], [0.4, 0.2, 0.5, 1.2]]
)


def means(text, square):
    return means_of(activation(text), 6, 1e-8, False, square)


@pytest.mark.parametrize("square", [0.0, 1.0, -3.0])
def test_a_slope_that_meets_itself_is_a_step(square):
    """relu' relu' is a step: half its second derivative is half of delta'."""
    rows = np.array([[0, 0, 1, 1]])
    orders = [(0, 0, 1, 3), (0, 0, 2, 2)]
    one, other = (table[0, 0, 1, 1] for table in means("relu", square)(TWO, orders, rows))
    slope, left = 0.6 / 1.7, 1.0 - 0.6**2 / 1.7
    density = 1 / np.sqrt(2 * np.pi * 1.7)
    by_hand = -density * 2 * slope * np.sqrt(left / (2 * np.pi)) / 2  # d/dy <relu(x)^2 | y>
    assert one + other == pytest.approx(by_hand, rel=1e-9)
    assert (abs(other) > 1e-3) == (square != 0)


def test_a_slope_damped_by_its_function():
    """z theta(z) delta'(z) = -delta(z)/2, whatever smooths it."""
    rows = np.array([[0, 0, 1, 1]])
    (table,) = means("relu", 0.0)(TWO, [(0, 0, 0, 3)], rows)
    density = 1 / np.sqrt(2 * np.pi * 1.7)
    square = (1.0 - 0.6**2 / 1.7) / 2  # <relu(x)^2 | y = 0>
    assert table[0, 0, 1, 1] == pytest.approx(-density * square / 2, rel=1e-9)


@pytest.mark.parametrize("text", ["relu", slow("elu(z, 2)"), swept("where(z < 1/2, z, 1/2)")])
def test_the_derivative_of_a_delta_function_obeys_prices_theorem(text):
    step = 1e-3
    rows = np.array([[0, 1, 2, 3]])
    at = (0, 1, 2, 3)
    (table,) = means(text, 0.0)(FOUR, [(1, 0, 1, 3)], rows)
    sides = []
    for sign in (1, -1):
        K = FOUR.copy()
        K[0, 3] = K[3, 0] = FOUR[0, 3] + sign * step
        (below,) = means(text, None)(K, [(0, 0, 1, 2)], rows)
        sides.append(below[at])
    assert table[at] == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("turned", [0.7, -0.7])
def test_parallel_samples_obey_prices_theorem(turned):
    """The derivative of <f0 f1(x) f1(y) f2(y)>, with y = turned x of one line, along another."""
    step, rows = 1e-3, np.array([[0, 1, 2, 3]])

    def joint(shift):
        loads = np.array([[1.0, 0.2], [0.5, 1.1], [0.3 + shift, 0.9], [0.0, 0.0]])
        loads[3] = turned * loads[2]
        return loads @ loads.T

    def mean(orders, shift):
        (table,) = means("relu", 0.0)(joint(shift), [orders], rows)
        return table[0, 1, 2, 3]

    moved = joint(step) - joint(-step)
    found = 0.0
    orders = (0, 0, 1, 1)
    for i in range(4):
        for j in range(4):
            raised = list(orders)
            raised[i] += 1
            raised[j] += 1
            found += 0.5 * moved[i, j] / (2 * step) * mean(tuple(raised), 0.0)
    expected = (mean(orders, step) - mean(orders, -step)) / (2 * step)
    assert found == pytest.approx(expected, rel=1e-5)


def test_factors_that_vanish_damp_a_kink():
    """z^2 theta(z) delta'(z) has nothing at zero, and with a kink smoothed over 1/b it is 1/b."""
    rows, one = np.array([[0, 0, 0, 0]]), TWO[:1, :1]
    orders = [(0, 0, 1, 3), (0, 0, 0, 4), (0, 0, 2, 2)]
    for table in means("relu", 0.0)(one, orders, rows):
        assert table[0, 0, 0, 0] == 0.0
    sharp, sharper = (
        np.array([t[0, 0, 0, 0] for t in means(f"softplus({b}*z)/{b}", None)(one, orders, rows)])
        for b in (64, 128)
    )
    np.testing.assert_allclose(sharper, sharp / 2, rtol=0.02)


def test_three_that_meet_are_refused():
    for orders in ((0, 1, 1, 3), (1, 1, 1, 3), (0, 1, 2, 2)):
        with pytest.raises(InfiniteMeanError, match="or depends on how the kink is smoothed"):
            means("relu", 0.0)(TWO[:1, :1], [orders], np.array([[0, 0, 0, 0]]))
    given = activation("relu")
    refused = KinkedMeans(means("relu", None).activation, kinks_of(given))
    with pytest.raises(InfiniteMeanError, match="is infinite where samples meet"):
        refused(TWO, [(0, 0, 1, 3)], np.array([[0, 0, 1, 1]]))
