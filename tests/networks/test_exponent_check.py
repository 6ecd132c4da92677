"""Asymptotes held against the generated kernel, and drawn with it."""

import json
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from cases import slow, swept

from symdlt.asymptotics import exponents
from symdlt.cli import main
from symdlt.errors import InputError, KernelError, SolutionError, UnknownTensorError
from symdlt.networks import check_exponents, plot_exponents


@pytest.mark.parametrize(
    "name",
    [
        "tanh",
        pytest.param("sin", marks=pytest.mark.slow),
        pytest.param("sin(z) + (1 - cos(z))/2", marks=pytest.mark.slow),
    ],
)
def test_all_tensors_to_layer_20000(name):
    found = check_exponents(exponents(name))
    assert len(found.tensors) == 13
    assert found.worst < 1e-7
    assert all(one.spread < 1e-6 * abs(one.limit) for one in found.tensors)


BLOCK = "h = U z; z' = xi z + b + W s(h)"
GATE = "u = U z; v = V z; z' = b + W cos(u) v"


@pytest.mark.parametrize(
    ("layer", "given", "values"),
    [
        slow(BLOCK, {"C_U": 1, "xi": "1/2"}, {"n_h": 0.5, "lambda_U": 2}),
        swept("h = a + U s(z); z' = b + W s(h)", {"C_U": 3}, None),
        (GATE, {"C_U": 1, "C_V": 2}, {"n_u": 3}),
    ],
)
def test_chains_of_steps(layer, given, values):
    """Widths and rates of any numbers; the first layer is dense."""
    solution = exponents("tanh", ["V", "D", "F"], layer=layer, values=given)
    found = check_exponents(solution, 3000, values=values)
    assert found.worst < 1e-6
    assert found["G"].values[0] == pytest.approx(1, rel=1e-12)
    for name, value in (values or {}).items():
        assert dict(found.others)[name] == value
        assert found.to_dict()[name] == value
        assert f"{name} = {value:g}" in str(found)


def test_another_width_is_seen():
    solution = exponents("tanh", ["V"], layer=BLOCK, values={"C_U": 1, "xi": "1/2"})
    wide, narrow = (check_exponents(solution, 1000, values={"n_h": x}) for x in (2, 0.5))
    assert narrow["V"].limit > 1.5 * wide["V"].limit
    assert narrow["V"].difference == pytest.approx(0, abs=1e-4)


def test_a_wrong_coefficient_is_seen():
    solution = exponents("tanh", ["V"])
    V = replace(solution["V"], coefficient=sp.Rational(1, 7))
    found = check_exponents(replace(solution, tensors=(V,)), 2000)
    assert found["V"].difference == pytest.approx(1 / 6, rel=1e-3)


def test_the_expected_values_and_the_text():
    found = check_exponents(exponents("tanh", ["V"]), 1000, lambda_b=0.5, lambda_W=2)
    assert found["V"].expected(np.array([10.0]))[0] == pytest.approx(1 / 60)
    assert found["V"].values.shape == (1000,)
    assert "layer 1000, lambda_b = 0.5, lambda_W = 2" in str(found)
    assert set(found.to_dict()["tensors"]) == {"G", "H", "V"}


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: check_exponents("tanh"), InputError, "not a solution of exponents"),
        (lambda: check_exponents(exponents("tanh", ["V"]), 10), KernelError, "too small"),
        (lambda: check_exponents(exponents("tanh", ["V"]), 1e4), InputError, "number of layers"),
        (lambda: check_exponents(exponents("K*=0, odd")), SolutionError, "whole class"),
        (lambda: check_exponents(exponents("tanh", ["X6"])), KernelError, "no ready kernel"),
        (
            lambda: check_exponents(
                exponents("tanh", ["V"], layer=BLOCK, values={"C_U": 1, "xi": 0.5}),
                values={"n_g": 1},
            ),
            KernelError,
            "Those of .* are lambda_U, n_h, and lambda_b and lambda_W are arguments",
        ),
        *(
            (
                lambda values=values: check_exponents(
                    exponents("tanh", ["V"], layer=BLOCK, values={"C_U": 1, "xi": 0.5}),
                    values=values,
                ),
                InputError if values == "n_h" else KernelError,
                words,
            )
            for values, words in (
                ({"n_h": "a"}, "n_h = a is no positive number"),
                ({"lambda_U": [1]}, "is no positive number"),
                ({"lambda_W": 0.1}, "lambda_b and lambda_W are arguments of their own"),
                ("n_h", "Give them by name"),
            )
        ),
        (
            lambda: check_exponents(
                exponents("tanh", ["V"], layer="z' = xi z + b + W s(z)", values={"xi": 0.5})
            ),
            SolutionError,
            "dense ones and chains of steps",
        ),
        (
            lambda: check_exponents(
                exponents(
                    "tanh",
                    ["V"],
                    layer="h = U s(z); z' = xi z + b + W s(h)",
                    values={"C_U": 1, "xi": 0.5},
                )
            ),
            SolutionError,
            "read at all depths",
        ),
        (
            lambda: check_exponents(exponents("tanh", ["V"]), values={"lambda_U": 1}),
            KernelError,
            "values are those of chains of steps",
        ),
        (
            lambda: check_exponents(exponents("tanh", ["V"]), lambda_b=-1),
            KernelError,
            "not a learning rate",
        ),
    ],
)
def test_messages(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    ax = pyplot.figure().add_subplot()
    found = check_exponents(exponents("tanh", ["V", "D"]), 1000)
    assert plot_exponents(found, ["V", "D"], ax) is ax
    drawn, dashed, negative, _ = (line.get_xydata() for line in ax.get_lines())
    assert drawn[-1].tolist() == [1000, found["V"].values[-1]]
    assert dashed[-1][1] == pytest.approx(1 / 6000)
    assert negative[-1][1] == -found["D"].values[-1]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$V$", "$-D$"]
    with pytest.raises(UnknownTensorError):
        plot_exponents(found, "R", ax)
    with pytest.raises(InputError, match="result of check_exponents"):
        plot_exponents("tanh")
    pyplot.close("all")


def test_the_command_line(capsys):
    assert main(["exponents", "tanh", "--check", "1000"]) == 0
    assert "against iteration at layer 1000" in capsys.readouterr().out
    assert main(["exponents", "tanh", "--check", "1000", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["depth"] == 1000


def test_a_start_within_the_basin_of_the_fixed_point():
    """The kernel of z - z^3 falls from below 0.4 only."""
    solution = exponents("z - z**3", ["V"])
    with pytest.raises(KernelError, match="smaller start"):
        check_exponents(solution, 2000)
    assert abs(check_exponents(solution, 2000, start=0.1)["V"].difference) < 1e-4
    with pytest.raises(KernelError, match="kernel is positive"):
        check_exponents(solution, 2000, start=-1.0)
