"""Means by name, against mpmath's quadrature at thirty digits and closed forms of other people."""

import mpmath
import numpy as np
import pytest
import sympy as sp

import symdlt
from symdlt.activations.grammar import parse
from symdlt.cli import main
from symdlt.errors import ActivationError, InputError, SolutionError
from symdlt.means.precise import gaussian_mean
from symdlt.means.precise.sums import moved, one_sample

mp = mpmath.mp.clone()
mp.dps = 30
MEAN, VARIANCE = mp.mpf("0.3"), mp.mpf("0.7")


def gelu(z):
    return z * (1 + mp.erf(z / mp.sqrt(2))) / 2


WITH_FORMULA = {
    "sin(z)": (mp.sin, ()),
    "cos(3*z)*z**2": (lambda z: mp.cos(3 * z) * z * z, ()),
    "erf(2*z + 1)*z**3": (lambda z: mp.erf(2 * z + 1) * z**3, ()),
    "2*gelu(3*z - 1)": (lambda z: 2 * gelu(3 * z - 1), ()),
    "z**2*exp(z)*erf(z)": (lambda z: z * z * mp.exp(z) * mp.erf(z), ()),
    "exp(-z**2)*sin(z)": (lambda z: mp.exp(-z * z) * mp.sin(z), ()),
    "exp(z**2/10 + z)": (lambda z: mp.exp(z * z / 10 + z), ()),
    "sinh(z)*z": (lambda z: mp.sinh(z) * z, ()),
    "relu": (lambda z: max(z, 0), (0,)),
    "relu(2 - 3*z)*z": (lambda z: max(2 - 3 * z, 0) * z, (2 / mp.mpf(3),)),
    "abs(z - 1)": (lambda z: abs(z - 1), (1,)),
    "elu": (lambda z: z if z > 0 else mp.expm1(z), (0,)),
    "heaviside(z + 1/2)": (lambda z: mp.mpf(z > -0.5), (-0.5,)),
    "hardswish": (lambda z: z * min(max(z + 3, 0), 6) / 6, (-3, 3)),
}
WITHOUT = {
    "tanh": mp.tanh,
    "swish": lambda z: z / (1 + mp.exp(-z)),
    "atan(z)*exp(z)": lambda z: mp.atan(z) * mp.exp(z),
    "exp(z**2/3)*tanh(z)**2": lambda z: mp.exp(z * z / 3) * mp.tanh(z) ** 2,
    "tanh(40*z)": lambda z: mp.tanh(40 * z),
}


def quadrature(function, cuts=(), m=MEAN, v=VARIANCE):
    root = mp.sqrt(v)
    places = sorted({*(m + root * k for k in range(-14, 15, 2)), *map(mp.mpf, cuts)})
    total = mp.quad(lambda z: function(z) * mp.exp(-((z - m) ** 2) / (2 * v)), places)
    return total / mp.sqrt(2 * mp.pi * v)


def number(exact):
    return mp.mpf(str(exact))


@pytest.mark.parametrize("name", WITH_FORMULA)
def test_formulas_and_numbers_are_the_integral(name):
    right = quadrature(*WITH_FORMULA[name])
    assert abs(number(gaussian_mean(name, mean=0.3, variance=0.7, digits=25)) - right) < 1e-23
    formula = gaussian_mean(name, mean="m", variance="v")
    m, v = sp.symbols("m v")
    exact = formula.subs({m: sp.Rational(3, 10), v: sp.Rational(7, 10)}).evalf(30)
    assert exact.is_Float
    assert abs(number(exact) - right) < 1e-23


@pytest.mark.parametrize("name", WITHOUT)
def test_other_functions_have_numbers(name):
    right = quadrature(WITHOUT[name], (0, *(s * k / mp.mpf(10) for k in (1, 3) for s in (1, -1))))
    assert abs(gaussian_mean(name, mean=0.3, variance=0.7) - right) < 1e-14
    with pytest.raises(SolutionError, match="no closed form"):
        gaussian_mean(name, mean="m", variance=1)


def test_known_formulas():
    m, v = sp.symbols("m v")
    found = gaussian_mean("erf", mean="m", variance="v")
    assert sp.simplify(found - sp.erf(m / sp.sqrt(1 + 2 * v))) == 0
    assert gaussian_mean("exp", mean=m, variance="v") == sp.exp(m + v / 2)
    assert gaussian_mean("z**4", variance="v") == 3 * v**2
    assert gaussian_mean("sign(z)", variance="v") == 0


def test_more_digits_agree():
    few = gaussian_mean("tanh", mean=0.3, variance=2, digits=20)
    many = gaussian_mean("tanh", mean="3/10", variance=2, digits=32)
    assert few.is_Float
    assert abs(few - many) < 1e-19


@pytest.mark.parametrize(
    ("function", "m", "v"),
    [
        ("erf(1000*z + 3)", 0.1, 1e-4),
        ("exp(-1e6*(z - 0.3)**2)", 0.2, 0.7),
        ("relu(z - 5)*exp(z)", 0.3, 0.5),
        ("exp(z**2/3 + 2*z)", 0.0, 1.0),
    ],
)
def test_sums_and_formulas_agree(function, m, v):
    """Two ways that share nothing but the text of the function."""
    shifted = moved(parse(function), parse(repr(m)))
    summed = one_sample(shifted, sp.Rational(repr(v)), 15)
    assert float(summed) == pytest.approx(gaussian_mean(function, mean=m, variance=v), rel=1e-14)


def test_small_means_keep_their_digits():
    assert gaussian_mean("sin", mean=0.3, variance=100) == pytest.approx(
        float(mp.exp(-50) * mp.sin(MEAN)), rel=1e-14
    )
    right = quadrature(lambda z: mp.tanh(z) * mp.cos(12 * z), m=mp.mpf("0.3"), v=mp.mpf("0.5"))
    found = gaussian_mean("tanh(z)*cos(12*z)", mean=0.3, variance=0.5, digits=10)
    assert found == pytest.approx(float(right), rel=1e-10)
    assert gaussian_mean("tanh", variance=2) == 0.0


def test_a_variance_of_zero_is_a_value():
    assert gaussian_mean("tanh", mean=1, variance=0) == np.tanh(1.0)
    found = gaussian_mean(("tanh", "cos"), mean=(1, 2), covariance=[[0, 0], [0, 1]])
    assert found == pytest.approx(np.tanh(1) * np.cos(2) * np.exp(-0.5), rel=1e-13)


def pair_quadrature(f, g, m, K, cuts=((), ())):
    """Nested, by trapezoids between cuts in variables that end smoothly, in floating point."""
    y, weights = np.polynomial.legendre.leggauss(40)

    def rule(centre, root, cuts):
        ends = np.array(sorted({*(centre + root * np.arange(-10.0, 11.0)), *cuts}))
        half = np.diff(ends) / 2
        return (ends[:-1, None] + half[:, None] * (y + 1)).ravel(), np.outer(half, weights).ravel()

    def bell(z, centre, root):
        return np.exp(-(((z - centre) / root) ** 2) / 2) / root / np.sqrt(2 * np.pi)

    one, both, other = K
    root, rest = np.sqrt(one), np.sqrt(other - both**2 / one)
    x, lengths = rule(m[0], root, cuts[0])
    total = 0.0
    for place, length in zip(x, lengths, strict=True):
        centre = m[1] + both / one * (place - m[0])
        z, inner = rule(centre, rest, cuts[1])
        total += (
            length
            * f(place)
            * bell(place, m[0], root)
            * np.sum(inner * g(z) * bell(z, centre, rest))
        )
    return total


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


PAIRS = [
    ("tanh", "sin", np.tanh, np.sin, ((), ())),
    ("tanh", "relu", np.tanh, lambda z: np.maximum(z, 0), ((), (0,))),
    ("relu", "exp(z)*z", lambda z: np.maximum(z, 0), lambda z: np.exp(z) * z, ((0,), ())),
    (
        "sigmoid",
        "hardtanh",
        lambda z: 1 / (1 + np.exp(-z)),
        lambda z: np.clip(z, -1, 1),
        ((), (-1, 1)),
    ),
]


@pytest.mark.parametrize("K", [(1.0, 0.4, 0.8), (0.5, -0.69, 1.0)])
@pytest.mark.parametrize(("one", "other", "f", "g", "cuts"), PAIRS)
def test_pairs_are_the_integral(one, other, f, g, cuts, K):
    m = (0.3, -0.2)
    found = gaussian_mean((one, other), mean=m, covariance=[[K[0], K[1]], [K[1], K[2]]])
    assert abs(found - pair_quadrature(f, g, m, K, cuts)) < 1e-13
    turned = gaussian_mean((other, one), mean=m[::-1], covariance=[[K[2], K[1]], [K[1], K[0]]])
    assert abs(found - turned) < 1e-13


@pytest.mark.parametrize("rho", [0.0, 0.9, 0.999, -0.99999, 1, -1])
def test_pairs_of_relu_have_the_arc_cosine_kernel(rho):
    angle = np.arccos(rho)
    right = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
    found = gaussian_mean(("relu", "relu"), covariance=[[1, rho], [rho, 1]])
    assert abs(found - right) < 1e-13


def test_formulas_of_pairs():
    a, b, c, m = sp.symbols("a b c m", positive=True)
    found = gaussian_mean(("sin", "sin"), mean=(m, m), covariance=[[a, c], [c, a]])
    right = (sp.exp(-a + c) - sp.exp(-a - c) * sp.cos(2 * m)) / 2
    values = {a: sp.Rational(4, 5), c: sp.Rational(1, 3), m: sp.Rational(2, 7)}
    assert abs((found - right).subs(values).evalf(20)) < 1e-18
    found = gaussian_mean(("relu", "z**2"), mean=(m, 0), covariance=[[a, c], [c, b]])
    numbers = {a: sp.Rational(4, 5), b: 2, c: sp.Rational(1, 3), m: sp.Rational(2, 7)}
    right = pair_quadrature(
        lambda z: np.maximum(z, 0), np.square, (2 / 7, 0.0), (0.8, 1 / 3, 2.0), ((0,), ())
    )
    assert abs(float(found.subs(numbers)) - right) < 1e-13
    with pytest.raises(SolutionError, match="powers times exponentials"):
        gaussian_mean(("erf", "erf"), mean=(m, 0), covariance=[[a, c], [c, b]])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"functions": "tanh"}, InputError, "needs the variance"),
        ({"functions": "tanh", "variance": -1}, SolutionError, "no Gaussian"),
        ({"functions": "tanh", "variance": float("nan")}, InputError, "finite real numbers"),
        ({"functions": "tanh", "variance": True}, InputError, "finite real numbers"),
        ({"functions": "tanh", "variance": sp.oo}, InputError, "finite real numbers"),
        ({"functions": "tanh", "variance": "2*m"}, InputError, "finite real numbers"),
        ({"functions": "tanh", "variance": "1/0"}, InputError, "finite real numbers"),
        ({"functions": "tanh", "variance": 1, "digits": 0}, InputError, "digits is 0"),
        ({"functions": "1/z", "variance": 1}, ActivationError, "not finite|pole"),
        ({"functions": "exp(z**2)", "variance": 1}, SolutionError, "diverges"),
        ({"functions": "exp(z**2)*tanh(z)**2", "variance": 1}, SolutionError, "diverge"),
        ({"functions": "exp(z)", "variance": 1e4}, SolutionError, "beyond the range"),
        ({"functions": ("tanh", "sin"), "variance": 1}, InputError, "no variance"),
        ({"functions": ("tanh", "sin"), "covariance": 1}, InputError, "Give two entries"),
        (
            {"functions": ("tanh", "sin"), "covariance": [[1, 2], [2, 1]]},
            SolutionError,
            "no Gaussian",
        ),
        (
            {"functions": ("tanh", "relu"), "covariance": [[1, 1 - 1e-12], [1 - 1e-12, 1]]},
            SolutionError,
            "too many nodes",
        ),
        (
            {"functions": ("tanh", "sin"), "covariance": [[1, 2], [0, 1]]},
            SolutionError,
            "not symmetric",
        ),
    ],
)
def test_what_is_no_mean_is_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        gaussian_mean(arguments.pop("functions"), **arguments)


def test_the_command_line_gives_means(capsys):
    assert main(["mean", "sin(z)", "--mean", "0.3", "--variance", "2"]) == 0
    assert float(capsys.readouterr().out) == pytest.approx(np.sin(0.3) * np.exp(-1), rel=1e-15)
    assert main(["mean", "sin(z)", "--mean", "m", "--variance", "v"]) == 0
    assert capsys.readouterr().out == "exp(-v/2)*sin(m)\n"
    assert main(["mean", "tanh", "--mean", "m", "--variance", "v"]) == 1
    assert "no closed form" in capsys.readouterr().err
    assert symdlt.gaussian_mean is gaussian_mean
