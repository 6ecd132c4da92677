"""What comparisons of sampled networks with predictions share."""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.hermite_e import hermegauss


def polynomial(*coefficients, derivatives=5):
    """An activation and its derivatives, from the coefficients of 1, z, z², …"""
    series = Polynomial(coefficients)
    return tuple(series.deriv(order) if order else series for order in range(derivatives + 1))


def function_of(name):
    """An activation by name: σ and its first five derivatives, good for complex z too.

    tanh and the logistic function obey y' = p(y) with a polynomial p, so each derivative is a
    polynomial in y, and a further factor z adds k times the derivative below.
    """
    if name == "linear":
        return polynomial(0.0, 1.0)
    if name == "sine":
        return tuple(lambda z, k=k: np.sin(z + k * np.pi / 2) for k in range(6))
    tanh = [Polynomial([0.0, 1.0])]
    for _ in range(5):
        tanh.append(tanh[-1].deriv() * Polynomial([1.0, 0.0, -1.0]))
    if name == "tanh":
        return tuple(lambda z, p=p: p(np.tanh(z)) for p in tanh)
    logistic = [Polynomial([0.0, 1.0])]
    for _ in range(5):
        logistic.append(logistic[-1].deriv() * Polynomial([0.0, 1.0, -1.0]))

    def swish(z, k):
        y = 0.5 * (1 + np.tanh(z / 2))
        return z * logistic[k](y) + (k * logistic[k - 1](y) if k else 0.0)

    return tuple(lambda z, k=k: swish(z, k) for k in range(6))


def gaussian_mean(factors, covariance, nodes=48):
    """⟨Π f(z_δ)⟩ over a zero-mean Gaussian; `factors` are pairs (function, sample)."""
    root = np.linalg.cholesky(covariance)
    points, weights = hermegauss(nodes)
    size = len(covariance)
    standard = np.array(list(product(points, repeat=size)))
    weight = np.prod(list(product(weights, repeat=size)), axis=1) / (2 * np.pi) ** (size / 2)
    z = standard @ root.T
    return float(weight @ np.prod([f(z[:, sample]) for f, sample in factors], axis=0))


@dataclass(frozen=True)
class Extrapolation:
    """The limit of infinite width of one tensor, from several widths."""

    values: np.ndarray
    standard_errors: np.ndarray
    chi_squared: np.ndarray

    def z_scores(self, expected):
        return (self.values - np.asarray(expected)) / self.standard_errors


def extrapolate(measurements, powers=2):
    """Fit Σ_s X[s] scale^{-s} with s < `powers` and return X[0].

    `measurements` maps the scale of the widths to a measurement; with more scales than powers,
    `chi_squared` (an entry a component, scales − powers degrees of freedom) judges the fit.
    """
    scales = sorted(measurements)
    matrix = np.array([[float(scale) ** -power for power in range(powers)] for scale in scales])
    values = np.stack([measurements[scale].values for scale in scales]).reshape(len(scales), -1)
    errors = np.stack([measurements[scale].standard_errors for scale in scales])
    errors = errors.reshape(len(scales), -1)
    shape = measurements[scales[0]].values.shape
    limits, spreads, misfits = [], [], []
    for value, error in zip(values.T, errors.T, strict=True):
        weighted = matrix / error[:, None]
        inverse = np.linalg.inv(weighted.T @ weighted)
        solution = inverse @ weighted.T @ (value / error)
        limits.append(solution[0])
        spreads.append(math.sqrt(inverse[0, 0]))
        misfits.append(float((((value - matrix @ solution) / error) ** 2).sum()))
    return Extrapolation(*(np.reshape(entry, shape) for entry in (limits, spreads, misfits)))


def describe(name, measurement, expected):
    """One line: a typical component and the worst z-score of all of them."""
    scores = np.abs(measurement.z_scores(expected))
    worst = np.unravel_index(np.argmax(scores), scores.shape)
    return (
        f"{name}: worst |z| = {scores.max():.2f} of {scores.size} at {tuple(map(int, worst))}: "
        f"measured {measurement.values[worst]:+.5f} ± {measurement.standard_errors[worst]:.5f}, "
        f"expected {np.asarray(expected)[worst]:+.5f}"
    )


def assert_agrees(measured, expected, limit=4.0):
    """Print a line a tensor and fail if any component is off by more than `limit` errors."""
    lines = [describe(str(name), measured[name], value) for name, value in expected.items()]
    print("\n".join(lines))
    worst = {name: np.abs(measured[name].z_scores(expected[name])).max() for name in expected}
    assert max(worst.values()) < limit, "\n".join(lines)
