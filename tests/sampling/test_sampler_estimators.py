"""Which neurons and which moments make up a tensor, and how errors are estimated."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from oracle.montecarlo import function_of

from symdlt.sampling import (
    TENSORS,
    NetworkEnsemble,
    TensorPattern,
    Tree,
    measure,
    measurement,
    sample_networks,
)
from symdlt.sampling.moments import combine_moments, estimate_cumulant

ENSEMBLE = NetworkEnsemble.of((2, 3, 4, 3), C_b=0.2, C_W=1.5, lambda_b=0.4)
INPUTS = [[0.7, -0.4], [0.2, 1.1]]

# What section 6 of the theory prints: the expectation, and where each vertex 1, 2, 3, 4 (or
# 0, 1, 2, 3) of the tensor's index order stands in it, with one neuron letter a vertex.
WRITTEN = {
    "G": ("z1 z2", "aa", "12"),
    "H": ("H12", "aa", "12"),
    "V": ("z1 z2 | z3 z4", "aabb", "1234"),
    "A": ("H12 | H34", "aabb", "1234"),
    "B": ("H12 H34", "abab", "1324"),
    "D": ("z1 z2 | H34", "aabb", "1234"),
    "F": ("z1 z2 H34", "abab", "1324"),
    "P": ("dH012 z3", "abba", "0123"),
    "Q": ("dH012 z3", "aabb", "0123"),
    "R": ("ddI0123", "aabb", "0123"),
    "S": ("ddII1234", "aabb", "1234"),
    "T": ("ddII1234", "abab", "1342"),
    "U": ("ddII1234", "abba", "1423"),
    "A3": ("z1 | z2 z3", "abb", "123"),
    "N3": ("z1 | H23", "abb", "123"),
    "F3": ("z2 H13", "abb", "123"),
    "Q3": ("dH213", "abb", "123"),
}


def split_factor(factor):
    name = factor.rstrip("0123456789")
    return name, [int(digit) for digit in factor[len(name) :]]


def evaluate_side(text, sampled, neurons, samples):
    value = 1.0
    for factor in text.split():
        name, vertices = split_factor(factor)
        index = [neurons[v] for v in vertices] + [samples[v] for v in vertices]
        value = value * sampled[name][(slice(None), *index)]
    return value


def literal_component(text, pairs, letters, samples, sampled, outputs):
    """A mean, or an unbiased covariance of the two sides, averaged over choices of neurons."""
    sides = text.split("|")
    choices = list(permutations(range(outputs), pairs))
    together, apart = 0.0, [0.0] * len(sides)
    for choice in choices:
        neurons = {v: choice["ab".index(letter)] for v, letter in letters.items()}
        values = [evaluate_side(side, sampled, neurons, samples) for side in sides]
        together = together + np.prod(values, axis=0) / len(choices)
        apart = [mean + value / len(choices) for mean, value in zip(apart, values, strict=True)]
    if len(sides) == 1:
        return together.mean()
    count = len(together)
    spread = ((apart[0] - apart[0].mean()) * (apart[1] - apart[1].mean())).sum()
    return together.mean() - apart[0].mean() * apart[1].mean() + spread / (count * (count - 1))


def literal_estimate(name, sampled, outputs, width, size):
    text, letters, order = WRITTEN[name]
    first = 0 if "0" in text else 1
    lettered = {first + place: letter for place, letter in enumerate(letters)}
    pairs = len(set(letters))
    estimate = np.zeros((size,) * len(letters))
    for assigned in product(range(size), repeat=len(letters)):
        samples = dict(zip(map(int, order), assigned, strict=True))
        estimate[assigned] = literal_component(text, pairs, lettered, samples, sampled, outputs)
    return estimate * float(width) ** (pairs - 1)


def test_every_tensor_is_the_moment_that_the_theory_writes():
    """With one network a group both sides see the same networks, drawn one by one."""
    assert sorted(TENSORS) == sorted(WRITTEN)
    observables, activation = ["z", "H", "dH", "ddI", "ddII"], function_of("tanh")
    rng = np.random.default_rng(2)
    singles = [
        sample_networks(ENSEMBLE, activation, INPUTS, observables, 1, rng) for _ in range(80)
    ]
    sampled = {name: np.concatenate([one[name] for one in singles]) for name in observables}
    rng = np.random.default_rng(2)
    found = measure(ENSEMBLE, activation, INPUTS, list(TENSORS), 80, rng, groups=80)
    for name in TENSORS:
        expected = literal_estimate(name, sampled, 3, 4, 2)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found[name].values, expected, rtol=1e-9, atol=1e-11 * scale)


@pytest.mark.parametrize(
    "matching", [((0, 1), (2, 3), (4, 5)), ((1, 2), (0, 3), (4, 5)), ((0, 4), (1, 5), (2, 3))]
)
def test_neurons_that_a_matching_ties_are_those_of_the_whole_tree(matching):
    """A tree of five vertices, with branches below its root, times an output."""
    edges = ((0, 1), (0, 2), (0, 3), (3, 4))
    tree = Tree(5, edges)
    activation, rng = function_of("tanh"), np.random.default_rng(6)
    halves = [sample_networks(ENSEMBLE, activation, INPUTS, ["z", tree], 3, rng) for _ in range(2)]
    sampled = {name: np.concatenate([half[name] for half in halves]) for name in halves[0]}
    choices = list(permutations(range(3)))
    expected = 0.0
    for choice in choices:
        neuron = {end: choice[place] for place, pair in enumerate(matching) for end in pair}
        one = sampled[tree][(slice(None), *(neuron[v] for v in range(5)))]
        expected = expected + np.einsum("nabcde,nf->abcdef", one, sampled["z"][:, neuron[5]])
    pattern = TensorPattern(edges, matching)
    found = measure(ENSEMBLE, activation, INPUTS, [pattern], 6, np.random.default_rng(6), groups=2)[
        pattern
    ]
    expected = expected * 4**2 / (6 * len(choices))
    np.testing.assert_allclose(found.values, expected, rtol=1e-9, atol=1e-11 * abs(expected).max())


def test_names_and_patterns_are_measured_alike():
    rng = np.random.default_rng(3)
    found = measure(ENSEMBLE, function_of("sine"), INPUTS, ["T", TENSORS["T"]], 200, rng, groups=20)
    np.testing.assert_array_equal(found["T"].values, found[TENSORS["T"]].values)


def test_patterns_transpose_with_their_vertices():
    """P with its vertices renamed so that the matching is (01)(23)."""
    renamed = TensorPattern(edges=((0, 2), (0, 3)), matching=((0, 1), (2, 3)))
    rng = np.random.default_rng(4)
    found = measure(ENSEMBLE, function_of("tanh"), INPUTS, ["P", renamed], 200, rng, groups=20)
    np.testing.assert_allclose(
        found[renamed].values, found["P"].values.transpose(0, 3, 1, 2), rtol=1e-10
    )


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("V", (1, 0, 2, 3)),
        ("V", (2, 3, 0, 1)),
        ("A", (0, 1, 3, 2)),
        ("B", (1, 0, 3, 2)),
        ("B", (2, 3, 0, 1)),
        ("D", (1, 0, 2, 3)),
        ("F", (2, 3, 0, 1)),
        ("P", (0, 2, 1, 3)),
        ("R", (0, 1, 3, 2)),
        ("S", (1, 0, 3, 2)),
        ("T", (3, 2, 1, 0)),
        ("U", (2, 3, 0, 1)),
    ],
)
def test_tensors_have_the_symmetries_of_their_patterns(name, axes):
    rng = np.random.default_rng(5)
    found = measure(ENSEMBLE, function_of("tanh"), INPUTS, [name], 400, rng, groups=20)[name]
    np.testing.assert_allclose(found.values, found.values.transpose(axes), rtol=1e-9, atol=1e-11)


def test_the_joint_cumulant_of_three_is_the_usual_one():
    rng = np.random.default_rng(6)
    data = rng.standard_normal((3, 1000)) ** 2 + rng.standard_normal(1000)
    moments = {
        sum(1 << k for k in chosen): np.array(np.prod(data[list(chosen)], axis=0).mean())
        for size in (1, 2, 3)
        for chosen in combinations(range(3), size)
    }
    centred = data - data.mean(axis=1, keepdims=True)
    assert combine_moments(moments, 7) == pytest.approx(np.prod(centred, axis=0).mean())


def test_groups_that_take_several_batches_have_one_of_them_in_memory(monkeypatch):
    """Ten networks a group, of which one is drawn and evaluated before the next."""
    calls = []

    def told(name):
        function = getattr(measurement, name)
        monkeypatch.setattr(
            measurement, name, lambda *given: (calls.append(name), function(*given))[1]
        )

    told("draw_parameters"), told("evaluate_trees")
    monkeypatch.setattr(measurement, "choose_batch", lambda *_: 1)
    measure(ENSEMBLE, function_of("tanh"), INPUTS, ["V"], 20, np.random.default_rng(6), groups=2)
    assert calls == ["draw_parameters", "evaluate_trees"] * 20


def test_the_jackknife_of_a_mean_is_the_standard_error_of_the_group_means():
    values = np.random.default_rng(7).standard_normal((50, 1)) * 10
    estimate, error = estimate_cumulant({1: 10 * values}, 10, 1)
    assert estimate == pytest.approx(values.mean())
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(50))


def test_the_jackknife_covers_the_truth_as_often_as_it_should():
    """Covariance of x² and y² with correlation ρ is 2ρ²; 400 repetitions."""
    rng = np.random.default_rng(8)
    correlation, scores = 0.6, []
    for _ in range(400):
        x, y = rng.standard_normal((2, 50, 100))
        y = correlation * x + np.sqrt(1 - correlation**2) * y
        sums = {
            1: (x * x).sum(axis=1),
            2: (y * y).sum(axis=1),
            3: (x * x * y * y).sum(axis=1),
        }
        estimate, error = estimate_cumulant(sums, 100, 3)
        scores.append((estimate - 2 * correlation**2) / error)
    assert abs(np.mean(scores)) < 4 / np.sqrt(400)
    assert abs(np.std(scores) - 1) < 4 * np.sqrt(0.5 / 400)
