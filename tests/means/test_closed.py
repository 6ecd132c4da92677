"""Closed forms against mpmath, against quadrature for all orders, and as limits."""

import math

import mpmath
import numpy as np
import pytest
from cases import slow
from kernels.kernel_reference import functions
from means.test_kinked import given, two
from means.test_pairs import CORRELATIONS, SMOOTH, VARIANCES, correlated, norms, plain_mean

from symdlt.means import KernelInputError, closed_pair_means, kinked_pair_means, pair_means
from symdlt.means.families import GENERAL

ORDERS = [(a, b) for a in range(4) for b in range(4)]


def tilted_sine(order, z, lib):
    return 1.3**order * lib.sin(1.3 * z + 0.4 + order * math.pi / 2)


def cubic(order, z, lib):
    return np.polynomial.polynomial.polyval(
        z, np.polynomial.polynomial.polyder([0.3, -1.0, 0.5, 0.2], order)
    )


SMOOTH_FAMILIES = {
    "erf": (SMOOTH["erf"], "erf", {}),
    "gelu": (SMOOTH["gelu"], "gelu", {}),
    "sin": (SMOOTH["sin"], "sin", {}),
    "tilted sine": (tilted_sine, "sin", {"frequency": 1.3, "phase": 0.4}),
    "cubic": (cubic, "polynomial", {"coefficients": (0.3, -1.0, 0.5, 0.2)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH_FAMILIES)
@pytest.mark.parametrize("K", VARIANCES)
def test_smooth_families_against_quadrature(name, K):
    function, family, parameters = SMOOTH_FAMILIES[name]
    f = functions(function, 4)
    scales = [norms(f, two(K, 0.37 * K, 0.0), order)[0, 1] for order in ORDERS]
    for rho in CORRELATIONS:
        found = closed_pair_means(family, two(K, 0.37 * K, rho), ORDERS, **parameters)
        for (a, b), matrix, scale in zip(ORDERS, found, scales, strict=True):
            exact = plain_mean(f, a, b, K, 0.37 * K, rho)
            assert abs(matrix[0, 1] - exact) < 1e-13 * scale + 1e-300, (a, b, rho)


@pytest.mark.parametrize("family", [slow("erf"), "gelu"])
def test_thirty_digits(family):
    f = {
        "erf": lambda z: mpmath.erf(z),
        "gelu": lambda z: z * mpmath.ncdf(z),
    }[family]
    rho = mpmath.mpf("0.9")
    with mpmath.workdps(30):
        h = mpmath.mpf("0.2")
        x = [h * k for k in range(-55, 56)]
        w = [h * mpmath.npdf(t) for t in x]
        c = mpmath.sqrt(1 - rho**2)
        inner = [mpmath.fdot(w, [f(rho * s + c * t) for t in x]) for s in x]
        exact = mpmath.fdot(w, [f(s) * i for s, i in zip(x, inner, strict=True)])
    found = closed_pair_means(family, two(1.0, 1.0, 0.9), [(0, 0)])[0][0, 1]
    assert found == pytest.approx(float(exact), rel=4e-15)


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [("relu", 0.0, 1.0), ("leaky_relu", 0.01, 1.0), ("abs(z)", -1.0, 1.0)],
)
@pytest.mark.parametrize("K", [1e-12, 1.0, 25.0])
def test_relu_family_against_panels(text, left, right, K):
    f, kinks = given(text)
    orders = [(a, b) for a, b in ORDERS if a + b < 5]
    for rho in (0.0, 0.3, -0.7, 0.97, -0.999, 1.0, -1.0):
        matrix = two(K, 0.37 * K, rho)
        found = closed_pair_means("relu", matrix, orders, left=left, right=right)
        panels = kinked_pair_means(f, kinks, matrix, orders)
        for (a, b), one, other in zip(orders, found, panels, strict=True):
            scale = (0.3 * K) ** (1 - (a + b) / 2) / (1 - min(rho**2, 0.999)) ** (max(a, b) / 2)
            np.testing.assert_allclose(one, other, atol=2e-13 * scale, err_msg=f"{a} {b} {rho}")


@pytest.mark.parametrize("family", ["erf", "gelu", "relu"])
def test_layers_are_the_general_forms(family):
    K = correlated(130, 60)
    K[7], K[:, 7] = K[5], K[:, 5]
    K[7, 7] = K[5, 5]
    found = closed_pair_means(family, K, [(0, 0), (1, 1)])
    variances = K.diagonal()
    general = GENERAL[family](K, variances[:, None], variances, [(0, 0), (1, 1)])
    for one, other in zip(found, general, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)
        np.testing.assert_array_equal(one[7], one[5])


@pytest.mark.parametrize("family", ["erf", "gelu", "sin"])
def test_means_of_zero_samples(family):
    K = np.diag([0.0, 1.0])
    f = functions(SMOOTH[family], 4)
    for order, matrix in zip(ORDERS, closed_pair_means(family, K, ORDERS), strict=True):
        np.testing.assert_allclose(matrix, pair_means(f, K, [order])[0], atol=1e-14)


def test_kernel_of_zero_samples_for_relu():
    K = np.diag([0.0, 1.0])
    np.testing.assert_array_equal(closed_pair_means("relu", K, [(0, 0)])[0], K / 2)
    with pytest.raises(KernelInputError, match="variance zero"):
        closed_pair_means("relu", K, [(1, 1)])


@pytest.mark.parametrize("family", ["erf", "gelu", "relu", "sin", "polynomial"])
def test_orders_that_are_exchanged_give_transposes(family):
    parameters = {"coefficients": [0.1, 1.0, 0.5, -0.2]} if family == "polynomial" else {}
    K = correlated(6, 5)
    orders = [[0, 2], (2, 0), (0, 0), (1, 1), (0, 1), (1, 0), (0, 0)]
    found = closed_pair_means(family, K, orders, **parameters)
    for one, other in ((0, 1), (2, 2), (3, 3), (4, 5)):
        assert np.array_equal(found[one], found[other].T)
    assert found[2] is not found[6]


@pytest.mark.parametrize(
    ("arguments", "parameters", "message"),
    [
        (("tanh", np.eye(2), [(0, 0)]), {}, "no closed form"),
        (("erf", np.eye(2), [(0, 0)]), {"left": 1.0}, "parameters"),
        (("relu", np.eye(2), [(0, 0)]), {"left": "a"}, "parameters"),
        (("relu", np.eye(2), [(0, 0)]), {"left": math.nan}, "parameters"),
        (("erf", np.ones((2, 3)), [(0, 0)]), {}, "shape"),
        (("erf", 2 * np.eye(2) - 3, [(0, 0)]), {}, "diagonal"),
        (("erf", np.eye(2), [(0, -1)]), {}, "orders"),
        (("polynomial", np.eye(2) * 1e90, [(0, 0)]), {"coefficients": (0, 0, 0, 0, 1)}, "overflow"),
    ],
)
def test_refusals(arguments, parameters, message):
    with pytest.raises(KernelInputError, match=message):
        closed_pair_means(*arguments, **parameters)
