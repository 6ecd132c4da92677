"""Means of softmax: Price's theorem, lattices, and scores that are the same or none."""

import numpy as np
import pytest

from symdlt.errors import KernelError
from symdlt.means import softmax, softmax_means

RNG = np.random.default_rng(4)
KEYS = [3, 3]


def rows(count, positions):
    """A covariance, and forms, of some rows of scores."""
    size = count * positions
    root = RNG.standard_normal((size, size)) / size**0.5
    shape = (count, positions, count, positions)
    forms = [RNG.standard_normal((size, size)) for _ in range(3)]
    return [one.reshape(shape) for one in (root @ root.T, *(form + form.T for form in forms))]


def test_the_edge_is_the_slope_along_the_covariance_of_two_rows():
    """d<F>/dK_xy = <∂_x ∂_y F> (R. Price, 1958), here along Θ, by differences of the means."""
    covariance, values, _, ntk = rows(2, 3)
    zero, step = np.zeros_like(values), 1e-4
    across = np.zeros_like(ntk)
    across[0, :, 1], across[1, :, 0] = ntk[0, :, 1], ntk[1, :, 0]
    high, low = (
        softmax_means(covariance + sign * step * across, values, zero, ntk, KEYS, 1e-10)[0][0, 1]
        for sign in (1, -1)
    )
    edge = softmax_means(covariance, values, zero, ntk, KEYS, 1e-10)[1][0, 1]
    np.testing.assert_allclose((high - low) / (2 * step), edge, rtol=1e-6)


def test_parts_add_up_to_one():
    covariance, values, edges, ntk = rows(3, 3)
    ones = np.ones_like(values)
    average, moved = softmax_means(covariance, ones, 0 * edges, ntk, [3, 1, 2], 1e-9)
    np.testing.assert_allclose(average, 1.0, rtol=1e-12)
    np.testing.assert_allclose(moved, 0.0, atol=1e-12)


def test_what_all_scores_of_a_row_have_in_common_does_nothing():
    covariance, *forms = rows(2, 3)
    shifted = covariance + 5.0 * np.array([[2.0, 1.0], [1.0, 3.0]])[:, None, :, None]
    first, second = (softmax_means(one, *forms, KEYS, 1e-9) for one in (covariance, shifted))
    np.testing.assert_allclose(first, second, rtol=1e-7)


def test_lattices_are_as_close_as_their_scatter_says(monkeypatch):
    given = rows(2, 3)
    exact = np.array(softmax_means(*given, KEYS, 1e-10))
    monkeypatch.setattr(softmax, "FEW", 0)
    values, edges, ntk = (np.abs(one).max() for one in given[1:])
    sizes = np.array([values, edges + values * ntk])
    for tolerance in (1e-3, 1e-4, 1e-5):
        found = np.array(softmax_means(*given, KEYS, tolerance))
        deviation = np.abs(found - exact).max(axis=(1, 2)) / sizes
        assert deviation.max() <= tolerance


def test_steep_scores_are_left_to_lattices_and_refused_where_these_are_not_enough():
    covariance, *forms = rows(2, 3)
    near = softmax_means(1e4 * covariance, *forms, KEYS, 1e-2)[0]
    assert np.isfinite(near).all()
    with pytest.raises(KernelError, match="could be had to about"):
        softmax_means(1e4 * covariance, *forms, KEYS, 1e-9)
