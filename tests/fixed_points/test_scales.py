"""Kinks away from zero, spikes, far fixed points and units: the map itself, at its own scales."""

from __future__ import annotations

import math
import random
from concurrent.futures import ThreadPoolExecutor

import mpmath
import numpy as np
import pytest
from cases import slow, swept, thinned
from fixed_points.phase_iteration import ACTIVATIONS, SCALES, destination, scaled

from symdlt import criticality, nearby, phase, recipe
from symdlt.activations import activation
from symdlt.activations.smooth_pieces import smooth_pieces
from symdlt.cli import main
from symdlt.errors import SolutionError
from symdlt.fixed_points import critical_line, gain, plot_criticality, plot_phase_plane
from symdlt.means.precise.discs import ARRAYS, Discs
from symdlt.means.precise.gaussian import GaussianMeans, gauss_rule
from symdlt.precision import mp

HARD_TANH = "max(-1, min(z, 1))"


def hard_tanh(K, c=1):
    """Mean squares of max(-c, min(z, c)) and of its slope, in closed form."""
    y = c / mpmath.sqrt(2 * K)
    inside, bell = mpmath.erf(y), mpmath.exp(-y * y) / mpmath.sqrt(mpmath.pi)
    return K * (inside - 2 * y * bell) + c * c * (1 - inside), inside


@pytest.mark.parametrize(
    ("C_W", "C_b"),
    [(1.05, 0), (1.5, 1e-4), *(pytest.param(C, 0, marks=pytest.mark.slow) for C in (1.5, 2, 3, 5))],
)
def test_fixed_points_of_hard_tanh_against_its_closed_form(C_W, C_b):
    found = phase(HARD_TANH, C_W, C_b, digits=13)
    K = mpmath.findroot(lambda K: C_b + C_W * hard_tanh(K)[0] - K, float(found.K) * 1.01)
    assert float(found.K) == pytest.approx(float(K), rel=1e-11)
    assert float(found.chi_perp) == pytest.approx(float(C_W * hard_tanh(K)[1]), rel=1e-11)
    assert found.K > 0.1


@pytest.mark.parametrize(
    ("arguments", "K", "chi_perp"),
    [
        ((HARD_TANH, 1.5, 1e-4), 0.631660730852, 1.187534014173),
        swept((HARD_TANH, 1.5, 1e-6), 0.631460628374, None),
        (("z-2e-6*z**3", 1.5, 0.05), 33333.458333, 1.08),
        slow(("tanh(3e4*z)", 1.5, 0.05), 1.549968, 19226.4878),
        (("where(z<3,z,3)", 0.9, 1e-3), 0.01, 0.9),
        (("tanh(z)+relu(z-30)/10", 1.5, 0.1), 0.520216136262, 0.877512795976),
        (("tanh", 1.5, 1e-300), 0.286894229379991, 1.04056756503252),
    ],
)
def test_fixed_points_far_from_zero(arguments, K, chi_perp):
    found = phase(*arguments, digits=12)
    assert float(found.K) == pytest.approx(K, rel=1e-6 if K in (1.549968, 33333.458333) else 1e-11)
    assert chi_perp is None or float(found.chi_perp) == pytest.approx(chi_perp, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("c", [3000, 1e-3])
def test_units_do_not_matter(c):
    found = phase(f"sin({c}*z)", 2 / c**2, digits=10)
    K = mpmath.findroot(lambda K: 1 - mpmath.exp(-2 * K) - K, 0.8)
    assert float(found.K) * c * c == pytest.approx(float(K), rel=1e-9)
    (point,) = critical_line(f"tanh({c}*z)/{c}", 0.05 / c**2, digits=10)
    assert float(point.C_W) == pytest.approx(1.7609546396, rel=1e-9)
    gelu = criticality(f"{c}*z*(1+erf({c}*z/sqrt(2)))/2/{c}", digits=10).points[0]
    assert float(gelu.K) * c * c == pytest.approx((3 + math.sqrt(17)) / 2, rel=1e-9)


def test_a_spike_and_a_far_critical_point():
    zero, far = criticality("tanh(3e4*z)+z**3/10", digits=12).points
    assert zero.K == 0
    assert [float(x) for x in (far.K, far.C_b, far.C_W)] == pytest.approx(
        [95.1880073885, 63.4221213841, 2.4497727727e-4], rel=1e-10
    )


@pytest.mark.parametrize(
    "text",
    ["max(-100,min(z,100))", "max(-3,min(z,3))", "sin(z)+relu(z-4)", "tanh(z)+relu(z-5)/10"],
)
def test_criticality_with_kinks_away_from_zero(text):
    point = criticality(text, digits=10).points[0]
    assert (point.K, point.C_W, point.stability) == (0, 1, "stable")
    if "max" not in text:
        assert nearby(text).p_perp == 1
        assert recipe(text, [4, 4]).gain == 1


def test_narrow_bumps_are_seen():
    pieces = smooth_pieces(activation("tanh(z)+exp(-1e6*(z-0.3)**2)"))
    (slopes,) = GaussianMeans(pieces, [(1, 1)], 15, powers=1)(0.7)
    # The bump alone: 4e12 (z-.3)^2 exp(-2e6 (z-.3)^2) under a density that is flat there.
    bump = math.sqrt(math.pi / 2) * 1e3 * math.exp(-0.09 / 1.4) / math.sqrt(1.4 * math.pi)
    tanh = GaussianMeans(smooth_pieces(activation("tanh")), [(1, 1)], 15, powers=1)(0.7)[0][0]
    assert slopes[0] == pytest.approx(bump + tanh, rel=1e-5)
    assert slopes[0] == pytest.approx(560.9358, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        *(("sigmoid", 1.8462285453), ("relu", math.sqrt(2)), ("sign(z)", 1.0)),
        *(("leaky_relu", math.sqrt(2 / 1.0001)), ("sin", math.sqrt(2 / (1 - math.exp(-2))))),
        (HARD_TANH, float(hard_tanh(mpmath.mpf(1))[0]) ** -0.5),
    ],
)
def test_gains_that_keep_a_kernel_of_1(text, factor):
    assert gain(text) == pytest.approx(factor, rel=1e-10)
    assert recipe(text, [4, 4]).unit_gain == pytest.approx(factor) if text != "sign(z)" else True


def test_gains_at_other_variances_and_what_has_none():
    assert gain("sin", 2.5) == pytest.approx(math.sqrt(5 / (1 - math.exp(-5))))
    for variance in (0, -1, math.nan, "1", True):
        with pytest.raises(SolutionError, match="not a variance to keep"):
            gain("tanh", variance)
    with pytest.raises(SolutionError, match="is zero"):
        gain("0*z")


def test_recipes_where_no_power_of_the_depth_leads_to_a_critical_point():
    for name, factor in (("sigmoid", gain("sigmoid")), (HARD_TANH, gain(HARD_TANH))):
        found = recipe(name, [4, 8, 2])
        assert (found.point, found.gain) == (None, pytest.approx(factor))
        assert found.gain**2 * found.input_square == pytest.approx(1)
        assert "no critical point" in str(found)
        assert found.to_dict()["point"] is None


@pytest.mark.parametrize(
    ("activation", "equation", "weight"),
    [
        # <cos cos> = K <sin sin>, and <exp exp> = K <exp exp>
        ("cos", lambda K: 1 + mpmath.exp(-2 * K) - K * (1 - mpmath.exp(-2 * K)), None),
        ("exp", lambda K: K - 1, mpmath.exp(-2)),
    ],
)
def test_the_critical_line_without_biases_has_points_with_a_kernel(activation, equation, weight):
    (point,) = critical_line(activation, 0)
    K = mpmath.findroot(equation, 1.1)
    assert float(point.K) == pytest.approx(float(K), rel=1e-13)
    C_W = weight or 2 / (1 - mpmath.exp(-2 * K))
    assert float(point.C_W) == pytest.approx(float(C_W), rel=1e-13)


def test_the_critical_line_of_sine_in_closed_form():
    (point,) = critical_line("sin", 0.3)
    K = mpmath.findroot(lambda K: 0.3 + mpmath.tanh(K) - K, 1)
    assert float(point.K) == pytest.approx(float(K), rel=1e-13)
    assert float(point.C_W) == pytest.approx(float(2 / (1 + mpmath.exp(-2 * K))), rel=1e-13)
    assert point.stable
    assert phase("sin", point.C_W, 0.3).side == "critical"
    assert [(p.C_W, p.stable) for p in critical_line("tanh", 0)] == [(1, True)]
    assert [(p.C_W, p.stable) for p in critical_line("gelu", 0)] == [(4, False)]
    assert [(p.C_W, p.stable) for p in critical_line("max(-1, min(z, 1))", 0)] == [(1, True)]
    with pytest.raises(SolutionError, match="scale-invariant"):
        critical_line("relu", 0.1)
    with pytest.raises(SolutionError, match="jumps"):
        critical_line("sign(z)", 0.1)


def test_the_phase_plane_is_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    ax = plot_phase_plane("sin", C_W=(0.5, 2.5), C_b=(0, 0.4))
    line = ax.collections[-1].get_paths()[0].vertices
    C_W, C_b = line[len(line) // 2]
    (point,) = critical_line("sin", float(C_b))
    assert pytest.approx(float(point.C_W), rel=2e-2) == C_W
    with pytest.raises(SolutionError, match="not a range of C_W"):
        plot_phase_plane("sin", C_W=(2, 1))


def test_where_kernels_diverge_the_plane_says_so():
    pytest.importorskip("matplotlib").use("Agg")
    ax = plot_phase_plane("relu")
    assert "grey, no fixed kernel" in ax.get_title()
    assert "grey" not in plot_phase_plane("tanh").get_title()
    with pytest.raises(SolutionError, match="grow without bound"):
        plot_phase_plane("exp(z)")


def test_criticality_of_several_activations_is_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    ax = plot_criticality(["tanh", "gelu", "relu"], C_b=(0, 0.4))
    lines = {line.get_label(): line for line in ax.get_lines() if line.get_label()[0] != "_"}
    weights, biases = lines["tanh"].get_data()
    place = int(np.nanargmin(abs(biases - 0.05)))
    (point,) = critical_line("tanh", float(biases[place]))
    assert weights[place] == pytest.approx(float(point.C_W), rel=1e-9)
    assert [[2.0], [0.0]] in [[*map(list, line.get_data())] for line in ax.get_lines()]
    assert np.nanmax(biases) > 0.37


def test_threads_do_not_spoil_each_others_digits():
    jobs = [("erf", 1.1), (HARD_TANH, 0.9), ("sin", 1.2)]

    def run(job):
        return phase(*job, 0.1, digits=12 + len(job[0])).to_dict()

    serial = [run(job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, jobs)) == serial
    assert mpmath.mp.dps == 15


@pytest.mark.parametrize("text", ["gelu", "mish", "swish", "tanh(30*z)", "exp(-100*(z-1)**2)"])
def test_discs_contain_the_values(text):
    rng = np.random.default_rng(1)
    centre, radius = rng.normal(size=200) * 3, 10 ** rng.uniform(-2, 0.3, 200)
    values = smooth_pieces(activation(text))[0].values
    with mp.using(ARRAYS), np.errstate(all="ignore"):
        disc = values(Discs(centre + 0j, radius))[0]
    inside = centre + radius * np.exp(2j * np.pi * rng.uniform(size=200)) * 0.99
    for k in np.flatnonzero(np.isfinite(disc.radius)):
        value = complex(values(mp.mpc(inside[k]))[0])
        assert abs(value - disc.centre[k]) <= disc.radius[k] * (1 + 1e-9) + 1e-12


def test_gauss_rule_is_exact_for_polynomials():
    with mp.workdps(50):
        places, weights = gauss_rule(21)
        for power in (0, 2, 40):
            total = mp.fdot(weights, [x**power for x in places])
            assert abs(total - mp.mpf(2) / (power + 1)) < mp.mpf(10) ** -48


def _agrees(index, scale, C_W, C_b):
    text, function, slope, *places = scaled(index, scale)
    unit = scale**-2
    expected, chi_perp = destination(function, slope, C_W, C_b * unit, unit, *places)
    if expected is None:
        return
    found = phase(text, C_W, C_b * unit, digits=8, start=unit)
    if expected in (0, math.inf):
        assert float(found.K) == expected, text
        return
    assert float(found.K) == pytest.approx(expected, rel=1e-7), text
    assert float(found.chi_perp) == pytest.approx(chi_perp, rel=1e-6), text


SWEEP = [
    (index, scale, C_W, C_b)
    for index in range(len(ACTIVATIONS))
    for scale in SCALES
    for C_W, C_b in ((1.5, 0.05), (random.Random(index).choice([0.5, 1.05, 2, 3]), 0))
]


@pytest.mark.parametrize("case", random.Random(3).sample(SWEEP, 1))
def test_phase_against_direct_iteration(case):
    _agrees(*case)


@pytest.mark.parametrize("case", thinned(SWEEP, 24))
def test_phase_of_all_against_direct_iteration(case):
    _agrees(*case)


def test_the_command_line_at_extreme_numbers(capsys):
    assert main(["criticality", "tanh(1e5*z)", "--digits", "10"]) == 0
    assert "C_W          1/10000000000" in capsys.readouterr().out
    for C_W, C_b in ((1.5, 5e-324), (10**400, 0)):
        with pytest.raises(SolutionError, match="out of the range"):
            phase("tanh", C_W, C_b)
