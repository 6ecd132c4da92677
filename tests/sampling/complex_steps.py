"""Derivatives of networks by all parameters, by complex steps, which have no rounding error."""

import numpy as np

from symdlt.definitions import program_of
from symdlt.sampling import NetworkParameters, draw_parameters, evaluate_networks

STEP = 1e-20


def square(z):
    return 1 - np.tanh(z) ** 2


# Functions that take complex numbers.
SINE = (np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z))
TANH = (
    np.tanh,
    square,
    lambda z: -2 * np.tanh(z) * square(z),
    lambda z: square(z) * (4 - 6 * square(z)),
)
GIVEN = {"s": SINE, "tanh": TANH}


def check_derivatives(net, x):
    """H is a sum over derivatives of z, and dH one over those of H."""
    drawn = draw_parameters(net, 1, np.random.default_rng(5), len(x))
    once = {}  # of a tensor that is used several times the first use
    for place, branch in enumerate(one for field in program_of(net).fields for one in field.drawn):
        once.setdefault(branch.shared or place, branch)
    branches = [*once.values()]
    weights = [branch.entry_rate for branch in branches if branch.site is not None]
    rates = weights + [branch.entry_rate for branch in branches if branch.site is None]
    arrays = [*drawn.weights, *drawn.biases]
    slopes = {"z": 0.0, "H": 0.0}
    for place, array in enumerate(arrays):
        for entry in np.ndindex(array.shape):
            moved = [one.astype(complex) for one in arrays]
            moved[place][entry] += 1j * STEP
            count = len(drawn.weights)
            parameters = NetworkParameters(tuple(moved[:count]), tuple(moved[count:]), drawn.masks)
            found = evaluate_networks(parameters, net, GIVEN, x, ["z", "H"])
            z, H = (found[name][0].imag / STEP for name in ("z", "H"))
            slopes["z"] = slopes["z"] + rates[place] * np.einsum("ia,jb->ijab", z, z)
            slopes["H"] = slopes["H"] + rates[place] * np.einsum("ia,jkbc->ijkabc", z, H)
    expected = evaluate_networks(drawn, net, GIVEN, x, ["H", "dH"])
    np.testing.assert_allclose(slopes["z"], expected["H"][0], atol=1e-13)
    # dH_{0;12} differentiates z_0 twice; that of H_{12} by the parameters of z_0 is two of them.
    dH = expected["dH"][0]
    twice = np.einsum("jikbac->ijkabc", dH) + np.einsum("kijcab->ijkabc", dH)
    np.testing.assert_allclose(slopes["H"], twice, atol=1e-13)
