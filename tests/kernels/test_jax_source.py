"""Kernels in JAX as text: what they import, which means they have, and what is refused."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from symdlt.activations import activation
from symdlt.activations.functions import FUNCTIONS
from symdlt.derivation import derive_system
from symdlt.errors import ActivationError, KernelError
from symdlt.kernels import kernel_files, kernel_for, lower
from symdlt.kernels.jax_target.activations import JAX, jax_activation
from symdlt.kernels.jax_target.many_inputs_text import closed_form
from symdlt.kernels.jax_target.running import __name__ as running

ROOT = Path(__file__).parents[2]
PAIRS = ["G", "H"]


def many(what):
    return kernel_for(PAIRS, activation=what, target="jax").text


def imports_of(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def checked_by_ruff(text, *options):
    """What ruff says of a text, as of a file among the examples."""
    command = [sys.executable, "-m", "ruff", "check", *options]
    return subprocess.run(
        [*command, "--stdin-filename", "tests/golden/jax/a.py", "-"],
        input=text,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_examples_are_committed_and_stand_alone():
    committed = kernel_files()
    examples = [path for path in committed if path.startswith("tests/golden/jax/")]
    assert len(examples) == 3
    for path in examples:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert text == committed[path]
        found = set(imports_of(text))
        ours = {module for module in found if module.split(".")[0] not in sys.stdlib_module_names}
        assert ours == {"jax", "jax.numpy"}
        assert max(map(len, text.splitlines())) <= 100


def test_special_functions_come_from_jax_scipy():
    text = kernel_for(["V"], inputs="one", activation="gelu", target="jax").text
    assert "from jax.scipy.special import erfc\n" in text
    assert "def erfc" not in text


@pytest.mark.parametrize("what", ["tanh", "gelu", "sin(2*z) + 1", "relu", None])
def test_ruff_passes_without_exceptions(what):
    done = checked_by_ruff(kernel_for(PAIRS, activation=what, target="jax").text)
    assert done.returncode == 0, done.stdout


def test_header_says_how_to_write_it_again():
    head = kernel_for(["V"], inputs="one", target="jax", name="vertex").text
    assert "symdlt kernel G V --inputs one -o vertex.py --target jax" in head


def test_a_function_of_the_table_has_a_form_in_jax():
    """By its own entry, or by that for NumPy: no other name is left in it."""
    for name, function in FUNCTIONS.items():
        if function.numpy:
            code = JAX.spelled(function.numpy)
            assert code.startswith("jnp.") or code == function.jax, name
    text = jax_activation(activation("swish(z) + erf(z) + asinh(z) + where(z < 0, z, z**2)"), 3)
    names = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    assert "np" not in names
    assert {"jnp", "bounded_exp", "erf"} <= names


@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("erf", "erf_means(terms=((1.0, 1.0),))"),
        ("ncdf", "erf_means("),
        ("gelu", "gelu_means(terms=((1.0, 1.0),))"),
        ("cos", "wave_means(circular=((1.0, 0.0, 1.0),), coefficients=(1.0,))"),
        ("relu", "relu_means(0.0, 1.0)"),
        ("leaky_relu(z, 1/4)", "relu_means(0.25, 1.0)"),
        ("abs", "relu_means(-1.0, 1.0)"),
        ("tanh", "series_means(ACTIVATION, range(0, degree, 2), "),
        ("gaussian", "series_means(ACTIVATION, range(1, degree, 2), "),
        ("swish", "series_means(ACTIVATION, range(degree), "),
        ("erf(z) + z", "series_means(ACTIVATION, range(0, degree, 2), "),
        ("z**3", "series_means(ACTIVATION, "),
    ],
)
def test_means_are_those_of_the_expression(what, call):
    assert f"    means = {call}" in many(what)


def test_a_kernel_without_an_activation_is_given_one():
    assert "derivatives_of(activation, 2)" in many(None)
    assert "activation: Activation" not in many("tanh")


def test_what_there_is_not_is_refused():
    with pytest.raises(KernelError, match=r"^V of many inputs cannot be written for JAX\. .*inp"):
        kernel_for(["V"], target="jax")
    with pytest.raises(KernelError, match=r"^(G\.1|V) of many inputs"):
        kernel_for(["G.1"], target="jax")
    with pytest.raises(KernelError, match=r"elu has kinks, and its means no closed form"):
        many("elu")
    with pytest.raises(KernelError, match="heaviside has kinks"):
        kernel_for(["G"], activation="heaviside", target="jax")
    with pytest.raises(KernelError, match="Kernels for one input take smooth activations"):
        kernel_for(["G"], inputs="one", activation="relu", target="jax")
    with pytest.raises(ActivationError, match="cannot be evaluated at z = 0"):
        many("1/z")
    with pytest.raises(KernelError, match=r"symbol step of the layer .* of a JAX kernel"):
        kernel_for(["G"], inputs="one", layer="z' = step W s(z)", target="jax")


def test_closed_forms_are_read_off_and_not_listed_by_name():
    texts = "z*(1 + erf(z/sqrt(2)))/2", "gelu"
    assert len({closed_form(activation(text)) for text in texts}) == 1
    assert closed_form(activation("max(z, z/4)")) == "relu_means(0.25, 1.0)"


def test_modules_that_import_jax_are_read_and_not_run():
    code = (
        "import sys\n"
        "from symdlt.kernels import kernel_for\n"
        "kernel_for(['G'], activation='tanh', target='jax')\n"
        f"assert not {{'jax', '{running}.series'}} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_one_input_has_every_tensor_of_the_intermediate_representation():
    module = lower(derive_system(["V", "R"], inputs="one", form="z"))
    text = kernel_for(["V", "R"], inputs="one", target="jax").text
    for function in module.functions:
        assert f"def advance_{function.variable.lower()}(" in text
    for factor in module.factors:
        assert f"    {factor.name}: Array  # {factor.text}" in text


def check_alone(text):
    """A file of a layer imports JAX and the standard library alone, and passes ruff."""
    found = {module.split(".")[0] for module in imports_of(text)}
    assert found - set(sys.stdlib_module_names) == {"jax"}
    assert max(len(line) for line in text.splitlines() if "--layer" not in line) <= 100
    done = checked_by_ruff(text, "--extend-ignore=N815")  # rates of the layer, such as lambda_U
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("activation", [None, "tanh"])
def test_a_layer_of_several_streams_stands_alone_and_passes_ruff(activation):
    layer = "u = U z; v = V z; z' = b + W sigmoid(u) (s(v) + sin(v))"
    text = kernel_for(
        ["V", "G.1"], inputs="one", layer=layer, activation=activation, target="jax"
    ).text
    check_alone(text)
    assert "r_u: PerLayer = 1.0," in text
    assert "    <u u> =\n      + C_U G\n" in text


def test_a_layer_with_a_skip_stands_alone_and_passes_ruff():
    layer = "z' = xi z + b + W dropout(0.1) s(layernorm(z)) + P layernorm(z)"
    text = kernel_for(["V", "B"], inputs="one", layer=layer, target="jax").text
    check_alone(text)
    assert '    field="layernorm_z",\n    scale="c",\n)\n' in text


@pytest.mark.parametrize("activation", [None, "gelu"])
def test_kernels_of_pairs_stand_alone_and_pass_ruff(activation):
    layer = "u = U rmsnorm(z); v = V z; z' = xi z + b + W dropout(0.1) s(u) sigmoid(v)"
    text = kernel_for(["G", "H"], layer=layer, activation=activation, target="jax").text
    check_alone(text)
    assert 'mask_dropout_12 = jnp.where(means["same"], 1.1111111111111112, 1.0)' in text
    assert '"z": PairField(\n        covariance_z,\n        scale="c",\n    ),\n' in text


@pytest.mark.parametrize("layer", ["u = U z; v = V z; z' = b + W s(u) v", "z' = z + W s(z)"])
def test_what_there_is_not_of_several_fields_is_refused(layer):
    with pytest.raises(KernelError, match="V of many inputs cannot be written for JAX"):
        kernel_for(["V"], layer=layer, target="jax")
    with pytest.raises(KernelError, match=r"The symbol found of the layer .* of a JAX kernel"):
        kernel_for(["V"], inputs="one", layer="z' = found z + W s(z)", target="jax")
    with pytest.raises(KernelError, match="The symbol rule of the layer"):
        kernel_for(["V"], inputs="one", layer="h = U z; z' = rule W s(h)", target="jax")
