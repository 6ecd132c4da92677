"""What `symdlt.means` says about arguments of the wrong kind."""

import numpy as np
import pytest

from symdlt.means import (
    ClosedMeans,
    KernelInputError,
    KinkedMeans,
    SmoothMeans,
    choose_step,
    closed_pair_means,
    kinked_pair_means,
    kinked_quadruple_means,
    merged_means,
    pair_means,
    quadruple_means,
    relu_quadruple_means,
    rescaled_step,
)

SINE = [np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z)]
RELU = [lambda z: np.maximum(z, 0), lambda z: 1.0 * (z > 0), np.zeros_like]
KINK = [(0.0, (0.0, 1.0, 0.0))]
K = np.array([[1.0, 0.3], [0.3, 1.0]])
RAGGED = [[1.0, 0.3], [0.3]]
MASKED = np.ma.masked_array(K, mask=[[0, 1], [1, 0]])
TWO, FOUR = [(0, 0)], [(0, 0, 0, 0)]

CALLS = {
    "pairs": (pair_means, (SINE, K, TWO), {"activation": 0, "K": 1, "kernel": 1, "orders": 2}),
    "quadruples": (
        quadruple_means,
        (SINE, K, FOUR),
        {"activation": 0, "K": 1, "kernel": 1, "orders": 2},
    ),
    "kinked pairs": (
        kinked_pair_means,
        (RELU, KINK, K, TWO),
        {"activation": 0, "kinks": 1, "K": 2, "kernel": 2, "orders": 3},
    ),
    "kinked quadruples": (
        kinked_quadruple_means,
        (RELU, KINK, K, FOUR),
        {"activation": 0, "kinks": 1, "K": 2, "kernel": 2, "orders": 3},
    ),
    "relu": (relu_quadruple_means, (K, FOUR[0]), {"K": 0, "kernel": 0}),
    "closed": (closed_pair_means, ("erf", K, TWO), {"K": 1, "orders": 2}),
    "merged": (
        merged_means,
        (RELU, KINK, [1.0], [(0, 0, 0)]),
        {"activation": 0, "kinks": 1, "variances": 2, "means": 3},
    ),
    "smooth layer": (SmoothMeans(SINE), (K, TWO + FOUR), {"K": 0, "kernel": 0, "orders": 1}),
    "closed layer": (ClosedMeans(SINE, "sin"), (K, TWO + FOUR), {"K": 0, "kernel": 0, "orders": 1}),
    "kinked layer": (KinkedMeans(RELU, KINK), (K, TWO + FOUR), {"K": 0, "kernel": 0, "orders": 1}),
    "a smooth layer": (SmoothMeans, (SINE,), {"activation": 0}),
    "a closed layer": (ClosedMeans, (SINE, "sin"), {"activation": 0}),
    "a kinked layer": (KinkedMeans, (RELU, KINK), {"activation": 0, "kinks": 1}),
}
BAD = {
    "activation": (np.sin, None, 3, [], "sin", [3], (f for f in SINE), {0: np.sin}),
    "K": (None, 3, "K", RAGGED, MASKED, [[1j]], [[0.0, np.inf], [np.inf, 1.0]]),
    "kernel": ([[1e308]],),
    "orders": (
        None,
        3,
        [0, 1],
        [(0, 0, 0)],
        [(0, 99)],
        [(0, -1)],
        ["ab"],
        {(0, 0)},
        [(0, 0, 0, 9)],
    ),
    "kinks": (None, 3, [3], [(0.0, None)], [("a", (0.0, 1.0, 0.0))]),
    "variances": (None, 3, RAGGED, [0.0], ["x"]),
    "means": (None, 3, [0], [(0, 0)], [(0, 0, 9)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_the_wrong_kind(name):
    call, good, places = CALLS[name]
    call(*good)
    for what, place in places.items():
        for bad in BAD[what]:
            given = [bad if n == place else argument for n, argument in enumerate(good)]
            with pytest.raises(KernelInputError, match=rf"(?i)the {what[:5]}"):
                call(*given)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: closed_pair_means([], K, TWO), r"There is no closed form for \[\]"),
        (lambda: ClosedMeans(SINE, None), "There is no closed form for None"),
        (lambda: ClosedMeans(SINE, "relu", 3), "The parameters 3 are not those of relu"),
        (lambda: closed_pair_means("relu", K, TWO, left=[1.0]), "are not those of relu"),
        (lambda: closed_pair_means("relu", K, TWO, left="1"), "are not those of relu"),
        (lambda: closed_pair_means("polynomial", K, TWO, coefficients=3.0), "not those of poly"),
        (lambda: SmoothMeans(SINE, "x"), "The tolerance is 'x'"),
        (lambda: KinkedMeans(RELU, KINK, 0.5), "The tolerance is 0.5. .* from 1e-12 to 0.01"),
        (lambda: SmoothMeans(SINE, together=3), "The value 3 of together is no function"),
        (lambda: SmoothMeans(SINE)(K, FOUR, 3), "The samples 3 are not quadruples of 0 … 1"),
        (lambda: quadruple_means(SINE, K, FOUR, RAGGED), "are not quadruples of 0 … 1"),
        (
            lambda: quadruple_means(SINE, K, FOUR, together=lambda z, n: 3),
            "cannot return functions",
        ),
        (lambda: quadruple_means(SINE, K, FOUR, together=lambda z: 3), "cannot return"),
        (lambda: pair_means([lambda z: z if z > 0 else 0], K, TWO), "cannot be called with an arr"),
        (lambda: pair_means([lambda z: RAGGED], K, TWO), "Derivative 0 of the activation returned"),
        (lambda: pair_means([np.ma.sin], K, TWO), "Derivative 0 .* returned a masked array"),
        (
            lambda: pair_means([np.sin], [[1e120]], TWO),
            "has the variance 1e.120. Means",
        ),
        (lambda: choose_step(None, 1.0), "The activation is None"),
        (lambda: choose_step(SINE, "x"), "The variance is 'x'"),
        (lambda: choose_step(SINE, 1e308), r"The variance is 1e\+308. .* at most 1e\+100"),
        (lambda: choose_step(SINE, 1.0, 0), "The number of powers is 0"),
        (lambda: choose_step(SINE, 1.0, 2, -1.0), "The first step is -1.0"),
        (lambda: rescaled_step("x", 1.0, 1.0), "The step is 'x'"),
        (lambda: rescaled_step(0.1, 0.0, 1.0), "The variance is 0.0"),
        (lambda: rescaled_step(0.1, 1.0, np.inf), "The other variance is inf"),
    ],
)
def test_values_that_cannot_be_used(call, message):
    with pytest.raises(KernelInputError, match=message):
        call()


@pytest.mark.parametrize("tolerance", [np.float32(1e-4), np.array(1e-4)])
def test_a_tolerance_is_any_real_number(tolerance):
    (found,) = quadruple_means(SINE, K, FOUR, tolerance=tolerance)
    (expected,) = quadruple_means(SINE, K, FOUR, tolerance=1e-4)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_no_samples_no_means():
    nothing = np.zeros((0, 4), int)
    assert np.isnan(quadruple_means(SINE, K, FOUR, nothing)[0]).all()
    assert np.isnan(kinked_quadruple_means(RELU, KINK, K, FOUR, nothing)[0]).all()
