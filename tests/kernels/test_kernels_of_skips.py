"""Kernels of layers with a skip: values at all depths, text that stands alone, and refusals."""

from functools import cache

import numpy as np
import pytest
from cases import slow, swept
from kernel_reference import loaded, passes_its_doctests_alone, printed_under_two_hash_seeds

from symdlt import BOOK, Network, Stack, layer_equations, propagate
from symdlt.algebra import orthogonal
from symdlt.cli import main
from symdlt.definitions import read_layer_definition
from symdlt.derivation.response.symbolic.layer_systems import _derived, layer_system
from symdlt.derivation.response.symbolic.symbolic_layer import symbolic_layer
from symdlt.errors import KernelError
from symdlt.kernels import kernel_for, many_inputs, numpy_activation, single_input

RESIDUAL = "z' = xi z + b + W s(z)"
BLOCK = "h = U s(z); z' = xi z + W s(h)"
GATE = "u = U z; v = V z; z' = xi z + W s(u) v"
BARE = "z' = xi z + b + W s(z) + P z"
MIXED = "h = U (s(z) + 1/2 z); z' = xi z + W s(h)"
MIXTURE = "z' = xi z + b + W (s(z) + 1/2 z)"
TWO = "z' = xi z + b + W sigmoid(z) + P s(z)"
LINEAR = "z' = xi z + b + W z"
SLOPE = "z' = xi z + b + W s'(z)"
DEPTH, WIDTH, INNER = 4, 50, 20
DATA = np.array([[1.0, 0.5, -0.3], [0.2, -1.0, 0.4], [-0.6, 0.1, 0.9]])
SLOW = [slow(layer) for layer in (GATE, MIXTURE, SLOPE)]


def values_for(names, **given):
    """A number for each layer, none like another, but for those that are given."""
    rng = np.random.default_rng(7)
    drawn = {n: rng.uniform(0.3, 1.1, DEPTH).tolist() for n in sorted(names) if n[:2] != "r_"}
    return drawn | {name: value for name, value in given.items() if name in names}


def kernel_of(layer, inputs, tensors=BOOK, activation=None):
    return known_kernel(layer, inputs, tuple(tensors), activation)


@cache
def known_kernel(layer, inputs, tensors, activation):
    """Several tests ask one kernel for different things."""
    named = {"inputs": inputs, "activation": activation, "name": "own"}
    return loaded(kernel_for(tensors, layer=layer, **named))


def run(module, inputs, values, data=DATA, activation="tanh", **options):
    functions = numpy_activation(activation, module.DERIVATIVES).functions
    overlap = data @ data.T / data.shape[1]
    overlap = overlap if inputs == "many" else float(overlap[0, 0])
    ratios = {name: WIDTH / INNER for name in module.HYPERPARAMETERS if name[:2] == "r_"}
    return module.propagate(functions, overlap, DEPTH, **ratios | values, **options)


def network_of(layer, names, values, activation="tanh"):
    last = read_layer_definition(layer).streams[-1]
    sizes = {stream.name for stream in read_layer_definition(layer).streams[:-1]}
    first = " + ".join(f"{d.tensor.name} z" if d.function else d.tensor.name for d in last.drawn)
    inner = {name[2:]: INNER for name in names if name[2:] in sizes}
    layers = [f"z' = {first}", *[layer] * (DEPTH - 1)]
    return Network(activation, [WIDTH] * (DEPTH - 1), values, layers, n_L=WIDTH, inner=inner)


@cache
def theory(layer, names, tensors=tuple(BOOK), activation="tanh"):
    """Tensors of two inputs, which those of the first one alone are entries of."""
    network = network_of(layer, names, values_for(names), activation)
    return propagate(network, DATA[:2], list(tensors), tolerance=1e-12)


def agree(found, right, names, inputs, tolerance):
    for name in names:
        axes = BOOK[name].axes
        expected = right[name] if inputs == "many" else right[name][(slice(None), *[0] * axes)]
        assert found[name].shape == expected.shape
        for ours, theirs in zip(found[name], expected, strict=True):
            assert np.abs(ours - theirs).max() <= tolerance * np.abs(theirs).max(), name


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize("layer", [RESIDUAL, swept(BARE), slow(BLOCK), LINEAR, *SLOW, swept(TWO)])
def test_all_thirteen_tensors_are_those_of_propagate(layer, inputs):
    data = DATA[:2] if inputs == "many" else DATA[:1]
    module = kernel_of(layer, inputs)
    values = values_for(module.HYPERPARAMETERS)
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    found = run(module, inputs, values, data, **options)
    right = theory(layer, module.HYPERPARAMETERS)
    agree(found, right, BOOK, inputs, 1e-12)


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    "layer", [RESIDUAL, slow(BLOCK), slow(BARE), slow(GATE), swept(MIXTURE), swept(TWO)]
)
def test_corrections_of_the_kernel_and_the_ntk_are_those_of_propagate(layer, inputs):
    check_corrections(layer, inputs, ["G.1", "H.1"])


@pytest.mark.slow
def test_the_correction_of_the_kernel_where_a_function_has_a_linear_part():
    """H.1, whose states have some ten thousand terms here, takes minutes."""
    check_corrections(MIXED, "one", ["G.1"])


def check_corrections(layer, inputs, names, allowed=1e-12):
    data = DATA[:2] if inputs == "many" else DATA[:1]
    module = kernel_of(layer, inputs, names)
    values = values_for(module.HYPERPARAMETERS)
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    found = run(module, inputs, values, data, **options)
    right = theory(layer, module.HYPERPARAMETERS, tuple(names))
    for name in names:
        expected = right[name] if inputs == "many" else right[name][:, 0, 0]
        for ours, theirs in zip(found[name], expected, strict=True):
            assert np.abs(ours - theirs).max() <= allowed * np.abs(theirs).max(), name


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    "layer",
    [
        slow(Stack("h = U s(z); m = prune(1/3); z' = xi z + W m s(h)")),
        slow(Stack(RESIDUAL, laws={"W": orthogonal})),
    ],
)
def test_masks_of_one_draw_and_orthogonal_weights(layer, inputs):
    data, names = DATA[:2] if inputs == "many" else DATA[:1], ["V", "F", "B", "G.1", "H.1"]
    module = kernel_of(layer, inputs, names)
    values = values_for(module.HYPERPARAMETERS)
    square = {name: 1.0 for name in module.HYPERPARAMETERS if name == "r_W"}
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    found = run(module, inputs, values | square, data, **options)
    right = theory(layer, module.HYPERPARAMETERS, tuple(names))
    for name in names:
        for ours, theirs in zip(found[name], right[name], strict=True):
            expected = theirs if inputs == "many" else theirs.reshape(-1)[0]
            assert np.abs(ours - expected).max() <= 1e-11 * np.abs(expected).max(), name


@pytest.mark.parametrize("inputs", [slow("one"), swept("many")])
def test_each_tensor_alone_has_all_that_it_needs(inputs):
    whole = kernel_of(RESIDUAL, inputs, [*BOOK, "G.1", "H.1"])
    values = values_for(whole.HYPERPARAMETERS)
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    every = run(whole, inputs, values, DATA[:1], **options)
    for name in [*BOOK, "G.1", "H.1"]:
        found = run(kernel_of(RESIDUAL, inputs, [name]), inputs, values, DATA[:1], **options)
        assert found[name] == pytest.approx(every[name], rel=1e-7), name


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize("xi", [0.5**0.5, 1.0])
def test_three_inputs_and_one(inputs, xi):
    module = kernel_of(RESIDUAL, inputs, ["V", "B"])
    values = values_for(module.HYPERPARAMETERS, xi=xi)
    options = {"tolerance": 1e-12} if inputs == "many" else {}
    found = run(module, inputs, values, activation="sin", **options)
    right = propagate(
        network_of(RESIDUAL, module.HYPERPARAMETERS, values, "sin"),
        DATA,
        ["V", "B"],
        tolerance=1e-12,
    )
    agree(found, right, "VB", inputs, 1e-12)


@pytest.mark.parametrize(
    ("count", "xi"), [(1, 1.0), (2, 0.5**0.5), swept(1, 0.5**0.5), swept(2, 1.0)]
)
def test_a_kink(xi, count):
    names = [*"VABDF", "G.1"]
    module = kernel_of(RESIDUAL, "many", names, activation="relu")
    values, data = values_for(module.HYPERPARAMETERS, xi=xi), DATA[:count]
    overlap = data @ data.T / 3
    found = module.propagate(module.ACTIVATION, overlap, DEPTH, **values, tolerance=1e-12)
    right = propagate(
        network_of(RESIDUAL, module.HYPERPARAMETERS, values, "relu"), data, names, tolerance=1e-12
    )
    agree(found, right, "VABDF", "many", 1e-12)
    assert found["G.1"] == pytest.approx(right["G.1"], rel=1e-12)


@pytest.mark.parametrize("inputs", ["one", "many"])
def test_a_linear_residual_network_in_closed_form(inputs):
    """With C_W = 1 - xi^2 the kernel stays, and V/K^2 grows by 2(1 - xi^4) a layer."""
    xi = 0.8
    module = kernel_of(LINEAR, inputs, ["V"])
    values = {"C_b": 0.0, "C_W": [1.0] + [1 - xi**2] * (DEPTH - 1), "xi": xi}
    found = run(module, inputs, values, DATA[:1])
    K = found["G"].ravel()
    assert pytest.approx(np.full(DEPTH, K[0]), rel=1e-14) == K
    grown = 2 * (1 - xi**4) * np.arange(DEPTH)
    assert found["V"].ravel() / K**2 == pytest.approx(grown, rel=1e-13)


@pytest.mark.parametrize("inputs", ["one", "many"])
def test_the_second_layer_by_sums_at_equal_steps(inputs):
    module = kernel_of(RESIDUAL, inputs, ["V", "B"])
    values = values_for(module.HYPERPARAMETERS)
    found = run(module, inputs, values, DATA[:1])
    x = np.linspace(-12.0, 12.0, 2001)
    w = np.exp(-(x**2) / 2)
    w /= w.sum()
    K, H = (float(np.ravel(found[name][0])[0]) for name in "GH")
    z, (C, xi) = np.sqrt(K) * x, (values[name][1] for name in ("C_W", "xi"))
    s, d = np.tanh(z), 1 - np.tanh(z) ** 2
    V = C**2 * (s**4 @ w - (s**2 @ w) ** 2)
    V += 2 * xi**2 * C * ((z**2 * s**2) @ w - K * (s**2 @ w))
    B = (C**2 * (d**4 @ w) + 2 * xi**2 * C * (d**2 @ w)) * H**2
    assert np.ravel(found["V"][1])[0] == pytest.approx(V, rel=1e-9)
    assert np.ravel(found["B"][1])[0] == pytest.approx(B, rel=1e-9)


@pytest.mark.parametrize("inputs", ["one", "many"])
def test_without_the_skip_the_tensors_are_those_of_dense_layers(inputs):
    """The committed kernels, derived by Wick contraction, know of no depths."""
    module = kernel_of(RESIDUAL, inputs)
    values = values_for(module.HYPERPARAMETERS, xi=0.0)
    accurate = {"tolerance": 1e-12} if inputs == "many" else {}
    found = run(module, inputs, values, DATA[:2], **accurate)
    functions = numpy_activation("tanh", 5 if inputs == "many" else 3).functions
    overlap = DATA[:2] @ DATA[:2].T / 3
    dense, overlap = (
        (many_inputs, overlap) if inputs == "many" else (single_input, float(overlap[0, 0]))
    )
    options = {"tensors": list(BOOK), "tolerance": 1e-12} if inputs == "many" else {}
    del values["xi"]
    right = dense.propagate(functions, overlap, DEPTH, **values, **options)
    for name in BOOK:
        assert found[name] == pytest.approx(right[name], rel=1e-11, abs=1e-15), name


def test_some_tensors_at_some_samples():
    module = kernel_of(RESIDUAL, "many", ["V", "P"])
    values = values_for(module.HYPERPARAMETERS)
    data = np.vstack([DATA[:2], [0.9, 0.3, 0.2]])
    whole = run(module, "many", values, data, tolerance=1e-12)
    assert list(whole) == ["G", "H", "V", "P"]
    done, some = [], np.array([[0, 1, 1, 0]])
    plain = {name: value for name, value in values.items() if "lambda" not in name}
    part = run(
        module,
        "many",
        plain,
        data,
        tolerance=1e-12,
        tensors=["V"],
        samples=some,
        after_layer=done.append,
    )
    assert (list(part), done) == (["G", "V"], [*range(1, DEPTH + 1)])
    assert part["V"][:, 0, 1, 1, 0] == pytest.approx(whole["V"][:, 0, 1, 1, 0], rel=1e-11)
    assert np.isnan(part["V"][1:, 2]).all()


@pytest.mark.slow
def test_depths_that_hardly_depend_on_each_other():
    """Sixteen layers at the usual tolerance: by planes, and at chosen samples by fours."""
    depth, data = 16, np.random.default_rng(0).standard_normal((4, 8))
    module = kernel_of(RESIDUAL, "many", ["V"])
    values = {"C_b": 0.1, "C_W": 0.8, "lambda_b": 0.3, "lambda_W": 0.7, "xi": 0.7}
    layers = ["z' = b + W z", *[RESIDUAL] * (depth - 1)]
    network = Network("tanh", [WIDTH] * (depth - 1), values, layers, n_L=WIDTH)
    right = propagate(network, data, ["V"], tolerance=1e-11)["V"]
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    given = {"depth": depth, "overlap": data @ data.T / 8, "activation": functions, **values}
    whole, some = module.propagate(**given)["V"], [[1, 3, 2, 0], [0, 0, 1, 1]]
    assert np.abs(whole - right).max() < 1e-7
    part = module.propagate(**given, samples=np.array(some))["V"]
    for at in some:
        assert part[(slice(None), *at)] == pytest.approx(right[(slice(None), *at)], abs=1e-7)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("inputs", ["one", "many"])
def test_few_layers_are_the_first_of_many(inputs, depth):
    module = kernel_of(RESIDUAL, inputs, ["V"])
    values = values_for(module.HYPERPARAMETERS)
    long = run(module, inputs, values)
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    overlap = DATA @ DATA.T / 3 if inputs == "many" else float(DATA[0] @ DATA[0] / 3)
    short = {name: value[:depth] for name, value in values.items()}
    found = module.propagate(functions, overlap, depth, **short)
    assert found["V"] == pytest.approx(long["V"][:depth], rel=1e-12)


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"widths": [10, 20, 30]}, "keeps the neurons of the layer below"),
        ({"xi": [1.0, 1e90, 1e90, 1e90]}, "layer"),
        ({"C_W": -1.0}, "C_W is -1.0 at layer 1"),
    ],
)
def test_values_that_cannot_be_used(inputs, given, reason):
    module = kernel_of(RESIDUAL, inputs, ["V"])
    values = values_for(module.HYPERPARAMETERS) | given
    with pytest.raises(module.KernelInputError, match=reason):
        run(module, inputs, values)


def test_what_does_not_fit_into_memory_is_refused():
    one, many = (kernel_of(RESIDUAL, inputs, ["V"]) for inputs in ("one", "many"))
    values = {"C_b": 0.0, "C_W": 0.5, "xi": 1.0}
    functions = numpy_activation("tanh", one.DERIVATIVES).functions
    with pytest.raises(one.KernelInputError, match="all pairs of layers would take"):
        one.propagate(functions, 1.0, 10**5, **values)
    with pytest.raises(many.KernelInputError, match="all pairs of 400 layers would take"):
        many.propagate(functions, np.eye(30), 400, **values)


@pytest.mark.parametrize("inputs", ["one", "many"])
def test_a_file_stands_alone_and_says_how_it_was_made(tmp_path, inputs):
    made = kernel_for(["V"], layer=RESIDUAL, inputs=inputs, activation="sin", name="mine")
    overlap = "1.0" if inputs == "one" else "np.eye(2)"
    program = f"v = mine.propagate(mine.ACTIVATION, {overlap}, 4, C_b=0.0, C_W=1.0, xi=0.5)['V']\n"
    assert passes_its_doctests_alone(tmp_path, made.text, program) == "4 0.0 True"
    lines = made.text.splitlines()
    assert all(len(line) <= 100 for line in lines if "--layer" not in line)
    recipe = made.text[made.text.index("symdlt kernel G V") :].split("\n            (")[0]
    assert RESIDUAL.replace("'", "'\"'\"'") in recipe
    path = tmp_path / "mine.py"
    options = ["--inputs", inputs, "--activation", "sin", "--layer", RESIDUAL, "-o", str(path)]
    assert main(["kernel", "G", "V", *options]) == 0
    assert path.read_text(encoding="utf-8") == made.text


@pytest.mark.slow
def test_text_does_not_depend_on_the_hash_seed():
    program = (
        "from symdlt.kernels import kernel_for\n"
        f"print(kernel_for(['A', 'T'], layer={RESIDUAL!r}))\n"
        f"print(kernel_for(['A'], layer={MIXTURE!r}, inputs='one'))\n"
    )
    assert len(printed_under_two_hash_seeds(program)) == 1


def test_the_text_is_that_of_the_equations():
    text = kernel_for(["V"], layer=RESIDUAL, name="own").text
    for equation in layer_equations("V", RESIDUAL).equations:
        for line in str(equation).splitlines():
            assert f"    {line}\n" in text
    one = kernel_for(["F"], layer=RESIDUAL, inputs="one", name="own").text
    assert "    Y_z_13^m[l+1] =\n      + C_W <s s''> G^lm H^lm\n" in one
    assert "    H^lm[m+1] =\n      + xi H^lm\n" in one
    assert "    F =\n      + QF\n      + 2 Y_z_13\n" in one
    assert kernel_for(["V"], layer=RESIDUAL).tensors == ("G", "V")


def test_a_system_is_closed():
    """Every state that is read has an equation, of which there are Q and Y with their edges."""
    depths = layer_system(["T", "H.1"], RESIDUAL).depths
    names = [one.name for one in depths.states]
    assert len(names) == len({*names})
    for one in depths.states:
        read = {name for name in one.needs if name[0] == "Q"} | one.noises
        assert read <= {*names}, one.name
    assert [one.name for one in depths.kept] == ["G^lm", "H^lm"]


@pytest.mark.parametrize("layer", [RESIDUAL, BLOCK, "z' = z + W s(U rmsnorm(z))"])
def test_a_system_does_not_depend_on_what_was_derived_before(layer):
    systems = []
    for before in ([], ["S", "U"]):
        symbolic_layer.cache_clear()
        if before:
            layer_system(before, layer)
        systems.append(_derived.__wrapped__(("G", "V", "B"), read_layer_definition(layer), "one"))
    fresh, later = systems
    assert fresh == later


def test_edges_of_noise_end_at_its_legs():
    """What no edge reaches has no derivative along it."""
    for name in BOOK:
        for equation in layer_equations(name, RESIDUAL).equations:
            for symbol in {s for monomial, _ in equation.polynomial.terms for s, _ in monomial}:
                if symbol.startswith("Y_") and ";" in symbol:
                    legs, _, edges = symbol.partition(";")
                    ends = {end for end in edges if end.isdigit()}
                    assert ends <= {leg for leg in legs if leg.isdigit()}, symbol


@pytest.mark.parametrize(
    ("tensors", "layer", "options", "error", "reason"),
    [
        (["V.1"], RESIDUAL, {}, KernelError, "no kernel file for many inputs"),
        (["H.1"], RESIDUAL, {"activation": "relu"}, KernelError, "H.1 of relu cannot be had"),
        (["V"], "z' = xi z + W (s(z) + a z)", {}, KernelError, "may be others at each depth"),
        (["V"], "u = 1/2 z; z' = z + W s(u)", {}, KernelError, "fields that keep z"),
        (["V"], "u = U z; v = u + V z; z' = z + W s(u) s(v)", {}, KernelError, "join the fields"),
        (["V"], RESIDUAL, {"target": "jax"}, KernelError, 'or the target "numpy"'),
        (["R"], RESIDUAL, {"activation": "relu"}, KernelError, "R of relu cannot be had"),
        (["V"], MIXTURE, {"activation": "relu"}, KernelError, "odd number of functions"),
        (["V"], RESIDUAL, {"activation": "relu", "inputs": "one"}, KernelError, "take smooth"),
        (["V"], "z' = sums z + W s(z)", {}, KernelError, "The symbol sums"),
        (["G"], "z' = z", {}, KernelError, "no weights in its last statement"),
        (["V"], "h = U s(z); z' = h + b", {}, KernelError, "no weights in its last statement"),
    ],
)
def test_what_has_no_kernel_is_refused(tensors, layer, options, error, reason):
    with pytest.raises(error, match=reason):
        kernel_for(tensors, layer=layer, **options)
