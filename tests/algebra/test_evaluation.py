"""Expressions on NumPy arrays."""

import re
from itertools import pairwise

import numpy as np
import pytest

from symdlt.algebra import (
    activation,
    antisymmetric,
    as_expression,
    constant,
    delta,
    evaluate,
    generated,
    neuron,
    neurons,
    preactivations,
    samples,
    symbol,
    symmetric,
    weights,
)
from symdlt.algebra.averages import expectation
from symdlt.errors import IndexStructureError

i, j, k = neurons("i j k", "n")
(r,) = neurons("r", "m")
α, β = samples("α β")
A, x, X = constant("A", i, j), constant("x", i), constant("X", i, α)
S = constant("S", i, j, symmetry=symmetric(2))
F = constant("F", i, j, symmetry=antisymmetric(2))
T = constant("T", i, j, k, symmetry=generated((1, 2, 0)))
n, C = symbol("n"), symbol("C")
MATRIX, VECTOR = np.arange(9.0).reshape(3, 3), np.array([1.0, -2.0, 3.0])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ((A(i, j) * x(j)).sum(j), MATRIX @ VECTOR),
        ((A(j, i) * A(j, k)).sum(j), MATRIX.T @ MATRIX),
        (A(j, i), MATRIX.T),
        (
            (A(i, i) * x(i)).sum(i) * x(j),
            MATRIX.diagonal() @ VECTOR * VECTOR,
        ),
        (A(2, j) + 2 * delta(1, j), MATRIX[1] + np.array([2, 0, 0])),
        (A(3, 1) * x(2), MATRIX[2, 0] * VECTOR[1]),
        (delta(i, j) * x(j) + 1, np.diag(VECTOR) + 1),
        ((delta(i, j) + 1).sum(i, j) / n, 4.0),
        ((C * x(i) / n**2).sum(i), 7 * VECTOR.sum() / 9),
        (as_expression(0), 0.0),
    ],
)
def test_values_are_those_of_matrix_algebra(expression, expected):
    value = evaluate(expression, {"A": MATRIX, x: VECTOR, "C": 7, "n": 3, "unused": None})
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    assert np.shape(value) == np.shape(expected)


def test_widths_are_read_off_arrays():
    assert evaluate(n * x(i).sum(i), {"x": [1, 2]}) == 6.0
    assert evaluate((X(i, α) * X(i, β)).sum(i), {"X": np.ones((2, 4))}).shape == (4, 4)
    assert evaluate((delta(1, i) * X(i, 3)).sum(i), {"X": np.eye(3)}) == 0.0


def test_complex_arrays_have_complex_values():
    assert evaluate((x(i) ** 2).sum(i), {"x": [1j, 2]}) == 3 + 0j


def test_an_average_has_the_value_of_sampled_weights():
    W = weights(2, "m", "n")
    form = (W(r, i) * A(i, j) * W(r, j)).sum(r, i, j) ** 2
    matrix, draws, rng = np.array([[1.0, 0.5], [-0.3, 2.0]]), 40_000, np.random.default_rng(1)
    drawn = rng.normal(size=(draws, 3, 2)) * np.sqrt(1.5 / 2)
    samples_of_form = np.einsum("sri,ij,srj->s", drawn, matrix, drawn) ** 2
    error = samples_of_form.std() / np.sqrt(draws)
    value = evaluate(expectation(form), {"A": matrix, "C_W": 1.5, "m": 3})
    assert abs(value - samples_of_form.mean()) < 4 * error
    assert error < 0.02 * value


def test_tensors_are_found_by_head_by_name_and_by_print():
    U, V = weights(1, "n", "n"), weights(2, "n", "n")
    chain = (U(i, j) * V(j, k)).sum(j)
    eye = np.eye(2)
    assert (evaluate(chain, {"W^(1)": 2 * eye, V: eye}) == 2 * eye).all()
    with pytest.raises(IndexStructureError, match="The name 'W' stands for two things"):
        evaluate(chain, {"W": eye})
    σ = activation("σ", preactivations(1, "n"))
    gram = expectation(σ(1, α) * σ(1, β))
    assert evaluate(gram, {"⟨σ σ⟩^(1)": eye}).shape == (2, 2)


def test_a_symmetry_may_hold_up_to_rounding():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3, 50))
    nearly = rows @ rows.T
    nearly[0, 1] *= 1 + 1e-13
    assert evaluate(S(1, 2), {"S": nearly}) == nearly[0, 1]
    skew = rows[:, :3] - rows[:, :3].T
    assert evaluate(F(2, 1), {"F": skew}) == pytest.approx(skew[1, 0])


REFUSED = [
    ((A(i, j) * x(j)), {"A": MATRIX}, "The value of x is missing. It is a tensor of"),
    (
        A(i, j) * x(j),
        {"A": MATRIX[:, :2], "x": VECTOR},
        "An axis of length 2 cannot hold",
    ),
    (x(i), {"x": VECTOR, "n": 2}, "An axis of length 3 cannot hold Index('i', neuron, n)."),
    (x(i), {"x": MATRIX}, "The value of x is not an array of 1 axes with finite entries."),
    (x(i), {"x": ["a"]}, "The value of x is not an array of 1 axes with finite entries."),
    (x(i), {"x": [[1], [1, 2]]}, "The value of x is not an array of 1 axes with finite entries."),
    (x(i), {"x": [np.nan]}, "The value of x is not an array of 1 axes with finite entries."),
    (x(i), {"x": []}, "The value of x is not an array of 1 axes with finite entries."),
    (x(4), {"x": VECTOR}, "An axis of length 3 cannot hold Index('4', neuron, n, number=4)."),
    (delta(4, i), {"n": 3}, "An index is fixed to 4 and its range has 3 values."),
    (delta(i, j), {}, "The value of n is missing. It is the range of i"),
    (delta(i, j), {"n": 0}, "0 is not a width. It was given to `evaluate` for n."),
    (delta(i, j), {"n": 2.0}, "2.0 is not a width."),
    (delta(i, j), {"n": 10**9}, "An array of the shape (1000000000, 1000000000)"),
    (delta(i, j), {"n": 10**400}, "An array of the shape"),
    (x(i) * C, {"x": VECTOR}, "The value of C is missing. It is a constant of the expression"),
    (
        x(i) * C,
        {"x": VECTOR, "C": np.inf},
        "inf is not a number. It was given to",
    ),
    (x(i) * C, {"x": VECTOR, "C": 10**400}, "is not a number. It was given to `evaluate` for C."),
    (x(i) / C, {"x": VECTOR, "C": 0}, "The coefficient 1/C has no finite value."),
    (x(i) ** 2, {"x": [1e200]}, "The value of the expression is too large for a float."),
    (S(i, j), {"S": MATRIX}, "The array of S does not have the symmetry of the tensor."),
    (F(i, j), {"F": np.eye(2)}, "The array of F does not have the symmetry of the tensor."),
    (T(i, j, k), {"T": np.arange(8).reshape(2, 2, 2)}, "The array of T does not have the symmetry"),
    (constant("C")() * C, {"C": 1}, "The name 'C' stands for two things in the expression."),
    (x(i), [1], "[1] is not a mapping. It was given to `evaluate`."),
]


@pytest.mark.parametrize(("expression", "values", "message"), REFUSED)
def test_what_does_not_fit_is_refused(expression, values, message):
    with pytest.raises(IndexStructureError, match=re.escape(message)):
        evaluate(expression, values)


def test_a_range_of_a_given_size_fits_its_array_only():
    s = constant("s", neuron("i", 3))
    assert evaluate(s(1), {"s": VECTOR}) == 1.0
    with pytest.raises(IndexStructureError, match="An axis of length 2 cannot hold"):
        evaluate(s(1), {"s": VECTOR[:2]})


def test_a_product_over_too_many_indices_is_refused():
    names = neurons(" ".join(f"v{place}" for place in range(60)), "n")
    path = as_expression(1)
    for left, right in pairwise(names):
        path = path * A(left, right)
    with pytest.raises(IndexStructureError, match="A product over 60 indices cannot be evaluated"):
        evaluate(path.sum(*names), {"A": np.eye(2)})
