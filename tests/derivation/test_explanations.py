"""Accounts of the equations of layers: that they add up, and that they can be read."""

import os
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import cache

import pytest
from cases import slow, swept

from symdlt import BOOK, Stack, explain, layer_equations
from symdlt.algebra import Polynomial, orthogonal, uniform
from symdlt.cli import main
from symdlt.derivation.response.symbolic.explanations import contribution
from symdlt.derivation.response.symbolic.glossary import head_of
from symdlt.errors import InputError, OrderError, SchemaError
from symdlt.networks import LayerEquations

DENSE = "z' = b + W s(z)"
RESIDUAL = "z' = xi z + b + W s(z)"
GATE = "u = U z; v = V z; z' = b + W s(u) v"
BLOCK = "h = U s(z); z' = z + W s(h)"
MIXTURE = "h = U z; z' = b + W (s(h) + 1/2 h)"
NORMED = "z' = b + W s(layernorm(z))"
SCALED = "h = U s(z); z' = z + W s(rmsnorm(h))"
KEPT = "h = z + U s(z); z' = h + W s(layernorm(h))"
MASKED = "z' = xi z + b + W dropout(0.1) s(z)"
WINDOWED = "z' = z + b + W[3, zero] s(z)"
AVERAGED = "z' = W[mean] s(z)"
UNIFORM = Stack("z' = b + W s(z)", laws={"W": uniform})
UNIFORM_SCALED = Stack("h = U s(z); z' = W s(rmsnorm(h))", laws={"U": uniform})
ORTHOGONAL = Stack("z' = b + W s(z)", laws={"W": orthogonal})
FAMILIES = (NORMED, SCALED, KEPT, MASKED, WINDOWED, AVERAGED, ORTHOGONAL)


def is_long(name, layer):
    """Whether accounts take seconds."""
    return name == "B" or (name == "V" and layer == KEPT)


QUICK = ("G", "H", "V", "B", "F", "P")


def marks_of(name, layer, quick):
    if quick or name in QUICK:
        return ()
    return pytest.mark.slow if layer == GATE and name in ("A", "R") else pytest.mark.sweep


CASES = (
    [
        pytest.param(name, layer, marks=marks_of(name, layer, quick))
        for layers, quick in (((DENSE, RESIDUAL), True), ((GATE, BLOCK, MIXTURE), False))
        for layer in layers
        for name in BOOK
    ]
    + [
        slow(name, layer) if is_long(name, layer) or layer == SCALED else (name, layer)
        for layer in FAMILIES
        for name in (*QUICK[:3], "B")
    ]
    + [swept("F", layer) for layer in FAMILIES]
    + [
        pytest.param(name, layer, marks=pytest.mark.slow if layer in (GATE, NORMED) else ())
        for name in ("G.1", "H.1")
        for layer in (DENSE, UNIFORM, ORTHOGONAL, AVERAGED, NORMED, GATE)
    ]
    + [("G.1", RESIDUAL), ("G.1", MASKED), ("G.1", UNIFORM_SCALED)]
)


@cache
def recorded_equations(name, layer):
    """Equations that keep how they were made, for several tests."""
    return layer_equations(name, layer, recorded=True)


def product_of(steps):
    """The factors of all steps, multiplied once more."""
    total = Counter()
    number = Fraction(1)
    for step in steps:
        ((monomial, value),) = step.factor.terms
        number *= value
        total.update(dict(monomial))
    return tuple(sorted((name, power) for name, power in total.items() if power)), number


@pytest.mark.parametrize(("name", "layer"), CASES)
def test_accounts_add_up(name, layer):
    """The ways of each term, multiplied out step by step, give the term that is derived without."""
    plain, recorded = layer_equations(name, layer), recorded_equations(name, layer)
    assert len(plain) == len(recorded)
    for equation, derived in zip(recorded.equations, plain.equations, strict=True):
        assert derived.account is None
        assert equation.name == derived.name
        sums = Counter()
        for product, ways in equation.account.ways().items():
            for way in ways:
                monomial, number = product_of(way)
                assert monomial == product
                sums[monomial] += number
        assert {m: c for m, c in sums.items() if c} == {m: c for m, c in derived.polynomial.terms}
        assert equation.account.value == derived.polynomial


@pytest.mark.parametrize(("name", "layer"), [("H", GATE), ("V", RESIDUAL), ("B", BLOCK)])
def test_what_is_printed_adds_up(name, layer):
    equations = layer_equations(name, layer)
    told = explain(equations).split("\n\n")[1:]
    terms = [
        (equation.name, text, product.terms[0][1])
        for equation in equations.equations
        for text, product in zip(equation.terms, equation.products, strict=True)
    ]
    assert len(told) == len(terms)
    for number, (text, (left, term, coefficient)) in enumerate(zip(told, terms, strict=True), 1):
        assert text.startswith(f"{left}, term {number} of {len(terms)}: {term}\n")
        ways = re.findall(r"^Way \d+ of \d+, contributing (\S+):", text, re.MULTILINE)
        assert sum(map(Fraction, ways)) == coefficient
        assert ("Sum of the contributions" in text) == (len(ways) > 1)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("P", GATE),
        ("V", RESIDUAL),
        ("F", BLOCK),
        *(("V", layer) for layer in FAMILIES if not is_long("V", layer)),
        ("H.1", UNIFORM),
        ("G.1", NORMED),
        ("G.1", RESIDUAL),
    ],
)
@pytest.mark.parametrize("term", [None, 3])
def test_every_symbol_is_defined_where_it_is_first_met(name, layer, term):
    equations = recorded_equations(name, layer)
    products = [product for equation in equations.equations for product in equation.products]
    told = explain(equations, term).split("\n\n")[1:]
    defined = set()
    for text, product in zip(
        told, products if term is None else products[term - 1 :], strict=False
    ):
        found = re.findall(r"^  ([^\s:]+): ", text, re.MULTILINE)
        heads = {{"<F>": "<", "Y": "Y_", "sum_q": "sum_"}.get(one, one) for one in found}
        assert not heads & defined
        defined |= heads
        ((monomial, _),) = product.terms
        assert {head_of(symbol) for symbol, _ in monomial} <= defined


def test_where_a_term_of_dense_v_comes_from():
    """Old terms end in the tensor of the layer below, new ones where noises meet."""
    (equation,) = layer_equations("V", DENSE, recorded=True).equations
    ways = equation.account.ways()
    for product in equation.products:
        (way,) = ways[product.terms[0][0]]
        old = "n'" in dict(product.terms[0][0])
        assert ("fluctuate together" in way[-1].reason) == old
        assert ("meet where both read the same neuron" in way[-1].reason) == (not old)
        assert [step.factor for step in way].count(Polynomial.symbol("C_W")) == 2
        assert contribution(way) == product.terms[0][1]


def test_a_gated_term_is_told_as_a_new_user_reads_it():
    told = explain(layer_equations("H", GATE), 3)
    assert told.startswith(
        f"H of the layer {GATE}, by the linear response of neuron\n   averages.\n"
        "H_12 is E[tree(1-2)], neurons 1=2.\n"
    )
    assert "v_1 and v_2 have the covariance C_V G_12." in " ".join(told.split())
    assert told.endswith(
        "Way 1 of 1, contributing 1:\n"
        "  1. The weights W of z'_1 and z'_2 are contracted, over the n_u neurons of u and v: the\n"
        "     mean of s(u)_1 v_1 s(u)_2 v_2. Factor: C_W <s(u)_1 s(u)_2>.\n"
        "  2. The edge 1-2 is in v_1 and v_2 of it: a derivative along each, and their NTK.\n"
        "  3. The edge 1-2 of v_1 and v_2 is a weight of V, over the n neurons of z: the mean of\n"
        "     z_1 z_2. Factor: lambda_V.\n"
        "  4. z_1 itself in it meets z_2: their covariance. Factor: G_12."
    )


def test_equations_that_were_read_back_are_explained():
    equations = layer_equations("H", GATE)
    again = LayerEquations.from_json(equations.to_json())
    assert explain(again, 2) == explain(equations, 2)
    changed = LayerEquations.from_json(equations.to_json().replace('"1"', '"2"'))
    with pytest.raises(SchemaError, match="are not the equations that follow"):
        explain(changed)


def test_terms_that_are_none_are_refused():
    equations = layer_equations("H", GATE)
    for number in (0, 7, -1):
        with pytest.raises(OrderError, match="has terms 1 to 6"):
            explain(equations, number)
    with pytest.raises(InputError):
        explain(equations, "first")


def test_notebooks_show_the_text():
    told = explain(layer_equations("G", GATE))
    assert told._repr_html_().startswith("<pre>G of the layer")
    assert "&lt;s(u)_1 s(u)_2&gt;" in told._repr_html_()


def test_command(capsys):
    assert main(["explain", "H", "--layer", GATE, "--term", "3"]) == 0
    assert capsys.readouterr().out == f"{explain(layer_equations('H', GATE), 3)}\n"
    assert main(["explain", "V", "--layer", RESIDUAL]) == 0
    assert capsys.readouterr().out == f"{explain(layer_equations('V', RESIDUAL))}\n"
    with pytest.raises(SystemExit):
        main(["explain", "V", "--layer", RESIDUAL, "--inputs", "one"])
    assert "for many inputs" in capsys.readouterr().err


@pytest.mark.slow
def test_the_account_does_not_depend_on_the_order_of_sets():
    code = f"from symdlt import *; print(explain(layer_equations('F', {BLOCK!r})))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
