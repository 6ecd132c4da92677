import math
from fractions import Fraction

import pytest

from symdlt.algebra import (
    from_cumulants,
    from_moments,
    gaussian,
    hazard_value,
    neurons,
    substitute,
    symbol,
    truncated_normal,
    uniform,
    weights,
)
from symdlt.algebra.averages import expectation
from symdlt.errors import IndexStructureError


def moment_from_cumulants(law, order):
    if order == 0:
        return 1
    return sum(
        (
            law.cumulant(j) * moment_from_cumulants(law, order - j) * math.comb(order - 1, j - 1)
            for j in range(2, order + 1, 2)
        ),
        start=symbol("zero") * 0,
    )


@pytest.mark.parametrize("order", [2, 4, 6, 8, 10])
def test_uniform_cumulants_give_the_moments_of_the_interval(order):
    expected = Fraction(3 ** (order // 2) * 7 ** (order // 2), order + 1)
    assert moment_from_cumulants(uniform(7), order) == expected


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_truncated_normal_cumulants_give_the_moments_of_the_cut_density(order):
    cut, steps = 2.0, 200_000
    points = [cut * (2 * (k + 0.5) / steps - 1) for k in range(steps)]
    weights = [math.exp(-x * x / 2) for x in points]
    mean = sum(w * x**order for w, x in zip(weights, points, strict=True)) / sum(weights)
    moment = moment_from_cumulants(truncated_normal(1, cutoff=2), order)
    value = sum(
        float(number) * math.prod(hazard_value(2) ** power for _, power in monomial)
        for monomial, number in moment.terms
    )
    assert value == pytest.approx(mean, rel=1e-6)


def test_signs_have_the_cumulants_of_log_cosh():
    law = from_moments({2: 1, 4: 1, 6: 1, 8: 1})
    assert [law.cumulant(order) for order in (2, 4, 6, 8)] == [1, -2, 16, -272]


def test_gaussian_has_a_variance_only():
    law = gaussian(symbol("C_W") / symbol("n"))
    assert str(law.cumulant(2)) == "C_W/n"
    assert law.cumulant(4) == law.cumulant(6) == law.cumulant(3) == 0


def test_listed_orders_left_out_are_zero():
    law = from_cumulants({2: 1, 6: 5})
    assert law.cumulant(4) == 0
    assert law.cumulant(6) == 5


@pytest.mark.parametrize("value", ["v", 0.5, None])
def test_a_variance_must_be_exact(value):
    with pytest.raises(IndexStructureError, match=f"{value!r} is not an exact value"):
        uniform(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: gaussian(-1),
        lambda: uniform(Fraction(-1, 2)),
        lambda: truncated_normal(-1),
        lambda: from_cumulants({2: -1}),
        lambda: from_moments({2: 1, 4: -1}),
        lambda: gaussian(symbol("v")).substitute({"v": -1}),
    ],
)
def test_no_variance_is_negative(make):
    with pytest.raises(IndexStructureError, match="is negative"):
        make()


@pytest.mark.parametrize("cutoff", [0, -2, "a", None, math.nan, math.inf, 10**400, 5e-324])
@pytest.mark.parametrize("cut", [hazard_value, lambda cutoff: truncated_normal(1, cutoff)])
def test_a_cut_is_a_positive_number(cut, cutoff):
    with pytest.raises(IndexStructureError, match="cannot be cut at"):
        cut(cutoff)


@pytest.mark.parametrize(
    ("law", "values"),
    [
        (None, {"n": 5}),
        (None, {"C_W": 2}),
        (gaussian(symbol("v")), {"v": 3}),
        (uniform(symbol("v") / 2), {"v": 3}),
        (from_cumulants({2: symbol("v"), 4: symbol("w")}), {"v": 3, "w": 7}),
        (truncated_normal(symbol("v")), {"v": 3}),
    ],
)
def test_substituting_before_and_after_the_average_is_the_same(law, values):
    W = weights(2, "m", "n", law=law)
    (row,), (column,) = neurons("r", "m"), neurons("i", "n")
    power = W(row, column) ** 4
    before = expectation(substitute(power, values))
    assert before == substitute(expectation(power), values)
    assert before != expectation(power)


def test_a_hazard_is_substituted_after_the_average():
    W = weights(2, "m", "n", law=truncated_normal(1))
    (row,), (column,) = neurons("r", "m"), neurons("i", "n")
    with pytest.raises(IndexStructureError, match="Take the expectation first"):
        substitute(W(row, column) ** 2, {"q": 1})
