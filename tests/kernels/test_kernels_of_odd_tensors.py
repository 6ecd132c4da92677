"""Kernels of odd tensors: those of `propagate`, for one input and many, in NumPy and JAX."""

import numpy as np
import pytest
from cases import slow
from kernel_reference import loaded

from symdlt import Network, propagate
from symdlt.definitions import ODD
from symdlt.errors import KernelError, UnknownTensorError
from symdlt.kernels import kernel_for, numpy_activation

VALUES = {"C_b": 0.1, "C_W": 1.1, "lambda_b": 1.0, "lambda_W": 0.7, "xi": 0.8}
INSIDE = {"C_U": 0.9, "lambda_U": 0.5}
RESIDUAL = "z' = xi z + b + W s(z)"
BLOCK = "h = U s(z); z' = xi z + b + W s(h)"
NORMED = "z' = rmsnorm(z) + b + W s(z)"
OWN = "h = U s(z); z' = h + b + W s(h)"
DATA = np.random.default_rng(0).normal(size=(3, 5))
DEPTH = 4


def found_and_expected(layer, inputs, tensors, data, **options):
    module = loaded(kernel_for(tensors, layer=layer, inputs=inputs))
    values = {**VALUES, **(INSIDE if "U" in layer else {})}
    values = {name: number for name, number in values.items() if name in module.HYPERPARAMETERS}
    functions = numpy_activation("gelu", module.DERIVATIVES).functions
    overlap = data @ data.T / data.shape[1]
    overlap = overlap if inputs == "many" else float(overlap[0, 0])
    ratios = {name: 1.0 for name in module.HYPERPARAMETERS if name[:2] == "r_"}
    found = module.propagate(functions, overlap, DEPTH, **values, **ratios, **options)
    layers = ["z' = b + W z", *[layer] * (DEPTH - 1)]
    inner = {"h": 12} if layer == BLOCK else {}
    network = Network("gelu", [12] * (DEPTH - 1), values, layers, n_L=12, inner=inner)
    return found, propagate(network, data, tensors, tolerance=1e-12)


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize("layer", [RESIDUAL, NORMED, slow(BLOCK), slow(OWN)])
def test_they_are_those_of_propagate(layer, inputs):
    data = DATA if inputs == "many" else DATA[:1]
    tensors = [*ODD, *["V"] * (layer == RESIDUAL)]  # next to states that are met at all depths
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    found, right = found_and_expected(layer, inputs, tensors, data, **options)
    for name in tensors:
        expected = right[name] if inputs == "many" else right[name].reshape(DEPTH)
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(found[name], expected, rtol=1e-11, atol=1e-12, err_msg=name)


def test_at_some_samples_they_are_the_entries_of_all():
    chosen = np.array([[0, 1, 1, 2]])
    found, right = found_and_expected(RESIDUAL, "many", [*ODD], DATA, samples=chosen)
    for name in ODD:
        known = found[name][-1][0, 1, 2]
        assert known == pytest.approx(right[name][-1][0, 1, 2], rel=1e-11)
    assert np.isfinite(found["F3"][-1][2, 1, 1])


@pytest.fixture
def sixty_four_bits():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.usefixtures("sixty_four_bits")
def test_kernels_for_jax_are_those_of_numpy():
    asked = {"layer": RESIDUAL, "inputs": "one", "activation": "gelu"}
    here, there = (loaded(kernel_for([*ODD], target=t, **asked)) for t in ("jax", "numpy"))
    found = here.propagate(0.8, DEPTH, **VALUES)
    functions = numpy_activation("gelu", there.DERIVATIVES).functions
    expected = there.propagate(functions, 0.8, DEPTH, **VALUES)
    for name in ODD:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-11, err_msg=name)


def test_layers_without_them_are_refused():
    with pytest.raises(KernelError, match="ends with a readout"):
        kernel_for(["a3"], layer="z' = xi z + b + W[3] s(z)")
    with pytest.raises(UnknownTensorError, match="only if they keep neurons"):
        kernel_for(["A3"])
