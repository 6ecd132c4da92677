"""What used to end in a traceback of somebody else's, in a wait, or in nothing at all."""

from fractions import Fraction

import numpy as np
import pytest

import symdlt
from symdlt import MLP, GradientDescent, Propagation, RecursionSystem, derive, phase
from symdlt.activations import activation
from symdlt.cli import main
from symdlt.definitions import Forest
from symdlt.errors import (
    ActivationError,
    GraphError,
    InputError,
    KernelError,
    NotationError,
    OrderError,
    SolutionError,
    TrainingError,
    UnknownTensorError,
)
from symdlt.formats.latex import Conventions, to_latex
from symdlt.networks import LayerTensors
from symdlt.training import GradientFlow, TwoStep, projectors

STAR = tuple((0, k) for k in range(1, 41))
CHAINS = tuple((2 * k, 2 * k + 1) for k in range(15))
Z_A = projectors()["dNTK-A"]
REFUSED = {
    "eigenvalues 0": (TrainingError, lambda: Z_A.values(GradientFlow(), 0.0, 0.0)),
    "arrays of 0": (TrainingError, lambda: Z_A.values(TwoStep(), np.zeros(2), np.zeros(2))),
    "no eigenvalues": (InputError, lambda: Z_A.values(GradientDescent(0.1), "a", 1.0)),
    "no order of kinks": (ActivationError, lambda: activation("relu").kinks(None)),
    "infinite threshold": (ActivationError, lambda: activation("where(z<1/0,1,2)").kinks(2)),
    "lists for arrays": (KernelError, lambda: Propagation({"G": [1]}, (1,), ((0,),))),
    "unknown tensor": (KernelError, lambda: Propagation({"Y": np.ones(2)}, (1,), ((0,),))),
    "layer of a list": (InputError, lambda: LayerTensors(1, [1])),
    "system of numbers": (InputError, lambda: RecursionSystem((1,))),
    "huge forest": (GraphError, lambda: Forest(10**9, ())),
    "star": (OrderError, lambda: symdlt.forward_equation(Forest(41, STAR))),
    "many edges": (OrderError, lambda: symdlt.forward_equation(Forest(30, CHAINS))),
    "frequency": (
        ValueError,
        lambda: symdlt.means.closed_pair_means("sin", [[1.0]], [(0, 0)], frequency=1e200),
    ),
    **{
        f"step size {eta!r:.9}": (TrainingError, lambda eta=eta: GradientDescent(eta))
        for eta in (np.float32(0.0), 10**400, np.float32(np.nan), True, Fraction(-1, 2))
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_three_sentences(name):
    error, call = REFUSED[name]
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).count(". ") >= 2


def test_step_sizes_of_other_types_are_numbers():
    assert (
        GradientDescent(np.float32(0.5)) == GradientDescent(0.5) == GradientDescent(Fraction(1, 2))
    )


def test_the_highest_order_is_refused_first(capsys):
    assert main(["exponents", "tanh", "--order", "99"]) == 1
    assert "Too many tensors are of order 1/n^99." in capsys.readouterr().err


def test_strict_floating_point_of_the_user_is_not_ours():
    mlp = MLP(activation="gelu", widths=[5], C_b=0.1, C_W=2, lambda_b=1, lambda_W=1)
    expected = mlp.propagate([[1.0, 0.5]], ["G", "H", "V"])
    with np.errstate(all="raise"):
        assert mlp.propagate([[1.0, 0.5]], ["G", "H", "V"]) == expected


@pytest.mark.parametrize(
    ("name", "letter"), [("K", "G"), ("Theta", "H"), ("NTK", "H"), ("Θ", "H"), ("K.1", "G.1")]
)
def test_tensors_by_the_names_people_use(name, letter):
    base, piece = [*letter.split("."), "0"][:2]
    assert derive(name, inputs="one") == derive(base, inputs="one", piece=int(piece))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("dNTK", "P or Q"),
        ("ddNTK", "R or S or T or U"),
        ("ddNTK_I", "R"),
        ("ddntk-ii", "S or T or U"),
        ("thet", "Theta"),
        ("Thta", "Theta"),
    ],
)
def test_other_names_are_answered_with_what_may_be_meant(name, meant):
    with pytest.raises(UnknownTensorError, match=rf"Did you mean {meant}\?$"):
        derive(name)


def test_numbers_may_be_texts():
    assert phase("tanh", "3/2") == phase("tanh", Fraction(3, 2))
    assert phase("tanh", " 1.5 ", "5e-2") == phase("tanh", 1.5, 0.05)
    for text in ("", "a", "1/0", "1/2/3", "nan", "1e999999999", "-1"):
        with pytest.raises(SolutionError, match=r"C_W"):
            phase("tanh", text)


@pytest.mark.parametrize(
    "letter", ["G", r"\Theta", r"\mathcal{K}", r"\hat{\mathbf{K}}", r"\mathrm{NTK}"]
)
def test_letters_of_the_user(letter):
    assert letter in to_latex(derive("H"), conventions=Conventions(frozen_ntk=letter))


@pytest.mark.parametrize(
    "letter",
    [
        r"\input",
        r"\input{/etc/passwd}",
        r"\write18{ls}",
        "K}",
        "{K",
        "K\n\n",
        "",
        "K^2",
        "K_1",
        "KK",
        "%",
        "$K$",
        "alpha",
        r"\hat{K}\input{a}",
        r"\hat{\input{a}}",
        r"\hat{}",
        r"\csname",
    ],
)
def test_what_is_no_symbol_is_refused(letter):
    with pytest.raises(NotationError, match="is not one symbol"):
        Conventions(kernel=letter)
