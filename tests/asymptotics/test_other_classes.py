"""Critical points whose expansion is not the plain one: against the recursions iterated."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from asymptotics.depth_iteration import (
    errors,
    fitted,
    iterated,
    polynomial,
    sine,
    tanh,
)
from asymptotics.other_means import elu_means, smooth_means

from symdlt import BOOK, MLP, criticality
from symdlt.activations.grammar import parse
from symdlt.activations.series import derivatives
from symdlt.asymptotics import exponents
from symdlt.asymptotics.kinked_means import OneSidedMeans
from symdlt.asymptotics.series import LogSeries
from symdlt.errors import SolutionError
from symdlt.fixed_points.laurent import Laurent

RATES = (sp.Rational(7, 10), sp.Rational(13, 10))
FINITE = ("V", "A", "B", "D", "F", "P", "Q")


def worst(text, names=None, *, activation=None, means=None, depth=20_000, K=1.0, steps=0):
    solution = exponents(text, names, lambda_b=RATES[0], lambda_W=RATES[1])
    wanted = [asymptote.name for asymptote in solution.tensors]
    found = iterated(solution, activation, wanted, RATES, depth=depth, K=K, means=means)
    return max(map(abs, errors(solution, found, steps).values())), set(wanted)


def bent(order, z):
    """The derivatives of z (1 + sin z), which is critical at K* = 0.529."""
    return z * sine(order, z) + (order * sine(order - 1, z) if order else z) + (order == 1)


def flat(order, z):
    return tanh(order, z) - 2.0**order * tanh(order, 2 * z) / 8


def gelu(order, z):
    bell = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    if order > 1:
        return (2 - z * z) * bell if order == 2 else (z**3 - 4 * z) * bell
    step = np.vectorize(math.erfc)(-z / math.sqrt(2)) / 2
    return z * step if order == 0 else step + z * bell


@pytest.mark.slow
def test_next_order_decides():
    """a_1 = 0: K falls as l^-1/2, and all thirteen follow."""
    error, names = worst("z - z**5/60", activation=polynomial([0, 1, 0, 0, 0, -1 / 60]))
    assert names == set(BOOK) | {"G", "H"}
    assert error < 1e-6
    solution = exponents("z - z**5/60", ["V"])
    assert solution["G"].exponent == sp.Rational(1, 2)
    assert solution["V"].ratio_coefficient == sp.Rational(2, 3)


@pytest.mark.slow
def test_powers_of_the_root_of_the_depth():
    error, names = worst("tanh(z) - tanh(2*z)/8", activation=flat, K=0.3, steps=2)
    assert len(names) == 13
    assert error < 1e-5


@pytest.mark.slow
def test_jump_of_the_second_derivative():
    """ELU: K falls as l^-2, and delta functions in σ''' stay finite."""
    error, names = worst("elu", ["R", "F"], means=elu_means(1.0), depth=6_000)
    assert {"R", "F"} <= names
    assert error < 1e-4
    assert exponents("elu", ["V"])["G"].coefficient == 2 * sp.pi


@pytest.mark.slow
def test_all_thirteen_of_elu():
    error, names = worst("elu", means=elu_means(1.0))
    assert len(names) == 13
    assert error < 1e-5


@pytest.mark.slow
def test_jump_of_the_slope():
    error, names = worst("elu(z, 2)", ["D", "F"], means=elu_means(2.0), depth=6_000)
    assert {"D", "F"} <= names
    assert error < 1e-4


@pytest.mark.slow
def test_all_finite_tensors_of_a_kink():
    error, names = worst("elu(z, 2)", means=elu_means(2.0))
    assert names == {*FINITE, "G", "H"}
    assert error < 1e-5


def test_infinite_tensors_are_refused():
    solution = exponents("selu")
    assert {asymptote.name for asymptote in solution.tensors} == {*FINITE, "G", "H"}
    assert [name for name, _ in solution.unsolved] == ["R", "S", "T", "U"]
    with pytest.raises(SolutionError, match="recursion of U is infinite"):
        solution["U"]


@pytest.mark.slow
def test_decimals_give_the_same_as_exact_numbers():
    """Slightly more than 2 has too many digits to calculate with exactly."""
    exact = exponents("elu(z, 2)", ["A"], lambda_b=1, lambda_W=1)
    rounded = exponents("elu(z, 2.000000000000000001)", ["A"], lambda_b=1, lambda_W=1)
    for name in "GHVDA":
        assert rounded[name].exponent == exact[name].exponent
        assert abs(rounded[name].coefficient / exact[name].coefficient - 1) < 1e-15


@pytest.mark.slow
def test_half_stable_toward_the_fixed_point():
    error, names = worst("z*(1 + sin(z))", means=smooth_means(bent), steps=1)
    assert len(names) == 13
    assert error < 1e-4


@pytest.mark.slow
def test_gelu():
    """K - K* = 6963/l with large corrections: K and V to a million layers, by fitted maps."""
    solution = exponents("gelu", ["V"])
    star, step = (float(dict(solution.values)[name]) for name in ("K*", "l (K - K*)"))
    bias, variance = (float(dict(solution.hyperparameters)[name]) for name in ("C_b", "C_W"))
    first, last = 20_000, 1_000_000
    x = step / first * (np.cos(np.pi * (np.arange(60) + 0.5) / 60) + 1) / 2
    means = smooth_means(gelu)
    square, fourth = (means((0,) * k, star + x) for k in (2, 4))
    slope = variance * (means((1, 1), star + x) + means((0, 2), star + x))
    columns = (bias + variance * square - star - x, slope**2, variance**2 * (fourth - square**2))
    move, decay, source = (np.polynomial.Polynomial.fit(x, y, 8).convert().coef for y in columns)
    kernel, delta = np.zeros(last), step / first
    for layer in range(first, last):
        kernel[layer] = delta
        total = 0.0
        for c in move[::-1]:
            total = total * delta + c
        delta += total
    factors = np.polynomial.polynomial.polyval(kernel, decay).tolist()
    sources = np.polynomial.polynomial.polyval(kernel, source).tolist()
    vertex = np.zeros(last)
    for layer in range(first, last - 1):
        vertex[layer + 1] = factors[layer] * vertex[layer] + sources[layer]
    orders = [(k, j) for k in range(4) for j in range(k + 1)]
    for found, exponent, expected in (
        (kernel, 1, step),
        (vertex, -1, float(solution["V"].coefficient)),
    ):
        assert fitted(found, exponent, orders, 1.3) == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["gelu", *(pytest.param(n, marks=pytest.mark.slow) for n in ("swish", "z*(1 + sin(z))"))],
)
def test_kernels_that_start_at_the_fixed_point_stay(name):
    """Exact at every layer, against the kernel for many inputs."""
    solution, depth = exponents(name, at_fixed_point=True), 9
    known = dict(solution.values) | dict(solution.hyperparameters)
    C_b, C_W, K = (float(known[key]) for key in ("C_b", "C_W", "K*"))
    rates = {"lambda_b": 0.7, "lambda_W": 1.1}
    shared = {key: rate / depth for key, rate in rates.items()}
    net = MLP(activation=name, widths=[1] * (depth - 1), C_b=C_b, C_W=C_W, **shared)
    found = net.propagate([[math.sqrt((K - C_b) / C_W)]], [a.name for a in solution.tensors])
    for asymptote in solution.tensors:
        for layer in (1, 2, 5, 9):
            values = rates | {"l": layer}
            exact = asymptote.exact.subs({s: values[s.name] for s in asymptote.exact.free_symbols})
            ours = found[asymptote.name][layer - 1].item() * depth**asymptote.edges
            assert ours == pytest.approx(float(exact), rel=1e-11, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gelu", pytest.param("swish", marks=pytest.mark.slow)])
def test_ratios_at_the_fixed_point_do_not_depend_on_the_learning_rates(name):
    """At leading order each edge carries one factor Θ, whatever both learning rates are."""
    solution = exponents(name, at_fixed_point=True)
    names = [a.name for a in solution.tensors]
    for given in ({"lambda_b": 0}, {"lambda_b": 3, "lambda_W": 2}):
        others = exponents(name, names, at_fixed_point=True, **given)
        for tensor in names:
            ratio = solution[tensor].ratio_coefficient
            assert not ratio.free_symbols
            assert others[tensor].ratio_coefficient == pytest.approx(float(ratio), rel=1e-12)
    assert "1.0*" not in solution.table()


def test_where_no_kernel_stays():
    with pytest.raises(SolutionError, match="no critical point with K"):
        exponents("tanh", at_fixed_point=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gelu", "swish", "mish"])
def test_half_stable_constants(name):
    point, solution = criticality(name).points[0], exponents(name, ["V"])
    found = dict(solution.values) | dict(solution.hyperparameters)
    for key, value in (("K*", point.K), ("C_b", point.C_b), ("C_W", point.C_W)):
        assert abs(found[key] / value - 1) < 1e-27
    assert abs(found["a_1"] / point.a_1 - 1) < 1e-25
    assert abs(found["p_perp"] / point.p_perp - 1) < 1e-25
    assert solution["V"].exponent == -1
    assert "K* = " in solution.table()
    assert r"\lambda" in solution.latex()


@pytest.mark.slow
def test_what_depends_on_the_input_is_left_out_or_refused():
    solution = exponents("mish")
    assert "U" not in {asymptote.name for asymptote in solution.tensors}
    assert "U is not solved: The leading growth of U depends on the input" in solution.table()
    with pytest.raises(SolutionError, match="leading growth of U depends on the input"):
        solution["U"]


def test_curvature_with_a_vanishing_quadratic_term_is_no_power():
    """σ_3 = -3/4 σ_2²: a_1 = 0, and χ_⊥ = 1 + c l^-1/2."""
    with pytest.raises(SolutionError, match="exponentially in a power of the depth"):
        exponents("z + z**2/2 - z**3/8 - z**5", ["V"])


def test_brackets_at_a_kink_are_those_of_a_smoothed_one():
    """σ'' from -1 to 2 through a steep tanh: means of σ''' σ'' σ'' at a small width."""
    means = OneSidedMeans(
        [0, 1, -1, 0, 0, 0, 0], [0, 1, 2, 0, 0, 0, 0], math.sqrt(2 / math.pi), 2, {}
    )
    found = means((2, 2, 3))
    value = found.coefficients[0]
    z, step = np.linspace(-1, 1, 200_001, retstep=True)
    width = 1e-3
    second = 0.5 + 1.5 * np.tanh(z / width)
    third = 1.5 / np.cosh(np.clip(z / width, -300, 300)) ** 2 / width
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    assert found.lowest == -1
    assert value == pytest.approx(float(np.sum(second**2 * third * density) * step), rel=1e-4)


def test_reciprocal():
    series = LogSeries(((1, (sp.QQ(2),)), (2, (sp.QQ(1), sp.QQ(3)))), 4)
    product = series * series.reciprocal()
    assert product.terms == ((0, (1,)),)
    assert product.precision == 3


def test_laurent_series():
    first, second = Laurent(-1, (1, 2, 3, 4)), Laurent(0, (5, 6, 7))
    assert first + second == Laurent(-1, (1, 7, 9, 11))
    assert first * second == Laurent(-1, (5, 16, 34))


@pytest.mark.parametrize(
    "text",
    ["z*erf(z)", "sqrt(2 + z**2)", "z/(1 + exp(-z))", "atan(z)*log(3 + cos(z))", "tanh(z)*sinh(z)"],
)
def test_derivatives(text):
    import mpmath

    z = sp.Symbol("z")
    expression = sp.sympify(text)
    for k, value in enumerate(derivatives(parse(text), 4)(mpmath.mpf("0.7"))):
        assert float(value) == pytest.approx(float(expression.diff(z, k).subs(z, 0.7)), abs=1e-12)
