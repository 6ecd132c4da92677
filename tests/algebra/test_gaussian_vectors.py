"""Gaussian vectors with a covariance tensor and a mean."""

import pickle
import re

import numpy as np
import pytest

from symdlt.algebra import (
    activation,
    constant,
    evaluate,
    gaussian_vector,
    generated,
    neurons,
    replace,
    samples,
    substitute,
    symbol,
    symmetric,
    weights,
)
from symdlt.algebra.averages import (
    ExpectationError,
    connected,
    expectation,
    expectation_orbits,
    expectation_terms,
)
from symdlt.errors import IndexStructureError

i, j, k, o = neurons("i j k o", "n")
C = constant("C", i, j, symmetry=symmetric(2))
m = constant("m", i)
x = gaussian_vector("x", i, covariance=C, mean=m)
y = gaussian_vector("y", i, covariance=C)


def test_two_legs_have_the_covariance_and_the_mean():
    assert expectation(x(i) * x(j)) == C(i, j) + m(i) * m(j)
    assert expectation(y(i) * y(j)) == C(i, j)
    assert expectation(x(i)) == m(i)
    assert connected(x(i), x(j)) == C(i, j)


def test_more_legs_follow_isserlis():
    fourth = C(i, j) * C(k, o) + C(i, k) * C(j, o) + C(i, o) * C(j, k)
    assert expectation(y(i) * y(j) * y(k) * y(o)) == fourth
    assert connected(x(i), x(j), x(k), x(o)) == 0
    assert expectation(y(1) ** 6) == 15 * C(1, 1) ** 3
    assert expectation(y(1) ** 7) == 0
    assert expectation(y(1) ** 2 * y(2) ** 2) == C(1, 1) * C(2, 2) + 2 * C(1, 2) ** 2


def test_vectors_of_other_names_are_independent():
    assert expectation(x(i) * y(i)) == 0
    assert expectation(x(i) * y(j) ** 2) == m(i) * C(j, j)
    assert expectation(x(i) * y(j), over=y) == 0
    assert expectation(x(i) * y(j), over=x) == m(i) * y(j)
    assert str(expectation(x(i), over=y)) == "x_i"


def test_summed_legs_and_weights():
    W = weights(1, "p", "n")
    (a, b) = neurons("a b", "p")
    rows = [(W(row, i) * x(i)).sum(i) for row in (a, b)]
    assert str(expectation(rows[0] * rows[1])) == (
        "C_W/n Σ_i δ_{a b} C_{i i} + C_W/n Σ_i δ_{a b} m_i²"
    )


def test_terms_are_listed_one_for_each_pairing():
    product = y(i) * y(j) * y(k) * y(o)
    assert len(list(expectation_terms(product, over=y))) == 3
    with pytest.raises(ExpectationError, match="Cannot average over Head"):
        expectation_orbits(product, over=y)


def test_a_field_has_legs_of_several_kinds():
    α, β = samples("α β")
    K = constant("K", i, α, j, β, symmetry=generated((2, 3, 0, 1)))
    f = gaussian_vector("f", i, α, covariance=K)
    assert expectation(f(i, α) * f(j, β)) == K(i, α, j, β) == K(j, β, i, α)
    diagonal = replace(expectation(f(1, α) * f(1, β)), K, lambda a, s, b, t: C(a, b))
    assert diagonal == C(1, 1)


def test_moments_agree_with_samples():
    rng = np.random.default_rng(3)
    root, mean, draws = rng.normal(size=(3, 3)), np.array([0.3, -0.5, 0.2]), 200_000
    drawn = mean + rng.normal(size=(draws, 3)) @ root.T
    A = constant("A", i, j)
    matrix = rng.normal(size=(3, 3))
    form = (x(i) * A(i, j) * x(j)).sum(i, j)
    sampled = np.einsum("si,ij,sj->s", drawn, matrix, drawn)[:, None] * drawn
    value = evaluate(expectation(form * x(k)), {C: root @ root.T, m: mean, A: matrix})
    error = sampled.std(axis=0) / np.sqrt(draws)
    assert (abs(sampled.mean(axis=0) - value) < 4 * error).all()


def test_widths_are_substituted_in_the_moments_too():
    before = expectation(substitute(x(1) * x(2) * symbol("n"), {"n": 3}))
    assert before == substitute(expectation(x(1) * x(2) * symbol("n")), {"n": 3})
    assert pickle.loads(pickle.dumps(x(i))) == x(i)


def test_a_head_that_differs_from_the_one_in_the_expression_is_refused():
    other = gaussian_vector("x", i, covariance=C)
    with pytest.raises(ExpectationError, match="x differs from the x in the expression"):
        expectation(x(i), over=other)


def test_weights_of_another_name_change_nothing():
    U, V = weights(2, name="U"), weights(2, name="V")
    (row,), (column,) = neurons("r", "n_2"), neurons("c", "n_1")
    assert expectation(U(row, column), over=V) == U(row, column)


WIDE = constant("D", i, j)
REFUSED = [
    (
        lambda: gaussian_vector("x", i, covariance=WIDE),
        "The covariance D may change when its two legs are exchanged. It was given to "
        "`gaussian_vector` for x. Declare it with a symmetry, as in symmetric(2) or "
        "generated((1, 0)).",
    ),
    (
        lambda: gaussian_vector("x", i, covariance=m),
        "Head('m', constant, rank 1) is not a constant with 2 legs that fit. It was given to "
        "`gaussian_vector` as the covariance of x.",
    ),
    (
        lambda: gaussian_vector("x", i, covariance=C, mean=C),
        "Head('C', constant, rank 2) is not a constant with 1 legs that fit. It was given to "
        "`gaussian_vector` as the mean of x.",
    ),
    (lambda: gaussian_vector("x", i, covariance=weights(1, "n", "n")), "Head('W', weight, layer 1"),
    (lambda: activation("σ", x), "σ cannot act on x. That is a vector."),
]


@pytest.mark.parametrize(("action", "message"), REFUSED)
def test_moments_that_do_not_fit_are_refused(action, message):
    with pytest.raises(IndexStructureError, match=re.escape(message)):
        action()
