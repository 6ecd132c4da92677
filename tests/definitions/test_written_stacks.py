"""Stacks in the index language: what they are, what they print, and what is refused."""

import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from symdlt import Network, Stack, layer_equations, propagate
from symdlt.algebra import (
    activation,
    as_expression,
    biases,
    dropout,
    layernorm,
    neurons,
    orthogonal,
    preactivations,
    prune,
    rmsnorm,
    sample,
    symbol,
    uniform,
    weights,
)
from symdlt.algebra.averages import expectation
from symdlt.definitions import Layer
from symdlt.errors import ExpectationError, LayerError

(i,), (k,), (j,), δ = (
    neurons("i", "n_{ℓ+1}"),
    neurons("k", "n_u"),
    neurons("j", "n_ℓ"),
    sample("δ"),
)
z = preactivations("ℓ")
u, v = (preactivations("ℓ+1", "n_u", name=name) for name in "uv")
U, V = (weights("ℓ+1", "n_u", "n_ℓ", name=name) for name in "UV")
W, b = weights("ℓ+1", columns="n_u"), biases("ℓ+1")
σ = activation("σ", u)
GATE = {
    "u": (U(k, j) * z(j, δ)).sum(j),
    "v": (V(k, j) * z(j, δ)).sum(j),
    "z'": b(i) + (W(i, k) * σ(k, δ) * v(k, δ)).sum(k),
}


f, m = (preactivations("ℓ", name=name) for name in "fm")
TENTH, CONVOLUTION = dropout(Fraction(1, 10), "ℓ"), weights("ℓ+1", window="3, zero")


def read(function):
    """What weights make of a function of one neuron below."""
    return (weights("ℓ+1")(i, j) * function).sum(j)


def block():
    """A residual block with constants, a derivative, and a function by its name."""
    (m,), (row,), ξ = neurons("m", "n_h"), neurons("i", "n_ℓ"), symbol("ξ")
    h = preactivations("ℓ+1", "n_h", name="h")
    inner, outer = weights("ℓ+1", "n_h", "n_ℓ", name="U"), weights("ℓ+1", "n_ℓ", "n_h")
    own = biases("ℓ+1", "n_h", name="a")
    slope = activation("tanh", h).derivative()
    read = (outer(row, m) * slope(m, δ)).sum(m) * 2 - (outer(row, m) * h(m, δ)).sum(m) * ξ**2
    return {
        "h": own(m) * 3 + (inner(m, j) * activation("σ", z)(j, δ)).sum(j),
        "z'": z(row, δ) * ξ / 2 + read,
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (GATE, "u = U z; v = V z; z' = b + W s(u) v"),
        ({"z'": read(activation("σ", rmsnorm(z))(j, δ))}, "z' = W s(rmsnorm(z))"),
        ({"z'": read(layernorm(z)(j, δ))}, "z' = W layernorm(z)"),
        (
            {"f": rmsnorm(z)(j, δ), "z'": read(activation("σ", f)(j, δ))},
            "f = rmsnorm(z); z' = W s(f)",
        ),
        ({"z'": read(rmsnorm(layernorm(z))(j, δ))}, "z' = W rmsnorm(layernorm(z))"),
        ({"z'": read(TENTH(j, δ) * activation("σ", z)(j, δ))}, "z' = W dropout(1/10) s(z)"),
        (
            {
                "m": prune(Fraction(1, 4), "ℓ")(j, δ),
                "z'": read(m(j, δ) * z(j, δ) - m(j, δ) * activation("σ", z)(j, δ)),
            },
            "m = prune(1/4); z' = W (m z - m s(z))",
        ),
        (
            {"z'": (CONVOLUTION(i, j) * z(j, δ)).sum(j) + b(i)},
            "z' = W[3, zero] z + b",
        ),
        (block(), "h = 3 a + U s(z); z' = 1/2 xi z + W (2 tanh'(h) - xi xi h)"),
    ],
)
def test_each_prints_as_what_reads_back_as_it(fields, text):
    stack = Stack(fields)
    assert str(stack) == text
    assert repr(stack) == f"Stack({text!r})"
    assert stack == Stack(text)
    assert (hash(stack), stack.sites) == (hash(Stack(text)), Stack(text).sites)
    assert stack.symbols == Stack(text).symbols
    assert pickle.loads(pickle.dumps(stack)) == stack


@pytest.mark.parametrize(
    "product",
    [
        "(1 + u) v s(u)",
        "(s(u) + u s(u)) v",
        "(1 - 1/2 u) v s(u) + 3/2 u v s(u)",
        "(1 + u) (v - 2 v + 2 v) s(u)",
        "((1 + u) s(u)) v/2 2",
    ],
)
def test_sums_in_brackets_are_multiplied_by_all_that_stands_behind_them(product):
    function = Stack(f"u = U z; v = V z; z' = b + W ({product})").streams[-1].drawn[-1].function
    total = Counter()
    for number, factors in function.terms:
        total[" ".join(map(str, factors))] += Fraction(str(number))
    assert total == {"s(u) v": 1, "s(u) u v": 1}


def test_equations_and_tensors_are_those_of_the_text():
    stack = Stack(GATE)
    assert layer_equations("P", stack) == layer_equations("P", str(stack))
    values = {"C_U": 1.0, "C_V": 0.8, "C_W": 1.2, "C_b": 0.1}
    found = [
        propagate(Network("tanh", [8, 8], values, ["z' = b + W z", gate, gate]), [[1.0, 0.5]], "V")
        for gate in (stack, str(stack))
    ]
    assert np.array_equal(found[0]["V"], found[1]["V"])
    assert found[0]["V"][-1].item() > 0


def test_laws_and_rates_of_ones_own():
    drawn = weights("ℓ+1", columns="n_u", law=uniform(symbol("c") / symbol("n_u")))
    fields = GATE | {"z'": b(i) + (drawn(i, k) * σ(k, δ) * v(k, δ)).sum(k)}
    stack = Stack(fields, rates={"U": symbol("η") / symbol("n_ℓ")})
    assert stack.symbols == ("C_U", "C_V", "C_b", "c", "η", "λ_V", "λ_b", "λ_W")
    assert stack != Stack(GATE)
    text = Stack(str(stack), laws={"W": uniform})
    assert [d.tensor.law.name for d in stack.drawn] == [d.tensor.law.name for d in text.drawn]
    kept = weights("ℓ+1", columns="n_u", law=orthogonal(symbol("C_W") / symbol("n_u")))
    haar = Stack(GATE | {"z'": b(i) + (kept(i, k) * σ(k, δ) * v(k, δ)).sum(k)})
    assert haar == Stack(str(haar), laws={"W": orthogonal})


def test_functions_of_fields_print_their_field():
    slope = σ.derivative()
    assert str(slope(k, δ)) == "σ'(u)^(ℓ+1)_{k;δ}"
    assert slope(k, δ).latex() == r"\sigma^{\prime(\ell+1)}(u)_{k;\delta}"
    assert σ != activation("σ", preactivations("ℓ+1", "n_u"))
    assert σ.derivative(2).derivative() == σ.derivative(3)
    assert str(activation("σ", z)(j, δ)) == "σ^(ℓ)_{j;δ}"
    with pytest.raises(ExpectationError, match="Cannot average what reads the field u"):
        expectation(slope(k, δ) * slope(k, δ))


def test_what_only_stacks_read_is_not_averaged():
    with pytest.raises(ExpectationError, match=r"the field rmsnorm\(z\)"):
        expectation(rmsnorm(z)(j, δ) * rmsnorm(z)(j, δ))
    with pytest.raises(ExpectationError, match=r"the weights W\[3, zero\]"):
        expectation(CONVOLUTION(i, j) * CONVOLUTION(i, j))
    with pytest.raises(LayerError, match="has weights with a window"):
        Layer((CONVOLUTION(i, j) * z(j, δ)).sum(j))
    assert TENTH(j, δ).latex() == r"\mathrm{dropout}(1/10)^{(\ell)}_{j;\delta}"
    normed = activation("σ", rmsnorm(z))(j, δ)
    assert normed.latex() == r"\sigma^{(\ell)}(\mathrm{rmsnorm}(z))_{j;\delta}"
    assert CONVOLUTION(i, j).latex() == r"W[\text{3, zero}]^{(\ell+1)}_{i j}"


TWO = neurons("p", "n_u")[0]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"z'": GATE["z'"], "u": GATE["u"], "v": GATE["v"]}, "reads u, v before it is made"),
        ({"u": GATE["u"], "z'": GATE["z'"]}, "reads v before it is made"),
        ({"u": GATE["u"], "v": GATE["v"]}, "does not end with the statement of z'"),
        (GATE | {"w": GATE["u"]}, "U twice"),
        ({"U": GATE["u"]}, "makes U, which is no name"),
        ({"u": "U z"}, "is no field 'u'"),
        ({"u": as_expression(1)}, "has not one free neuron"),
        ({"z'": (W(i, k) * u(k, δ) * v(k, sample("ε"))).sum(k)}, "reads several samples"),
        ({"u": (U(k, j) * z(j, δ)).sum(j) * 1 + v(k, δ) * u(k, δ)}, "keeps what is no field"),
        ({"u": σ(k, δ) + b(i).relabel({}) * 0}, "keeps what is no field"),
        ({"z'": (W(i, k) * v(TWO, δ) * u(k, δ)).sum(k, TWO)}, "a sum over the one neuron"),
        ({"z'": (W(i, k) * u(k, δ)).sum(k) * b(i)}, "other factors than one random tensor"),
        ({"z'": read(TENTH(j, δ) * z(j, δ)) + read(TENTH(j, δ) * f(j, δ))}, "stands in two"),
        ({"z'": (weights("ℓ+1", window="x")(i, j) * z(j, δ)).sum(j)}, "is no window"),
        ({"z'": (W(i, k) * u(k, δ)).sum(k) / symbol("c")}, "no product of a number and of symbols"),
    ],
)
def test_what_is_no_stack_is_refused(fields, reason):
    with pytest.raises(LayerError, match=reason):
        Stack(fields)


def test_no_fields_are_no_stack():
    with pytest.raises(LayerError, match="does not end with the statement of z'"):
        Stack({})


def test_a_layer_of_one_stream_reads_z_alone():
    with pytest.raises(LayerError, match="reads another field than z"):
        Layer(b(i) + (weights("ℓ+1")(i, j) * preactivations("ℓ", name="u")(j, δ)).sum(j))
    other = activation("σ", preactivations("ℓ", name="u"))
    with pytest.raises(LayerError, match="reads another field than z"):
        Layer((weights("ℓ+1")(i, j) * other(j, δ)).sum(j))


@pytest.mark.parametrize(
    "text",
    [
        "u = U layernorm(z); z' = -xi z + W s(u) - 2/3 b",
        "z' = b + 2 W[3x3, stride 2, zero] s(z)",
        "z' = 0 z + 0 b + W s(z)",
        "h = U[3, pool 2] z; z' = W[all] (1/3 xi xi h - h tanh''(h))",
        "q = Q z; k = K z; v = V z; z' = W[causal] softmax(q.k) v",
        "z' = 1/2 z'[-1] + W s(z'[-2]) + U z",
        "y = rmsnorm(z); z' = 1/2 y + W dropout(1/10) s(y) + U prune(1/3) z",
        "m = dropout(1/5); z' = W m s(rmsnorm(z)) + U[circular] m z + V[mean] s'(z)",
    ],
)
def test_streams_print_the_statements_that_make_them(text):
    layer = Stack(text)
    assert str(layer.with_streams(lambda one: one)) == text
    assert Stack(str(layer)) == layer


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("z' = b + W V s(z)", "v = V s(z); z' = b + W v"),
        ("z' = z + 1/2 W xi V U s(z)", "u = U s(z); v = V u; z' = z + 1/2 xi W v"),
        ("z' = W (V s(z) + z) + b", "v = V s(z) + z; z' = W v + b"),
        ("h = U z; z' = W V s(h) h", "h = U z; v = V s(h) h; z' = W v"),
        ("z' = b + W[3] V s(z)", "v = V s(z); z' = b + W[3] v"),
    ],
)
def test_weights_behind_weights_make_a_field(short, long):
    assert Stack(short) == Stack(long)
    assert str(Stack(short)) == short
