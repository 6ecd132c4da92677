"""What is refused and why, and that what is printed does not depend on the hash seed."""

import json
import os
import subprocess
import sys

import pytest
from cases import slow

from symdlt.asymptotics import exponents
from symdlt.errors import ActivationError, SolutionError

PROGRAM = """
import json
from symdlt.asymptotics import exponents
for name in ("tanh", "K*=0, odd", "K*=0, general"):
    s = exponents(name)
    print(s.table(), s.latex(), repr(s), json.dumps(s.to_dict()), sep="\\n")
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sigmoid", r"sigma\(0\) = 1/2 is not zero"),
        ("z**3", r"sigma'\(0\) is zero"),
        ("sinh(z)", "a_1 = 1 is positive.*unstable"),
    ],
)
def test_activations_outside_the_class(text, reason):
    with pytest.raises(SolutionError, match=reason) as caught:
        exponents(text)
    last = str(caught.value).split(". ")[-1].replace("Scale-invariant activations are not", "")
    assert any(word in last for word in ("ive ", "Subtract", "Look for"))


@pytest.mark.parametrize("text", ["nonsense", "z +", "__import__('os')", "x*z", "1/z", "log(z)"])
def test_activations_without_a_meaning(text):
    with pytest.raises(ActivationError):
        exponents(text)


@pytest.mark.slow
def test_output_is_the_same_under_every_hash_seed():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_dictionary_survives_json():
    found = exponents("tanh").to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["tensors"]["R"]["exponent"] == "-2"
    assert found["tensors"]["V"]["ratio"]["coefficient"] == "2/3"


def test_views_are_bounded_and_whole():
    solution = exponents("tanh")
    assert len(repr(solution)) < 100
    assert str(solution) == solution.table()
    assert solution.latex().startswith(r"\begin{align*}")
    for name in ("V", "A", "B", "D", "F", "P", "Q", "R", "S", "T", "U"):
        assert f"\n{name} " in solution.table()
        assert f"\n{name}^" in solution.latex()


@pytest.mark.parametrize("activation", ["tanh", "relu", slow("gelu")])
def test_a_table_says_what_the_text_says(activation):
    solution = exponents(activation)
    table = solution.latex(tabular=True)
    rows = [line.split(" & ") for line in table.splitlines() if line.count(" & ") == 4]
    assert len(rows) == len(solution.tensors)
    for row, tensor in zip(rows, solution.tensors, strict=True):
        if tensor.coefficient != 0:
            assert float(row[1].strip("$")) == pytest.approx(-float(tensor.exponent), rel=1e-3)
    assert table.count(r"\lambda_W^{(\ell)} = ") == 1


def test_values_without_a_finite_solution_are_refused():
    with pytest.raises(SolutionError, match="no finite value with lambda_b=-1, lambda_W=2"):
        exponents("tanh", ["D"]).at(lambda_b=-1, lambda_W=2)
    put_in = exponents("tanh", ["D"]).at(lambda_b=1, lambda_W=2)
    assert r"\lambda_W^{(\ell)} &= 2" in put_in.latex()


def test_displays_are_short_enough_for_pages():
    latex = exponents("tanh").latex()
    parts = latex.split("\\end{align*}")
    assert max(part.count("&=") for part in parts) <= 10
    assert exponents("tanh")._repr_latex_().count("aligned") == 2


def test_the_kernel_of_a_scale_invariant_network_is_that_of_its_first_layer():
    latex = exponents("relu", ["V"]).latex()
    assert "K_1 &= K^{(1)}" in latex
    assert "K^{(\\ell)} &= K_1" in latex
