"""The derived exponents, coefficients and ratios of odd activations are the book's."""

import pytest
import sympy as sp
from book.exponents import (
    coefficients,
    four_point_ratio,
    kernel_and_ntk,
    kernel_exponents,
    ratios,
    symbols,
)

from symdlt.asymptotics import exponents

BOOKS = symbols()


@pytest.fixture(scope="module")
def solution():
    return exponents("K*=0, odd")


def in_book_symbols(expression):
    """Symbols of equal name are the same ones; the book's K, ℓ, L must not be there."""
    named = {s: getattr(BOOKS, s.name) for s in sp.sympify(expression).free_symbols}
    assert not {"K", "ell", "L"} & {s.name for s in named}
    return sp.sympify(expression).subs(named)


@pytest.mark.parametrize("name", "RSTU")
def test_exponents_and_coefficients(solution, name):
    """(∞.30)–(∞.33)."""
    assert solution[name].exponent == kernel_exponents()[name]
    difference = in_book_symbols(solution[name].coefficient) - coefficients(BOOKS)[name]
    assert sp.simplify(difference) == 0


@pytest.mark.parametrize("name", "RSTU")
def test_ratios(solution, name):
    """(∞.34)–(∞.37)."""
    assert sp.simplify(in_book_symbols(solution[name].ratio_coefficient) - ratios(BOOKS)[name]) == 0
    assert solution[name].ratio_power == (-1 if name == "U" else 1)


def test_kernel_ntk_and_four_point_vertex(solution):
    small = kernel_and_ntk(BOOKS)
    assert sp.simplify(in_book_symbols(solution["G"].coefficient) - small["K"]) == 0
    assert sp.simplify(in_book_symbols(solution["H"].coefficient) - small["Theta"]) == 0
    assert (solution["G"].exponent, solution["H"].exponent) == (1, 0)
    assert solution["V"].ratio_coefficient == four_point_ratio()
    assert solution["V"].ratio_power == 1


def test_no_ratio_grows_faster_than_depth_over_width(solution):
    assert {x.name for x in solution.tensors} == set("GHVABDFPQRSTU")
    powers = {x.name: x.ratio_power for x in solution.tensors}
    assert {powers.pop("G"), powers.pop("H")} == {0}
    assert powers.pop("U") == -1
    assert set(powers.values()) == {1}


@pytest.mark.parametrize(
    ("text", "slope", "growth"),
    [
        ("tanh", 1, -2),
        ("sin", 1, -1),
        ("3*sin(z/2)", sp.Rational(3, 2), -sp.Rational(1, 4)),
        ("erf", 2 / sp.sqrt(sp.pi), -2),
        ("z - z**3/4", 1, -sp.Rational(3, 2)),
    ],
)
def test_an_activation_is_the_class_at_its_own_numbers(solution, text, slope, growth):
    named = exponents(text)
    for generic in solution.tensors:
        found = named[generic.name]
        numbers = {"sigma_1": slope, "a_1": growth}
        for mine, general in (
            (found.coefficient, generic.coefficient),
            (found.ratio_coefficient, generic.ratio_coefficient),
        ):
            symbols_of = sp.sympify(general).free_symbols
            expected = sp.sympify(general).subs(
                {s: numbers[s.name] for s in symbols_of if s.name in numbers}
            )
            assert sp.simplify(mine - expected) == 0, generic.name
        assert found.exponent == generic.exponent
