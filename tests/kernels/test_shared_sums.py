"""Sums that stand more than once have names, and stand for the same numbers."""

from fractions import Fraction
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_reference import loaded

from symdlt import layer_equations
from symdlt.kernels import kernel_for
from symdlt.kernels.generator.expressions import (
    Cost,
    Raised,
    Sum,
    Symbol,
    cost,
    factored,
    monomial,
    shared_sums,
)

BLOCK = "h = U s(z); z' = xi z + W s(h)"
NAMES = "abcd"
monomials = st.dictionaries(st.sampled_from(NAMES), st.integers(-2, 3)).map(monomial)
polynomials = st.dictionaries(monomials, st.integers(-3, 3).filter(bool).map(Fraction), max_size=12)
VALUES = dict(zip(NAMES, map(Fraction, (2, -3, 5, 7)), strict=True))


def value_of(expression, values):
    terms = expression.terms if isinstance(expression, Sum) else (expression,)
    return sum(t.coefficient * prod(factor_value(f, values) for f in t.factors) for t in terms)


def factor_value(factor, values):
    match factor:
        case Symbol():
            return values[factor.name]
        case Raised():
            return values[factor.base.name] ** factor.exponent
    return value_of(factor, values)


@given(st.lists(polynomials, min_size=1, max_size=3))
def test_values_are_those_of_the_polynomials(given_ones):
    whole = [factored(one, lambda name: (0, name)) for one in given_ones]
    parts, left = shared_sums(whole)
    values = dict(VALUES)
    for part in parts:  # each reads those before it alone
        values[part.name] = value_of(part.value, values)
    for terms, one in zip(given_ones, left, strict=True):
        plain = sum(n * prod(VALUES[b] ** p for b, p in key) for key, n in terms.items())
        assert value_of(one, values) == plain
    assert (
        sum(map(cost, [*left, *(p.value for p in parts)]), Cost()).additions
        <= sum(map(cost, whole), Cost()).additions
    )


def test_names_of_parts_are_none_that_are_read():
    both = factored({(("part_1", 1),): Fraction(1), (("a", 1),): Fraction(1)}, lambda n: (0, n))
    (part,), _ = shared_sums([both_times_itself(both)])
    assert part.name == "part_2"


def both_times_itself(one):
    ((first, second),) = [one.terms]
    return Sum((first, type(first)(Fraction(1), (one, one)), type(second)(Fraction(2), (one,))))


@pytest.mark.slow
def test_long_equations_are_told_by_their_first_terms():
    text = kernel_for(["A"], layer=BLOCK, name="own").text
    terms = len(layer_equations("A", BLOCK)[0].terms)
    assert f"… and {terms - 100} terms more, which are in the code alone" in text
    assert "part_1 = " in text
    assert loaded(kernel_for(["A"], layer=BLOCK, name="own")).RECURSIONS
