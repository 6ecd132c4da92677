"""The wording of what the asymptotic solver refuses."""

from __future__ import annotations

import pytest
import sympy as sp

from symdlt.asymptotics import exponents
from symdlt.errors import ActivationError, InputError, SolutionError, UnknownTensorError


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            "softplus",
            "'softplus' is not in the K*=0 class: sigma(0) = log(2) is not zero. "
            "A bias-like constant makes the kernel nonzero at every layer. "
            "There is no critical point with K* > 0 either: sigma(0) = log(2) is not zero, "
            "so that K = 0 is no fixed point for any C_b >= 0. For every K from 1.25e-05 to 80000 "
            "chi_parallel is above chi_perp, so that no C_W makes both 1. "
            "Subtract sigma(0) if it is not zero, or give another activation.",
        ),
        (
            "z**2",
            "'z**2' is not in the K*=0 class: sigma'(0) is zero. "
            "No C_W then keeps a small kernel at its size from layer to layer. "
            "There is no critical point with K* > 0 either: sigma'(0) is zero, "
            "so that no C_W keeps a small kernel at its size. For every K from 0.0001 to 10000 "
            "chi_parallel is above chi_perp, so that no C_W makes both 1. "
            "Subtract sigma(0) if it is not zero, or give another activation.",
        ),
        (
            "K*=1",
            "There is no universality class 'K*=1' here. "
            "The solver knows 'K*=0, odd', 'K*=0, general' and 'scale-invariant'. "
            "Give one of them.",
        ),
    ],
)
def test_outside_the_class(what, message):
    with pytest.raises(SolutionError) as caught:
        exponents(what)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [-1, "x", sp.Symbol("y"), sp.I])
def test_learning_rates(value):
    with pytest.raises(SolutionError) as caught:
        exponents("tanh", lambda_b=value)
    assert str(caught.value) == (
        f"lambda_b = {value} is not a learning rate. "
        "It must be a number that is not negative. Give an int, a Fraction or a SymPy number."
    )


def test_no_learning():
    with pytest.raises(SolutionError, match="Both learning rates are zero"):
        exponents("tanh", lambda_b=0, lambda_W=0)


def test_unknown_tensor():
    with pytest.raises(UnknownTensorError):
        exponents("tanh", ["W"])


def test_complex_activation():
    with pytest.raises(ActivationError):
        exponents("sqrt(0 - 1)*z")


@pytest.mark.parametrize("rate", [[1], object(), "1", True + 0j])
def test_learning_rates_that_are_none(rate):
    with pytest.raises(SolutionError, match="not a learning rate"):
        exponents("tanh", lambda_b=rate)


def test_tensors_that_are_no_list():
    with pytest.raises(InputError, match="not a list of tensors"):
        exponents("tanh", 5)
