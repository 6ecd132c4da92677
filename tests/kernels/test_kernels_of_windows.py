"""Kernels of layers with windows: values at all positions, text that stands alone, refusals."""

import re
from dataclasses import astuple
from functools import cache
from math import prod

import numpy as np
import pytest
from cases import slow, swept
from kernel_reference import loaded, passes_its_doctests_alone, printed_under_two_hash_seeds
from windows_reference import OUTPUTS, ROUNDING, WIDTHS, check, inputs, overlaps

from symdlt import Stack
from symdlt.algebra import uniform
from symdlt.cli import main
from symdlt.definitions import Window
from symdlt.derivation.response.symbolic.layer_systems import layer_system
from symdlt.errors import KernelError, LayerError
from symdlt.kernels import kernel_for, many_inputs, numpy_activation
from symdlt.kernels.numpy_target.positions import GridWindow, positions_read

CIRCULAR = "z' = b + W[3] s(z)"
ZERO = "z' = b + W[3, zero] s(z)"
GATE = "u = U z; v = V z; z' = b + W[3, zero] s(u) v"
DEPTH = len(WIDTHS) + 1


@pytest.mark.parametrize("readout", [slow(None), slow("all"), swept("mean")])
def test_all_thirteen_tensors_are_those_of_propagate(readout):
    check(CIRCULAR, (2, 3, 4), readout)


@pytest.mark.parametrize(
    ("layer", "shape", "readout"),
    [
        slow(ZERO, (2, 3, 3), "mean"),
        swept("z' = b + W[3, zero, stride 2] s(z)", (2, 3, 6), "all"),
        ("z' = b + W[2, valid] s(z)", (2, 3, 4), None),
        slow("z' = b + W[3x2, zero] s(z)", (1, 3, 2, 2), "mean"),
        pytest.param(
            *("z' = b + W[2x2, stride 2] s(z)", (1, 3, 4, 4), "all"), marks=pytest.mark.slow
        ),
        ("z' = b + W[stride 2] s(z)", (2, 3, 4), None),
        ("z' = b + W[all] s(z)", (2, 3, 4), None),
        swept("z' = b + W[mean] s(z)", (2, 3, 4), None),
        ("z' = W[3, zero] z", (2, 3, 4), "mean"),
        pytest.param(
            *(GATE, (2, 3, 3), "mean"),
            marks=pytest.mark.sweep,
        ),
        slow("h = U s(z); z' = b + W[3, zero] s(h)", (1, 3, 4), None),
        pytest.param(*("z' = b + W[3] s(z) + P[3] z", (2, 3, 3), "all"), marks=pytest.mark.slow),
        slow("z' = b + W[3, zero] s(rmsnorm(z))", (2, 3, 2), "mean"),
        pytest.param("z' = b + W[3] s(layernorm(z))", (2, 3, 3), "mean", marks=pytest.mark.slow),
        slow("z' = b + W[3, zero] dropout(0.1) s(z)", (2, 3, 3), "mean"),
    ],
)
def test_families_of_layers_and_windows(layer, shape, readout):
    check(layer, shape, readout, ("V", "F", "R"))


SEVERAL = "z' = b + U z + W[3, zero] s(z)"
POOLED = "z' = b + W[2, pool 2] s(z)"


@pytest.mark.parametrize(
    ("layer", "shape", "readout"),
    [
        slow(SEVERAL, (2, 3, 3), "mean"),
        ("z' = W[all] s(z) + P[all] z", (1, 3, 3), None),
        swept(SEVERAL, (2, 3, 4), None),
        slow("z' = b + W[3, zero] s(z) + P[2] z", (2, 3, 4), "all"),
        swept("z' = W[3, zero] s(z) + P[stride 1] s(z) + V z", (1, 3, 4), "mean"),
        slow("h = U s(z); z' = h + b + W[3] s(z)", (1, 3, 4), None),
        swept("u = U z; v = V z; z' = b + W[3] s(u) v + P u", (1, 3, 3), "all"),
        swept("z' = b + W[2, stride 2] s(z) + P[stride 2] z", (2, 3, 4), "mean"),
        swept("z' = b + W[3x3] s(z) + P[1x2, zero] z + U z", (1, 3, 2, 2), "mean"),
        swept("z' = W[all] s(z) + P[all] z", (2, 3, 3), None),
        slow(POOLED, (1, 3, 8), None),
        swept("z' = b + W[3, pool 2, zero] s(z)", (1, 3, 8), "mean"),
        slow("z' = b + W[2x1, pool 2, zero] s(z)", (1, 3, 4, 4), "all"),
        swept("z' = b + W[2, pool 2, stride 2] s(z)", (1, 3, 8), "all"),
        swept("z' = W[pool 2] z + P[2, stride 2] s(z)", (1, 3, 4), "all"),
        swept("z' = b + W[pool 2] s(rmsnorm(z))", (2, 3, 4), "mean"),
        slow("z' = b + W[3, pool 2] dropout(0.1) s(z)", (2, 3, 4), "mean"),
    ],
)
def test_several_windows_and_none_and_pooled_positions(layer, shape, readout):
    check(layer, shape, readout)


@pytest.mark.parametrize(
    ("layer", "shape", "readout"),
    [
        slow(SEVERAL, (2, 3, 3), "all"),
        (POOLED, (2, 3, 4), "mean"),
        slow("h = U s(z); z' = h + b + W[3] s(z)", (1, 3, 4), "mean"),
        slow("z' = b + W[3, zero] s(z) + P[2] z", (2, 3, 4), "all"),
        slow("z' = b + W[pool 2] s(z) + P[3, pool 2] z", (1, 3, 8), None),
    ],
)
def test_corrections_of_several_windows_and_of_pooled_positions(layer, shape, readout):
    check(layer, shape, readout, ("G.1", "H.1"))


@pytest.mark.parametrize(
    ("layer", "readout"),
    [
        *(("z' = xi z + b + W[3, zero] s(z)", readout) for readout in (None, "all", "mean")),
        ("h = U z; z' = 1/2 z + W[3] s(h)", "all"),
        ("y = rmsnorm(z); z' = z + b + W[2] s(y)", "mean"),
    ],
)
def test_kernel_and_ntk_of_a_skip_are_those_of_propagate(layer, readout):
    check(layer, (2, 3, 4), readout, ("H",), [OUTPUTS] * DEPTH)


@pytest.mark.parametrize(("layer", "readout"), [slow(ZERO, "all"), (CIRCULAR, "mean")])
def test_corrections_of_the_kernel_and_the_ntk_are_those_of_propagate(layer, readout):
    check(layer, (2, 3, 3), readout, ("G.1", "H.1"))


def test_a_kink():
    check("z' = b + W[3, zero] relu(z)", (1, 3, 3), "all", ("V", "F"))


def test_positions_are_samples_of_a_dense_layer_before_their_mean():
    """By hand at all tuples of positions: the dense kernel, and sums over what a window reads."""
    x, values = inputs(2, 3, 4), {"C_b": [0.2, 0.3], "C_W": [1.1, 0.9]}
    module = loaded(kernel_for(["V"], layer=ZERO, name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    found = module.propagate(functions, overlaps(x), 2, tolerance=ROUNDING, **values)
    _, sources = Window.read("3, zero").sources((4,))
    below = found["G"][0].reshape(8, 8)
    dense = many_inputs.propagate(
        functions, below, 2, C_b=[0.0, 0.0], C_W=[1.0, 0.9], tensors=["V"], tolerance=ROUNDING
    )
    V = np.pad(dense["V"][1].reshape(4 * (2, 4)), 4 * [(0, 0), (0, 1)])  # zero behind the last
    right = 0.0
    for q in np.array(sources)[..., 0]:
        for r in np.array(sources)[..., 0]:
            right = right + V[:, q][:, :, :, q][:, :, :, :, :, r][:, :, :, :, :, :, :, r] / 9
    assert np.abs(found["V"][1] - right).max() <= ROUNDING * np.abs(right).max()


@pytest.mark.parametrize(
    ("text", "grid"),
    [
        ("3", (5,)),
        ("4, zero", (6,)),
        ("3, valid", (5,)),
        ("2x3, stride 2, zero", (4, 5)),
        ("3x2, stride 2", (4, 5)),
        ("2x2, stride 2, valid", (5, 4)),
        ("1x2x3, zero", (2, 3, 4)),
        ("stride 2", (5,)),
        ("all", (3, 2)),
        ("mean", (3, 2)),
        ("3x2, pool 2, zero", (6, 4)),
        ("2, pool 3, valid, stride 2", (9,)),
        ("pool 2", (2, 4, 2)),
    ],
)
def test_windows_read_what_the_text_of_layers_says(text, grid):
    written = Window.read(text)
    window = GridWindow(*astuple(written)[:-1])
    above, read = positions_read(window, grid)
    right, sources = written.sources(grid)
    assert above == right
    assert read.tolist() == np.array(sources).tolist()


def test_a_circular_window_keeps_translations():
    """Inputs moved along the grid have the same tensors, moved along."""
    module = loaded(kernel_for(["V"], layer=CIRCULAR, name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    x = inputs(1, 3, 5)
    here, there = (
        module.propagate(functions, overlaps(one), 3, C_b=0.1, C_W=1.2)["V"][-1]
        for one in (x, np.roll(x, 2, axis=2))
    )
    assert there == pytest.approx(np.roll(here, 4 * (2,), axis=(1, 3, 5, 7)), rel=ROUNDING)


def test_arrays_have_the_positions_of_their_layer():
    module = loaded(kernel_for(["V"], layer="z' = b + W[2x1, valid] s(z)", name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    told = []
    found = module.propagate(
        functions,
        overlaps(inputs(2, 3, 4, 2)),
        3,
        C_b=0.1,
        C_W=1.2,
        readout="all",
        tensors=["G"],
        after_layer=told.append,
    )
    assert told == [1, 2, 3]
    assert [table.shape for table in found["G"]] == [(2, 3, 2) * 2, (2, 2, 2) * 2, (2, 2)]
    assert prod(found["G"][0].shape) == 12**2


@pytest.mark.parametrize("readout", ["all", "mean"])
def test_one_layer_reads_all_positions_of_the_input(readout):
    module = loaded(kernel_for(["V"], layer=CIRCULAR, name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    x = inputs(2, 3, 4)
    found = module.propagate(functions, overlaps(x), 1, C_b=0.1, C_W=1.2, readout=readout)
    read = {"all": np.einsum("icp,jcp->ij", x, x) / 12, "mean": x.mean(2) @ x.mean(2).T / 3}
    assert found["G"][0] == pytest.approx(0.1 + 1.2 * read[readout], rel=ROUNDING)
    assert not found["V"][0].any()


def test_a_layer_that_reads_all_positions_has_no_other_readout():
    module = loaded(kernel_for(["V"], layer="z' = b + W[all] s(z)", name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    given = functions, overlaps(inputs(2, 3, 4)), 2
    with pytest.raises(module.KernelInputError, match="reads all positions otherwise"):
        module.propagate(*given, C_b=0.1, C_W=1.2, readout="mean")
    plain, same = (
        module.propagate(*given, C_b=0.1, C_W=1.2, readout=readout)["V"]
        for readout in (None, "all")
    )
    assert np.array_equal(plain, same)


def test_windows_of_one_layer_make_the_same_positions():
    module = loaded(kernel_for(["V"], layer="z' = W[2, valid] s(z) + P[3, valid] z", name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    with pytest.raises(module.KernelInputError, match=r"grids of \(4,\) and of \(3,\) positions"):
        module.propagate(functions, overlaps(inputs(2, 3, 5)), 2, C_W=1.2, C_P=0.3)


@pytest.mark.parametrize(
    ("layer", "window"),
    [
        (CIRCULAR, "[3x2, zero]"),
        (CIRCULAR, "[all]"),
        slow(GATE, "[mean]"),
        slow("z' = b + W[3] dropout(0.1) s(layernorm(z))", "[3, valid]"),
    ],
)
def test_under_the_sums_stands_what_a_layer_without_windows_has(layer, window):
    """Term by term."""
    names = ["V", "F", "R", "G.1"]
    windowed = layer_system(names, re.sub(r"\[.*\]", window, layer))
    plain = layer_system(names, re.sub(r"\[.*\]", "", layer))
    assert windowed.names == plain.names
    for ours, theirs in zip(windowed.equations, plain.equations, strict=True):
        assert terms_of(ours) == terms_of(theirs)


def terms_of(equation):
    """The numbers of terms, by what their symbols stand for."""
    return {
        tuple(sorted((str(equation.reads.get(name, name)), power) for name, power in term)): number
        for term, number in equation.terms
    }


def test_the_text_says_what_is_summed_and_how():
    text = kernel_for(["V"], layer=ZERO, name="own").text
    told = text.replace("\n", " ")
    assert "from -1 on: 1+q is sample 1, q positions on from that of 1; what lies beyond" in told
    assert "      + 1/3 C_W sum_q <s_1+q s_2+q>\n" in text
    assert 'WINDOWS = (GridWindow((3,), stride=1, padding="zero"),)\n' in text
    assert "            Moved(advance_v, ((0, (0, 1)), (0, (2, 3)))),\n" in text
    assert "            Moved(beside_g),\n" in text
    assert "    return h.C_W * z_s0_s0_12\n" in text


@pytest.mark.parametrize("activation", [None, "erf"])
def test_a_file_stands_alone(tmp_path, activation):
    """With NumPy and no symdlt in reach."""
    layer = "z' = b + W[2x2, zero] s(z)"
    text = kernel_for(["V"], layer=layer, activation=activation, name="mine").text
    functions = "mine.ACTIVATION" if activation else "[np.tanh] * 3"
    program = (
        "import numpy as np, mine\n"
        "x = np.linspace(-1.0, 1.0, 8).reshape(1, 2, 2, 2)\n"
        f"v = mine.propagate({functions}, np.tensordot(x, x, (1, 1)) / 2, 2, C_b=0.1,\n"
        "    C_W=1.5, readout='mean')['V']\n"
    )
    if activation is None:
        program = program.replace("[np.tanh] * 3", "[np.sin, np.cos, lambda z: -np.sin(z)]")
    assert passes_its_doctests_alone(tmp_path, text, program) == "2 0.0 True"
    assert all(len(line) <= 100 for line in text.splitlines() if "--layer" not in line)


@pytest.mark.slow
def test_text_does_not_depend_on_the_hash_seed():
    program = (
        "from symdlt.kernels import kernel_for\n"
        f"print(kernel_for(['D', 'P', 'G.1'], layer={ZERO!r}))\n"
    )
    assert len(printed_under_two_hash_seeds(program)) == 1


def test_command(tmp_path, capsys):
    path = tmp_path / "conv.py"
    assert main(["kernel", "V", "--layer", ZERO, "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == kernel_for(["V"], layer=ZERO, name="conv").text
    assert main(["kernel", "V", "--layer", ZERO, "--inputs", "one"]) == 1
    assert "as many samples as positions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("layer", "options", "error", "reason"),
    [
        (CIRCULAR, {"inputs": "one"}, KernelError, "as many samples as positions"),
        ("z' = z + W[3, stride 2] s(z)", {}, KernelError, "keeps fields where they are"),
        ("z' = z + W[mean] s(z)", {}, KernelError, "keeps fields where they are"),
        ("z' = b + U z + W[3, valid] s(z)", {}, KernelError, "weights that read them there"),
        ("h = U z; z' = h + W[pool 2] s(z)", {}, KernelError, "keeps fields where they are"),
        ("z' = b + W[3, mirror] s(z)", {}, LayerError, "mirror. is no window"),
        (CIRCULAR, {"target": "jax"}, KernelError, 'Choose the target "numpy"'),
        ("z' = readout W[3] s(z)", {}, KernelError, "The symbol readout"),
        ("z' = inputs W[3] s(z)", {}, KernelError, "The symbol inputs"),
    ],
)
def test_what_has_no_kernel_is_refused(layer, options, error, reason):
    with pytest.raises(error, match=reason):
        kernel_for(["V"], layer=layer, **options)


@pytest.mark.parametrize("inputs", ["one", "many"])
def test_tensors_beyond_two_pairs_are_refused(inputs):
    with pytest.raises(KernelError, match=r"tensors of two pairs|as many samples as positions"):
        kernel_for(["X6"], layer=CIRCULAR, inputs=inputs)


def test_corrections_of_other_laws_are_refused():
    with pytest.raises(KernelError, match="Fourth cumulants"):
        kernel_for(["G.1"], layer=Stack(CIRCULAR, laws={"W": uniform}))


@cache
def kernel_of_v(layer):
    """Most refusals are of one kernel."""
    return loaded(kernel_for(["V"], layer=layer, name="own"))


@pytest.mark.parametrize(
    ("layer", "overlap", "options", "reason"),
    [
        (CIRCULAR, np.eye(4), {}, "The window has 1 axes, and there are 0 axes of positions"),
        ("z' = b + W[3x3] s(z)", overlaps(inputs(2, 3, 4)), {}, "The window has 2 axes"),
        (CIRCULAR, overlaps(inputs(2, 3, 4))[:, :3], {}, r"The overlap has shape \(2, 3, 2, 4\)"),
        (CIRCULAR, np.ones((2, 3, 2)), {}, r"The overlap has shape \(2, 3, 2\)"),
        (CIRCULAR, np.ones((0, 3, 0, 3)), {}, r"The overlap has shape \(0, 3, 0, 3\)"),
        (CIRCULAR, 1.0, {}, r"The overlap has shape \(\)"),
        (CIRCULAR, -overlaps(inputs(2, 3, 4)), {}, "not that of real inputs"),
        (CIRCULAR, "no numbers", {}, "overlap is 'no numbers'"),
        (CIRCULAR, [[1.0], [1.0, 2.0]], {}, r"overlap is \[\[1.0\], \[1.0, 2.0\]\]"),
        (CIRCULAR, np.full((1, 3, 1, 3), np.nan), {}, "not that of real inputs"),
        (CIRCULAR, overlaps(inputs(2, 3, 4)), {"readout": "max"}, "readout='max' is not known"),
        (CIRCULAR, overlaps(inputs(2, 3, 4)), {"readout": ["all"]}, "is not known"),
        (CIRCULAR, overlaps(inputs(2, 3, 4)), {"means": 1}, "means is 1. Give a function"),
        (CIRCULAR, overlaps(inputs(2, 3, 4)), {"after_layer": 1}, "after_layer is 1"),
        ("z' = b + W[3] z", overlaps(inputs(2, 3, 4)), {"after_layer": 1}, "after_layer is 1"),
        ("z' = z + b + W[3] s(z)", overlaps(inputs(1, 3, 3)), {"after_layer": 1}, "after_layer is"),
        ("z' = z + b + W s(z)", np.eye(2), {"after_layer": 1}, "after_layer is 1"),
        (CIRCULAR, overlaps(inputs(9, 3, 9)), {"depth": 999}, "GB of memory"),
        ("z' = b + W[3, valid] s(z)", overlaps(inputs(2, 3, 4)), {}, "3 positions does not fit"),
        (
            "z' = b + W[2, pool 2] s(z)",
            overlaps(inputs(1, 3, 6)),
            {},
            "pools 2 positions, and .* 3",
        ),
        (CIRCULAR, overlaps(inputs(2, 3, 4)), {"C_W": 1e200}, "too large for means"),
        (CIRCULAR, overlaps(inputs(2, 3, 4)), {"C_W": [1.0, 1e300, 1e300]}, "overflow|too large"),
    ],
)
def test_bad_input_is_refused(layer, overlap, options, reason):
    module = kernel_of_v(layer)
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    given = {"C_b": 0.1, "C_W": 1.2, "depth": 3, **options}
    with pytest.raises(module.KernelInputError, match=reason):
        module.propagate(functions, overlap, **given)
