"""The thirteen recursions against the book's, which are written down without the engine.

The lower tensors are random fractions with nothing but the symmetries of their definitions, and
every sample has an activation of its own, so that no term can stand in for another one.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest
from book import CORRELATORS, RECURSIONS
from book.brackets import inverse
from cases import slow
from direct import value
from exact import bracket_of, random_network

from symdlt.definitions import BOOK
from symdlt.derivation import TensorFactor, derive

RATIO = Fraction(3, 7)
INDEX = (0, 1, 2, 3)


@cache
def setting(seed):
    """K, Θ and random tensors below, the brackets and the hyperparameters of a random layer."""
    network = random_network(seed, (4, 5, 4, 5))
    lower = {
        "G": np.array([[Fraction(x) for x in row] for row in network.metric], dtype=object),
        "H": np.array(network.ntk, dtype=object),
    }
    source = Random(seed)
    for name, correlator in BOOK.items():
        if correlator.pairs > 1:
            raw = np.array(
                [Fraction(source.randint(-9999, 9999)) for _ in range(256)], dtype=object
            )
            raw = raw.reshape((4,) * 4)
            lower[name] = sum(raw.transpose(way) for way in correlator.symmetries)
    layer = network.layers[0]
    return lower, bracket_of(layer, network.metric), layer.hyper(), inverse(lower["G"])


@cache
def by_book(name, seed):
    lower, bracket, hyper, _ = setting(seed)
    return RECURSIONS[name](lower, bracket, hyper, RATIO)


def engine(recursion, index, seed):
    lower, bracket, hyper, upper = setting(seed)
    return value(recursion, index, lower, bracket, hyper, RATIO, upper)


@pytest.mark.parametrize("name", BOOK)
def test_definition_is_the_books(name):
    edges, matching = CORRELATORS[name]
    assert BOOK[name].forest.edges == edges
    assert BOOK[name].matching == matching


@pytest.mark.parametrize("name", BOOK)
@pytest.mark.parametrize("index", [INDEX, (2, 0, 3, 1), (0, 0, 1, 1), (1, 0, 1, 0), (3, 3, 3, 3)])
def test_derivative_form(name, index):
    recursion = derive(name)
    index = index[: recursion.correlator.axes]
    assert engine(recursion, index, 1) == by_book(name, 1)[index]


@pytest.mark.parametrize("name", BOOK)
def test_z_form(name):
    recursion = derive(name, form="z")
    index = INDEX[: recursion.correlator.axes]
    assert engine(recursion, index, 1) == by_book(name, 1)[index]


@pytest.mark.parametrize("form", ["derivative", "z"])
@pytest.mark.parametrize("name", BOOK)
def test_single_input(name, form):
    recursion = derive(name, inputs="one", form=form)
    lower, bracket, hyper, _ = setting(2)
    alone = {key: array[(slice(0, 1),) * array.ndim] for key, array in lower.items()}
    expected = RECURSIONS[name](alone, bracket, hyper, RATIO)
    index = (0,) * recursion.correlator.axes
    assert (
        value(recursion, index, alone, bracket, hyper, RATIO, inverse(alone["G"]))
        == (expected[index])
    )


def mutations(recursion):
    """Every recursion with one term dropped, doubled, flipped, or with two samples swapped."""
    for k, term in enumerate(recursion.terms):
        rest = recursion.terms[:k] + recursion.terms[k + 1 :]
        yield "dropped", k, replace(recursion, terms=rest)
        for word, factor in (("doubled", 2), ("flipped", -1)):
            changed = replace(term, coefficient=term.coefficient * factor)
            yield word, k, replace(recursion, terms=(*rest, changed))
        for a in recursion.samples:
            for b in recursion.samples:
                changed = swapped(term, {a: b, b: a})
                if a < b and changed not in recursion.terms:
                    yield f"{a} and {b} swapped", k, replace(recursion, terms=(*rest, changed))


def swapped(term, rename):
    brackets = tuple(
        replace(b, factors=tuple(sorted((rename.get(s, s), k) for s, k in b.factors)))
        for b in term.brackets
    )
    tensors = []
    for factor in term.tensors:
        samples = tuple(rename.get(s, s) for s in factor.samples)
        ways = factor.correlator.symmetries
        best = min(tuple(samples[axis] for axis in way) for way in ways)
        tensors.append(TensorFactor(factor.correlator, factor.piece, best))
    tensors.sort(key=lambda t: t.sort_key)
    return replace(term, brackets=tuple(sorted(brackets)), tensors=tuple(tensors))


@pytest.mark.parametrize("name", [slow(name) if name == "A" else name for name in BOOK])
def test_every_mutation_is_caught(name):
    recursion = derive(name)
    index = INDEX[: recursion.correlator.axes]
    expected = by_book(name, 1)[index]
    count = 0
    for word, k, mutant in mutations(recursion):
        count += 1
        assert engine(mutant, index, 1) != expected, f"term {k + 1} {word} goes unseen"
    assert count >= 3 * len(recursion.terms)
