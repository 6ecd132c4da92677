"""Orthogonal weights, against exact moments and sampled networks."""

import numpy as np
import pytest

from symdlt import Network, check, layer_equations, propagate
from symdlt.algebra import neurons, orthogonal, symbol, uniform, weights
from symdlt.algebra.averages import expectation
from symdlt.definitions import Stack
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
    found = propagate(network("z", [30] * 4), X, [*"VBF"], tolerance=1e-10)
    for name in "VBF":
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
    with pytest.raises(LayerError, match="are not independent"):
        propagate(network("tanh", [9, 9]), X, "G.1")
    with pytest.raises(LayerError, match="has no Gaussian law"):
        propagate(network("tanh", [9], [ORTHOGONAL, DENSE]), X, "G")
    with pytest.raises(LayerError, match="orthogonal weights"):
        layer_equations("V", ORTHOGONAL)
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
