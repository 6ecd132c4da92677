"""Four samples of the ReLU family against one-dimensional integrals and identities."""

import math
from itertools import product

import numpy as np
import pytest
from means.test_kinked import panels

from symdlt.means import (
    KernelInputError,
    closed_pair_means,
    kinked_pair_means,
    relu_quadruple_means,
)

SLOPES = [(0.0, 1.0), (-0.3, 1.2)]
ORDERS = [(0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1), (0, 1, 1, 0), (2, 1, 1, 0), (2, 1, 1, 1)]
TUPLES = [(0, 1, 2, 3), (3, 1, 2, 0), (0, 0, 1, 2), (1, 2, 1, 3), (2, 0, 2, 0), (1, 1, 1, 2)]
TUPLES += [(1, 1, 1, 1), (3, 0, 0, 0), (0, 1, 1, 1)]


def conditional_mean(p, q, r, left, right, centre, tau):
    """<f^p f'^q f''^r> over z of a mean and a deviation."""
    if r:
        density = np.exp(-((centre / tau) ** 2) / 2) / (tau * math.sqrt(2 * math.pi))
        return density * (0.0 if p else (right ** (q + 1) - left ** (q + 1)) / (q + 1))
    kink = np.clip(-centre[:, None] / tau, -11.0, 11.0)
    edges = np.sort(np.hstack([kink, 0.0 * kink, 0.0 * kink - 11.0, 0.0 * kink + 11.0]))
    x, w = np.polynomial.legendre.leggauss(48)
    half = np.diff(edges)[..., None] / 2
    y = (edges[:, 1:] + edges[:, :-1])[..., None] / 2 + half * x
    z = centre[:, None, None] + tau * y
    slope = np.where(z > 0, right, left)
    density = half * w * np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi)
    return np.sum(density * (slope * z) ** p * slope**q, axis=(1, 2))


@pytest.mark.parametrize(("left", "right"), SLOPES)
@pytest.mark.parametrize("rho", [0.5, 0.99])
@pytest.mark.parametrize("orders", ORDERS)
def test_equal_correlations(left, right, rho, orders):
    roots = np.array([1.0, 0.3, 2.0, 1.4])
    K = np.outer(roots, roots) * (rho + (1 - rho) * np.eye(4))
    found = relu_quadruple_means(K, orders, left, right)
    g, u = panels([-11.0, 0.0, 11.0, *(k * math.sqrt(1 - rho) for k in (-8, 8))])
    for names in TUPLES:
        value, size = u, 1.0
        for sample in set(names):
            here = [order for name, order in zip(names, orders, strict=True) if name == sample]
            counts = [here.count(order) for order in range(3)]
            value = value * conditional_mean(
                *counts, left, right, math.sqrt(rho) * g, math.sqrt(1 - rho)
            )
            size *= roots[sample] ** (counts[0] - counts[2])
        assert found[names] == pytest.approx(size * value.sum(), abs=1e-10 * max(size, 1.0)), names


@pytest.mark.parametrize("orders", ORDERS[:4])
@pytest.mark.parametrize("third", [2.0, 0.7 + 1e-3, 0.7 + 1e-7, 0.7 + math.pi])
def test_samples_in_a_plane(orders, third):
    angles = np.array([0.1, 0.7, third, -1.1])
    x = np.array([np.cos(angles), np.sin(angles)]).T
    found = relu_quadruple_means(x @ x.T, orders)
    kinks = (angles[:, None] + math.pi / 2 * np.array([-1, 1]) + math.pi) % (2 * math.pi) - math.pi
    ends = np.sort(np.concatenate([[-math.pi, 0.0, math.pi], kinks.ravel()]))
    node, weight = np.polynomial.legendre.leggauss(40)
    half = np.diff(ends)[:, None] / 2
    turn = ((ends[1:] + ends[:-1])[:, None] / 2 + half * node).ravel()
    weights = (half * weight).ravel() / (2 * math.pi)
    radial = {4: 8.0, 2: 2.0, 0: 1.0}[orders.count(0)]
    z = np.cos(turn - angles[:, None])
    for names in TUPLES:
        values = [
            np.maximum(z[name], 0.0) if order == 0 else 1.0 * (z[name] > 0)
            for name, order in zip(names, orders, strict=True)
        ]
        exact = radial * weights @ np.prod(values, axis=0)
        assert found[names] == pytest.approx(exact, abs=3e-7), names


@pytest.mark.parametrize(("left", "right"), SLOPES)
def test_pairs_within_quadruples(left, right):
    x = np.random.default_rng(3).standard_normal((3, 5))
    K = x @ x.T / 5
    found = relu_quadruple_means(K, (0, 0, 1, 1), left, right)
    slopes = relu_quadruple_means(K, (1, 1, 1, 1), left, right)
    for i, j in product(range(3), repeat=2):
        square = closed_pair_means("relu", K, [(1, 1)], left=left**2, right=right**2)[0]
        assert slopes[i, i, j, j] == pytest.approx(square[i, j], abs=1e-10)
    np.testing.assert_allclose(found, found.transpose(1, 0, 3, 2), atol=1e-13)
    order = [2, 0, 1]
    moved = relu_quadruple_means(K[np.ix_(order, order)], (0, 0, 1, 1), left, right)
    np.testing.assert_allclose(moved, found[np.ix_(order, order, order, order)], atol=1e-10)


def test_delta_functions_are_the_derivatives_of_steps():
    x = np.random.default_rng(4).standard_normal((4, 6))
    K, step = x @ x.T / 6, 1e-4
    shifts = []
    for sign in (1, -1):
        moved = K.copy()
        moved[0, 3] += sign * step
        moved[3, 0] += sign * step
        shifts.append(relu_quadruple_means(moved, (1, 1, 1, 0))[0, 1, 2, 3])
    slope = relu_quadruple_means(K, (2, 1, 1, 1))[0, 1, 2, 3]
    assert (shifts[0] - shifts[1]) / (2 * step) == pytest.approx(slope, abs=1e-6)


def merging(distance, orders):
    x = np.random.default_rng(6).standard_normal((4, 5))
    x[1] = x[0] + distance * np.array([0.3, -1.0, 0.5, 0.8, 0.1])
    return x @ x.T, relu_quadruple_means(x @ x.T, orders)


def test_sources_of_p_jump_as_samples_merge_but_not_on_average():
    at, left, right = (merging(d, (2, 1, 1, 0))[1] for d in (0.0, -1e-4, 1e-4))
    assert abs(left[0, 1, 2, 3] - right[0, 1, 2, 3]) > 0.01
    mean = (left[0, 1, 2, 3] + right[0, 1, 2, 3]) / 2
    assert mean == pytest.approx(at[0, 0, 2, 3], abs=1e-7)


@pytest.mark.parametrize("distance", [-1e-3, 1e-3])
def test_infinite_parts_cancel_in_the_recursion_of_a(distance):
    K, four = merging(distance, (0, 0, 1, 1))
    relu = [lambda z: np.maximum(z, 0.0), lambda z: 1.0 * (z > 0), *2 * [lambda z: 0.0 * z]]
    orders = [(3, 1), (2, 2), (1, 3)]
    means = kinked_pair_means(relu, [(0.0, (0.0, 1.0, 0.0, 0.0))], K, orders)
    tensors = four[0, 0, 2, 3] / 2, four[0, 1, 2, 3], four[1, 1, 2, 3] / 2
    terms = [mean[0, 1] * tensor for mean, tensor in zip(means, tensors, strict=True)]
    assert abs(sum(terms)) < 1e-3 < 1.0 < abs(terms[1])


def test_few_digits_of_dependent_samples():
    x = np.random.default_rng(4).standard_normal((4, 2))
    K = x @ x.T
    rounded = np.round(K, 11)
    for orders in ORDERS[:4]:
        found = relu_quadruple_means(rounded, orders)
        np.testing.assert_allclose(found, relu_quadruple_means(K, orders), atol=1e-5)


def test_duplicates_have_equal_rows():
    x = np.random.default_rng(4).standard_normal((4, 3))
    x[2] = x[0]
    K = x @ x.T
    for orders in ORDERS:
        found = relu_quadruple_means(K, orders)
        np.testing.assert_array_equal(found[2], found[0])
        np.testing.assert_array_equal(found[:, :, :, 2], found[:, :, :, 0])


@pytest.mark.parametrize(
    ("K", "orders", "slopes", "message"),
    [
        (np.eye(2), (0, 0, 0), (0.0, 1.0), "four of"),
        (np.eye(2), (2, 2, 0, 0), (0.0, 1.0), "four of"),
        (np.eye(2), (0, 0, 0, 3), (0.0, 1.0), "four of"),
        (np.eye(2), (0, 0, 0, 0), (0.0, math.inf), "slopes"),
        (np.diag([0.0, 1.0]), (0, 0, 0, 0), (0.0, 1.0), "variance zero"),
        (np.ones((2, 3)), (0, 0, 0, 0), (0.0, 1.0), "shape"),
        (1.9 * np.eye(3) - 0.9, (0, 0, 0, 0), (0.0, 1.0), "eigenvalue"),
    ],
)
def test_refusals(K, orders, slopes, message):
    with pytest.raises(KernelInputError, match=message):
        relu_quadruple_means(K, orders, *slopes)
