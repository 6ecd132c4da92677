"""Orthogonal weights, against exact moments and sampled networks."""

from fractions import Fraction

import numpy as np
import pytest
from cases import slow, swept
from sympy import Poly, factorial2, symbols

from symdlt import BOOK, Network, check, derive, propagate
from symdlt.algebra import gaussian, neurons, orthogonal, symbol, uniform, weights
from symdlt.algebra.averages import expectation
from symdlt.definitions import Stack, dense_layer
from symdlt.errors import IndexStructureError, LayerError
from symdlt.sampling import draw_parameters

FIRST, DENSE = "z' = b + W z", "z' = b + W s(z)"
ORTHOGONAL = Stack("z' = b + W s(z)", laws={"W": orthogonal})
VALUES = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.2, "lambda_W": 0.7}
X = np.array([[1.0, 0.3], [-0.4, 0.8]])


def network(activation, widths, layers=None, **values):
    every = layers or [FIRST, *[ORTHOGONAL] * len(widths)]
    return Network(activation, widths, VALUES | values, every, n_L=4)


def test_linear_orthogonal_networks_keep_all_norms():
    """z of every layer is a rotation of that of the first, whose neurons are independent."""
    names = ["V", "B", "F", "G.1", "H.1"]
    found = propagate(network("z", [30] * 4), X, names, tolerance=1e-10)
    for name in names:
        np.testing.assert_allclose(found[name], 0, atol=1e-9)


@pytest.mark.parametrize(("below", "above"), [(20, 20), (20, 8), (20, 50)])
def test_v_of_one_layer_is_that_of_haar_measure(below, above):
    """Given the layer below, n E[z z z z] of two neurons by Weingarten's formula.

    That of independent weights, less C_W² (n/m) [⟨σσ⟩⟨σσ⟩ + ⟨σσ⟩⟨σσ⟩], m the larger of the widths.
    """
    free = propagate(network("tanh", [below, above], [FIRST, DENSE, DENSE]), X, "V")
    found = propagate(network("tanh", [below, above], [FIRST, ORTHOGONAL, DENSE]), X, "V")
    K = propagate(network("tanh", [below, above], [FIRST, ORTHOGONAL, DENSE]), X, "G")["G"]
    S = K[1] - VALUES["C_b"]
    two = np.einsum("ac,bd->abcd", S, S) + np.einsum("ad,bc->abcd", S, S)
    expected = free["V"][1] - below / max(below, above) * two
    np.testing.assert_allclose(found["V"][1], expected, atol=1e-12)


def in_units_of_kernels(activation, C_W, law, names, depth):
    """Tensors of one input, divided by powers of K and Θ."""
    layers = ["z' = W z", *[Stack("z' = W s(z)", laws={"W": law})] * (depth - 1)]
    net = Network(activation, [64] * (depth - 1), {"C_W": C_W, "lambda_W": 1.0}, layers)
    found = propagate(net, [[1.0]], ["G", "H", *names])
    one = {name: found[name].reshape(depth, -1)[:, 0] for name in ("G", "H", *names)}
    edges = {name: len(BOOK[name].forest.edges) for name in names}
    return {
        name: one[name] / one["G"] ** (BOOK[name].pairs - e) / one["H"] ** e
        for name, e in edges.items()
    }


def test_tensors_of_orthogonal_tanh_networks_stay_and_those_of_relu_grow():
    """What arXiv 2310.07765 says in its abstract; the slopes of V of ReLU are exact."""
    names = [name for name in BOOK if name not in "GH"]
    stay = in_units_of_kernels("tanh", 1.0, orthogonal, names, 41)
    for name, values in stay.items():
        assert abs(values[40]) < 1.1 * abs(values[20]), name
    free = in_units_of_kernels("tanh", 1.0, gaussian, ["V", "B", "F"], 41)
    for name, values in free.items():
        assert values[40] / values[20] == pytest.approx(2, abs=0.06), name
    for law, slope in ((orthogonal, 3.0), (gaussian, 5.0)):
        of_relu = in_units_of_kernels("relu", 2.0, law, ["V"], 9)["V"]
        np.testing.assert_allclose(of_relu, slope * np.arange(9), atol=1e-9)


@pytest.mark.parametrize(("below", "above"), [(1, 1), (3, 2), (2, 3)])
def test_corrections_after_one_orthogonal_layer_are_exact(below, above):
    """G.1 and H.1 for σ = z + z²/2, from moments of a row of Haar measure at a huge width.

    With f = φφ, g = φ'φ' of the first layer, and w a row of Haar measure in N dimensions,
    E (wφ)² = C f̄, E (wφ)⁴ = 3 C² f̄² N/(N+2), and E (wφ)² w_a² = C² (f̄ + 2 f_a/n) N/(N+2)/n.
    """
    n, m, C, rate = Fraction(below * 10**12), Fraction(above * 10**12), Fraction(6, 5), Fraction(2)
    z = symbols("z")

    def mean(polynomial):
        terms = Poly(polynomial, z).terms()
        even = [(k, Fraction(str(c))) for (k,), c in terms if k % 2 == 0]
        return sum(c * C ** (k // 2) * int(factorial2(k - 1)) for k, c in even)

    f, g = (z + z**2 / 2) ** 2, (1 + z) ** 2

    def moments(n, N):
        """G and H of the third layer; of two averages over neurons, E f̄ḡ = f g + cov(f, g)/n."""
        sphere = N / (N + 2)
        both = [mean(f) * mean(k) + (mean(f * k) - mean(f) * mean(k)) / n for k in (f, g)]
        square = C * mean(f) + Fraction(3, 4) * C**2 * sphere * both[0]
        ntk = rate * (mean(f) + C * both[0]) + rate * C * mean(g)
        ntk += rate * C**2 * sphere * (both[1] + 2 * mean(f * g) / n)
        return C * square, rate * square + C * ntk

    limit = moments(Fraction(10**40), Fraction(10**40))
    layers = [FIRST, ORTHOGONAL, DENSE]
    values = {"C_b": 0.0, "lambda_b": 0.0, "C_W": float(C), "lambda_W": float(rate)}
    net = network("z + z**2/2", [below * 7, above * 7], layers, **values)
    found = propagate(net, [[1.0] * 4], ["G", "H", "G.1", "H.1"], tolerance=1e-11)
    for name, leading, exact in zip("GH", limit, moments(n, max(n, m)), strict=True):
        assert found[name][2].item() == pytest.approx(float(leading), rel=1e-9)
        correction = float(m * (exact - leading))
        assert found[f"{name}.1"][2].item() == pytest.approx(correction, rel=1e-8)


SKIP = Stack("z' = xi z + b + W s(z)", laws={"W": orthogonal})


@pytest.mark.montecarlo
@pytest.mark.parametrize(
    ("widths", "layers"),
    [
        swept([24, 16, 12], [FIRST, *[ORTHOGONAL] * 3]),
        slow([16] * 3, [FIRST, SKIP, SKIP, ORTHOGONAL]),
    ],
    ids=["unequal widths", "a skip"],
)
def test_corrections_of_sampled_orthogonal_networks(widths, layers):
    values = {"xi": 0.7} if SKIP in layers else {}
    net = network("swish", widths, layers, **values).resized(n_L=8)
    comparison = check(net, X, ["G.1", "H.1"], networks=40_000, seed=1)
    print(comparison)
    assert comparison.agrees


@pytest.mark.parametrize("shape", [(6, 6), (6, 3), (3, 6)])
def test_draws_are_orthogonal_and_of_the_variance(shape):
    n, m = shape
    net = network("z", [n, m]).resized(n_0=2)
    drawn = draw_parameters(net, 4000, np.random.default_rng(0)).weights[1]
    matrix = drawn @ drawn.swapaxes(1, 2) if m <= n else drawn.swapaxes(1, 2) @ drawn
    scale = VALUES["C_W"] * max(n, m) / n
    np.testing.assert_allclose(matrix, scale * np.eye(min(n, m))[None].repeat(4000, 0), atol=1e-12)
    z = (drawn**2).mean(axis=0) / (VALUES["C_W"] / n) - 1
    assert abs(z).max() < 0.15
    assert abs(drawn.mean(axis=0)).max() < 4 * (VALUES["C_W"] / n / 4000) ** 0.5


def test_theory_and_sampled_orthogonal_networks_agree():
    comparison = check(network("swish", [12, 16]), X[:1], [*"GHVBFD"], networks=800, seed=2)
    assert comparison.agrees


@pytest.mark.slow
def test_all_tensors_of_orthogonal_networks():
    comparison = check(network("swish", [24, 48, 32]), X, networks=800, seed=3)
    print(comparison)
    assert comparison.agrees


def test_uniform_weights_of_a_stack():
    """At leading order the law does not matter; G.1 counts its fourth cumulant."""
    gate = "u = U z; v = V z; z' = b + W s(u) v"
    layers = [[FIRST, Stack(gate, laws=laws)] for laws in (None, {"W": uniform})]
    values = {name: 1.0 for name in ("C_U", "C_V", "C_W")} | {"C_b": 0.1}
    both = [Network("tanh", [9], values, each, n_L=3) for each in layers]
    found = [propagate(one, X, ["V", "G.1"]) for one in both]
    np.testing.assert_allclose(found[0]["V"], found[1]["V"], rtol=1e-12)
    assert both[0].layers[1].drawn[3].fourth == 0
    assert both[1].layers[1].drawn[3].fourth != 0


def test_what_is_not_known_of_orthogonal_weights_is_refused():
    with pytest.raises(LayerError, match="has no Gaussian law"):
        propagate(network("tanh", [9], [ORTHOGONAL, DENSE]), X, "G")
    haar = dense_layer(orthogonal(symbol("C_W") / symbol("n_ℓ")))
    with pytest.raises(LayerError, match="for orthogonal weights W"):
        derive("V", layer=haar)
    assert str(derive("H", layer=haar)) == str(derive("H", layer="z' = b + W s(z)"))
    with pytest.raises(LayerError, match="of a uniform law"):
        derive("G.1", layer=dense_layer(uniform(symbol("C_W") / symbol("n_ℓ"))))
    for laws in (3, {"W": "haar"}):
        with pytest.raises(LayerError, match="gives no laws"):
            Stack("z' = W s(z)", laws=laws)
    with pytest.raises(LayerError, match="has no weights V, whose law was given"):
        Stack("z' = W s(z)", laws={"V": orthogonal})
    W = weights(2, law=orthogonal(symbol("v")))
    i, j, k, m = neurons("i j k m", "n_2")
    a, b, c, d = neurons("a b c d", "n_1")
    assert str(expectation(W(i, a) * W(j, b))) == "v δ_{a b} δ_{i j}"
    with pytest.raises(IndexStructureError, match="are not independent"):
        expectation(W(i, a) * W(j, b) * W(k, c) * W(m, d))
