"""Layers that users write, at the second layer, against networks written out in all parameters.

With polynomial activations every moment of a small network is a rational number that nothing of
the theory enters. At the second layer the leading piece of a tensor is exact at every width, so
that width two decides.
"""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from direct import value
from exact.gaussian import Rows, matrix, mean
from exact.literal import expectation, same_statistics, write_out
from exact.network import Layer as Numbers

from symdlt import derive
from symdlt.combinatorics import mobius, set_partitions
from symdlt.definitions import BOOK
from symdlt.derivation import explain
from symdlt.errors import LayerError
from symdlt.formats import from_json, to_json
from symdlt.formats.latex import to_latex

RESIDUAL = "z' = xi z + b + W s(z)"
TWO_SKIPS = "z' = xi z + a z + b + W s(z)"
FIRST = Numbers(Rows(()), *(Fraction(x) for x in ("1/2", "3/2", "1/3", "2")))
TOP = [Fraction(x) for x in ("1/5", "2", "3/7", "1/2")]
SKIP = Fraction(-2, 3)
INPUTS = (Fraction(1), Fraction(-2), Fraction(1, 2), Fraction(3))
QUADRATIC = Rows(((1, 2, 3), (-1, 1, 2), (2, -3, 1), (1, 1, -2)))
WIDTH = 2


@pytest.fixture(scope="module")
def network():
    return write_out(INPUTS, FIRST, [Numbers(QUADRATIC, *TOP)], (WIDTH, WIDTH), SKIP)


def joint_cumulant(network, correlator):
    """The connected correlator of the trees, at the neurons that single out the matching."""
    neurons = {v: k for k, pair in enumerate(correlator.matching) for v in pair}
    total = Fraction(0)
    for partition in set_partitions(correlator.forest.components):
        sizes = (len(partition),)
        means = []
        for block in partition:
            vertices = [v for tree in block for v in tree]
            place = {v: k for k, v in enumerate(vertices)}
            edges = [(place[u], place[v]) for u, v in correlator.forest.edges if u in place]
            where = [neurons[v] for v in vertices]
            means.append(expectation(network, where, vertices, edges))
        total += mobius(sizes) * prod(means)
    return total


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        *((name, RESIDUAL) for name in BOOK),
        *((n, TWO_SKIPS) for n in ("G", "H", "V", "F", "P", "T")),
    ],
)
def test_a_residual_layer_is_exact_at_the_second_layer(name, layer, network):
    recursion = derive(name, layer=layer, at=2)
    below = same_statistics(INPUTS, FIRST, [])
    lower = {"G": np.array(below.metric, object), "H": np.array(below.ntk, object)}
    names = ("C_b", "C_W", "lambda_b", "lambda_W")
    # two skips are one whose constant is their sum
    skips = {"xi": SKIP} if layer == RESIDUAL else {"xi": SKIP - 1, "a": Fraction(1)}
    hyper = {**dict(zip(names, TOP, strict=True)), **skips}

    def bracket(factors, inserted=()):
        return mean(factors, QUADRATIC, matrix(below.metric), inserted)

    index = tuple(range(recursion.correlator.axes))
    found = value(recursion, index, lower, bracket, hyper, Fraction(1))
    width = WIDTH ** (recursion.correlator.pairs - 1)
    assert found == joint_cumulant(network, recursion.correlator) * width
    assert found != 0


def test_the_skip_is_what_makes_the_difference(network):
    """The dense recursion fails the same comparison: the test can tell them apart."""
    plain = derive("V", at=2)
    skipped = derive("V", layer=RESIDUAL, at=2)
    assert set(plain.terms) != set(skipped.terms)
    assert len(skipped.terms) == len(plain.terms) + 4


def test_a_residual_layer_is_printed_explained_saved_and_loaded():
    recursion = derive("V", layer=RESIDUAL, at=2, inputs="one")
    assert str(recursion).splitlines() == [
        "V[2] =",
        "  - C_W^2 <s s>^2",
        "  + C_W^2 <s s s s>",
        "  + 2 C_W xi^2 <z z s s>",
        "  - 2 C_W xi^2 <s s> G",
    ]
    assert from_json(to_json(recursion)) == recursion
    assert "they stay on their neuron by z: xi^2" in explain(recursion)
    assert r"\left(\xi^{(2)}\right)^{2}" in to_latex(recursion)
    assert r"_{K^{(1)}}" in to_latex(recursion)


@pytest.mark.parametrize("name", ["V", "G.1", "R"])
def test_deeper_than_the_second_layer_a_skip_is_refused_with_the_reason(name):
    with pytest.raises(LayerError, match=r"does not close .* at several depths"):
        derive(name, layer=RESIDUAL)


def test_at_infinite_width_the_kernel_and_the_ntk_close_with_a_skip():
    """There z is Gaussian, whatever it keeps."""
    kernel, ntk = (derive(name, layer=RESIDUAL, inputs="one") for name in "GH")
    assert str(kernel) == "G[l+1] =\n  + C_b\n  + C_W <s s>\n  + xi^2 G"
    assert str(ntk).splitlines()[-2:] == ["  + C_W <s' s'> H", "  + xi^2 H"]


def test_two_weights_in_one_layer_close_at_every_depth():
    """z' = W σ(z) + U z: the metric is the sum, and U alone is a deep linear network."""
    metric = derive("G", layer="z' = W s(z) + U z", inputs="one")
    assert str(metric) == "G[l+1] =\n  + C_W <s s>\n  + C_U G"
    linear = derive("V", layer="z' = U z", inputs="one")
    assert str(linear) == "V[l+1] =\n  + 2 C_U^2 G^2\n  + (n/n') C_U^2 V"


def test_a_rational_constant_multiplies_every_factor_it_meets():
    halved = derive("V", layer="z' = b + 1/2 W s(z)", inputs="one")
    plain = derive("V", inputs="one")
    numbers = [term.coefficient for term in halved.terms]
    assert numbers == [term.coefficient / 16 for term in plain.terms]
