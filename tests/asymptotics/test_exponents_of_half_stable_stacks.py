"""Exponents of chains of steps about a critical kernel K* > 0.

A block of two equal halves is two dense layers. Others are iterated, by the kernel of their
recursions to large depth, and from K* on by `propagate`, which knows no steps.
"""

import numpy as np
import pytest
import sympy as sp
from asymptotics.depth_iteration import extrapolated
from asymptotics.test_exponents_of_stacks import (
    BLOCK,
    NUMBERS,
    READING,
    TWO,
    iterated,
    number,
    settings_of,
)
from cases import slow, swept
from sympy.polys.rings import ring

from symdlt import Network, criticality, exponents, propagate, recipe
from symdlt.asymptotics import optimal_aspect_ratio
from symdlt.asymptotics.stack_stationary import Sized
from symdlt.errors import SolutionError

# Critical at K* = 0.53, to which its kernel comes in ten layers, where GELU takes 7000.
BENT = "z*(1 + sin(z))"
HALVES = "h = U s(z); z' = b + W s(h)"
GATE = "u = U z; v = V z; z' = b + W s(u) v"
DEPTH = 20_000


def halves_of(activation):
    """Two halves that are each the critical dense layer."""
    point = criticality(activation, digits=40).points[0]
    return {"layer": TWO, "values": {"C_U": point.C_W, "C_a": point.C_b}}


@pytest.mark.parametrize(
    ("name", "at_fixed_point"),
    [
        slow("gelu", False),
        swept("swish", False),
        swept("gelu", True),
        swept(BENT, True),
    ],
)
def test_a_block_of_two_equal_halves_is_two_dense_layers(name, at_fixed_point):
    """X(ℓ) over powers of K and Θ is that of dense layers at 2ℓ."""
    one = exponents(name, at_fixed_point=at_fixed_point)
    two = exponents(name, **halves_of(name), at_fixed_point=at_fixed_point)
    assert two.universality == one.universality
    known, found = ({**dict(x.values), **dict(x.hyperparameters)} for x in (one, two))
    for key in ("K*", "C_b", "C_W", "p_perp"):
        assert float(found[key]) == pytest.approx(float(known[key]), rel=1e-14)
    alike = {"lambda_a": 3, "lambda_b": 3, "lambda_U": 5, "lambda_W": 5, "n": 1, "n_h": 1}
    ntk = [number(x["H"].coefficient, **alike) for x in (one, two)]
    assert ntk[1] == pytest.approx(2 * ntk[0], rel=1e-12)
    assert [a.name for a in two.tensors] == [a.name for a in one.tensors]
    assert [tensor for tensor, _ in two.unsolved] == [tensor for tensor, _ in one.unsolved]
    for a, b in zip(one.tensors, two.tensors, strict=True):
        assert b.log_power == a.log_power
        assert float(b.exponent - a.exponent) == pytest.approx(0, abs=1e-12)
        assert float(b.ratio_power - a.ratio_power) == pytest.approx(0, abs=1e-12)
        doubled = number(a.ratio_coefficient, **alike) * 2.0 ** float(a.ratio_power)
        assert number(b.ratio_coefficient, **alike) == pytest.approx(doubled, rel=1e-11), a.name


@pytest.mark.slow
@pytest.mark.parametrize("at_fixed_point", [False, True])
def test_higher_orders_of_two_equal_halves(at_fixed_point):
    """What is of second order in ℓ/n, and pieces of relative order 1/n."""
    names = ["X6", "V.1", "G.1", "H.1"]
    one = exponents("gelu", names, at_fixed_point=at_fixed_point)
    two = exponents("gelu", names, **halves_of("gelu"), at_fixed_point=at_fixed_point)
    for a, b in zip(one.tensors, two.tensors, strict=True):
        assert float(b.ratio_power - a.ratio_power) == pytest.approx(0, abs=1e-12)
        doubled = float(a.ratio_coefficient) * 2.0 ** float(a.ratio_power)
        found = number(b.ratio_coefficient, n=1, n_h=1)
        assert found == pytest.approx(doubled, rel=1e-11), a.name


@pytest.mark.parametrize(
    ("layer", "values", "tensors", "error"),
    [
        slow(BLOCK, {"C_U": "3/2", "xi": "3/5"}, ["V", "D", "F"], 5e-6),
        swept(BLOCK, {"C_U": "3/2", "xi": "3/5"}, None, 5e-4),
        swept(HALVES, {"C_U": 1}, None, 2e-5),
    ],
)
def test_tensors_come_to_their_asymptotes(layer, values, tensors, error):
    """All thirteen, iterated; what is extrapolated are the orders up to the third in 1/ℓ."""
    solution = exponents(BENT, tensors, layer=layer, values=values)
    known = dict(solution.values)
    start = float(known["K*"] * sp.Rational(13, 10))
    found = iterated(solution, DEPTH, [a.name for a in solution.tensors], start)
    p_perp = float(known["p_perp"])
    assert not solution.unsolved
    for a in solution.tensors:
        expected = number(a.coefficient) * float(DEPTH) ** (a.edges * (p_perp - 1))
        ends = (
            extrapolated(found[a.name][:end], float(a.exponent), a.log_power, 1)
            for end in (DEPTH // 4, DEPTH)
        )
        less, more = (abs(end / expected - 1) for end in ends)
        assert more < min(error, max(0.2 * less, 3e-6)), (a.name, less, more)


@pytest.mark.parametrize(
    ("name", "layer", "values", "tensors"),
    [
        ("gelu", BLOCK, {"C_U": "3/2", "xi": "4/5"}, ["V", "F"]),
        swept("gelu", BLOCK, {"C_U": "3/2", "xi": "4/5"}, ["A"]),
        swept(BENT, TWO, {"C_U": 1, "C_a": "1/10"}, ["D", "F"]),
        swept("gelu", HALVES, {"C_U": 1}, None),
        swept(BENT, TWO, {"C_U": 1, "C_a": "1/10"}, None),
        swept("gelu", GATE, {"C_U": 1, "C_V": 2}, None),
    ],
)
def test_kernels_that_start_at_the_fixed_point_stay(name, layer, values, tensors):
    """Exact at every layer, against linear response."""
    solution = exponents(name, tensors, layer=layer, values=values, at_fixed_point=True)
    depth = 7
    K = float(dict(solution.values)["K*"])
    settings = settings_of(solution, depth)
    settings |= {key: float(sp.Rational(x)) for key, x in values.items()}
    # the first layer is dense, with the size of the input
    for key in ("C_b", "C_W"):
        settings[key] = [float(key == "C_W"), *[settings[key][1]] * (depth - 1)]
    layers = ["z' = b + W z", *[solution.layer] * (depth - 1)]
    assert NUMBERS["n_h"] == 2 * NUMBERS["n"]  # as 60 and 30 below
    inside = {key: 60 for key in ("h", "u") if f"{key} =" in layer}
    net = Network(name, [30] * (depth - 1), settings, layers, inner=inside, n_L=30)
    found = propagate(net, [[np.sqrt(K)]], [a.name for a in solution.tensors])
    start = {"Theta_1": found["H"].ravel()[0] * depth}
    assert not solution.unsolved
    for a in solution.tensors:
        exact = [number(a.exact, l=number_of, **start) for number_of in range(1, depth + 1)]
        scaled = found[a.name].ravel() * depth**a.edges
        assert scaled == pytest.approx(exact, rel=1e-9, abs=1e-11), a.name


def kernels_of(found, layer, xi):
    """The kernels of a network that is drawn as a recipe says."""
    values = {"xi": xi}
    for one in found.drawn:
        values.setdefault(f"C_{one.tensor}", [0.0] * 3)[one.layer - 1] = one.std**2 * one.fan_in
    net = Network("gelu", [16, 16], values, ["z' = b + W z", layer, layer], n_L=16)
    return propagate(net, [[np.sqrt(found.input_square)]], "G")["G"].ravel()


@pytest.mark.slow
def test_recipes_and_the_best_depth_start_at_the_fixed_point():
    block = {"layer": BLOCK, "values": {"C_U": "3/2", "xi": "4/5"}}
    found = recipe("gelu", [20, 16, 16, 16], **block)
    assert found.input_square == pytest.approx(float(found.point.K), rel=1e-14)
    assert "scale inputs so that x.x/n_0 = 2.374368542" in str(found)
    assert found.to_dict()["input_square"] == found.input_square
    assert {one.rate * one.fan_in for one in found.drawn} == {1 / 3}
    assert kernels_of(found, BLOCK, 0.8) == pytest.approx([found.input_square] * 3, rel=1e-12)
    # where neurons are kept too, as that is of kernels alone
    again = recipe("gelu", [20, 16, 16, 16], layer=READING, values={"C_U": 1, "xi": "1/2"})
    assert kernels_of(again, READING, 0.5) == pytest.approx([again.input_square] * 3, rel=1e-12)
    two, one = optimal_aspect_ratio("gelu", **halves_of("gelu")), optimal_aspect_ratio("gelu")
    alike = two.ratio.subs({x: 1 for x in two.ratio.free_symbols})
    assert float(2 * alike) == pytest.approx(float(one.ratio), rel=1e-12)
    assert "4.904226206*(n + n_h)/n_h L/n" in str(two)


def test_points_of_blocks_follow_from_those_of_dense_layers():
    """K_h = C_U K is where that of a dense layer is, and what is drawn is 1 - ξ² of its maps."""
    dense = criticality("gelu").points[0]
    found = criticality("gelu", layer=BLOCK, values={"C_U": "3/2", "xi": "4/5"})
    (point,) = found.points
    assert found.universality == "half-stable"
    scale, drawn = sp.Rational(3, 2), sp.Rational(9, 25)
    for ours, other in (
        (point.K * scale, dense.K),
        (point.C_W * scale, dense.C_W * drawn),
        (point.C_b * scale, dense.C_b * drawn),
        (point.a_1, dense.a_1 * drawn * scale),
        (point.b_1, dense.b_1 * drawn * scale),
    ):
        assert float(ours) == pytest.approx(float(other), rel=1e-14)


@pytest.mark.parametrize(
    ("activation", "layer", "values", "message"),
    [
        ("gelu", READING, {"C_U": 1, "xi": "1/2"}, "keeps neurons and reads functions of them"),
        ("gelu", HALVES, {"C_W": 1}, "C_U is that of a field inside; give it a value"),
        ("gelu", "h = U s(z); z' = W s(h)", {"C_U": 1}, "it lacks a constant of 0.50621"),
        ("gelu", "h = U s(z); z' = b + W (s(h) + tanh(h))", {"C_U": 1}, "of one function"),
        slow("gelu(z) + max(0, z)", HALVES, {"C_U": 1}, "delta functions at its kinks"),
        ("relu", GATE, {"C_U": 1, "C_V": 1}, "delta functions at its kinks"),
        ("gelu", HALVES, {"C_U": 1, "C_b": 1}, "where K. > 0 it is what is solved for"),
        ("tanh", "h = a + U s(z); z' = b + W s(h)", {"C_U": 1, "C_a": 1},
         "C_a = 1 keeps the kernel from 0. For every K .* is below chi_perp"),
    ],
)  # fmt: skip
def test_refusals(activation, layer, values, message):
    with pytest.raises(SolutionError, match=message):
        exponents(activation, layer=layer, values=values)


def test_a_product_of_fields_is_a_gate_of_a_linear_function():
    product = "u = U z; v = V z; z' = b + W u v"
    one, other = (
        exponents("linear", ["V", "F"], layer=layer, values={"C_U": 1, "C_V": 1})
        for layer in (GATE, product)
    )
    found = iterated(other, DEPTH, ["V", "F"], 0.9)
    for a, b in zip(one.tensors, other.tensors, strict=True):
        rise = number(b.coefficient) * float(DEPTH) ** b.edges
        assert (a.name, a.exponent) == (b.name, b.exponent)
        assert number(a.coefficient) * float(DEPTH) ** a.edges == pytest.approx(rise, rel=1e-12)
        assert extrapolated(found[b.name], float(b.exponent), 0, 1) == pytest.approx(rise, rel=1e-4)


def test_what_is_small_beside_its_terms_is_zero():
    domain, x = ring("x", sp.QQ)
    third = Sized(domain(sp.QQ(1, 3)), 1 / 3)
    close = Sized(third.value + sp.QQ(1, 10**40), 1 / 3)
    assert (close + third * -1).decided == 0
    assert (close - third).decided == 0
    assert (close * close - third * third).decided == 0
    assert (Sized(x, 1.0) * 2 + third - 1).decided == 2 * x - sp.QQ(2, 3)
    small = Sized(domain(sp.QQ(1, 10**40)), 1e-40)
    assert (small / 2 + small).decided == sp.QQ(3, 2 * 10**40)
