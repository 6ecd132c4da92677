"""Closed means for all variances and correlations of floats, against series at many digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from symdlt.means import closed_pair_means

ORDERS = [(0, 0), (1, 1), (0, 1), (0, 2), (1, 3), (2, 2)]
FINE = (
    "0",
    "0.95",
    "-0.9999",
    "0.9999999999",
    "-0.99999999999999",
    "0.9999999999999998",
    "1",
    "-1",
)


class Steps:
    """<f^(p)(x) f^(q)(y)> of steps smoothed by Gaussians, as Taylor coefficients of densities."""

    def __init__(self, a, b, c, v, w):
        self.a, self.b, self.c = a + v, b + w, c
        self.gap = self.a * self.b - c * c
        self.known = {}

    def __call__(self, p, q):
        if (p, q) not in self.known:
            self.known[p, q] = self.moment(p, q)
        return self.known[p, q]

    def moment(self, p, q):
        if p == q == 0:
            return mpf(1) / 4 + mpmath.atan2(self.c, mpmath.sqrt(self.gap)) / (2 * mpmath.pi)
        if p == 0 or q == 0:
            return self.one_sided(self.b if p == 0 else self.a, max(p, q) - 1)
        return self.density(p - 1, q - 1)

    def one_sided(self, variance, n):
        """The n-th derivative, times (-1)^n, of density(y) P(x > 0 | y) at y = 0."""
        slope = self.c / mpmath.sqrt(variance * self.gap)
        bell = 1 / mpmath.sqrt(2 * mpmath.pi)
        density = [mpf(0)] * (n + 1)
        for k in range(0, n + 1, 2):
            density[k] = bell / mpmath.sqrt(variance) * (-1 / (2 * variance)) ** (k // 2)
            density[k] /= math.factorial(k // 2)
        positive = [mpf(1) / 2] + [mpf(0)] * n
        for k in range(1, n + 1, 2):
            half = (k - 1) // 2
            positive[k] = bell * (-mpf(1) / 2) ** half * slope**k / (k * math.factorial(half))
        total = sum(density[k] * positive[n - k] for k in range(n + 1))
        return (-1) ** n * math.factorial(n) * total

    def density(self, i, j):
        """The derivatives of the density of both at zero."""
        total = mpf(0)
        for shared in range(min(i, j) + 1):
            if (i - shared) % 2 == 0 and (j - shared) % 2 == 0:
                u, v = (i - shared) // 2, (j - shared) // 2
                term = (-self.b / self.gap / 2) ** u * (-self.a / self.gap / 2) ** v
                term *= (self.c / self.gap) ** shared
                total += term / math.prod(map(math.factorial, (u, v, shared)))
        scale = (-1) ** (i + j) * math.factorial(i) * math.factorial(j)
        return scale * total / (2 * mpmath.pi * mpmath.sqrt(self.gap))


def erf_exact(a, b, c, orders, k=1, n=1):
    steps = Steps(a, b, c, 1 / (2 * mpf(k) ** 2), 1 / (2 * mpf(n) ** 2))
    return [(4 * steps(p, q) - (p == q == 0)) * ((p + q) % 2 == 0) for p, q in orders]


def gelu_exact(a, b, c, orders, k=1, n=1):
    """By Leibniz' rule for k x f(x), and Stein's lemma for each x."""
    m = Steps(a, b, c, 1 / mpf(k) ** 2, 1 / mpf(n) ** 2)

    def y_mean(p, q):
        return b * m(p, q + 1) + c * m(p + 1, q)

    def mean(p, q):
        total = c * m(p, q) + a * y_mean(p + 1, q) + c * y_mean(p, q + 1)
        if q:
            total += q * (a * m(p + 1, q - 1) + c * m(p, q))
        if p:
            total += p * y_mean(p - 1, q)
        return total + (p * q * m(p - 1, q - 1) if p and q else 0)

    return [k * n * mean(p, q) for p, q in orders]


def wave_exact(a, b, c, orders, k=1, n=1, sign=-1):
    """Of sin(k x) or, with sign 1, of exp(k x)."""
    k, n = mpf(k), mpf(n)
    apart, cross = k * k * a + n * n * b, 2 * k * n * c
    near, far = (mpmath.exp(sign * (apart + s * cross) / 2) for s in (sign, -sign))
    if sign == 1:
        return [k**p * n**q * near for p, q in orders]
    return [
        k**p * n**q * ((1, 0, -1, 0)[(p - q) % 4] * near - (1, 0, -1, 0)[(p + q) % 4] * far) / 2
        for p, q in orders
    ]


FAMILIES = {
    "erf": (erf_exact, {}, "erf", {}),
    "erf(1000 z)": (erf_exact, {"k": 1000, "n": 1000}, "erf", {"terms": [(1.0, 1000.0)]}),
    "gelu": (gelu_exact, {}, "gelu", {}),
    "gelu(300 z)": (gelu_exact, {"k": 300, "n": 300}, "gelu", {"terms": [(1.0, 300.0)]}),
    "sin": (wave_exact, {}, "sin", {}),
    "sin(30 z)": (wave_exact, {"k": 30, "n": 30}, "exponential", {"circular": [(30.0, 1.0, 0.0)]}),
    "exp(z/3)": (
        wave_exact,
        {"k": 0.3, "n": 0.3, "sign": 1},
        "exponential",
        {"hyperbolic": [(0.3, 1.0, 1.0)], "coefficients": [1.0]},
    ),
}


def covariance(a, b, rho):
    """The float next to rho sqrt(a b) that is a covariance exactly."""
    c = float(mpf(rho) * mpmath.sqrt(mpf(a) * mpf(b)))
    while Fraction(c) ** 2 > Fraction(a) * Fraction(b):
        c = math.nextafter(c, 0.0)
    return c


def check(name, exponents, ratios, correlations, orders, bar):
    for exponent in exponents:
        for ratio in ratios:
            # The squares of K and of 1/K, and those of the gaps of samples, with some to spare.
            with mpmath.workdps(80 + round(2.2 * abs(exponent))):
                a, b = (float(mpf(10) ** exponent * mpf("1.2345") * mpf(r)) for r in ("1", ratio))
                if b < 1e301 and not (name.startswith("exp") and b > 3e3):
                    check_at(name, a, b, correlations, orders, bar)


def check_at(name, a, b, correlations, orders, bar):
    exact, given, family, parameters = FAMILIES[name]
    alone = [(k, k) for k in range(1 + max(map(max, orders)))]
    norms = [
        [mpmath.sqrt(abs(x)) for x in exact(mpf(v), mpf(v), mpf(v), alone, **given)] for v in (a, b)
    ]
    for rho in correlations:
        c = covariance(a, b, rho)
        found = closed_pair_means(family, np.array([[a, c], [c, b]]), orders, **parameters)
        right = exact(mpf(a), mpf(b), mpf(c), orders, **given)
        for (p, q), table, value in zip(orders, found, right, strict=True):
            off = abs(mpf(float(table[0, 1])) - value)
            # What is too small for floats is zero.
            assert off <= bar * norms[0][p] * norms[1][q] + mpf(10) ** -307, (a, b, rho, p, q)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_for_all_variances_and_correlations(name):
    check(name, (-300, 2, 300), ("1", "3e7"), FINE[2::3], ORDERS, 3e-14)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_families_for_all_orders(name):
    orders = [(p, q) for p in range(7) for q in range(7)]
    check(name, (-40, -8, -2, 0, 1, 2, 3, 5, 8, 20), ("1", "0.37", "3e7"), FINE, orders, 1e-13)


def relu_exact(a, b, c):
    """<f f> and <f' f'> of relu."""
    gap = mpmath.sqrt(a * b - c * c)
    step = mpf(1) / 4 + mpmath.atan2(c, gap) / (2 * mpmath.pi)
    return [c * step + gap / (2 * mpmath.pi), step]


@pytest.mark.parametrize("exponent", [-300, -12, 0, 12, 300])
def test_relu_of_samples_that_are_nearly_the_same(exponent):
    with mpmath.workdps(50):
        for rho in ("0.9", "0.99999", "-0.999999999", "0.999999999999", "-0.99999999999999"):
            a = 1.2345 * 10.0**exponent
            b = 0.37 * a
            c = covariance(a, b, rho)
            found = closed_pair_means("relu", np.array([[a, c], [c, b]]), [(0, 0), (1, 1)])
            right = relu_exact(mpf(a), mpf(b), mpf(c))
            norms = (mpmath.sqrt(mpf(a) * mpf(b)) / 2, mpf(1) / 2)
            for table, value, norm in zip(found, right, norms, strict=True):
                assert abs(mpf(float(table[0, 1])) - value) < 3e-14 * norm, rho
