"""Kernels of other layers than the dense one: parameters by the layer's symbols, and refusals."""

import numpy as np
import pytest
from kernel_reference import loaded

from symdlt.algebra import activation as activation_head
from symdlt.algebra import gaussian, neurons, preactivations, sample, symbol, weights
from symdlt.cli import main
from symdlt.definitions import BOOK, Layer
from symdlt.derivation import RecursionSystem, derive, derive_system
from symdlt.errors import KernelError, LayerError, SymdltError
from symdlt.kernels import generate_kernel, kernel_for

HALF = "z' = b + 1/2 W s(z)"
TWO = "z' = b + 1/2 W s(z) + U s(z)"
GIVEN = {
    "C_b": [0.3, 0.1, 0.25],
    "C_U": [0.4, 0.7, 0.2],
    "C_W": [1.1, 1.6, 2.9],
    "lambda_b": [0.6, 0.35, 0.15],
    "lambda_U": [0.3, 0.2, 0.9],
    "lambda_W": [0.5, 0.8, 1.2],
}
WIDTHS = (40.0, 90.0)
SINE = 2 * [np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z)]


def given_for(layer):
    return {name: value for name, value in GIVEN.items() if "U" in layer or "U" not in name}


def sums(layer, letter):
    """What W/2 and U together have: W brings a quarter of its own."""
    return np.array(GIVEN[f"{letter}_W"]) / 4 + np.array(GIVEN[f"{letter}_U"]) * ("U" in layer)


@pytest.mark.parametrize("layer", [HALF, TWO])
def test_one_input_against_direct_iteration(layer):
    """K, Θ and V by Gauss-Hermite sums and the recursions of the book in C = C_W/4 + C_U."""
    module = loaded(kernel_for(["H", "V"], inputs="one", layer=layer, name="own"))
    assert set(module.HYPERPARAMETERS) == set(given_for(layer))
    functions = SINE[: module.DERIVATIVES + 1]
    result = module.propagate(functions, 0.7, 3, widths=WIDTHS, **given_for(layer))
    x, w = np.polynomial.hermite_e.hermegauss(80)
    w /= w.sum()
    C, rate = sums(layer, "C"), sums(layer, "lambda")
    G, H, V = GIVEN["C_b"][0] + C[0] * 0.7, GIVEN["lambda_b"][0] + rate[0] * 0.7, 0.0
    for at in range(3):
        for name, value in zip("GHV", (G, H, V), strict=True):
            assert result[name][at] == pytest.approx(value, rel=1e-12)
        if at == 2:
            break
        z = np.sqrt(G) * x
        s, c, r = np.sin(z), np.cos(z), WIDTHS[at] / WIDTHS[at - 1] if at else 1.0
        slope = C[at + 1] * (c * c - s * s) @ w  # half of <(σσ)''>
        V = C[at + 1] ** 2 * (s**4 @ w - (s**2 @ w) ** 2) + r * slope**2 * V
        H = GIVEN["lambda_b"][at + 1] + rate[at + 1] * s**2 @ w + C[at + 1] * c**2 @ w * H
        G = GIVEN["C_b"][at + 1] + C[at + 1] * s**2 @ w


def test_many_inputs_against_direct_iteration():
    """K, Θ at three layers and V at the second, by sums over two Gaussians."""
    module = loaded(kernel_for(["H", "V"], layer=TWO, name="own"))
    x = np.array([[1.0, 0.5], [0.2, -1.0]])
    overlap = x @ x.T / 2
    result = module.propagate(SINE, overlap, 3, widths=WIDTHS, tolerance=1e-10, **GIVEN)
    nodes, w = np.polynomial.hermite_e.hermegauss(60)
    weights_of_two = np.outer(w, w) / w.sum() ** 2
    C, rate = sums(TWO, "C"), sums(TWO, "lambda")
    G, H = GIVEN["C_b"][0] + C[0] * overlap, GIVEN["lambda_b"][0] + rate[0] * overlap
    for at in range(3):
        assert result["G"][at] == pytest.approx(G, rel=1e-12)
        assert result["H"][at] == pytest.approx(H, rel=1e-12)
        root = np.linalg.cholesky(G)
        z = np.einsum("ij,jab->iab", root, np.array(np.meshgrid(nodes, nodes, indexing="ij")))
        s, c = np.sin(z), np.cos(z)
        ss, cc = (np.einsum("iab,jab,ab->ij", f, f, weights_of_two) for f in (s, c))
        if at == 0:
            four = np.einsum("iab,jab,kab,lab,ab->ijkl", s, s, s, s, weights_of_two)
            V = C[1] ** 2 * (four - np.einsum("ij,kl->ijkl", ss, ss))
            assert result["V"][1] == pytest.approx(V, abs=1e-9)
        if at < 2:
            H = GIVEN["lambda_b"][at + 1] + rate[at + 1] * ss + C[at + 1] * cc * H
            G = GIVEN["C_b"][at + 1] + C[at + 1] * ss


@pytest.mark.parametrize("inputs", ["one", "many"])
def test_two_weights_are_one_whose_variances_and_rates_are_their_sums(inputs):
    """W/2 + U is Gaussian with C = C_W/4 + C_U, and its NTK has λ = λ_W/4 + λ_U."""
    ours, dense = (
        loaded(kernel_for(BOOK, inputs=inputs, layer=layer, name="own"))
        for layer in (TWO, "z' = b + W s(z)")
    )
    overlap = 0.7 if inputs == "one" else np.array([[0.7, 0.2], [0.2, 0.5]])
    sine = (2 * SINE)[: ours.DERIVATIVES + 1]
    result = ours.propagate(sine, overlap, 3, widths=WIDTHS, **GIVEN)
    merged = {"C_W": sums(TWO, "C"), "lambda_W": sums(TWO, "lambda")}
    merged |= {name: GIVEN[name] for name in ("C_b", "lambda_b")}
    expected = dense.propagate(sine, overlap, 3, widths=WIDTHS, **merged)
    assert set(result) == set(BOOK)
    for name in BOOK:
        assert result[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name


def written_out(law, rate):
    """The dense layer without biases, in the index language."""
    (i,), (j,), d = neurons("i", "n_{ℓ+1}"), neurons("j", "n_ℓ"), sample("δ")
    s = activation_head("σ", preactivations("ℓ"))
    return Layer((weights("ℓ+1", law=law)(i, j) * s(j, d)).sum(j), rates={"W": rate})


def test_symbols_of_ones_own_are_the_parameters():
    n = symbol("n_ℓ")
    layer = written_out(gaussian(symbol("v") / n), symbol("η") / n)
    source = kernel_for(["H"], inputs="one", layer=layer, name="own")
    module = loaded(source)
    assert module.HYPERPARAMETERS == ("v", "eta")
    assert module.VARIANCES == ("v",)
    assert "v: variance of the weights times the width below, a number" in source.text
    assert "symdlt.kernels.generate_kernel" in source.text
    result = module.propagate(SINE[: module.DERIVATIVES + 1], 0.5, 2, v=2.0, eta=3.0)
    assert result["G"] == pytest.approx([1.0, 2.0 * (1 - np.exp(-2.0)) / 2], rel=1e-13)
    with pytest.raises(ValueError, match=r"v is -1\.0 at layer 1\. Variances"):
        module.propagate(SINE[: module.DERIVATIVES + 1], 0.5, 2, v=-1.0)


def test_a_symbol_may_be_shared_by_biases_and_weights():
    """One learning rate for all parameters; H by hand at two layers of a linear function."""
    n = symbol("n_ℓ")
    layer = Layer(Layer("z' = b + W s(z)").expression, {"b": symbol("η"), "W": symbol("η") / n})
    source = kernel_for(["H"], inputs="one", layer=layer)
    text = "eta: learning rate of the biases and of the weights times the width below."
    assert text in source.text
    module = loaded(source)
    assert module.HYPERPARAMETERS == ("C_b", "C_W", "eta")
    linear = [lambda z: z, np.ones_like, np.zeros_like][: module.DERIVATIVES + 1]
    found = module.propagate(linear, 0.5, 2, C_b=0.25, C_W=2.0, eta=3.0)
    assert found["H"] == pytest.approx([3.0 * 1.5, 3.0 * (1 + 1.25) + 2.0 * 4.5], rel=1e-13)


def test_a_constant_may_be_negative_and_must_be_given():
    module = loaded(kernel_for(["G"], inputs="one", layer="z' = a W s(z)", name="own"))
    sine = SINE[: module.DERIVATIVES + 1]
    up, down = (module.propagate(sine, 0.5, 3, C_W=1.5, a=a)["G"] for a in (0.8, -0.8))
    assert np.array_equal(up, down)
    with pytest.raises(TypeError, match="'a'"):
        module.propagate(sine, 0.5, 3, C_W=1.5)


@pytest.mark.parametrize("inputs", ["one", "many"])
@pytest.mark.parametrize(
    ("layer", "error", "reason"),
    [
        ("z' = xi z + b + W (s(z) + a z)", KernelError, "may be others at each depth"),
        ("z' = b", LayerError, "reads nothing of the layer below"),
        ("z' = r W s(z)", KernelError, "The symbol r of the layer"),
        ("z' = lambda W s(z)", KernelError, "The symbol lambda of the layer"),
        ("z' = means W s(z)", KernelError, "The symbol means of the layer"),
    ],
)
def test_what_a_kernel_cannot_do_is_refused_with_the_reason(layer, error, reason, inputs):
    if "means" in layer and inputs == "one":
        layer, reason = layer.replace("means", "overlap"), reason.replace("means", "overlap")
    with pytest.raises(error, match=reason):
        kernel_for(["V"], inputs=inputs, layer=layer)


def test_recursions_of_one_depth_or_of_several_layers_are_no_kernel():
    at_two = tuple(derive(name, layer="z' = W s(z)", at=2) for name in ("G", "V"))
    with pytest.raises(KernelError, match="holds for layer 2 alone"):
        generate_kernel(RecursionSystem(at_two), name="own")
    with pytest.raises(LayerError, match="are no system"):
        RecursionSystem((derive("G"), derive("V", layer=TWO)))
    assert derive_system(["V"], layer=TWO).layer == Layer(TWO)
    assert derive_system(["V"]).layer.symbols == ("C_b", "C_W", "λ_b", "λ_W")


def test_the_error_of_a_file_that_stands_alone_is_a_value_error_and_here_one_of_the_tree():
    text = kernel_for(["G"], inputs="one").text
    assert "import symdlt" not in text
    assert "from symdlt" not in text
    assert issubclass(loaded(kernel_for(["G"], inputs="one")).KernelInputError, ValueError)
    from symdlt.kernels import many_inputs, single_input

    for module in (many_inputs, single_input):
        assert issubclass(module.KernelInputError, SymdltError)


def test_the_command_line_takes_a_layer(tmp_path, capsys):
    path = tmp_path / "two.py"
    assert main(["kernel", "G", "--inputs", "one", "--layer", TWO, "-o", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert f"Layer:      {TWO}\n" in text
    assert all(len(line) <= 100 for line in text.splitlines() if line.startswith((">>>", "...")))
    assert main(["kernel", "V", "--layer", "z' = xi z + W (s(z) + a z)"]) == 1
    assert "may be others at each depth" in capsys.readouterr().err


def test_names_that_differ_give_factors_that_differ():
    """No two means of a kernel for one input share a name, however a layer calls its symbols."""
    text = kernel_for(["F"], inputs="one", layer=TWO).text
    fields = text.split('"""Intermediates, one value a layer."""')[1].split("def ")[0].split("\n")
    names = [line.split(":")[0].strip() for line in fields if ":" in line]
    assert len(names) == len(set(names)) > 3
    assert any(name.startswith("C_U_") for name in names), names
    assert not {*names} & {"C_U", "C_W"}
