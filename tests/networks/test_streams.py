"""Networks of layers that are not dense, against equations and iterations of other origin."""

from fractions import Fraction

import numpy as np
import pytest
from sympy import Poly, expand, factorial2, symbols

from symdlt import BOOK, MLP, check, propagate
from symdlt.algebra import (
    activation,
    biases,
    from_cumulants,
    neurons,
    orthogonal,
    preactivations,
    sample,
    signs,
    sparse,
    symbol,
    uniform,
    weights,
)
from symdlt.definitions import DENSE, Layer, Network, Stack, program_of
from symdlt.errors import ActivationError, InfiniteMeanError, KernelError, LayerError
from symdlt.networks import truncated_recursion, truncation_text
from symdlt.networks.requests import overlaps
from symdlt.networks.streams import stream_tensors
from symdlt.sampling import draw_parameters

FIRST, RESIDUAL = "z' = W z", "z' = xi z + b + W s(z)"
RATES = {"lambda_b": 0.3, "lambda_W": 0.7}
X = np.array([[1.0, 0.3, -0.2], [-0.4, 0.8, 0.5]])
# The trapezoidal rule: for tanh its error is about exp(-2π·π/2√K/h), below rounding.
NODES = np.linspace(-9, 9, 145)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()


def residual(activation, depth, xi, **values):
    values = {"C_b": 0.0, "C_W": 1.0, **RATES, "xi": xi, **values}
    return Network(activation, [6] * (depth - 1), values, RESIDUAL, n_L=6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("values", "names", "reason"),
    [
        ({"xi": 1e160}, ["G"], "The kernel overflows at layer 2 of 3"),
        ({"xi": 1e160}, ["V"], "The kernel overflows at layer 2 of 3"),
        ({"lambda_W": 1e160}, ["A"], "The tensor A overflows at layer 2 of 3"),
    ],
)
def test_overflow_is_refused_without_warnings(values, names, reason):
    network = residual("tanh", 3, **{"xi": 0.5, **values})
    with pytest.raises(KernelError, match=reason):
        propagate(network, X, names)


@pytest.mark.parametrize(("activation", "names"), [("swish", [*BOOK]), ("relu", [*"GHVADBF"])])
def test_a_chain_of_dense_layers_has_the_tensors_of_its_kernels(activation, names):
    values = {"C_b": 0.1, "C_W": [1.2, 0.8, 1.5, 1.0], **RATES}
    widths = [20, 30, 25]
    expected = MLP(activation=activation, widths=widths, **values).propagate(X, names)
    network = Network(activation, widths, values, n_0=3)
    found = stream_tensors(network, overlaps(X), names, 1e-7)
    for name in names:
        scale = np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name], expected[name], atol=1e-13 * scale, err_msg=name)


@pytest.mark.parametrize("xi", [0.5**0.5, -0.3])
def test_linear_residual_networks_keep_their_exact_growth(xi):
    """The norm of a linear residual network is a product of independent factors.

    With C_W = 1 - ξ², |z'|² = ξ²|z|² + 2ξ z·Wz + |Wz|² has the mean |z|² and the relative variance
    [4ξ²C_W + 2C_W²]/n = 2(1 - ξ⁴)/n to leading order, of which V is the part of two neurons.
    """
    found = propagate(residual("z", 7, xi, C_W=[1] + [1 - xi**2] * 6), [[1.0]], ["G", "V"])
    ratio = found["V"].ravel() / found["G"].ravel() ** 2
    np.testing.assert_allclose(ratio, 2 * (1 - xi**4) * np.arange(7), atol=1e-9)


def mean(function, variance):
    return WEIGHTS @ function(np.sqrt(variance) * NODES)


def covariance(first, second, K, k):
    """Of functions of z at two depths; the covariance of these is k."""
    root = np.sqrt(K[0])
    z = root * NODES[:, None]
    later = k / root * NODES[:, None] + np.sqrt(K[1] - k * k / K[0]) * NODES
    weight = np.outer(WEIGHTS, WEIGHTS)
    left, right = first(z) + 0 * later, second(later)
    return (weight * left * right).sum() - (weight * left).sum() * (weight * right).sum()


@pytest.mark.parametrize("xi", [0.6, 0.8])
def test_v_of_tanh_residual_networks_by_pairs_of_depths(xi):
    """One input: C' = χ²C + 2χY + var(σσ), Y[F] summed over all depths below; V = C + 2Y[zz]."""
    depth = 6
    network = residual("tanh", depth, xi, C_b=0.1, C_W=1.1)
    found = propagate(network, [[1.0]], ["G", "V"], tolerance=1e-11)

    def square(z):
        return np.tanh(z) ** 2

    def curved(z):
        return 2 * (1 - np.tanh(z) ** 2) * (1 - 3 * np.tanh(z) ** 2)

    K = [0.1 + 1.1]
    for _ in range(depth - 1):
        K.append(xi**2 * K[-1] + 0.1 + 1.1 * mean(square, K[-1]))
    slopes = [xi**2 + 1.1 * mean(curved, k) / 2 for k in K]

    def noise(upto, function, at):
        total = 0.0
        for place in range(upto):
            k = (K[place], K[at]) if place < at else (K[at] * (1 + 1e-15),) * 2
            joint = xi ** (at - place) * K[place]
            total = slopes[place] * total + 1.1 * covariance(square, function, k, joint)
        return total

    C, values = 0.0, [0.0]
    for place in range(depth - 1):
        own = mean(lambda z: square(z) ** 2, K[place]) - mean(square, K[place]) ** 2
        met = noise(place, square, place)
        C = slopes[place] ** 2 * C + 2.2 * slopes[place] * met + 1.21 * own
        values.append(C + 2 * noise(place + 1, np.square, place + 1))
    np.testing.assert_allclose(found["G"].ravel(), K, rtol=1e-12)
    np.testing.assert_allclose(found["V"].ravel(), values, rtol=1e-9, atol=1e-12)


def sizes_of_slopes(right, left, rho):
    """cov(σσ, σσ)/K² at a correlation: σσ = A z² + B z|z|, and the arcsine law for z|z|."""
    A, B = (right**2 + left**2) / 2, (right**2 - left**2) / 2
    odd = (1 + 2 * rho**2) * np.arcsin(rho) + 3 * rho * np.sqrt(1 - rho**2)
    return 2 * A**2 * rho**2 + B**2 * 2 / np.pi * odd


@pytest.mark.parametrize(("name", "left"), [("relu", 0.0), ("leaky_relu(0.3)", 0.3), ("abs", -1.0)])
def test_v_of_scale_invariant_residual_networks(name, left):
    """At C_W A = 1 - ξ², with χ = 1, V/K² is a double sum over depths, in closed form.

    Each layer adds C_W² (c(1) + 2 Σ_k c(ξ^k)), of which a recursion that reads the last layer
    alone has 2(1 - ξ⁴) + 3 C_W² B²; the rest is B² times a sum that it leaves out.
    """
    depth, xi = 8, 0.5**0.5
    A = (1 + left**2) / 2
    C = (1 - xi**2) / A
    activation = {"leaky_relu(0.3)": "where(z < 0, 0.3*z, z)"}.get(name, name)
    network = residual(activation, depth, xi, C_W=[1.0] + [C] * (depth - 1))
    found = propagate(network, [[1.0]], ["G", "V"], tolerance=1e-10)
    total, values = 0.0, [0.0]
    for layer in range(1, depth):
        met = sum(sizes_of_slopes(1.0, left, xi**k) for k in range(1, layer))
        total += C**2 * (sizes_of_slopes(1.0, left, 1.0) + 2 * met)
        values.append(total + 4 * C * A * sum(xi ** (2 * k) for k in range(1, layer + 1)))
    np.testing.assert_allclose(found["G"].ravel(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found["V"].ravel(), values, rtol=1e-7)


def test_the_truncated_recursion():
    """One input: V' = χ²V + C_W²(⟨σ⁴⟩ - ⟨σσ⟩²) + 2ξ²C_W(⟨z²σσ⟩ - K⟨σσ⟩)."""
    xi, C, depth = 0.7, 1.1, 5
    network = residual("tanh", depth, xi, C_b=0.1, C_W=C)
    found = truncated_recursion(network, [[1.0]], ["V", "F"], tolerance=1e-11)
    whole = propagate(network, [[1.0]], ["G", "V", "F"], tolerance=1e-11)
    V, values = 0.0, [0.0]
    for K in whole["G"].ravel()[:-1]:
        square = mean(lambda z: np.tanh(z) ** 2, K)
        slope = mean(lambda z: (1 - np.tanh(z) ** 2) * (1 - 3 * np.tanh(z) ** 2), K)
        own = mean(lambda z: np.tanh(z) ** 4, K) - square**2
        met = mean(lambda z: z**2 * np.tanh(z) ** 2, K) - K * square
        V = (xi**2 + C * slope) ** 2 * V + C**2 * own + 2 * xi**2 * C * met
        values.append(V)
    assert found["V"].ravel() == pytest.approx(values, rel=1e-9)
    for name in ("V", "F"):
        np.testing.assert_allclose(found[name][:2], whole[name][:2], rtol=1e-10)
        assert abs(found[name][3:] / whole[name][3:] - 1).min() > 1e-3
    dense = Network("tanh", [5, 5], {"C_b": 0.1, "C_W": 1.0}, "z' = b + W s(z)")
    chain = truncated_recursion(dense, X, "V")["V"]
    np.testing.assert_allclose(chain, propagate(dense, X, "V")["V"], atol=1e-9)
    with pytest.raises(LayerError, match="Ask `propagate`"):
        truncated_recursion(network, X, "G.1")
    of_dense = propagate(dense, X, "V")
    assert truncation_text(of_dense, of_dense).count("  1\n") == 2  # layers 2 and 3
    with pytest.raises(LayerError, match="Ask both functions for the same"):
        truncation_text(of_dense, propagate(dense, X, "G"))


def test_two_weights_in_a_block_hide_the_neuron():
    """V' = (1 + χ)²V + 2K²(2χ + χ²) + r C_W²(⟨σ⁴⟩ - ⟨σσ⟩²), r = n/m, χ = ½C_W C_U⟨(σσ)''⟩."""
    n, m, C_U, C_W = 6, 15, 0.9, 1.2
    values = {"C_U": C_U, "C_W": C_W}
    layer = "h = U z; z' = z + W s(h)"
    network = Network("tanh", [n] * 4, values, ["z' = W z", *[layer] * 4], n_L=n, inner={"h": m})
    found = propagate(network, [[1.0]], ["G", "V"])
    K, V = C_W, 0.0
    for layer in range(1, 5):
        at = C_U * K
        slope = C_U * C_W * mean(lambda z: 1 - 4 * np.tanh(z) ** 2 + 3 * np.tanh(z) ** 4, at)
        square = mean(lambda z: np.tanh(z) ** 2, at)
        own = mean(lambda z: np.tanh(z) ** 4, at) - square**2
        V = (1 + slope) ** 2 * V + 2 * K**2 * (2 * slope + slope**2) + n / m * C_W**2 * own
        K = K + C_W * square
        assert found["G"][layer].item() == pytest.approx(K, rel=1e-12)
        assert found["V"][layer].item() == pytest.approx(V, rel=1e-8)


def test_the_kernel_of_a_gated_unit():
    """Q' = C_b + C_W⟨σσ⟩K_v of u and v that are independent."""
    values = {"C_U": 1.1, "C_V": 0.7, "C_b": 0.2, "C_W": 1.5}
    layers = ["z' = b + W z", *["u = U z; v = V z; z' = b + W s(u) v"] * 2]
    network = Network("erf", [5, 5], values, layers, inner={"u": 9})
    K = propagate(network, X, "G")["G"]
    for layer in range(2):
        k = 1.1 * K[layer]
        scale = np.sqrt(np.outer(1 + 2 * k.diagonal(), 1 + 2 * k.diagonal()))
        erf = 2 / np.pi * np.arcsin(2 * k / scale)
        np.testing.assert_allclose(K[layer + 1], 0.2 + 1.5 * erf * 0.7 * K[layer], rtol=1e-12)


def test_a_mixture_is_the_activation_that_it_adds_up_to():
    values = {"C_b": 0.1, "C_W": 1.1, **RATES}
    layers = ["z' = b + W z", *["z' = b + W (s(z) + 1/2 z)"] * 2]
    found = propagate(Network("tanh", [5, 7], values, layers), X)
    expected = MLP(activation="tanh(z) + z/2", widths=[5, 7], **values).propagate(X, [*BOOK])
    for name in BOOK:
        scale = np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name], expected[name], atol=1e-6 * scale, err_msg=name)


@pytest.mark.parametrize("laws", [{}, {"W": orthogonal}])
def test_corrections_of_a_residual_network_are_exact(laws):
    """G.1 at layer 3 for σ = z + z²/2, where E φ² is a polynomial in the fluctuating S.

    Given z¹, φ(ξz¹ + h)² has the mean a_0 + a_1 S + a_2 S² with S = C_W/n Σ φ(z¹)², and neuron j
    is one of the n. A row of an orthogonal matrix is uniform on a sphere, and h⁴ of it has the mean
    3 S² n/(n + 2).
    """
    xi, C = Fraction(3, 5), Fraction(7, 8)
    z, h, S = symbols("z h S")
    activation = z + z**2 / 2
    even = Poly(expand(activation.subs(z, xi * z + h) ** 2), h)
    given = sum(c * S ** (k // 2) * factorial2(k - 1) for (k,), c in even.terms() if k % 2 == 0)
    a = [Poly(given, S).coeff_monomial(S**k) for k in range(3)]
    K = C  # of the first layer, for x = 1

    def mean_of(polynomial):
        terms = Poly(expand(polynomial), z).terms()
        return sum(c * K ** (k // 2) * factorial2(k - 1) for (k,), c in terms if k % 2 == 0)

    square = activation**2
    m, fourth = mean_of(square), mean_of(square**2)
    met = [mean_of(each * square) - mean_of(each) * m for each in a]
    sphere = -2 * m * m if laws else 0
    change = C * met[1] + C**2 * (mean_of(a[2]) * (fourth - m * m + sphere) + 2 * m * met[2])
    layers = [FIRST, Stack("z' = xi z + W s(z)", laws=laws), "z' = W s(z)"]
    network = Network("z + z**2/2", [30, 30], {"xi": float(xi), "C_W": float(C)}, layers)
    found = propagate(network, [[1.0]], ["G", "G.1"], tolerance=1e-11)
    assert found["G.1"].ravel() == pytest.approx([0, 0, float(C * change)], rel=1e-9)


@pytest.mark.parametrize("name", ["G.1", "H.1"])
def test_corrections_of_a_chain_are_those_of_its_kernels(name):
    values = {"C_b": 0.1, "C_W": [1.2, 0.8, 1.5, 1.0], **RATES}
    widths = [20, 30, 25]
    expected = MLP(activation="swish", widths=widths, **values).propagate(X, name)[name]
    network = Network("swish", widths, values, n_0=3)
    found = stream_tensors(network, overlaps(X), [name], 1e-7)[name]
    np.testing.assert_allclose(found, expected, atol=1e-13)


def uniform_layer():
    (i,), (j,), δ = neurons("i", "n_{ℓ+1}"), neurons("j", "n_ℓ"), sample("δ")
    W = weights("ℓ+1", law=uniform(symbol("C_W") / symbol("n_ℓ")))
    σ, b = activation("σ", preactivations("ℓ")), biases("ℓ+1")
    return Layer(b(i) + (W(i, j) * σ(j, δ)).sum(j))


def test_the_fourth_cumulant_of_hidden_weights_enters_the_corrections():
    """φ² = z² + z³ + z⁴/4 for φ = z + z²/2, so that κ_4 of z² adds κ_4/4 to ⟨φ²⟩; κ = -6/5."""
    values = {"C_b": 0.0, "C_W": [1.0, 0.9, 1.3], **RATES}
    first, second = (
        propagate(Network("z + z**2/2", [6, 6], values, layers), [[1.0]], ["G.1", "V", "B"])
        for layers in ([DENSE, uniform_layer(), uniform_layer()], ["z' = b + W s(z)"] * 3)
    )
    fourth = mean(lambda z: (z + z**2 / 2) ** 4, 1.0)
    change = (first["G.1"] - second["G.1"]).ravel()
    assert change == pytest.approx([0, 0, 1.3 / 4 * -6 / 5 * 0.9**2 * fourth], rel=1e-7)
    for name in ("V", "B"):
        np.testing.assert_allclose(first[name], second[name], rtol=1e-6)


def test_corrections_of_uniform_weights_agree_with_samples():
    values = {"C_b": 0.1, "C_W": 1.5, **RATES}
    layers = [DENSE, uniform_layer(), DENSE]
    network = Network("swish", [8, 8], values, layers, n_L=8)
    comparison = check(network, X[:1], ["G.1", "H.1", "V"], networks=3000, seed=5)
    assert comparison.agrees


def test_tensors_keep_their_symmetries():
    found = propagate(residual("swish", 4, 0.7, C_b=0.1), X)
    for name, correlator in BOOK.items():
        array = found[name][-1]
        for axes in correlator.symmetries:
            np.testing.assert_allclose(array, array.transpose(axes), atol=1e-12, err_msg=name)


def test_check_samples_residual_networks():
    network = residual("swish", 3, 0.7, C_b=0.1)
    comparison = check(network, X[:1], ["G", "H", "V", "F", "B"], networks=2000, seed=1)
    assert comparison.agrees


def test_blocks_are_chosen():
    network = residual("tanh", 3, 0.7)
    whole = propagate(network, X, "V")["V"]
    part = propagate(network, X, "V", blocks=[[0], [1], [1], [0, 1]])["V"]
    np.testing.assert_array_equal(part, whole[:, :1, 1:, 1:])


def test_a_mixture_with_a_kink_is_the_activation_that_it_adds_up_to():
    values = {"C_W": 1.1, "lambda_W": 0.5}
    network = Network("relu", [5, 7], values, ["z' = W z", *["z' = W (z + s(z))"] * 2])
    names = ["G", "H", "V", "D", "F"]
    found = propagate(network, X, names)
    given = {"C_b": 0, "lambda_b": 0, **values}
    expected = MLP(activation="z + relu(z)", widths=[5, 7], **given).propagate(X, names)
    for name in names:
        scale = np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name], expected[name], atol=1e-6 * scale, err_msg=name)


@pytest.mark.parametrize(("name", "tensor"), [("relu", "R"), ("sign(z)", "H"), ("sign(z)", "B")])
def test_infinite_tensors_are_refused(name, tensor):
    with pytest.raises(ActivationError, match=f"{tensor} of .* cannot be had"):
        propagate(residual(name, 3, 0.5), X, tensor)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u = U z; z' = W s(v)", "reads v before it is made"),
        ("h = U s(z); z' = z + U s(h)", "uses U twice"),
        ("z' = W s(z) V z", "multiplies the weights V and W"),
        ("u = U z; v = V z; z' = W v (1 + u)", "bracket after v, which is a field"),
        ("z' = W (s(z)", "bracket that is not closed"),
        ("h = U z; z' = s(h) + W z", r"keeps s\(h\) on its neuron"),
        ("u = U z; z' = W z", "computes u, which nothing reads"),
        ("z' = W z; h = U z", "does not end with the statement of z'"),
        ("z' = W nosuch(z)", "has the function nosuch"),
        ("h = U z; h = V z; z' = W h", "makes no field"),
        ("z' = (z + b) + W z", "not random"),
        ("z' = W z ! s(z)", "cannot be read at"),
    ],
)
def test_what_is_no_layer_is_refused(text, message):
    with pytest.raises(LayerError, match=message):
        Stack(text)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"inner": {"k": 3}}, LayerError, "inner names the fields k"),
        ({"inner": {"h": [3]}}, KernelError, "has 1 widths"),
        (
            {"widths": [4, 5], "layers": "h = U z; z' = z + W s(h)"},
            LayerError,
            "keeps 4 neurons",
        ),
    ],
)
def test_networks_that_do_not_fit_are_refused(change, error, message):
    given = {"widths": [4, 4], "values": {"C_U": 1, "C_W": 1}, "n_L": 4}
    given |= {"layers": "h = U s(z); z' = W s(h)", **change}
    with pytest.raises(error, match=message):
        Network("tanh", **given)


def test_a_law_that_does_not_tell_its_fourth_cumulant_gives_leading_orders():
    (i,), (j,), δ = neurons("i", "n_{ℓ+1}"), neurons("j", "n_ℓ"), sample("δ")
    W = weights("ℓ+1", law=from_cumulants({2: symbol("C_W") / symbol("n_ℓ")}))
    layer = Layer((W(i, j) * activation("σ", preactivations("ℓ"))(j, δ)).sum(j))
    network = Network("tanh", [4, 4], {"C_W": 1.0}, ["z' = W z", layer, "z' = W s(z)"])
    gaussian = Network("tanh", [4, 4], {"C_W": 1.0}, ["z' = W z", *["z' = W s(z)"] * 2])
    found = propagate(network, X, "V")["V"]
    np.testing.assert_array_equal(found, propagate(gaussian, X, "V")["V"])
    with pytest.raises(LayerError, match="W has no fourth cumulant"):
        propagate(network, X, "G.1")
    with pytest.raises(LayerError, match="has no Gaussian law"):
        propagate(Network("tanh", [4], {"C_W": 1.0}, layer), X, "V")


def test_v_of_a_gate_with_a_kink():
    """z' = W relu(u) v: both fields read z, whose square fluctuates with 2 K²/n.

    V = C_W² [⟨relu⁴⟩⟨v⁴⟩ - ⟨relu²⟩²⟨v²⟩² + 4 · 2 ⟨relu²⟩²⟨v²⟩²] with ⟨relu⁴⟩ = 3/2 K_u².
    """
    values = {"C_U": 1.3, "C_V": 0.8, "C_W": 1.7}
    layers = ["z' = U z", "u = U z; v = V z; z' = W relu(u) v"]
    network = Network("tanh", [7], values, layers, inner={"u": 7})
    found = propagate(network, [[1.0, 0.5]], ["G", "V"], tolerance=1e-10)
    K_u, K_v = (values[name] * found["G"][0].item() for name in ("C_U", "C_V"))
    expected = 1.7**2 * K_u**2 * K_v**2 * (9 / 2 - 1 / 4 + 2)
    assert found["V"][1].item() == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("law", [signs, sparse, lambda v: sparse(v, Fraction(1, 10))])
def test_fourth_cumulants_of_drawn_weights(law):
    """Of draws, and of the law: kurtosis -2 of signs, 3 (1 - p)/p of sparse weights."""
    stack = Stack("z' = W s(z) + 1/2 z", laws={"W": law})
    network = Network("tanh", [60, 60], {"C_W": 1.3}, ["z' = W z", stack, "z' = W s(z)"], n_0=40)
    drawn = draw_parameters(network, 40, np.random.default_rng(0)).weights[1] * 60**0.5
    assert np.mean(drawn**2) == pytest.approx(1.3, rel=0.05)
    known = program_of(network, False).fields[1].branches[0].entry_fourth * 60**2
    measured = np.mean(drawn**4) - 3 * np.mean(drawn**2) ** 2
    assert measured == pytest.approx(known, rel=0.1)


def test_biases_of_the_outputs_may_have_any_law():
    """Tensors have pairs of different neurons, whose biases are independent; others are refused."""
    values = {"C_b": 0.8, "C_W": 1.5, **RATES}
    biased = Stack("z' = b + W s(z)", laws={"b": signs})
    plain, odd = (
        Network("tanh", [8], values, ["z' = b + W z", last], n_L=3)
        for last in ("z' = b + W s(z)", biased)
    )
    expected, found = propagate(plain, X), propagate(odd, X)
    for name in expected.names:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12)
    drawn = draw_parameters(odd.resized(n_0=3), 5, np.random.default_rng(0)).biases[1]
    np.testing.assert_allclose(abs(drawn), 0.8**0.5)
    assert check(odd, X, ["G", "V", "F", "D"], networks=1000, seed=3).agrees
    hidden = Network("tanh", [8, 8], values, ["z' = b + W z", biased, biased])
    with pytest.raises(LayerError, match="b of layer 2 has no Gaussian law"):
        propagate(hidden, X, "G")
    with pytest.raises(LayerError, match="has orthogonal biases b"):
        Stack("z' = b + W s(z)", laws={"b": orthogonal})


def test_corrections_with_signs_agree_with_samples():
    stack = Stack("z' = b + W s(z)", laws={"W": signs})
    values = {"C_b": 0.1, "C_W": 1.5, **RATES}
    layers = ["z' = b + W z", stack, "z' = b + W s(z)"]
    network = Network("swish", [8, 8], values, layers, n_L=4)
    comparison = check(network, X[:1], ["G", "G.1", "V"], networks=4000, seed=1)
    assert comparison.agrees


@pytest.mark.slow
def test_all_leaves_out_what_kinks_make_infinite():
    values = {"xi": 0.5**0.5, "C_W": 1.0, "lambda_W": 1.0}
    relu = Network("relu", [48] * 3, values, "z' = xi z + W s(z)", n_L=48)
    found = propagate(relu, [[1.0], [0.5]])
    assert found.names == ("G", "H", "V", "A", "B", "D", "F", "P", "Q", "G.1", "H.1")
    few = propagate(relu, [[1.0], [0.5]], ["V", "Q"])
    np.testing.assert_allclose(found["V"], few["V"], rtol=1e-12)
    layers = ["z' = W z", *["z' = xi z + W (s(z) + 1/2 z)"] * 3]
    mixed = Network("relu", [48] * 3, values, layers, n_L=48)
    with pytest.raises(InfiniteMeanError, match=r"^H\.1 of Network.* cannot be had\. A mean of "):
        propagate(mixed, [[1.0], [0.5]], "H.1")
    assert propagate(relu, [[1.0]], "all").names == found.names


@pytest.mark.slow
def test_what_kinks_leave_does_not_depend_on_what_else_is_asked_for():
    """Of three inputs, of which entries join all."""
    values = {"xi": 0.5**0.5, "C_W": 1.0, "lambda_W": 1.0}
    relu = Network("relu", [48] * 3, values, "z' = xi z + W s(z)", n_L=48)
    x = [[1.0], [0.5], [0.2]]
    found = propagate(relu, x)
    assert found.names == ("G", "H", "V", "A", "B", "D", "F", "P", "Q", "G.1", "H.1")
    few = propagate(relu, x, ["V", "Q"])
    for name in "VQ":
        np.testing.assert_allclose(found[name], few[name], rtol=1e-12)
    two = propagate(relu, x[:2])
    for name in found.names:
        again = found[name][(slice(None), *[slice(2)] * (found[name].ndim - 1))]
        np.testing.assert_allclose(again, two[name], rtol=1e-9)


def sampled_V_of_small_branches(width, networks, depth, strength):
    """n cov(z_i², z_k²) of residual ReLU networks with C_W = strength/depth, and its error.

    Given its inputs a layer's W σ(z) is Gaussian, so that it is drawn instead of W.
    """
    rng, squares, products = np.random.default_rng(2604), [], []
    for _ in range(networks // 10_000):
        z = np.sqrt(strength / depth) * rng.normal(size=(10_000, width))
        for _ in range(depth):
            activated = np.maximum(z, 0)
            spread = np.sqrt(strength / depth * np.mean(activated * activated, axis=1))
            z = z + spread[:, None] * rng.normal(size=z.shape)
        total = (z**2).sum(axis=1)
        squares.append(total / width)
        products.append((total**2 - (z**4).sum(axis=1)) / (width - 1))  # n z_i² z_k², i ≠ k
    K = np.mean(squares)
    values = np.array(products) - width * (2 * K * np.array(squares) - K**2)
    return values.mean(), values.std() / networks**0.5


@pytest.mark.slow
def test_branches_of_one_over_depth_against_samples():
    """Twenty layers in the scaling whose closure on the kernel alone arXiv:2604.15742 tests."""
    depth, strength = 20, 2.0
    values = {"xi": 1.0, "C_W": strength / depth}
    network = Network("relu", [64] * depth, values, "z' = xi z + W s(z)", n_L=64)
    V = float(propagate(network, [[1.0]], "V")["V"].ravel()[-1])
    alone = float(truncated_recursion(network, [[1.0]], "V")["V"].ravel()[-1])
    (few, spread), (many, wider) = (
        sampled_V_of_small_branches(width, 60_000, depth, strength) for width in (96, 192)
    )
    limit, error = 2 * many - few, np.hypot(2 * wider, spread)  # without the order 1/n
    print(f"V {V:.4f}, sampled {limit:.4f} ± {error:.4f}, of the last layer alone {alone:.4f}")
    assert abs(limit - V) < 3.5 * error
    assert abs(limit - alone) > 10 * error
