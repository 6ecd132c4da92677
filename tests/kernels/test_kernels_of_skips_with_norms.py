"""Kernels of layers that keep z, and normalise or mask it: values, text, and refusals."""

import numpy as np
import pytest
from cases import slow, swept
from kernel_reference import passes_its_doctests_alone, printed_under_two_hash_seeds
from test_kernels_of_skips import DATA, DEPTH, agree, check_corrections, kernel_of, run, theory
from test_kernels_of_skips import values_for as values_of

from symdlt import BOOK
from symdlt.derivation.response.symbolic.layer_systems import layer_system
from symdlt.errors import KernelError, LayerError
from symdlt.kernels import kernel_for, numpy_activation

RMS = "z' = xi z + b + W s(rmsnorm(z))"
MEAN = "z' = xi z + b + W s(layernorm(z))"
BEFORE = "z' = xi z + b + W s(U layernorm(z))"
GATED = "y = layernorm(z); u = U y; v = V y; z' = xi z + b + W s(u) v"
TWICE = "h = U s(layernorm(z)); z' = xi z + b + W s(layernorm(h))"
MIXED = "z' = xi z + b + W dropout(0.1) s(layernorm(z)) + P layernorm(z)"
DROPOUT = "z' = xi z + b + W dropout(0.1) s(z)"
PRUNED = "m = prune(1/4); z' = xi z + b + W m s(z)"
KEPT = "z' = xi z + rmsnorm(z) + b + W s(z)"
ALONE = "z' = rmsnorm(z) + W s(rmsnorm(z))"
BLOCK = "h = U dropout(1/3) s(z); z' = xi z + W s(h)"
TOGETHER = "z' = xi z + b + W z rmsnorm(z)"  # whose equations have powers of c below zero
TWO_RATES = "z' = z + W dropout(1/4) s(z) + P dropout(1/3) s(z)"
# With an odd function LayerNorm is RMSNorm.
LOPSIDED = "gelu"


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    "layer",
    [
        *map(slow, [MEAN, BLOCK, DROPOUT, KEPT]),
        *map(swept, [RMS, MIXED, ALONE, BEFORE, GATED, TWICE]),
    ],
)
def test_all_thirteen_tensors_are_those_of_propagate(layer, inputs):
    data = DATA[:2] if inputs == "many" else DATA[:1]
    module = kernel_of(layer, inputs)
    values = values_of(module.HYPERPARAMETERS)
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    found = run(module, inputs, values, data, LOPSIDED, **options)
    right = theory(layer, module.HYPERPARAMETERS, activation=LOPSIDED)
    agree(found, right, BOOK, inputs, 1e-12)


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    "layer", [slow(KEPT), swept(ALONE), slow(TOGETHER), slow(TWO_RATES), "z' = z - z + W s(z)"]
)
def test_v_of_layers_that_keep_masks_and_norms(layer, inputs):
    data = DATA[:2] if inputs == "many" else DATA[:1]
    module = kernel_of(layer, inputs, ["V"])
    found = run(module, inputs, values_of(module.HYPERPARAMETERS), data, LOPSIDED)
    right = theory(layer, module.HYPERPARAMETERS, activation=LOPSIDED)
    agree(found, right, ["V"], inputs, 1e-7)


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    "layer", [DROPOUT, slow(PRUNED), slow(BLOCK), RMS, slow(MEAN), swept(TWICE)]
)
def test_corrections_with_masks_and_norms_are_those_of_propagate(layer, inputs):
    check_corrections(layer, inputs, ["G.1", "H.1"], 1e-11)


@pytest.mark.parametrize("layer", [RMS, slow(MEAN)])
def test_entries_at_one_input_are_those_of_the_kernel_for_one(layer):
    one, many = kernel_of(layer, "one", ["V", "D"]), kernel_of(layer, "many", ["V", "D"])
    values = values_of(one.HYPERPARAMETERS)
    alone = run(one, "one", values, DATA[:1], LOPSIDED)
    found = run(many, "many", values, DATA, LOPSIDED, tolerance=1e-12)
    for name in ("V", "D"):
        assert found[name][:, 0, 0, 0, 0] == pytest.approx(alone[name], rel=1e-11)


def test_a_kept_share_of_all_neurons_is_the_layer_without_dropout():
    """p near 0, where the kernel of the plain layer knows of no masks."""
    near = kernel_of("z' = xi z + b + W dropout(1/1000000000) s(z)", "many", ["V"])
    plain = kernel_of("z' = xi z + b + W s(z)", "many", ["V"])
    values = values_of(plain.HYPERPARAMETERS)
    found, right = (run(module, "many", values) for module in (near, plain))
    assert found["V"] == pytest.approx(right["V"], rel=1e-7)
    assert (found["V"] != right["V"]).any()


def test_neurons_are_independent_behind_a_linear_layer_that_normalises():
    """W f, of f of length one, is Gaussian and independent of z, so that z + W f is Gaussian."""
    module = kernel_of("z' = z + W rmsnorm(z)", "one", ["V"])
    values = {"C_W": [1.0, *[0.3] * (DEPTH - 1)], "lambda_W": 0.0}
    found = run(module, "one", values, np.sqrt([[0.8] * 3]))
    assert found["G"] == pytest.approx([0.8 + layer * 0.3 for layer in range(DEPTH)], rel=1e-14)
    assert np.abs(found["V"]).max() < 1e-15


@pytest.mark.parametrize("inputs", ["one", "many"])
def test_a_file_stands_alone(tmp_path, inputs):
    text = kernel_for(["V"], layer=MIXED, inputs=inputs, name="mine").text
    overlap = "1.0" if inputs == "one" else "np.eye(2)"
    program = (
        "s = 2 * [np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z)]\n"
        "given = {n: 1.0 for n in mine.HYPERPARAMETERS}\n"
        f"v = mine.propagate(s[:mine.DERIVATIVES + 1], {overlap}, 3, **given)['V']\n"
    )
    assert passes_its_doctests_alone(tmp_path, text, program) == "3 0.0 True"
    assert all(len(line) <= 100 for line in text.splitlines() if "--layer" not in line)


@pytest.mark.slow
def test_text_does_not_depend_on_the_hash_seed():
    program = (
        "from symdlt.kernels import kernel_for\n"
        f"print(kernel_for(['D'], layer={MIXED!r}))\n"
        f"print(kernel_for(['D'], layer={MEAN!r}, inputs='one'))\n"
    )
    assert len(printed_under_two_hash_seeds(program)) == 1


def test_tables_of_noise_are_named_by_field_and_mask():
    names = [one.name for one in layer_system(["V"], MIXED).depths.states]
    assert names == ["QV", "Y_layernorm_z", "Y_m_s_layernorm_z", "Y_mean", "Y_z"]
    assert [one.name for one in layer_system(["V"], PRUNED).depths.states] == ["QV", "Y_m_s", "Y_z"]


@pytest.mark.parametrize("inputs", ["one", "many"])
def test_a_field_that_is_zero_has_no_length(inputs):
    module = kernel_of(RMS, inputs, ["V"])
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    overlap = np.diag([1.0, 0.0]) if inputs == "many" else 0.0
    with pytest.raises(
        module.KernelInputError, match="normalises the field z, whose variance is 0"
    ):
        module.propagate(functions, overlap, 4, C_b=0.0, C_W=1.0, xi=1.0)


@pytest.mark.parametrize(
    ("tensors", "layer", "reason"),
    [
        (["G.1"], TOGETHER, r"functions of rmsnorm\(z\) and z together"),
        (["V"], "z' = z + W s(z) + P s(rmsnorm(z))", "join the fields rmsnorm"),
        (["V"], "u = 1/2 z; z' = z + W s(rmsnorm(u))", "fields that keep z"),
        (["V"], "h = U s(z); z' = h + W s(rmsnorm(h))", "V of .* whose noise the next layer"),
        (["G.1"], "h = U s(z); z' = h + W s(h)", "G.1 of .* whose noise the next layer"),
    ],
)
def test_what_has_no_kernel_is_refused(tensors, layer, reason):
    with pytest.raises(KernelError, match=reason):
        kernel_for(tensors, layer=layer)


@pytest.mark.parametrize("layer", [KEPT, ALONE, "h = U s(z); g = V z; z' = rmsnorm(h) + W s(g)"])
def test_corrections_of_kept_norms_are_refused(layer):
    with pytest.raises(LayerError, match="each of which is itself in the length"):
        kernel_for(["G.1"], layer=layer)


@pytest.mark.parametrize("inputs", ["one", "many"])
def test_corrections_of_linear_reads_of_norms(inputs):
    """G.1 vanishes: the length is kept, so that what is compared is H.1."""
    check_corrections(BEFORE, inputs, ["H.1"], 1e-11)
    assert [*kernel_of(BEFORE, inputs, ["G.1"]).DEPTHS.noises] == ["Y_layernorm_z", "Y_z"]
