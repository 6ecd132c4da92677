"""The book's asymptotic formulas against the single-input recursions iterated in numbers."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import sympy as sp

from .correlators import CORRELATORS
from .exponents import (
    coefficients,
    deep_linear,
    deep_linear_ratios,
    four_point_ratio,
    kernel_and_ntk,
    kernel_exponents,
    ratios,
    symbols,
)
from .test_single_input import single

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def sine(z):
    """σ = sin and its three derivatives: σ_1 = 1, a_1 = −1."""
    return np.sin(z), np.cos(z), -np.sin(z), -np.cos(z)


def identity(z):
    return z, np.ones_like(z), np.zeros_like(z), np.zeros_like(z)


def bracket(nodes, values, *orders, z=0):
    return (WEIGHTS * nodes**z * np.prod([values[k] for k in orders], axis=0)).sum()


def iterate(activation, layers, hyper, metric):
    """All single-input tensors at the given layer, rates being functions of the layer."""
    below = dict.fromkeys(CORRELATORS, 0.0)
    first = hyper(1)
    below |= {"G": metric, "H": first["lambda_b"] + first["lambda_W"] * metric}
    for layer in range(2, layers + 1):
        nodes = NODES * np.sqrt(below["G"])
        mean = partial(bracket, nodes, activation(nodes))
        below = below | single(below, mean, hyper(layer), 1)
    return below


def test_ratios_are_the_coefficients_divided_by_kernel_and_ntk():
    s = symbols()
    small = kernel_and_ntk(s)
    for name, coefficient in coefficients(s).items():
        ratio = coefficient * small["K"] / small["Theta"] ** 3
        assert sp.simplify(ratio - ratios(s)[name]) == 0, name


def test_odd_activation_at_large_depth():
    """Corrections are of order log ℓ/ℓ: 1.6 % in T at this depth, 0.9 % and less elsewhere."""
    s, rates = symbols(), (0.7, 1.3)
    at = {s.lambda_b: rates[0], s.lambda_W: rates[1], s.sigma_1: 1, s.a_1: -1}

    def hyper(layer):
        return {"C_b": 0.0, "C_W": 1.0, "lambda_b": rates[0] / layer, "lambda_W": rates[1]}

    depth = 2500
    tolerance = 6 * np.log(depth) / depth
    found = iterate(sine, depth, hyper, 1.0)
    for name, coefficient in coefficients(s).items():
        expected = float(coefficient.subs(at)) * depth ** -kernel_exponents()[name]
        assert found[name] == pytest.approx(expected, rel=tolerance), name
    ratio = found["V"] / found["G"] ** 2 / depth
    assert ratio == pytest.approx(float(four_point_ratio()), rel=1e-3)


def test_deep_linear_network_at_every_depth():
    s, depth, rates, metric = symbols(), 12, (0.7, 1.3), 1.5
    hyper = {"C_b": 0.0, "C_W": 1.0, "lambda_b": rates[0] / depth, "lambda_W": rates[1] / depth}
    at = {s.lambda_b: rates[0], s.lambda_W: rates[1], s.K: metric, s.L: depth}
    for layer in (2, 5, 12):
        found = iterate(identity, layer, lambda _: hyper, metric)
        for name, value in deep_linear(s).items():
            assert found[name] == pytest.approx(float(value.subs(at | {s.ell: layer})), abs=1e-12)


def test_deep_linear_ratios_are_the_large_depth_limit():
    s = symbols()
    ntk = s.ell / s.L * (s.lambda_b + s.lambda_W * s.K)
    for name, ratio in deep_linear_ratios(s).items():
        found = sp.limit(deep_linear(s)[name] * s.K / ntk**3 / s.ell, s.ell, sp.oo)
        assert sp.simplify(found - ratio) == 0
