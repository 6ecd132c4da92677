"""Means of activations with kinks: the z form, closed forms, smoothed activations, networks."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from cases import slow, swept

from symdlt.activations import activation
from symdlt.kernels import numpy_activation
from symdlt.means import KernelInputError, kinked_pair_means, merged_means, pair_means

ORDERS = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (2, 2), (0, 4), (2, 3)]
TEXTS = (
    "relu",
    "leaky_relu",
    "abs(z)",
    "elu(z, 2)",
    "elu",
    "selu",
    "relu(z - 1)",
    "max(-1, min(z, 1))",
    "sign(z + 1/2) + tanh(z)",
    "where(z < 1, tanh(z), z**2)",
)
ALIKE = ("leaky_relu", "abs(z)", "elu", "selu")  # kinks at zero, as others have


def given(text, order=5):
    functions = numpy_activation(text, order).functions
    kinks = activation(text).kinks(order)
    return functions, [(float(k.position), [float(j) for j in k.jumps]) for k in kinks]


def two(Ki, Kj, rho):
    off = rho * math.sqrt(Ki * Kj)
    return np.array([[Ki, off], [off, Kj]])


def panels(edges, count=64):
    x, w = np.polynomial.legendre.leggauss(count)
    edges = np.sort(np.clip(edges, -11.0, 11.0))
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[1:, None] + edges[:-1, None]) / 2 + half * x
    return nodes.ravel(), (half * w * np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)).ravel()


def density_derivatives(inverse, z):
    """The derivatives of the density of z by -z_i (m times) and -z_j (n times) over itself."""
    p, table = np.tensordot(inverse, z, 1), {}

    def entry(m, n):
        if m < 0 or n < 0:
            return 0.0
        if (m, n) not in table:
            if m:
                value = p[0] * entry(m - 1, n) - (m - 1) * inverse[0, 0] * entry(m - 2, n)
                table[m, n] = value - n * inverse[0, 1] * entry(m - 1, n - 1)
            elif n:
                table[m, n] = p[1] * entry(0, n - 1) - (n - 1) * inverse[1, 1] * entry(0, n - 2)
            else:
                table[m, n] = np.ones_like(p[0])
        return table[m, n]

    return entry


def z_form(f, places, K, orders):
    """<f^(a) f^(b)> from f alone: all derivatives act on the density of both z."""
    si, sj, rho = math.sqrt(K[0, 0]), math.sqrt(K[1, 1]), K[0, 1] / math.sqrt(K[0, 0] * K[1, 1])
    c = math.sqrt(1 - rho**2)
    x, u = panels([-11.0, 0.0, 11.0, *(places / si)])
    inner = [panels([-11.0, 0.0, 11.0, *((places / sj - rho * xi) / c)]) for xi in x]
    y, v = (np.array(part) for part in zip(*inner, strict=True))
    z = np.array([si * x[:, None] + 0 * y, sj * (rho * x[:, None] + c * y)])
    weighted = u[:, None] * v * f(z[0]) * f(z[1])
    entry = density_derivatives(np.linalg.inv(K), z)
    return [np.sum(weighted * entry(a, b)) for a, b in orders]


@pytest.mark.parametrize("text", [swept(t) if t in ALIKE else t for t in TEXTS])
@pytest.mark.parametrize(("Ki", "Kj", "rho"), [slow(1.0, 1.7, 0.4), (2.3, 0.6, -0.96)])
def test_distributions_against_the_z_form(text, Ki, Kj, rho):
    functions, kinks = given(text)
    K = two(Ki, Kj, rho)
    found = kinked_pair_means(functions, kinks, K, ORDERS)
    places = np.array([place for place, _ in kinks])
    references = z_form(functions[0], places, K, ORDERS)
    for order, matrix, exact in zip(ORDERS, found, references, strict=True):
        scale = max(1.0, abs(exact)) / (1 - rho**2) ** (sum(order) / 2)
        assert abs(matrix[0, 1] - exact) < 1e-12 * scale, order


@pytest.mark.parametrize("rho", [0.3, -0.95, 0.99, 1 - 1e-6, -1 + 1e-10])
@pytest.mark.parametrize("K", [1e-12, 1.0, 25.0])
def test_relu_against_closed_forms(K, rho):
    functions, kinks = given("relu")
    orders = [(0, 0), (1, 1), (0, 2), (1, 2), (2, 2), (1, 3)]
    matrix = two(K, 4 * K, rho)
    found = kinked_pair_means(functions, kinks, matrix, orders)
    with mpmath.workdps(30):
        s = mpmath.sqrt(mpmath.mpf(K))
        r = mpmath.mpf(matrix[0, 1]) / (2 * s**2)
        c, angle = mpmath.sqrt(1 - r**2), mpmath.acos(r)
        exact = (
            2 * s**2 * (c + (mpmath.pi - angle) * r) / (2 * mpmath.pi),
            (mpmath.pi - angle) / (2 * mpmath.pi),
            c / (4 * mpmath.pi),
            1 / (4 * s * mpmath.sqrt(2 * mpmath.pi)),
            1 / (4 * mpmath.pi * s**2 * c),
            -r / (8 * mpmath.pi * s**2 * c),
        )
    for (a, b), matrix, value in zip(orders, found, exact, strict=True):
        scale = K ** (1 - (a + b) / 2) * max(1.0, float(abs(value * s ** (a + b - 2))))
        rounding = 4e-16 / (1 - rho**2) ** (1 if a + b > 3 else 0.5)
        assert abs(matrix[0, 1] - value) < (1e-13 + rounding) * scale, (a, b)


@pytest.mark.parametrize("text", ["elu(z, 2)", "selu", "relu(z - 1)"])
@pytest.mark.parametrize("rho", [0.8, 0.99999, -1 + 1e-9])
def test_exponentials_and_thresholds_at_large_variance(text, rho):
    functions, kinks = given(text)
    K = two(25.0, 9.0, rho)
    found = kinked_pair_means(functions, kinks, K, [(0, 0), (1, 1), (0, 1)])
    turned = kinked_pair_means(functions, kinks, K[::-1, ::-1], [(0, 0), (1, 1), (1, 0)])
    for one, other in zip(found, turned, strict=True):
        scale = max(math.sqrt(one[0, 0] * one[1, 1]), 1.0)
        assert abs(one[0, 1] - other[0, 1]) < (2e-13 + 1e-16 / math.sqrt(1 - rho**2)) * scale


@pytest.mark.parametrize("text", TEXTS)
def test_coincident_means_obey_integration_by_parts(text):
    functions, kinks = given(text)
    variances = np.array([0.7, 2.0])
    found = merged_means(
        functions, kinks, variances, [(0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 0, 4), (1, 1, 2)]
    )
    places = [place for place, _ in kinks]
    for sample, K in enumerate(variances):
        s = math.sqrt(K)
        x, w = panels([-11.0, 0.0, 11.0, *(np.array(places) / s)])
        square, slopes = functions[0](s * x) ** 2, functions[1](s * x) ** 2
        polynomials = np.polynomial.hermite_e.hermevander(x, 4).T
        exact = [
            w @ (square * polynomials[k]) / K ** (k / 2) / math.factorial(k) for k in (1, 2, 3, 4)
        ]
        if all(jumps[0] == 0 for _, jumps in kinks):
            exact.append(w @ (slopes * polynomials[2]) / K / 2)
        for values, value in zip(found, exact, strict=False):
            assert values[sample] == pytest.approx(value, rel=1e-12, abs=1e-12)


def softplus(beta):
    def sigmoid(z):
        return 0.5 * (1 + np.tanh(beta * z / 2))

    return [
        lambda z: np.logaddexp(0.0, beta * z) / beta,
        sigmoid,
        lambda z: beta * sigmoid(z) * sigmoid(-z),
        lambda z: beta**2 * sigmoid(z) * sigmoid(-z) * (1 - 2 * sigmoid(z)),
        lambda z: beta**3 * sigmoid(z) * sigmoid(-z) * (1 - 6 * sigmoid(z) * sigmoid(-z)),
    ]


def test_limit_of_smoothed_relu():
    functions, kinks = given("relu")
    orders = [(0, 0), (1, 1), (0, 2), (1, 2), (1, 3), (2, 2), (0, 3), (0, 4)]
    K = two(1.0, 1.5, 0.4)
    limits = [np.array(pair_means(softplus(12.0 * 2**k), K, orders)) for k in range(5)]
    for power in range(1, 5):
        limits = [b + (b - a) / (2**power - 1) for a, b in pairwise(limits)]
    limit = limits[0]
    found = np.array(kinked_pair_means(functions, kinks, K, orders))
    np.testing.assert_allclose(found[:, 0, 1], limit[:, 0, 1], atol=2e-5)
    finite, merged = [0, 1, 2, 3, 6], [(4, 5), (7, 4)]
    diagonal = np.einsum("kii->ki", found)
    smooth = np.einsum("kii->ki", limit)
    np.testing.assert_allclose(diagonal[finite], smooth[finite], atol=2e-5)
    for a, b in merged:
        np.testing.assert_allclose(diagonal[a] + diagonal[b], smooth[a] + smooth[b], atol=1e-3)


@pytest.mark.parametrize(("scale", "sign"), [(1.0, 1), (2.0, 1), (1.0, -1), (0.5, -1)])
@pytest.mark.parametrize("text", ["elu(z, 2)", "max(-1, min(z, 1))", "relu(z - 1)"])
def test_collinear_samples_are_the_limit_of_nearby_ones(text, scale, sign):
    functions, kinks = given(text)
    orders = [(0, 0), (0, 1), (1, 1), (0, 2)]
    at = kinked_pair_means(functions, kinks, two(1.0, scale**2, sign), orders)
    near = kinked_pair_means(functions, kinks, two(1.0, scale**2, sign * (1 - 1e-12)), orders)
    for one, other in zip(at, near, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    lone = scale != 1.0 and text != "elu(z, 2)"
    if lone:
        orders = [(2, 2), (1, 3), (1, 2)]
        at = kinked_pair_means(functions, kinks, two(1.0, scale**2, sign), orders)
        near = kinked_pair_means(functions, kinks, two(1.0, scale**2, sign * (1 - 1e-8)), orders)
        for one, other in zip(at, near, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("text", ["relu", "elu(z, 2)"])
def test_leibniz_rule_for_proportional_samples(text):
    functions, kinks = given(text)
    K = np.array([[1.0, 2.0], [2.0, 4.0]])
    x, w = panels([-11.0, 0.0, 11.0])
    found = {
        order: matrix[0, 1]
        for order, matrix in zip(
            [(1, 3), (2, 2), (3, 1)],
            kinked_pair_means(functions, kinks, K, [(1, 3), (2, 2), (3, 1)]),
            strict=True,
        )
    }
    exact = w @ (functions[1](x) * functions[1](2 * x) * (x**2 - 1))
    total = 4 * found[1, 3] + 2 * 2 * found[2, 2] + found[3, 1]
    assert total == pytest.approx(exact, abs=1e-12)


@pytest.mark.montecarlo
def test_one_layer_of_real_networks():
    functions, kinks = given("relu")
    x = np.array([[1.0, 0.5], [0.9, 0.7], [-0.3, 1.0]])
    K = x @ x.T
    found = kinked_pair_means(functions, kinks, K, [(0, 0), (1, 1)])
    z = np.random.default_rng(5).standard_normal((400_000, 2)) @ x.T
    for values, matrix in zip((np.maximum(z, 0.0), 1.0 * (z > 0.0)), found, strict=True):
        products = values[:, :, None] * values[:, None]
        error = products.std(axis=0) / math.sqrt(len(z))
        assert (np.abs(products.mean(axis=0) - matrix) < 4.5 * error).all()


def test_many_samples_with_duplicates_and_near_duplicates():
    functions, kinks = given("elu")
    x = np.random.default_rng(1).standard_normal((12, 5))
    x[3], x[4], x[5] = x[2], -x[2], x[2] + 1e-7
    K = x @ x.T / 5
    found = kinked_pair_means(functions, kinks, K, [(0, 0), (1, 1), (1, 2)])
    for a, b in ((0, 1), (2, 3), (2, 4), (2, 5), (7, 4)):
        pair = kinked_pair_means(
            functions, kinks, K[np.ix_([a, b], [a, b])], [(0, 0), (1, 1), (1, 2)]
        )
        for one, other in zip(found, pair, strict=True):
            np.testing.assert_allclose(one[a, b], other[0, 1], atol=1e-12)
    for matrix in found[:2]:
        np.testing.assert_allclose(matrix[3], matrix[2], atol=1e-13)


RELU = [lambda z: np.maximum(z, 0.0), lambda z: 1.0 * (z >= 0.0), lambda z: 0.0 * z]
KINK = [(0.0, (0.0, 1.0, 0.0))]


@pytest.mark.parametrize(
    ("functions", "kinks", "K", "orders", "message"),
    [
        (RELU, [], np.eye(2), [(1, 1)], "all kinks with their jumps"),
        (RELU, [(0.0, (0.0, 2.0, 0.0))], np.eye(2), [(1, 1)], "not the derivative"),
        (RELU, [(0.5, (0.0, 1.0, 0.0))], np.eye(2), [(1, 1)], "with the given kinks fails"),
        (RELU, [(0.0, (0.0, 1.0))], np.eye(2), [(1, 1)], "as many jumps"),
        (RELU, [(0.0, (0.0, math.nan, 0.0))], np.eye(2), [(1, 1)], "finite"),
        (RELU, 2 * KINK, np.eye(2), [(1, 1)], "repeat"),
        (RELU, [1.0], np.eye(2), [(1, 1)], "as many jumps"),
        (RELU[:2], [(0.0, (0.0, 1.0))], np.eye(2), [(2, 0)], "orders"),
        (RELU, KINK, np.diag([0.0, 1.0]), [(1, 1)], "variance zero"),
        (RELU, KINK, np.array([[1.0, 2.0], [2.0, 1.0]]), [(1, 1)], "correlation"),
        (RELU, KINK, np.eye(2) * 1e-310, [(2, 2)], "overflow"),
        (RELU, KINK, np.full((2, 2), math.nan), [(1, 1)], "diagonal"),
        ([*RELU, RELU[2]], [(0.0, (0, 1, 0, 0))], np.eye(2), [(3, 3)], "need 5 functions"),
    ],
)
def test_refusals(functions, kinks, K, orders, message):
    with pytest.raises(KernelInputError, match=message):
        kinked_pair_means(functions, kinks, K, orders)


@pytest.mark.parametrize("task", [(0, 0, -1), (0, 0), (1, 1, 2), (0.5, 0, 1)])
def test_merged_means_of_derivatives_that_are_not_given(task):
    with pytest.raises(KernelInputError, match="derivatives"):
        merged_means(RELU, KINK, [1.0], [task])


@pytest.mark.parametrize("variances", [[0.0], [-1.0], [math.inf], [], 1.0, ["a"]])
def test_merged_means_need_positive_variances(variances):
    with pytest.raises(KernelInputError, match="positive"):
        merged_means(RELU, KINK, variances, [(0, 0, 2)])
