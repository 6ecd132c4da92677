"""RMSNorm and LayerNorm against exact moments on a sphere."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from cases import slow, swept
from sympy import Poly, Rational, diff, expand, factorial2, symbols, sympify

from symdlt import Network, check, layer_equations, propagate
from symdlt.definitions import Stack, ascii_name, read_layer_definition
from symdlt.errors import LayerError, SamplingError

FIRST = "z' = W z"
BIASED = "z' = b + W z"
READOUT = "z' = b + W s(z)"
y, z = symbols("y z")
n = 10**13  # exact moments at a width that leaves nothing of the next order


def gaussian_moment(powers, variance, covariance):
    """Of two Gaussians of one variance, by Wick's theorem."""
    a, b = powers
    total = 0
    for links in range(min(a, b) + 1):
        if (a - links) % 2 or (b - links) % 2:
            continue
        ways = prod(a - k for k in range(links)) * prod(b - k for k in range(links))
        ways = Fraction(ways, prod(range(1, links + 1)))
        inner = int(factorial2(a - links - 1) * factorial2(b - links - 1))
        total += ways * inner * covariance**links * variance ** ((a + b) // 2 - links)
    return total


def sphere_moment(powers, centred, n=n):
    """Of a Gaussian vector over its length: the two are independent, and the length is chi."""
    size = n - 1 if centred else n
    if sum(powers) % 2:
        return 0
    lengths = prod((size + 2 * k for k in range(sum(powers) // 2)), start=1)
    drawn = gaussian_moment(powers, Fraction(size, n), Fraction(-1, n) if centred else 0)
    return n ** (sum(powers) // 2) * drawn / lengths


def mean(polynomial, centred, n=n):
    terms = Poly(polynomial, z, y).terms()
    return sum(Fraction(str(c)) * sphere_moment(powers, centred, n) for powers, c in terms)


def correction(exact):
    """The coefficient of 1/n of a function of n."""
    return float(n * (exact(n) - exact(n**3)))


@pytest.mark.parametrize("norm", ["rmsnorm", "layernorm"])
@pytest.mark.parametrize("activation", ["z", "z + z**2/2", "1 + z**2 - z**3/3"])
def test_v_of_a_normalised_layer_is_that_of_a_sphere(norm, activation):
    """n cov of (1/n) sum s(z)^2 for z uniform on the sphere; its limit is V at C_W = 1."""
    centred = norm == "layernorm"
    network = Network(activation, [9], {"C_W": 1.0}, [FIRST, f"z' = W s({norm}(z))"], n_L=2)
    found = propagate(network, [[1.0, -0.7]], ["G", "V"])
    square = sympify(activation) ** 2
    first = mean(square, centred)
    apart = mean(square * square.subs(z, y), centred)
    variance = mean(square**2, centred) / n + Fraction(n - 1, n) * apart - first**2
    computed = [found[name][-1].item() for name in "GV"]
    np.testing.assert_allclose(computed, [float(first), float(n * variance)], atol=1e-9)


@pytest.mark.parametrize("norm", ["rmsnorm", "layernorm"])
@pytest.mark.parametrize("activation", ["z", "z + z**2/2", "1 + z**2 - z**3/3"])
def test_corrections_after_a_norm_are_exact(norm, activation):
    """G of a sphere, and H by the Jacobian of z over its length, with E 1/r of a chi square.

    The Jacobian is symmetric, and projects on what is at right angles to z, and to the mean.
    """
    centred, C, rate = norm == "layernorm", Fraction(6, 5), Fraction(2)
    values = {"C_W": float(C), "lambda_W": float(rate)}
    network = Network(activation, [9], values, [FIRST, f"z' = W s({norm}(z))"], n_L=2)
    found = propagate(network, [[1.0, -1.0]], ["G.1", "H.1"])
    function = sympify(activation)
    slope = diff(function, z) ** 2

    def ntk(n):
        dimensions = n - 1 if centred else n
        inverse = Fraction(n, dimensions - 2) / C
        across = mean(slope, centred, n) * Fraction(dimensions, n)
        across -= mean(slope * z**2, centred, n) / n
        return rate * mean(function**2, centred, n) + C * rate * inverse * across

    exact = [correction(lambda n: C * mean(function**2, centred, n)), correction(ntk)]
    computed = [found[name][-1].item() for name in ("G.1", "H.1")]
    np.testing.assert_allclose(computed, exact, atol=1e-9)


@pytest.mark.parametrize("norm", ["rmsnorm", "layernorm"])
def test_corrections_of_a_normalised_skip_are_exact(norm):
    """E s(ξ f + h)² for σ = z + z²/2 is a polynomial in S = C M(s(f)s(f)), and f a sphere's."""
    centred, C, xi = norm == "layernorm", Fraction(7, 8), Rational(3, 5)
    h, S = symbols("h S")
    square = expand((xi * z + h + (xi * z + h) ** 2 / 2) ** 2)
    even = [(k, c) for (k,), c in Poly(square, h).terms() if k % 2 == 0]
    given = Poly(sum(c * S ** (k // 2) * factorial2(k - 1) for k, c in even), S)
    function = (z + z**2 / 2) ** 2

    def average(first, n):
        same = mean(first * function, centred, n)
        return (same + (n - 1) * mean(first * function.subs(z, y), centred, n)) / n

    def kernel(n):
        constant, linear, quadratic = (given.coeff_monomial(S**k) for k in range(3))
        found = mean(constant, centred, n) + C * average(linear, n)
        return C * (found + C**2 * Fraction(str(quadratic)) * average(function, n))

    layers = [FIRST, f"f = {norm}(z); z' = xi f + W s(f)", "z' = W s(z)"]
    network = Network("z + z**2/2", [9, 9], {"C_W": float(C), "xi": float(xi)}, layers, n_L=2)
    found = propagate(network, [[1.0, -1.0]], ["G", "G.1"], tolerance=1e-11)
    assert found["G"][2].item() == pytest.approx(float(kernel(n**3)), rel=1e-9)
    assert found["G.1"][2].item() == pytest.approx(correction(kernel), rel=1e-9)


@pytest.mark.parametrize("norm", ["rmsnorm", "layernorm"])
def test_a_layer_that_ends_with_a_norm_keeps_the_length_at_every_width(norm):
    layers = [FIRST, *[f"z' = {norm}(1/2 z + W s(z))"] * 3]
    network = Network("swish", [9] * 3, {"C_W": 1.3}, layers, n_L=9)
    found = propagate(network, [[1.0, -1.0], [0.3, 0.8]], "G.1")["G.1"]
    np.testing.assert_allclose(np.diagonal(found, axis1=1, axis2=2), 0, atol=1e-6)
    assert abs(found[-1, 0, 1]) > 0.01


@pytest.mark.parametrize(
    ("first", "second"),
    [
        swept("layernorm(layernorm({}))", "layernorm({})"),
        swept("rmsnorm(layernorm({}))", "layernorm({})"),
        slow("layernorm(rmsnorm({}))", "layernorm({})"),
        swept("rmsnorm(rmsnorm({}))", "rmsnorm({})"),
    ],
)
def test_a_norm_of_a_norm_is_the_later_one(first, second):
    """At every width; the means and lengths of three layers with an activation of no parity."""
    values = {"C_b": 0.1, "C_W": 1.1, "xi": 0.9, "lambda_b": 0.2, "lambda_W": 0.7}
    both = []
    for norm in (first, second):
        layer = f"z' = {norm.format('xi z + b + W s(z)')}"
        layers = [BIASED, *[layer] * 3, READOUT]
        network = Network("sin(z) + cos(z)", [9] * 4, values, layers, n_L=2)
        both.append(propagate(network, [[1.0, 0.3], [-0.4, 0.8]], ["V", "B", "F", "G.1", "H.1"]))
    for name in both[0].names:
        np.testing.assert_allclose(both[0][name], both[1][name], atol=1e-12)


@pytest.mark.slow
@pytest.mark.montecarlo
def test_means_that_are_taken_away_meet_the_noise_of_weights_below():
    """LayerNorm of ξ z + W σ(z) for σ of no parity, where M(z) and M(σσ) are correlated.

    By sampled averages at n and 2n, each less the kernel: -0.020 without that covariance.
    """
    x, xi, (C_1, C_2) = np.array([[1.0, 0.3], [-0.4, 0.8]]), 0.9, (1.5, 2.0)
    layers = [FIRST, "z' = layernorm(xi z + W s(z))", "z' = W s(z)"]
    values = {"C_W": [C_1, C_2, 1.0], "xi": xi}
    network = Network("sin(z) + cos(z)", [9, 9], values, layers, n_L=2)
    found = propagate(network, x, ["G", "G.1"])
    rng = np.random.default_rng(1)

    def sampled(width, batch=4000, batches=100):
        """n times the mean of M(σσ) less the kernel, and its error, by batches."""
        parts = []
        for _ in range(batches):
            z = rng.normal(0, (C_1 / 2) ** 0.5, (batch, width, 2)) @ x.T
            W = rng.normal(0, (C_2 / width) ** 0.5, (batch, width, width))
            h = xi * z + W @ (np.sin(z) + np.cos(z))
            h -= h.mean(axis=1, keepdims=True)
            h /= np.sqrt((h**2).mean(axis=1, keepdims=True))
            function = np.sin(h) + np.cos(h)
            parts.append((function[..., 0] * function[..., 1]).mean())
        mean, error = np.mean(parts), np.std(parts) / batches**0.5
        return width * (mean - found["G"][2, 0, 1]), width * error

    (first, error), (second, other) = sampled(12), sampled(24)
    score = (2 * second - first - found["G.1"][2, 0, 1]) / np.hypot(2 * other, error)
    print(f"G.1 of two inputs after LayerNorm: z = {score:.2f}")
    assert abs(score) < 4


# Layers between a linear first one and a dense last one, and the hidden widths.
CASES = {
    "rmsnorm before the weights": (["z' = b + W s(rmsnorm(z))"] * 2, [48, 64, 48]),
    "layernorm before the weights": (["z' = b + W s(layernorm(z))"] * 2, [48, 64, 48]),
    "rmsnorm and a skip": (["h = U s(rmsnorm(z)); z' = z + W s(h)"] * 2, [32] * 3),
    "layernorm and a skip": (["z' = z + W s(layernorm(z)) + b"] * 2, [32] * 3),
    "rmsnorm after the skip": (["z' = rmsnorm(xi z + W s(z) + b)"] * 2, [32] * 3),
    "layernorm after the skip": (["z' = layernorm(xi z + W s(z) + b)"] * 2, [32] * 3),
    "one after the other": (
        ["z' = layernorm(xi z + W s(z) + b)", "z' = xi z + W s(rmsnorm(z))"],
        [32] * 3,
    ),
}


SLOW = ["layernorm before the weights", "rmsnorm and a skip", "one after the other"]
TANH = ["layernorm before the weights", "rmsnorm after the skip"]


@pytest.mark.montecarlo
@pytest.mark.parametrize(
    ("case", "activation"),
    [(slow if case in SLOW else swept)(case, "swish") for case in CASES]
    + [swept(case, "tanh") for case in TANH],
)
def test_corrections_of_sampled_normalised_networks(case, activation):
    layers, widths = CASES[case]
    every = [BIASED, *layers, READOUT]
    values = {"C_U": 1.2, "C_W": 1.1, "C_b": 0.1, "xi": 0.7}
    values |= {"lambda_U": 0.3, "lambda_W": 0.7, "lambda_b": 0.2}
    symbols = {ascii_name(s) for layer in every for s in read_layer_definition(layer).symbols}
    given = {name: values[name] for name in symbols}
    network = Network(activation, widths, given, every, n_L=6)
    x = [[1.0, 0.3], [-0.4, 0.8]]
    comparison = check(network, x, ["G.1", "H.1"], networks=6000, seed=8)
    print(case, comparison, sep="\n")
    assert comparison.agrees


def test_a_norm_makes_scales_drop_out():
    """The kernel is that of inputs of length one, and rates are divided by their square."""
    layers = [FIRST, "z' = b + W s(rmsnorm(z))"]
    values = {"C_b": 0.1, "C_W": 1.0, "lambda_b": 0.0, "lambda_W": [1.0, 0.0]}
    network = Network("tanh", [9], values, layers)
    x = np.array([[0.3, -0.4], [0.6, 0.8]])
    names = ["G", "V", "F", "B", "G.1", "H.1"]
    small, large = (propagate(network, scale * x, names) for scale in (1.0, 1e3))
    for name in names:
        np.testing.assert_allclose(small[name][1], large[name][1], rtol=1e-9, atol=1e-14)


def test_nested_statements_are_those_with_names():
    short = Stack("z' = z + W s(U rmsnorm(z))")
    long = Stack("n = rmsnorm(z); u = U n; z' = z + W s(u)")
    values = {"C_W": [1.0, 0.5, 1.0], "C_U": 1.2}
    both = [
        propagate(
            Network("tanh", [9, 9], values, [FIRST, layer, FIRST]), [[1.0, 0.3], [0.2, 2.0]], "V"
        )
        for layer in (short, long)
    ]
    np.testing.assert_allclose(both[0]["V"], both[1]["V"], rtol=1e-13)
    assert str(short) == "z' = z + W s(U rmsnorm(z))"
    assert short.sites == (("z", "rmsnorm(z)", "z'"), ("u",))
    assert Stack("n = rmsnorm(2 z); h = U n; z' = W s(h)").sites[:2] == (("z", "h2", "n"), ("h",))


@pytest.mark.parametrize(
    ("layers", "x", "names", "message"),
    [
        (["z' = W s(rmsnorm(z))"] * 2, [[1.0]], "V", "applies rmsnorm to the input"),
        ([FIRST, "z' = W s(layernorm(z))"], [[1.0], [0.0]], "V", "is zero for input 1"),
        ([FIRST, "z' = W s(rmsnorm(z))"], [[1e90]], "V", "Scale the inputs"),
    ],
)
def test_what_is_not_known_of_norms_is_refused(layers, x, names, message):
    with pytest.raises(LayerError, match=message):
        propagate(Network("tanh", [9], {"C_W": 1.0}, layers), x, names)


def test_layer_norm_of_one_neuron_is_zero_over_zero():
    network = Network("tanh", [1, 4], {"C_W": 1.0}, [FIRST, "z' = W s(layernorm(z))", FIRST])
    with pytest.raises(SamplingError, match="one neuron is always zero"):
        check(network, [[1.0]], ["G"], networks=4)


def test_norms_whose_equations_do_not_close_are_refused():
    with pytest.raises(LayerError, match="ends with a norm"):
        layer_equations("V", "h = U s(z); z' = rmsnorm(h)")
    with pytest.raises(LayerError, match="keeps what LayerNorm makes"):
        layer_equations("V", "h = layernorm(z); z' = h + W s(z)")
    with pytest.raises(LayerError, match="has rmsnorm' of a field"):
        Stack("z' = W rmsnorm'(z)")
