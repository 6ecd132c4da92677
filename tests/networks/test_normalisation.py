"""RMSNorm and LayerNorm against exact moments on a sphere."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from sympy import Poly, factorial2, symbols, sympify

from symdlt import Network, layer_equations, propagate
from symdlt.definitions import Stack
from symdlt.errors import LayerError

FIRST = "z' = W z"
y, z = symbols("y z")
n = 10**13  # exact moments at a width that leaves nothing of the next order


def gaussian_moment(powers, variance, covariance):
    """Of two Gaussians of one variance, by Wick's theorem."""
    a, b = powers
    total = 0
    for links in range(min(a, b) + 1):
        if (a - links) % 2 or (b - links) % 2:
            continue
        ways = prod(a - k for k in range(links)) * prod(b - k for k in range(links))
        ways = Fraction(ways, prod(range(1, links + 1)))
        inner = int(factorial2(a - links - 1) * factorial2(b - links - 1))
        total += ways * inner * covariance**links * variance ** ((a + b) // 2 - links)
    return total


def sphere_moment(powers, centred):
    """Of a Gaussian vector over its length: the two are independent, and the length is chi."""
    size = n - 1 if centred else n
    if sum(powers) % 2:
        return 0
    lengths = prod((size + 2 * k for k in range(sum(powers) // 2)), start=1)
    drawn = gaussian_moment(powers, Fraction(size, n), Fraction(-1, n) if centred else 0)
    return n ** (sum(powers) // 2) * drawn / lengths


def mean(polynomial, centred):
    terms = Poly(polynomial, z, y).terms()
    return sum(Fraction(str(c)) * sphere_moment(powers, centred) for powers, c in terms)


@pytest.mark.parametrize("norm", ["rmsnorm", "layernorm"])
@pytest.mark.parametrize("activation", ["z", "z + z**2/2", "1 + z**2 - z**3/3"])
def test_v_of_a_normalised_layer_is_that_of_a_sphere(norm, activation):
    """n cov of (1/n) sum s(z)^2 for z uniform on the sphere; its limit is V at C_W = 1."""
    centred = norm == "layernorm"
    network = Network(activation, [9], {"C_W": 1.0}, [FIRST, f"z' = W s({norm}(z))"], n_L=2)
    found = propagate(network, [[1.0, -0.7]], ["G", "V"])
    square = sympify(activation) ** 2
    first = mean(square, centred)
    apart = mean(square * square.subs(z, y), centred)
    variance = mean(square**2, centred) / n + Fraction(n - 1, n) * apart - first**2
    computed = [found[name][-1].item() for name in "GV"]
    np.testing.assert_allclose(computed, [float(first), float(n * variance)], atol=1e-9)


def test_a_norm_makes_scales_drop_out():
    """The kernel is that of inputs of length one, and rates are divided by their square."""
    layers = [FIRST, "z' = b + W s(rmsnorm(z))"]
    values = {"C_b": 0.1, "C_W": 1.0, "lambda_b": 0.0, "lambda_W": [1.0, 0.0]}
    network = Network("tanh", [9], values, layers)
    x = np.array([[0.3, -0.4], [0.6, 0.8]])
    names = ["G", "V", "F", "B"]
    small, large = (propagate(network, scale * x, names) for scale in (1.0, 1e3))
    for name in names:
        np.testing.assert_allclose(small[name][1], large[name][1], rtol=1e-9, atol=1e-14)


def test_nested_statements_are_those_with_names():
    short = Stack("z' = z + W s(U rmsnorm(z))")
    long = Stack("n = rmsnorm(z); u = U n; z' = z + W s(u)")
    values = {"C_W": [1.0, 0.5, 1.0], "C_U": 1.2}
    both = [
        propagate(
            Network("tanh", [9, 9], values, [FIRST, layer, FIRST]), [[1.0, 0.3], [0.2, 2.0]], "V"
        )
        for layer in (short, long)
    ]
    np.testing.assert_allclose(both[0]["V"], both[1]["V"], rtol=1e-13)
    assert str(short) == "z' = z + W s(U rmsnorm(z))"
    assert short.sites == (("z", "rmsnorm(z)", "z'"), ("u",))


@pytest.mark.parametrize(
    ("layers", "x", "names", "message"),
    [
        (["z' = W s(rmsnorm(z))"] * 2, [[1.0]], "V", "applies rmsnorm to the input"),
        ([FIRST, "z' = W s(layernorm(z))"], [[1.0], [0.0]], "V", "is zero for input 1"),
        ([FIRST, "z' = W s(rmsnorm(z))"], [[1e90]], "V", "Scale the inputs"),
        ([FIRST, "z' = W s(layernorm(z))"], [[1.0]], "G.1", "lengths of layernorm are expanded"),
    ],
)
def test_what_is_not_known_of_norms_is_refused(layers, x, names, message):
    with pytest.raises(LayerError, match=message):
        propagate(Network("tanh", [9], {"C_W": 1.0}, layers), x, names)


def test_norms_in_symbols_are_refused():
    with pytest.raises(LayerError, match="normalises a field"):
        layer_equations("V", "z' = W s(rmsnorm(z))")
    with pytest.raises(LayerError, match="has rmsnorm' of a field"):
        Stack("z' = W rmsnorm'(z)")
