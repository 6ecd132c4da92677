"""Exact solutions of the scale-invariant class, against the book, iteration and deep networks."""

from collections import Counter

import pytest
import sympy as sp
from cases import swept

from symdlt import MLP, correlators
from symdlt.asymptotics import exponents
from symdlt.errors import SolutionError

FINITE = ["G", "H", "V", "B", "D", "A", "F", "P", "Q"]
ALL = [*FINITE, "R", "S", "T", "U"]
K, b, W = sp.symbols("K lambda_b lambda_W", positive=True)
ell = sp.Symbol("l", positive=True)
HIDDEN = 7
RATES = {"lambda_b": 0.7, "lambda_W": 1.1}


@pytest.mark.parametrize(
    ("activation", "names"),
    [
        ("relu", FINITE),
        ("leaky_relu(z, 1/4)", FINITE),
        swept("abs(z)", FINITE),
        ("linear", ALL),
        ("-3*z", ALL),
    ],
)
def test_kernels_at_every_layer(activation, names):
    solution = exponents(activation)
    assert [a.name for a in solution.tensors] == names
    C_W = float(dict(solution.hyperparameters)["C_W"])
    rates = {name: rate / HIDDEN for name, rate in RATES.items()}
    net = MLP(activation=activation, widths=[1] * (HIDDEN - 1), C_b=0, C_W=C_W, **rates)
    found = net.propagate([[1.3, 0.4]], names)
    for asymptote in solution.tensors:
        for layer in range(1, HIDDEN + 1):
            known = RATES | {"K": found["G"][0].item(), "l": layer}
            exact = asymptote.exact.subs({s: known[s.name] for s in asymptote.exact.free_symbols})
            kernel = found[asymptote.name][layer - 1].item() * HIDDEN**asymptote.edges
            assert kernel == pytest.approx(float(exact), rel=1e-11, abs=1e-12)


def test_deep_linear_networks_of_the_book():
    """(∞.46)–(∞.50): leading powers, with λ/L and at ℓ = L."""
    linear = exponents("linear")
    theta = b + W * K
    assert sp.expand(linear["H"].exact - theta * ell) == 0
    leading = {
        "V": 2 * K**2 * ell,
        "A": sp.Rational(2, 3) * W**2 * K**2 * ell**3,
        "B": theta**2 * ell**3 / 3,
        "D": W * K**2 * ell**2,
        "F": K * theta * ell**2 / 2,
        "Q": W * K * theta * ell**3 / 6,
        "S": W * theta**2 * ell**4 / 12,
        "T": W**2 * K * theta * ell**4 / 12,
    }
    for name, value in leading.items():
        found = linear[name]
        assert sp.expand(found.coefficient * ell**-found.exponent - value) == 0
    assert [linear[name].coefficient for name in "PRU"] == [0, 0, 0]


def test_four_point_vertex_of_the_class():
    plus, minus = sp.symbols("a_plus a_minus", real=True)
    second, fourth = (plus**2 + minus**2) / 2, (plus**4 + minus**4) / 2
    found = exponents("scale-invariant with slopes a_+, a_-", ["V"])["V"].exact
    assert sp.simplify(found - (3 * fourth / second**2 - 1) * K**2 * (ell - 1)) == 0


@pytest.mark.slow
def test_moments_of_deep_linear_networks():
    """The kernel is multiplied by chi-square variables, whose moments are exact in 1/n."""
    n = sp.Symbol("n")
    found = exponents("linear", ["V.2", "X6.1"])
    ours = sum(found[name].exact / n ** (k + 1) for k, name in enumerate(("V", "V.1", "V.2")))
    for layer in (2, 3, 4):
        exact = sp.expand(K**2 * ((1 + 2 / n) ** (layer - 1) - 1))
        assert sp.expand(ours.subs(ell, layer) - exact) == 0


def test_means_of_the_kernel_have_no_corrections():
    found = exponents("relu", ["G.1", "H.1", "G.2"])
    assert [found[name].exact for name in ("G.1", "G.2")] == [0, 0]


def test_what_is_infinite_is_refused():
    relu = exponents("relu")
    assert [name for name, _ in relu.unsolved] == ["R", "S", "T", "U"]
    with pytest.raises(SolutionError, match="infinite for a slope that jumps"):
        relu["S"]
    assert "S is not finite" in relu.table()


def test_given_rates_and_printing():
    found = exponents("linear", ["S", "P"], lambda_b=0)
    assert found["S"].exact.subs({K: 1, W: 1, ell: 3}) == 6
    assert found.to_dict()["tensors"]["P"]["exact"] == "0"
    assert "-> 0\n" in found.table() + "\n"
    assert r"\ell" in found.latex()


@pytest.mark.slow
def test_the_next_order_of_deep_linear_networks():
    found = exponents("linear", correlators(2))
    counted = Counter(
        "zero" if a.coefficient == 0 else a.cutoff for a in found.tensors if a.order == 2
    )
    assert counted == {"at": 40, "zero": 63}
    assert found.unsolved == ()
