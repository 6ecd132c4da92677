import contextlib
import math
import pickle
import random
from itertools import islice

import pytest

from symdlt.algebra import (
    Expression,
    activation,
    neurons,
    preactivations,
    product,
    samples,
    symbol,
    uniform,
    weights,
)
from symdlt.algebra.averages import ExpectationError, Orbit, expectation, expectation_orbits

W = weights(2)
J = neurons("j", "n_1")[0]


def signal(count, single_input=False):
    z = preactivations(1, single_input=single_input)
    σ = activation("σ", z)
    rows = neurons(" ".join(f"i{k}" for k in range(1, count + 1)), "n_2")
    marks = samples(" ".join(f"δ{k}" for k in range(1, count + 1)))
    legs = [
        (W(row, J) * (σ(J) if single_input else σ(J, mark))).sum(J)
        for row, mark in zip(rows, marks, strict=True)
    ]
    return product(legs), z


def test_orbits_print_a_representative_and_a_number():
    legs, z = signal(4)
    pairs = expectation_orbits(legs, over=W)
    assert str(pairs) == (
        "[C_W²/n_1² Σ_{i j} δ_{i1 i2} δ_{i3 i4} "
        "σ^(1)_{i;δ1} σ^(1)_{i;δ2} σ^(1)_{j;δ3} σ^(1)_{j;δ4} + 2 perms]"
    )
    split = expectation_orbits(pairs, over=z)
    assert [str(orbit) for orbit in split] == [
        "[C_W²/n_1 δ_{i1 i2} δ_{i3 i4} ⟨σ_{δ1} σ_{δ2} σ_{δ3} σ_{δ4}⟩^(1) + 2 perms]",
        "[(C_W² - C_W²/n_1) δ_{i1 i2} δ_{i3 i4} ⟨σ_{δ1} σ_{δ2}⟩^(1) ⟨σ_{δ3} σ_{δ4}⟩^(1) + 2 perms]",
    ]
    assert r"+ 2\ \text{perms} \right]" in split.latex()
    assert split._repr_latex_() == rf"$\displaystyle {split.latex()}$"
    assert repr(split) == "OrbitSum(2 orbits, 6 terms)"


@pytest.mark.parametrize("single_input", [False, True])
@pytest.mark.parametrize("count", [2, 4, 6])
def test_orbits_expand_to_the_plain_expectation(count, single_input):
    legs, z = signal(count, single_input)
    pairs = expectation_orbits(legs, over=W)
    assert pairs.expand() == expectation(legs, over=W)
    split = expectation_orbits(pairs, over=z)
    assert split.expand() == expectation(legs, over=[W, z])


def test_orbits_of_many_legs_are_counted_and_never_listed():
    legs, z = signal(20)
    split = expectation_orbits(expectation_orbits(legs, over=W), over=z)
    assert len(split) == 42
    bell = 115975
    assert split.multiplicity == bell * math.prod(range(1, 20, 2))
    assert len({str(Expression((term,))) for term in islice(split.terms(), 50)}) == 50


def test_single_input_orbits_merge_groupings_that_look_alike():
    legs, z = signal(8, single_input=True)
    split = expectation_orbits(expectation_orbits(legs, over=W), over=z)
    assert {orbit.multiplicity for orbit in split} == {105}
    assert len(split) == 5


def test_legs_of_two_kinds_are_not_exchanged():
    z = preactivations(1)
    σ = activation("σ", z)
    rows, marks = neurons("i1 i2 i3 i4", "n_2"), samples("α β γ δ")
    functions = [σ, σ, σ.derivative(), σ.derivative()]
    legs = product(
        (W(row, J) * f(J, mark)).sum(J) for row, f, mark in zip(rows, functions, marks, strict=True)
    )
    pairs = expectation_orbits(legs, over=W)
    assert sorted(orbit.multiplicity for orbit in pairs) == [1, 2]
    assert pairs.expand() == expectation(legs, over=W)
    split = expectation_orbits(pairs, over=z)
    assert split.expand() == expectation(legs, over=[W, z])


def test_even_blocks_have_orbits_too():
    from symdlt.algebra import uniform

    flat = weights(2, law=uniform(1))
    z = preactivations(1)
    σ = activation("σ", z)
    rows, marks = neurons("i1 i2 i3 i4 i5 i6", "n_2"), samples("α0 α1 α2 α3 α4 α5")
    legs = product(
        (flat(row, J) * σ(J, mark)).sum(J) for row, mark in zip(rows, marks, strict=True)
    )
    blocks = expectation_orbits(legs, over=flat)
    assert [orbit.multiplicity for orbit in blocks] == [1, 15, 15]
    assert blocks.expand() == expectation(legs, over=flat)
    split = expectation_orbits(blocks, over=z)
    assert split.expand() == expectation(legs, over=[flat, z])


def test_orbits_are_values():
    legs, _ = signal(4)
    pairs = expectation_orbits(legs, over=W)
    assert pickle.loads(pickle.dumps(pairs)) == pairs
    assert isinstance(pairs.orbits[0], Orbit)
    assert hash(pairs) == hash(expectation_orbits(legs, over=W))


def test_orbits_do_not_depend_on_the_order_of_legs_or_on_names():
    z = preactivations(1)
    σ = activation("σ", z)
    rows, marks = neurons("i1 i2 i3 i4", "n_2"), samples("α β γ δ")
    other = neurons("k", "n_1")[0]
    legs = [(W(row, J) * σ(J, mark)).sum(J) for row, mark in zip(rows, marks, strict=True)]
    renamed = [
        (σ(other, mark) * W(row, other)).sum(other) for row, mark in zip(rows, marks, strict=True)
    ]
    results = []
    for factors in (legs, legs[::-1], [renamed[2], renamed[0], renamed[3], renamed[1]]):
        split = expectation_orbits(expectation_orbits(product(factors), over=W), over=z)
        results.append((split, str(split), hash(split)))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("seed", range(40))
def test_legs_that_share_indices_and_numbers_are_told_apart(seed):
    """Rows and samples come from few names, so legs share some and own others."""
    rng = random.Random(seed)
    head, z = weights(2, law=rng.choice([None, uniform(symbol("v"))])), preactivations(1)
    σ = activation("σ", z)
    rows, marks = neurons("p q a b c d", "n_2"), samples("α β γ δ ε")
    (column,) = neurons("j", "n_1")
    functions = [σ, σ, σ.derivative(), z]
    legs = []
    for _ in range(rng.choice([4, 4, 4, 6])):
        row, mark = rng.choice([*rows[: rng.choice([2, 3, 6])], 1, 2]), rng.choice([*marks, 1])
        legs.append((head(row, column) * rng.choice(functions)(column, mark)).sum(column))
    pairs = expectation_orbits(product(legs), over=head)
    assert pairs.expand() == expectation(product(legs), over=head)
    with contextlib.suppress(ExpectationError):
        split = expectation_orbits(pairs, over=z)
        assert split.expand() == expectation(product(legs))


def test_pairs_that_hang_on_different_shared_rows_are_different():
    head, z = weights(2), preactivations(1)
    σ = activation("σ", z)
    (column,) = neurons("j", "n_1")
    p, q, a, b = neurons("p q a b", "n_2")
    α, γ, δ = samples("α γ δ")
    legs = product(
        (head(row, column) * σ(column, mark)).sum(column)
        for row, mark in ((p, α), (p, α), (q, α), (q, α), (a, γ), (b, δ))
    )
    pairs = expectation_orbits(legs, over=head)
    assert pairs.expand() == expectation(legs, over=head)
    assert expectation_orbits(pairs, over=z).expand() == expectation(legs)
