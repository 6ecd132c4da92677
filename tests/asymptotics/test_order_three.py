"""The 1971 tensors of order 1/n³: none grows faster than (ℓ/n)³, and how this is known."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from asymptotics.depth_iteration import extrapolated
from cases import slow, swept
from exact import (
    Layer,
    Network,
    cumulant,
    deep_linear_moment,
    matrix,
    metric_cumulant,
)
from kernels.kernel_reference import loaded, tanh

from symdlt import correlators, derive_system, tensor
from symdlt.asymptotics import exponents
from symdlt.kernels import generate_kernel

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/order_three.md").read_text(encoding="utf-8")
SCRIPT = runpy.run_path(str(ROOT / "derivations/next_order.py"))
LINES = [line for line in PAGE.splitlines() if line.startswith("| `")]
ROWS = {line.split("`")[1]: line for line in LINES}
DEPTHS = (1250, 5000, 20_000)
RATES = (sp.Rational(7, 10), sp.Rational(13, 10))


def cells(line):
    return [cell.strip() for cell in line.split("|")[1:-1]]


def kinds():
    """The tensors of the page by their number of edges and their scale."""
    found = {}
    for name, line in ROWS.items():
        found.setdefault((name.count("_"), cells(line)[-1]), []).append(name)
    return found


SOME = [name for of in kinds().values() for name in dict.fromkeys((of[0], of[len(of) // 2]))]


def test_page_has_every_tensor_once():
    assert len(LINES) == len(ROWS) == 1971
    assert set(ROWS) == {c.name for c in correlators(3)}


def test_none_is_above_the_cutoff():
    powers = Counter()
    for line in ROWS.values():
        scale = cells(line)[-1]
        power = re.match(r"ℓ(?:\^(-?\d+))?", scale)
        powers[int(power[1] or 1) if power else 0] += 1
        assert "log" not in scale or int(power[1]) < 3
    assert powers.total() == 1971
    assert max(powers) == 3
    assert powers[3] == 807


def test_the_summary_counts_the_rows():
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    heads, _, *counts = map(cells, lines[:10])
    counted = {key: len(names) for key, names in kinds().items()}
    assert heads[:2] == ["edges", "tensors"]
    for edges, line in enumerate(counts):
        assert line[0] == str(edges)
        assert int(line[1]) == sum(n for (e, _), n in counted.items() if e == edges)
        for scale, count in zip(heads[2:], line[2:], strict=True):
            assert int(count or 0) == counted.get((edges, scale), 0)


def test_page_has_the_lines_that_are_derived():
    few = ["X8_02", "X8_02_04", "X8_13_15_17_25_36_47"]
    assert ROWS.keys() >= set(few)
    for asymptote in exponents("K*=0, odd", few).tensors:
        if asymptote.pairs == 4:
            assert SCRIPT["short_row"](asymptote) == ROWS[asymptote.name]


@pytest.mark.sweep
def test_two_of_each_kind_are_as_the_page_says():
    assert len(SOME) > 50
    solution = exponents("K*=0, odd", SOME)
    assert solution.unsolved == ()
    checked = [a for a in solution.tensors if a.pairs == 4]
    assert {a.name for a in checked} >= set(SOME)
    for asymptote in checked:
        assert SCRIPT["short_row"](asymptote) == ROWS[asymptote.name]


@pytest.mark.parametrize("names", [swept(SOME), slow(SOME[::12])], ids=["two of each", "five"])
def test_two_of_each_kind_against_the_iterated_kernel(names):
    """Deviations shrink as log ℓ/ℓ, and what the extrapolation leaves goes as log³ℓ/ℓ³.

    Where the leading term is log²ℓ the next ones are smaller by 1/log ℓ only.
    """
    solution = exponents("tanh", names, lambda_b=RATES[0], lambda_W=RATES[1])
    module = loaded(generate_kernel(derive_system(names, inputs="one", form="z"), name="deep"))
    depth = DEPTHS[-1]
    found = module.propagate(
        [lambda z, k=k: tanh(k, z, np) for k in range(module.DERIVATIVES + 1)],
        1.0,
        depth,
        C_b=0.0,
        C_W=1.0,
        lambda_b=float(RATES[0]) / np.arange(1, depth + 1),
        lambda_W=float(RATES[1]),
    )
    limits, ends = {0: {}, 2: {}}, {d: {0: {}, 2: {}} for d in DEPTHS}
    for a in solution.tensors:
        values, power, coefficient = found[a.name], float(a.exponent), float(a.coefficient)
        logs = a.log_power
        limits[logs][a.name] = abs(extrapolated(values, power, logs) / coefficient - 1)
        for d, end in ends.items():
            value = values[d - 1] * d**power / np.log(d) ** logs
            end[logs][a.name] = abs(value / coefficient - 1)
    assert set(limits[0]) | set(limits[2]) >= set(names)
    assert len(limits[2]) == (2 if names == SOME else 0)
    assert max(limits[0].values()) < 2e-6, limits
    assert max(limits[2].values(), default=0) < 1e-3, limits
    assert max(ends[DEPTHS[-1]][0].values()) < 3e-2, ends
    for logs in (0, 2) if limits[2] else (0,):
        largest = [max(ends[d][logs].values()) for d in DEPTHS]
        medians = [np.median([*ends[d][logs].values()]) for d in DEPTHS]
        assert sorted(medians, reverse=True) == medians, medians
        assert largest[-1] < largest[0], largest


K, BIAS, WEIGHT = Fraction(3, 2), Fraction(2, 3), Fraction(1, 5)


def linear_network(layers):
    """A deep linear network with learning rates that are alike at all layers."""
    layer = Layer(matrix([[0, 1]]), 0, 1, BIAS, WEIGHT)
    return Network(matrix([[K]]), matrix([[BIAS + WEIGHT * K]]), (layer,) * (layers - 1))


@pytest.mark.sweep
def test_deep_linear_networks_against_exact_statistics():
    names = [c.name for c in correlators(3)[9::130]]
    solution = exponents("linear", names)
    symbols = {s.name: s for a in solution.tensors for s in sp.sympify(a.exact).free_symbols}
    given = {"K": K, "lambda_b": BIAS, "lambda_W": WEIGHT}
    values = {symbols[name]: sp.Rational(*v.as_integer_ratio()) for name, v in given.items()}
    reached = 0
    for name in names:
        correlator, found = tensor(name), sp.sympify(solution[name].exact).subs(values)
        for layers in (2, 3, 4):
            exact = cumulant(
                linear_network(layers), (0,) * 8, correlator.forest.edges, correlator.matching, 3
            )
            wanted = sum((v for powers, v in exact.items() if sum(powers) == 3), Fraction(0))
            assert found.subs(symbols["l"], layers) == wanted, (name, layers)
            reached += wanted != 0
    assert reached == 10


def test_the_eight_point_vertex_of_deep_linear_networks():
    """Each layer multiplies the squared length of z by an independent chi-square over n."""
    exact = exponents("linear", ["X8"])["X8"].exact
    symbols = {s.name: s for s in exact.free_symbols}
    for layers in range(2, 7):
        moments = {power: deep_linear_moment(power, layers - 1) for power in range(1, 5)}
        cumulant_of_metric = metric_cumulant(moments, 4)
        wanted = sum(v for powers, v in cumulant_of_metric.items() if sum(powers) == 3)
        assert wanted > 0
        assert exact.subs({symbols["K"]: 1, symbols["l"]: layers}) == wanted
