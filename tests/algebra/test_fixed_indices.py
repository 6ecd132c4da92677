"""Indices fixed to numbers: δ_{1 i}, A_{1 2}."""

import pickle
import re

import pytest
import sympy

from symdlt.algebra import (
    Index,
    Species,
    activation,
    constant,
    delta,
    neuron,
    neurons,
    preactivations,
    sample,
    samples,
    substitute,
    weights,
)
from symdlt.algebra.averages import connected, expectation, expectation_orbits, expectation_terms
from symdlt.errors import IndexStructureError

i, j, k = neurons("i j k", "n")
a, b = neurons("a b", "m")
x, A = constant("x", i), constant("A", i, j)
α, β = samples("α β", size=3)
X = constant("X", i, α)
W = weights(2, "m", "n")


@pytest.mark.parametrize(
    ("expression", "text", "latex"),
    [
        (A(1, 2), "A_{1 2}", "A_{1 2}"),
        (A(12, j), "A_{12 j}", "A_{12 j}"),
        (x(3) ** 2, "x_3²", "x_{3}{}^{2}"),
        (delta(1, i), "δ_{1 i}", r"\delta_{1 i}"),
        (X(1, 2) + X(1, α), "X_{1;2} + X_{1;α}", r"X_{1;2} + X_{1;\alpha}"),
    ],
)
def test_numbers_print_in_the_place_of_indices(expression, text, latex):
    assert (str(expression), expression.latex()) == (text, latex)


def test_a_delta_puts_its_number_into_the_other_factors():
    assert (delta(1, i) * A(i, j)).sum(i) == A(1, j)
    assert delta(1, i) * A(i, j) == delta(1, i) * A(1, j)
    assert (delta(2, i) * delta(i, j) * x(j)).sum(i, j) == x(2)
    assert delta(i, 1).sum(i) == 1
    assert (delta(1, α) * X(i, α)).sum(α) == X(i, 1)


def test_two_numbers_are_equal_or_not():
    assert delta(1, i) * delta(2, i) == 0
    assert delta(1, i) * delta(2, j) != 0
    assert (delta(1, i) * delta(1, i)).sum(i) == 1
    assert A(1, 2) != A(2, 1)


def test_numbers_are_neither_free_nor_summed():
    assert (A(1, j) * x(2)).free_indices == (j,)
    assert x(1).sum(j) == neuron_count() * x(1)
    assert A(i, j).relabel({i: 1, j: 1}) == A(1, 1)


def neuron_count():
    return (delta(i, i)).sum(i)


def test_one_number_may_stand_for_ranges_of_several_sizes():
    u = constant("u", a)
    assert str(x(1) * u(1)) == "u_1 x_1"
    assert str(W(1, 1)) == "W^(2)_{1 1}"


def test_weights_in_numbered_places_are_averaged_like_others():
    variance = "C_W/n"
    assert str(expectation(W(1, 2) ** 2)) == variance
    assert expectation(W(1, 2) * W(2, 2)) == 0
    assert str(expectation(W(1, i) * W(a, j))) == variance + " δ_{1 a} δ_{i j}"
    rows = [(W(row, j) * x(j)).sum(j) for row in (1, 1, 2, a)]
    norm = (x(i) ** 2).sum(i)
    assert expectation(rows[0] * rows[1] * rows[2] * rows[3]) == (
        expectation(rows[0] * rows[1]) * expectation(rows[2] * rows[3])
    )
    assert expectation(rows[0] ** 2 * rows[2] ** 2) == expectation(W(1, 2) ** 2) ** 2 * norm**2
    assert connected(rows[0] ** 2, rows[2] ** 2) == 0


def test_listed_and_orbit_forms_agree_with_the_average():
    legs = [(W(row, j) * x(j)).sum(j) for row in (1, a, b, 2)]
    product = legs[0] * legs[1] * legs[2] * legs[3]
    average = expectation(product, over=W)
    listed = list(expectation_terms(product, over=W))
    assert sum(1 for _ in listed) == 2
    assert expectation_orbits(product, over=W).expand() == average
    assert str(average) == "C_W²/n² Σ_{i j} δ_{1 a} δ_{2 b} x_i² x_j² + " + (
        "C_W²/n² Σ_{i j} δ_{1 b} δ_{2 a} x_i² x_j²"
    )


def test_numbered_neurons_are_apart():
    z = preactivations(1, "n")
    σ = activation("σ", z)
    δ = sample("δ")
    one, two, pair = (expectation(each) for each in (σ(1, δ), σ(2, δ), σ(1, δ) * σ(2, δ)))
    assert one == two
    assert pair == one * two
    same = expectation(σ(1, δ) ** 2)
    assert expectation(σ(1, δ) * σ(i, δ)) == one**2 + delta(1, i) * (same - one**2)
    assert str(expectation(σ(1, 1) * σ(1, 2))) == "⟨σ_1 σ_2⟩^(1)"


def test_sympy_gets_numbers():
    assert str((delta(1, i) * A(2, j)).to_sympy()) == "KroneckerDelta(1, i)*A[2, j]"
    value = (A(1, j) * x(j)).sum(j).to_sympy().subs(sympy.Symbol("n"), 2).doit()
    assert str(value) == "A[1, 1]*x[1] + A[1, 2]*x[2]"


def test_a_pickled_number_is_equal():
    assert pickle.loads(pickle.dumps(A(1, j))) == A(1, j)
    one = Index("1", Species.NEURON, "n", number=1)
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(one) == "Index('1', neuron, n, number=1)"


SMALL = constant("s", neuron("i", 3))
REFUSED = [
    (lambda: x(0), "An index cannot be fixed to 0. It is a neuron index, whose values run from 1"),
    (lambda: x(-1), "An index cannot be fixed to -1."),
    (lambda: x(True), "An index cannot be fixed to True."),
    (
        lambda: SMALL(4),
        "An index cannot be fixed to 4. It is a neuron index, whose values run from 1 to 3. Give "
        "one of them, or declare a larger range.",
    ),
    (lambda: delta(4, α), "An index cannot be fixed to 4."),
    (lambda: x(i).relabel({i: 0}), "An index cannot be fixed to 0."),
    (lambda: substitute(x(5), {"n": 4}), "An index cannot be fixed to 5."),
    (lambda: delta(1, 2), "A Kronecker delta needs two indices. It was given 1 and 2."),
    (lambda: x(1).sum(Index("1", Species.NEURON, "n", number=1)), "Cannot sum over the number 1."),
    (lambda: Index("2", Species.NEURON, "n", number=1), "An index cannot be fixed to 1."),
]


@pytest.mark.parametrize(("action", "message"), REFUSED)
def test_a_number_out_of_range_is_refused(action, message):
    with pytest.raises(IndexStructureError, match=re.escape(message)):
        action()
