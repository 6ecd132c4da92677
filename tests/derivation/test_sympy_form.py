"""Recursions and solutions in SymPy, with the symbols of `symdlt.symbols`."""

import pytest
import sympy as sp

from symdlt import derive, exponents, symbols
from symdlt.errors import SolutionError


@pytest.mark.parametrize("name", [*"GHVABDFPQRSTU"])
def test_terms_add_up_to_the_recursion(name):
    recursion = derive(name, inputs="one")
    equation = recursion.to_sympy()
    assert str(equation.lhs) == f"{name}[l+1]"
    assert len(sp.Add.make_args(sp.expand(equation.rhs))) == len(recursion.terms)
    numbers = [term.coefficient for term in recursion.terms]
    ones = dict.fromkeys(equation.rhs.free_symbols, 1)
    assert equation.rhs.subs(ones) == sum(numbers)


def test_symbols_are_those_that_are_exported():
    equation = derive("F", inputs="one").to_sympy()
    doubled = equation.rhs.subs(symbols.C_W, 2)
    assert symbols.C_W not in doubled.free_symbols
    assert doubled == 4 * equation.rhs.subs(symbols.C_W, 1)
    assert equation.rhs.coeff(symbols.n, 0) == symbols.C_W**2 * sp.prod(
        symbols.named(name) for name in ("<s s s' s'>", "H")
    )


def test_many_inputs_have_their_samples():
    left = derive("V").to_sympy().lhs
    assert str(left) == "V_1234[l+1]"


def test_a_layer_has_its_own_symbols():
    equation = derive("G", layer="z' = xi z + b + W s(z)", inputs="one").to_sympy()
    xi = sp.Symbol("xi", real=True)
    assert equation.rhs.coeff(xi, 2) == symbols.named("G")


def test_solutions_at_values():
    solution = exponents("tanh")
    assert solution.at(lambda_b=0)["H"].coefficient == symbols.lambda_W / 2
    whole = solution["R"].ratio_coefficient.subs({symbols.lambda_b: 2, symbols.lambda_W: 1})
    assert solution.at(lambda_b=2, lambda_W=1)["R"].ratio_coefficient == whole
    with pytest.raises(SolutionError, match="does not have the symbols foo"):
        solution.at(foo=1)
