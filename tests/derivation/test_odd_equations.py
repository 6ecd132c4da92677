"""Printed equations of odd tensors, against the numbers of networks and as they are told."""

from itertools import product

import numpy as np
import pytest
from equations import ACTIVATION, COEFFICIENTS, Meaning, X

from symdlt import Network, Stack, document, layer_equations, propagate
from symdlt.algebra import orthogonal, uniform
from symdlt.cli import main
from symdlt.definitions import ODD
from symdlt.derivation import derive
from symdlt.derivation.response.symbolic.layer_equations import LayerEquations
from symdlt.errors import OrderError, UnknownTensorError

RESIDUAL = "z' = xi z + b + W s(z)"
VALUES = {"xi": 0.8, "C_b": 0.1, "C_W": 0.5, "C_U": 0.4}
VALUES |= {"lambda_b": 0.2, "lambda_W": 0.7, "lambda_U": 0.5}
LAYERS = {
    "plain": Stack(RESIDUAL),
    "block": Stack("h = U s(z); z' = xi z + b + W s(h)"),
    "rmsnorm": Stack("z' = xi z + b + W s(rmsnorm(z))"),
    "layernorm": Stack("z' = xi z + b + W s(layernorm(z))"),
    "kept norm": Stack("f = rmsnorm(z); z' = xi z + xi f + b + W s(z)"),
    "dropout": Stack("z' = xi z + b + W dropout(1/4) s(z)"),
    "prune": Stack("z' = xi z + b + W prune(1/4) s(z)"),
    "orthogonal": Stack("z' = xi z + b + W s(z)", laws={"W": orthogonal}),
    "uniform": Stack("z' = xi z + b + W s(z)", laws={"W": uniform}),
    "two on one neuron": Stack("h = xi z + U s(z); z' = xi h + b + W s(h)"),
    "what W reads": Stack("h = U s(z); z' = h + b + W s(h)"),
}


def meaning_of(layer, found, at):
    """The symbols of the equations of a layer, in the numbers of the one below."""
    K = found["G"][at]

    def covariance(f, a, g, b):
        """Of z, of z over its length, and of h with itself and with z."""
        factor = 1.0
        for field, sample in ((f, a), (g, b)):
            if "norm(" in field or field == "f":
                factor *= K[sample, sample] ** -0.5
        inside = (f == "h") + (g == "h")
        if not inside:
            return factor * K[a, b]
        kept = VALUES["xi"] if "h = xi z" in str(layer) else 0.0
        joint = kept**inside * K[a, b]
        if inside == 2:
            joint += VALUES["C_U"] * meaning.mean("s(z)_1 s(z)_2", {"1": a, "2": b}.get)
        return factor * joint

    tensors = {name: (lambda *s, name=name: found[name][at][s]) for name in found}
    tensors |= {name: lambda s: K[s, s] ** -0.5 for name in ("c", "c(z)")}
    # The widths below, of the layer, of its weights W, and of h, which may be at neurons of z'.
    constants = VALUES | {"n'": 6, "n": 6, "n_W": 6, "n_h": 9 if layer is LAYERS["block"] else 6}
    kept = {"dropout": (0.75, False), "prune": (0.75, True)}
    meaning = Meaning(COEFFICIENTS, covariance, constants, tensors, kept)
    return meaning


@pytest.mark.parametrize("family", LAYERS)
def test_equations_give_the_numbers_of_networks(family):
    layer = LAYERS[family]
    values = {k: v for k, v in VALUES.items() if k[-1] != "U" or "U" in str(layer)}
    values = {k: v for k, v in values.items() if k != "xi" or "xi" in str(layer)}
    inner = {"h": 9} if family == "block" else {}
    net = Network(ACTIVATION, [6] * 3, values, ["z' = b + W z", *[layer] * 3], n_L=6, inner=inner)
    found = {**propagate(net, X, ["G", "H", *ODD], progress=False).tensors}
    for name, below in product(ODD, (0, 1, 2)):
        (equation,) = layer_equations(name, layer).equations
        assert equation.name == f"{name}_123[l+1]"
        meaning, expected = meaning_of(layer, found, below), found[name][below + 1]
        value = np.zeros_like(expected)
        for at in product(range(2), repeat=3):
            value[at] = meaning.value(equation, dict(zip("123", at, strict=True)).get)
        # What LayerNorm takes away is what z has in common with its functions.
        assert (np.abs(expected).max() > 1e-4) == (family != "layernorm"), name
        np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-14)


def test_the_smallest_equation_is_read_as_it_is():
    assert str(layer_equations("F3", RESIDUAL)) == (
        "F3_123[l+1] =\n"
        "  + C_W xi <s_2 s'_3> H_13\n"
        "  + (n/n') xi^3 F3_123\n"
        "  + (n/n') C_W xi <s'_2 s'_3> F3_123\n"
        "  + (n/n') C_W xi <s_2 s''_3> F3_133"
    )


@pytest.mark.parametrize("layer", ["z' = b + W s(z)", "u = U z; v = V z; z' = W s(u) v"])
@pytest.mark.parametrize("name", ODD)
def test_parity_leaves_nothing_where_no_neuron_is_kept(name, layer):
    (equation,) = layer_equations(name, layer).equations
    assert not equation.polynomial.terms


def test_an_account_has_the_parts_of_the_equation():
    equations = layer_equations("Q3", RESIDUAL)
    told = equations.explain(1)
    assert "Q3_123 is E[tree(1-2, 2-3)], neurons 2=3, times the width" in told
    assert "z'_1 keeps z_1, and what is fresh in it meets nothing: M(z_1). Factor: xi." in told
    assert "Q3: of layer l" in told
    whole = equations.explain()
    assert whole.count("[l+1], term") == len(equations[0].terms)


def test_latex_json_and_commands(capsys):
    equations = [layer_equations(name, RESIDUAL) for name in ODD]
    for one in equations:
        assert LayerEquations.from_json(one.to_json()) == one
    source = document(equations).source
    assert r"\mathring{A}_{\delta_{1}(\delta_{2}\delta_{3})}^{(\ell+1)}" in source
    # Neurons 1 and 2, of z and of one end of the NTK: the other end is alone.
    assert r"\delta_{i_1i_2} \, \mathring{F}_{\delta_{3}\delta_{1}\delta_{2}}" in " ".join(
        source.replace("\\,", " \\, ").split()
    )
    main(["derive", "n3", "--layer", RESIDUAL])
    assert capsys.readouterr().out == f"{layer_equations('N3', RESIDUAL)}\n"
    main(["explain", "A3", "--term", "1"])
    assert "There is no term 1" in capsys.readouterr().err


def test_what_is_no_recursion_is_refused():
    with pytest.raises(OrderError, match=r"A3\.1"):
        layer_equations("A3.1", RESIDUAL)
    with pytest.raises(UnknownTensorError, match="Ask `layer_equations`"):
        derive("A3")
