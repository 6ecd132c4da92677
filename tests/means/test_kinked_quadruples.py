"""Means over four samples for activations with kinks: two methods, exact cases, brute sums."""

import math
from itertools import permutations

import numpy as np
import pytest
from cases import slow, swept

from symdlt.activations import activation
from symdlt.kernels import numpy_activation
from symdlt.means import (
    KernelInputError,
    KinkedMeans,
    kinked_quadruple_means,
    quadruple_means,
    relu_quadruple_means,
)

PATTERNS = [(0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1), (0, 1, 1, 2)]
DRAWN = np.random.default_rng(5).standard_normal((4, 6)) + 0.4
KERNELS = {
    "generic": DRAWN @ DRAWN.T / 6,
    "rank two": DRAWN[:, :2] @ DRAWN[:, :2].T,
    "duplicate": DRAWN[[0, 1, 1, 2]] @ DRAWN[[0, 1, 1, 2]].T / 6,
    "tiny": 1e-12 * DRAWN @ DRAWN.T,
    "large": 10.0 * DRAWN @ DRAWN.T / 6,
    "near": (DRAWN + 0.0)[[0, 0, 2, 3]] @ DRAWN[[0, 0, 2, 3]].T / 6
    + np.diag([0.0, 1e-4, 0.0, 0.0]),
}


def given(what, derivatives=3):
    found = activation(what)
    kinks = [
        (float(kink.position), [float(jump) for jump in kink.jumps])
        for kink in found.kinks(derivatives)
    ]
    return numpy_activation(found, derivatives).functions, kinks


FULL_RANK = [name for name in KERNELS if name != "rank two"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "slope"), [*((name, 0.0) for name in FULL_RANK), ("generic", 0.2)]
)
def test_both_methods_agree_for_the_relu_family(name, slope):
    K = KERNELS[name]
    functions, kinks = given(f"leaky_relu(z, {slope})" if slope else "relu")
    found = kinked_quadruple_means(functions, kinks, K, PATTERNS, tolerance=1e-7)
    scale = np.sqrt(np.diag(K))
    for pattern, table in zip(PATTERNS, found, strict=True):
        expected = relu_quadruple_means(K, pattern, slope, 1.0)
        size = np.ones((1,) * 4)
        for axis, order in enumerate(pattern):
            size = size * (scale ** (1.0 - order)).reshape(
                [-1 if k == axis else 1 for k in range(4)]
            )
        assert (np.abs(table - expected) / size).max() <= 1e-6, pattern


def mean_in_a_plane(pattern, rows):
    """Of z = r (x cos t + y sin t): a moment of r times a sum over t between the kinks."""
    powers = sum(1 - order for order in pattern)
    kinks = np.arctan2(rows[:, 1], rows[:, 0])[:, None] + np.array([0.5, -0.5]) * math.pi
    ends = np.unique([*np.mod(kinks, 2.0 * math.pi).ravel(), 0.0, 2.0 * math.pi])
    x, w = np.polynomial.legendre.leggauss(30)
    half = 0.5 * np.diff(ends)[:, None]
    t = ends[:-1, None] + half * (1.0 + x)
    z = [a * np.cos(t) + b * np.sin(t) for a, b in rows]
    values = [(np.maximum(one, 0.0), one > 0.0)[k] for k, one in zip(pattern, z, strict=True)]
    moment = 2.0 ** (0.5 * powers) * math.gamma(1.0 + 0.5 * powers)
    return moment * float(np.sum(half * w * np.prod(values, axis=0))) / (2.0 * math.pi)


@pytest.mark.parametrize("how", [slow("general"), "layer"])
def test_samples_in_a_plane(how):
    """The orthants of `relu_quadruple_means` lose up to 1e-4 here, and are not taken by layers."""
    functions, kinks = given("relu")
    K, patterns = KERNELS["rank two"], PATTERNS[:3]
    if how == "general":
        found = kinked_quadruple_means(functions, kinks, K, patterns, tolerance=1e-7)
    else:
        found = KinkedMeans(functions, kinks)(K, patterns)
    for pattern, table in zip(patterns, found, strict=True):
        for index in np.ndindex(table.shape):
            right = mean_in_a_plane(pattern, DRAWN[list(index), :2])
            assert table[index] == pytest.approx(right, rel=1e-7, abs=1e-8), (pattern, index)


def brute(functions, K, pattern, index, reach=9.0, count=100):
    """A product over two samples by panels that end at zero, in both variables."""
    x, w = np.polynomial.legendre.leggauss(count)
    z = np.concatenate([0.5 * reach * (x - 1.0), 0.5 * reach * (x + 1.0)])
    w = 0.5 * reach * np.concatenate([w, w])
    s = np.sqrt(np.diag(K))
    rho = K[0, 1] / (s[0] * s[1])
    q = (z[:, None] ** 2 + z**2 - 2.0 * rho * z[:, None] * z) / (1.0 - rho**2)
    density = np.exp(-0.5 * q) / (2.0 * math.pi * math.sqrt(1.0 - rho**2)) * w[:, None] * w
    values = [np.ones_like(z), np.ones_like(z)]
    for order, sample in zip(pattern, index, strict=True):
        values[sample] = values[sample] * functions[order](s[sample] * z)
    return values[0] @ density @ values[1]


@pytest.mark.parametrize("what", ["elu(z, 2)", "elu", "selu"])
def test_two_samples_are_those_of_brute_sums(what):
    functions, kinks = given(what)
    K = np.array([[1.3, -0.4], [-0.4, 0.7]])
    patterns = PATTERNS[:3]
    found = kinked_quadruple_means(functions, kinks, K, patterns, tolerance=1e-9)
    for pattern, table in zip(patterns, found, strict=True):
        for index in np.ndindex(table.shape):
            assert table[index] == pytest.approx(brute(functions, K, pattern, index), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["elu", "elu(z, 2)", "min(max(z, -1), 1)", "relu(z - 1/2)"])
def test_four_samples_are_those_of_sampled_ones(what):
    functions, kinks = given(what)
    K = KERNELS["generic"]
    rng = np.random.default_rng(3)
    z = rng.standard_normal((400_000, 4)) @ np.linalg.cholesky(K).T
    values = [function(z) for function in functions]
    for pattern in PATTERNS[:3]:
        (table,) = kinked_quadruple_means(functions, kinks, K, [pattern], tolerance=1e-6)
        for index in [(0, 1, 2, 3), (3, 0, 0, 2), (1, 1, 2, 2), (2, 2, 2, 0)]:
            drawn = np.prod([values[k][:, m] for k, m in zip(pattern, index, strict=True)], axis=0)
            error = drawn.std() / math.sqrt(len(drawn))
            assert abs(table[index] - drawn.mean()) <= 4.5 * error, (pattern, index)


def test_delta_functions_are_densities():
    """<z θ(z_j) δ(z_l)>: the density at zero times a mean of two Gaussians given that."""
    functions, kinks = given("relu")
    K = KERNELS["generic"]
    (table,) = kinked_quadruple_means(functions, kinks, K, [(0, 1, 1, 2)], tolerance=1e-8)
    for i, j, last in permutations(range(4), 3):
        left = K - np.outer(K[:, last], K[:, last]) / K[last, last]
        rho = left[i, j] / math.sqrt(left[i, i] * left[j, j])
        mean = math.sqrt(left[i, i]) * (1.0 + rho) / (2.0 * math.sqrt(2.0 * math.pi))
        density = 1.0 / math.sqrt(2.0 * math.pi * K[last, last])
        assert table[i, j, j, last] == pytest.approx(density * mean, rel=1e-10)
        assert table[i, j, last, last] == pytest.approx(0.5 * density * mean, rel=1e-10)


def test_a_jump_of_the_second_derivative_has_all_patterns():
    functions, kinks = given("elu")
    K = KERNELS["generic"][:3, :3]
    patterns = [*PATTERNS, (1, 1, 1, 3), (1, 1, 2, 2)]
    found = kinked_quadruple_means(functions, kinks, K, patterns, tolerance=1e-6)
    assert all(np.isfinite(table).all() for table in found)


@pytest.mark.parametrize("width", [0.1, 0.05])
def test_a_smoothed_kink_tends_to_it(width):
    """w log(1 + e^(z/w)) differs from relu by O(w), and by less where no slopes meet."""
    smooth = numpy_activation(f"{width} * log(1 + exp(z / {width}))", 3).functions
    functions, kinks = given("relu")
    K = KERNELS["generic"][1:, 1:]
    patterns = [(0, 0, 0, 0), (0, 0, 1, 1)]
    wide = quadruple_means(smooth, K, patterns, tolerance=1e-6)
    sharp = kinked_quadruple_means(functions, kinks, K, patterns, tolerance=1e-6)
    for one, other, power in zip(wide, sharp, (2, 1), strict=True):
        assert np.abs(one - other).max() <= 8.0 * width**power * np.abs(other).max()


def test_dependent_samples_of_the_relu_family():
    """Given the plane that two inputs span, <f f f f> is a mean over the angle."""
    x = DRAWN[:, :2]
    angle = 2.0 * math.pi * (np.arange(400_000) + 0.5) / 400_000
    z = x @ np.array([np.cos(angle), np.sin(angle)])
    means = KinkedMeans(*given("relu"), tolerance=1e-8)
    four, two = means(x @ x.T, [(0, 0, 0, 0), (0, 0, 1, 1)])
    f, slope = np.maximum(z, 0.0), 1.0 * (z > 0.0)
    for index in [(0, 1, 2, 3), (0, 0, 1, 3), (2, 3, 0, 1)]:
        i, j, k, m = index
        assert four[index] == pytest.approx(8.0 * np.mean(f[i] * f[j] * f[k] * f[m]), rel=1e-7)
        assert two[index] == pytest.approx(
            2.0 * np.mean(f[i] * f[j] * slope[k] * slope[m]), rel=1e-5
        )


def test_samples_restrict_the_work():
    functions, kinks = given("elu(z, 2)")
    K = KERNELS["generic"]
    (whole,) = kinked_quadruple_means(functions, kinks, K, [(0, 0, 1, 1)], tolerance=1e-6)
    asked = np.array([[0, 0, 1, 2]])
    (part,) = kinked_quadruple_means(functions, kinks, K, [(0, 0, 1, 1)], asked, tolerance=1e-6)
    known = ~np.isnan(part)
    assert known.sum() == 12
    assert part[known] == pytest.approx(whole[known], rel=1e-9)


@pytest.mark.parametrize("pattern", [(1, 1, 1, 3), (1, 1, 2, 2), (0, 0, 0, 3)])
def test_what_is_infinite_where_samples_meet_is_refused(pattern):
    functions, kinks = given("relu")
    with pytest.raises(KernelInputError, match="is infinite where samples meet"):
        kinked_quadruple_means(functions, kinks, np.eye(2), [pattern])


def test_the_relu_family_is_recognised():
    assert KinkedMeans(*given("relu")).slopes == (0.0, 1.0)
    assert KinkedMeans(*given("leaky_relu(z, 0.3)")).slopes == (0.3, 1.0)
    for what in ("elu", "selu", "relu(z - 1)", "max(z, z**2)"):
        assert KinkedMeans(*given(what)).slopes is None


RANK_THREE = DRAWN[:, :3] @ DRAWN[:, :3].T


@pytest.mark.parametrize("what", ["relu", slow("elu(z, 2)"), swept("relu(z - 1)")])
def test_four_samples_in_three_dimensions(what):
    """Given two of them the other two are the same; values are those of many sampled points."""
    functions, kinks = given(what)
    (table,) = kinked_quadruple_means(functions, kinks, RANK_THREE, [(0, 0, 1, 1)], tolerance=1e-6)
    z = np.random.default_rng(2).standard_normal((1_000_000, 3)) @ DRAWN[:, :3].T
    values = [function(z) for function in functions]
    for i, j, k, m in [(0, 1, 2, 3), (3, 1, 0, 2)]:
        drawn = values[0][:, i] * values[0][:, j] * values[1][:, k] * values[1][:, m]
        assert abs(table[i, j, k, m] - drawn.mean()) <= 4.5 * drawn.std() / 1e3 + 1e-6


def test_smooth_functions_take_the_same_way():
    tanh = numpy_activation("tanh", 1).functions
    K = KERNELS["generic"][:3, :3]
    (found,) = kinked_quadruple_means(tanh, [], K, [(0, 0, 1, 1)], tolerance=1e-8)
    (expected,) = quadruple_means(tanh, K, [(0, 0, 1, 1)], tolerance=1e-9)
    assert np.abs(found - expected).max() <= 1e-8
