"""Single-input recursions iterated in numbers, term by term, and extrapolated to infinite depth.

The kernel is iterated first; then every bracket is known at every layer, and each further tensor
is a linear recursion of numbers.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from symdlt.derivation import RecursionSystem, derive_system

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(30)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def kernels(step, K: float, layers: int) -> np.ndarray:
    """K at layers 1 … layers."""
    found = np.empty(layers)
    for layer in range(layers):
        found[layer] = K
        K = step(K)
    return found


def iterate(
    system: RecursionSystem,
    activation,
    layers: int,
    *,
    C_W: float,
    lambda_b,
    lambda_W,
    K: float = 1.0,
    C_b: float = 0.0,
    means=None,
) -> dict[str, np.ndarray]:
    """Every tensor at layers 1 … layers, at equal widths.

    Args:
        activation: function of (order of the derivative, z).
        lambda_b: function of an array of layers.
        lambda_W: function of an array of layers.
        means: brackets as a function of the orders and an array of K, instead of the activation.
    """

    def step(K):
        if means is None:
            return C_b + C_W * float(WEIGHTS @ activation(0, math.sqrt(K) * NODES) ** 2)
        return C_b + C_W * float(means((0, 0), np.array([K]))[0])

    found = {"G": kernels(step, K, layers)}
    known: dict = {}
    if means is None:
        z = np.sqrt(found["G"])[:, None] * NODES
        highest = max(k for r in system for t in r.terms for b in t.brackets for _, k in b.factors)
        values = [activation(k, z) for k in range(highest + 1)]

    def computed(orders):
        if means is None:
            return reduce(np.multiply, (values[k] for k in orders)) @ WEIGHTS
        return means(orders, found["G"])

    def mean(bracket):
        orders = tuple(sorted(k for _, k in bracket.factors))
        if orders not in known:
            known[orders] = computed(orders)
        return known[orders]

    above = np.arange(2, layers + 2)
    rates = (C_b, C_W, lambda_b(above), lambda_W(above))
    first = np.arange(1, 2)

    def term_value(term, without=None):
        value = np.full(layers, float(term.coefficient))
        for rate, power in zip(rates, term.hyperparameters.powers, strict=True):
            value = value * rate**power
        for bracket in term.brackets:
            value = value * mean(bracket)
        names = [t.correlator.name for t in term.tensors]
        if without:
            names.remove(without)
        return reduce(np.multiply, (found[name] for name in names), value)

    for recursion in list(system)[1:]:
        own = [t for t in recursion.terms if recursion.name in _names(t)]
        others = [t for t in recursion.terms if recursion.name not in _names(t)]
        slope = sum(term_value(t, recursion.name) for t in own).tolist()
        source = sum(term_value(t) for t in others).tolist()
        start = (lambda_b(first) + lambda_W(first) * K)[0] if recursion.name == "H" else 0.0
        column = [float(start)]
        for layer in range(layers - 1):
            column.append(slope[layer] * column[-1] + source[layer])
        found[recursion.name] = np.array(column)
    return found


def _names(term):
    return [t.correlator.name for t in term.tensors]


def extrapolated(values: np.ndarray, exponent: float, log_power: int = 0, steps: int = 0) -> float:
    """The limit x of values·ℓ^exponent, from x + Σ_k Σ_j c_kj log^j ℓ/ℓ^k at several depths.

    Orders k ≤ 2 are kept, with logarithms up to j = k + 1 (a resonance raises them by one); if the
    leading term has logarithms itself, its lower ones are among the unknowns. If the steps to 1/ℓ
    are given, the orders are k/steps ≤ 3, and logarithms come at the whole ones and after them.
    """
    if steps:
        orders = range(3 * steps + 1)
        more = steps == 1
        basis = [(k / steps, j) for k in orders for j in range(k // steps + 1 + (more and k > 0))]
        return fitted(values, exponent, basis)
    basis = [(0, j) for j in range(log_power, -1, -1)]
    basis += [(k, j) for k in (1, 2) for j in range(k + log_power + (0 if log_power else 1) + 1)]
    return fitted(values, exponent, basis)


def fitted(values, exponent, basis, ratio=1.45):
    """The coefficient of the first function of a basis, from as many depths."""
    depths = [round(len(values) / ratio**i) for i in range(len(basis))]
    rows = [[math.log(d) ** j / d**k for k, j in basis] for d in depths]
    ends = [values[d - 1] * d**exponent for d in depths]
    return float(np.linalg.solve(np.array(rows), np.array(ends))[0])


def tanh(order: int, z):
    """Derivatives of tanh: polynomials in t = tanh z, with dt/dz = 1 - t²."""
    polynomial = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([1.0, 0.0, -1.0])
    return polynomial(np.tanh(z))


def sine(order: int, z):
    return np.sin(z + order * np.pi / 2)


def tilted_sine(order: int, z):
    """sin z + (1 − cos z)/2."""
    return sine(order, z) - sine(order, z + np.pi / 2) / 2 + (0.5 if order == 0 else 0.0)


def polynomial(coefficients):
    base = np.polynomial.Polynomial(coefficients)
    return lambda order, z: (base.deriv(order) if order else base)(z)


def iterated(solution, activation, names, rates, depth=20_000, K=1.0, means=None):
    """All tensors at all layers, with the hyperparameters that the solution asks for."""
    p_perp = float(dict(solution.values)["p_perp"])
    bias, variance = (float(dict(solution.hyperparameters)[name]) for name in ("C_b", "C_W"))
    fall = float(solution["G"].exponent)
    return iterate(
        derive_system(names, inputs="one"),
        activation,
        depth,
        C_W=variance,
        lambda_b=lambda layer: float(rates[0]) * layer**-p_perp,
        lambda_W=lambda layer: float(rates[1]) * layer ** (fall - p_perp),
        K=K,
        C_b=bias,
        means=means,
    )


def errors(solution, found, steps=0):
    """Relative errors of the extrapolated coefficients."""
    return {
        a.name: extrapolated(found[a.name], float(a.exponent), a.log_power, steps)
        / float(a.coefficient)
        - 1
        for a in solution.tensors
    }
