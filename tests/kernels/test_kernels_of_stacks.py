"""Kernels of layers of several streams: values, text that stands alone, and refusals."""

import sys
from functools import cache

import numpy as np
import pytest
from cases import slow, swept
from kernel_reference import loaded, passes_its_doctests_alone, printed_under_two_hash_seeds

from symdlt import BOOK, Network, Stack, derive, propagate
from symdlt.algebra import orthogonal, uniform
from symdlt.cli import main
from symdlt.definitions import read_layer_definition, tensor
from symdlt.derivation import derive_system
from symdlt.derivation.response.symbolic.layer_systems import layer_system
from symdlt.errors import KernelError, LayerError, UnknownTensorError
from symdlt.kernels import generate_kernel, kernel_for, many_inputs, numpy_activation, single_input

GATE = "u = U z; v = V z; z' = b + W s(u) v"
SWIGLU = "u = U z; v = V z; z' = b + W sigmoid(u) s(v)"
BLOCK = "h = U s(z); z' = b + W s(h)"
MIXTURE = "h = U z; z' = b + W (s(h) + 1/2 h)"
RESIDUAL = "h = U z; z' = xi z + b + W s(h)"
BARE = "z' = b + W s(z) + P z"
JOINED = "z' = b + W (s(z) + xi sigmoid(z)) + P sin(z)"
BILINEAR = "u = U z; v = V z; z' = b + W u v"
DEPTH, WIDTHS, OUTPUTS, INNER = 4, [40, 30, 60], 50, [25, 35, 45]
DATA = np.array([[1.0, 0.5, -0.3], [0.2, -1.0, 0.4], [-0.6, 0.1, 0.9]])


def values_for(names):
    """A number for each layer, none like another."""
    rng = np.random.default_rng(7)
    return {name: rng.uniform(0.3, 1.1, DEPTH).tolist() for name in names if name[:2] != "r_"}


@cache
def kernel_of(tensors, layer, inputs):
    return loaded(kernel_for(tensors, layer=layer, inputs=inputs, name="own"))


def network_of(layer, names, activation="tanh", widths=(*WIDTHS, OUTPUTS)):
    """The network of a kernel with such hyperparameters."""
    last = read_layer_definition(layer).streams[-1]
    first = " + ".join(f"{d.tensor.name} z" if d.function else d.tensor.name for d in last.drawn)
    return Network(
        activation,
        widths[:-1],
        values_for(names),
        [f"z' = {first}", *[layer] * (DEPTH - 1)],
        n_L=widths[-1],
        inner={name[2:]: [1, *INNER] for name in names if name[:2] == "r_"},
    )


@cache
def theory(layer, names, tensors=tuple(BOOK)):
    """Tensors of the data, all thirteen if none are named, field by field."""
    return propagate(network_of(layer, names), DATA, list(tensors), tolerance=1e-12)


def run(
    layer, inputs, tensors=BOOK, data=DATA, activation="tanh", widths=(*WIDTHS, OUTPUTS), **options
):
    """A kernel and what it gives, and the network that it is of."""
    module = kernel_of(tuple(tensors), layer, inputs)
    names, hidden = module.HYPERPARAMETERS, widths[:-1]
    ratios = [1.0, *(n / inner for n, inner in zip(hidden, INNER, strict=True))]
    inner = {name: ratios for name in names if name[:2] == "r_"}
    functions = numpy_activation(activation, module.DERIVATIVES).functions
    functions = getattr(module, "ACTIVATION", functions)
    overlap = data @ data.T / data.shape[1]
    overlap = overlap if inputs == "many" else float(overlap[0, 0])
    given = {**values_for(names), **inner, **options}
    found = module.propagate(functions, overlap, DEPTH, widths=hidden, **given)
    return found, network_of(layer, names, activation, widths), module


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    "layer",
    [
        *map(slow, [GATE, BLOCK, JOINED]),
        *map(swept, [MIXTURE, BARE, BILINEAR, SWIGLU]),
        "z' = b + W s'(z)",
    ],
)
def test_all_thirteen_tensors_are_those_of_propagate(layer, inputs):
    data = DATA if inputs == "many" else DATA[:1]
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    found, _, module = run(layer, inputs, data=data, **options)
    right = theory(layer, tuple(module.HYPERPARAMETERS))
    for name in BOOK:
        # of one input the entries of several, which `propagate` has a digit or two better
        axes = BOOK[name].axes
        expected = right[name] if inputs == "many" else right[name][(slice(None), *[0] * axes)]
        for ours, theirs in zip(found[name], expected, strict=True):
            assert np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max(), name


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize("layer", [BLOCK, *map(slow, [GATE, BARE]), *map(swept, [SWIGLU, MIXTURE])])
def test_corrections_of_the_kernel_and_the_ntk_are_those_of_propagate(layer, inputs):
    data, names = DATA if inputs == "many" else DATA[:1], ("G.1", "H.1")
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    found, _, module = run(layer, inputs, names, data, **options)
    right = theory(layer, tuple(module.HYPERPARAMETERS), names)
    for name in names:
        expected = right[name] if inputs == "many" else right[name][:, 0, 0]
        for ours, theirs in zip(found[name], expected, strict=True):
            assert np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max(), name
    assert "a piece X.j" in module.__doc__.replace("\n", " ")


def test_the_correction_of_a_dense_layer_is_that_of_contractions():
    """Term by term, from two ways to derive it."""
    for name in ("G.1", "H.1"):
        system = layer_system([name], "z' = b + W s(z)")
        (equation,) = (one for one in system.equations if one.name == name)
        assert {*equation.text[1:]} == {*str(derive(name)).splitlines()[1:]}


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    "layer",
    [
        slow(Stack("m = prune(1/3); h = U m s(z); z' = b + W s(h)")),
        Stack(BARE, laws={"W": orthogonal}),
        swept(Stack(BLOCK, laws={"U": orthogonal})),
    ],
)
def test_masks_of_one_draw_and_orthogonal_weights(layer, inputs):
    data = DATA if inputs == "many" else DATA[:1]
    names = ["V", "D", "F", "G.1", "H.1"]
    module = loaded(kernel_for(names, layer=layer, inputs=inputs, name="own"))
    values = values_for(module.HYPERPARAMETERS)
    given = {"r_h": [1.0, 2.0, 1.5, 1.2], "r_W": [1.0, 1.0, 0.5, 1.0], "r_U": [1.0, 1.0, 1.0, 0.8]}
    given = {name: value for name, value in given.items() if name in module.HYPERPARAMETERS}
    widths, outputs = [40, 30, 60], 50
    inner = {"h": [1, *(round(n / r) for n, r in zip(widths, [2.0, 1.5, 1.2], strict=True))]}
    if "U" in (layer.laws or {}):
        below = [n / max(n, h) for n, h in zip(widths, inner["h"][1:], strict=True)]
        given["r_U"] = [1.0, *below]
    if "W" in (layer.laws or {}):
        given["r_W"] = [1.0, *(n / max(n, m) for n, m in zip(widths, [30, 60, 50], strict=True))]
    exact = {"tolerance": 1e-12} if inputs == "many" else {}
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    overlap = data @ data.T / data.shape[1]
    overlap = overlap if inputs == "many" else float(overlap[0, 0])
    found = module.propagate(functions, overlap, DEPTH, widths=widths, **values, **given, **exact)
    first = " + ".join(f"{d.tensor.name} z" if d.function else "b" for d in layer.streams[-1].drawn)
    layers = [f"z' = {first}", *[layer] * (DEPTH - 1)]
    sizes = {"h": inner["h"]} if "h =" in str(layer) else {}
    network = Network("tanh", widths, values, layers, n_L=outputs, inner=sizes)
    right = propagate(network, DATA, names, tolerance=1e-12)
    for name in names:
        axes = right[name].ndim - 1
        expected = right[name] if inputs == "many" else right[name][(slice(None), *[0] * axes)]
        for ours, theirs in zip(found[name], expected, strict=True):
            assert np.abs(ours - theirs).max() <= 1e-11 * np.abs(theirs).max(), name


@pytest.mark.slow
@pytest.mark.parametrize("inputs", ["one", "many"])
def test_a_block_of_two_weights_is_two_dense_layers(inputs):
    """The committed kernels, derived by Wick contraction, know of no fields inside a layer."""
    data = DATA if inputs == "many" else DATA[:1]
    found, _, module = run(BLOCK, inputs, data=data)
    values = values_for(module.HYPERPARAMETERS)
    twice = {
        f"{kind}_{letter}": [
            values[f"{kind}_{own}"][layer] if own else 0.0
            for layer in range(DEPTH)
            for own in ([inside] if layer else []) + [letter]
        ]
        for kind in ("C", "lambda")
        for letter, inside in (("b", ""), ("W", "U"))
    }
    widths = [WIDTHS[0]]
    for inner, width in zip(INNER, [*WIDTHS[1:], OUTPUTS], strict=True):
        widths += [inner, width]
    functions = numpy_activation("tanh", 5 if inputs == "many" else 3).functions
    overlap = data @ data.T / data.shape[1]
    dense, overlap = (
        (many_inputs, overlap) if inputs == "many" else (single_input, float(overlap[0, 0]))
    )
    options = {"tensors": list(BOOK)} if inputs == "many" else {}
    right = dense.propagate(
        functions, overlap, 2 * DEPTH - 1, widths=widths[:-1], **twice, **options
    )
    for name in BOOK:
        # a tensor is without the factor 1/n of the layer below, which is the field inside here
        below = np.array([1.0, *(a / b for a, b in zip(WIDTHS, INNER, strict=True))])
        scale = below if BOOK[name].pairs == 2 else np.ones(DEPTH)
        for layer in range(DEPTH):
            theirs = right[name][2 * layer] * scale[layer]
            ours = found[name][layer]
            assert np.abs(ours - theirs).max() <= 1e-11 * np.abs(theirs).max() + 1e-300, name


LATER = ["G.1", "H.1", "V.1", "X6", "X6_02_14", "G.2"]


@pytest.mark.parametrize("later", [["G.1", "H.1", "V.1", "X6"], slow([*LATER, "B.1", "F.1"])])
def test_the_next_order_of_a_block_is_that_of_two_dense_layers(later):
    """The dense kernel is generated from recursions that know of no fields inside a layer."""
    names = ["G", "H", "V", *later]
    found, _, module = run(BLOCK, "one", later, data=DATA[:1])
    values = values_for(module.HYPERPARAMETERS)
    dense = loaded(kernel_for(later, inputs="one", name="dense"))
    twice = {
        f"{kind}_{letter}": [
            values[f"{kind}_{own}"][layer] if own else 0.0
            for layer in range(DEPTH)
            for own in ([inside] if layer else []) + [letter]
        ]
        for kind in ("C", "lambda")
        for letter, inside in (("b", ""), ("W", "U"))
    }
    widths = [WIDTHS[0]]
    for inner, width in zip(INNER, [*WIDTHS[1:], OUTPUTS], strict=True):
        widths += [inner, width]
    functions = numpy_activation("tanh", dense.DERIVATIVES).functions
    overlap = float((DATA @ DATA.T / DATA.shape[1])[0, 0])
    right = dense.propagate(functions, overlap, 2 * DEPTH - 1, widths=widths[:-1], **twice)
    below = np.array([1.0, *(a / b for a, b in zip(WIDTHS, INNER, strict=True))])
    for name in names:
        correlator, piece = tensor(name.partition(".")[0]), int(name.partition(".")[2] or 0)
        scale = below ** (correlator.pairs - 1 + piece)
        assert found[name] == pytest.approx(right[name][::2] * scale, rel=1e-9), name


def test_a_residual_block_that_reads_z_itself():
    """All thirteen, by recursions of the last layer alone, where `propagate` goes by depths."""
    names = [*BOOK, "G.1", "H.1"]
    found, network, _ = run(RESIDUAL, "one", names, data=DATA[:1], widths=[40] * DEPTH)
    right = propagate(network, DATA[:1], names, tolerance=1e-12)
    for name in names:
        axes = tensor(name.partition(".")[0]).axes
        expected = right[name][(slice(None), *[0] * axes)]
        assert found[name] == pytest.approx(expected, rel=1e-9), name


def test_kernels_alone_of_products_without_functions():
    found, network, _ = run(BILINEAR, "many", ["G", "H"])
    right = propagate(network, DATA, ["G", "H"])
    for name in "GH":
        assert found[name] == pytest.approx(right[name], rel=1e-12)


def test_the_ntk_of_a_gate_by_hand():
    """K and Θ of one input, by sums at equal steps."""
    module = kernel_of(("H",), GATE, "one")
    v = values_for(module.HYPERPARAMETERS)
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    found = module.propagate(functions, 0.7, DEPTH, **v)
    x = np.linspace(-12.0, 12.0, 2001)
    w = np.exp(-(x**2) / 2)
    w /= w.sum()
    G, H = v["C_b"][0] + v["C_W"][0] * 0.7, v["lambda_b"][0] + v["lambda_W"][0] * 0.7
    for layer in range(1, DEPTH):
        C_U, C_V, C_W, C_b = (v[f"C_{name}"][layer] for name in "UVWb")
        l_U, l_V, l_W, l_b = (v[f"lambda_{name}"][layer] for name in "UVWb")
        u = np.sqrt(C_U * G) * x
        ss, dd = np.tanh(u) ** 2 @ w, (1 - np.tanh(u) ** 2) ** 2 @ w
        theta_u, theta_v = l_U * G + C_U * H, l_V * G + C_V * H
        H = l_b + l_W * ss * C_V * G + C_W * (dd * theta_u * C_V * G + ss * theta_v)
        G = C_b + C_W * ss * C_V * G
        assert found["G"][layer] == pytest.approx(G, rel=1e-13)
        assert found["H"][layer] == pytest.approx(H, rel=1e-13)


@pytest.mark.parametrize("layer", [GATE, MIXTURE, JOINED])
def test_some_samples(layer):
    data = np.vstack([DATA, [0.9, 0.3, 0.2]])
    some = np.array([[0, 1, 2, 1]])
    whole, *_ = run(layer, "many", ["V"], data, tolerance=1e-12)
    part, *_ = run(layer, "many", ["V"], data, tolerance=1e-12, samples=some)
    assert part["V"][:, 0, 1, 2, 1] == pytest.approx(whole["V"][:, 0, 1, 2, 1], rel=1e-11)
    assert np.isnan(part["V"][1:, 3]).all()


def test_inner_widths_are_those_below_unless_told():
    module = kernel_of(("V",), GATE, "one")
    v = values_for(module.HYPERPARAMETERS)
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    plain, told = (
        module.propagate(functions, 0.7, DEPTH, **v, **ratio)["V"] for ratio in ({}, {"r_u": 1.0})
    )
    assert np.array_equal(plain, told)
    wide = module.propagate(functions, 0.7, DEPTH, r_u=0.5, **v)["V"]
    assert (wide[1:] < plain[1:]).all()


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"r_u": -1.0}, "r_u is -1.0 at layer 1. Variances and ratios of widths must be"),
        ({"r_u": [1.0, 1.0, -1e-9, 1.0]}, "r_u is -1e-09 at layer 3"),
        ({"C_V": 1e200}, "layer 1|layer 2"),  # its square is no double
    ],
)
def test_values_that_cannot_be_used(inputs, values, reason):
    module = kernel_of(("V",), GATE, inputs)
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    overlap = np.eye(2) if inputs == "many" else 1.0
    values = values_for(module.HYPERPARAMETERS) | values
    with pytest.raises(module.KernelInputError, match=reason):
        module.propagate(functions, overlap, DEPTH, **values)


def test_the_activation_may_be_brought_along_or_named_in_the_layer():
    given, *_ = run(BLOCK, "many", ["V"])
    ratios = {"r_h": [1.0, *(n / inner for n, inner in zip(WIDTHS, INNER, strict=True))]}
    values = values_for(("C_U", "C_b", "C_W", "lambda_U", "lambda_b", "lambda_W")) | ratios
    for layer, activation in (
        (BLOCK, "tanh"),
        ("h = U tanh(z); z' = b + W tanh(h)", None),
    ):
        module = loaded(kernel_for(["V"], layer=layer, activation=activation, name="own"))
        overlap = DATA @ DATA.T / 3
        found = module.propagate(module.ACTIVATION, overlap, DEPTH, widths=WIDTHS, **values)
        assert found["V"] == pytest.approx(given["V"], rel=1e-9)


def test_a_kink():
    layer, names = "u = U z; v = V z; z' = b + W relu(u) v", ["V", "B", "G.1", "H.1"]
    found, network, _ = run(layer, "many", names, tolerance=1e-12)
    right = propagate(network, DATA, names, tolerance=1e-12)
    for name in names:
        assert found[name] == pytest.approx(right[name], rel=1e-10)
    with pytest.raises(KernelError, match="R of relu cannot be had"):
        kernel_for(["R"], layer=layer)
    with pytest.raises(KernelError, match="for one input take smooth"):
        kernel_for(["V"], layer=layer, inputs="one")
    with pytest.raises(KernelError, match="odd number of functions"):
        kernel_for(["V"], layer=MIXTURE, activation="relu")


@pytest.mark.parametrize(
    "layer", [SWIGLU, swept(JOINED), slow("z' = b + W dropout(0.1) s(layernorm(z))")]
)
@pytest.mark.parametrize("inputs", ["one", "many"])
def test_a_file_stands_alone(tmp_path, inputs, layer):
    text = kernel_for(["V"], layer=layer, inputs=inputs, name="mine").text
    overlap = "1.0" if inputs == "one" else "np.eye(2)"
    program = (
        "s = 2 * [np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z)]\n"
        "given = {n: 1.0 for n in mine.HYPERPARAMETERS}\n"
        f"v = mine.propagate(s[:mine.DERIVATIVES + 1], {overlap}, 3, **given)['V']\n"
    )
    assert passes_its_doctests_alone(tmp_path, text, program) == "3 0.0 True"
    lines = text.splitlines()
    assert all(len(line) <= 100 for line in lines if "--layer" not in line)
    imported = {
        line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))
    }
    assert imported - set(sys.stdlib_module_names) == {"numpy"}


@pytest.mark.slow
def test_text_does_not_depend_on_the_hash_seed():
    """D and P go through all the code that the longest of all, A, goes through."""
    program = (
        "from symdlt.kernels import kernel_for\n"
        f"print(kernel_for(['D', 'P'], layer={SWIGLU!r}))\n"
        f"print(kernel_for(['D', 'P'], layer={MIXTURE!r}, inputs='one'))\n"
    )
    assert len(printed_under_two_hash_seeds(program)) == 1


def test_the_text_is_that_of_the_equations():
    text = kernel_for(["H"], layer=GATE, name="own").text
    assert f"Layer:      {GATE}\n" in text
    assert "      + C_V C_W <s(u)_1 s(u)_2> H_12\n" in text
    assert "lambda_U: learning rate of the weights U times the width below" in text
    assert "    <u_1 u_2> =\n      + C_U G_12\n" in text
    joined = kernel_for(["H"], layer=JOINED, inputs="one", name="own").text
    assert "<s' sigmoid'>" in joined.partition("def means_z")[2].partition("s0, s1")[0]
    one = kernel_for(["H"], layer=GATE, inputs="one", name="own").text
    assert "      + C_V C_W <s(u) s(u)> H\n" in one
    system = layer_system(["F"], GATE)
    assert (system.names, len(system)) == (("G", "H", "F"), 3)


def test_symmetric_laws_enter_by_their_variance():
    drawn = Stack(GATE, laws={"W": uniform})
    one, other = (kernel_for(["V"], layer=layer, name="own") for layer in (GATE, drawn))
    assert one.text.partition('"""\n\nfrom')[2] == other.text.partition('"""\n\nfrom')[2]


@pytest.mark.parametrize(
    ("tensors", "layer", "options", "error", "reason"),
    [
        (["G.1"], Stack(GATE, laws={"W": uniform}), {}, KernelError, "Fourth cumulants"),
        (["V.1"], BLOCK, {}, KernelError, "V.1 of .* no kernel file for many inputs"),
        (["X6"], BLOCK, {}, KernelError, "have kernels for one input"),
        (["V.1"], BARE, {"inputs": "one"}, KernelError, "Of layers of several streams"),
        (
            ["V.1"],
            Stack(BLOCK, laws={"U": uniform}),
            {"inputs": "one"},
            LayerError,
            "the fourth cumulants of U",
        ),
        (["none"], BLOCK, {}, UnknownTensorError, "There is no tensor"),
        (["V.1"], "h = U s(z); z' = W s(rmsnorm(h))", {"inputs": "one"}, LayerError, "a norm"),
        (["V"], "z' = b + W (s(z) + relu(z))", {}, KernelError, "joins it with another function"),
        (["V"], "u = U z; v = u + V z; z' = W s(u) s(v)", {}, KernelError, "join the fields u, v"),
        (["V"], "u = U z; z' = W tanh(u)", {"activation": "tanh"}, KernelError, "reads no s"),
        (["V"], BLOCK, {"target": "jax"}, KernelError, 'or the target "numpy"'),
        (["V"], "u = U z; z' = means W s(u)", {}, KernelError, "The symbol means"),
    ],
)
def test_what_has_no_kernel_is_refused(tensors, layer, options, error, reason):
    with pytest.raises(error, match=reason):
        kernel_for(tensors, layer=layer, **options)


def test_recursions_of_such_a_layer_are_no_system_for_a_kernel():
    with pytest.raises(LayerError, match="needs means of what P z reads"):
        generate_kernel(derive_system(["V"], layer=BARE), name="own")


def test_kernel_and_ntk_of_a_skip_are_there():
    found = kernel_for(["H"], layer="h = U s(z); z' = z + W s(h)", name="own")
    assert found.tensors == ("G", "H")


def test_command(tmp_path, capsys):
    path = tmp_path / "gate.py"
    assert main(["kernel", "V", "--layer", GATE, "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == kernel_for(["V"], layer=GATE, name="gate").text
    assert main(["kernel", "G.2", "--layer", GATE]) == 1
    assert "have kernels for one input" in capsys.readouterr().err
