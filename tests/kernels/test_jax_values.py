"""Kernels in JAX against those in NumPy, gradients derived symbolically, and differences."""

import subprocess
import sys
import warnings
from functools import cache

import numpy as np
import pytest
from cases import swept
from kernel_reference import loaded, relative_error

from symdlt import MLP, propagate
from symdlt.activations import ACTIVATIONS, activation
from symdlt.errors import ActivationError, KernelError
from symdlt.kernels import kernel_for, numpy_activation
from symdlt.kernels.jax_target.activations import jax_activation
from symdlt.networks import kernel_gradient

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
# Most of the time is that of compilers.
pytestmark = pytest.mark.slow

NUMBERS = {"C_b": 0.1, "C_W": 1.3, "lambda_b": 0.4, "lambda_W": 0.7}
WIDTHS = [30.0, 40.0, 20.0]
DEPTH = 4
# Samples that are independent, the same, opposite, and zero.
X = np.array([[0.9, -0.3, 1.1], [0.2, 0.9, -0.4], [0.9, -0.3, 1.1], [-0.9, 0.3, -1.1], [0, 0, 0]])
THIRTEEN = ["G", "H", "V", "D", "A", "B", "F", "P", "Q", "R", "S", "T", "U"]
WAVES = "cos(2*z) + exp(z/3)/2 + sin(z)"
SMOOTH = ["tanh", "swish", "gelu_tanh", "gaussian", "z**3/3"]
CLOSED = ["erf", "ncdf", "gelu", "sin", WAVES, "relu", "leaky_relu", "abs"]
FEW = ["tanh", "erf", "gelu", "relu", WAVES]  # of each kind


@pytest.fixture(autouse=True)
def _double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@cache
def one(what, tensors=tuple(THIRTEEN)):
    return loaded(kernel_for(tensors, inputs="one", activation=what, target="jax", name="one"))


@cache
def many(what):
    return loaded(kernel_for(["G", "H"], activation=what, target="jax", name="many"))


@cache
def in_numpy(tensors=tuple(THIRTEEN), layer=None):
    given = {} if layer is None else {"layer": layer}
    return loaded(kernel_for(tensors, inputs="one", name="one", **given))


@cache
def network(what):
    mlp = MLP(activation=what, widths=[50] * (DEPTH - 1), **NUMBERS)
    found = propagate(mlp, X, ["G", "H"])
    return {name: np.array(found[name]) for name in ("G", "H")}


def pairs(what, x=X, y=None, numbers=NUMBERS, **options):
    overlap, variances = many(what).overlaps(x, y)
    return many(what).propagate(overlap, DEPTH, **numbers, variances=variances, **options)


def off(found, wanted):
    """The largest difference relative to the diagonals."""
    scale = np.sqrt(np.einsum("lii,ljj->lij", wanted, wanted))[:, :, : found.shape[2]]
    return np.abs((found - wanted[:, :, : found.shape[2]]) / scale).max()


@pytest.mark.parametrize("what", ["tanh", "gelu", "sin(z) + z/3", "softplus", "isru"])
def test_all_tensors_of_one_input_are_those_of_numpy(what):
    functions = numpy_activation(what, 3).functions
    wanted = in_numpy().propagate(functions, 0.8, DEPTH, widths=WIDTHS, **NUMBERS)
    found = one(what).propagate(0.8, DEPTH, widths=WIDTHS, **NUMBERS)
    assert relative_error(found, wanted) < 1e-12


def test_an_activation_that_is_given_is_differentiated_by_jax():
    module = one(None)
    wanted = one("tanh").propagate(0.8, DEPTH, **NUMBERS)
    slope = lambda z: 1.0 - jnp.tanh(z) ** 2  # noqa: E731
    for given in (jnp.tanh, (jnp.tanh, slope)):
        found = module.propagate(given, 0.8, DEPTH, **NUMBERS)
        assert relative_error(found, wanted) < 1e-12
    x = jnp.asarray(X[:2])
    overlap, _ = many(None).overlaps(x)
    found = many(None).propagate(jnp.tanh, overlap, DEPTH, **NUMBERS)["H"]
    assert off(found, network("tanh")["H"][:, :2, :2]) < 1e-12


def test_larger_systems_and_layers_of_ones_own():
    layer, numbers = "z' = b + W s(z) + U s(z)", NUMBERS | {"C_U": 0.3, "lambda_U": 0.2}
    source = kernel_for(["V", "R"], inputs="one", layer=layer, target="jax", activation="tanh")
    wanted = in_numpy(("V", "R"), layer).propagate(
        numpy_activation("tanh", 3).functions, 0.8, DEPTH, **numbers
    )
    assert relative_error(loaded(source).propagate(0.8, DEPTH, **numbers), wanted) < 1e-12
    six = ("X6_01_24", "G.1")
    wanted = in_numpy(six).propagate(numpy_activation("tanh", 4).functions, 0.8, DEPTH, **NUMBERS)
    found = one("tanh", six).propagate(0.8, DEPTH, **NUMBERS)
    assert relative_error(found, wanted) < 1e-11


@pytest.mark.parametrize(
    ("layer", "tensors"),
    [
        ("u = U z; v = V z; z' = b + W sigmoid(u) s(v)", ("V", "F")),
        swept("h = U s(z); z' = b + W s(h)", ("B", "G.1")),
        swept("h = U z; z' = b + W (s(h) + 1/2 h)", ("V", "P")),
        ("h = U s(rmsnorm(z)); z' = b + W dropout(0.1) s(layernorm(h))", ("V", "P", "H.1")),
    ],
)
def test_layers_of_several_streams(layer, tensors):
    given = {"inputs": "one", "layer": layer, "name": "one"}
    plain = loaded(kernel_for(tensors, **given))
    module = loaded(kernel_for(tensors, activation="tanh", target="jax", **given))
    rng = np.random.default_rng(3)
    numbers = {name: rng.uniform(0.4, 1.1, DEPTH).tolist() for name in plain.HYPERPARAMETERS}
    functions = numpy_activation("tanh", plain.DERIVATIVES).functions
    wanted = plain.propagate(functions, 0.8, DEPTH, widths=WIDTHS, **numbers)
    assert relative_error(module.propagate(0.8, DEPTH, widths=WIDTHS, **numbers), wanted) < 1e-12

    def last(variances, module=module, first=()):
        changed = numbers | {"C_W": variances}
        return module.propagate(*first, 0.8, DEPTH, **changed)[tensors[-1]][-1]

    step, C_W = 1e-5, np.array(numbers["C_W"])
    slope = float(jax.grad(last)(jnp.asarray(C_W))[2])
    moved = [last(C_W + sign * step * np.eye(DEPTH)[2], plain, (functions,)) for sign in (1, -1)]
    assert slope == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-7)


def test_hyperparameters_by_layer_and_a_single_layer():
    numbers = NUMBERS | {"C_W": [1.3, 1.1, 0.9, 1.2]}
    wanted = in_numpy().propagate(numpy_activation("tanh", 3).functions, 0.8, DEPTH, **numbers)
    assert relative_error(one("tanh").propagate(0.8, DEPTH, **numbers), wanted) < 1e-12
    for depth in (1, 2):
        found = one("tanh").propagate(0.8, depth, **NUMBERS)
        assert found["V"].shape == (depth,)
        assert found["V"][0] == 0.0
        overlap, _ = many("tanh").overlaps(X)
        assert many("tanh").propagate(overlap, depth, **NUMBERS)["H"].shape == (depth, 5, 5)


@pytest.mark.parametrize("what", [*FEW, *map(swept, sorted({*SMOOTH, *CLOSED} - {*FEW}))])
def test_pairs_are_those_of_numpy(what):
    wanted = network(what)
    for y in (None, X[:3]):
        found = pairs(what, X, y)
        assert max(off(found[name], wanted[name]) for name in wanted) < 1e-12, y is None
    last = pairs(what, every_layer=False)
    assert max(off(last[name][None], wanted[name][-1:]) for name in wanted) < 1e-12


@pytest.mark.parametrize("what", ["tanh", swept("gelu")])
def test_gradients_of_all_tensors_are_those_of_the_recursions(what):
    x = X[:1]
    mlp = MLP(activation=what, widths=[50] * (DEPTH - 1), **NUMBERS)

    def run(x, numbers):
        return one(what).propagate((x * x).sum() / 3, DEPTH, **numbers)

    found = jax.jit(jax.jacrev(run, argnums=(0, 1)))(jnp.asarray(x), NUMBERS)
    wanted = kernel_gradient(mlp, x, THIRTEEN, with_respect_to="x", tolerance=1e-11)
    for name in THIRTEEN:
        right = wanted[name].reshape(DEPTH, *x.shape)
        np.testing.assert_allclose(found[name][0], right, atol=1e-10 * np.abs(right).max())
    for varied in NUMBERS:
        wanted = kernel_gradient(mlp, x, THIRTEEN, with_respect_to=varied, tolerance=1e-11)
        for name in THIRTEEN:
            right = wanted[name].reshape(DEPTH, DEPTH).sum(1)
            np.testing.assert_allclose(
                found[name][1][varied], right, atol=1e-10 * max(1.0, np.abs(right).max())
            )


@pytest.mark.parametrize("what", ["tanh", swept("erf"), swept("gelu"), "relu", swept("sin")])
def test_gradients_of_pairs_are_those_of_the_recursions(what):
    x = X[:2]
    mlp = MLP(activation=what, widths=[50] * (DEPTH - 1), **NUMBERS)

    def run(x, numbers):
        return pairs(what, x, numbers=numbers)

    found = jax.jit(jax.jacrev(run, argnums=(0, 1)))(jnp.asarray(x), NUMBERS)
    for name in ("G", "H"):
        right = kernel_gradient(mlp, x, name, with_respect_to="x")[name]
        np.testing.assert_allclose(found[name][0], right, atol=1e-10 * np.abs(right).max())
        for varied in NUMBERS:
            right = kernel_gradient(mlp, x, name, with_respect_to=varied)[name].sum(-1)
            np.testing.assert_allclose(
                found[name][1][varied], right, atol=1e-10 * max(1.0, np.abs(right).max())
            )


@pytest.mark.parametrize("what", [swept("tanh"), "relu", WAVES])
def test_gradients_are_finite_differences(what):
    def run(x, numbers):
        found = pairs(what, x, numbers=numbers, every_layer=False)
        return (found["G"] * found["H"]).sum()

    x = jnp.asarray(X[:2])
    run = jax.jit(run)
    slope, slopes = jax.grad(run, argnums=(0, 1))(x, NUMBERS)
    step = 1e-6
    for place in np.ndindex(x.shape):
        change = np.zeros(x.shape)
        change[place] = step
        right = (run(x + change, NUMBERS) - run(x - change, NUMBERS)) / (2 * step)
        assert slope[place] == pytest.approx(float(right), rel=1e-6, abs=1e-6)
    for name, value in NUMBERS.items():
        up, down = (run(x, NUMBERS | {name: value + move}) for move in (step, -step))
        assert slopes[name] == pytest.approx(float(up - down) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("what", ["tanh", swept("gelu"), "relu", swept("sin")])
def test_gradients_are_numbers_where_inputs_are_the_same_opposite_or_zero(what):
    """All ways of JAX to a gradient, with two sets of inputs that are one, and with one."""
    options = {"degree": 8} if what in SMOOTH else {}  # enough to be a series

    def run(x, C_b, y=None):
        numbers = NUMBERS | {"C_b": C_b}
        found = pairs(what, x, y, numbers=numbers, every_layer=False, **options)
        return found["G"].sum() + found["H"].sum()

    modes = (
        jax.jacrev(run, argnums=(0, 1)),
        jax.jacfwd(lambda x, C_b: run(x, C_b, x), argnums=(0, 1)),
        jax.jacfwd(jax.jacrev(run)),
    )
    for mode in map(jax.jit, modes):
        for C_b in (0.0, 0.1):
            assert all(np.isfinite(one).all() for one in jax.tree.leaves(mode(X, C_b))), C_b


@pytest.mark.parametrize("what", ["tanh", "gelu", "relu"])
def test_the_kernel_has_its_slope_where_inputs_are_the_same(what):
    """Of K(x, y) by x at y = x, against a difference: there it is as smooth as elsewhere."""
    x, y = jnp.asarray(X[:1]), jnp.asarray(X[:1])

    @jax.jit
    def run(x):
        return pairs(what, x, y, every_layer=False)["G"][0, 0]

    slope, step = jax.jit(jax.grad(run))(x)[0], 1e-5
    for place, change in enumerate(step * np.eye(3)):
        right = (run(x + change) - run(x - change)) / (2 * step)
        assert slope[place] == pytest.approx(float(right), rel=1e-5)


def test_jit_and_vmap_change_nothing():
    module, overlaps = one("gelu"), jnp.linspace(0.3, 1.5, 2)
    run = lambda overlap: module.propagate(overlap, DEPTH, **NUMBERS)["T"]  # noqa: E731
    together = jax.jit(jax.vmap(run))(overlaps)
    np.testing.assert_allclose(together, [run(overlap) for overlap in overlaps], rtol=1e-12)
    many_weights = jax.vmap(lambda C_W: pairs("tanh", numbers=NUMBERS | {"C_W": C_W})["H"])
    found = many_weights(jnp.array([1.0, 1.3]))
    assert off(found[1], network("tanh")["H"]) < 1e-12
    static = jax.jit(module.propagate, static_argnames=("depth",))
    np.testing.assert_allclose(static(0.8, depth=DEPTH, **NUMBERS)["T"], run(0.8), rtol=1e-12)


@pytest.mark.parametrize("what", [swept("tanh"), swept("erf"), "relu", "gelu"])
def test_single_precision_is_single_precision(what):
    found = pairs(what, dtype=jnp.float32)
    for name, wanted in network(what).items():
        assert found[name].dtype == jnp.float32
        assert off(np.float64(found[name]), wanted) < (2e-3 if what == "relu" else 2e-5)
    slopes = jax.grad(lambda x: pairs(what, x, dtype=jnp.float32)["H"].sum())(jnp.asarray(X))
    assert np.isfinite(slopes).all()


def test_single_precision_of_one_input():
    wanted = one("tanh").propagate(0.8, DEPTH, **NUMBERS)
    found = one("tanh").propagate(0.8, DEPTH, dtype=jnp.float32, **NUMBERS)
    assert found["T"].dtype == jnp.float32
    assert relative_error(found, wanted) < 1e-4


def test_without_x64_it_says_so():
    jax.config.update("jax_enable_x64", False)
    module = one("tanh")
    with pytest.warns(UserWarning, match=r"float64 switched off \(x64\).*about seven digits"):
        found = module.propagate(0.8, DEPTH, **NUMBERS)
    assert found["G"].dtype == jnp.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.propagate(0.8, DEPTH, dtype=jnp.float32, **NUMBERS)
    with pytest.raises(module.KernelInputError, match="cannot compute in float64"):
        module.propagate(0.8, DEPTH, dtype=jnp.float64, **NUMBERS)


def test_the_series_is_within_its_stated_error_and_not_far_below():
    """At a degree that is too low, next to one that is not."""
    numbers = NUMBERS | {"C_W": 3.0}
    exact = pairs("tanh", numbers=numbers, degree=256, step=0.05)
    K, run = exact["G"][1], jax.jit(many("tanh").propagate, static_argnames=("depth", "degree"))
    given = {"C_b": 0.0, "C_W": 1.0, "lambda_b": 0.0, "lambda_W": 0.0}
    ratios = []
    for degree in (8, 16, 32):
        bounds = many("tanh").series_error(K, degree)
        low, high = (run(K, depth=2, **given, degree=n)["G"][1] for n in (degree, 256))
        wrong = np.abs(low - high)
        assert (wrong <= bounds[0] + 1e-14).all()
        ratios.append(float((wrong / bounds[0]).max()))
    assert min(ratios) > 0.05


@pytest.mark.parametrize("K", [swept(10.0), 100.0, swept(1000.0)])
def test_the_stated_error_knows_of_rules_that_are_too_coarse(K):
    """Where tanh is steep for the step, no degree helps."""
    given = {"C_b": 0.0, "C_W": 1.0, "lambda_b": 0.0, "lambda_W": 0.0}
    overlap = K * np.array([[1.0, 0.5], [0.5, 1.0]])
    right = MLP(activation="tanh", widths=[9], C_b=0.0, C_W=1.0).propagate(
        np.linalg.cholesky(2.0 * overlap), ["G"]
    )["G"][-1]
    for step in (0.1, 0.05):
        found = many("tanh").propagate(overlap, 2, degree=128, step=step, **given)["G"][1]
        bound = many("tanh").series_error(overlap, 128, step)[0]
        assert (np.abs(found - right) <= bound + 1e-13).all()


def test_a_moved_rule_tells_its_error():
    fine = one("tanh").propagate(0.8, DEPTH, **NUMBERS)["R"][-1]
    coarse, moved = (
        one("tanh").propagate(0.8, DEPTH, step=0.8, shift=shift, **NUMBERS)["R"][-1]
        for shift in (0.0, 0.5)
    )
    assert 1e-9 < abs(coarse - fine) < 2 * abs(coarse - moved)


def test_functions_of_the_table_are_those_of_numpy():
    z = np.concatenate([np.linspace(-9.0, 9.0, 181) + 1e-3, [-300.0, 80.0, 300.0]])
    space = {"jnp": jnp, "jax": jax, "Array": jax.Array}
    space |= {name: getattr(jax.scipy.special, name) for name in ("erf", "erfc")}
    from symdlt.kernels.jax_target.running.smooth import bounded_exp

    count = 0
    for name in ACTIVATIONS:
        try:
            right = numpy_activation(name, 2).functions
        except ActivationError:
            continue
        code = compile(jax_activation(activation(name), 2), name, "exec")
        exec(code, found := space | {"bounded_exp": bounded_exp})
        for ours, theirs in zip(found["ACTIVATION"], right, strict=True):
            with np.errstate(all="ignore"):
                wanted = theirs(z)
            known = np.isfinite(wanted)
            np.testing.assert_allclose(
                ours(jnp.asarray(z))[known], wanted[known], rtol=1e-12, atol=1e-13, err_msg=name
            )
        count += 1
    assert count > 40


def test_the_arc_sine_is_one():
    from mpmath import mp

    from symdlt.kernels.jax_target.running.arcs import arcsine

    t = np.concatenate([np.linspace(-1.0, 1.0, 2001), 0.5 + np.linspace(-1e-3, 1e-3, 101)])
    t = np.concatenate([t, 1.0 - np.geomspace(1e-14, 1e-2, 40)])
    with mp.workdps(30):
        right = np.array([float(mp.asin(mp.mpf(float(x)))) for x in t])
    np.testing.assert_allclose(arcsine(jnp.asarray(t)), right, rtol=2e-15, atol=1e-300)


def test_what_does_not_fit_is_refused():
    module = one("tanh")
    refused = module.KernelInputError
    assert issubclass(refused, ValueError)
    with pytest.raises(refused, match=r"The depth is 2\.0"):
        module.propagate(0.8, 2.0, **NUMBERS)
    with pytest.raises(refused, match=r"The depth is \w*Trace"):
        jax.jit(lambda depth: module.propagate(0.8, depth, **NUMBERS))(3)
    with pytest.raises(refused, match=r"C_W has shape \(2,\)"):
        module.propagate(0.8, DEPTH, **NUMBERS | {"C_W": [1.0, 2.0]})
    with pytest.raises(refused, match="lambda_b is missing"):
        module.propagate(0.8, DEPTH, C_b=0.0, C_W=1.0)
    with pytest.raises(refused, match=r"widths has shape \(2,\)"):
        module.propagate(0.8, DEPTH, widths=[1.0, 2.0], **NUMBERS)
    with pytest.raises(refused, match=r"The overlap has shape \(1,\)"):
        module.propagate([0.8], DEPTH, **NUMBERS)
    with pytest.raises(refused, match="cannot compute in float16"):
        module.propagate(0.8, DEPTH, dtype=jnp.float16, **NUMBERS)
    refused = many("tanh").KernelInputError
    for overlap, variances in (
        (np.ones((2, 3)), None),
        (np.ones((2, 3)), (np.ones(2), np.ones(2))),
    ):
        with pytest.raises(refused, match=r"The overlap has shape \(2, 3\)"):
            many("tanh").propagate(overlap, 2, **NUMBERS, variances=variances)
    with pytest.raises(many(None).KernelInputError, match=r"The activation is \(3,\)"):
        many(None).propagate((3,), np.eye(2), 2, **NUMBERS)
    with pytest.raises(KernelError):
        kernel_for(["V"], target="jax")


def test_a_file_runs_without_symdlt(tmp_path):
    source = kernel_for(["G", "H"], activation="gelu", target="jax", name="mine")
    (tmp_path / source.file_name).write_text(source.text, encoding="utf-8")
    program = (
        "import sys, doctest, mine\n"
        "assert not {'symdlt', 'sympy', 'mpmath'} & set(sys.modules)\n"
        "print(doctest.testmod(mine))\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{program}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("TestResults(failed=0, attempted="), done.stderr


@pytest.mark.parametrize(
    ("layer", "tensors"),
    [
        swept("z' = xi z + b + W s(z)", (*THIRTEEN, "G.1")),
        ("h = U s(z); z' = xi z + W s(h)", ("V", "D", "F")),
        ("u = U z; v = V z; z' = xi z + W sigmoid(u) s(v)", ("V", "G.1")),
        swept("z' = xi z + b + W dropout(0.1) s(layernorm(z)) + P layernorm(z)", ("V", "B", "F")),
        ("z' = xi z + b + W z", ("V", "P")),
        ("z' = xi z + rmsnorm(z) + b + W s(z)", ("V", "D")),
    ],
)
def test_layers_with_a_skip(layer, tensors):
    module, numbers, wanted = with_a_skip(layer, tensors)
    found = module.propagate(0.8, DEPTH, **numbers)
    assert set(found) == set(wanted)
    assert relative_error(found, wanted) < 1e-11
    moved = module.propagate(0.8, DEPTH, **numbers, shift=0.5)
    assert relative_error(moved, wanted) < 1e-11
    for depth in (1, 2):
        few = module.propagate(0.8, depth, **{n: v[:depth] for n, v in numbers.items()})
        assert few["V"] == pytest.approx(wanted["V"][:depth], rel=1e-11)


def with_a_skip(layer, tensors):
    """A kernel in JAX, a number for each layer, and what NumPy makes of them."""
    given = {"inputs": "one", "layer": layer, "name": "one"}
    plain = loaded(kernel_for(tensors, **given))
    module = loaded(kernel_for(tensors, activation="tanh", target="jax", **given))
    rng = np.random.default_rng(3)
    numbers = {name: rng.uniform(0.4, 1.1, DEPTH).tolist() for name in plain.HYPERPARAMETERS}
    functions = numpy_activation("tanh", plain.DERIVATIVES).functions
    return module, numbers, plain.propagate(functions, 0.8, DEPTH, **numbers)


def test_gradients_through_all_pairs_of_depths():
    """Against differences, compiled, by the input and by the skip; also where nothing is added."""
    module, numbers, _ = with_a_skip("z' = xi z + b + W s(z)", ("V",))
    rest = {name: value for name, value in numbers.items() if name not in ("xi", "C_W")}

    @jax.jit
    def last(overlap, xi, C_W):
        return module.propagate(overlap, DEPTH, **rest, xi=xi, C_W=C_W)["V"][-1]

    slopes = jax.jit(jax.grad(last, argnums=(0, 1, 2)))
    point, step = np.array([0.8, 0.9, 1.1]), 1e-4
    for slope, way in zip(slopes(*point), np.eye(3) * step, strict=True):
        change = float(last(*point + way) - last(*point - way))
        assert float(slope) == pytest.approx(change / 2 / step, rel=1e-6)
    assert np.isfinite(slopes(0.8, 1.0, 0.0)).all()
    assert np.isfinite(slopes(0.0, 1.0, 1.0)).all()
    many_of_them = jax.vmap(last, (0, None, None))(jnp.array([0.5, 0.8]), 0.9, 1.1)
    assert float(many_of_them[1]) == pytest.approx(float(last(*point)), rel=1e-12)
    with pytest.raises(module.KernelInputError, match="Leave widths out"):
        module.propagate(0.8, DEPTH, **numbers, widths=WIDTHS)


@pytest.mark.parametrize(
    ("layer", "what", "bound"),
    [
        ("u = U z; v = V z; z' = b + W s(u) v", "erf", 1e-12),
        swept("u = U z; v = V z; z' = b + W s(u) sigmoid(v)", "gelu", 1e-12),
        ("h = U s(z); z' = b + W s(h)", "relu", 1e-12),
        swept("z' = xi z + b + W s(z)", "tanh", 2e-7),  # of the series, at inputs that are opposite
        swept("h = U s(z); z' = xi z + b + W s(h) + P z", "gelu", 1e-12),
        swept("z' = b + W s(U rmsnorm(z))", "sin", 1e-12),
        ("h = U s(layernorm(z)); z' = xi z + W dropout(0.1) s(rmsnorm(h))", "erf", 1e-12),
        ("m = prune(1/4); z' = b + W m s(z)", "relu", 1e-12),
        ("u = U z; v = V z; z' = b + W u v", "tanh", 1e-12),
    ],
)
def test_kernels_of_pairs_through_several_streams(layer, what, bound):
    x = X[:4]  # a field that is zero cannot be normalised
    given = {"layer": layer, "name": "own"}
    plain = loaded(kernel_for(["G", "H"], activation=what, **given))
    module = loaded(kernel_for(["G", "H"], activation=what, target="jax", **given))
    rng = np.random.default_rng(5)
    numbers = {name: rng.uniform(0.4, 1.1, DEPTH).tolist() for name in plain.HYPERPARAMETERS}
    wanted = plain.propagate(plain.ACTIVATION, x @ x.T / 3, DEPTH, tolerance=1e-12, **numbers)
    found = module.propagate(module.overlaps(x)[0], DEPTH, **numbers)
    apart, variances = module.overlaps(x[:2], x[2:])
    beside = module.propagate(apart, DEPTH, **numbers, variances=variances)
    for name in ("G", "H"):
        assert off(found[name], wanted[name]) < bound, name
        size = np.sqrt(np.einsum("lii,ljj->lij", wanted[name], wanted[name]))
        error = np.abs(beside[name] - wanted[name][:, :2, 2:]) / size[:, :2, 2:]
        assert error.max() < bound, name

    @jax.jit
    def last(x):
        overlap, _ = module.overlaps(x)
        return module.propagate(overlap, DEPTH, **numbers)["H"][-1, 0, 1]

    step = 1e-5 * np.eye(4, 3)
    slope = float((jax.jit(jax.grad(last))(jnp.asarray(x)) * np.eye(4, 3)).sum())
    difference = float(last(x + step) - last(x - step)) / 2e-5
    assert slope == pytest.approx(difference, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("tensors", "layer", "reason"),
    [
        (["V"], "u = U z; v = V z; z' = b + W s(u) v", "V of many inputs"),
        (["G"], "h = U z; z' = b + W (s(h) + 1/2 h)", "it needs h_s1_1"),
        (["G"], "z' = b + W (s(z) + sigmoid(z))", "it needs z_s0_s2_12"),
        (["G"], "z' = b + W s'(z)", "it needs z_s1_s1_12"),
        (["H"], "z' = same z + W s(z)", "Its code uses this name"),
    ],
)
def test_layers_without_kernels_of_pairs(tensors, layer, reason):
    with pytest.raises(KernelError, match=reason):
        kernel_for(tensors, layer=layer, activation="tanh", target="jax")
