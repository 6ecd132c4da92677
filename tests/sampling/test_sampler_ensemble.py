"""Drawing parameters, and what is refused."""

import numpy as np
import pytest
from oracle.montecarlo import function_of

from symdlt.errors import ActivationError, GraphError, InputError, SymdltError, UnknownTensorError
from symdlt.sampling import (
    NetworkEnsemble,
    SamplingError,
    TensorPattern,
    Tree,
    draw_parameters,
    evaluate_networks,
    measure,
    observables,
    sample_networks,
)

TANH = function_of("tanh")
LINEAR = (lambda z: z, np.ones_like, lambda z: 0.0)
RELU = (lambda z: np.maximum(z, 0.0), lambda z: 1.0 * (z > 0), np.zeros_like)
FOURTH_MOMENTS = {"gaussian": 3.0, "uniform": 9 / 5, "truncated_normal": 2.3653}


@pytest.mark.parametrize("law", sorted(FOURTH_MOMENTS))
def test_weights_have_the_variance_and_kurtosis_of_their_law(law):
    ensemble = NetworkEnsemble.of((5, 40, 30), C_b=(0.3, 0.0), C_W=(2.0, 0.5), weight_law=law)
    parameters = draw_parameters(ensemble, 1500, np.random.default_rng(1))
    standard = parameters.weights[1] / np.sqrt(0.5 / 40)
    size = standard.size
    assert abs(standard.mean()) < 4 / np.sqrt(size)
    assert abs((standard**2).mean() - 1) < 4 * np.sqrt(2 / size)
    assert abs((standard**4).mean() - FOURTH_MOMENTS[law]) < 4 * np.sqrt(96 / size)
    assert abs(parameters.weights[0].var() / (2.0 / 5) - 1) < 4 * np.sqrt(2 / (1500 * 200))
    assert abs(parameters.biases[0].var() / 0.3 - 1) < 4 * np.sqrt(2 / (1500 * 40))
    assert not parameters.biases[1].any()


def test_the_truncated_law_stays_within_its_bound():
    ensemble = NetworkEnsemble.of((1, 1000), weight_law="truncated_normal")
    weights = draw_parameters(ensemble, 10, np.random.default_rng(2)).weights[0]
    assert np.abs(weights).max() < 2 / 0.8796256610342398 + 1e-9


def test_the_same_seed_gives_the_same_numbers():
    ensemble = NetworkEnsemble.of((2, 4, 2), C_b=0.1)
    first, second = (
        measure(ensemble, TANH, np.eye(2), ["V", "U"], 400, np.random.default_rng(3), groups=4)
        for _ in range(2)
    )
    for name in ("V", "U"):
        np.testing.assert_array_equal(first[name].values, second[name].values)
        np.testing.assert_array_equal(first[name].standard_errors, second[name].standard_errors)


def test_batches_are_drawn_one_after_the_other(monkeypatch):
    monkeypatch.setattr(observables, "LARGEST_ARRAY", 2000)
    ensemble = NetworkEnsemble.of((2, 4, 2))
    found = sample_networks(ensemble, TANH, np.eye(2), ["dH"], 50, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    batches = [draw_parameters(ensemble, size, rng) for size in (31, 19)]
    expected = [evaluate_networks(one, ensemble, TANH, np.eye(2), ["dH"])["dH"] for one in batches]
    np.testing.assert_array_equal(found["dH"], np.concatenate(expected))


def sampled(**changes):
    arguments = {
        "ensemble": NetworkEnsemble.of((2, 3, 2)),
        "activation": TANH,
        "inputs": np.eye(2),
        "observables": ["H"],
        "count": 2,
        "rng": np.random.default_rng(0),
    }
    return sample_networks(**{**arguments, **changes})


def measured(**changes):
    arguments = {
        "ensemble": NetworkEnsemble.of((2, 3, 2)),
        "activation": TANH,
        "inputs": np.eye(2),
        "tensors": ["G"],
        "count": 100,
        "rng": np.random.default_rng(0),
    }
    return measure(**{**arguments, **changes})


REFUSED = {
    "no layers": (lambda: NetworkEnsemble.of((3,)), SamplingError, "do not make a network"),
    "no neurons": (lambda: NetworkEnsemble.of((3, 0, 1)), SamplingError, "each at least 1"),
    "negative variance": (
        lambda: NetworkEnsemble.of((3, 2), C_W=-1.0),
        SamplingError,
        "C_W is -1.0 at layer 1",
    ),
    "wrong length": (
        lambda: NetworkEnsemble.of((3, 2), lambda_b=(1.0, 2.0)),
        SamplingError,
        "lambda_b",
    ),
    "unknown law": (
        lambda: NetworkEnsemble.of((3, 2), weight_law="cauchy"),
        SamplingError,
        "no weight law 'cauchy'",
    ),
    "inputs of another width": (
        lambda: sampled(inputs=np.eye(3)),
        SamplingError,
        r"shape \(3, 3\) do not fit networks of n_0 = 2",
    ),
    "inputs not finite": (
        lambda: sampled(inputs=[[np.nan, 0.0]]),
        SamplingError,
        "infinite or not a number",
    ),
    "nothing to do": (lambda: sampled(count=0), SamplingError, "nothing to sample with count = 0"),
    "unknown observable": (
        lambda: sampled(observables=["dddH"]),
        UnknownTensorError,
        "no observable called 'dddH'",
    ),
    "too few derivatives": (
        lambda: sampled(activation=TANH[:2], observables=["dH"]),
        ActivationError,
        "1 derivatives is not enough for observables that need 2",
    ),
    "functions in the wrong order": (
        lambda: measured(activation=(TANH[0],) * 3),
        ActivationError,
        "Function 1 of the activation is not the derivative of function 0. At z = 2.52 it is 0.987",
    ),
    "a slope that is wrong on one side": (
        lambda: measured(activation=(lambda z: np.where(z > 0, z, z / 9), lambda z: 1.0 * (z > 0))),
        ActivationError,
        "is not the derivative of function 0",
    ),
    "a part of the neurons": (
        lambda: sampled(activation=(lambda z: np.tanh(z[:1]), TANH[1])),
        ActivationError,
        r"Function 0 of the activation returns float64 of shape \(1, 4, 5\)",
    ),
    "a function in place": (
        lambda: sampled(activation=(lambda z: np.tanh(z, out=z), TANH[1])),
        ActivationError,
        "Function 0 of the activation changes its argument",
    ),
    "a mean over neurons": (
        lambda: sampled(activation=(lambda z: z - z.mean(), np.ones_like)),
        ActivationError,
        "does not act on each element alone",
    ),
    "a mean of everything": (
        lambda: sampled(activation=(np.mean, np.ones_like)),
        ActivationError,
        "does not act on each element alone",
    ),
    "a domain that is too small": (
        lambda: sampled(activation=(np.log, lambda z: 1 / z)),
        ActivationError,
        "Function 0 of the activation is not finite everywhere",
    ),
    "no activation": (
        lambda: measured(activation=None),
        ActivationError,
        "Function 0 of the activation, None, cannot be called",
    ),
    "a broken width": (lambda: NetworkEnsemble.of((3, 2.5, 2)), SamplingError, "whole numbers"),
    "a text as variance": (
        lambda: NetworkEnsemble.of((3, 2, 2), C_W="12"),
        SamplingError,
        "C_W is '12'. It must consist of real numbers",
    ),
    "ragged inputs": (lambda: sampled(inputs=[[1, 2], [3]]), SamplingError, "rows differ"),
    "a seed": (lambda: measured(rng=3), InputError, "3 is not a random number generator"),
    "too wide": (
        lambda: measured(ensemble=NetworkEnsemble.of((2, 10**6, 10**6, 2))),
        SamplingError,
        r"about 4.8e\+04 GB of memory. This machine has",
    ),
    "too many networks": (lambda: sampled(count=10**14), SamplingError, "GB of memory"),
    "too many samples": (
        lambda: measured(inputs=np.ones((3000, 2)), tensors=["V"]),
        SamplingError,
        "GB of memory",
    ),
    "overflow": (
        lambda: measured(ensemble=NetworkEnsemble.of((2, 3, 3, 2), C_W=1e300), activation=LINEAR),
        SamplingError,
        "The values of 'G' overflow",
    ),
    "parameters of other networks": (
        lambda: evaluate_networks(
            draw_parameters(NetworkEnsemble.of((2, 4, 2)), 1, np.random.default_rng(0)),
            NetworkEnsemble.of((2, 3, 2)),
            TANH,
            np.eye(2),
            ["z"],
        ),
        SamplingError,
        "Parameters do not fit the ensemble",
    ),
    "three ends of an edge": (
        lambda: TensorPattern(((0, 1, 2),), ((0, 1),)),
        GraphError,
        "cannot be read",
    ),
    "unknown tensor": (lambda: measured(tensors=["X"]), UnknownTensorError, "no tensor called 'X'"),
    "uneven groups": (
        lambda: measured(count=150),
        SamplingError,
        "150 networks does not divide into 100 equal groups",
    ),
    "one output": (
        lambda: measured(ensemble=NetworkEnsemble.of((2, 3, 1)), tensors=["V"]),
        SamplingError,
        "needs 2 different output neurons",
    ),
    "cycle": (lambda: Tree(3, ((0, 1), (1, 2), (0, 2))), GraphError, "cycle or a repeated edge"),
    "repeated edge": (lambda: Tree(2, ((0, 1), (1, 0))), GraphError, "closes at the edge 0-1"),
    "loop": (lambda: Tree(1, ((0, 0),)), GraphError, "cycle"),
    "forest": (lambda: Tree(3, ((0, 1),)), GraphError, "has 2 edges, not 1"),
    "stray vertex": (lambda: Tree(2, ((0, 2),)), GraphError, "do not join vertices"),
    "matching": (
        lambda: TensorPattern((), ((0, 1), (1, 2))),
        GraphError,
        r"matching \(\(0, 1\), \(1, 2\)\) is not perfect",
    ),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_bad_input_is_refused_in_three_sentences(case):
    action, kind, words = REFUSED[case]
    with pytest.raises(kind, match=words) as caught:
        action()
    assert isinstance(caught.value, SymdltError)
    assert str(caught.value).endswith(".")
    assert str(caught.value).count(". ") >= 2


@pytest.mark.parametrize(
    "activation",
    [
        LINEAR,
        RELU,
        [lambda z, k=k: 30.0**k * np.sin(30 * z + k * np.pi / 2) for k in range(3)],
        [lambda z, f=f: f(z.astype(np.float32)) for f in TANH],
        [lambda z, k=k, f=f: 1e3**k * f(1e3 * z) for k, f in enumerate(TANH[:3])],
    ],
    ids=["constants", "kink", "fast", "single precision", "steep"],
)
def test_an_activation_in_order_is_taken(activation):
    assert np.isfinite(measured(activation=activation, tensors=["H"])["H"].values).all()


def test_reprs_are_short():
    ensemble = NetworkEnsemble.of((2, 3, 2))
    parameters = draw_parameters(ensemble, 7, np.random.default_rng(0))
    assert repr(parameters) == "NetworkParameters(7 networks, weights (3, 2), (2, 3))"
    assert repr(measured()["G"]) == "Measurement((2, 2) samples, from 100 networks)"
