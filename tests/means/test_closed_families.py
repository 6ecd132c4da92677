"""Families with closed means are read off expressions, and have the means of these."""

import math

import mpmath
import numpy as np
import pytest
from means.test_pairs import norms, plain_mean, two

from symdlt import MLP
from symdlt.activations import activation
from symdlt.kernels import numpy_activation
from symdlt.means import KernelInputError, closed_pair_means

ORDERS = [(0, 0), (0, 1), (2, 0), (1, 1), (1, 3)]
MEMBERS = {
    "2*erf(3*z)/7 + 1": "erf",
    "(1 + erf(z/sqrt(2)))/2": "erf",
    "erfc(-2*z) - z/3": "erf",
    "erf(z) - 2*erf(-z/3)": "erf",
    "z*erfc(-z/sqrt(2))/2": "gelu",
    "z*(1 + erf(3*z))/5 + z**2/7": "gelu",
    "gelu": "gelu",
    "sin(2*z + pi/3) - 1/2": "exponential",
    "sin(z) + sin(15*z)/10": "exponential",
    "z + sin(z)**2": "exponential",
    "sin(z) + (1 - cos(z))/3": "exponential",
    "sin(z)*cos(z/3) + z": "exponential",
    "exp(z/2 + 1) - E": "exponential",
    "cosh(z/2)/3 + sin(z)": "exponential",
    "cos(z) - exp(-z/3) - z**3/7": "exponential",
    "(z/2 + 1)**3 - 1": "polynomial",
}
OTHERS = (
    *(
        "tanh(z)",
        "relu(z)",
        "erf(z + 1)",
        "exp(z)*sin(z)",
        "z*sin(8*z)",
        "exp(-z**2)",
        "1/(2+cos(z))",
    ),
    *("sin(z)**30", "erf(z)**2", "z**13", "sin(z) + erf(z)", "z*erf(z)*erf(z)", "sin(abs(z))"),
)
HUGE = ("sin(1e99*1e99*z)", "exp(exp(exp(100)))*z", "exp(1000)*sin(z)", "1e99*1e99*1e99*1e99*z")
# Their terms are larger than they are themselves, near zero or far from it.
CANCELLING = ("z - sin(z)", "z*erf(z)", "erf(2*z) - erf(z)", "cos(z) - 1 + z**2/2")


@pytest.mark.parametrize("text", MEMBERS)
def test_members_have_the_means_of_their_functions(text):
    name, parameters = activation(text).closed_family()
    assert name == MEMBERS[text]
    f = numpy_activation(text, 3).functions
    for K, rho in ((0.8, 0.3), (2.0, -0.97)):
        matrix = two(K, 0.37 * K, rho)
        found = closed_pair_means(name, matrix, ORDERS, **parameters)
        for (a, b), table in zip(ORDERS, found, strict=True):
            exact = plain_mean(f, a, b, K, 0.37 * K, rho)
            assert abs(table[0, 1] - exact) < 2e-13 * norms(f, matrix, (a, b))[0, 1] + 1e-300


@pytest.mark.parametrize("text", ["erf", "gelu"])
def test_named_members_are_plain(text):
    assert activation(text).closed_family() == (text, {"terms": ((1.0, 1.0),)})


@pytest.mark.parametrize("text", [*OTHERS, *CANCELLING, *HUGE])
def test_others_are_not(text):
    assert activation(text).closed_family() is None


@pytest.mark.parametrize("K", [1e-300, 1e-20, 1e-3])
def test_what_cancels_in_cosines_at_small_variances(K):
    row = {"circular": [(1.0, 0.0, 1.0)]}
    found = closed_pair_means("exponential", np.array([[K]]), [(0, 0), (0, 2)], **row)
    with mpmath.workdps(700):
        x = mpmath.exp(-mpmath.mpf(K))
        square = (1 + x**2) / 2 - 2 * mpmath.sqrt(x) + 1
        mixed = mpmath.sqrt(x) - (1 + x**2) / 2
    assert found[0][0, 0] == pytest.approx(float(square), rel=1e-14, abs=0.0)
    assert found[1][0, 0] == pytest.approx(float(mixed), rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    "text", ["erf(1000*z)", "sin(300*z)", "sin(3000*z)", "sin(z) + sin(15*z)/10"]
)
def test_networks_take_them_at_every_scale(text):
    terms = {"sin(z) + sin(15*z)/10": [(1.0, 1.0), (0.1, 15.0)]}.get(text)
    scale = float(text[4:-3]) if terms is None else 1.0
    one, two_, c = 0.5 * 1.25, 0.5 * 1.04, 0.5 * -0.3
    if text.startswith("erf"):
        value = 2 / math.pi * math.asin(c / math.sqrt((one + 0.5e-6) * (two_ + 0.5e-6)))
    else:
        value = sum(
            w * v * math.exp(-0.5 * (k * k * one + n * n * two_)) * math.sinh(k * n * c)
            if k < 100
            else 0.5 * math.exp(-0.5 * k * k * (one + two_ - 2 * abs(c))) * math.copysign(1, c)
            for w, k in terms or [(1.0, scale)]
            for v, n in terms or [(1.0, scale)]
        )
    net = MLP(activation=text, widths=[64], C_b=0, C_W=1, lambda_b=0, lambda_W=1)
    kernel = net.propagate([[1.0, 0.5], [0.2, -1.0]], ["G"])["G"][-1]
    assert kernel[0, 1] == pytest.approx(value, rel=1e-13, abs=1e-300)


@pytest.mark.parametrize(
    ("sample", "value"),
    [
        ([1.0, 14.0], -1.476703),
        pytest.param([3.0, 42.0], -4.1640, marks=pytest.mark.slow),
        pytest.param([10.0, 140.0], -13.8, marks=pytest.mark.slow),
    ],
)
def test_next_order_of_a_gelu_network_with_large_inputs(sample, value):
    """Values of the same network with gelu as a list of functions, which takes quadrature."""
    net = MLP(activation="gelu", widths=[24, 48], C_b=0.05, C_W=2, lambda_b=0.3, lambda_W=0.7)
    found = np.array(net.propagate([sample], ["H.1"])["H.1"])[-1].item()
    assert found == pytest.approx(value, rel=3e-3 if value == -13.8 else 2e-5)


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("sin", {"frequency": 1e200}),
        ("erf", {"terms": [(1.0, 0.0)]}),
        ("erf", {"terms": [1.0, 2.0]}),
        ("gelu", {"coefficients": 3.0}),
        ("exponential", {"circular": [(1.0, 2.0)]}),
        ("exponential", {"hyperbolic": [(math.inf, 2.0, 1.0)]}),
        ("relu", {"terms": [(1.0, 1.0)]}),
    ],
)
def test_parameters_that_are_refused(family, parameters):
    with pytest.raises(KernelInputError, match="The parameters"):
        closed_pair_means(family, np.eye(2), [(0, 0)], **parameters)
