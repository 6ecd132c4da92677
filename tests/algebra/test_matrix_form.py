"""Traces and products of matrices and vectors, as text and LaTeX."""

import pytest

from symdlt.algebra import (
    antisymmetric,
    as_expression,
    constant,
    delta,
    gaussian_vector,
    matrix_form,
    neurons,
    samples,
    symbol,
    symmetric,
    weights,
)
from symdlt.algebra.averages import bracket, connected, expectation

i, j, k, o = neurons("i j k o", "n")
(r,) = neurons("r", "m")
α, β = samples("α β", size=5)
A, B, x, y = constant("A", i, j), constant("B", i, j), constant("x", i), constant("y", i)
S = constant("S", i, j, symmetry=symmetric(2))
F = constant("F", i, j, symmetry=antisymmetric(2))
X = constant("X", i, α)
W = weights("ℓ+1", "m", "n")
n = symbol("n")

CASES = [
    ((A(i, j) * B(j, i)).sum(i, j), "tr(A B)", r"\operatorname{tr}\left(A B\right)"),
    ((A(i, j) * B(i, j)).sum(i, j), "tr(A Bᵀ)", r"\operatorname{tr}\left(A B^{\top}\right)"),
    ((x(i) * A(i, j) * y(j)).sum(i, j), "xᵀ A y", r"x^{\top} A y"),
    ((x(j) * A(i, j) * y(i)).sum(i, j), "yᵀ A x", r"y^{\top} A x"),
    ((x(j) * S(i, j) * y(i)).sum(i, j), "xᵀ S y", r"x^{\top} S y"),
    ((x(i) ** 2).sum(i), "xᵀ x", r"x^{\top} x"),
    ((A(i, j) * B(j, k)).sum(j), "(A B)_{i k}", r"\left(A B\right)_{i k}"),
    ((A(j, i) * x(j)).sum(j), "(Aᵀ x)_i", r"\left(A^{\top} x\right)_{i}"),
    ((A(2, j) * x(j)).sum(j), "(A x)_2", r"\left(A x\right)_{2}"),
    ((A(i, j) * F(j, i)).sum(i, j), "tr(A F)", r"\operatorname{tr}\left(A F\right)"),
    ((A(i, j) * F(i, j)).sum(i, j), "-tr(A F)", r"-\operatorname{tr}\left(A F\right)"),
    ((X(i, α) * A(i, j) * X(j, β)).sum(i, j), "X_αᵀ A X_β", r"X^{\top}_{\alpha} A X_{\beta}"),
    ((X(i, α) * X(j, α)).sum(α), "(X Xᵀ)_{i j}", r"\left(X X^{\top}\right)_{i j}"),
    (
        (W(r, i) * W(r, j) * x(i) * x(j)).sum(r, i, j),
        "xᵀ W^(ℓ+1)ᵀ W^(ℓ+1) x",
        r"x^{\top} W^{(\ell+1)\top} W^{(\ell+1)} x",
    ),
    (
        n * delta(i, k) * (x(i) * y(i)).sum(i) ** 2,
        "n δ_{i k} (xᵀ y)²",
        r"n \delta_{i k} \left(x^{\top} y\right){}^{2}",
    ),
    (
        A(i, i).sum(i) ** 2 * x(i).sum(i),
        "tr(A)² Σ_k x_k",
        r"\operatorname{tr}\left(A\right){}^{2} \sum_{k} x_{k}",
    ),
    ((x(i) ** 3).sum(i), "Σ_i x_i³", r"\sum_{i} x_{i}{}^{3}"),
    ((A(i, i) * x(i)).sum(i), "Σ_i A_{i i} x_i", r"\sum_{i} A_{i i} x_{i}"),
    (as_expression(n - 1), "n - 1", "n - 1"),
    (as_expression(0), "0", "0"),
]


@pytest.mark.parametrize(("expression", "text", "latex"), CASES)
def test_products_of_matrices_are_written_without_their_sums(expression, text, latex):
    form = matrix_form(expression)
    assert (str(form), form.latex()) == (text, latex)
    assert form._repr_latex_() == rf"$\displaystyle {latex}$"


def test_equal_expressions_are_written_alike():
    left = (A(i, j) * B(k, j) * x(k) * y(i)).sum(i, j, k)
    right = (y(o) * x(j) * B(j, i) * A(o, i)).sum(i, j, o)
    assert str(matrix_form(left)) == str(matrix_form(right)) == "xᵀ B Aᵀ y"


def test_cumulants_of_a_quadratic_form_are_traces():
    """κ_p of zᵀ S z is 2^(p-1) (p-1)! tr((C S)^p): Mathai and Provost, Quadratic Forms, 3.2b."""
    C = constant("C", i, j, symmetry=symmetric(2))
    z = gaussian_vector("z", i, covariance=C)
    form = (z(i) * S(i, j) * z(j)).sum(i, j)
    assert str(matrix_form(connected(form))) == "tr(C S)"
    assert str(matrix_form(connected(form, form))) == "2 tr(C S C S)"
    assert str(matrix_form(connected(form, form, form))) == "8 tr(C S C S C S)"


def test_averages_over_weights_have_matrix_form():
    average = expectation((W(r, i) * A(i, j) * W(r, j)).sum(r, i, j))
    assert str(matrix_form(average)) == "C_W m/n tr(A)"


def test_brackets_keep_their_indices():
    from symdlt.algebra import activation, preactivations

    σ = activation("σ", preactivations(1, "n"))
    gram = bracket(σ(i, α) * σ(i, β))
    assert str(matrix_form((gram * X(i, α) * X(j, β)).sum(α, β))) == (
        "Σ_{α β} X_{i;α} X_{j;β} ⟨σ_α σ_β⟩^(1)"
    )
    assert repr(matrix_form(x(i))) == "MatrixForm(Expression(x_i))"
