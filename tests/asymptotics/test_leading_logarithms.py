"""Without bias rates the powers of D, A, Q, T cancel for odd σ, and logarithms lead instead."""

import numpy as np
import pytest
from asymptotics.iteration import hyperbolic, iterate

from symdlt.asymptotics import exponents

DEPTH = 40_000


@pytest.fixture(scope="module")
def tensors():
    return iterate(hyperbolic, 1.0, (0.0, 1.0), DEPTH)


@pytest.fixture(scope="module")
def solution():
    return exponents("tanh", lambda_b=0, lambda_W=1)


def leading(values, degree):
    """The coefficient of log^degree ℓ, lower logarithms and orders 1/ℓ, 1/ℓ² taken off."""
    at = np.unique(np.geomspace(DEPTH / 30, DEPTH, 60).astype(int))
    log = np.log(at)
    basis = [log**j / at ** float(k) for k in range(3) for j in range(degree + 1 + 2 * (k > 0))]
    sizes = np.array([np.abs(b).max() for b in basis])
    solved = np.linalg.lstsq(np.array(basis).T / sizes, values[at - 1], rcond=None)[0]
    return solved[degree] / sizes[degree]


@pytest.mark.parametrize(
    ("name", "degree", "tolerance"),
    [("D", 1, 1e-4), ("Q", 1, 1e-4), ("A", 2, 1e-2), ("T", 2, 1e-2)],
)
def test_logarithm_leads(solution, tensors, name, degree, tolerance):
    """A squared logarithm is told from a single one less well, so only to a percent."""
    asymptote = solution[name]
    assert asymptote.log_power == degree
    layers = np.arange(1.0, DEPTH + 1)
    found = leading(tensors[name] * layers ** float(asymptote.exponent), degree)
    assert found == pytest.approx(float(asymptote.coefficient), rel=tolerance)


def test_the_other_tensors_have_none(solution):
    assert {x.name for x in solution.tensors if x.log_power} == set("DQAT")
