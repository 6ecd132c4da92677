"""Each entry of the table of functions against mpmath, from its definition to the theory."""

import numpy as np
import pytest
import sympy as sp
from cases import thinned

from symdlt import MLP
from symdlt.activations import ACTIVATIONS, activation
from symdlt.activations.functions import FUNCTIONS, TABLE
from symdlt.activations.series import derivatives
from symdlt.asymptotics import exponents
from symdlt.errors import ActivationError, SymdltError
from symdlt.fixed_points import criticality
from symdlt.kernels import numpy_activation
from symdlt.precision import mp

ORDER = 4
# Between the kinks of all of them, and where variances from 1e-12 to 1e6 put z.
POINTS = (-1e3, -37.5, -7.25, -2.2, -0.7, -0.01, -1e-6, 1e-6, 0.02, 0.3, 0.9, 1.7, 4.1, 40.5, 1e3)


def logistic(z):
    return 1 / (1 + mp.exp(-z))


def cubic(z):
    return mp.mpf("0.044715") * z**3


def clamped(z, low, high):
    return min(max(z, mp.mpf(low)), mp.mpf(high))


def selu(z):
    scale, alpha = mp.mpf("1.0507009873554805"), mp.mpf("1.6732632423543772")
    return scale * (z if z >= 0 else alpha * mp.expm1(z))


REFERENCES = {
    "abs": abs,
    "asinh": mp.asinh,
    "atan": mp.atan,
    "bent_identity": lambda z: z + (mp.sqrt(z * z + 1) - 1) / 2,
    "celu": lambda z: z if z >= 0 else mp.expm1(z),
    "cos": mp.cos,
    "cosh": mp.cosh,
    "elu": lambda z: z if z >= 0 else mp.expm1(z),
    "erf": mp.erf,
    "erfc": mp.erfc,
    "exp": mp.exp,
    "expm1": mp.expm1,
    "gaussian": lambda z: mp.exp(-z * z),
    "gd": lambda z: mp.asin(mp.tanh(z)),
    "gelu": lambda z: z * mp.ncdf(z),
    "gelu_tanh": lambda z: z / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (z + cubic(z)))),
    "hardshrink": lambda z: z if abs(z) > 0.5 else 0 * z,
    "hardsigmoid": lambda z: clamped(z / 6 + mp.mpf(1) / 2, 0, 1),
    "hardswish": lambda z: z * clamped(z / 6 + mp.mpf(1) / 2, 0, 1),
    "hardtanh": lambda z: clamped(z, -1, 1),
    "heaviside": lambda z: mp.mpf(z > 0),
    "isru": lambda z: mp.sin(mp.atan(z)),
    "leaky_relu": lambda z: z if z >= 0 else z / 100,
    "lecun_tanh": lambda z: mp.mpf("1.7159") * mp.tanh(2 * z / 3),
    "linear": lambda z: z,
    "log": mp.log,
    "log1p": mp.log1p,
    "logcosh": lambda z: mp.log(mp.cosh(z)),
    "logsigmoid": lambda z: mp.log(logistic(z)),
    "mish": lambda z: z * mp.tanh(mp.log1p(mp.exp(z))),
    "ncdf": mp.ncdf,
    "quick_gelu": lambda z: z * logistic(mp.mpf("1.702") * z),
    "relu": lambda z: clamped(z, 0, mp.inf),
    "relu6": lambda z: clamped(z, 0, 6),
    "sech": mp.sech,
    "selu": selu,
    "sigmoid": logistic,
    "sign": mp.sign,
    "silu": lambda z: z * logistic(z),
    "sin": mp.sin,
    "sinh": mp.sinh,
    "softplus": lambda z: mp.log1p(mp.exp(z)),
    "softshrink": lambda z: z - clamped(z, -0.5, 0.5),
    "softsign": lambda z: z / (1 + abs(z)),
    "sqrt": mp.sqrt,
    "squared_relu": lambda z: clamped(z, 0, mp.inf) ** 2,
    "squareplus": lambda z: (z + mp.hypot(z, 2)) / 2,
    "swish": lambda z: z * logistic(z),
    "tanh": mp.tanh,
    "tanhshrink": lambda z: z - mp.tanh(z),
}
SINGULAR = {"log": 0, "log1p": -1, "sqrt": 0}


def expected_at(name, point):
    """The derivatives by differences of mpmath, in so many digits that nothing cancels."""
    with mp.workdps(60):
        coefficients = mp.taylor(REFERENCES[name], mp.mpf(point), ORDER)
        return [c * mp.factorial(k) for k, c in enumerate(coefficients)]


def points_of(name):
    return [z for z in POINTS if z > SINGULAR.get(name, -mp.inf)]


def error(found, expected, point):
    return abs(found - expected) / max(1, abs(point), abs(expected))


def test_every_entry_has_a_reference():
    assert {*REFERENCES} == {*ACTIVATIONS}
    assert {name for name, function in TABLE.items() if not function.alone} == {"max", "min"}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_and_numpy_code(name):
    pieces = activation(name).pieces()
    expected = {z: expected_at(name, z) for z in points_of(name)}
    for z, values in expected.items():
        (*_, piece) = (p for p in pieces if p.start < z)
        with mp.workdps(40):
            found = derivatives(piece.node, ORDER)(mp.mpf(z))
            assert max(map(error, found, values, [z] * (ORDER + 1))) < 1e-30, z
    if name in SINGULAR:
        with pytest.raises(ActivationError, match="cannot be evaluated at z = "):
            numpy_activation(name, ORDER)
        return
    table = numpy_activation(name, ORDER).together(np.array([*expected]), ORDER + 1)
    for column, (z, values) in enumerate(expected.items()):
        for row, value in zip(table, values, strict=True):
            if abs(value) < 1e300:
                assert error(mp.mpf(float(row[column])), value, z) < 1e-13, z


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_exact_series_at_zero(name):
    """Or at 3/10, of a function with a kink or a pole at zero."""
    centre = sp.Rational(3, 10)
    smooth = all(kink.position for kink in activation(name).kinks(ORDER))
    if smooth and SINGULAR.get(name) != 0:
        found, place = activation(name).taylor(ORDER), 0
    else:
        text = ACTIVATIONS[name].replace("z", f"(z + {centre})")
        found, place = activation(text).taylor(ORDER), centre
    with mp.workdps(40):
        values = expected_at(name, mp.mpf(place.p) / place.q if place else 0)
        for coefficient, value in zip(found, values, strict=True):
            assert error(mp.mpmathify(sp.N(coefficient, 40)), value, 0) < 1e-30


@pytest.mark.parametrize("name", [name for name, f in FUNCTIONS.items() if f.slope])
def test_slopes_are_those_that_sympy_knows(name):
    z = sp.Symbol("z", real=True)
    from symdlt.activations.grammar import rule
    from symdlt.activations.sympy_form import expression

    function = activation(f"{name}(z)").to_sympy()
    slope = expression(rule(TABLE[name].slope), {"u": z})
    assert sp.simplify((function.diff(z) - slope).rewrite(sp.exp)) == 0


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("ReLU", "relu"),
        ("Tanh", "tanh"),
        ("GELU", "gelu"),
        ("SiLU", "silu"),
        ("ELU", "elu"),
        ("LeakyReLU", "leaky_relu"),
        ("ReLU6", "relu6"),
        ("Hardtanh", "hardtanh"),
        ("hard_tanh", "hardtanh"),
        ("hard_silu", "hardswish"),
        ("LogSigmoid", "logsigmoid"),
        ("soft_sign", "softsign"),
        ("Identity", "linear"),
        ("arcsinh", "asinh"),
        ("arctan", "atan"),
    ],
)
def test_names_of_frameworks(spelled, name):
    assert activation(spelled) == activation(name)
    assert activation(f"2*{spelled}(z/3)").to_sympy() == activation(f"2*{name}(z/3)").to_sympy()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tahn", r"There is no activation 'tahn'\. Did you mean tanh or atan\? Known are abs "),
        ("ReLU7", r"Did you mean relu or relu6 or squared_relu\? "),
        ("z*sigmiod(z)", r"position 2 of 'z\*sigmiod\(z\)'\. Did you mean sigmoid or logsigmoid\?"),
        ("max", r"There is no activation 'max'\. "),
    ],
)
def test_what_was_meant(text, message):
    with pytest.raises(ActivationError, match=message):
        activation(text)


@pytest.mark.parametrize("name", [name for name, f in TABLE.items() if f.alone])
def test_deep_nests_are_read_or_refused(name):
    try:
        found = activation(f"{name}(" * 40 + "z" + ")" * 40)
    except ActivationError:
        return
    assert found.text.count("(") == 40


def mean_square(name, K):
    """<sigma^2>_K by quadrature over intervals between all kinks."""
    with mp.workdps(20):
        root = mp.sqrt(K)
        edges = sorted({mp.mpf(z) / root for z in (-3, -1, -0.5, 0, 0.5, 1, 3, 6)} | {-12, 12})

        def weighted(x):
            return REFERENCES[name](root * x) ** 2 * mp.npdf(x)

        return float(mp.quad(weighted, edges))


@pytest.mark.parametrize(
    "name", ["asinh", "logcosh", "sech", "hardswish", "hardtanh", "softshrink", "squareplus"]
)
def test_kernels_of_networks(name):
    x = np.array([[0.9, -1.2, 0.4]])
    K = 0.2 + 1.5 * float((x**2).mean())
    mlp = MLP(activation=name, widths=[16], C_b=0.2, C_W=1.5, lambda_b=0, lambda_W=1)
    found = mlp.propagate(x, ["G"])["G"][1, 0, 0]
    assert found == pytest.approx(0.2 + 1.5 * mean_square(name, K), rel=1e-9)


@pytest.mark.parametrize(
    ("name", "a_1"), [("asinh", -1), ("gd", -1), ("lecun_tanh", sp.Rational(-8, 9))]
)
def test_odd_functions_are_critical_at_zero(name, a_1):
    """K' - K = a_1 K^2 with a_1 = sigma_3/sigma_1, at C_W = 1/sigma_1^2."""
    sigma_1 = activation(name).taylor(1)[1]
    (point,) = criticality(name).points[:1]
    assert point.K == 0
    assert 1 / sigma_1**2 == point.C_W
    assert point.a_1 == a_1
    assert "odd" in repr(exponents(name, ["G"]))


def finite_network(name):
    mlp = MLP(activation=name, widths=[8, 8], C_b=0.1, C_W=1.2, lambda_b=0, lambda_W=1)
    result = mlp.propagate([[0.5, -1.0]], ["G", "H", "V"])
    assert all(np.isfinite(tensor).all() for tensor in result.tensors.values())
    assert (result["G"][:, 0, 0] > 0).all()


@pytest.mark.parametrize("ask", [criticality, exponents, finite_network])
@pytest.mark.parametrize("name", thinned(ACTIVATIONS, 5))
def test_the_theory_takes_each_or_says_why_not(name, ask):
    refusal = ""
    try:
        found = ask(name)
    except SymdltError as reason:
        refusal = str(reason)
    if refusal:
        assert len(refusal.split()) > 10  # what is wrong, where, and what to try
    elif ask is not finite_network:  # which looks at what it gives itself
        assert found.activation == name
        assert len(str(found).split()) > 10
