"""Single-input recursions iterated in numbers: the brackets by quadrature, layer after layer."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial

from symdlt.networks import BOOK
from symdlt.recursions import derive_system

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
SQUARE = Polynomial([1, 0, -1])


def sine(z, k):
    return np.sin(z + k * np.pi / 2)


def hyperbolic(z, k):
    """The k-th derivative of tanh is a polynomial in it: t' = 1 − t²."""
    polynomial = Polynomial([0, 1])
    for _ in range(k):
        polynomial = polynomial.deriv() * SQUARE
    return polynomial(np.tanh(z))


def from_polynomial(coefficients):
    base = Polynomial(coefficients)
    return lambda z, k: (base.deriv(k) if k else base)(z)


def kernels(function, variance, first, depth):
    """K at layers 1 … depth."""
    found = [first]
    for _ in range(depth - 1):
        values = function(NODES * np.sqrt(found[-1]), 0)
        found.append(variance * (WEIGHTS @ (values * values)))
    return np.array(found)


def iterate(function, slope, rates, depth, first=1.0, perpendicular=1.0):
    """All thirteen tensors at layers 1 … depth, as a dictionary of arrays.

    The learning rates are λ_b/ℓ^p and λ_W/ℓ^(p-1), p being p_⊥ (∞.29 without the powers of L);
    the variances are C_b = 0 and C_W = 1/slope².
    """
    kernel = kernels(function, 1 / slope**2, first, depth)
    below = kernel[:-1]
    above = np.arange(2.0, depth + 1)
    learning = rates[0] * above**-perpendicular, rates[1] * above ** (1 - perpendicular)
    hyper = (0 * below, 0 * below + 1 / slope**2, *learning)
    points = NODES[:, None] * np.sqrt(below)
    powers = {k: function(points, k) for k in range(5)}
    mean = {}

    def bracket(factors):
        if factors not in mean:
            mean[factors] = WEIGHTS @ np.prod([powers[k] for _, k in factors], axis=0)
        return mean[factors]

    tensors = {"G": kernel}
    for recursion in derive_system(BOOK, inputs="one"):
        if recursion.name != "G":
            slopes, sources = np.zeros(depth - 1), np.zeros(depth - 1)
            for term in recursion.terms:
                value = np.full(depth - 1, float(term.coefficient))
                for number, exponent in zip(hyper, term.hyperparameters.powers, strict=True):
                    value = value * number**exponent
                for b in term.brackets:
                    value = value * bracket(b.factors)
                names = [t.correlator.name for t in term.tensors]
                for name in names:
                    if name != recursion.name:
                        value = value * tensors[name][:-1]
                if recursion.name in names:
                    slopes += value
                else:
                    sources += value
            start = rates[0] + rates[1] * first if recursion.name == "H" else 0.0
            tensors[recursion.name] = _linear(start, slopes, sources)
    return tensors


def _linear(start, slopes, sources):
    found = [start]
    for slope, source in zip(slopes.tolist(), sources.tolist(), strict=True):
        found.append(slope * found[-1] + source)
    return np.array(found)


def limit(values):
    """The limit of a sequence, with the terms 1/ℓ and 1/ℓ² and their logarithms taken off.

    The NTK without sources decays as 1/ℓ, like its own first correction, which has log ℓ; hence
    log²ℓ/ℓ.
    """
    depth = len(values)
    at = np.unique(np.geomspace(depth / 30, depth, 40).astype(int))
    log = np.log(at / depth)
    basis = [at**0.0, *(log**j / at for j in range(3)), *(log**j / at**2.0 for j in range(3))]
    columns = np.array([b / np.abs(b).max() for b in basis]).T
    return np.linalg.lstsq(columns, values[at - 1], rcond=None)[0][0]
