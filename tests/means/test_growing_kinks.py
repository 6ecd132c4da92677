"""Kinked activations that grow or change fast: nodes and their range follow the integrand."""

import math

import mpmath
import numpy as np
import pytest

from symdlt.activations import activation
from symdlt.kernels import numpy_activation
from symdlt.means import (
    KernelInputError,
    KinkedMeans,
    kinked_pair_means,
    kinked_quadruple_means,
    meeting_jumps,
)


def given(what, derivatives=3):
    found = activation(what)
    kinks = [
        (float(kink.position), [float(jump) for jump in kink.jumps]) for kink in found.kinks(12)
    ]
    return numpy_activation(found, derivatives).functions, kinks


def positive(z):
    return z if z > 0 else mpmath.mpf(0)


GROWING = {
    "z + relu(z)*(exp(z) - 1)": (lambda z: z + positive(z) * mpmath.expm1(z), 0.0, 3.0),
    "relu(exp(z) - 2)": (lambda z: positive(mpmath.exp(z) - 2), math.log(2.0), 3.0),
    "relu(z)**6": (lambda z: positive(z) ** 6, 0.0, 1.0),
    "where(z < 1, z, z + (z - 1)**4/5)": (
        lambda z: z if z < 1 else z + (z - 1) ** 4 / 5,
        1.0,
        1.0,
    ),
}


def moments(f, kink, K):
    """<f f> and <f f f f> at 25 digits, in pieces that end at the kink."""
    with mpmath.workdps(25):
        s = mpmath.sqrt(K)
        edges = sorted({mpmath.mpf(kink) / s, *map(mpmath.mpf, range(-12, 25, 4))})
        return [
            float(mpmath.quad(lambda x, p=p: f(s * x) ** p * mpmath.npdf(x), edges)) for p in (2, 4)
        ]


@pytest.mark.parametrize("text", GROWING)
def test_one_sample_at_every_tolerance(text):
    f, kink, K = GROWING[text]
    square, fourth = moments(f, kink, K)
    for tolerance in (1e-4, 1e-7, 1e-10):
        two, four = KinkedMeans(*given(text), tolerance)([[K]], [(0, 0), (0, 0, 0, 0)])
        assert two.item() == pytest.approx(square, rel=1e-13)
        allowed = tolerance * square**2 + 1e-11 * fourth
        assert abs(four.item() - fourth) <= allowed


def nodes(edges, reach, count=24):
    """Gauss-Legendre nodes on panels of one standard deviation, that end at certain places."""
    x, w = np.polynomial.legendre.leggauss(count)
    inner = np.broadcast_to(np.arange(-reach, reach + 0.5), (len(edges), round(2 * reach) + 1))
    edges = np.sort(np.clip(np.hstack([inner, edges]), -reach, reach))
    half = 0.5 * np.diff(edges)[..., None]
    z = (edges[:, :-1, None] + half * (1.0 + x)).reshape(len(edges), -1)
    w = (half * w).reshape(len(edges), -1)
    return z, w * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)


def conditional(f, kink, middle, spread, reach):
    """<f(middle + spread y)> over y, for many middles."""
    y, w = nodes((kink - middle[:, None]) / spread, reach)
    return (w * f(middle[:, None] + spread * y)).sum(axis=1)


def pair_mean(f, kink, K, reach):
    """<f f> of two samples by panels of both variables."""
    si, sj = np.sqrt(np.diag(K))
    rho = K[0, 1] / (si * sj)
    edges = kink / np.array([[si, rho * sj]]) + [[0.0, 0.0]]
    x, w = nodes(np.hstack([edges, edges - 0.2, edges + 0.2, [[-0.1, 0.1]]]), reach)
    inner = conditional(f, kink, rho * sj * x[0], sj * math.sqrt(1.0 - rho**2), reach)
    return w[0] @ (f(si * x[0]) * inner)


@pytest.mark.parametrize(
    ("text", "f", "kink", "variance", "rho"),
    [
        ("relu(exp(z) - 2)", lambda z: np.maximum(np.exp(z) - 2, 0), math.log(2.0), 9.0, -0.9),
        ("relu(z)**6", lambda z: np.maximum(z, 0) ** 6, 0.0, 4.0, 0.97),
        ("tanh(z) + relu(z - 3)", lambda z: np.tanh(z) + np.maximum(z - 3, 0), 3.0, 1.0, -0.97),
    ],
)
def test_pairs(text, f, kink, variance, rho):
    K = variance * np.array([[1.0, 1.5 * rho], [1.5 * rho, 2.25]])
    (found,) = kinked_pair_means(*given(text), K, [(0, 0)])
    size = math.sqrt(found[0, 0] * found[1, 1])
    assert abs(found[0, 1] - pair_mean(f, kink, K, 22.0)) <= 1e-13 * size


def test_four_samples_of_one_factor():
    """z_i = a_i u + b_i e_i: given u, the mean of the product is a product of means."""
    functions, kinks = given("relu(exp(z) - 2)")
    loads, rest = np.array([0.9, -0.5, 0.7, 0.4]), np.array([0.8, 1.1, 0.9, 1.0])
    K = np.outer(loads, loads) + np.diag(rest**2)
    u, w = (part[0] for part in nodes(np.zeros((1, 0)), 12.0))
    for a, b in zip(loads, rest, strict=True):
        w = w * conditional(lambda z: np.maximum(np.exp(z) - 2, 0), math.log(2.0), a * u, b, 14.0)
    asked = np.array([[0, 1, 2, 3]])
    (found,) = kinked_quadruple_means(functions, kinks, K, [(0, 0, 0, 0)], asked, 1e-8)
    (two,) = kinked_pair_means(functions, kinks, K, [(0, 0)])
    assert abs(found[0, 1, 2, 3] - w.sum()) <= 1e-8 * math.sqrt(np.prod(np.diag(two)))


def test_four_functions_of_a_steep_one():
    """tanh changes within 1/30 standard deviations, beside the kink."""
    K, functions = 1e3, given("tanh(z) + relu(z - 3/10)")
    with mpmath.workdps(25):
        s = mpmath.sqrt(K)
        places = sorted(
            {0.3 / s, *(mpmath.mpf(k) / s for k in (-99, -40, -9, -3, 0, 3, 9, 40, 99))}
        )

        def integrand(x):
            z = s * x
            slope = mpmath.sech(z) ** 2 + (z > 0.3)
            return (mpmath.tanh(z) + positive(z - 0.3)) ** 2 * slope**2 * mpmath.npdf(x)

        exact = float(mpmath.quad(integrand, [-9, *places, 6, 12]))
    square, slopes, mixed = KinkedMeans(*functions)([[K]], [(0, 0), (1, 1), (0, 0, 1, 1)])
    assert abs(mixed.item() - exact) <= 1e-7 * square.item() * slopes.item()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("K", [1e-6, 1.0, 1e4])
def test_exponentials_of_all_scales(scale, K):
    """<elu^2>, with the normal distribution for the side that is exponential."""
    with mpmath.workdps(40):
        s = mpmath.mpf(scale) * mpmath.sqrt(mpmath.mpf(K))
        below = (
            mpmath.exp(2 * s**2) * mpmath.ncdf(-2 * s)
            - 2 * mpmath.exp(s**2 / 2) * mpmath.ncdf(-s)
            + 0.5
        )
        exact = float(s**2 / 2 + below)
    functions, kinks = given(f"elu({scale!r}*z, 1)")
    (found,) = kinked_pair_means(functions, kinks, [[K]], [(0, 0)])
    assert found.item() == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "K", "orders", "message"),
    [
        ("relu(z)*exp(z)", 225.0, (0, 0), "still matter at 38 standard deviations"),
        ("relu(z)*exp(z)", 400.0, (0, 0), "overflows"),
        ("relu(z)*exp(z)", 36.0, (0, 0, 0, 0), "still matter at 38 standard deviations"),
        ("relu(z)*exp(z**2)", 1.0, (0, 0), "overflows|still matter"),
        ("sin(1000*z) + relu(z)", 100.0, (0, 0), "do not converge"),
    ],
)
def test_what_grows_or_oscillates_too_fast_is_refused(text, K, orders, message):
    with pytest.raises(KernelInputError, match=message):
        KinkedMeans(*given(text))([[K]], [orders])


def test_a_rule_that_is_too_coarse_for_two_variables_is_refused(monkeypatch):
    from symdlt.means import kinked, panels

    functions, kinks = given("tanh(z) + relu(z - 3)")
    functions = [lambda z, f=f: f(z) for f in functions]  # of no known text
    K = 9.0 * np.array([[1.0, -1.649], [-1.649, 2.89]])
    monkeypatch.setattr(kinked, "panel_rule", lambda *_: panels.RULES[0])
    monkeypatch.setattr(panels, "RULES", panels.RULES[:1])
    with pytest.raises(KernelInputError, match=r"correlation -0\.97"):
        kinked_pair_means(functions, kinks, K, [(1, 1)])


def test_samples_that_meet_at_a_jump():
    step, two = [(1.0, [1.0])], [(-1.0, [2.0]), (1.0, [2.0])]
    x = np.array([1.0, 2.0, -1.0])
    K = np.outer(x, x)
    assert meeting_jumps([(0.0, [2.0])], K).all()
    assert (meeting_jumps(step, K) == np.eye(3, dtype=bool)).all()
    assert (meeting_jumps(two, K) == np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]], bool)).all()
    assert not meeting_jumps([(0.0, [0.0, 1.0])], K).any()


def test_samples_of_variance_zero():
    functions, kinks = given("abs(z) + 1")
    K = np.diag([0.0, 2.0])
    two, slopes = kinked_pair_means(functions, kinks, K, [(0, 0), (1, 1)], zero_slopes=True)
    mean = 1.0 + math.sqrt(4.0 / math.pi)
    assert two.ravel() == pytest.approx([1.0, mean, mean, 2.0 * mean - 1.0 + 2.0])
    assert slopes.ravel() == pytest.approx([0.0, 0.0, 0.0, 1.0])
    for orders in [(0, 1), (0, 0, 1, 1)]:
        with pytest.raises(KernelInputError, match="variance zero"):
            KinkedMeans(functions, kinks)(K, [orders])
