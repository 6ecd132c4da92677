"""Kernels against direct evaluation in 30 digits, and against exact closed forms."""

import numpy as np
import pytest
from kernel_reference import (
    ACTIVATIONS,
    functions,
    iterate,
    linear,
    loaded,
    relative_error,
)

from symdlt.definitions import BOOK, correlators
from symdlt.derivation import derive_system
from symdlt.kernels import generate_kernel, kernel_for, single_input

OVERLAP = 0.7
WIDTHS = (40.0, 90.0, 25.0)
HYPER = {
    "C_b": [0.3, 0.1, 0.25, 0.2],
    "C_W": [1.1, 1.6, 0.9, 1.3],
    "lambda_b": [0.6, 0.35, 0.15, 0.4],
    "lambda_W": [0.5, 0.8, 1.2, 0.7],
}


def run(module, activation, **changes):
    given = {"overlap": OVERLAP, "depth": 4, "widths": WIDTHS, **HYPER, **changes}
    return module.propagate(functions(activation, module.DERIVATIVES + 1), **given)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_thirteen_tensors_against_direct_evaluation(name):
    activation = ACTIVATIONS[name]
    exact = iterate(derive_system(BOOK, inputs="one"), activation, OVERLAP, HYPER, WIDTHS)
    error = relative_error(run(single_input, activation), exact)
    print(f"{name}: {error:.1e}")
    assert error < 2e-12


@pytest.mark.parametrize("form", ["derivative", "z"])
def test_next_order_against_direct_evaluation(form):
    chosen = [c for k, c in enumerate(correlators(2)) if k % 17 == 3 and len(c.forest.edges) < 4]
    system = derive_system(chosen, inputs="one", form=form)
    module = loaded(generate_kernel(system, name="next_order"))
    direct = derive_system(chosen, inputs="one")
    exact = iterate(direct, ACTIVATIONS["polynomial"], OVERLAP, HYPER, WIDTHS)
    assert set(exact) == set(system.names)
    assert relative_error(run(module, ACTIVATIONS["polynomial"]), exact) < 1e-11


def test_subleading_pieces_against_direct_evaluation():
    names = ["G.1", "H.1", "V.1"]
    module = loaded(kernel_for(names, name="subleading", inputs="one"))
    direct = derive_system(names, inputs="one")
    exact = iterate(direct, ACTIVATIONS["tanh"], OVERLAP, HYPER, WIDTHS)
    result = run(module, ACTIVATIONS["tanh"])
    assert set(result) == {"G", "H", "V", "D", "F", "X6", "G.1", "H.1", "V.1"}
    assert relative_error(result, exact) < 1e-11


def deep_linear(depth, rate_b, rate_W, widths=None):
    rates = {"lambda_b": rate_b / depth, "lambda_W": rate_W / depth}
    sigma = functions(linear, 4)
    return single_input.propagate(sigma, 0.8, depth, C_b=0, C_W=1, widths=widths, **rates)


def test_deep_linear_network_is_exact():
    """K, Θ, V and (∞.46)–(∞.48) at every layer."""
    depth, b, W, K = 40, 0.3, 0.9, 0.8
    result = deep_linear(depth, b, W)
    layer = np.arange(1, depth + 1)
    rate = (b + W * K) / depth
    cubic = layer**2 * (layer**2 - 1) / (12 * depth**3)
    expected = {
        "G": np.full(depth, K),
        "H": rate * layer,
        "V": 2 * (layer - 1) * K**2,
        "B": rate**2 * (layer - 1) * layer * (2 * layer - 1) / 6,
        "F": K * rate * layer * (layer - 1) / 2,
        "P": 0 * layer,
        "R": 0 * layer,
        "S": cubic * (b + W * K) ** 2 * W,
        "T": cubic * (b + W * K) * W**2 * K,
        "U": 0 * layer,
    }
    for name, exact in expected.items():
        np.testing.assert_allclose(result[name], exact, rtol=1e-12, atol=1e-14, err_msg=name)


def test_unequal_widths_of_a_deep_linear_network():
    """V/n_{ℓ-1} = 2 K² Σ_k 1/n_k exactly, whatever the widths."""
    widths = np.array([10.0, 300.0, 7.0, 64.0, 1000.0])
    V = deep_linear(6, 0.1, 0.2, widths)["V"]
    np.testing.assert_allclose(V[1:] / widths, 2 * 0.8**2 * np.cumsum(1 / widths), rtol=1e-13)


def test_four_point_vertex_of_a_deep_tanh_network():
    """V/(nK²) → (2/3) ℓ/n at criticality, with corrections of order log ℓ/ℓ."""
    sigma = functions(ACTIVATIONS["tanh"], 4)
    result = single_input.propagate(sigma, 1.0, 3000, C_b=0.0, C_W=1.0, lambda_b=1.0, lambda_W=1.0)
    ratio = result["V"] / result["G"] ** 2 / np.arange(1, 3001)
    assert ratio[-1] == pytest.approx(2 / 3, rel=2e-3)
    assert abs(ratio[-1] - 2 / 3) < abs(ratio[299] - 2 / 3) / 4


def test_one_layer_and_zero_input():
    assert run(single_input, ACTIVATIONS["tanh"], depth=1, widths=(), **first(HYPER))["G"] == (
        pytest.approx([0.3 + 1.1 * OVERLAP])
    )
    rates = {"lambda_b": 1.0, "lambda_W": 1.0}
    nothing = single_input.propagate(
        functions(ACTIVATIONS["tanh"], 4), 0.0, 5, C_b=0.0, C_W=1.0, **rates
    )
    assert nothing["G"].tolist() == [0.0] * 5
    assert nothing["H"] == pytest.approx([1.0, 2.0, 3.0, 4.0, 5.0], rel=1e-14)


def first(hyper):
    return {name: values[:1] for name, values in hyper.items()}


def oscillating(speed):
    return [lambda z, k=k: speed**k * np.sin(speed * z + k * np.pi / 2) for k in range(4)]


@pytest.mark.parametrize(
    ("speed", "K"),
    [
        *((1.0, float(K)) for K in np.geomspace(1.0, 1e5, 97)),
        *((1.0, K) for K in (65.0, 75.0, 100.0, 284.0, 5.6e4, 1e8, 1e10, 5e11)),
        *((float(speed), 1.0) for speed in (8, 15, 22, 57, 113, 300, 611, 997)),
    ],
)
def test_oscillating_activations_are_not_taken_for_slow_ones(speed, K):
    """σ = sin(cz), whose means are known: ⟨σσ⟩ = (1 − e^{−2u})/2 with u = c²K, and so on."""
    layers = single_input.propagate(
        oscillating(speed), K, 2, C_b=0.0, C_W=1.0, lambda_b=0.0, lambda_W=1.0
    )
    u = speed**2 * K
    metric = (1 - np.exp(-2 * u)) / 2
    fourth = (3 - 4 * np.exp(-2 * u) + np.exp(-8 * u)) / 8
    mixed = speed**2 * (1 - np.exp(-8 * u)) / 8
    slope = speed**2 * (1 + np.exp(-2 * u)) / 2
    expected = {
        "G": metric,
        "V": fourth - metric**2,
        "F": mixed * K,
        "H": metric + slope * K,
    }
    for name, value in expected.items():
        assert layers[name][1] == pytest.approx(value, rel=1e-10), name


@pytest.mark.parametrize(("speed", "K"), [(1.0, 1e12), (1e3, 1e6), (1.0, 1e40)])
def test_arguments_without_digits_for_an_oscillation_are_refused(speed, K):
    """Rounding of z moves σ by 1e-10 of its norm: whether both grids agree is left to chance."""
    with pytest.raises(single_input.KernelInputError, match="lose their digits at layer 1"):
        single_input.propagate(oscillating(speed), K, 2, C_b=0.0, C_W=1.0, lambda_b=0, lambda_W=1)


def test_powers_keep_their_digits_at_any_argument():
    square = [lambda z: z**2, lambda z: 2 * z, lambda z: 2 + 0 * z, lambda z: 0 * z]
    layers = single_input.propagate(square, 1e40, 2, C_b=0.0, C_W=1.0, lambda_b=0, lambda_W=1)
    assert layers["G"][1] == pytest.approx(3e80, rel=1e-12)
