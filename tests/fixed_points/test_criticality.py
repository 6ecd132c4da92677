"""Universality classes and critical points, against closed forms and other quadratures."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import mpmath
import pytest
import sympy as sp
from cases import slow, swept

from symdlt import criticality, recipe
from symdlt.activations import activation
from symdlt.activations.smooth_pieces import smooth_pieces
from symdlt.asymptotics import exponents
from symdlt.asymptotics.parameters import LAMBDA_B, LAMBDA_W
from symdlt.asymptotics.power_laws import DEPTH, LAYER
from symdlt.cli import main
from symdlt.errors import ActivationError, SolutionError
from symdlt.fixed_points.kernel_map import kernel_map
from symdlt.fixed_points.origin import origin_of
from symdlt.means.precise.gaussian import GaussianMeans

HALF = sp.Rational(1, 2)
SLOPE = sp.sqrt(2 / sp.pi)
SELU = sp.Rational("1.0507009873554805"), sp.Rational("1.6732632423543772")


def independent(name, start, digits):
    """K*, C_b, C_W from the derivative form, Gauss-Legendre panels and the secant rule."""
    sigma, first, second = (
        sp.lambdify(sp.Symbol("z", real=True), f, "mpmath") for f in activation(name).derivatives(2)
    )
    with mpmath.workdps(digits + 5):
        panels = [mpmath.mpf(k) for k in range(-60, 61, 4)]
        rule = mpmath.calculus.quadrature.GaussLegendre(mpmath.mp)
        nodes = rule.calc_nodes(6, mpmath.mp.prec)
        table = []
        for a, b in pairwise(panels):
            for x, w in nodes:
                z = (a + b) / 2 + (b - a) / 2 * x
                s, s1, s2 = sigma(z), first(z), second(z)
                table.append((z * z, w * (b - a) / 2, s * s, s1 * s1, s * s2))

        def means(K):
            weights = [w * mpmath.exp(-y / (2 * K)) for y, w, *_ in table]
            norm = mpmath.sqrt(2 * mpmath.pi * K)
            return [
                mpmath.fdot(weights, column) / norm for column in list(zip(*table, strict=True))[2:]
            ]

        K = mpmath.findroot(lambda x: means(x)[2], (start, start * 1.01))
        kernel, slopes, _ = means(K)
        return K, K - kernel / slopes, 1 / slopes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("gelu", 3.56),
        pytest.param("swish", 14.32, marks=pytest.mark.slow),
        pytest.param("mish", 1.67, marks=pytest.mark.slow),
        ("z - z**3/6", 2.1),
    ],
)
def test_half_stable_points_to_25_digits(name, start):
    point = next(p for p in criticality(name).points if p.K != 0)
    expected = independent(name, start, 30)
    for found, other in zip((point.K, point.C_b, point.C_W), expected, strict=True):
        assert abs(found - sp.Float(other, 35)) < sp.Float(10) ** -25 * abs(found)
    assert all(error < sp.Float(10) ** -29 for _, error in point.errors)


@pytest.mark.slow
@pytest.mark.parametrize("digits", [3, 30, 80])
def test_gelu_in_closed_form(digits):
    point = criticality("gelu", digits=digits).points[0]
    assert point.approached == "from above"
    K = (3 + sp.sqrt(17)) / 2
    root = sp.sqrt(1 + 2 * K)
    kernel = K / 4 + K / (2 * sp.pi) * (sp.asin(K / (1 + K)) + 2 * K / ((1 + K) * root))
    slopes = sp.diff(
        (K_ := sp.Symbol("K")) / 4
        + K_ / (2 * sp.pi) * (sp.asin(K_ / (1 + K_)) + 2 * K_ / ((1 + K_) * sp.sqrt(1 + 2 * K_))),
        K_,
    ).subs(K_, K)
    expected = {"K": K, "C_W": 1 / slopes, "C_b": K - kernel / slopes}
    for name, exact in expected.items():
        found = getattr(point, name)
        assert abs(found - exact.evalf(digits + 20)) < 3 * sp.Float(10) ** -digits * abs(found)


def test_what_is_printed_of_half_stable_activations_in_the_book():
    gelu, swish = (criticality(name, digits=12).points[0] for name in ("gelu", "swish"))
    assert (float(gelu.C_b), float(gelu.C_W)) == pytest.approx((0.172922, 1.983058), abs=1e-6)
    assert (float(swish.C_b), float(swish.C_W)) == pytest.approx((0.555143, 1.988005), abs=1e-6)
    assert float(swish.K) == pytest.approx(14.3202, abs=1e-4)
    assert (gelu.approached, swish.approached) == ("from above", "from below")


@pytest.mark.parametrize(
    ("what", "C_W", "power", "a_1", "b_1", "p_perp"),
    [
        ("tanh", 1, 2, -2, -2, 1),
        ("sin", 1, 2, -1, -1, 1),
        ("erf", sp.pi / 4, 2, -2, -2, 1),
        ("3*tanh(2*z)", sp.Rational(1, 36), 2, -8, -8, 1),
        ("sin(z) + (1 - cos(z))/3", 1, 2, sp.Rational(-11, 12), sp.Rational(-8, 9), None),
        ("tanh(z) - tanh(2*z)/8", sp.Rational(16, 9), 3, -16, -16, HALF),
        ("elu", 1, sp.Rational(3, 2), -SLOPE, -SLOPE, 2),
        ("softsign", 1, sp.Rational(3, 2), -4 * SLOPE, -4 * SLOPE, 2),
    ],
)
def test_exact_numbers_at_zero(what, C_W, power, a_1, b_1, p_perp):
    found = criticality(what)
    point = found.points[0]
    assert found.universality == "K*=0"
    assert (point.K, point.C_b, point.stability, point.exact) == (0, 0, "stable", True)
    assert sp.simplify(point.C_W - C_W) == 0
    assert point.kernel_power == power
    assert sp.simplify(point.a_1 - a_1) == sp.simplify(point.b_1 - b_1) == 0
    expected = sp.Rational(b_1 / a_1) if p_perp is None else p_perp
    assert sp.simplify(point.p_perp - expected) == 0


@pytest.mark.parametrize("name", ["tanh", "sin(z) + (1 - cos(z))/3", slow("tanh(z) + z**2/9")])
def test_the_exponent_solver_finds_the_same(name):
    point, solution = criticality(name).points[0], exponents(name)
    values = dict(solution.values)
    assert (point.a_1, point.p_perp) == (values["a_1"], values["p_perp"])
    assert dict(solution.hyperparameters)["C_W"] == point.C_W


def test_selu_is_critical_at_zero_by_its_two_slopes():
    point = criticality("selu").points[0]
    scale, alpha = SELU
    assert 2 / (scale**2 * (1 + alpha**2)) == point.C_W
    assert point.kernel_power == sp.Rational(3, 2)
    assert point.stability == "stable"


@pytest.mark.parametrize(
    "text", ["tanh", "elu", "selu", "gelu", "tanh(z) - tanh(2*z)/8", "softsign", "elu(z, 3) + z**2"]
)
def test_the_expansion_at_zero_is_that_of_the_means(text):
    pieces = smooth_pieces(activation(text))
    origin = origin_of(pieces)
    K = mpmath.mpf(10) ** -8
    means = GaussianMeans(pieces, kernel_map().products, 45)
    with mpmath.workdps(45):
        numbers = kernel_map().at(K, means(K))
        C_W = sp.N(origin.C_W, 45)._to_mpmath(150)
        a = (C_W * numbers.g - K) / K ** (mpmath.mpf(origin.power.p) / origin.power.q)
        r = origin.perpendicular_power
        b = (C_W * numbers.d - 1) / K ** (mpmath.mpf(r.p) / r.q)
    assert float(a) == pytest.approx(float(origin.a), rel=2e-3)
    assert float(b) == pytest.approx(float(origin.b), rel=2e-3)


@pytest.mark.parametrize(
    ("what", "C_W"),
    [
        ("linear", 1),
        ("relu", 2),
        ("abs(z)", 1),
        ("leaky_relu", sp.Rational(20000, 10001)),
        ("leaky_relu(z, 1/3)", sp.Rational(9, 5)),
    ],
)
def test_scale_invariant(what, C_W):
    found = criticality(what)
    (point,) = found.points
    assert found.universality == "scale-invariant"
    assert (point.K, point.C_b, point.C_W, point.p_perp) == (None, 0, C_W, 0)
    assert found.scanned is None


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("sigmoid", "sigma(0) = 1/2 is not zero, so that K = 0 is no fixed point"),
        ("sigmoid", "chi_parallel is below chi_perp"),
        ("softplus", "chi_parallel is above chi_perp"),
        ("z**2", "sigma'(0) is zero"),
        ("z**3", "sigma'(0) is zero"),
        ("cos(z)", "chi_parallel is below chi_perp"),
        ("sinh(z)", "K* = 0 is unstable: a_1 = 1 is positive"),
        ("z + z**2/2", "K* = 0 is unstable: a_1 = 3/4 is positive"),
        ("z + 1", "C_b would be negative"),
        ("3", "The activation is constant"),
        ("sign(z)", "The activation jumps by 2 at z = 0"),
        ("exp(z)", "The search ended at K ="),
    ],
)
def test_no_criticality_says_why(what, reason):
    found = criticality(what)
    assert not found.critical
    assert any(reason in said for said in found.reasons), found.reasons
    assert all(point.stability == "unstable" for point in found.points)


def test_a_point_that_needs_negative_biases_is_told():
    found = criticality("z - z**3/6 + 2")
    assert not found.critical
    assert any("is negative there" in said for said in found.reasons)


def test_all_points_in_the_range_are_found_and_the_range_is_printed():
    cubic = criticality("z - z**3/6", digits=20)
    assert cubic.universality == "K*=0"
    assert [float(point.K) for point in cubic.points] == [0, 2]
    assert "for K from 0.0002 to 80000." in str(cubic)
    below = criticality("gelu", search=(0.01, 3))
    assert below.universality == "no criticality"
    assert below.scanned == pytest.approx((0.01, 3))


@pytest.mark.parametrize(
    ("text", "start"),
    [("tanh(z) + exp(z)/1000", 6.0), swept("z - z**3/6 + exp(z)/100 - 1/100", 2.1)],
)
def test_points_of_functions_that_grow_without_bounds_are_found(text, start):
    """At the largest K that the grid reaches the slope is 1e70 times what it is at the point."""
    found = criticality(text, digits=12).points[-1]
    K, C_b, C_W = independent(text, start, 15)
    assert [float(x) for x in (found.K, found.C_b, found.C_W)] == pytest.approx(
        [float(K), float(C_b), float(C_W)], rel=1e-10
    )


def test_as_many_digits_are_printed_as_were_asked_for():
    found = criticality("gelu", digits=70)
    C_W = str(found).partition("C_W")[2].split()[0]
    assert str(found.points[0].C_W) == C_W
    assert len(C_W) >= 70


def test_hard_tanh_falls_slower_than_every_power():
    found = criticality("max(-1, min(z, 1))")
    (point,) = found.points
    assert (found.universality, point.kernel_power, point.stability) == ("K*=0", None, "stable")
    assert "slower than every power" in str(found)


def test_a_line_of_critical_points():
    found = criticality("relu(z - 1)")
    assert found.universality == "half-stable"
    (point,) = found.points
    K = mpmath.mpf(point.K)
    share = mpmath.erfc(1 / mpmath.sqrt(2 * K)) / 2  # of the Gaussian beyond the kink
    bell = mpmath.sqrt(K / (2 * mpmath.pi)) * mpmath.exp(-1 / (2 * K))
    assert float(point.C_W) == pytest.approx(float(1 / share))
    assert float(point.C_b) == pytest.approx(float(K - ((K + 1) * share - bell) / share))
    assert any("each such K can be K*" in said for said in found.reasons)


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        (sp.Symbol("a") * sp.tanh(sp.Symbol("z")), ActivationError, "Substitute numbers"),
        ("a*tanh(z)", ActivationError, "Cannot read 'a'"),
        ("log(z)", ActivationError, "not finite"),
        ("sqrt(z)", ActivationError, "not finite and smooth at zero"),
        ("1/z", ActivationError, "not finite at z = 0"),
        ("z/(1 - z)", ActivationError, "not finite at z = 1"),
        ("z/cos(z)", ActivationError, "not finite at z"),
        ("z + sqrt(1 + z) - 1", ActivationError, "not real and finite at z"),
        ("exp(exp(z))", SolutionError, "diverge"),
        ("exp(z**4/1000000000)", SolutionError, "diverge"),
    ],
)
def test_refusals(what, error, message):
    with pytest.raises(error, match=message.replace("(", "\\(")):
        criticality(what)


@pytest.mark.parametrize("keywords", [{"digits": 0}, {"digits": 1e3}, {"search": (0, 1)}])
def test_unusable_digits_and_ranges(keywords):
    with pytest.raises(SolutionError, match="It stands as"):
        criticality("gelu", **keywords)


@pytest.mark.slow
def test_removable_singularities_are_no_poles():
    point = criticality("sin(z)/z - 1 + z", digits=10).points[0]
    assert float(point.K) == pytest.approx(2.3102824395)


def test_means_of_every_kind_of_panel():
    pieces = smooth_pieces(activation("max(-1, min(z, 1))"))
    with mpmath.workdps(40):
        (kernel, *_), (slopes, *_) = GaussianMeans(pieces, [(0, 0), (1, 1)], 40)(mpmath.mpf(2))
        inside = mpmath.erf(mpmath.mpf(1) / 2)
        bell = mpmath.exp(-mpmath.mpf(1) / 4) / mpmath.sqrt(mpmath.pi)
        assert abs(slopes - inside) < mpmath.mpf(10) ** -38
        assert abs(kernel - (2 * inside - 2 * bell + 1 - inside)) < mpmath.mpf(10) ** -38


@pytest.mark.parametrize("name", ["tanh", "sin(z) + (1 - cos(z))/3"])
def test_the_rates_of_a_recipe_are_those_of_the_exponent_solver(name):
    widths = [7, 5, 6, 4]
    given = dict(exponents(name).hyperparameters)
    for layer in recipe(name, widths).layers:
        here = {LAYER: layer.layer, DEPTH: 3, LAMBDA_B: 1, LAMBDA_W: 1}
        assert layer.bias_rate == pytest.approx(float(given["lambda_b(l)"].subs(here)))
        expected = float(given["lambda_W(l)"].subs(here)) / layer.fan_in
        assert layer.weight_rate == pytest.approx(expected)
        assert layer.weight_std == pytest.approx(float(given["C_W"] / layer.fan_in) ** 0.5)


def test_gains():
    selu, gelu, relu = (recipe(name, [4, 8, 2]) for name in ("selu", "gelu", "relu"))
    assert selu.unit_gain == pytest.approx(1, abs=1e-12)
    assert selu.gain == pytest.approx(0.6904861)
    assert recipe("tanh", [4, 2]).unit_gain == pytest.approx(1.59253742)
    assert relu.gain == pytest.approx(2**0.5)
    assert [layer.bias_rate for layer in relu.layers] == [0.5, 0.5]
    C_b, C_W, K = (float(x) for x in (gelu.point.C_b, gelu.point.C_W, gelu.point.K))
    assert C_b + C_W * gelu.input_square == pytest.approx(K)
    assert [layer.bias_std for layer in gelu.layers] == pytest.approx([C_b**0.5] * 2)


@pytest.mark.parametrize(
    ("name", "widths", "message"),
    [
        ("exp(exp(z))", [3, 3], "diverge"),
        ("tanh", [3], "are no widths"),
        ("tanh", [3, 0], "are no widths"),
    ],
)
def test_recipes_that_cannot_be_given(name, widths, message):
    with pytest.raises(SolutionError, match=message):
        recipe(name, widths)


def test_command_line(capsys):
    assert main(["criticality", "gelu", "--digits", "12", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["class"] == "half-stable"
    assert found["points"][0]["K"] == "3.56155281281"
    assert found["points"][1]["a_1"] == "6/pi"
    assert main(["criticality", "relu"]) == 0
    assert capsys.readouterr().out.startswith("relu: universality class scale-invariant\n")
    assert main(["recipe", "relu", "--widths", "8,8", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["layers"][0]["weight_std"] == 0.5
    assert main(["criticality", "tanh", "--digits", "0"]) == 1
    assert "is not a number of digits" in capsys.readouterr().err


def test_a_jump_has_no_susceptibility_in_a_recipe():
    found = recipe("sign", [10, 64, 3])
    assert found.unit_chi_perp == math.inf
    assert found.to_dict()["unit_chi_perp"] is None
    assert "where chi_perp diverges, as the activation jumps" in str(found)
