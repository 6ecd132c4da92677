"""Canonical numbering on graphs that are hard to tell apart."""

import random

import pytest

from symdlt.algebra import (
    Term,
    antisymmetric,
    constant,
    delta,
    gaussian,
    generated,
    labelling,
    neurons,
    product,
    symmetric,
    weights,
)
from symdlt.algebra.averages import expectation, expectation_orbits
from symdlt.algebra.labelling import certificate
from symdlt.errors import IndexStructureError

NODES = neurons(" ".join(f"v{place}" for place in range(16)), "n")
EDGE = constant("e", NODES[0], NODES[1], symmetry=symmetric(2))
ARROW = constant("h", NODES[0], NODES[1])
MARK = constant("s", NODES[0])

PRISM = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]
UTILITY = [(a, b) for a in (0, 1, 2) for b in (3, 4, 5)]
PETERSEN = [(a, (a + 1) % 5) for a in range(5)]
PETERSEN += [(a, a + 5) for a in range(5)] + [(a + 5, (a + 2) % 5 + 5) for a in range(5)]
SHRIKHANDE = [
    (4 * a + b, 4 * ((a + x) % 4) + (b + y) % 4)
    for a in range(4)
    for b in range(4)
    for x, y in ((0, 1), (1, 0), (1, 1))
]
ROOK = [(4 * a + b, 4 * a + c) for a in range(4) for b in range(4) for c in range(b + 1, 4)]
ROOK += [(4 * b + a, 4 * c + a) for a in range(4) for b in range(4) for c in range(b + 1, 4)]


def graph(edges, head=EDGE):
    used = sorted({node for edge in edges for node in edge})
    body = product(head(NODES[a], NODES[b]) for a, b in edges)
    return body.sum(*(NODES[node] for node in used))


def renumbered(edges, seed):
    rng = random.Random(seed)
    used = sorted({node for edge in edges for node in edge})
    image = dict(zip(used, rng.sample(used, len(used)), strict=True))
    moved = [(image[a], image[b]) for a, b in edges]
    rng.shuffle(moved)
    return moved


@pytest.mark.parametrize(
    "edges", [PRISM, UTILITY, PETERSEN, SHRIKHANDE, ROOK, [(0, k) for k in range(1, 12)]]
)
def test_a_graph_prints_the_same_in_every_numbering(edges):
    texts = {str(graph(renumbered(edges, seed))) for seed in range(4)}
    assert texts == {str(graph(edges))}


@pytest.mark.parametrize(("left", "right"), [(PRISM, UTILITY), (SHRIKHANDE, ROOK)])
def test_regular_graphs_that_look_alike_are_told_apart(left, right):
    assert graph(left) != graph(right)


def test_a_cycle_has_no_direction_but_its_arrows_do():
    forth = [(a, (a + 1) % 6) for a in range(6)]
    back = [(b, a) for a, b in forth]
    mixed = [forth[0], *back[1:]]
    assert graph(forth, ARROW) == graph(back, ARROW)
    assert graph(forth, ARROW) != graph(mixed, ARROW)


def test_equal_branches_do_not_multiply_the_work(monkeypatch):
    """A star with twelve equal branches has 12! symmetries, which eleven exchanges generate."""
    root, *ends = NODES[:13]
    star = product(ARROW(root, end) * MARK(end) for end in ends).sum(root, *ends)
    written = []

    def counted(piece, numbers):
        written.append(numbers)
        return certificate(piece, numbers)

    monkeypatch.setattr(labelling, "certificate", counted)
    assert str(star).startswith("Σ_{i j k l p q r t u v w i1 i2} ")
    assert len(written) == 12  # the first numbering, and eleven exchanges


def test_equal_factors_side_by_side_are_sorted_apart():
    power = product((MARK(a) * ARROW(a, a)).sum(a) for a in NODES[:6])
    assert len(power.canonical_terms[0].sums) == 6
    assert power == (MARK(NODES[0]) * ARROW(NODES[0], NODES[0])).sum(NODES[0]) ** 6


def test_a_generated_symmetry_is_used_as_it_is():
    a, b, c, d = NODES[:4]
    vertex = constant("v", a, b, c, d, symmetry=generated((1, 0, 2, 3), (2, 3, 0, 1)))
    assert vertex(a, b, c, d) == vertex(d, c, a, b)
    assert vertex(a, b, c, d) != vertex(a, c, b, d)
    turn = constant("r", a, b, c, symmetry=generated((1, 2, 0)))
    assert turn(a, b, c) == turn(b, c, a)
    assert turn(a, b, c) != turn(b, a, c)


def test_a_term_without_factors_stays_a_number():
    assert str(graph([(0, 1)]) * 0) == "0"
    assert Term().free_indices == ()


def test_a_name_free_in_one_term_and_summed_in_another():
    i, j = neurons("i j", "n")
    x = constant("x", i)
    free, summed, renamed = x(i), x(i).sum(i), x(j).sum(j)
    assert free + summed == summed + free == free + renamed
    assert free + summed not in (2 * free, 2 * summed)
    assert free - summed != free - free
    W = weights(1, "n", "n")
    mixed = W(i, j) ** 2 + (W(i, j) ** 2).sum(j)
    assert expectation(mixed) == expectation(W(i, j) ** 2) + expectation((W(i, j) ** 2).sum(j))
    assert expectation(mixed) != 2 * expectation(W(i, j) ** 2)


FIELD = constant("f", NODES[0], NODES[1], symmetry=antisymmetric(2))


def test_an_antisymmetric_tensor_changes_its_sign():
    a, b, c = NODES[:3]
    assert FIELD(a, b) == -FIELD(b, a)
    assert FIELD(a, a) == 0
    assert str(FIELD(b, a) + 3 * FIELD(a, b)) == "2 f_{v0 v1}"
    form = constant("w", a, b, c, symmetry=antisymmetric(3))
    assert form(b, c, a) == form(a, b, c) == -form(b, a, c)
    assert form(a, b, a) == 0


def test_sums_that_are_their_own_negative_vanish():
    a, b, c, d = NODES[:4]
    assert (FIELD(a, b) * EDGE(a, b)).sum(a, b) == 0
    assert (FIELD(a, b) * MARK(a) * MARK(b)).sum(a, b) == 0
    assert (FIELD(a, b) * ARROW(a, b)).sum(a, b) != 0
    rings = [
        product(FIELD(NODES[k], NODES[(k + 1) % size]) for k in range(size)).sum(*NODES[:size])
        for size in range(2, 8)
    ]
    assert [bool(ring) for ring in rings] == [True, False] * 3
    curvature = constant(
        "R", a, b, c, d, symmetry=generated((1, 0, 2, 3), (2, 3, 0, 1), signs=(-1, 1))
    )
    assert curvature(a, b, c, d) == curvature(d, c, b, a) == -curvature(c, d, b, a)
    assert (curvature(a, b, c, d) * EDGE(c, d)).sum(c, d) == 0


def test_signs_survive_a_pairing():
    """E[(Wf)_a (Wf)_b] contracts f with itself: f fᵀ = -f f."""
    W = weights(1, "m", "n", law=gaussian(1))
    r, s = neurons("r s", "m")
    a, b, c = NODES[:3]
    left = (W(r, a) * FIELD(a, b)).sum(a)
    right = (W(s, a) * FIELD(a, c)).sum(a)
    average = expectation(left * right, over=W)
    assert average == delta(r, s) * (FIELD(b, a) * FIELD(c, a)).sum(a)
    assert expectation_orbits(left * right, over=W).expand() == average
    flipped = -(W(s, a) * FIELD(c, a)).sum(a)
    assert expectation(left * flipped, over=W) == average


def test_a_tensor_that_is_its_own_negative_is_refused():
    with pytest.raises(IndexStructureError, match="A tensor of this symmetry is its own negative"):
        generated((0, 1), signs=(-1,))
    with pytest.raises(IndexStructureError, match="its own negative"):
        generated((1, 2, 0), signs=(-1,))
    with pytest.raises(IndexStructureError, match="There are 1 signs for 2 moves"):
        generated((1, 0, 2), (0, 2, 1), signs=(-1,))
    with pytest.raises(IndexStructureError, match="is not a list of signs"):
        generated((1, 0), signs=(2,))
    with pytest.raises(IndexStructureError, match="They were given to `antisymmetric`"):
        antisymmetric((0, 1), (1, 2))
    assert generated((1, 0), signs=(1,)) == generated((1, 0))
