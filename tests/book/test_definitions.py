"""Identities of the definitions, at single realisations of networks written out in full.

The updates (∞.6) and (∞.9), the symmetry after (∞.7) and the stochastic forward equations (∞.174)
and (∞.175) hold before any average is taken, so exact rational arithmetic decides them.
"""

from fractions import Fraction
from itertools import product

import pytest
from exact import Layer, Rows
from exact.gaussian import powers
from exact.literal import write_out
from exact.realisation import Realisation

FIRST = Layer(Rows([]), *(Fraction(x) for x in ("1/2", "3/2", "1/3", "2")))
INPUTS = (Fraction(1), Fraction(-2), Fraction(1, 2), Fraction(3))
QUADRATIC = Rows([(1, 2, 3), (-1, 1, 2), (2, -3, 1), (1, 1, -2)])
CUBIC = Rows([(1, 2, 3, 1), (-1, 1, 2, 2), (2, -3, 1, 1), (1, 1, -2, 3)])
HYPER = tuple(Fraction(x) for x in ("1/5", "2", "3/7", "1/2"))
MIDDLE, TOP = Layer(QUADRATIC, *HYPER), Layer(CUBIC, *HYPER)

NTK = ((0, 1),)
DNTK = ((0, 1), (0, 2))
STAR = ((0, 1), (0, 2), (0, 3))
PATH = ((0, 1), (0, 2), (1, 3))


@pytest.fixture(scope="module")
def small():
    """Two hidden layers of widths 1 and 2."""
    return Realisation(write_out(INPUTS, FIRST, (MIDDLE, Layer(QUADRATIC, *HYPER)), (1, 2, 2)), 3)


def moved_along(network, i, d, edges):
    """Σ_θ λ_θ (∂z/∂θ) ∂(tree)/∂θ for the last vertex: one more leaf on each other vertex."""
    leaf = len(i) - 1
    return sum(network.tree(i, d, (*edges, (v, leaf))) for v in range(leaf))


NEURONS = [(0, 0, 0, 0), (0, 1, 0, 1), (0, 1, 1, 0), (0, 0, 1, 1)]


@pytest.mark.parametrize("i", NEURONS)
def test_dntk_moves_with_all_indices_of_the_second_term_permuted(small, i):
    """(∞.9): dd_I_0123 + dd_II_0123 + dd_II_{0 2 1 3}, the pairs of indices moving together."""
    d = (0, 1, 2, 3)
    moved = moved_along(small, i, d, DNTK)
    swapped_i, swapped_d = (i[0], i[2], i[1], i[3]), (d[0], d[2], d[1], d[3])
    star = small.tree(i, d, STAR)
    assert moved == star + small.tree(i, d, PATH) + small.tree(swapped_i, swapped_d, PATH)


def test_printed_index_orders_of_the_dntk_update_are_wrong(small):
    """The scan moves only one of neuron and sample: (i_0 i_1 i_2; δ_0 δ_2 δ_1)."""
    i, d = (0, 1, 0, 1), (0, 1, 2, 3)
    moved = moved_along(small, i, d, DNTK)
    star, path = small.tree(i, d, STAR), small.tree(i, d, PATH)
    assert moved != star + path + small.tree(i, (d[0], d[2], d[1], d[3]), PATH)


@pytest.mark.parametrize("i", NEURONS)
def test_second_ddntk_is_symmetric_under_the_joint_swap(small, i):
    """dd_II_1234 = dd_II_2143, and not under the exchange of its leaves alone."""
    d = (0, 1, 2, 3)
    swap = (1, 0, 3, 2)
    assert small.tree(i, d, PATH) == small.tree([i[k] for k in swap], [d[k] for k in swap], PATH)
    leaves = (0, 1, 3, 2)
    assert small.tree(i, d, PATH) != small.tree(
        [i[k] for k in leaves], [d[k] for k in leaves], PATH
    )


def test_ntk_moves_at_second_order_with_the_second_ddntk(small):
    """(∞.6): ½ [dd_I_1234 + dd_I_2134] + dd_II_1234 when both errors are at the same place."""
    i, d = (0, 1, 1, 1), (0, 1, 2, 2)
    twice = sum(small.tree(i, d, (*NTK, (u, 2), (v, 3))) for u, v in product(range(2), repeat=2))
    star = small.tree(i, d, STAR) + small.tree((i[1], i[0], *i[2:]), (d[1], d[0], *d[2:]), STAR)
    path = small.tree(i, d, PATH)
    assert twice / 2 == star / 2 + path
    assert twice / 2 != star / 2 + small.tree(i, d, STAR)


class Forward:
    """A network of layers 1, 2, 3, and its second layer on its own, at the same parameters."""

    def __init__(self):
        self.top = Realisation(write_out(INPUTS, FIRST, (MIDDLE, TOP), (1, 2, 2)), 3)
        self.below = Realisation(write_out(INPUTS, FIRST, (MIDDLE,), (1, 2)), 3)
        assert self.top.weight("w1_1_0") == self.below.weight("w1_1_0")
        self.w = [[self.top.weight(f"w2_{i}_{j}") for j in range(2)] for i in range(2)]
        self.new = TOP.lambda_W / 2

    def s(self, j, d, order):
        z = self.below.derivative(j, d)
        return sum(c * z**p for p, c in powers(CUBIC[d], order))

    def tree(self, edges, *pairs):
        return self.below.tree([j for j, _ in pairs], [d for _, d in pairs], edges)


@pytest.fixture(scope="module")
def forward():
    return Forward()


def first_ddntk(f, i):
    """(∞.174) with the missing primes and the last block restored; sample a at vertex a."""
    total = Fraction(0)
    s, w, h = f.s, f.w, f.tree
    for a, b, c in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        if i[0] == i[a]:
            for j, k, m in product(range(2), repeat=3):
                bracket = s(j, 0, 2) * h(NTK, (j, 0), (k, b)) * h(NTK, (j, 0), (m, c))
                bracket += s(j, 0, 1) * h(DNTK, (j, 0), (k, b), (m, c))
                outer = w[i[b]][k] * w[i[c]][m] * s(j, a, 0) * s(k, b, 1) * s(m, c, 1)
                total += f.new * outer * bracket
    for j in product(range(2), repeat=4):
        p = list(zip(j, range(4), strict=True))
        to = {a: h(NTK, p[0], p[a]) for a in (1, 2, 3)}
        bracket = s(j[0], 0, 1) * h(STAR, *p) + s(j[0], 0, 3) * to[1] * to[2] * to[3]
        for a, b, c in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
            bracket += s(j[0], 0, 2) * to[a] * h(DNTK, p[0], p[b], p[c])
        outer = Fraction(1)
        for v in range(4):
            outer *= w[i[v]][j[v]] * (s(j[v], v, 1) if v else 1)
        total += outer * bracket
    return total


def second_ddntk(f, i, h_h_h=True):
    """(∞.175) put right; vertex and sample a stand for the book's a + 1."""
    total = Fraction(0)
    s, w, h = f.s, f.w, f.tree
    for j, k in product(range(2), repeat=2):
        if i[0] == i[2] and i[1] == i[3]:
            here = s(j, 0, 1) * s(k, 1, 1) * s(j, 2, 0) * s(k, 3, 0)
            total += f.new**2 * here * h(NTK, (j, 0), (k, 1))
    for j, k, m in product(range(2), repeat=3):
        if i[0] == i[1]:
            here = s(j, 0, 1) * s(j, 1, 1) * s(k, 2, 1) * s(m, 3, 1) * w[i[2]][k] * w[i[3]][m]
            total += f.new * here * h(NTK, (j, 0), (k, 2)) * h(NTK, (j, 1), (m, 3))
        for a, b, c, d in ((0, 1, 2, 3), (1, 0, 3, 2)):
            if i[a] == i[c]:
                here = w[i[b]][k] * w[i[d]][m] * s(j, c, 0) * s(m, d, 1) * s(j, a, 1)
                bracket = s(k, b, 2) * h(NTK, (k, b), (j, a)) * h(NTK, (k, b), (m, d))
                bracket += s(k, b, 1) * h(DNTK, (k, b), (j, a), (m, d))
                total += f.new * here * bracket
    for j in product(range(2), repeat=4):
        p = list(zip(j, range(4), strict=True))
        left, right = h(NTK, p[0], p[2]), h(NTK, p[1], p[3])
        one, two = [s(j[0], 0, k) for k in range(3)], [s(j[1], 1, k) for k in range(3)]
        bracket = one[1] * two[1] * h(PATH, *p)
        bracket += one[2] * two[1] * left * h(DNTK, p[1], p[0], p[3])
        bracket += one[1] * two[2] * right * h(DNTK, p[0], p[1], p[2])
        if h_h_h:
            bracket += one[2] * two[2] * h(NTK, p[0], p[1]) * left * right
        outer = s(j[2], 2, 1) * s(j[3], 3, 1)
        for v in range(4):
            outer *= w[i[v]][j[v]]
        total += outer * bracket
    return total


@pytest.mark.parametrize("i", NEURONS)
def test_forward_equation_of_the_first_ddntk(forward, i):
    assert first_ddntk(forward, i) == forward.top.tree(i, (0, 1, 2, 3), STAR)


@pytest.mark.parametrize("i", NEURONS)
def test_forward_equation_of_the_second_ddntk(forward, i):
    exact = forward.top.tree(i, (0, 1, 2, 3), PATH)
    assert second_ddntk(forward, i) == exact
    assert second_ddntk(forward, i, h_h_h=False) != exact
