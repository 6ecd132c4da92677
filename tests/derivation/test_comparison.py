"""A failed comparison of recursions shows the terms at fault."""

from dataclasses import replace

import pytest

from symdlt.derivation import RecursionSystem, derive


def changed(recursion):
    first, _, *others = recursion.terms
    return replace(recursion, terms=(replace(first, coefficient=7 * first.coefficient), *others))


def test_a_failed_comparison_names_the_terms_and_no_others(pytestconfig):
    right = derive("V", inputs="one")
    wrong = changed(right)
    first, *_ = pytestconfig.hook.pytest_assertrepr_compare(
        config=pytestconfig, op="==", left=right, right=wrong
    )
    assert first[1:] == [
        "V, terms: RecursionTerm(-C_W^2 <s s>^2) != RecursionTerm(-7 C_W^2 <s s>^2)",
        "V, terms: RecursionTerm(C_W^2 <s s s s>) != nothing",
    ]


def test_so_does_one_of_systems():
    right = derive("V", inputs="one")
    systems = [RecursionSystem((derive("G", inputs="one"), one)) for one in (right, changed(right))]
    with pytest.raises(AssertionError, match=r"V, terms: RecursionTerm\(-C_W\^2 <s s>\^2\) != "):
        assert systems[0] == systems[1]
