"""Pair means against closed forms, 30-digit sums, a plain two-dimensional sum, and identities."""

from itertools import product

import hypothesis
import mpmath
import numpy as np
import pytest
from cases import slow, swept
from hypothesis import strategies as st
from kernels.kernel_reference import ACTIVATIONS, erf, functions, gelu, sin, tanh

from symdlt.means import KernelInputError, SmoothMeans, choose_step, pair_means, rescaled_step
from symdlt.means.spectra import few_places
from symdlt.means.triangle import strips, triangle

ORDERS = [(0, 0), (1, 1), (1, 5), (0, 4), (2, 2), (1, 3)]
FINE = ("tanh", "swish")  # in the gate at the largest variance too
VARIANCES = (1e-12, 1e-3, 1.0, 25.0)
CORRELATIONS = (0.0, 0.3, -0.7, 0.95, -0.999, 1 - 1e-6, 1 - 1e-12, 1.0, -1.0)


def sigmoid(order, z, lib):
    half = tanh(order, z / 2, lib) / 2 ** (order + 1)
    return half + (1 if lib is mpmath else 0.5) * (order == 0)


def softplus(order, z, lib):
    return sigmoid(order - 1, z, lib) if order else np.logaddexp(0.0, z)


def swish(order, z, lib):
    return z * sigmoid(order, z, lib) + (order * sigmoid(order - 1, z, lib) if order else 0)


def quadratic(order, z, lib):
    return ((z + z * z / 2, z + 1, 1 + 0 * z)[order]) if order < 3 else 0 * z


SMOOTH = {f.__name__: f for f in (tanh, sin, erf, gelu, swish, softplus, sigmoid, quadratic)}


def two(Ki, Kj, rho):
    off = rho * np.sqrt(Ki * Kj)
    return np.array([[Ki, off], [off, Kj]])


def plain_mean(f, a, b, Ki, Kj, rho):
    """<f_a(z_i) f_b(z_j)> by a fine trapezoidal sum over independent x and y."""
    if Ki < Kj:
        a, b, Ki, Kj = b, a, Kj, Ki
    h = min(0.3, 0.15 / np.sqrt(Ki))
    c = np.sqrt((1 - rho) * (1 + rho))
    (x, u), (y, v) = (gaussian_grid(step) for step in (h, 1 / (1 / 0.3 + c / h)))
    inner = f[b](np.sqrt(Kj) * (rho * x[:, None] + c * y)) @ v
    return u @ (f[a](np.sqrt(Ki) * x) * inner)


def gaussian_grid(step):
    x = step * np.arange(-int(10 / step), int(10 / step) + 1)
    w = np.exp(-(x**2) / 2)
    return x, w / w.sum()


def norms(f, K, order):
    """The scale of errors: sqrt(<f_a(z_i)^2> <f_b(z_j)^2>)."""
    square = []
    for k in order:
        x, w = gaussian_grid(min(0.3, 0.15 / np.sqrt(K.max())))
        square.append([w @ f[k](np.sqrt(v) * x) ** 2 for v in np.diag(K)])
    return np.sqrt(np.outer(*square))


def correlated(count, dimension, seed=0):
    x = np.random.default_rng(seed).standard_normal((count, dimension))
    return x @ x.T / dimension


@pytest.mark.parametrize(
    ("name", "Ki", "Kj", "Kij", "values"),
    [
        ("tanh", 1.0, 1.0, 0.95, (0.3714294240175265, 0.45057750351969542)),
        ("tanh", 1.0, 0.5, 0.49497474683058323, (0.22288664652753137, 0.47263060896981128)),
        ("tanh", 25.0, 25.0, 12.5, (0.32180181364722704, 0.028188921017261226)),
        ("erf", 25.0, 25.0, 12.5, (0.3261496672759044, 0.02864287769146248)),
        ("gelu", 4.0, 4.0, 2.0, (1.103324080703597, 0.3465869674058123)),
        ("gelu", 25.0, 25.0, 12.5, (7.479056286074327, 0.33670173671002096)),
    ],
)
def test_30_digit_sums(name, Ki, Kj, Kij, values):
    K = np.array([[Ki, Kij], [Kij, Kj]])
    found = pair_means(functions(ACTIVATIONS[name], 2), K, [(0, 0), (1, 1)])
    for matrix, value in zip(found, values, strict=True):
        scale = np.sqrt(matrix[0, 0] * matrix[1, 1])
        assert abs(matrix[0, 1] - value) < 1e-14 * scale
        assert matrix[0, 1] == matrix[1, 0]


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b", "rho"), [(1, 5, "0.999"), (2, 2, "-0.8"), (0, 4, "0.3")])
def test_derivatives_against_30_digits(a, b, rho):
    with mpmath.workdps(30):
        rho, h = mpmath.mpf(rho), mpmath.mpf("0.14")
        x = [h * k for k in range(-66, 67)]
        w = [h * mpmath.npdf(t) for t in x]
        c = mpmath.sqrt(1 - rho**2)
        inner = [mpmath.fdot(w, [swish(b, rho * s + c * t, mpmath.mp) for t in x]) for s in x]
        exact = mpmath.fdot(w, [swish(a, s, mpmath.mp) * i for s, i in zip(x, inner, strict=True)])
    f = functions(swish, 6)
    K = two(1.0, 1.0, float(rho))
    assert pair_means(f, K, [(a, b)])[0][0, 1] == pytest.approx(
        float(exact), abs=1e-14 * norms(f, K, (a, b))[0, 1]
    )


def marks_of(name, K):
    if K <= 1.0:
        return ()
    return pytest.mark.slow if name in FINE else pytest.mark.sweep


@pytest.mark.parametrize(
    ("name", "K"),
    [pytest.param(name, K, marks=marks_of(name, K)) for name, K in product(SMOOTH, VARIANCES)],
)
def test_all_activations_variances_and_correlations(name, K):
    f = functions(SMOOTH[name], 6)
    worst = 0.0
    for other in (K, 0.37 * K):
        scales = [norms(f, two(K, other, 0.0), order) for order in ORDERS]
        step = choose_step(f, K)
        for rho in CORRELATIONS:
            found = pair_means(f, two(K, other, rho), ORDERS, step)
            for (a, b), matrix, scale in zip(ORDERS, found, scales, strict=True):
                i, j = (0, 1) if other < K else (1, 0)
                exact = plain_mean(f, a, b, (K, other)[i], (K, other)[j], rho)
                worst = max(worst, abs(matrix[i, j] - exact) / max(scale[i, j], 1e-150))
    print(f"{name} {K}: {worst:.1e}")
    assert worst < 1e-13


@pytest.mark.parametrize("K", [100.0, slow(1000.0)])
@pytest.mark.parametrize("rho", [0.9, 0.9999, -(1 - 1e-8)])
def test_sharp_functions_at_strong_correlation(K, rho):
    f = functions(erf, 2)
    exact = 2 / np.pi * np.arcsin(2 * K * rho / (1 + 2 * K))
    slope = 4 / np.pi / np.sqrt((1 + 2 * K) ** 2 - (2 * K * rho) ** 2)
    values, slopes = pair_means(f, two(K, K, rho), [(0, 0), (1, 1)])
    assert abs(values[0, 1] - exact) < 1e-13
    assert abs(slopes[0, 1] - slope) < 1e-12 * slopes[0, 0]


@pytest.mark.parametrize("frequency", [1.0, 7.0, 20.0, 50.0])
@pytest.mark.parametrize("step", [None, 0.5, 0.05])
def test_fast_oscillations_are_resolved_whatever_the_step(frequency, step):
    """<sin sin> has a series that begins at high orders; a grid may take it for a slow one."""
    f = [lambda z: np.sin(frequency * z), lambda z: frequency * np.cos(frequency * z)]
    K = two(1.0, 0.9, 1 - 1e-4)
    near, far = (np.exp(-(frequency**2) * (0.95 - sign * K[0, 1])) for sign in (1, -1))
    values, slopes = pair_means(f, K, [(0, 0), (1, 1)], step)
    assert abs(values[0, 1] - (near - far) / 2) < 1e-12
    assert abs(slopes[0, 1] - frequency**2 * (near + far) / 2) < 1e-12 * frequency**2


@pytest.mark.slow
def test_many_samples_agree_with_each_pair():
    """Samples of like and of unlike variance, near and exact duplicates, and one of variance 0."""
    f = functions(tanh, 2)
    for spread in (0.0, 3.0):
        K = correlated(260, 100)
        scale = np.exp(spread * np.linspace(-1, 1, 260))
        scale[7] = scale[3]
        K[7], K[:, 7] = K[3], K[:, 3]
        K[7, 7] = K[3, 3]
        K[11], K[:, 11] = -K[5], -K[:, 5]
        K[11, 11] = K[5, 5]
        K *= np.outer(scale, scale)
        if spread:
            K[20], K[:, 20] = 0.0, 0.0
        orders = [(0, 0), (1, 1), (0, 1), (1, 0)]
        found = pair_means(f, K, orders)
        for i, j in [(3, 7), (5, 11), (0, 1), (259, 7), (20, 4), (130, 131), (20, 20), (9, 9)]:
            pair = np.ix_((i, j), (i, j))
            for order, matrix in zip(orders, found, strict=True):
                one = pair_means(f, K[pair], [order])[0]
                assert np.abs(matrix[pair] - one).max() < 3e-15
        assert found[0][3, 7] == pytest.approx(found[0][3, 3], rel=1e-14)
        assert (found[2] == found[3].T).all()


def test_price():
    """The derivative of <f_i f_j> in K_ij is <f'_i f'_j>."""
    f = functions(swish, 3)
    K, h = two(1.3, 0.6, 0.4), 1e-2
    bump = np.array([[0.0, h], [h, 0.0]])
    for order in (0, 1):
        shifted = [pair_means(f, K + s * bump, [(order, order)])[0][0, 1] for s in (-2, -1, 1, 2)]
        slope = np.dot(shifted, [1, -8, 8, -1]) / (12 * h)
        expected = pair_means(f, K, [(order + 1, order + 1)])[0][0, 1]
        assert slope == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("count", [6, 80])
def test_permuted_samples_give_permuted_means(count):
    K = correlated(count, 40, 1)
    order = np.random.default_rng(2).permutation(count)
    mixed = np.ix_(order, order)
    f = functions(gelu, 3)
    for a, b in zip(
        pair_means(f, K, [(0, 2), (1, 1)]), pair_means(f, K[mixed], [(0, 2), (1, 1)]), strict=True
    ):
        assert np.abs(a[mixed] - b).max() < 2e-15 * np.abs(a).max()


def test_a_step_of_another_variance_serves():
    f = functions(tanh, 2)
    step = choose_step(f, 4.0)
    for K in (4.0, 1.0, 0.1, 30.0):
        guess = rescaled_step(step, 4.0, K)
        assert (guess > step) == (K < 4.0)
        for given in (guess, step, 0.5):
            found = pair_means(f, two(K, K, 0.9), [(1, 1)], given)[0]
            exact = plain_mean(f, 1, 1, K, K, 0.9)
            assert abs(found[0, 1] - exact) < 1e-13 * found[0, 0]


@pytest.mark.parametrize("powers", [2, 3, 4])
def test_chosen_steps_are_right_for_products(powers):
    f = functions(tanh, 3)
    step = choose_step(f, 2.0, powers)
    means = []
    for h in (step, step / 2):
        x, w = gaussian_grid(h)
        means.append(w @ (f[2](np.sqrt(2.0) * x) ** 2 * f[1](np.sqrt(2.0) * x) ** (powers - 2)))
    assert means[0] == pytest.approx(means[1], rel=1e-14)
    assert choose_step(f, 2.0, powers + 1) <= step


def kernel_by_kernel(f, orders):
    """The means as kernels take them, at all pairs i <= j; below the diagonal they stand again."""
    tables = SmoothMeans(f).pair_tables(orders)

    def means(K):
        corner = triangle(len(K))
        return [corner.whole(table) for table in tables(corner.packed(K), corner)]

    return means


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("count", [3, 60])
def test_kernels_one_after_the_other_are_those_of_their_own(name, count):
    """What was tested at the first serves the smaller ones, and is tested again at larger ones."""
    f = functions(SMOOTH[name], 6)
    near = 0.9 * np.ones((count, count)) + 0.1 * np.eye(count)
    tables = kernel_by_kernel(f, ORDERS)
    for K in (correlated(count, 40), 0.3 * near, 1e-6 * near, 4.0 * correlated(count, 40, 1)):
        for order, found, own in zip(ORDERS, tables(K), pair_means(f, K, ORDERS), strict=True):
            assert np.abs(np.triu(found - own)).max() <= 1e-13 * norms(f, K, order).max(), order


def cosine(order, z, lib):
    return sin(order + 1, z, lib)


def seventh(order, z, lib):
    return (z + z**7, 1 + 7 * z**6, 42 * z**5, 210 * z**4)[order]


def half_tilted(order, z, lib):
    """Neither odd nor even, and lively at each variance."""
    return sin(order, z, lib) + (z * z / 2, z, 1 + 0 * z, 0 * z)[order]


TOGETHER = [(0, 0), (0, 2), (1, 1), (1, 3), (2, 2)]


@pytest.mark.parametrize("f", [*SMOOTH.values(), cosine, seventh, half_tilted])
@pytest.mark.parametrize("count", [7, 150])
@pytest.mark.parametrize("K", [1e-8, 1.0])
def test_slopes_by_prices_theorem_are_those_of_their_own_coefficients(f, count, K):
    """Together <f'f'> may come with <f f>; each for itself has no other to come with."""
    f = functions(f, 4)
    given = K * correlated(count, 60)
    step = choose_step(f, given.diagonal().max())
    for order, found in zip(TOGETHER, pair_means(f, given, TOGETHER, step), strict=True):
        (own,) = pair_means(f, given, [order], step)
        assert (np.abs(found - own) <= 1e-14 * norms(f, given, order)).all(), order


@pytest.mark.slow
@pytest.mark.parametrize("f", [tanh, swish, sigmoid, cosine, seventh, half_tilted])
@pytest.mark.parametrize("count", [5, 40, swept(300)])
def test_one_range_of_variances_serves_many_kernels(f, count):
    """Kernels that grow and shrink, with duplicates and strong correlations, out of any order."""
    f = functions(f, 4)
    orders = [(0, 0), (1, 1)]
    tables = kernel_by_kernel(f, orders)
    near = correlated(count, 3, 1)
    near[1:3] = near[0]
    near[:, 1:3] = near[:, :1]
    near[1:3, 1:3] = near[0, 0]
    far = correlated(count, 50, 2)
    far[0] *= 100.0
    far[:, 0] *= 100.0
    for K in (correlated(count, 50), 0.4 * near, 1e-7 * near, 0.1 * far, 0.03 * near, 0.9 * near):
        for order, found, own in zip(orders, tables(K), pair_means(f, K, orders), strict=True):
            scale = norms(f, K, order)
            assert (np.abs(found - own) <= 2e-13 * scale).all(), order
            assert np.array_equal(found, found.T)
            assert np.array_equal(own, own.T)


@hypothesis.given(st.integers(1, 12), st.integers(1, 5))
def test_the_upper_triangle_gives_the_matrix_again(count, height):
    matrix = np.random.default_rng(count).standard_normal((count, count))
    matrix += matrix.T
    corner = triangle(count)
    packed = corner.packed(matrix)
    assert np.array_equal(packed, matrix[np.triu_indices(count)])
    assert np.array_equal(corner.whole(packed), matrix)
    assert np.array_equal(packed[corner.diagonal], matrix.diagonal())
    for strip in strips(count, height):
        rectangle = matrix[strip.rows, strip.columns]
        assert np.array_equal(packed[strip.cells], rectangle)
        assert np.array_equal(rectangle.take(strip.inside), packed[strip.pairs])


SHRINKING, GROWING, FALLING = (1.0, 0.0), (1.1, 0.3), (0.2, 0.0)


@pytest.mark.parametrize("f", [tanh, swish, cosine])
@pytest.mark.parametrize("count", [5, 40])
@pytest.mark.parametrize("rates", [SHRINKING, GROWING, FALLING])
def test_layers_that_were_foreseen_are_those_of_their_own(f, count, rates):
    """The variances of layers to come are found first, range by range and some layers at once."""
    f, (C_W, C_b), orders = functions(f, 2), rates, [(0, 0), (1, 1)]
    corner = triangle(count)
    steps = [lambda mean, k=k: C_b + C_W * (0.9 + 0.1 * (k % 3)) * mean for k in range(20)]
    tables = SmoothMeans(f).pair_tables(orders, steps)
    K = correlated(count, 50)
    for layer, step in enumerate(steps):
        found = tables(corner.packed(K), corner)
        for order, table, own in zip(orders, found, pair_means(f, K, orders), strict=True):
            wrong = np.abs(corner.whole(table) - own) > 2e-13 * norms(f, K, order)
            assert not wrong.any(), (layer, order)
        K = step(corner.whole(found[0]))


def test_kernels_that_do_not_follow_from_the_steps_are_noticed():
    f, corner = functions(tanh, 2), triangle(2)
    tables = SmoothMeans(f).pair_tables([(0, 0)], [lambda mean: 0.1 + 1.3 * mean] * 5)
    for K in (two(1.0, 0.8, 0.5), two(0.2, 0.3, 0.3), two(0.3, 0.3, 0.5)):
        found = corner.whole(tables(corner.packed(K), corner)[0])
        np.testing.assert_allclose(found, pair_means(f, K, [(0, 0)])[0], rtol=1e-13)


NOISY = {
    "sigmoid less a half": [
        lambda z: 1.0 / (1.0 + np.exp(-z)) - 0.5,
        lambda z: np.exp(-z) / (1.0 + np.exp(-z)) ** 2,
    ],
    "exponential less one": [lambda z: np.exp(z) - 1.0, np.exp],
}


@pytest.mark.parametrize("f", NOISY.values(), ids=NOISY)
@pytest.mark.parametrize("count", [2, 40])
@pytest.mark.parametrize("K", [1e-16, 1e-12, 1e-8])
def test_slopes_have_more_digits_than_functions_made_of_larger_numbers(f, count, K):
    given = K * correlated(count, 30)
    (own,) = pair_means(f, given, [(1, 1)])
    for found in (pair_means, lambda *asked: kernel_by_kernel(f, asked[2])(asked[1])):
        slopes = found(f, given, [(0, 0), (1, 1)])[1]
        np.testing.assert_allclose(slopes, own, rtol=1e-13)


@pytest.mark.parametrize("f", [tanh, sigmoid, cosine])
@pytest.mark.parametrize("K", [1e-285, 1e-299, 1e-301, 1e-305, 1e-310, 0.0])
def test_variances_that_are_nearly_zero(f, K):
    """Functions are straight lines there; coefficients and their squares may underflow."""
    f = functions(f, 4)
    given = K * np.array([[1.0, 0.5, -1.0], [0.5, 2.0, -0.5], [-1.0, -0.5, 1.0]])
    tables = kernel_by_kernel(f, [(0, 0), (1, 1)])
    (value,), (slope,) = f[0](np.zeros(1)), f[1](np.zeros(1))
    for values, slopes in (tables(given), pair_means(f, given, [(0, 0), (1, 1)])):
        expected = value**2 + slope**2 * given
        assert np.abs(values - expected).max() <= 1e-13 * np.abs(expected).max() + 1e-322
        assert np.abs(slopes - slope**2).max() <= 1e-13


@pytest.mark.parametrize("frequency", [7.0, 20.0])
def test_functions_that_change_between_calls_are_tested_anew(frequency):
    scale = 1.0
    f = [lambda z: np.sin(scale * z), lambda z: scale * np.cos(scale * z)]
    K = two(1.0, 0.9, 0.99)
    kernel_by_kernel(f, [(0, 0)])(K)
    scale = frequency
    found = kernel_by_kernel(f, [(0, 0)])(K)[0]
    near, far = (np.exp(-(frequency**2) * (0.95 - sign * K[0, 1])) for sign in (1, -1))
    assert abs(found[0, 1] - (near - far) / 2) < 1e-12
    wrong = [f[0], np.cos]
    with pytest.raises(KernelInputError, match="not the derivative"):
        kernel_by_kernel(wrong, [(1, 1)])(two(1e-2, 1e-2, 0.5))


def test_an_even_part_that_is_small_at_the_largest_variance_is_kept():
    f = [lambda z: 1e-8 + z, np.ones_like]
    K = np.array([[1.0, 1e-9], [1e-9, 1e-16]])
    found = kernel_by_kernel(f, [(0, 0)])(K)[0]
    np.testing.assert_allclose(found, K + 1e-16, rtol=1e-14)


def test_places_give_polynomials_at_samples_and_at_the_places_themselves():
    roots = np.linspace(0.5, 1.0, 60)
    places = few_places(roots)
    both = np.concatenate([roots, places.roots])
    again = few_places(both)
    assert np.array_equal(again.roots, places.roots)
    np.testing.assert_allclose(again.roots**9 @ again.spread, both**9, rtol=1e-14)


def test_a_step_is_chosen_below_the_largest_variance_of_all():
    (found,) = pair_means([lambda z: z], np.array([[9e99]]), [(0, 0)])
    assert found[0, 0] == pytest.approx(9e99, rel=1e-13)


def test_no_orders_no_means():
    assert pair_means([np.tanh], np.eye(2), []) == []


@pytest.mark.parametrize(
    ("K", "what"),
    [
        ([[1.0, 0.5], [0.4, 1.0]], "not symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "not finite"),
        ([[1.0, np.inf], [np.inf, 1.0]], "correlation of size inf"),
        ([[1.0, 0.0], [0.0, np.nan]], "on the diagonal"),
        ([[1.0, 0.0], [0.0, -1e-3]], "on the diagonal"),
        ([[1.0, 1.001], [1.001, 1.0]], "correlation of size 1.001"),
        ([[0.0, 0.1], [0.1, 1.0]], "variance zero"),
        ([1.0, 2.0], "shape"),
        (np.ones((2, 3)), "shape"),
        (np.ones((0, 0)), "shape"),
        ([["a"]], "array of"),
        ([[1j]], "array of"),
    ],
)
def test_what_is_no_covariance_is_refused(K, what):
    with pytest.raises(KernelInputError, match=what) as error:
        pair_means([np.tanh], np.array(K), [(0, 0)])
    assert str(error.value).count(". ") == 2


def test_correlations_beyond_one_by_rounding_are_accepted():
    K = two(1.0, 2.0, 1.0) * (1 + np.array([[0, 1e-14], [1e-14, 0]]))
    assert pair_means([np.tanh], K, [(0, 0)])[0][0, 1] == pytest.approx(
        pair_means([np.tanh], two(1.0, 2.0, 1.0), [(0, 0)])[0][0, 1], rel=1e-14
    )


@pytest.mark.parametrize("order", [(0, 2), (-1, 0), (0,), (0, 0, 0), (0, 0.5)])
def test_orders_of_no_function_are_refused(order):
    with pytest.raises(KernelInputError, match="are not two of 0 … 1"):
        pair_means(functions(tanh, 2), np.eye(2), [order])


@pytest.mark.parametrize("step", [0.0, -0.1, np.nan, np.inf, "0.1"])
def test_steps_that_are_none_are_refused(step):
    with pytest.raises(KernelInputError, match="The step is"):
        pair_means([np.tanh], np.eye(2), [(0, 0)], step)


@pytest.mark.parametrize(
    ("activation", "what"),
    [
        ([lambda z: np.maximum(z, 0)], "do not converge"),
        ([lambda z: np.abs(z - 1)], "do not converge"),
        ([lambda z: z * np.abs(z)], "do not converge"),
        ([np.sign], "do not converge"),
        ([lambda z: np.exp(50 * z)], "do not converge|overflow"),
        ([np.log], "overflow"),
        ([lambda z: 1 / (z - 0.3)], "do not converge|overflow"),
        ([lambda z: np.full(z.shape, np.nan)], "overflow"),
        ([lambda z: z[:1]], "shape"),
        ([lambda z: 1j * z], "complex"),
        ([1.0], "as functions"),
    ],
)
@pytest.mark.parametrize("step", [None, 0.3, 0.01])
def test_activations_that_are_not_smooth_are_refused(activation, what, step):
    with pytest.raises(KernelInputError, match=what):
        pair_means(activation, two(1.0, 0.8, 0.5), [(0, 0)], step)


def test_functions_that_are_no_derivatives_are_refused():
    with pytest.raises(KernelInputError, match=r"Function 2 .* not the derivative of function 1"):
        choose_step([np.sin, np.cos, np.sin], 1.0)


@pytest.mark.parametrize("variance", [-1.0, np.nan, np.inf])
def test_variances_that_are_none_are_refused(variance):
    with pytest.raises(KernelInputError, match="The variance is"):
        choose_step([np.tanh], variance)
