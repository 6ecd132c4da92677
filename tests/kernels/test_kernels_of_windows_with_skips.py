"""Kernels of layers with windows that keep z: values at all positions and depths, and text."""

import numpy as np
import pytest
from cases import slow, swept
from kernel_reference import loaded
from windows_reference import OUTPUTS, ROUNDING, check, inputs, overlaps, text_that_stands_alone

from symdlt import BOOK
from symdlt.errors import KernelError
from symdlt.kernels import kernel_for, numpy_activation

RESIDUAL = "z' = xi z + b + W[3, zero] s(z)"
BLOCK = "h = U s(z); z' = xi z + W[3] s(h)"
NORMED = "y = rmsnorm(z); z' = z + b + W[2] s(y)"
MASKED = "z' = z + b + W[2] dropout(0.1) s(z)"
CORRECTIONS = ["G.1", "H.1"]
EQUAL = [OUTPUTS] * 4  # neurons are kept: layers are as wide as each other


@pytest.mark.parametrize(
    ("layer", "shape", "readout"),
    [
        slow(RESIDUAL, (1, 3, 3), "mean"),
        swept(RESIDUAL, (2, 3, 2), "all"),
        swept("z' = xi z + b + W[2] s(z)", (1, 3, 4), None),
        swept("z' = xi z + b + W[2x1] s(z)", (1, 3, 2, 2), "mean"),
        swept("z' = xi z + b + P z + W[2, zero] s(z)", (1, 3, 3), "all"),
        swept("z' = xi z + b + P[2] z + W[3, zero] s(z)", (1, 3, 3), None),
        swept(BLOCK, (1, 3, 3), "mean"),
        swept(NORMED, (1, 3, 3), "mean"),
    ],
)
def test_all_thirteen_tensors_are_those_of_propagate(layer, shape, readout):
    check(layer, shape, readout, tuple(BOOK), EQUAL)


@pytest.mark.parametrize(
    ("layer", "shape", "readout"),
    [
        slow(BLOCK, (1, 3, 3), "all"),
        swept("z' = z + b + P z + W[2] s(z)", (1, 3, 3), "mean"),
        slow(MASKED, (2, 3, 2), "mean"),
        slow(NORMED, (1, 3, 3), None),
        swept("y = layernorm(z); z' = z + b + W[2] s(y)", (1, 3, 3), "all"),
        slow("u = U z; v = V z; z' = 1/2 z + W[3, zero] s(u) v", (1, 3, 2), "mean"),
        swept("z' = xi z + W[3, zero] z", (1, 3, 4), "mean"),
        slow("z' = xi z + b + W[2x1] s(z)", (1, 3, 2, 2), "mean"),
        ("z' = xi z + b + W[2] relu(z)", (1, 3, 3), "all"),
    ],
)
def test_families_of_layers(layer, shape, readout):
    check(layer, shape, readout, ("V", "F"), EQUAL)


@pytest.mark.parametrize(
    ("layer", "shape", "readout"),
    [
        slow(RESIDUAL, (1, 3, 3), "mean"),
        swept(RESIDUAL, (2, 3, 2), None),
        slow(MASKED, (2, 3, 2), "all"),
        swept(BLOCK, (1, 3, 3), "mean"),
        slow("z' = xi z + b + P[2] z + W[3, zero] s(z)", (1, 3, 3), "all"),
        slow(NORMED, (1, 3, 3), "mean"),
        swept(NORMED, (1, 3, 3), None),
    ],
)
def test_corrections_are_those_of_propagate(layer, shape, readout):
    check(layer, shape, readout, CORRECTIONS, EQUAL)


@pytest.mark.parametrize(
    ("depth", "readout"),
    [(1, "all"), (2, "all"), slow(2, "mean"), slow(7, "mean"), swept(1, "mean"), swept(7, "all")],
)
def test_of_any_depth(depth, readout):
    check(RESIDUAL, (1, 3, 3), readout, ("V",), [OUTPUTS] * depth) if depth > 1 else one(readout)


def one(readout):
    module = loaded(kernel_for(["V"], layer=RESIDUAL, name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    x = overlaps(inputs(2, 3, 4))
    found = module.propagate(functions, x, 1, C_b=0.1, C_W=1.2, xi=0.5, readout=readout)
    assert found["V"][0].shape == (2, 2, 2, 2)
    assert not found["V"][0].any()


def test_layers_are_told_as_they_are_done():
    module = loaded(kernel_for(["V"], layer=RESIDUAL, name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    given = {"C_b": 0.1, "C_W": 1.2, "xi": 0.5}
    for tensors in (["V"], ["G"]):
        told: list[int] = []
        found = module.propagate(
            functions,
            overlaps(inputs(1, 3, 3)),
            4,
            readout="all",
            tensors=tensors,
            after_layer=told.append,
            **given,
        )
        assert told == [1, 2, 3, 4]
        assert [table.shape for table in found["G"]] == [(1, 3, 1, 3)] * 3 + [(1, 1)]


def test_widths_that_differ_are_refused():
    module = loaded(kernel_for(["V"], layer=RESIDUAL, name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    given = {"C_b": 0.1, "C_W": 1.2, "xi": 0.5, "widths": [10, 20]}
    with pytest.raises(module.KernelInputError, match="The widths differ"):
        module.propagate(functions, overlaps(inputs(1, 3, 3)), 3, **given)


def test_overflow_and_memory_are_refused():
    module = loaded(kernel_for(["V"], layer=RESIDUAL, name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    given = {"C_b": 0.1, "C_W": 1.2, "xi": 0.5}
    with pytest.raises(module.KernelInputError, match="GB of memory"):
        module.propagate(functions, overlaps(inputs(4, 3, 8)), 300, **given)
    grown = given | {"C_W": [1.0, 1e300, 1e300]}
    with pytest.raises(module.KernelInputError, match=r"overflow|too large"):
        module.propagate(functions, overlaps(inputs(1, 3, 3)), 3, **grown)


@pytest.mark.parametrize(
    ("name", "layer", "reason"),
    [
        ("V", "z' = z + W[3] (s(z) + a z)", "has constants"),
        ("V", "z' = z + W[3, stride 2] s(z)", "keeps fields where they are"),
    ],
)
def test_what_has_no_kernel_is_refused(name, layer, reason):
    with pytest.raises(KernelError, match=reason):
        kernel_for([name], layer=layer)


def test_a_file_stands_alone(tmp_path):
    text = text_that_stands_alone(tmp_path, RESIDUAL, {"C_b": 0.1, "C_W": 1.5, "xi": 0.5})
    assert "    Moved(advance_qv_part_2, ((0, (0, 1)),)),\n" in text
    assert "for each later layer m.\n" in text


def test_positions_that_are_alike_have_the_tensors_of_a_layer_without_windows():
    """Inputs that are the same at all positions, on a grid that closes upon itself."""
    windowed, plain = (
        loaded(kernel_for(["V"], layer=f"z' = xi z + b + W{window} s(z)", name="own"))
        for window in ("[3]", "")
    )
    functions = numpy_activation("tanh", 2).functions
    given = {"C_b": 0.1, "C_W": 1.2, "xi": 0.6, "tolerance": ROUNDING}
    x = np.random.default_rng(3).standard_normal((2, 3))
    same = np.repeat(x[:, :, None], 3, axis=2)
    expected = plain.propagate(functions, x @ x.T / 3, 4, **given)["V"]
    for readout in (None, "mean"):
        found = windowed.propagate(functions, overlaps(same), 4, readout=readout, **given)["V"]
        for ours, theirs in zip(found[:3], expected, strict=False):
            assert ours[:, 0, :, 1, :, 2, :, 0] == pytest.approx(theirs, rel=ROUNDING)
        assert np.array(found[3]).reshape(-1)[0] > 0
