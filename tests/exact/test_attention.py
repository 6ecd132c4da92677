"""Tensors of attention against exact moments of finite networks, which know no recursion."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from cases import slow, swept, thinned

from symdlt import BOOK, Network, check, propagate
from tests.exact.attention_moments import AttentionMoments

N, H, D, D_V = 6, 4, 5, 3  # all widths are these times λ; heads, d and the values of one
VARIANCES = {
    "b": Fraction(1, 10),
    "W": Fraction(13, 10),
    "Q": Fraction(11, 10),
    "K": Fraction(9, 10),
    "V": Fraction(12, 10),
}
RATES = dict(zip("bWQKV", (Fraction(k, 10) for k in (3, 7, 5, 6, 8)), strict=True))
INPUTS = np.array([[[1.0, 0.5], [-0.5, 1.5]]])
HEADS = "q = Q z; k = K z; v = V z; "
NAMES = "VABDFPQRSTU"
SLOW = [("A", False), ("P", False), ("T", False)]
OTHERS = sorted({*product(NAMES, (False, True))} - {("V", True), ("S", False)})


def moments(name, inputs, widths, **more):
    """Those of a tensor, its vertices in the order of its pairs."""
    flat = [[Fraction(float(one)) for one in row] for row in inputs[0].T]
    x = [[sum(a * b for a, b in zip(u, v, strict=True)) / len(u) for v in flat] for u in flat]
    order = [vertex for pair in BOOK[name].matching for vertex in pair]
    ends = [sorted(map(order.index, edge)) for edge in BOOK[name].forest.edges]
    numbers = [known | {"first": known["W"]} for known in (VARIANCES, RATES)]
    return AttentionMoments(tuple((a, b) for a, b in ends), x, *numbers, widths, **more)


def network(layer, widths, activation="tanh", readout="z' = W[mean] z"):
    values = {f"C_{letter}": float(value) for letter, value in VARIANCES.items()}
    values |= {f"lambda_{letter}": float(value) for letter, value in RATES.items()}
    n, heads = widths["n"], widths["H"]
    inner = {"heads": heads, "q": heads * widths["d"], "v": heads * widths["d_v"]}
    layers = ["z' = b + W z", layer, readout]
    return Network(activation, [n, n], values, layers, n_L=4, inner=inner)


def compare(name, layer, inputs, rtol, activation="tanh", **more):
    """The layer of attention, and a readout behind it; both theories count the same edges."""
    widths = {"n": N, "H": H, "d": D, "d_v": D_V}
    exact = moments(name, inputs, widths, **more)
    every = (1 << len(exact.edges)) - 1
    expected = [float(of()[every, 1]) * N for of in (exact.of_layer, exact.of_readout)]
    net = network(layer, widths, activation)
    found = propagate(net, inputs, name, tolerance=1e-9)[name].reshape(-1)
    np.testing.assert_allclose(found[1:], expected, rtol=rtol)


@pytest.mark.parametrize(
    ("name", "skip"),
    [("V", True), slow("S", False)] + [(slow if one in SLOW else swept)(*one) for one in OTHERS],
)
def test_linear_attention(name, skip):
    """Two positions, heads of three values."""
    layer = HEADS + f"z' = {'z + ' * skip}W (q.k) v"
    compare(name, layer, INPUTS, 1e-12, keeps=skip)


@pytest.mark.parametrize("name", thinned(NAMES, 4))
@pytest.mark.parametrize("terms", [(0, 1, Fraction(1, 2)), swept((0, 1, 0, Fraction(-1, 9)))])
def test_squares_and_cubes_of_scores(name, terms):
    """Where means of slopes of scores are not those of linear attention; of one position."""
    activation = "z + z**2/2" if len(terms) == 3 else "z - z**3/9"
    layer = HEADS + "z' = z + W s(q.k) v"
    score = [Fraction(one) for one in terms]
    compare(name, layer, INPUTS[..., :1] / 2, 1e-9, activation, keeps=True, score=score)


@pytest.mark.parametrize("name", thinned(NAMES, 12))
def test_squares_in_the_readout(name):
    """Whose means over neurons are those of pairs of positions and vertices that have no edge."""
    widths = {"n": N, "H": H, "d": D, "d_v": D_V}
    exact = moments(name, INPUTS / 2, widths, keeps=True)
    every = (1 << len(exact.edges)) - 1
    expected = float(exact.of_readout(Fraction(1, 2))[every, 1]) * N
    layer, readout = HEADS + "z' = z + W (q.k) v", "z' = W[mean] s(z)"
    net = network(layer, widths, "z + z**2/2", readout)
    found = propagate(net, INPUTS / 2, name, tolerance=1e-9)[name].item(-1)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", "VFSU")
def test_masks_of_what_queries_keys_and_values_read(name):
    layer = "q = Q dropout(0.25) z; k = K prune(0.5) z; v = V dropout(1/3) z; z' = z + W (q.k) v"
    kept = {"Q": Fraction(3, 4), "K": Fraction(1, 2), "V": Fraction(2, 3)}
    compare(name, layer, INPUTS / 2, 1e-12, keeps=True, kept=kept)


def whole_series(name):
    """n times a tensor at n = H = 2 d and two values a head, as a function of n."""
    widths = {"n": 1, "H": 1, "d": Fraction(1, 2), "d_v": 2}
    exact = moments(name, INPUTS[..., :1] / 2, widths, most=30, whole=True)
    every = (1 << len(exact.edges)) - 1
    series = [
        (power, number)
        for (edges, power), number in exact.of_whole_readout().items()
        if edges == every
    ]
    return lambda n: float(sum(number / Fraction(n) ** (power - 1) for power, number in series))


@pytest.mark.sweep
@pytest.mark.montecarlo
def test_orders_beyond_are_large_and_sampled_networks_have_them():
    """At n = 16 trees of linear attention are several times what stands with 1/n.

    Exact moments at this width agree with sampled networks, which tell them from the leading
    order; and with growing n they become what the theory says.
    """
    n, names = 16, ["B", "P", "R", "S", "T", "U"]
    net = network(HEADS + "z' = W (q.k) v", {"n": n, "H": n, "d": n // 2, "d_v": 2})
    inputs = INPUTS[..., :1] / 2
    comparison = check(net, inputs, names, networks=4000, extrapolate=False, seed=3)
    for name in names:
        exact = whole_series(name)
        leading = propagate(net, inputs, name)[name].item(-1)
        assert exact(10**12) == pytest.approx(leading, rel=1e-9)
        measured, error = comparison.measured[name].item(), comparison.errors[name].item()
        print(name, *(exact(k * n) / leading for k in (1, 2, 4, 8)), measured / leading)
        assert abs(measured - exact(n)) < 3.5 * error
        assert abs(measured - leading) > 6 * error
