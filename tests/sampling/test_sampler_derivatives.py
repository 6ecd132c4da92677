"""The observables of single networks against derivatives taken by other means."""

from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from cases import swept
from mpmath import mp, mpf
from oracle.montecarlo import function_of, polynomial

from symdlt.definitions import Network
from symdlt.sampling import (
    NetworkEnsemble,
    NetworkParameters,
    Tree,
    draw_parameters,
    evaluate_networks,
)

INPUTS = {1: [[0.7], [-1.1]], 2: [[0.7, -0.4], [0.2, 1.1]], 3: [[0.5, 0.1, -0.8]]}
SKIP = {"xi": (0.0, -0.7), "g": (1.5, -1.1)}
SMALL = {
    "narrow": NetworkEnsemble.of(
        (2, 2, 1, 2), C_b=0.3, C_W=1.7, lambda_b=(0.4, 0.9, 1.3), lambda_W=(1.1, 0.6, 1.9)
    ),
    "unequal": NetworkEnsemble.of((1, 2, 2, 2), C_b=0.2, lambda_b=0.5, lambda_W=(2.0, 0.3, 0.7)),
    "residual": Network(
        None,
        [2],
        {"C_b": 0.2, "C_W": 1.0, "lambda_b": 0.5, "lambda_W": (2.0, 0.3), **SKIP},
        "z' = xi z + b + g W s(z)",
        n_0=1,
        n_L=2,
    ),
}
STAR_FOUR = Tree(5, ((0, 1), (0, 2), (0, 3), (0, 4)))
PATH_FIVE = Tree(5, ((2, 0), (0, 4), (4, 1), (1, 3)))
FORK = Tree(6, ((0, 1), (0, 2), (0, 3), (3, 4), (3, 5)))
BROOM = Tree(5, ((0, 1), (1, 2), (2, 3), (2, 4)))


def flatten(parameters, network):
    return np.concatenate(
        [
            array[network].ravel()
            for layer in zip(parameters.weights, parameters.biases, strict=True)
            for array in layer
        ]
    )


def rates(ensemble):
    return np.concatenate(
        [
            np.concatenate([np.full(n * m, lam_w / n), np.full(m, lam_b)])
            for n, m, lam_w, lam_b in zip(
                ensemble.sizes[:-1],
                ensemble.sizes[1:],
                ensemble.lambda_W,
                ensemble.lambda_b,
                strict=True,
            )
        ]
    )


def run(theta, widths, x, function, values):
    """The network, scalar by scalar, from a flat list of parameters in any arithmetic."""
    signal, position, z = list(x), 0, None
    skip, gain = values.get("xi"), values.get("g")
    for layer, width in enumerate(widths[1:]):
        biases = position + width * len(signal)
        below = z
        z = [
            sum(
                (theta[position + i * len(signal) + j] * s for j, s in enumerate(signal)),
                theta[biases + i],
            )
            for i in range(width)
        ]
        if gain:
            biased = zip(z, theta[biases : biases + width], strict=True)
            z = [gain[layer] * (entry - bias) + bias for entry, bias in biased]
        if layer and skip:
            z = [entry + skip[layer] * old for entry, old in zip(z, below, strict=True)]
        position = biases + width
        signal = z if layer == len(widths) - 2 else [function(entry) for entry in z]
    return signal


def numerical_derivative(theta, indices, evaluate, step):
    """Central differences in the parameters `indices`, a mixed derivative of that order."""
    total = None
    for signs in product((1, -1), repeat=len(indices)):
        moved = list(theta)
        for index, sign in zip(indices, signs, strict=True):
            moved[index] += sign * step
        value = [int(np.prod(signs)) * entry for entry in evaluate(moved)]
        total = value if total is None else [a + b for a, b in zip(total, value, strict=True)]
    return [float(entry / (2 * step) ** len(indices)) for entry in total]


def derivative_tensors(ensemble, parameters, network, inputs, order):
    """Dᵏz for k ≤ order as dense arrays (outputs, samples, P, …, P), in 80-digit arithmetic."""
    with mp.workdps(80):
        theta = [mpf(float(entry)) for entry in flatten(parameters, network)]
        step = mpf(10) ** -14
        size = len(theta)
        outputs = ensemble.sizes[-1]
        tensors = []
        for degree in range(order + 1):
            tensor = np.zeros((outputs, len(inputs)) + (size,) * degree)
            for sample, x in enumerate(inputs):

                def evaluate(moved, x=x):
                    inputs = [mpf(entry) for entry in x]
                    return run(moved, ensemble.sizes, inputs, mp.tanh, dict(ensemble.values))

                for indices in combinations_with_replacement(range(size), degree):
                    value = numerical_derivative(theta, indices, evaluate, step)
                    for order_of_indices in set(permutations(indices)):
                        tensor[(slice(None), sample, *order_of_indices)] = value
            tensors.append(tensor)
    return tensors


def sum_over_parameters(tree, tensors, rate):
    """The definition of the tree observable, literally."""
    neurons, samples, parameters = "abcdef"[: tree.vertices], "ABCDEF"[: tree.vertices], "uvwxy"
    indices = [neuron + sample for neuron, sample in zip(neurons, samples, strict=True)]
    for letter, edge in zip(parameters, tree.edges, strict=False):
        for vertex in edge:
            indices[vertex] += letter
    factors = [rate] * len(tree.edges) + [tensors[len(entry) - 2] for entry in indices]
    left = ",".join([*parameters[: len(tree.edges)], *indices])
    return np.einsum(f"{left}->{neurons}{samples}", *factors, optimize="greedy")


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted(SMALL))
def test_every_observable_is_the_sum_over_parameters(case):
    ensemble = SMALL[case]
    inputs = INPUTS[ensemble.sizes[0]]
    parameters = draw_parameters(ensemble, 2, np.random.default_rng(5))
    names = ["z", "H", "dH", "ddI", "ddII"]
    trees = [
        Tree(1),
        Tree(2, ((0, 1),)),
        Tree(3, ((0, 1), (0, 2))),
        Tree(4, ((0, 1), (0, 2), (0, 3))),
        Tree(4, ((0, 1), (0, 2), (1, 3))),
    ]
    larger = [BROOM, PATH_FIVE, FORK]
    found = evaluate_networks(parameters, ensemble, function_of("tanh"), inputs, [*names, *larger])
    tensors = derivative_tensors(ensemble, parameters, 1, inputs, 3)
    for name, tree in zip([*names, *larger], [*trees, *larger], strict=True):
        expected = sum_over_parameters(tree, tensors, rates(ensemble))
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(found[name][1], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_fourth_derivatives_are_the_sum_over_parameters():
    ensemble = NetworkEnsemble.of(
        (1, 1, 2, 1), C_b=0.5, C_W=2.0, lambda_b=(0.4, 0.9, 1.3), lambda_W=(1.1, 0.6, 1.9)
    )
    parameters = draw_parameters(ensemble, 1, np.random.default_rng(6))
    found = evaluate_networks(parameters, ensemble, function_of("tanh"), INPUTS[1][:1], [STAR_FOUR])
    tensors = derivative_tensors(ensemble, parameters, 0, INPUTS[1][:1], 4)
    expected = sum_over_parameters(STAR_FOUR, tensors, rates(ensemble))
    np.testing.assert_allclose(found[STAR_FOUR][0], expected, rtol=1e-10, atol=1e-12)


def move(parameters, ensemble, direction):
    """Parameters moved by an imaginary step along a flat direction."""
    weights, biases, position = [], [], 0
    for n, m in zip(ensemble.sizes[:-1], ensemble.sizes[1:], strict=True):
        weights.append(direction[position : position + n * m].reshape(1, m, n))
        biases.append(direction[position + n * m : position + n * m + m].reshape(1, m))
        position += n * m + m
    return NetworkParameters(
        tuple(w + step for w, step in zip(parameters.weights, weights, strict=True)),
        tuple(b + step for b, step in zip(parameters.biases, biases, strict=True)),
    )


def attach_leaf(tree, vertex):
    return Tree(tree.vertices + 1, (*tree.edges, (vertex, tree.vertices)))


@pytest.mark.parametrize("name", ["tanh", swept("swish"), "sine"])
@pytest.mark.parametrize(
    "tree", [Tree(1), Tree(2, ((0, 1),)), Tree(3, ((1, 0), (1, 2))), BROOM, STAR_FOUR, PATH_FIVE]
)
def test_a_step_along_a_gradient_attaches_a_leaf_everywhere(name, tree):
    """Leibniz: along λ∇z_x a tree changes by the sum of the trees with x attached at a vertex."""
    ensemble = NetworkEnsemble.of(
        (2, 4, 3, 2), C_b=0.1, C_W=1.5, lambda_b=(0.4, 0.9, 1.3), lambda_W=(1.1, 0.6, 1.9)
    )
    inputs = [[0.7, -0.4]]
    activation = function_of(name)
    parameters = draw_parameters(ensemble, 1, np.random.default_rng(8))
    step = 1e-30

    def change(direction, observable):
        moved = move(parameters, ensemble, 1j * step * direction)
        values = evaluate_networks(moved, ensemble, activation, inputs, [observable])
        return values[observable].imag / step

    size = len(rates(ensemble))
    gradient = np.stack([change(unit, "z")[0, :, 0] for unit in np.eye(size)])
    larger = [attach_leaf(tree, vertex) for vertex in range(tree.vertices)]
    found = evaluate_networks(parameters, ensemble, activation, inputs, larger)
    total = sum(found[entry] for entry in larger)
    for neuron in range(2):
        expected = change(rates(ensemble) * gradient[:, neuron], tree)
        with_leaf = np.take(total, neuron, axis=tree.vertices + 1)
        np.testing.assert_allclose(
            with_leaf.reshape(-1), expected.reshape(-1), rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize("renaming", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)])
def test_renaming_vertices_transposes_the_array(renaming):
    ensemble = NetworkEnsemble.of((2, 3, 2), lambda_b=0.5)
    path = Tree(4, ((0, 1), (1, 2), (2, 3)))
    renamed = Tree(4, tuple((renaming[a], renaming[b]) for a, b in path.edges))
    parameters = draw_parameters(ensemble, 3, np.random.default_rng(9))
    found = evaluate_networks(
        parameters, ensemble, polynomial(0.1, 1.0, 0.3, -0.2), INPUTS[2], [path, renamed]
    )
    axes = [1 + renaming[v] for v in range(4)] + [5 + renaming[v] for v in range(4)]
    np.testing.assert_allclose(
        found[path], found[renamed].transpose(0, *axes), rtol=1e-12, atol=1e-14
    )


def test_observables_have_the_symmetries_of_their_trees():
    ensemble = NetworkEnsemble.of((2, 4, 3, 2), C_W=2.0, lambda_b=0.5)
    parameters = draw_parameters(ensemble, 20, np.random.default_rng(10))
    found = evaluate_networks(
        parameters, ensemble, function_of("tanh"), INPUTS[2], ["H", "dH", "ddI", "ddII"]
    )
    swaps = {
        "H": [(1, 0)],
        "dH": [(0, 2, 1)],
        "ddI": [(0, 2, 1, 3), (0, 1, 3, 2)],
        "ddII": [(1, 0, 3, 2)],
    }
    for name, orders in swaps.items():
        for order in orders:
            k = len(order)
            axes = [1 + v for v in order] + [1 + k + v for v in order]
            np.testing.assert_allclose(found[name], found[name].transpose(0, *axes), atol=1e-12)
    swapped = found["ddII"].transpose(0, 2, 1, 3, 4, 6, 5, 7, 8)
    assert np.abs(found["ddII"] - swapped).max() > 0.1


def test_a_linear_network_has_the_derivatives_of_its_matrix_product():
    """For z = W₂ W₁ x: H = λ₂ (W₁x)·(W₁y)/n₁ + λ₁ W₂W₂ᵀ x·y/n₀ and dH₀₁₂ by the product rule."""
    ensemble = NetworkEnsemble.of((3, 4, 2), lambda_W=(0.7, 1.9))
    parameters = draw_parameters(ensemble, 5, np.random.default_rng(11))
    first, second = parameters.weights
    x = np.array([[1.0, 0.5, -0.2], [0.3, -0.6, 0.9]])
    found = evaluate_networks(parameters, ensemble, function_of("linear"), x, ["H", "dH"])
    hidden = np.einsum("njk,dk->njd", first, x)
    rates_of = 0.7 / 3, 1.9 / 4
    top = np.einsum("nja,njb,iI->niIab", hidden, hidden, np.eye(2)) * rates_of[1]
    low = np.einsum("nij,nIj,ak,bk->niIab", second, second, x, x) * rates_of[0]
    np.testing.assert_allclose(found["H"], top + low, rtol=1e-12)
    mixed = np.einsum("ij,nJl,nlb,ac->niJjabc", np.eye(2), second, hidden, x @ x.T)
    mixed = rates_of[0] * rates_of[1] * mixed
    one = np.einsum("niJjabc->nijJabc", mixed)
    other = np.einsum("niJjabc->niJjacb", mixed)
    np.testing.assert_allclose(found["dH"], one + other, rtol=1e-10, atol=1e-12)


def test_a_perceptron_without_hidden_layer_has_no_higher_differentials():
    ensemble = NetworkEnsemble.of((2, 2), lambda_b=0.5)
    parameters = draw_parameters(ensemble, 3, np.random.default_rng(12))
    found = evaluate_networks(parameters, ensemble, (), INPUTS[2], ["H", "dH", "ddI"])
    gram = 0.5 + np.array(INPUTS[2]) @ np.array(INPUTS[2]).T / 2
    for network in range(3):
        expected = np.eye(2)[:, :, None, None] * gram
        np.testing.assert_allclose(found["H"][network], expected, atol=1e-15)
    assert found["dH"].shape == (3, 2, 2, 2, 2, 2, 2)
    assert not found["dH"].any()
    assert not found["ddI"].any()
