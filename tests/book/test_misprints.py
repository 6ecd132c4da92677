"""The recursions as the scan prints them disagree with exact networks; corrected they agree.

Each entry is what the printed text adds to the corrected recursion, at the samples of one index.
`test_against_exact` shows that the corrected one is exact, so a printed variant that differs from
it is wrong. The samples have different activations, so that no difference can hide.
"""

import pytest
from exact import bracket_of, leading, matrix, random_network, second_layer, stacked

from .correlators import CORRELATORS
from .test_against_exact import RATIO, exact_fourth, four_layers, one_more, second, third


class Terms:
    """The brackets, tensors and constants of one layer under the names the book gives them."""

    def __init__(self, network, below=None):
        layer = network.layers[-1]
        if below:
            self.H, self.B, self.F = below["H"], below["B"], below["F"]
            self.P, self.Q, self.R = below["P"], below["Q"], below["R"]
            self.bracket = bracket_of(layer, matrix(below["G"].tolist()))
        else:
            self.H = {(a, b): network.ntk[a][b] for a in range(4) for b in range(4)}
            self.bracket = bracket_of(layer, network.metric)
        self.cw, self.lw, self.r = layer.C_W, layer.lambda_W, RATIO

    def m(self, **orders):
        """m(s1=2, s3=0) is ⟨σ''_1 σ_3⟩; a name is s and the sample."""
        return self.bracket(sorted((int(name[1:]), k) for name, k in orders.items()))


# Samples are 0 1 2 3: for R as printed, for S T U the printed label minus one.
SECOND = {
    "(∞.179), H H H": (
        "S",
        (0, 1, 2, 3),
        lambda t: (
            t.cw**2
            * (t.m(s0=2, s1=2, s2=2, s3=1) - t.m(s0=2, s1=2, s2=1, s3=1))
            * (t.H[0, 1] * t.H[0, 2] * t.H[1, 3])
        ),
    ),
    "(∞.180), third term": (
        "T",
        (0, 2, 3, 1),
        lambda t: (
            t.cw
            * t.lw
            * (t.m(s0=1, s1=1, s2=0, s3=1) - t.m(s0=1, s1=2, s2=0, s3=1))
            * (t.H[1, 0] * t.H[1, 3])
        ),
    ),
    "(∞.180), mirror of the third term": (
        "T",
        (0, 2, 3, 1),
        lambda t: (
            t.cw
            * t.lw
            * (t.m(s0=2, s1=1, s2=0) - t.m(s0=2, s1=1, s2=1, s3=0))
            * (t.H[0, 1] * t.H[0, 2])
        ),
    ),
    "(∞.181), first term": (
        "U",
        (0, 3, 1, 2),
        lambda t: (
            t.cw**2
            * (t.m(s0=2, s1=2, s2=2, s3=2) - t.m(s0=2, s1=2, s2=1, s3=1))
            * (t.H[0, 1] * t.H[0, 2] * t.H[1, 3])
        ),
    ),
}

FOURTH = {
    "(∞.180), F term with the indices of its mirror": (
        "T",
        (0, 2, 3, 1),
        lambda t: (
            t.r
            * (t.cw * t.lw * t.H[0, 2])
            * sum(
                w13 * w24 * (t.F[a, 0, b, 1] - t.F[b, 0, a, 1])
                for b, w13 in ((0, t.m(s0=3, s2=1)), (2, t.m(s0=2, s2=2)))
                for a, w24 in ((1, t.m(s1=2, s3=0)), (3, t.m(s1=1, s3=1)))
            )
        ),
    ),
}

THIRD = {
    "(∞.177), P without its H": (
        "R",
        (0, 1, 2, 3),
        lambda t: (
            t.r
            * (t.cw**2 * t.m(s2=1, s3=1))
            * (
                t.m(s0=2, s1=1) * (t.P[0, 2, 3, 0] + t.P[0, 2, 3, 1])
                - t.H[0, 1]
                * (t.m(s0=3, s1=1) * t.P[0, 2, 3, 0] + t.m(s0=2, s1=2) * t.P[0, 2, 3, 1])
            )
        ),
    ),
    "(∞.177), P for R": (
        "R",
        (0, 1, 2, 3),
        lambda t: (
            t.r
            * (t.cw**2 * t.m(s2=1, s3=1) * t.m(s0=1, s1=1))
            * (t.P[0, 1, 2, 3] - t.R[0, 1, 2, 3])
        ),
    ),
    "(∞.180), F term printed twice": (
        "T",
        (0, 2, 3, 1),
        lambda t: (
            t.r
            * (t.cw * t.lw * t.H[0, 2])
            * sum(
                w13 * w24 * t.F[b, 0, a, 1]
                for b, w13 in ((0, t.m(s0=3, s2=1)), (2, t.m(s0=2, s2=2)))
                for a, w24 in ((1, t.m(s1=2, s3=0)), (3, t.m(s1=1, s3=1)))
            )
        ),
    ),
    "(∞.180), mirror Q term cut off": (
        "T",
        (0, 2, 3, 1),
        lambda t: (
            -t.r
            * (t.cw * t.lw * t.m(s0=1, s2=1))
            * (t.m(s1=2, s3=0) * t.Q[0, 2, 1, 1] + t.m(s1=1, s3=1) * t.Q[0, 2, 1, 3])
        ),
    ),
    "(∞.180), Q with H24": (
        "T",
        (0, 2, 3, 1),
        lambda t: (
            t.r
            * (t.cw**2 * t.H[1, 3])
            * (
                t.m(s0=2, s2=1)
                * (t.m(s1=3, s3=1) * t.Q[0, 2, 1, 1] + t.m(s1=2, s3=1) * t.Q[0, 2, 1, 3])
                - t.m(s0=1, s2=1)
                * (t.m(s1=3, s3=1) * t.Q[0, 2, 1, 1] + t.m(s1=2, s3=2) * t.Q[0, 2, 1, 3])
            )
        ),
    ),
    "(∞.180), Q with H13": (
        "T",
        (0, 2, 3, 1),
        lambda t: (
            t.r
            * (t.cw**2 * t.H[0, 2] * t.m(s1=1, s3=1))
            * ((t.m(s0=2, s2=1) - t.m(s0=2, s2=2)) * t.Q[1, 3, 0, 2])
        ),
    ),
}


@pytest.mark.parametrize("label", SECOND)
def test_printed_source_is_not_that_of_an_exact_network(label):
    name, index, difference = SECOND[label]
    network = random_network(21, (3, 3, 3, 3))
    exact = second_layer(network, index, *CORRELATORS[name])[1]
    corrected = second(network)[name][index]
    assert corrected == exact
    assert corrected + difference(Terms(network)) != exact


@pytest.mark.parametrize("label", THIRD)
def test_printed_inherited_term_is_not_that_of_an_exact_network(label):
    name, index, difference = THIRD[label]
    network = stacked((1, (3, 2, 2, 2)), (22, (3, 2, 1, 1)))
    if name == "T":
        network = stacked((1, (3, 2, 2, 2)), (23, (2, 3, 2, 1)))
    made, inherited = leading(network, index, *CORRELATORS[name])
    corrected = third(network)[name][index]
    assert corrected == made + RATIO * inherited
    assert (
        corrected + difference(Terms(network, second(network.below()))) != made + RATIO * inherited
    )


@pytest.mark.slow
@pytest.mark.parametrize("label", FOURTH)
def test_printed_term_is_not_that_of_an_exact_network_of_four_layers(label):
    name, index, difference = FOURTH[label]
    network = four_layers()
    below = third(network.below())
    exact = exact_fourth(network, name, index)
    corrected = one_more(below, network)[name][index]
    assert corrected == exact
    assert corrected + difference(Terms(network, below)) != exact
