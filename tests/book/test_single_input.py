"""With one sample the multi-input recursions become the book's single-input ones."""

from fractions import Fraction

import numpy as np
import pytest
from exact import bracket_of, matrix, random_network

from .recursions import RECURSIONS, step

NAMES = "GHVABDFPQRSTU"


def single(lower, m, hyper, r):
    """The single-input recursions at n_ℓ/n_{ℓ-1} = r.

    R, S, T, U are (∞.14)–(∞.17), which have r = 1. In A, D and Q the slope of the mean NTK,
    λ_W ⟨σ σ⟩ + C_W Θ ⟨σ' σ'⟩, with the kernel stands where G and V have χ∥ alone. m(a, b, …) is
    ⟨σ^{(a)} σ^{(b)} …⟩ and m(…, z=k) has k more factors z.
    """
    c_w, l_w = hyper["C_W"], hyper["lambda_W"]
    K, H, V, A, B, D, F, P, Q = (lower[x] for x in "GHVABDFPQ")
    down = c_w * m(1, 1)
    along = c_w * m(1, 0, z=1) / K
    near = l_w * m(2, 0) + c_w * H * m(3, 1)
    far = l_w * m(1, 1) + c_w * H * m(2, 2)
    tilt = l_w * m(1, 0, z=1) + c_w * H * m(2, 1, z=1)
    return {
        "G": hyper["C_b"] + c_w * m(0, 0),
        "H": hyper["lambda_b"] + l_w * m(0, 0) + down * H,
        "V": c_w**2 * (m(0, 0, 0, 0) - m(0, 0) ** 2) + r * along**2 * V,
        "A": l_w**2 * (m(0, 0, 0, 0) - m(0, 0) ** 2)
        + 2 * l_w * c_w * H * (m(0, 0, 1, 1) - m(0, 0) * m(1, 1))
        + c_w**2 * H**2 * (m(1, 1, 1, 1) - m(1, 1) ** 2)
        + r * ((tilt / K) ** 2 * V + 2 * down * tilt / K * D + down**2 * A),
        "D": c_w * l_w * (m(0, 0, 0, 0) - m(0, 0) ** 2)
        + c_w**2 * H * (m(0, 0, 1, 1) - m(0, 0) * m(1, 1))
        + r * along * (tilt / K * V + down * D),
        "Q": c_w * l_w * m(1, 1, 0, 0) * H
        + c_w**2 * m(2, 1, 1, 0) * H**2
        + r * along * (tilt / K * F + down * Q),
        "F": c_w**2 * m(0, 0, 1, 1) * H + r * along**2 * F,
        "B": c_w**2 * m(1, 1, 1, 1) * H**2 + r * down**2 * B,
        "P": c_w**2 * m(2, 1, 1, 0) * H**2 + r * down * c_w * (m(2, 0) * (B + P) + m(1, 1) * P),
        "R": r * down**2 * lower["R"]
        + l_w * c_w * m(2, 1, 1, 0) * H**2
        + c_w**2 * m(3, 1, 1, 1) * H**3
        + r * down * near * (B + P)
        + r * down * far * P,
        "S": r * down**2 * lower["S"]
        + c_w * l_w * m(1, 1, 1, 1) * H**2
        + c_w**2 * m(2, 2, 1, 1) * H**3
        + r * down * far * B,
        "T": r * down**2 * lower["T"]
        + 2 * c_w * l_w * m(2, 1, 1, 0) * H**2
        + c_w**2 * m(2, 2, 1, 1) * H**3
        + l_w**2 * m(1, 1, 0, 0) * H
        + r * tilt**2 * F / K**2
        + 2 * r * down * (near + far) * Q,
        "U": r * down**2 * lower["U"] + c_w**2 * m(2, 2, 1, 1) * H**3,
    }


def random_lower(seed):
    """Any number for every tensor; the kernel positive."""
    source = np.random.default_rng(seed)
    numbers = {name: Fraction(int(source.integers(1, 9)), 5) for name in NAMES}
    return numbers, {
        name: np.full((1,) * (2 if name in "GH" else 4), x, dtype=object)
        for name, x in numbers.items()
    }


@pytest.mark.parametrize("form", ["derivative", "z"])
@pytest.mark.parametrize("seed", range(3))
def test_one_sample_gives_the_single_input_recursions(seed, form):
    layer = random_network(seed, (4 + seed,)).layers[0]
    numbers, lower = random_lower(seed)
    bracket = bracket_of(layer, matrix([[numbers["G"]]]))
    r = Fraction(1 + seed, 2)
    expected = single(
        numbers,
        lambda *orders, z=0: bracket([(0, k) for k in orders], (0,) * z),
        layer.hyper(),
        r,
    )
    found = step(lower, bracket, layer.hyper(), r, form)
    assert set(expected) == set(RECURSIONS)
    for name, value in expected.items():
        assert found[name].item() == value, name


def test_every_name_is_a_tensor_of_the_theory():
    assert tuple(RECURSIONS) == tuple(NAMES)
