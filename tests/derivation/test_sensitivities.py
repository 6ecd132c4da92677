"""Differentiated recursions, against SymPy's derivatives of recursions whose means are exact."""

import pickle
from functools import cache
from itertools import product

import pytest
import sympy as sp

from symdlt.derivation import derive, sensitivity
from symdlt.errors import InputError, OrderError, UnknownTensorError

Z = sp.symbols("z:9")
SIGMA = Z[0] ** 4 / 24 - 2 * Z[0] ** 2 + Z[0]
SYMBOLS = {name: sp.Symbol(name) for name in ("C_b", "C_W", "lambda_b", "lambda_W")}
RATIO = sp.Symbol("r")


def kernel(a, b):
    return sp.Symbol("G_{}{}".format(*sorted((a, b))))


@cache
def mean(powers):
    """The mean of a monomial, by Stein's lemma."""
    first = next((k for k, power in enumerate(powers) if power), None)
    if first is None:
        return sp.Integer(1)
    left = list(powers)
    left[first] -= 1
    total = sp.Integer(0)
    for k, power in enumerate(left):
        if power:
            rest = [p - (k == place) for place, p in enumerate(left)]
            total += power * kernel(first, k) * mean(tuple(rest))
    return total


@cache
def bracket(one):
    function = sp.Integer(1)
    for sample, order in one.factors:
        function *= SIGMA.diff(Z[0], order).subs(Z[0], Z[sample])
    terms = sp.Poly(sp.expand(function), *Z).terms()
    return sp.Add(*(number * mean(powers) for powers, number in terms))


def tensor(one):
    if one.correlator.name == "G" and not one.piece:
        return kernel(*one.samples)
    return sp.Symbol(f"{one.correlator.name}.{one.piece}_{''.join(map(str, one.samples))}")


def value(term):
    found = sp.Rational(term.coefficient.numerator, term.coefficient.denominator)
    found *= RATIO**term.width_ratio
    for name, power in term.hyperparameters.named:
        found *= SYMBOLS[name] ** power
    for one in term.brackets:
        found *= bracket(one)
    for one in term.tensors:
        found *= tensor(one)
    return found


def differential(term):
    what = term.differential
    return SYMBOLS[what] if isinstance(what, str) else tensor(what)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [*product("GHVBF", ["one"]), ("G", "many"), ("H", "many")],
)
def test_the_differential_has_the_derivative_by_everything(name, inputs):
    recursion = derive(name, inputs=inputs)
    whole = sp.expand(sp.Add(*map(value, recursion.terms)))
    left = {}
    for term in sensitivity(recursion).terms:
        by = differential(term)
        left[by] = left.get(by, 0) + value(term.factor)
    assert set(left) >= whole.free_symbols - {RATIO}
    for by, found in left.items():
        assert sp.expand(found - whole.diff(by)) == 0, by


def test_a_part_is_what_one_thing_changes():
    found = sensitivity(derive("H"))
    assert found.varied == ("C_W", "lambda_b", "lambda_W", "G", "H")
    assert found.to("K") == found.to("G")
    assert {term.of for term in found.to("C_W").terms} == {"C_W"}
    assert str(found.to("H")) == "dH_12[l+1] =\n  + C_W <s'_1 s'_2> dH_12"
    assert [str(term) for term in sensitivity(derive("G")).first_layer] == [
        "dC_b",
        "(x_1.x_2)/n0 dC_W",
        "C_W d(x_1.x_2)/n0",
    ]


def test_every_term_tells_where_it_comes_from():
    found = sensitivity(derive("V", inputs="one"))
    for number, term in enumerate(found.terms, 1):
        lines = found.explain(number).splitlines()
        assert str(term) in lines[0]
        assert len(lines) == 1 + len(term.sources)
    assert found.explain().count(", term ") == len(found.terms)


def test_pickles_are_equal():
    found = sensitivity(derive("F"))
    assert pickle.loads(pickle.dumps(found)) == found
    assert repr(found) == "Sensitivity(F, terms=44)"


def test_what_cannot_be_differentiated_is_refused():
    with pytest.raises(OrderError, match="inverse of the kernel"):
        sensitivity(derive("F", form="z"))
    with pytest.raises(InputError, match="Give what `derive` returned"):
        sensitivity("F")
    with pytest.raises(UnknownTensorError, match="F does not change with 'V'"):
        sensitivity(derive("F"), to="V")
    for number in (0, 99, "1"):
        with pytest.raises(OrderError, match="There is no term"):
            sensitivity(derive("F")).explain(number)
