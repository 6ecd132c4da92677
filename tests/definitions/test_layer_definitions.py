"""Layers: their branches, their short form, and what is refused."""

import os
import pickle
import subprocess
import sys

import pytest

from symdlt.algebra import (
    activation,
    biases,
    gaussian,
    neurons,
    preactivations,
    sample,
    symbol,
    uniform,
    weights,
)
from symdlt.definitions import DENSE, Layer, Stack, layer_of_one_stream, read_layer_definition
from symdlt.derivation import derive
from symdlt.errors import InputError, LayerError, SymdltError

(ROW,), (J,), D = neurons("i", "n_{ℓ+1}"), neurons("j", "n_ℓ"), sample("δ")
W, B, Z = weights("ℓ+1"), biases("ℓ+1"), preactivations("ℓ")
S = activation("σ", Z)


def test_the_dense_layer_is_what_its_short_form_says():
    assert Layer("z' = b + W s(z)") == DENSE == Layer(B(ROW) + (W(ROW, J) * S(J, D)).sum(J))
    assert DENSE.symbols == ("C_b", "C_W", "λ_b", "λ_W")
    assert list(DENSE.ways) == ["B", "b", "W", "w"]
    assert DENSE.closes


@pytest.mark.parametrize(
    "text",
    [
        "z' = b + W s(z)",
        "z' = xi z + b + W s(z)",
        "z' = W s(z) + 1/2 z",
        "z' = -xi z + b + W s(z)",
        "z' = W s(z) - U z",
        "z' = a W s'(z)",
        "z' = xi xi z + b_2 + W s(z)",
    ],
)
def test_a_short_form_prints_as_it_was_written(text):
    layer = Layer(text)
    assert str(layer) == text
    assert Layer(str(layer)) == layer
    assert pickle.loads(pickle.dumps(layer)) == layer
    assert hash(pickle.loads(pickle.dumps(layer))) == hash(layer)


@pytest.mark.parametrize(
    "text", ["z' = b + W s(z)", "z' = xi z + W s(z)", "u = U z; v = V z; z' = b + W s(u) v"]
)
@pytest.mark.parametrize("written", ["{};", "; {}", " ;{} ; "])
def test_marks_between_statements_say_nothing_around_them(text, written):
    plain, marked = (read_layer_definition(one) for one in (text, written.format(text)))
    assert marked == plain
    assert type(marked) is type(plain)
    assert read_layer_definition(str(marked)) == marked
    assert type(plain)(written.format(text)) == plain
    assert derive("H", layer=written.format(text)) == derive("H", layer=text)


def test_a_layer_of_two_samples_is_refused():
    (i,), (j,), z = neurons("i", "n_{ℓ+1}"), neurons("j", "n_ℓ"), preactivations("ℓ")
    U, W = weights("ℓ+1", name="U"), weights("ℓ+1")
    with pytest.raises(LayerError, match="reads the samples"):
        Layer((W(i, j) * z(j, sample("δ"))).sum(j) + (U(i, j) * z(j, sample("ε"))).sum(j))


@pytest.mark.parametrize("make", [Layer, Stack])
def test_decimals_are_the_fractions_that_they_write(make):
    decimals = make("z' = 0.8 z + .5 b + 2.25 W s(z)")
    assert decimals == make("z' = 4/5 z + 1/2 b + 9/4 W s(z)")
    with pytest.raises(LayerError, match="cannot be read at"):
        make("z' = 0.8.2 z + W s(z)")


@pytest.mark.parametrize("make", [Layer, Stack])
def test_numbers_divide(make):
    assert make("z' = z/2 + b/3 + W s(z)") == make("z' = 1/2 z + 1/3 b + W s(z)")
    assert make("z' = xi z / 2 / 1.5 + 3 W s(z)/4") == make("z' = 1/3 xi z + 3/4 W s(z)")
    assert make("z' = 1.5/2 z + W s(z)") == make("z' = 0.75 z + W s(z)")
    assert Stack("h = (U z)/2; z' = W s(h/4)") == Stack("h = 1/2 U z; z' = W s(1/4 h)")
    for text in ("z' = 1/0 z + W s(z)", "z' = z/0 + W s(z)"):
        with pytest.raises(LayerError, match="divides by zero"):
            make(text)
    for text in ("z' = z/xi + W s(z)", "z' = /2 z + W s(z)"):
        with pytest.raises(LayerError, match="only numbers divide"):
            make(text)


@pytest.mark.parametrize("make", [Layer, Stack])
@pytest.mark.parametrize("number", ["1e-3", "1e3", "2E-1", "0x10", "0.5e"])
def test_no_name_is_read_out_of_a_number(make, number):
    """1e-3 z is neither a bias e and -3 z, nor 1e3 a constant e3."""
    for text in (f"z' = {number} z + W s(z)", f"z' = b + W s(z) + {number} U z"):
        with pytest.raises(LayerError, match="cannot be read at"):
            make(text)


def test_a_pickle_is_equal_in_another_process():
    """Hashes of texts differ from process to process; equal layers have equal hashes in each."""
    hash(DENSE)
    code = (
        "import pickle, sys; from symdlt.definitions import DENSE; "
        "found = pickle.loads(sys.stdin.buffer.read()); "
        "print(found == DENSE, hash(found) == hash(DENSE))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(DENSE),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert done.stdout.split() == [b"True", b"True"]


def test_the_order_of_the_summands_does_not_matter():
    assert Layer("z' = W s(z) + b") == DENSE
    assert hash(Layer("z' = W s(z) + b")) == hash(DENSE)


def test_laws_and_rates_of_ones_own():
    width = symbol("n_ℓ")
    own = weights("ℓ+1", law=uniform(symbol("v") / width))
    layer = Layer((own(ROW, J) * S(J, D)).sum(J), {"W": symbol("η") / width})
    assert layer.symbols == ("v", "η")
    assert layer != Layer("z' = W s(z)")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("z = W s(z)", "does not begin with"),
        ("z' =", "does not begin with"),
        ("z' = W U s(z)", "several streams"),
        ("z' = s(z) W U", "several streams"),
        ("z' = s(z) z", "Give it to"),
        ("h = U z; z' = W s(h)", "several streams, .* `layer_phase` and `critical_value`"),
        ("z' = 2", "not random"),
        ("z' = W s(z) + + b", "empty summand"),
        ("z' = W s(y)", "Give it to"),
        ("z' = W @ z", "cannot be read at"),
        ("z' = W s(z) + w", "are not told apart"),
        ("z' = W s(z) + W z", "are not told apart"),
        ("z' = xi z + xi z + W s(z)", "stands in it twice"),
    ],
)
def test_what_is_no_layer_is_refused(text, reason):
    with pytest.raises(LayerError, match=reason):
        Layer(text)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (W(ROW, J) * S(J, D), "free neurons"),
        ((W(ROW, J) * W(ROW, J) * S(J, D)).sum(J), "other factors"),
        ((S(J, D)).sum(J) * B(ROW), "other factors|biases"),
        ((W(ROW, J)).sum(J), "without a sum over the neuron they read"),
        (3, "is no layer"),
    ],
)
def test_expressions_that_are_no_layer_are_refused(expression, reason):
    with pytest.raises(LayerError, match=reason):
        Layer(expression)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("u = U z; v = V z; z' = b + W s(u) v", "it makes u, v"),
        ("z' = W s(rmsnorm(z))", r"it makes rmsnorm\(z\)"),
        ("z' = W[3] s(z)", "W reads several positions"),
        ("h = U z; z' = U h", "As a stack it cannot be read either: .* uses U twice"),
    ],
)
def test_a_layer_says_what_makes_a_stack_of_a_text(text, reason):
    with pytest.raises(LayerError, match=reason):
        Layer(text)


def test_stacks_are_refused_where_recursions_are_derived():
    with pytest.raises(LayerError, match="is a layer of several streams"):
        layer_of_one_stream(Stack("h = U z; z' = W s(h)"))
    with pytest.raises(InputError, match="is not a layer"):
        layer_of_one_stream(3)


def test_weights_whose_variance_does_not_fall_with_the_width_are_refused():
    heavy = weights("ℓ+1", law=gaussian(symbol("v")))
    with pytest.raises(LayerError, match="of order 1/n for weights"):
        Layer((heavy(ROW, J) * S(J, D)).sum(J))


def test_a_skip_between_different_widths_is_refused_by_the_index_language():
    with pytest.raises(SymdltError):
        Layer((W(ROW, J) * S(J, D)).sum(J) + Z(ROW, D))
