"""Odd tensors, which layers that keep neurons bring: against recursions, limits and networks."""

from math import erf
from unittest import mock

import numpy as np
import pytest
from cases import slow, swept

from symdlt import MLP, Network, Propagation, check, propagate
from symdlt.definitions import ODD, ascii_name, read_layer_definition
from symdlt.errors import KernelError, LayerError, SamplingError, SymdltError, UnknownTensorError
from symdlt.networks import streams, truncated_recursion
from symdlt.networks.requests import asked_tensors
from symdlt.sampling import TENSORS, TensorPattern, measure

RESIDUAL = "z' = xi z + b + W s(z)"
VALUES = {"xi": 0.8, "C_b": 0.1, "C_W": 1.1, "lambda_b": 1.0, "lambda_W": 0.7}
X = np.array([[1.0, 0.3, -0.2], [-0.4, 0.8, 0.5]])
CLOSED = ["A3", "N3", "F3"]


def residual(activation, depth=4, **more):
    return Network(activation, [12] * (depth - 1), VALUES, RESIDUAL, n_L=12, **more)


def gelu(z, order):
    """GELU and its derivatives, z Φ(z)."""
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    below = np.array([(1 + erf(one / np.sqrt(2))) / 2 for one in z])
    return (z * below, below + z * density, (2 - z**2) * density, (z**3 - 4 * z) * density)[order]


def test_one_input_follows_the_closed_recursions():
    # E z_i z_k z_k, E z_k H_ik and E z_i H_kk of a residual layer, i and k being other neurons.
    xi, C_b, C_W, rate_b, rate_W = VALUES.values()
    z, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = weights / weights.sum()
    K = C_b + C_W * (X[0] ** 2).mean()
    theta = rate_b + rate_W * (X[0] ** 2).mean()
    A3 = N3 = F3 = 0.0
    found = propagate(residual("gelu", 6), X[:1], CLOSED)
    for layer in range(1, 6):
        y = np.sqrt(K) * z
        s, s1, s2, s3 = (gelu(y, order) for order in range(4))
        parallel = xi**2 + C_W * (weights @ (s1 * s1 + s * s2))
        across = xi**2 + C_W * (weights @ (s1 * s1))
        omega = rate_W * (weights @ (y * s * s)) + C_W * theta * (weights @ (y * s1 * s1))
        curved = 2 * rate_W * (weights @ (s1 * s1 + s * s2))
        curved += 2 * C_W * theta * (weights @ (s2 * s2 + s1 * s3))
        N3 = xi * across * N3 + xi * omega + xi * curved * A3 / 2
        F3 = xi * parallel * F3 + xi * C_W * (weights @ (s * s1)) * theta
        A3 = xi * parallel * A3 + xi * C_W * (weights @ (y * s * s))
        theta *= across
        theta += rate_b + rate_W * (weights @ (s * s))
        K = xi**2 * K + C_b + C_W * (weights @ (s * s))
        for name, expected in (("A3", A3), ("N3", N3), ("F3", F3)):
            assert found[name].ravel()[layer] == pytest.approx(expected, rel=1e-11), name


def test_layers_together_are_as_one_after_the_other():
    network, together = residual("gelu"), propagate(residual("gelu"), X, [*ODD])
    with mock.patch.object(streams, "are_taken_together", return_value=False):
        alone = propagate(network, X, [*ODD])
    for name in ODD:
        assert together[name].any()
        np.testing.assert_allclose(together[name], alone[name], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ODD)
def test_symmetries_are_those_of_the_definition(name):
    array = propagate(residual("gelu", 3), X, [name])[name][-1]
    for way in ODD[name].symmetries:
        np.testing.assert_allclose(array.transpose(way), array, rtol=1e-12)
    other = array.transpose(0, 2, 1)
    assert len(ODD[name].symmetries) == 2 or not np.allclose(other, array, rtol=1e-3)


def test_parity_removes_them():
    for network in (
        residual("tanh"),
        MLP(activation="gelu", widths=[12, 12], C_b=0.1, C_W=1.0, lambda_b=1.0, lambda_W=1.0),
        Network("gelu", [12], {"C_W": 1.0, "lambda_W": 1.0}, ["z' = W z", "z' = W s(rmsnorm(z))"]),
        # What LayerNorm leaves has no mean over neurons, and they are alike.
        Network(
            "gelu",
            [12],
            {"C_W": 1.0, "lambda_W": 1.0},
            ["z' = W z", "z' = layernorm(z) + W s(z)"],
            n_L=12,
        ),
    ):
        found = propagate(network, X, [*ODD])
        assert max(np.abs(found[name]).max() for name in ODD) < 1e-14, network


def test_a_kink_is_the_limit_of_smooth_ones():
    kinked = propagate(residual("relu", 3), X, [*ODD])
    errors = []
    for beta in (40, 80):
        smooth = propagate(residual(f"log(1 + exp({beta}*z))/{beta}", 3), X, [*ODD])
        errors.append([np.abs(smooth[k] - kinked[k]).max() / np.abs(kinked[k]).max() for k in ODD])
    first, second = np.array(errors)
    assert second.max() < 0.02
    np.testing.assert_array_less(second, 0.6 * first)  # as 1/β, and A3 as 1/β²


@pytest.mark.parametrize(
    ("activation", "layer", "names", "inner"),
    [
        ("relu", "z' = xi z + b + W s(z)", CLOSED, {}),
        # The outputs are neurons that W reads: their number is a width as well.
        slow("relu", "h = U s(z); z' = h + W s(h)", CLOSED, {}),
        swept("relu", "h = U s(z); z' = xi z + W s(h)", CLOSED, {"h": 20}),
        slow("relu", "z' = rmsnorm(z) + W s(z)", CLOSED, {}),
        slow("gelu", "z' = xi z + b + W s(z)", ["Q3"], {}),
    ],
)
def test_sampled_networks(activation, layer, names, inner):
    symbols = map(ascii_name, read_layer_definition(layer).symbols)
    given = {**VALUES, "C_U": 1.0, "lambda_U": 1.0}
    values = {name: given[name] for name in {"C_W", "lambda_W", *symbols}}
    layers = ["z' = W z", layer, layer]
    network = Network(activation, [12, 12], values, layers, n_L=12, inner=inner)
    count = 4000 if names != CLOSED else 20_000
    found = check(network, X[:1], names, networks=count, seed=2)
    assert found.agrees, found
    seen = [np.abs(found.theory[name]).max() / found.errors[name].max() for name in names]
    assert max(seen) > 10, found


def test_the_dntk_of_a_lone_vertex_is_of_the_next_order():
    lone = TensorPattern(((0, 1), (0, 2)), ((1, 2),), (0,))
    gelu_chain = tuple(lambda z, k=k: gelu(z.ravel(), k).reshape(z.shape) for k in range(4))
    network = residual("gelu", 3).resized(n_0=3)
    rng = np.random.default_rng(5)
    found = measure(network, gelu_chain, X[:1], [lone, "Q3"], 4000, rng)
    seen = found["Q3"].values.item()
    assert seen > 5 * found["Q3"].standard_errors.item()
    assert abs(found[lone].values.item()) < seen / 12 + 4 * found[lone].standard_errors.item()


@pytest.mark.parametrize("samples", [1, 2])
def test_too_few_derivatives_are_refused(samples):
    given = tuple(lambda z, k=k: np.cos(z + k * np.pi / 2) for k in range(3))
    found = propagate(residual(given, 3), X[:samples], ["A3"])["A3"]
    right = propagate(residual("cos(z)", 3), X[:samples], ["A3"])["A3"]
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-14)
    for name in ("V", "A3", "Q3"):
        with pytest.raises(SymdltError, match="given by 2 functions"):
            propagate(residual(given[:2], 3), X[:samples], [name])


def test_the_third_cumulant_needs_no_learning_rates():
    values = {name: VALUES[name] for name in ("xi", "C_b", "C_W")}
    without = Network("gelu", [12, 12], values, RESIDUAL, n_L=12)
    found = propagate(without, X, ["A3"])["A3"]
    np.testing.assert_array_equal(found, propagate(residual("gelu", 3), X, ["A3"])["A3"])
    with pytest.raises(KernelError, match=r"definition of N3.* G V G\.1 A3 can"):
        propagate(without, X, ["N3"])


def test_names_and_files(tmp_path):
    assert asked_tensors(["q3", "a3", "V"]) == ("V", "A3", "Q3")
    assert not {*ODD} & {*asked_tensors("all")}
    with pytest.raises(UnknownTensorError, match="A3"):
        asked_tensors(["A4"])
    found = propagate(residual("gelu", 3), X, ["A3", "V"])
    np.testing.assert_allclose(found.finite_width("A3")[1], found["A3"][1] / 12)
    found.save(tmp_path / "odd.npz")
    assert Propagation.load(tmp_path / "odd.npz") == found
    assert {*TENSORS} > {*ODD}
    with pytest.raises(LayerError, match="nothing is left out"):
        truncated_recursion(residual("gelu", 3), X, ["A3"])
    with pytest.raises(SamplingError, match="a vertex that is in no pair needs 2"):
        measure(
            residual("gelu", 3).resized(n_0=3, n_L=1, widths=[1, 1]),
            (np.tanh,),
            X,
            ["A3"],
            100,
            np.random.default_rng(0),
        )
