"""Two functions of two samples and two of two others, against sums over planes and closed forms."""

import numpy as np
import pytest
from cases import slow, swept

from symdlt.activations import activation
from symdlt.means import KernelInputError, SmoothMeans, Unrelated, pairs_of, plane_means, planes
from symdlt.networks.layer_means import functions_of

HIGHEST = 40


def depths(kept, samples=3, seed=0):
    """Covariances of samples, and of what is left of them, with noise of its own, elsewhere."""
    x = np.random.default_rng(seed).standard_normal((samples, 4))
    K = x @ x.T / 4 + 0.1
    return K, kept**2 * K + 0.3 * np.eye(samples) + 0.1, kept * K


def means_of(functions, products, K, later, joint, tolerance):
    here, there = (planes(functions, products, one[None], HIGHEST, tolerance) for one in (K, later))
    means, known = plane_means(here, there, joint[None], tolerance)
    return means[0], known[0]


@pytest.mark.parametrize(
    ("name", "kept"), [("tanh", 0.3), slow("swish", 0.5), ("sin", 0.5), swept("swish", 0.3)]
)
def test_means_are_those_of_quadruples(name, kept):
    functions = functions_of(activation(name), 2)
    K, later, joint = depths(kept)
    products = [(0, 0), (0, 1), (2, 0)]
    means, known = means_of(functions, products, K, later, joint, 1e-9)
    assert known
    whole = np.block([[K, joint], [joint.T, later]])
    rows, columns = pairs_of(3)
    for f, (a, b) in enumerate(products):
        for g, (c, d) in enumerate(products):
            (table,) = SmoothMeans(functions, 1e-11)(whole, [(a, b, c, d)])
            expected = table[np.ix_(range(3), range(3), range(3, 6), range(3, 6))]
            expected = expected[rows, columns][:, rows, columns]
            np.testing.assert_allclose(means[:, :, f, g], expected, atol=2e-9)


def test_products_of_fields_are_wicks():
    """⟨z_1 z_2 w_3 w_4⟩ by Wick's theorem, for samples that are equal, opposite or zero as well."""
    K = np.array([[1.0, -1.0, 1.0, 0.0], [-1, 1, -1, 0], [1, -1, 1, 0], [0, 0, 0, 0]])
    joint, later = 0.5 * K, 0.25 * K + 0.6
    means, known = means_of([lambda z: z], [(0, 0)], K, later, joint, 1e-12)
    assert known
    i, j = pairs_of(4)
    wick = np.multiply.outer(K[i, j], later[i, j])
    wick += joint[np.ix_(i, i)] * joint[np.ix_(j, j)] + joint[np.ix_(i, j)] * joint[np.ix_(j, i)]
    np.testing.assert_allclose(means[..., 0, 0], wick, atol=1e-13)


def test_what_does_not_end_soon_is_not_said_to_be_known():
    """Tanh at K = 9 is steep: its coefficients fall slowly, and depths must be far apart."""
    functions = functions_of(activation("tanh"), 0)
    K, later, joint = (9 * one for one in depths(0.99))
    assert not means_of(functions, [(0, 0)], K, later, joint, 1e-7)[1]
    K, later, joint = (9 * one for one in depths(0.1))
    assert means_of(functions, [(0, 0)], K, later, joint, 1e-7)[1]


def test_errors_are_below_the_tolerance():
    functions = functions_of(activation("tanh"), 1)
    K, later, joint = depths(0.5)
    products = [(0, 0), (1, 1), (0, 1)]
    exact, known = means_of(functions, products, K, later, joint, 1e-9)
    assert known
    for tolerance in (1e-2, 1e-4, 1e-6):
        means, known = means_of(functions, products, K, later, joint, tolerance)
        assert known
        assert np.abs(means - exact).max() < tolerance


def test_functions_that_grow_too_fast_are_refused():
    with pytest.raises(KernelInputError, match="finite"):
        planes([Unrelated(lambda z: np.exp(z**2))], [(0, 0)], np.eye(2)[None], 4, 1e-7)
