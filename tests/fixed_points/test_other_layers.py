"""Critical points of layers that are not dense, against quadrature of mpmath and scaling."""

from __future__ import annotations

import json

import mpmath
import pytest
import sympy as sp

from symdlt import criticality
from symdlt.asymptotics.equations import expand
from symdlt.cli import main
from symdlt.derivation import derive
from symdlt.errors import LayerError, SolutionError
from symdlt.fixed_points.kernel_map import FIELDS, kernel_map

BOTH = "z' = b + W s(z) + U z"


def mean(function, K):
    def weighted(z):
        return function(z) * mpmath.exp(-z * z / (2 * K)) / mpmath.sqrt(2 * mpmath.pi * K)

    return mpmath.quad(weighted, [-40, -10, -4, 0, 4, 10, 40])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer", "values", "scale", "kept"),
    [
        ("z' = a + V s(z)", {}, 1, 0),
        ("z' = b + 1/2 W s(z)", {}, mpmath.mpf(1) / 4, 0),
        (BOTH, {"C_U": 0.25}, 1, mpmath.mpf(1) / 4),
        ("z' = b + xi W s(z) + U z", {"xi": 2, "C_U": "1/3"}, 4, mpmath.mpf(1) / 3),
    ],
)
def test_a_half_stable_point_is_critical_by_quadrature(layer, values, scale, kept):
    """K' = C_b + x C_W <gelu gelu> + u K with the slopes 1 that follow from the two-sample map."""
    point = criticality("gelu", layer=layer, values=values, digits=15).points[0]
    K, C_b, C_W = (mpmath.mpf(str(x)) for x in (point.K, point.C_b, point.C_W))

    def gelu(z):
        return z * mpmath.ncdf(z)

    def slope(z):
        return mpmath.ncdf(z) + z * mpmath.npdf(z)

    image = C_b + scale * C_W * mean(lambda z: gelu(z) ** 2, K) + kept * K
    parallel = scale * C_W * mean(lambda z: gelu(z) ** 2 * (z * z / K - 1), K) / (2 * K) + kept
    perpendicular = scale * C_W * mean(lambda z: slope(z) ** 2, K) + kept
    assert float(image) == pytest.approx(float(K), rel=1e-12)
    assert float(parallel) == pytest.approx(1, rel=1e-12)
    assert float(perpendicular) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("activation", "number"), [("tanh", 0), ("relu", 0), ("gelu", 0), ("gelu", 1), ("sin", 0)]
)
def test_a_skip_scales_the_variances_of_critical_points(activation, number):
    """K' = ξ² K + C_b + C_W <σσ> has the fixed points of C_b/(1 - ξ²), C_W/(1 - ξ²)."""
    layer = "z' = xi z + b + W s(z)"
    xi = sp.Rational(3, 5)
    skip = criticality(activation, layer=layer, values={"xi": xi}, digits=12).points[number]
    dense = criticality(activation, digits=12).points[number]
    for name, scale in (("K", 1), ("C_b", 1 - xi**2), ("C_W", 1 - xi**2), ("a_1", 1 - xi**2)):
        one, other = (getattr(point, name) for point in (skip, dense))
        if other is None:
            assert one is None
            continue
        assert abs(sp.N(one - scale * other, 15)) < 1e-10 * (1 + abs(sp.N(other)))


def test_fixed_points_at_zero_of_a_linear_branch():
    """tanh has K' = C_W (K - 2 K^2) + u K + ..., so that C_W = 1 - u and a_1 = -2 (1 - u)."""
    found = criticality("tanh", layer="z' = W s(z) + U z", values={"C_U": sp.Rational(1, 3)})
    point = found.points[0]
    assert (point.K, point.C_W, point.a_1, point.b_1) == (
        0,
        sp.Rational(2, 3),
        sp.Rational(-4, 3),
        sp.Rational(-4, 3),
    )
    assert point.variances == (("C_W", sp.Rational(2, 3)),)
    (relu,) = criticality("relu", layer=BOTH, values={"C_U": 0.5}).points
    assert (relu.K, relu.C_W) == (None, 1)


def test_terms_are_those_of_the_derived_recursions():
    maps = kernel_map(BOTH, {"C_U": sp.Rational(1, 4)})
    assert (maps.bias, maps.weight, maps.products) == ("C_b", "C_W", ((0, 0), (1, 1)))
    kept = next(term for term in maps.metric if term.orders == FIELDS)
    assert (kept.factor, kept.symbol) == (sp.Rational(1, 4), None)
    assert kernel_map().at(2, ((2, 6, 30), (1, 1, 3))).next_kernel(5, 3) == 11


def test_points_that_no_network_has_are_told():
    without = criticality("gelu", layer="z' = W s(z) + U z", values={"C_U": 0.25})
    assert not without.critical
    assert any("it lacks a constant of 0.129692" in said for said in without.reasons)
    growing = criticality("tanh", layer="z' = W s(z) + U z", values={"C_U": 1.25})
    assert any("multiplied by 5/4 without C_W" in said for said in growing.reasons)


@pytest.mark.parametrize(
    ("layer", "values", "error", "message"),
    [
        ("z' = W s(z) + U z", {}, SolutionError, "C_U, C_W is left in its kernel map"),
        ("z' = U z", {}, SolutionError, "not clear what to solve for"),
        ("z' = b + W s(z)", {"C_U": 1}, SolutionError, "'C_U' is no symbol of the layer"),
        ("z' = b + W s(z)", {"C_W": -1}, SolutionError, "is not a variance"),
        ("z' = b + W s'(z)", {}, SolutionError, "reads a derivative"),
        ("z' = xi z + b + W s(z)", {}, SolutionError, "xi is left in its kernel map"),
        ("z' = s(z) + b + W s(z)", {}, LayerError, "does not close"),
    ],
)
def test_layers_that_are_refused(layer, values, error, message):
    with pytest.raises(error, match=message):
        criticality("tanh", layer=layer, values=values)


def test_exponents_are_those_of_dense_layers():
    with pytest.raises(SolutionError, match="Exponents are those of the layer"):
        expand(derive("G", inputs="one", layer=BOTH), [sp.Integer(1)] * 9, 2)


def test_commands(capsys):
    assert main(["criticality", "tanh", "--layer", BOTH, "--value", "C_U=1/4"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"tanh: universality class K*=0, of layers {BOTH}\n")
    assert "  C_W          3/4\n" in printed
    assert main(["gain", "sin", "--variance", "2.5"]) == 0
    factor = mpmath.sqrt(5 / (1 - mpmath.exp(-5)))
    assert float(capsys.readouterr().out) == pytest.approx(float(factor))
    assert main(["critical-line", "tanh", "--C-b", "0.05", "--format", "json"]) == 0
    (point,) = json.loads(capsys.readouterr().out)
    K, C_W = (mpmath.mpf(point[name]) for name in ("K", "C_W"))
    assert float(C_W * mean(lambda z: mpmath.sech(z) ** 4, K)) == pytest.approx(1, rel=1e-12)
    image = mpmath.mpf("0.05") + C_W * mean(lambda z: mpmath.tanh(z) ** 2, K)
    assert float(image) == pytest.approx(float(K), rel=1e-12)
    assert main(["critical-line", "tanh", "--C-b", "0"]) == 0
    assert capsys.readouterr().out == "C_b = 0, C_W = 1, K = 0, chi_parallel = 1, stable\n"
