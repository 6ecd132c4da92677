"""Means over four samples against exact moments, closed forms, and plain sums."""

from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from cases import slow, swept
from kernels.kernel_reference import erf, functions, sin, tanh

from symdlt.kernels import numpy_activation
from symdlt.means import KernelInputError, pair_means, quadruple_means
from symdlt.means.nodes import cloud

PATTERNS = [(0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1), (0, 1, 1, 2), (1, 1, 1, 3), (1, 1, 2, 2)]
TANH, SIN = functions(tanh, 4), functions(sin, 4)


def shifted(order, z, lib):
    return tanh(order, z + 0.4, lib)


def quartic(order, z, lib):
    c = np.polynomial.Polynomial([0.3, 1.0, -0.7, 0.2])
    return c.deriv(order)(z) if order < 4 else 0 * z


def grid(step, reach=10.0):
    x = step * np.arange(-int(reach / step), int(reach / step) + 1)
    w = np.exp(-(x**2) / 2)
    return x, w / w.sum()


def norms(f, K, pattern):
    x, w = grid(0.03)
    roots = np.sqrt(np.diag(K))[:, None]
    parts = [np.sqrt(f[k](roots * x) ** 2 @ w) for k in pattern]
    return np.maximum(np.einsum("a,b,c,d->abcd", *parts), 1e-150)


def sine_mean(K, pattern):
    """<prod sin^(p)(z)>: sums of exponentials of z."""
    total = 0
    places = np.stack(np.meshgrid(*[np.arange(len(K))] * 4, indexing="ij"))
    for signs in product((1, -1), repeat=4):
        exponent = sum(
            signs[a] * signs[b] * K[places[a], places[b]] for a in range(4) for b in range(4)
        )
        phase = np.prod([s * 1j ** (s * p) / 2j for s, p in zip(signs, pattern, strict=True)])
        total = total + phase * np.exp(-exponent / 2)
    return total.real


def isserlis(K, powers):
    """<z_0^a z_1^b z_2^c z_3^d> by pairing."""
    indices = [k for k, p in enumerate(powers) for _ in range(p)]
    if not indices:
        return 1.0
    first, rest = indices[0], indices[1:]
    total = 0.0
    for n in range(4):
        if n in rest:
            left = [rest.count(k) - (k == n) for k in range(4)]
            total += rest.count(n) * K[first, n] * isserlis(K, left)
    return total


def singular(count, seed=0):
    """Near and exact duplicates, multiples, a zero, low rank, and unlike variances."""
    x = np.random.default_rng(seed).standard_normal((count, 4))
    x *= np.exp(np.linspace(0.3, -2.5, count))[:, None]
    x[1] = x[0]
    x[2] = -0.5 * x[0]
    x[3] = 0.0
    x[5] = x[4] + 1e-5 * x[6]
    return x @ x.T / 4


def generic(count, scale=1.0, seed=1):
    x = np.random.default_rng(seed).standard_normal((count, 9)) + 0.5
    return scale * x @ x.T / 9


def nearly_equal(gap, scale=1.0, seed=3):
    x = np.random.default_rng(seed).standard_normal((4, 7))
    x[1] = x[0] + np.sqrt(2 * gap) * x[1]
    x[3] = -x[2] + np.sqrt(2 * gap) * x[3]
    return scale * x @ x.T / 7


KERNELS = {
    "singular": singular(8),
    "generic": generic(5),
    "weak": np.eye(4) + 0.01,
    "one": np.array([[1.3]]),
    "equal": np.full((5, 5), 0.8),
    "zero": np.zeros((4, 4)),
    "tiny": generic(4, 1e-12),
    **{f"near {gap:g}": nearly_equal(gap) for gap in (1e-4, 1e-9, 1e-13, 1e-15, 1e-16)},
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("tolerance", [1e-3, swept(1e-7), 1e-11])
def test_sines_of_any_kernel(name, tolerance):
    K = KERNELS[name]
    for pattern, found in zip(
        PATTERNS, quadruple_means(SIN, K, PATTERNS, tolerance=tolerance), strict=True
    ):
        least = 1e-7 if name in ("near 1e-15", "near 1e-16") else 0.0
        allowed = max(tolerance, least) * norms(SIN, K, pattern) + 1e-15
        assert (np.abs(found - sine_mean(K, pattern)) <= allowed).all()


@pytest.mark.parametrize("pattern", [(0, 0, 0, 0), (0, 1, 1, 2), (2, 0, 3, 1)])
@pytest.mark.parametrize("name", ["generic", "singular"])
def test_polynomials_have_exact_moments(pattern, name):
    K = KERNELS[name][-5:, -5:] if name == "generic" else KERNELS[name][:5, :5]
    found = quadruple_means(functions(quartic, 4), K, [pattern], tolerance=1e-10)[0]
    series = [
        np.atleast_1d(np.polynomial.Polynomial([0.3, 1.0, -0.7, 0.2]).deriv(k).coef)
        for k in pattern
    ]
    scale = norms(functions(quartic, 4), K, pattern)
    places = [(0, 1, 2, 3), (4, 2, 0, 1), (0, 0, 1, 4), (3, 1, 1, 3), (2, 2, 2, 2), (0, 1, 0, 0)]
    for place in places:
        part = K[np.ix_(place, place)]
        exact = sum(
            np.prod([c[p] for c, p in zip(series, powers, strict=True)]) * isserlis(part, powers)
            for powers in product(*(range(len(c)) for c in series))
        )
        assert abs(found[place] - exact) < 1e-10 * scale[place]


def dense_mean(f, K, place, pattern, step, reach=7.0):
    """A plain sum over the white variables of four samples with a Cholesky root."""
    root = np.linalg.cholesky(K[np.ix_(place, place)])
    x, w = grid(step, reach)
    total = 0.0
    for u, a in zip(x, w, strict=True):
        z0 = root[0, 0] * u
        z1 = root[1, 0] * u + root[1, 1] * x
        z2 = root[2, 0] * u + root[2, 1] * x[:, None] + root[2, 2] * x
        z3 = root[3, 0] * u + root[3, 1] * x[:, None, None] + root[3, 2] * x[:, None]
        last = f[pattern[3]](z3 + root[3, 3] * x) @ w
        inner = ((f[pattern[2]](z2) * last) @ w) * f[pattern[1]](z1)
        total += a * f[pattern[0]](np.array([z0]))[0] * (inner @ w)
    return total


@pytest.mark.parametrize("activation", [tanh, shifted])
def test_four_dimensional_sums(activation):
    f, K = functions(activation, 4), generic(4, 0.25)
    for pattern in PATTERNS:
        found = quadruple_means(f, K, [pattern], tolerance=1e-8)[0]
        place = (2, 0, 3, 1)
        off = abs(found[place] - dense_mean(f, K, place, pattern, 0.35))
        assert off < 1e-8 * norms(f, K, pattern)[place]


@pytest.mark.parametrize("K", [1e-12, 1.0, 25.0])
def test_one_sample_and_two(K):
    """Repeated samples against sums over one variable and over two."""
    x, w = grid(0.02)
    z = np.sqrt(K) * x
    u, v = grid(0.04, 9.0)
    both = np.sqrt(K) * (0.6 * u[:, None] + 0.8 * u)
    kernel = K * np.array([[1.0, 0.6], [0.6, 1.0]])
    for pattern, found in zip(
        PATTERNS, quadruple_means(TANH, kernel, PATTERNS, tolerance=1e-8), strict=True
    ):
        a, b, c, d = (TANH[k] for k in pattern)
        scale = norms(TANH, kernel, pattern)[0, 0, 0, 0]
        assert abs(found[0, 0, 0, 0] - w @ (a(z) * b(z) * c(z) * d(z))) < 1e-8 * scale
        first = v * a(np.sqrt(K) * u)
        exact = (first * b(np.sqrt(K) * u)) @ (c(both) * d(both)) @ v
        assert abs(found[0, 0, 1, 1] - exact) < 1e-8 * scale
        exact = (first * c(np.sqrt(K) * u) * d(np.sqrt(K) * u)) @ b(both) @ v
        assert abs(found[0, 1, 0, 0] - exact) < 1e-8 * scale


def test_large_variances():
    """A tolerance against a smaller one, and pairs of independent samples against their means."""
    K = 25.0 * np.array([[1, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, -0.8], [0, 0, -0.8, 1]])
    found = quadruple_means(TANH, K, [(0, 0, 0, 0), (0, 0, 1, 1)], tolerance=1e-4)
    values, slopes = pair_means(TANH, K, [(0, 0), (1, 1)])
    for means, second in zip(found, (values, slopes), strict=True):
        scale = np.sqrt(values[0, 0] ** 2 * second[0, 0] ** 2)
        assert abs(means[0, 1, 2, 3] - values[0, 1] * second[2, 3]) < 1e-4 * scale
        assert abs(means[2, 3, 0, 1] - values[2, 3] * second[0, 1]) < 1e-4 * scale


@pytest.mark.parametrize("activation", [tanh, shifted])
def test_permuted_samples_give_permuted_means(activation):
    f, K = functions(activation, 3), generic(5)
    order = np.random.default_rng(2).permutation(5)
    for pattern in [(0, 0, 0, 0), (0, 1, 1, 2)]:
        one = quadruple_means(f, K, [pattern])[0]
        other = quadruple_means(f, K[np.ix_(order, order)], [pattern])[0]
        off = np.abs(one[np.ix_(*[order] * 4)] - other) / norms(f, K, pattern)
        assert off.max() < 2e-7


def test_axes_of_equal_order_are_exchanged_and_duplicates_duplicate():
    K = generic(4)
    K = K[np.ix_((0, 1, 2, 1, 3), (0, 1, 2, 1, 3))]
    first, second = quadruple_means(TANH, K, [(0, 1, 1, 2), (1, 1, 2, 0)])
    assert (first == first.transpose(0, 2, 1, 3)).all()
    assert (first == second.transpose(3, 0, 1, 2)).all()
    for axis in range(4):
        assert (np.take(first, 1, axis) == np.take(first, 3, axis)).all()


@pytest.mark.parametrize("name", ["generic", "singular"])
def test_some_samples_have_the_same_means_as_all(name):
    K = KERNELS[name]
    some = [(0, 1, 2, 4), (0, 0, 1, 2), (4, 0, 0, 4), (3, 3, 3, 3), (4, 4, 4, 1)]
    asked = {p for row in some for p in permutations(row)}
    for found, full in zip(
        quadruple_means(TANH, K, PATTERNS[:4], some),
        quadruple_means(TANH, K, PATTERNS[:4]),
        strict=True,
    ):
        assert {tuple(place) for place in np.argwhere(~np.isnan(found)).tolist()} == asked
        for place in asked:
            assert found[place] == pytest.approx(full[place], abs=2e-7)
    assert np.isnan(quadruple_means(TANH, K, [PATTERNS[0]], np.zeros((0, 4), int))[0]).all()


def test_the_functions_may_be_given_together():
    def together(z, count):
        t = np.tanh(z)
        u = 1 - t * t
        return [t, u, -2 * t * u, u * (6 * t * t - 2)][:count]

    K = generic(5)
    alone, both = (quadruple_means(TANH, K, PATTERNS, together=g) for g in (None, together))
    for one, other in zip(alone, both, strict=True):
        assert np.abs(one - other).max() < 1e-12


@pytest.mark.parametrize("pattern", list(combinations_with_replacement(range(3), 4)))
def test_any_pattern(pattern):
    K = generic(4)
    found = quadruple_means(SIN, K, [pattern], tolerance=1e-9)[0]
    assert (np.abs(found - sine_mean(K, pattern)) <= 1e-9 * norms(SIN, K, pattern)).all()


@pytest.mark.parametrize(
    ("activation", "what"),
    [
        ([lambda z: np.maximum(z, 0)], "do not converge"),
        ([lambda z: z * np.abs(z)], "do not converge"),
        ([np.sign], "do not converge"),
        ([lambda z: np.exp(9 * z)], "do not converge|overflow"),
        ([lambda z: np.exp(300 * z)], "do not converge|overflow"),
        ([lambda z: np.full(z.shape, np.nan)], "overflow"),
        ([lambda z: z[:1]], "shape"),
        ([1.0], "as functions"),
    ],
)
def test_activations_that_are_not_smooth_are_refused(activation, what):
    with pytest.raises(KernelInputError, match=what):
        quadruple_means(activation, generic(4), [(0, 0, 0, 0)])


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"patterns": [(0, 0)]}, "are not four of 0 … 3"),
        ({"patterns": [(0, 0, 0, 4)]}, "are not four of 0 … 3"),
        ({"K": np.ones((2, 3))}, "shape"),
        ({"K": np.array([[1.0, 2.0], [2.0, 1.0]])}, "correlation of size 2"),
        ({"samples": [(0, 1, 2)]}, "are not quadruples of 0 … 3"),
        ({"samples": [(0, 1, 2, 4)]}, "are not quadruples of 0 … 3"),
        ({"samples": [(0, 1, 2, -1)]}, "are not quadruples of 0 … 3"),
        ({"samples": [(0, 1), (1, 2, 3)]}, "are not quadruples of 0 … 3"),
        ({"samples": [(0, 1, 2, 0.5)]}, "are not quadruples of 0 … 3"),
        ({"tolerance": 0.0}, "The tolerance is 0"),
        ({"tolerance": np.nan}, "The tolerance is nan"),
        ({"tolerance": "1"}, "The tolerance is '1'"),
        ({"together": lambda z, count: [z[:1]] * count}, "shape"),
        ({"together": lambda z, count: [z]}, "1 functions"),
        ({"together": 3}, "together"),
    ],
)
def test_bad_input_is_refused_in_words(arguments, what):
    given = {"activation": TANH, "K": np.eye(4), "patterns": [(0, 0, 1, 1)], **arguments}
    with pytest.raises(KernelInputError, match=what):
        quadruple_means(**given)


def test_no_patterns_no_means():
    assert quadruple_means(TANH, np.eye(2), []) == []


GAUSSIAN = [lambda z: np.exp(-(z**2))]


@pytest.mark.parametrize("variance", [0.31, 0.8, 5.0, 25.0])
def test_localised_functions(variance):
    """<exp(-z^2)^4> is (1 + 8K)^(-1/2); nodes end where it is negligible, not the Gaussian."""
    (one,) = quadruple_means(GAUSSIAN, np.array([[variance]]), [(0, 0, 0, 0)])
    assert one.item() == pytest.approx((1.0 + 8.0 * variance) ** -0.5, rel=1e-6)
    (two,) = quadruple_means(GAUSSIAN, variance * np.eye(2), [(0, 0, 0, 0)])
    assert two[0, 0, 1, 1] == pytest.approx(1.0 / (1.0 + 4.0 * variance), rel=1e-6)


@pytest.mark.parametrize("frequency", [7.0, 9.0, 20.0, 60.0])
def test_fast_oscillations_are_no_slow_ones(frequency):
    sine = [lambda z: np.sin(frequency * z)]
    K = np.array([[1.0, 0.3, 0.2], [0.3, 1.0, 0.1], [0.2, 0.1, 1.0]])
    (found,) = quadruple_means(sine, K, [(0, 0, 0, 0)])
    assert found[0, 0, 0, 0] == pytest.approx(3.0 / 8.0, rel=1e-6)
    assert found[0, 0, 1, 1] == pytest.approx(1.0 / 4.0, rel=1e-6)
    assert abs(found[0, 0, 1, 2]) <= 1e-6


def test_what_is_asked_for_does_not_matter():
    tanh = numpy_activation("tanh", 2).functions
    for variance in (1.0, 25.0):
        K = variance * np.array([[1.0, 0.4], [0.4, 0.6]])
        (alone,) = quadruple_means(tanh, K, [(1, 1, 1, 1)])
        among = quadruple_means(tanh, K, [(0, 0, 0, 0), (0, 1, 1, 2), (1, 1, 1, 1)])[2]
        assert np.abs(alone - among).max() <= 1e-6 * np.abs(among).max()


def test_correlations_that_no_samples_have_are_refused():
    bad = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    with pytest.raises(KernelInputError, match=r"have the eigenvalue -0\.8"):
        quadruple_means(GAUSSIAN, bad, [(0, 0, 0, 0)])


@pytest.mark.parametrize("name", ["swish", "sigmoid", "softplus"])
def test_rounding_errors_at_tiny_variances_are_no_roughness(name):
    """At variance v, <f f> = f(0)^2 + v (f'^2 rho + f f'') + O(v^2)."""
    functions = numpy_activation(name, 3).functions
    zero, one, two = (float(f(np.zeros(1))[0]) for f in functions[:3])
    K = 1e-12 * np.array([[1.0, 0.3], [0.3, 1.0]])
    kernel = pair_means(functions, K, [(0, 0), (2, 2), (1, 3)])[0]
    expected = zero**2 + 1e-12 * (one**2 * np.array([[1.0, 0.3], [0.3, 1.0]]) + zero * two)
    assert kernel == pytest.approx(expected, rel=1e-9, abs=1e-27)
    (four,) = quadruple_means(functions, K, [(0, 0, 0, 0)])
    assert np.isfinite(four).all()


def test_alike_samples_of_large_variance_keep_the_tolerance():
    """Blocks whose steps are found with one term: many terms, from samples nearly dependent."""
    rng = np.random.default_rng(5)
    x = np.array([5.8, 3.0, 3.8, 1.2]) + rng.standard_normal((4, 4)) * [0.8, 0.4, 1.7, 0.8]
    K = 0.1 + 1.5 * x @ x.T / 4
    patterns = [(0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1), (0, 1, 1, 2)]
    for tolerance in (1e-4, 1e-6):
        rough = quadruple_means(TANH, K, patterns, tolerance=tolerance)
        fine = quadruple_means(TANH, K, patterns, tolerance=1e-9)
        for pattern, one, other in zip(patterns, rough, fine, strict=True):
            assert (np.abs(one - other) <= tolerance * norms(TANH, K, pattern)).all()


def test_steps_along_two_axes_see_what_varies_along_both():
    """Rows of Iris, unscaled: checks along the axes alone are passed with errors of six times 1e-7.

    The errors of both axes are small, and those of samples on the diagonal are on neither.
    """
    x = np.array(
        [
            [5.1, 3.5, 1.4, 0.2],
            [4.3, 3.0, 1.1, 0.1],
            [5.2, 3.5, 1.5, 0.2],
            [5.0, 3.5, 1.3, 0.3],
            [6.5, 2.8, 4.6, 1.5],
            [5.8, 2.7, 4.1, 1.0],
            [5.5, 2.4, 3.7, 1.0],
        ]
    )
    K = 0.1 + 1.5 * x @ x.T / 4
    patterns = [(0, 1, 1, 2), (1, 1, 1, 3), (1, 1, 2, 2)]
    rough = quadruple_means(TANH, K, patterns)
    fine = quadruple_means(TANH, K, patterns, tolerance=1e-9)
    for pattern, one, other in zip(patterns, rough, fine, strict=True):
        assert (np.abs(one - other) <= 1e-7 * norms(TANH, K, pattern)).all()


def test_nodes_tell_what_varies_along_the_diagonal_of_their_axes():
    nodes = cloud((0.3, 0.7), 7.0, False)
    waves = np.cos(np.pi * (nodes.nodes[0] / 0.3 + nodes.nodes[1] / 0.7))
    moved = (nodes.weights * nodes.signs) @ waves
    assert moved == pytest.approx([0.0, 0.0, 1.0], abs=1e-3)


@pytest.mark.parametrize(
    "text",
    [
        "tanh(4*z)",
        slow("tanh(5*(z - 1))"),
        swept("tanh(z) + tanh(12*z)/10"),
        "tanh(z) + exp(-4*(z - 1)**2)",
        "z/(1 + exp(-5*z))",
        "1/(1 + (z - 2)**2)",
        "sin(3*z)*exp(-z**2/8)",
    ],
)
def test_nodes_that_lie_apart_miss_nothing(text):
    """Steep at zero, where nodes are near each other, or elsewhere."""
    rng = np.random.default_rng(1)
    x = np.array([2.0, 1.0, 1.0]) + 0.2 * rng.standard_normal((4, 3))
    given = numpy_activation(text, 2)
    for K in (x @ x.T / 3, np.array([[4.0, 1.0], [1.0, 3.0]])):
        patterns = [(0, 0, 0, 0), (0, 1, 1, 2)]
        rough = quadruple_means(given.functions, K, patterns, tolerance=1e-6)
        fine = quadruple_means(given.functions, K, patterns, tolerance=1e-10)
        for pattern, one, other in zip(patterns, rough, fine, strict=True):
            assert (np.abs(one - other) <= 1e-6 * norms(given.functions, K, pattern)).all()


@pytest.mark.parametrize("coupled", [0.0, 1e-6])
@pytest.mark.parametrize("tolerance", [1e-5, swept(1e-7), 1e-9, swept(1e-11)])
@pytest.mark.parametrize("f", [TANH, SIN, functions(erf, 4)], ids=["tanh", "sin", "erf"])
def test_two_pairs_that_are_independent_of_each_other(f, tolerance, coupled):
    """Means are products: what odd functions have of samples that are given is zero there.

    A check by that alone took any step as good, and means were off by a fifth of the norms.
    """
    pairs = [
        (1.1, 0.2, 0.7, 0.85),
        (0.5, 0.3, 0.7, 0.85),
        (1.0, 0.5, 1.0, 0.95),
        (2.0, 0.9, 1.0, 0.9),
    ]
    for first, r, second, s in pairs:
        K = np.zeros((4, 4))
        K[:2, :2] = first * np.array([[1.0, r], [r, 1.0]])
        K[2:, 2:] = second * np.array([[1.0, s], [s, 1.0]])
        K[:2, 2:] = K[2:, :2] = coupled
        (plain,) = pair_means(f, K, [(0, 0)])
        right = plain[:2, :2, None, None] * plain[2:, 2:]
        ours = quadruple_means(f, K, [(0, 0, 0, 0)], tolerance=tolerance)[0][:2, :2, 2:, 2:]
        allowed = tolerance * norms(f, K, (0, 0, 0, 0))[:2, :2, 2:, 2:]
        # Of second order in the coupling, with the second derivatives of <f f> for a factor.
        assert (np.abs(ours - right) <= allowed + 10.0 * coupled**2).all()
