"""Kernels for many inputs against slow direct evaluation, exact cases and their own symmetries."""

from dataclasses import replace
from functools import cache
from itertools import permutations
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest
from cases import thinned
from direct import value
from kernel_reference import loaded, printed_next_to

from symdlt.definitions import BOOK
from symdlt.derivation import RecursionSystem, derive, derive_system
from symdlt.errors import KernelError
from symdlt.kernels import generate_kernel, kernel_for, many_inputs, single_input
from symdlt.kernels.generator.lowering import function as many_function
from symdlt.kernels.many_inputs import KernelInputError, propagate
from symdlt.kernels.numpy_target.many_inputs_text import recursion_text
from symdlt.means import ClosedMeans, KinkedMeans, SmoothMeans

NAMES = (*BOOK, "G.1", "H.1")
QUINTIC = np.polynomial.Polynomial([0.1, 0.8, 0.3, -0.1, 0.02, 0.01])
POLYNOMIAL = [QUINTIC.deriv(k) if k else QUINTIC for k in range(6)]
SINE = [np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z)]
RELU = [lambda z: np.maximum(z, 0.0), lambda z: np.heaviside(z, 0.5)], [(0.0, (0.0, 1.0))]
X = np.random.default_rng(0).standard_normal((3, 4)) * 0.8
WIDTHS = [5.0, 7.0, 4.0]
HYPER = {
    "C_b": [0.1, 0.2, 0.3, 0.1],
    "C_W": [1.0, 0.8, 0.9, 1.1],
    "lambda_b": [0.3, 0.5, 0.2, 0.4],
    "lambda_W": [1.0, 0.7, 0.6, 0.8],
}


def overlap(x):
    return x @ x.T / x.shape[1]


class ExactBrackets:
    """Means of products of polynomials at one kernel, by a Gauss rule that is exact for them."""

    def __init__(self, K):
        nodes, weights = np.polynomial.hermite_e.hermegauss(11)
        count = len(K)
        values, vectors = np.linalg.eigh(K)
        grid = np.stack(np.meshgrid(*[nodes] * count, indexing="ij")).reshape(count, -1)
        every = np.stack(np.meshgrid(*[weights / weights.sum()] * count, indexing="ij"))
        self.weights = every.reshape(count, -1).prod(axis=0)
        z = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * grid)
        self.values = [function(z) for function in POLYNOMIAL]
        self.known = {}

    def __call__(self, factors, inserted=()):
        if factors not in self.known:
            product = self.weights
            for sample, order in factors:
                product = product * self.values[order][sample]
            self.known[factors] = product.sum()
        return self.known[factors]


def direct_layers(x, names=NAMES, depth=3):
    """Every tensor of every layer, index by index."""
    system = derive_system(names)
    count = len(x)
    layers = [{r.name: np.zeros((count,) * len(r.samples)) for r in system}]
    layers[0]["G"] = HYPER["C_b"][0] + HYPER["C_W"][0] * overlap(x)
    if "H" in system.names:
        layers[0]["H"] = HYPER["lambda_b"][0] + HYPER["lambda_W"][0] * overlap(x)
    for layer in range(1, depth):
        r = WIDTHS[layer - 1] / WIDTHS[layer - 2] if layer > 1 else 1.0
        hyper = {name: numbers[layer] for name, numbers in HYPER.items()}
        below, bracket = layers[-1], ExactBrackets(layers[-1]["G"])
        above = {name: np.empty_like(tensor) for name, tensor in below.items()}
        for recursion in system:
            for index in np.ndindex(above[recursion.name].shape):
                above[recursion.name][index] = value(recursion, index, below, bracket, hyper, r)
        layers.append(above)
    return layers


def run(x, module=many_inputs, depth=3, **options):
    hyper = {name: numbers[:depth] for name, numbers in HYPER.items()}
    given = {"widths": WIDTHS[: depth - 1], "tolerance": 1e-11, **hyper, **options}
    return module.propagate(POLYNOMIAL, overlap(x), depth, **given)


@pytest.mark.parametrize("x", [X, X[[0, 1, 1]], X[:1], X[:2] * [[1.0], [-1.0]]], ids=len)
def test_all_tensors_are_those_of_direct_evaluation(x):
    result = run(x)
    assert set(result) == set(NAMES)
    for layer, exact in enumerate(direct_layers(x)):
        for name, tensor in exact.items():
            scale = max(1.0, np.abs(tensor).max())
            assert np.abs(result[name][layer] - tensor).max() <= 1e-9 * scale, (name, layer)


@cache
def exact_last_layer(name):
    return direct_layers(X[:2], [name], 4)[3][name]


def with_recursion(changed):
    """The committed kernel with one function generated from another recursion."""
    function = many_function(changed)
    spaces = dict(vars(many_inputs))
    exec(recursion_text(function, many_inputs.HYPERPARAMETERS), spaces)
    advance = spaces[f"advance_{function.tensor.lower().replace('.', '_')}"]
    one = many_inputs.RECURSIONS[function.tensor]._replace(advance=advance)
    spaces["RECURSIONS"] = {**many_inputs.RECURSIONS, function.tensor: one}
    code = many_inputs.propagate
    propagate = FunctionType(code.__code__, spaces)
    propagate.__kwdefaults__ = code.__kwdefaults__
    return SimpleNamespace(propagate=propagate)


@pytest.mark.parametrize("name", thinned([name for name in NAMES if name != "G"], 2))
def test_every_flipped_term_is_caught(name):
    recursion = derive(name)
    for k, term in enumerate(recursion.terms):
        flipped = replace(term, coefficient=-term.coefficient)
        terms = (*recursion.terms[:k], flipped, *recursion.terms[k + 1 :])
        module = with_recursion(replace(recursion, terms=terms))
        found = run(X[:2], module, 4, tensors=[name], tolerance=1e-7)[name][3]
        difference = found - exact_last_layer(name)
        assert np.abs(difference).max() > 1e-6, f"term {k + 1} goes unseen"


def test_each_pair_is_computed_once_where_others_are_not_read():
    assert [name for name, one in many_inputs.RECURSIONS.items() if one.local] == ["G", "H"]
    assert many_function(derive("G")).local
    assert not many_function(derive("G.1")).local
    assert not many_function(derive("V")).local


def test_one_sample_is_the_single_input_kernel():
    many = run(X[:1], depth=4, tensors=BOOK)
    one = single_input.propagate(
        POLYNOMIAL[:4], float(overlap(X[:1])[0, 0]), 4, widths=WIDTHS, **HYPER
    )
    for name, numbers in one.items():
        assert many[name].ravel() == pytest.approx(numbers, rel=1e-10), name


def smooth(x, **options):
    given = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.2, "lambda_W": 1.0, "tensors": BOOK, **options}
    return propagate(SINE, overlap(x), 3, **given)


def test_permuting_samples_permutes_tensors():
    plain, order = smooth(X), [2, 0, 1]
    for name, permuted in smooth(X[order]).items():
        axes = permuted[0].ndim
        expected = plain[name][:, *np.ix_(*[order] * axes)]
        assert permuted == pytest.approx(expected, rel=1e-6, abs=1e-6), name


def test_a_duplicate_has_the_rows_of_its_twin():
    order = [0, 1, 2, 1]
    plain = smooth(X)
    for name, doubled in smooth(X[order]).items():
        axes = doubled[0].ndim
        expected = plain[name][:, *np.ix_(*[order] * axes)]
        assert doubled == pytest.approx(expected, rel=1e-6, abs=1e-6), name


def test_tensors_have_the_symmetries_of_their_definitions():
    for name, tensor in smooth(X).items():
        for way in many_inputs.RECURSIONS[name].symmetries:
            assert np.array_equal(tensor, np.transpose(tensor, (0, *(axis + 1 for axis in way))))


def test_samples_restrict_the_work_and_change_nothing():
    x = np.random.default_rng(1).standard_normal((5, 4))
    whole = smooth(x)
    part = smooth(x, samples=np.array([[4, 0, 2, 2], [3, 3, 3, 1]]))
    for name in BOOK:
        known = ~np.isnan(part[name])
        assert part[name][known] == pytest.approx(whole[name][known], rel=1e-6, abs=1e-6), name
        if name not in ("G", "H"):
            assert known[0].sum() == 3**4 + 2**4
            assert all(known[0][way] for way in permutations((4, 0, 2, 2)))


def test_tensors_bring_what_they_need_and_no_more():
    assert set(run(X, tensors=["F"])) == {"G", "H", "F"}
    result = propagate(SINE[:2], overlap(X), 2, C_b=0.0, C_W=1.0, tensors="G")
    assert set(result) == {"G"}


def test_deep_linear_networks_are_exact():
    """V of l+1 at n_l = n: (C_W)^2l (x1.x3 x2.x4 + x1.x4 x2.x3) times the number of layers."""
    identity = [np.asarray, np.ones_like, *[np.zeros_like] * 4]
    g = overlap(X)
    result = propagate(
        identity, g, 5, C_b=0.0, C_W=1.0, lambda_b=0.0, lambda_W=1.0, tensors=NAMES, tolerance=1e-12
    )
    pairs = np.einsum("ac,bd->abcd", g, g) + np.einsum("ad,bc->abcd", g, g)
    for layer in range(5):
        assert result["V"][layer] == pytest.approx(layer * pairs, rel=1e-9, abs=1e-12)
        assert result["H"][layer] == pytest.approx((layer + 1) * g, rel=1e-12)
        assert np.abs(result["G.1"][layer]).max() <= 1e-12
        assert not result["U"][layer].any()


def test_stands_alone_with_numpy_and_its_activation(tmp_path):
    source = kernel_for(["D"], activation="gelu", name="mine")
    assert "Activation: gelu, with its derivatives in ACTIVATION" in source.text
    program = (
        "x = np.array([[1.0, 2.0], [0.5, -1.0]])\n"
        "layers = mine.propagate(mine.ACTIVATION, x @ x.T / 2, 3, C_b=0.0, C_W=1.9,\n"
        "                        lambda_b=0.0, lambda_W=1.0)\n"
        "print(layers['D'].shape, np.isfinite(layers['D']).all())\n"
    )
    assert printed_next_to(tmp_path, source.text, program) == "(3, 2, 2, 2, 2) True\n"


@pytest.mark.parametrize("names", [["G"], ["V"], ["A", "G.1"], NAMES], ids=len)
def test_lines_fit_and_only_what_is_needed_is_copied(names):
    source = kernel_for(names, name="some")
    assert max(map(len, source.text.splitlines())) <= 100
    assert ("def quadruple_means" in source.text) or names == ["G"]
    tensors = {name for name, one in loaded(source).RECURSIONS.items() if one.axes}
    assert tensors == set(source.tensors)


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (RecursionSystem(()), "The system lacks the kernel G"),
        (RecursionSystem((derive("G"), derive("B"))), "is not closed: it lacks H"),
        (derive_system(["V"], form="z"), "is not for many inputs in the derivative form"),
        (derive_system(["X6"]), "has 6 axes and means of up to 6 samples"),
    ],
)
def test_systems_that_have_no_kernel(system, message):
    with pytest.raises(KernelError, match=message):
        generate_kernel(system, name="x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"overlap": np.ones(3)}, r"The overlap has shape \(3,\)\. .* Give an array of shape \(N"),
        ({"overlap": np.ones((0, 0))}, r"The overlap has shape \(0, 0\)"),
        ({"overlap": [[1.0, 2.0], [2.0, 1.0]]}, "is not that of real inputs"),
        ({"overlap": [[1.0, np.nan], [np.nan, 1.0]]}, "is not that of real inputs"),
        ({"overlap": [[-1.0]]}, "is not that of real inputs"),
        ({"overlap": [[1.0, 0.5], [0.4, 1.0]]}, "is not that of real inputs: .* not symmetric"),
        ({"overlap": 1.9 * np.eye(3) - 0.9}, "The overlap has a negative eigenvalue"),
        ({"overlap": "x"}, "overlap is 'x'. It must consist of real numbers"),
        ({"depth": 0}, "The depth is 0"),
        ({"depth": True}, "The depth is True"),
        ({"depth": 10**400}, "layers would take about 1e\\+291 GB of memory"),
        ({"depth": 10**9}, "GB of memory, and this kernel takes 8 GB at most. Give fewer samples"),
        ({"activation": SINE[:3]}, "given by 3 functions. The tensors G H B P R need 4"),
        ({"activation": [1, 2, 3, 4]}, "Its members are called with arrays"),
        ({"activation": [abs, np.sign, *[np.zeros_like] * 2]}, "do not converge|derivative of"),
        ({"C_W": -1.0}, "C_W is -1.0 at layer 1"),
        ({"C_W": [1.0, 2.0]}, "C_W has shape"),
        ({"lambda_W": None}, "lambda_W is missing"),
        ({"widths": [3.0]}, "widths has shape"),
        ({"tensors": ["R", "Y"]}, r"The tensors \['Y'\] are not known. This kernel computes G H V"),
        ({"tensors": 3}, r"The tensors \[3\] are not known"),
        ({"tensors": [[]]}, r"The tensors \[\[\]\] are not known"),
        ({"samples": [[0, 1, 2]]}, r"The samples \[\[0, 1, 2\]\] are not quadruples of 0 … 2"),
        ({"samples": [[0, 1, 2, 3]]}, "are not quadruples of 0 … 2"),
        ({"samples": [[0], [1, 2]]}, "are not quadruples"),
        ({"samples": np.zeros((0, 4), int)}, "There are no samples"),
        ({"means": 3}, "means is 3. Give a function"),
        ({"means": lambda *_: 3}, "The means returned 3 for the orders"),
        ({"means": lambda *_: []}, r"The means returned \[\] for the orders"),
        ({"means": lambda K, orders, _: [K] * len(orders)}, "return a list with a table for each"),
        ({"after_layer": 3}, "after_layer is 3. Give a function"),
        ({"overlap": np.ma.masked_array(np.eye(2), mask=np.eye(2))}, "overlap is masked_array"),
        ({"C_b": 1e308}, r"of layer 1 is 1e\+308, too large .* Give a smaller C_b"),
        ({"C_W": 1e200}, r"too large .* C_W is 1e\+200, .* Give smaller inputs, or a smaller C_W"),
        ({"C_W": [1.0, 1e150, 1.0]}, r"has the variance .*e\+149.* on the way to layer 3 of 3"),
        ({"lambda_W": 1e308, "overlap": 1e3 * np.eye(2)}, "H overflows at layer 1"),
        ({"tolerance": 0.0}, "The tolerance is 0.0"),
        ({"tolerance": "tight"}, "The tolerance is 'tight'"),
    ],
)
def test_input_that_cannot_be_used(change, message):
    given = {
        "activation": SINE,
        "overlap": overlap(X),
        "depth": 3,
        "C_b": 0.0,
        "C_W": 1.0,
        "lambda_b": 0.0,
        "lambda_W": 1.0,
        "tensors": ["R"],
        **change,
    }
    with pytest.raises(KernelInputError, match=message):
        propagate(**given)


@pytest.mark.parametrize(
    "means",
    [ClosedMeans(SINE, "erf"), ClosedMeans(SINE, "gelu"), KinkedMeans(*RELU), SmoothMeans(SINE)],
    ids=lambda means: getattr(means, "family", type(means).__name__),
)
@pytest.mark.parametrize("count", [5, 130])
def test_means_by_pairs_are_those_of_whole_tables(means, count):
    x = np.random.default_rng(2).standard_normal((count, 50))
    given = {"C_b": 0.1, "C_W": 1.3, "lambda_b": 0.2, "lambda_W": 1.0, "tensors": ["H"]}
    found = propagate(SINE, overlap(x), 4, means=means, **given)
    whole = propagate(SINE, overlap(x), 4, means=lambda *asked: means(*asked), **given)
    for name, tensor in whole.items():
        np.testing.assert_allclose(found[name], tensor, rtol=1e-13, atol=1e-13)
        assert np.array_equal(found[name], found[name].transpose(0, 2, 1))


def test_overflow_of_tensors_over_pairs_is_named():
    means, C_W = KinkedMeans(*RELU), [1.0, 1e90, 1e90, 1e200]
    with pytest.raises(
        KernelInputError, match=r"(overflows|variance).*on the way to layer \d of 4"
    ):
        propagate(SINE, 10.0 * overlap(X), 4, C_b=0.0, C_W=C_W, tensors=["G"], means=means)


@pytest.mark.parametrize(
    ("text", "shown"), [("Too large.", "Too large"), ("Bad", "Bad"), ("", "The means failed")]
)
def test_errors_of_means_from_elsewhere_name_the_layer(text, shown):
    def means(K, orders, samples):
        if K.max() > 10.0:
            raise ValueError(text)
        return SmoothMeans(SINE)(K, orders, samples)

    with pytest.raises(KernelInputError, match=rf"^{shown}\. This .*on the way to layer 3 of 5"):
        propagate(SINE, overlap(X), 5, C_b=0.0, C_W=[1.0, 40.0, 1, 1, 1], tensors="G", means=means)


@pytest.mark.parametrize("tensors", [["H"], ["V", "H"]], ids=len)
def test_duplicates_stay_so_where_rounding_would_grow(tensors):
    """Here a difference of 1e-16 becomes one of order 1 in 14 layers."""
    f = [lambda z, k=k: 5.0**k * SINE[k](5.0 * z) for k in range(4)]
    x = X[[0, 1, 0]]
    rates = {"C_b": 0.3, "C_W": 2.0, "lambda_b": 0.0, "lambda_W": 1.0}
    found = propagate(f, overlap(x), 16, **rates, tensors=tensors, tolerance=1e-5)
    for name in ("G", "H"):
        np.testing.assert_allclose(found[name][:, 0], found[name][:, 2], rtol=1e-12)


@pytest.mark.parametrize("tensors", [["H"], ["V", "H"]], ids=len)
def test_opposite_inputs_of_odd_functions_stay_so(tensors):
    f = [lambda z, k=k: 5.0**k * SINE[k](5.0 * z) for k in range(4)]
    rates = {"C_b": 0.0, "C_W": 2.0, "lambda_b": 0.0, "lambda_W": 1.0}
    x = X[[0, 1, 0]] * np.array([[1.0], [1.0], [-1.0]])
    found = propagate(f, overlap(x), 16, **rates, tensors=tensors, tolerance=1e-5)
    for name in ("G", "H"):
        np.testing.assert_allclose(found[name][:, 0], -found[name][:, 2], rtol=1e-12)


def test_kernels_may_decay_to_nothing():
    found = propagate(
        SINE[:2], overlap(X), 400, C_b=0.0, C_W=0.1, lambda_b=0.0, lambda_W=1.0, tensors="H"
    )
    assert np.isfinite(found["H"]).all()
    assert (found["G"][-1] == 0.0).all()


def test_overflow_says_at_which_layer():
    square = [np.square, lambda z: 2.0 * z, *[lambda z: 2.0 + 0.0 * z] * 1, *[np.zeros_like] * 3]
    with pytest.raises(
        KernelInputError, match=r"on the way to layer \d+ of 40; the largest .*critical"
    ):
        propagate(square, overlap(X) * 100, 40, C_b=0.0, C_W=10.0, tensors=["V"])


def test_a_kernel_with_kinks_has_no_tensors_that_are_infinite():
    with pytest.raises(KernelError, match=r"^R S T U of relu cannot be had: it has kinks"):
        kernel_for(activation="relu")
    module = loaded(kernel_for(["V", "Q"], activation="relu"))
    layers = module.propagate(
        module.ACTIVATION, overlap(X), 3, C_b=0.0, C_W=2.0, lambda_b=0.0, lambda_W=1.0
    )
    assert np.isfinite(layers["Q"]).all()
