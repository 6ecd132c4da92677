"""Sampled networks of layers that users write, against recursions at the second layer."""

from fractions import Fraction

import numpy as np
import pytest
from direct import value
from exact.gaussian import Rows, mean
from mpmath import mp
from oracle.montecarlo import polynomial

from symdlt import MLP, derive, propagate
from symdlt.algebra import activation, from_cumulants, neurons, preactivations, sample, weights
from symdlt.definitions import DENSE, Layer, Network, dense_layer
from symdlt.errors import ActivationError, InputError, KernelError, LayerError, SamplingError
from symdlt.networks.layer_means import functions
from symdlt.sampling import WEIGHT_LAWS, NetworkEnsemble, draw_parameters, measure, sample_networks

RESIDUAL = "z' = xi z + b + W s(z)"
WIDTH = 3
VALUES = {
    "C_b": (0.5, 0.25),
    "C_W": (0.75, 1.5),
    "lambda_b": (0.5, 0.25),
    "lambda_W": (1.0, 0.5),
    "xi": 1.5,
}
SIGMA = (Fraction(1, 2), Fraction(1), Fraction(-1, 2))


def second_layer(name, layer):
    """A tensor of one input x = 1 at the second layer, from means of the quadratic activation."""
    at = {symbol: Fraction(v if symbol == "xi" else v[1]) for symbol, v in VALUES.items()}
    K = Fraction(VALUES["C_b"][0] + VALUES["C_W"][0])
    H = Fraction(VALUES["lambda_b"][0] + VALUES["lambda_W"][0])
    lower = {"G": np.array([[K]], object), "H": np.array([[H]], object)}

    def bracket(factors, inserted=()):
        return mean(factors, Rows([SIGMA]), Rows([[K]]), inserted)

    recursion = derive(name, layer=layer, at=2)
    return float(value(recursion, (0,) * recursion.correlator.axes, lower, bracket, at, 1))


def test_a_residual_layer_is_that_of_the_derivation_at_the_second_layer():
    network = Network(None, [WIDTH], VALUES, RESIDUAL, n_L=WIDTH)
    names = ["G", "H", "V", "D", "F", "A", "B"]
    measured = measure(
        network, polynomial(0.5, 1.0, -0.25), [[1.0]], names, 40_000, np.random.default_rng(7)
    )
    for name in names:
        expected = second_layer(name, RESIDUAL)
        assert abs(measured[name].z_scores(expected)).max() < 4, name
    dense = [second_layer(name, DENSE) for name in names]
    scores = [abs(measured[n].z_scores(x)).max() for n, x in zip(names, dense, strict=True)]
    assert min(scores[:3]) > 8


def test_the_second_layer_of_networks_of_any_layers_is_that_of_the_derivation():
    names = [*"GHVABDFPQRSTU"]
    network = Network("1/2 + z - z**2/4", [WIDTH], VALUES, RESIDUAL, n_L=WIDTH)
    found = propagate(network, [[1.0]], names, tolerance=1e-12)
    for name in names:
        expected = second_layer(name, RESIDUAL)
        assert found[name][-1].item() == pytest.approx(expected, rel=1e-9), name


def test_two_weights_in_a_layer_add_their_kernels():
    """G of z' = W s(z) + U z at the second layer is C_W <s s> + C_U K."""
    values = {"C_W": 0.75, "C_U": (0.5, 1.25)}
    network = Network(None, [4], values, "z' = W s(z) + U z", n_L=2)
    sine = (np.sin, np.cos)
    measured = measure(network, sine, [[1.0]], ["G"], 40_000, np.random.default_rng(8))
    K = 0.75 + 0.5
    expected = 0.75 * (1 - np.exp(-2 * K)) / 2 + 1.25 * K
    assert abs(measured["G"].z_scores(expected)).max() < 4


def truncated_kurtosis():
    """The fourth cumulant of a normal law cut at two, over its squared variance, by quadrature."""
    mass, second, fourth = (
        mp.quad(lambda z, k=k: z**k * mp.npdf(z), [-2, 0, 2]) for k in (0, 2, 4)
    )
    return float(fourth * mass / second**2 - 3)


@pytest.mark.parametrize("law", WEIGHT_LAWS)
def test_the_law_of_the_weights_is_that_of_the_layer(law):
    layer = dense_layer(WEIGHT_LAWS[law])
    of_layer = Network(None, [3], {"C_b": 0.0, "C_W": 2.0}, layer, n_0=2, n_L=1)
    of_ensemble = NetworkEnsemble.of((2, 3, 1), C_W=2.0, weight_law=law)
    first, second = (
        draw_parameters(network, 3, np.random.default_rng(0)) for network in (of_layer, of_ensemble)
    )
    assert first == second
    fourth = {"gaussian": 0.0, "uniform": -6 / 5, "truncated_normal": truncated_kurtosis()}[law]
    kurtosis = WEIGHT_LAWS[law].cumulant(4).substitute({"C_W": 1, "n_ℓ": 1})
    assert float(kurtosis.as_fraction()) == pytest.approx(fourth, abs=1e-12)


def test_the_short_form_is_a_network():
    mlp = MLP(activation="sin", widths=[3], C_b=0.1, C_W=[1, 2], lambda_b=0, lambda_W=1, n_L=2)
    values = {"C_b": 0.1, "C_W": [1, 2], "λ_b": 0, "λ_W": 1}
    network = Network("sin", [3], values, "z' = b + W s(z)", n_L=2)
    assert isinstance(mlp, Network)
    assert network.values == mlp.values
    x = [[1.0, -0.5]]
    for name in ("V", "U"):
        assert (propagate(network, x, name)[name] == mlp.propagate(x, name)[name]).all()
    ensemble = NetworkEnsemble.of((2, 3, 2), C_b=0.1, C_W=[1, 2], lambda_b=0, lambda_W=1)
    first, second = (
        sample_networks(one, functions(mlp, 2), x, ["H"], 4, np.random.default_rng(1))["H"]
        for one in (mlp, ensemble)
    )
    np.testing.assert_array_equal(first, second)


def residual(**changes):
    return Network(**{**GIVEN, **changes})


GIVEN = {
    "activation": "tanh",
    "widths": [4, 4],
    "values": {"xi": -0.5, "C_b": 0, "C_W": 1},
    "layers": RESIDUAL,
    "n_L": 4,
}


def listed_law():
    (i,), (j,), σ = (
        neurons("i", "n_{ℓ+1}"),
        neurons("j", "n_ℓ"),
        activation("σ", preactivations("ℓ")),
    )
    law = from_cumulants({2: WEIGHT_LAWS["uniform"].cumulant(2)})
    layer = Layer((weights("ℓ+1", law=law)(i, j) * σ(j, sample("δ"))).sum(j))
    return Network(None, [2], {"C_W": 1}, layer, n_0=1)


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda: propagate(residual(), [[1.0]], "F"), KernelError, "lambda_W, lambda_b is missing"),
        (lambda: residual(widths=[4, 5]), LayerError, "Layer 2 keeps 4 neurons, and has 5"),
        (lambda: residual(values={"C_b": 0, "C_W": 1}), LayerError, "missing: xi"),
        (
            lambda: residual(values={**GIVEN["values"], "eta": 1}),
            LayerError,
            "symbols are C_b, C_W",
        ),
        (lambda: residual(values=3), InputError, "3 gives no values"),
        (lambda: residual(layers=[RESIDUAL]), LayerError, "does not define 3 layers"),
        (lambda: residual(values={**GIVEN["values"], "xi": np.inf}), KernelError, "Constants"),
        (lambda: residual()["eta"], LayerError, "'eta' has no value"),
        (lambda: draw_parameters(residual(), 1, np.random.default_rng(0)), LayerError, "input"),
        (
            lambda: sample_networks(
                residual(), (np.sin, np.cos), [[1.0]], ["H"], 1, np.random.default_rng(0)
            ),
            LayerError,
            "'lambda_b' has no value",
        ),
        (
            lambda: draw_parameters(listed_law(), 1, np.random.default_rng(0)),
            SamplingError,
            "A listed law is known by its cumulants alone",
        ),
        (
            lambda: propagate(NetworkEnsemble.of((1, 2, 1)), [[1.0]]),
            ActivationError,
            "has no activation",
        ),
    ],
)
def test_what_does_not_fit_is_refused(action, error, message):
    with pytest.raises(error, match=message):
        action()
