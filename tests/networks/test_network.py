"""`MLP` reads what describes a network, and says what is wrong with it."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import sympy

from symdlt import MLP, Network, check, propagate
from symdlt.errors import ActivationError, InputError, KernelError

GIVEN = {"activation": "tanh", "widths": [8, 6], "C_b": 0.1, "C_W": [1, 1.5, 2]}


def test_numbers_are_spread_over_the_layers():
    mlp = MLP(**GIVEN, lambda_W=Fraction(1, 2))
    assert (mlp.depth, mlp.widths) == (3, (8, 6))
    assert (mlp.C_b, mlp.C_W, mlp.lambda_b) == ((0.1,) * 3, (1.0, 1.5, 2.0), None)
    assert mlp.lambda_W == (0.5,) * 3
    assert mlp == MLP(**{**GIVEN, "widths": np.array([8, 6]), "C_W": (1, 1.5, 2)}, lambda_W=0.5)


def test_layers_that_name_all_their_functions_need_no_activation():
    layers, rates = ["z' = W z", "z' = W silu(z)"], {"C_W": 1.0, "lambda_W": 1.0}
    without, other = (Network(one, [8], rates, layers) for one in (None, "linear"))
    x = [[1.0, 0.5]]
    found, expected = (propagate(one, x) for one in (without, other))
    assert all(np.array_equal(found[name], expected[name]) for name in expected.tensors)
    measured = [check(one, x, ["H"], networks=100).measured["H"] for one in (without, other)]
    assert measured[0] == measured[1]
    with pytest.raises(ActivationError, match="has no activation"):
        propagate(Network(None, [8], rates, [layers[0], "z' = W s(z)"]), x)


def test_a_network_without_hidden_layers():
    assert MLP(activation="tanh", widths=[], C_b=0, C_W=1).depth == 1


def test_activations_of_all_kinds():
    x = sympy.Symbol("x")
    for what in ("leaky_relu(z, 0.1)", sympy.tanh(x) * x, [np.sin, np.cos]):
        mlp = MLP(**{**GIVEN, "activation": what})
        assert pickle.loads(pickle.dumps(mlp)) == mlp


def test_repr_is_short():
    mlp = MLP(activation="z + " * 50 + "z", widths=[8] * 500, C_b=0, C_W=list(range(501)))
    assert len(repr(mlp)) < 200
    assert repr(MLP(**{**GIVEN, "activation": [np.sin, np.cos]})) == (
        "MLP(2 functions, 3 layers, widths=(8, 6), C_b=0.1, C_W=(1.0, 1.5, 2.0))"
    )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"activation": "tanj"}, ActivationError, "There is no activation 'tanj'"),
        ({"activation": "x*y"}, ActivationError, "Cannot read"),
        ({"activation": sympy.Symbol("x") * sympy.Symbol("y")}, ActivationError, "symbol"),
        ({"activation": np.tanh}, ActivationError, "a function without its derivatives"),
        ({"activation": [np.tanh, 1]}, ActivationError, "is no list of functions"),
        ({"activation": []}, ActivationError, r"\[\] is no list of functions"),
        ({"activation": None}, ActivationError, "cannot be made of NoneType"),
        ({"widths": 8}, InputError, "widths is 8. It lists the hidden widths"),
        ({"widths": "86"}, InputError, "widths is '86'"),
        ({"widths": [8, 6.5]}, InputError, r"widths\[1\] is 6.5"),
        ({"widths": [8, True]}, InputError, r"widths\[1\] is True"),
        ({"widths": [0, 8]}, KernelError, r"widths\[0\] is 0. A layer has at least one neuron"),
        ({"widths": [8, 10**400]}, KernelError, r"widths\[1\] is 10+\.\.\..* Give at most 1e\+100"),
        ({"widths": [8, 6, 5]}, KernelError, "C_W has the shape .3,.. The network has 4 layers"),
        ({"C_b": -0.1}, KernelError, "C_b is -0.1 at layer 1"),
        ({"C_W": [1, 1, np.nan]}, KernelError, "C_W is nan at layer 3"),
        ({"C_W": np.inf}, KernelError, "C_W is inf at layer 1"),
        ({"C_W": "1"}, InputError, "C_W is '1'. It must consist of real numbers"),
        ({"C_W": None}, InputError, "C_W is None"),
        ({"C_W": 1j}, InputError, "C_W is 1j"),
        ({"C_W": [[1, 2, 3]]}, KernelError, "the shape .1, 3."),
        ({"C_b": True}, InputError, "C_b is True"),
        ({"lambda_b": -1}, KernelError, "lambda_b is -1.0 at layer 1"),
        ({"lambda_W": [1, 2]}, KernelError, "lambda_W has the shape .2,."),
        ({"n_L": 0}, KernelError, "n_L is 0"),
        ({"n_L": 1.0}, InputError, "n_L is 1.0"),
    ],
)
def test_what_is_no_network_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        MLP(**{**GIVEN, **change})


def test_fields_on_the_way_to_the_outputs_are_as_wide_as_the_layer_below():
    gate = "u = U z; v = V z; z' = W (s(u) v)"
    values = {"C_U": 1.0, "C_V": 1.0, "C_W": 1.0}
    gated = Network("tanh", [8, 9], values, gate)
    assert [gated.width_of("u", layer) for layer in (1, 2, 3)] == [8, 9, 9]
    assert Network("tanh", [8, 9], values, gate, inner={"u": 5}).width_of("v", 3) == 5
    assert Network("tanh", [], values, gate, n_L=4).width_of("u", 1) == 4


def test_all_definitions_of_the_layers_are_shown():
    skip = "z' = xi z + W s(z)"
    layers = ["z' = W z", skip, skip, "z' = W s(z)"]
    shown = repr(Network("tanh", [8, 8, 8], {"C_W": 1.0, "xi": 1.0}, layers))
    assert shown.startswith(f"Network(z' = W z | {skip} (2 times) | z' = W s(z), tanh, 4 layers")
    alike = repr(Network("tanh", [8, 8, 8], {"C_W": 1.0, "xi": 1.0}, skip, n_L=8))
    assert alike.startswith(f"Network({skip}, tanh, 4 layers")
