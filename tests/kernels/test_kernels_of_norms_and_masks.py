"""Kernels of layers with RMSNorm, LayerNorm and dropout: values, text, and refusals."""

from fractions import Fraction

import numpy as np
import pytest
from cases import slow, swept
from kernel_reference import loaded, printed_under_two_hash_seeds
from test_kernels_of_stacks import DATA, DEPTH, run, theory, values_for

from symdlt import BOOK, propagate
from symdlt.definitions import tensor
from symdlt.derivation.response.symbolic.closed_systems import ReadMask
from symdlt.kernels import kernel_for, numpy_activation
from symdlt.kernels.numpy_target.tuples import mask_mean

RMS = "z' = b + W s(rmsnorm(z))"
MEAN = "z' = b + W s(layernorm(z))"
BEFORE = "z' = b + W s(U rmsnorm(z))"
INSIDE = "h = a + U s(z); z' = b + W s(layernorm(h))"
TWICE = "y = rmsnorm(z); h = U s(y); z' = b + W s(layernorm(h))"
GATED = "y = rmsnorm(z); u = U y; v = V y; z' = b + W s(u) v"
DROPOUT = "z' = b + W dropout(0.1) s(z)"
BLOCK = "h = U dropout(1/3) s(z); z' = b + W s(h)"
SAME = "m = dropout(1/4); h = U m s(z); z' = b + W m h"
BOTH = "z' = b + W dropout(0.2) s(rmsnorm(z))"
PIECES = ["G.1", "H.1"]


def assert_equal(found, right, names, inputs, allowed=1e-12):
    """At each layer, to a part of the largest entry there."""
    for name in names:
        axes = tensor(name.partition(".")[0]).axes
        expected = right[name] if inputs == "many" else right[name][(slice(None), *[0] * axes)]
        for ours, theirs in zip(found[name], expected, strict=True):
            assert np.abs(ours - theirs).max() <= allowed * np.abs(theirs).max(), name


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    "layer", [RMS, *map(slow, [MEAN, BOTH]), *map(swept, [BEFORE, BLOCK, INSIDE, GATED]), DROPOUT]
)
def test_all_thirteen_tensors_are_those_of_propagate(layer, inputs):
    data = DATA if inputs == "many" else DATA[:1]
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    found, _, module = run(layer, inputs, data=data, **options)
    # D of the block with dropout is a thousandth of its terms, so that three digits are rounding.
    allowed = 1e-11 if layer == BLOCK else 1e-12
    assert_equal(found, theory(layer, tuple(module.HYPERPARAMETERS)), BOOK, inputs, allowed)


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    "layer", [RMS, DROPOUT, *map(slow, [SAME, BLOCK]), *map(swept, [INSIDE, BOTH, TWICE])]
)
def test_corrections_of_the_kernel_and_the_ntk_are_those_of_propagate(layer, inputs):
    data = DATA if inputs == "many" else DATA[:1]
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    found, network, _ = run(layer, inputs, PIECES, data, **options)
    assert_equal(found, propagate(network, DATA, PIECES, tolerance=1e-12), PIECES, inputs, 1e-11)


def test_behind_a_norm_a_linear_layer_has_no_fluctuations():
    """At one input the length of z is one, whatever it was: exactly, with no rounding."""
    for layer in ("z' = W rmsnorm(z)", "h = U z; z' = W rmsnorm(h)"):
        module = loaded(kernel_for(["V", "G.1"], layer=layer, inputs="one", name="own"))
        values = values_for(module.HYPERPARAMETERS)
        found = module.propagate([np.tanh] * (module.DERIVATIVES + 1), 0.7, DEPTH, **values)
        assert found["G"][1:] == pytest.approx(values["C_W"][1:], rel=1e-15)
        assert not found["V"].any()


def test_dropout_multiplies_the_diagonal_of_the_kernel():
    """By hand: of one sample the factor is squared, of two it has the mean one."""
    found, *_ = run(DROPOUT, "many", ["G"], tolerance=1e-12)
    values = values_for(("C_b", "C_W", "lambda_b", "lambda_W"))
    plain = loaded(kernel_for(["G"], name="plain"))
    functions = numpy_activation("tanh", plain.DERIVATIVES).functions
    for layer in range(1, DEPTH):
        numbers = {"C_b": [0.0, values["C_b"][layer]], "C_W": [1.0, values["C_W"][layer]]}
        below = found["G"][layer - 1]
        dense = plain.propagate(functions, below, 2, **numbers)["G"][1]
        bias, spread = values["C_b"][layer], dense - values["C_b"][layer]
        right = bias + spread * np.where(np.eye(len(DATA)), 1 / 0.9, 1.0)
        assert found["G"][layer] == pytest.approx(right, rel=1e-12)


def test_means_of_a_mask():
    """Sums over all draws of three samples."""
    kept, samples = 0.7, np.arange(3)
    draws = np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij")).reshape(3, -1)
    chance = np.prod(np.where(draws, kept, 1 - kept), axis=0)
    for axes in ("ij", "ijkl"):
        grid = np.meshgrid(*[samples] * len(axes), indexing="ij")
        factors = np.prod([draws[at] / kept for at in grid], axis=0)
        assert mask_mean(kept, *grid) == pytest.approx(factors @ chance, rel=1e-14)
    assert ReadMask("m", Fraction(1, 2), (1, 1, 1), False).of_one == 4


def test_a_kink_behind_a_norm():
    names = ["V", "F", "G.1"]
    found, network, _ = run("z' = b + W relu(rmsnorm(z))", "many", names, tolerance=1e-12)
    assert_equal(found, propagate(network, DATA, names, tolerance=1e-12), names, "many", 1e-10)


@pytest.mark.parametrize("inputs", ["one", "many"])
def test_a_field_that_is_zero_has_no_length(inputs):
    module = loaded(kernel_for(["G"], layer=RMS, inputs=inputs, name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    overlap = np.diag([1.0, 0.0]) if inputs == "many" else 0.0
    with pytest.raises(
        module.KernelInputError, match="normalises the field z, whose variance is 0"
    ):
        module.propagate(functions, overlap, DEPTH, C_b=0.0, C_W=1.0)


def test_some_samples():
    data, some = np.vstack([DATA, [0.9, 0.3, 0.2]]), np.array([[0, 1, 2, 1]])
    for layer in (RMS, DROPOUT):
        whole, *_ = run(layer, "many", ["V"], data, tolerance=1e-12)
        part, *_ = run(layer, "many", ["V"], data, tolerance=1e-12, samples=some)
        assert part["V"][:, 0, 1, 2, 1] == pytest.approx(whole["V"][:, 0, 1, 2, 1], rel=1e-11)


def test_the_text_says_what_scales_and_masks_are():
    one = kernel_for(["H"], layer=RMS, inputs="one", name="own").text
    assert "      + C_W <s'(rmsnorm(z)) s'(rmsnorm(z))> c^2 H\n" in one
    assert "multiplied with where it is normalised is c, of z" in one.replace("\n", " ")
    many = kernel_for(["H"], layer=DROPOUT, name="own").text
    assert "      + C_W <dropout_1 dropout_2> <s'_1 s'_2> H_12\n" in many
    assert "mask_… is the mean of factors of a mask" in many.replace("\n", " ")
    assert "10/9 C_W <s'(z) s'(z)> H\n" in kernel_for(["H"], layer=DROPOUT, inputs="one").text


@pytest.mark.slow
def test_text_does_not_depend_on_the_hash_seed():
    program = (
        "from symdlt.kernels import kernel_for\n"
        f"print(kernel_for(['D', 'P'], layer={TWICE!r}))\n"
        f"print(kernel_for(['D', 'P'], layer={BLOCK!r}, inputs='one'))\n"
    )
    assert len(printed_under_two_hash_seeds(program)) == 1
