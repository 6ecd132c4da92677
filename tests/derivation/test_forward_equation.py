"""Stochastic forward equations hold for every single network, before any average.

The network is written out in all its weights and differentiated as polynomials in them, in exact
arithmetic; the equation is evaluated on the layer below.
"""

from fractions import Fraction
from itertools import product
from math import prod

import pytest
from book.test_definitions import TOP, Forward
from cases import slow

from symdlt.combinatorics import connected_components
from symdlt.definitions import DDNTK_I, DDNTK_II, DNTK, NTK, OBSERVABLES, Forest
from symdlt.derivation import forward_equation, spelled_out

WIDTH = 2


@pytest.fixture(scope="module")
def network():
    return Forward()


def evaluated(equation, network, i, d):
    """The right-hand side at neurons i and samples d of the upper layer."""
    terms = [one for term in equation.terms for one in spelled_out(equation.layer, term)]
    return sum(term_value(equation.layer, term, network, i, d) for term in terms)


def term_value(layer, term, network, i, d):
    if any(i[u] != i[v] for (u, v), _ in term.new):
        return Fraction(0)
    weight, bias = (name_of(layer, "W"), name_of(layer, "b"))
    rate = prod(network.new if k == weight else TOP.lambda_b for _, k in term.new)
    shared = {v: u for (u, v), k in term.new if k == weight}
    summed = [v for v, k in enumerate(term.branches) if k != bias and v not in shared]
    total = Fraction(0)
    for choice in product(range(WIDTH), repeat=len(summed)):
        j = dict(zip(summed, choice, strict=True))
        j |= {v: j[u] for v, u in shared.items()}
        number = prod(network.w[i[v]][j[v]] for v in j if not term.is_new(v)) * prod(
            network.s(j[v], d[v], len(term.blocks[v])) for v in j
        )
        total += number * lower_trees(term, network, j, d)
    return rate * total


def name_of(layer, letter):
    """The number of the branch with a tensor of that letter."""
    return next(k for k, branch in enumerate(layer.branches) if branch.tensor.name == letter)


def lower_trees(term, network, j, d):
    places = [(j[v], d[v]) for v, _ in term.lower_vertices]
    number = Fraction(1)
    for tree in connected_components(range(len(places)), term.lower_edges):
        position = {v: k for k, v in enumerate(tree)}
        edges = tuple((position[u], position[v]) for u, v in term.lower_edges if u in position)
        number *= network.tree(edges, *(places[v] for v in tree))
    return number


@pytest.mark.parametrize(
    "forest",
    [
        NTK,
        DNTK,
        DDNTK_I,
        DDNTK_II,
        Forest(5, ((0, 1), (0, 2), (0, 3), (0, 4))),
        Forest(5, ((0, 1), (1, 2), (2, 3), (3, 4))),
        Forest(5, ((0, 1), (0, 2), (1, 3), (1, 4))),
    ],
    ids=str,
)
@pytest.mark.parametrize("i", [(0, 0, 0, 0, 1), slow((0, 1, 0, 1, 1)), (0, 1, 1, 0, 0)])
def test_equation_holds_for_a_single_network(forest, i, network):
    i, d = i[: forest.vertices], (0, 1, 2, 3, 1)[: forest.vertices]
    expected = network.top.tree(i, d, forest.edges)
    assert expected != 0
    assert evaluated(forward_equation(forest), network, i, d) == expected


def test_text_of_the_first_equations():
    assert str(forward_equation(OBSERVABLES["preactivation"])) == (
        "z_{i0; d0}[l+1] =\n  + sum_{j0} W_{i0 j0} s_{j0;d0}\n  + b_{i0}"
    )
    assert len(forward_equation(DDNTK_I).terms) == 11
    assert len(forward_equation(DDNTK_II).terms) == 10
