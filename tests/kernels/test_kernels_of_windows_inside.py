"""Kernels of layers whose fields inside have windows: values at all positions, and refusals."""

import pytest
from cases import slow, swept
from kernel_reference import loaded, printed_under_two_hash_seeds
from windows_reference import OUTPUTS, check, inputs, overlaps, text_that_stands_alone

from symdlt import BOOK
from symdlt.derivation.response.symbolic.layer_systems import layer_system
from symdlt.errors import KernelError
from symdlt.kernels import kernel_for, numpy_activation

CHAIN = "h = U[3, zero] s(z); z' = b + W s(h)"
BEHIND = "h = U[3, zero] s(z); z' = b + W[2] s(h)"
GATE = "u = U[3, zero] z; v = V z; z' = W s(u) v"
BOTH = "u = U[3, zero] z; v = V[2] z; z' = W s(u) v"
BLOCK = "h = U[3, zero] s(z); z' = xi z + b + W[3, zero] s(h)"
KEPT_THREE = "h = U[3, zero] s(z); k = T[2, zero] s(h); z' = xi z + W[2] s(k)"
THREE = "h = U[3, zero] s(z); k = T[2, zero] s(h); z' = b + W[2] s(k)"
SOME = ("V", "F", "S")
EQUAL = (OUTPUTS,) * 3  # widths


@pytest.mark.parametrize(
    ("layer", "shape", "readout"),
    [
        slow(CHAIN, (1, 3, 3), None),
        swept(GATE, (2, 3, 3), "mean"),
        swept(BEHIND, (2, 3, 3), "all"),
    ],
)
def test_all_thirteen_tensors_are_those_of_propagate(layer, shape, readout):
    check(layer, shape, readout)


@pytest.mark.parametrize(
    ("layer", "shape", "readout"),
    [
        slow(GATE, (1, 3, 3), "mean"),
        (BEHIND, (1, 3, 3), None),
        slow(BOTH, (1, 3, 3), "all"),
        swept(THREE, (1, 3, 3), "mean"),
        swept("u = U[3, zero] z; v = V s(z); z' = b + W[2] s(u) v", (1, 3, 3), "mean"),
        swept("h = c + U[3, zero] s(z); z' = b + W[2, stride 2] s(h)", (1, 3, 4), "mean"),
        swept("h = U[3, zero] s(z) + T[2] z; z' = b + W s(h)", (1, 3, 3), "mean"),
        swept("h = V s(z); u = U[3, zero] s(h); z' = b + W s(u)", (1, 3, 3), "all"),
        swept("u = U[3, zero] z; h = V s(u); z' = b + W s(h)", (1, 3, 3), "all"),
        slow("h = V s(z); u = h + U[3, zero] s(z); z' = b + W s(u)", (1, 3, 3), None),
        swept("h = U[3, zero] s(z); v = V z; z' = b + W s(h) + P s(v)", (1, 3, 3), "all"),
        slow("u = U[3, zero] s(z); z' = b + W s(rmsnorm(u))", (1, 3, 3), None),
        swept("u = U[3, zero] s(z); z' = b + W s(layernorm(u))", (1, 3, 3), "mean"),
        swept("u = U[3, zero] s(rmsnorm(z)); z' = b + W s(u)", (1, 3, 3), None),
        slow("u = U[3, zero] dropout(0.1) s(z); z' = b + W s(u)", (2, 3, 2), None),
        swept("u = U[3, zero] s(z); z' = b + W dropout(0.1) s(u)", (2, 3, 2), "mean"),
        slow("u = U[2x1] s(z); z' = b + W s(u)", (1, 3, 2, 2), "all"),
    ],
)
def test_families_of_layers(layer, shape, readout):
    check(layer, shape, readout, SOME)


@pytest.mark.parametrize(
    ("layer", "shape", "readout", "tensors"),
    [
        ("h = U[3, zero] s(z); z' = z + b + W s(h)", (2, 3, 3), "mean", ("H",)),
        (BLOCK, (1, 3, 3), None, ("V",)),
        slow(BLOCK, (1, 3, 3), "mean", tuple(BOOK)),
        swept(BLOCK, (2, 3, 3), None, tuple(BOOK)),
        swept(BLOCK, (1, 3, 3), "all", tuple(BOOK)),
        swept("h = U[3, zero] s(z); z' = z + W s(h)", (2, 3, 2), None, ("V", "D", "Q")),
        swept("h = U[2x1] s(z); z' = z + W[1x2] s(h)", (1, 3, 2, 2), "mean", ("V", "T")),
        slow(KEPT_THREE, (1, 3, 3), "mean", ("V", "F", "P")),
        slow("u = U[3, zero] rmsnorm(z); z' = z + W[3, zero] s(u)", (1, 3, 3), "mean", ("V", "F")),
        swept("u = U[3, zero] s(layernorm(z)); z' = z + W s(u)", (1, 3, 3), None, ("V", "F")),
        swept("u = U[3, zero] dropout(0.1) s(z); z' = z + W s(u)", (2, 3, 2), None, ("V",)),
        slow("u = U[3, zero] z; v = V[2] z; z' = xi z + W s(u) v", (1, 3, 3), None, ("V", "F")),
        swept(
            "h = U[3, zero] z; p = P s(z); z' = xi z + W s(h) + R s(p)", (1, 3, 3), "mean", ("V",)
        ),
    ],
)
def test_layers_that_keep_z(layer, shape, readout, tensors):
    check(layer, shape, readout, tensors, EQUAL)


def test_tensors_of_fields_inside_are_read_where_weights_read_them():
    system = layer_system(["V"], GATE)
    assert [one.name for one in system.inside] == ["V^(u,u)", "V^(u,v)", "G^(u)"]
    over = {one.name: [part.over for part in one.parts] for one in system.inside}
    assert over["V^(u,u)"] == [((0, (0, 1)), (0, (2, 3)))]
    assert over["V^(u,v)"] == [((0, (0, 1)),)]
    assert system.names == ("G", "V")


@pytest.mark.parametrize("tensors", [["V_h_h"], ["V", "G_h"]])
def test_tensors_of_fields_inside_are_not_asked_for(tensors):
    module = loaded(kernel_for(["V"], layer=CHAIN, name="own"))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    given = {"C_b": 0.1, "C_U": 1.0, "C_W": 1.2}
    with pytest.raises(module.KernelInputError, match="are of fields inside the layer"):
        module.propagate(functions, overlaps(inputs(1, 3, 3)), 2, tensors=tensors, **given)
    with pytest.raises(module.KernelInputError, match="are not known"):
        module.propagate(functions, overlaps(inputs(1, 3, 3)), 2, tensors=7, **given)
    found = module.propagate(functions, overlaps(inputs(1, 3, 3)), 2, tensors="G", **given)
    assert [*found] == ["G"]


def test_a_file_stands_alone(tmp_path):
    text = text_that_stands_alone(tmp_path, BEHIND, {"C_b": 0.1, "C_U": 1.0, "C_W": 1.5})
    assert 'INSIDE = ("V_h_h", "G_h")\n' in text


@pytest.mark.slow
def test_text_does_not_depend_on_the_hash_seed():
    asked = f"kernel_for(['F', 'V'], layer={CHAIN!r})"
    program = f"from symdlt.kernels import kernel_for\nprint({asked})\n"
    assert len(printed_under_two_hash_seeds(program)) == 1


@pytest.mark.parametrize(
    ("name", "layer", "reason"),
    [
        ("V", "h = U[3, stride 2] z; z' = W s(h)", "a window inside that makes fewer positions"),
        ("V", "h = U[3, pool 2] z; z' = W s(h)", "a window inside that makes fewer positions"),
        ("V", "u = z + U[3] s(z); z' = b + W s(u)", "a window inside, of a field that keeps z"),
        ("V", "h = U[3] z; z' = z + W s(h) + P s(z)", "reads again what that window reads"),
        ("G.1", CHAIN, "G.1 of .* It has a window inside"),
        ("V", "u = U[3] z; z' = b + W s(u) + P z", "V of .* joins samples where they are"),
        slow(
            "V",
            "h = U[3] s(z); k = T[2] s(h); v = V z; z' = W s(k) v",
            "The weights U read positions of a window behind another one",
        ),
    ],
)
def test_what_has_no_kernel_is_refused(name, layer, reason):
    with pytest.raises(KernelError, match=reason):
        kernel_for([name], layer=layer)
