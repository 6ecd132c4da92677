"""The tensors of order 1/n²: their ratios, the cutoff ℓ/n, and what cannot be solved."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from asymptotics.depth_iteration import extrapolated
from cases import swept
from kernels.kernel_reference import loaded, sin, tanh

from symdlt import BOOK, correlators, derive, derive_system
from symdlt.asymptotics import Asymptote, exponents, power_laws
from symdlt.asymptotics.equations import Equation, Source, expand
from symdlt.asymptotics.layer_series import UndeterminedError
from symdlt.asymptotics.parameters import parameters
from symdlt.asymptotics.solver import solve
from symdlt.cli import main
from symdlt.errors import SolutionError
from symdlt.kernels import generate_kernel

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/next_order.md").read_text(encoding="utf-8")
SCRIPT = runpy.run_path(str(ROOT / "derivations/next_order.py"))
DEPTH = 20_000
RATES = (sp.Rational(7, 10), sp.Rational(13, 10))
FEW = (
    *("X6_02", "X6_45", "X6_02_14", "X6_02_03", "X6_02_04_13_25"),
    *("X6_04_15_24_35", "X6_25_34_35", "X6_03_14_15_25_35", "X6_02_05_13_14_24"),
    *("G.1", "H.1", "V.1", "G.2"),
)


def misses(text, activation, wanted):
    """Relative errors of all coefficients: extrapolated, and as they are at the last layer."""
    solution = exponents(text, wanted, lambda_b=RATES[0], lambda_W=RATES[1])
    module = loaded(generate_kernel(derive_system(wanted, inputs="one", form="z"), name="deep"))
    count = module.DERIVATIVES + 1
    found = module.propagate(
        [lambda z, k=k: activation(k, z, np) for k in range(count)],
        1.0,
        DEPTH,
        C_b=0.0,
        C_W=1.0,
        lambda_b=float(RATES[0]) / np.arange(1, DEPTH + 1),
        lambda_W=float(RATES[1]),
    )
    limits, ends = {}, {}
    for a in solution.tensors:
        assert a.log_power == 0
        coefficient, exponent = float(a.coefficient), float(a.exponent)
        limits[a.name] = extrapolated(found[a.name], exponent) / coefficient - 1
        ends[a.name] = found[a.name][-1] * DEPTH**exponent / coefficient - 1
    return limits, ends


@pytest.mark.slow
def test_some_against_the_iterated_kernel():
    """What the extrapolation leaves goes as log³ℓ/ℓ³."""
    limits, ends = misses("tanh", tanh, FEW)
    assert set(FEW) <= set(limits)
    assert max(map(abs, limits.values())) < 1e-6, limits
    assert max(map(abs, ends.values())) < 2e-2, ends


@pytest.mark.parametrize(("text", "activation"), [swept("tanh", tanh), swept("sin", sin)])
def test_all_against_the_iterated_kernel(text, activation):
    limits, ends = misses(text, activation, SCRIPT["WANTED"])
    assert len(limits) == 2 + 11 + 103 + 15
    assert max(map(abs, limits.values())) < 1e-6, limits
    assert max(map(abs, ends.values())) < 2e-2, ends


@pytest.fixture(scope="module")
def odd():
    return exponents("K*=0, odd", [*BOOK, *FEW])


def test_page_has_the_lines_that_are_derived(odd):
    for name in (*SCRIPT["PARTS"]["Order 1/n"], *FEW):
        assert f"\n{SCRIPT['row'](odd[name])}\n" in PAGE, name


@pytest.mark.slow
def test_page_is_what_the_script_prints():
    solution = exponents("K*=0, odd", SCRIPT["WANTED"])
    assert solution.unsolved == ()
    assert SCRIPT["page"](solution.tensors) in PAGE
    assert {a.cutoff for a in solution.tensors} == {"at", "below"}
    share = {"lambda_b": 7, "lambda_W": 13, "a_1": -2, "sigma_1": 1}
    named = exponents("tanh", SCRIPT["WANTED"], lambda_b=7, lambda_W=13)
    for a in solution.tensors:
        numbers = {s: share[s.name] for s in sp.sympify(a.coefficient).free_symbols}
        assert sp.sympify(a.coefficient).subs(numbers) == named[a.name].coefficient


def test_page_names_every_tensor_once():
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    names = [line.split("`")[1] for line in lines]
    wanted = {c.name for order in (1, 2) for c in correlators(order)}
    assert sorted(name for name in names if "." not in name) == sorted(wanted)
    assert not any(line.endswith("above |") for line in lines)
    assert PAGE.count("0 above it.") == 3


def test_coefficients_follow_from_the_ratios(odd):
    """X → r Θ^e (−a_1)^(e−m) ℓ^-p, as the page says."""
    s = {x.name: x for a in odd.tensors for x in sp.sympify(a.coefficient).free_symbols}
    theta = s["lambda_b"] - s["lambda_W"] * s["sigma_1"] ** 2 / s["a_1"]
    for a in odd.tensors:
        r = SCRIPT["in_shares"](a.ratio_coefficient)
        r = sp.sympify(r).subs(SCRIPT["BETA"], s["lambda_b"] / theta)
        expected = r * theta**a.edges * (-s["a_1"]) ** (a.edges - a.pairs)
        assert sp.simplify(expected - a.coefficient) == 0, a.name


def test_cutoff_is_the_books_condition(odd):
    """(∞.38): p_X + (e − m) p_0 − e p_Θ is −s at the cutoff, and larger below it."""
    p_0, p_Theta = odd["G"].exponent, odd["H"].exponent
    for a in odd.tensors[2:]:
        distance = a.exponent + (a.edges - a.pairs) * p_0 - a.edges * p_Theta + a.order
        assert a.cutoff == ("at" if distance == 0 else "below"), a.name
        assert (a.name in odd.at_cutoff) == (distance == 0)
    assert {name for name in BOOK if odd[name].cutoff == "below"} == {"U"}


@pytest.mark.parametrize(
    ("power", "logs", "cutoff"),
    [(2, 0, "at"), (2, 1, "above"), (1, 3, "below"), (3, 0, "above")],
)
def test_logarithms_count(power, logs, cutoff):
    assert Asymptote("X6", 0, 3, 2, sp.Integer(1), logs, 1, power, 1).cutoff == cutoff


def test_coefficient_that_vanishes_for_some_learning_rates():
    """H.1 at β = 9/10: the next order of 1/ℓ takes over."""
    found = exponents("tanh", ["H.1"], lambda_b=9, lambda_W=2)
    assert found.unsolved == ()
    assert found["H.1"].cutoff == "below"


def test_tensors_that_cancel_do_not_stop_the_others(monkeypatch):
    """Without bias learning D, A, Q and T need a second round; if there is none they are named."""
    monkeypatch.setattr(power_laws, "MOST_ORDERS", 1)
    found = exponents("tanh", lambda_b=0)
    assert [name for name, _ in found.unsolved] == ["D", "A", "Q", "T"]
    assert exponents("tanh", ["V"]).unsolved == ()
    assert {a.name for a in found.tensors} == set(BOOK) - set("DAQT")
    whole = exponents("tanh")["R"].coefficient
    zero = {s: 0 for s in whole.free_symbols if s.name == "lambda_b"}
    assert found["R"].coefficient == sp.factor(whole.subs(zero))
    with pytest.raises(SolutionError, match="leading behaviour of T cancels in the first 1 orders"):
        found["T"]
    assert "\nT is not solved: The leading behaviour of T cancels" in found.table()
    assert set(found.to_dict()["unsolved"]) == set("DAQT")


def artificial(name, field, decay, *fresh):
    """X' = (1 + decay·a_1 K) X + sources, so that X decays as ℓ^-decay without them."""
    one = field.zero + 1
    own = Source((0, 0, 0, 0), (name,), (one, decay * field.a_1, *[field.zero] * 2))
    sources = [
        Source((0, 0, 0, 0), names, tuple(field.zero + c for c in series))
        for names, series in fresh
    ]
    return Equation(name, 0, 2, 1, (*sources, own))


def test_outcome_of_each_tensor():
    field = parameters(derive("G", inputs="one"), 9, vanishing=(2, 4, 6, 8))
    book = [expand(derive(name, inputs="one"), field.taylor, 3, field.field) for name in "GH"]
    equations = [
        *book,
        artificial("X1", field, 0, ((), (0, 0, 1, 0))),
        artificial("X2", field, 3, (("X1",), (0, 1, 0, 0)), ((), (0, 0, 1, 0))),
        artificial("X3", field, 3, ((), (0, 0, 0, 0))),
        artificial("X4", field, 3, (("X3",), (0, 0, 1, 0)), ((), (0, 0, 1, 0))),
        artificial("X5", field, 3, (("X3",), (0, 1, 0, 0))),
    ]
    solutions, unsolved, *_ = solve(equations, field, 1)
    assert [s.equation.name for s in solutions] == ["G", "H", "X4"]
    assert solutions[-1].series.terms == ((1, (1 / field.a_1**2 / 2,)),)
    reasons = dict(unsolved)
    assert list(reasons) == ["X1", "X2", "X3", "X5"]
    assert "depends on the input" in str(reasons["X1"])
    assert str(reasons["X2"]).startswith("The recursion of X2 contains X1, which has no solution. ")
    assert {type(reasons[name]) for name in ("X3", "X5")} == {UndeterminedError}


def test_command_takes_an_order(capsys):
    assert main(["exponents", "tanh", "--order", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["G", "H"]
    assert main(["exponents", "tanh", "--order", "-1"]) == 1
    assert "Give 0 or more" in capsys.readouterr().err
