"""Residual networks of three layers: moments at every width, in rational arithmetic.

Of z² = ξz¹ + h and z³ = ξz² + k, h and k are Gaussian at each neuron given all below, with the
variances S¹ and S², averages of σσ over the n neurons. Means over h leave polynomials in z¹ and
S¹, and S¹ is a sum over the neurons of z¹, which are independent. So all moments are polynomials in
1/n; nothing here is expanded, and no correlation of depths is told apart.
"""

from math import comb, prod

import pytest
from sympy import QQ, interpolate, symbols
from sympy.polys.rings import ring

from symdlt import Network, propagate

R, z, h, y, S, T = ring("z h y S T", QQ)
ONE = R(1)
XI, C = QQ(3, 5), QQ(7, 8)


def gaussian(polynomial, variable, variance):
    """The mean over a Gaussian variable."""
    place = R.gens.index(variable)
    found = R(0)
    for powers, number in R(polynomial).terms():
        if powers[place] % 2 == 0:
            left = R({tuple(0 if k == place else p for k, p in enumerate(powers)): number})
            half = powers[place] // 2
            found += left * variance**half * prod(range(1, 2 * half, 2))
    return found


def moments_of_a_sum(each, count):
    """E Tᵐ of independent terms with the moments E fᵐ: cumulants are `count` times those of one."""
    cumulants, found = [R(0)], [R(1)]
    for m in range(1, len(each)):
        lower = sum(comb(m - 1, r - 1) * cumulants[r] * each[m - r] for r in range(1, m))
        cumulants.append(each[m] - lower)
        parts = (comb(m - 1, r - 1) * count * cumulants[r] * found[m - r] for r in range(1, m + 1))
        found.append(sum(parts))
    return found


class ThreeLayers:
    """Moments of z³ of one input of length one, and n neurons a layer."""

    def __init__(self, sigma, n):
        square, below = sigma**2, XI * z + h
        functions = (z**2, square, z**2 * square, square**2, z, z * square)
        self.size, self.read, both, fourth, leg, leg_read = (
            gaussian(one.compose(z, below), h, S) for one in functions
        )
        self.n = n
        self.own = square + square.compose(z, y) + T
        self.rest = moments_of_a_sum([gaussian(square**m, z, C) for m in range(5)], n - 2)
        self.variance = XI**2 * self.mean(self.size) + C * self.mean(self.read)
        kept = self.mean(self.size, self.size)
        met = (self.mean(both) + (n - 1) * self.mean(self.size, self.read)) / n
        noise = (self.mean(fourth) + (n - 1) * self.mean(self.read, self.read)) / n
        squares = XI**4 * kept + 2 * XI**2 * C * met + C**2 * noise
        # of the squares of two neurons of z³
        self.covariance = squares - self.variance**2
        # of one neuron of z³ and the square of another
        met = (self.mean(leg_read) + (n - 1) * self.mean(leg, self.read)) / n
        self.odd = XI * (XI**2 * self.mean(leg, self.size) + C * met)

    def mean(self, first, second=ONE):
        """Of functions of S¹ and of z¹ at two neurons."""
        total = (first * second.compose(z, y)).compose(S, C * self.own / self.n)
        left = gaussian(gaussian(total, z, C), y, C)
        return sum(number * self.rest[powers[-1]] for powers, number in left.terms()).coeff(1)


@pytest.mark.parametrize("text", ["z + z**2/2", "z**2 - z/3"])
def test_tensors_are_the_first_orders_of_exact_moments(text):
    sigma = {"z + z**2/2": z + z**2 / 2, "z**2 - z/3": z**2 - z / 3}[text]
    # polynomials in e = 1/n of a degree below 8, as two widths more confirm
    networks, e = [ThreeLayers(sigma, QQ(n)) for n in range(3, 13)], symbols("e")
    layers = ["z' = W z", *["z' = xi z + W s(z)"] * 2]
    values = {"xi": float(XI), "C_W": float(C)}
    network = Network(text, [30, 30], values, layers, n_L=30)
    found = propagate(network, [[1.0]], ["G", "V", "G.1", "A3"])
    orders = {"variance": ["G", "G.1"], "covariance": ["", "V"], "odd": ["", "A3"]}
    for exact, names in orders.items():
        points = [(1 / one.n, getattr(one, exact)) for one in networks]
        coefficients = interpolate(points, e).as_poly(e).all_coeffs()[::-1]
        assert len(coefficients) <= 8
        for name, expected in zip(names, coefficients, strict=False):
            ours = found[name].ravel()[2] if name else 0.0
            assert ours == pytest.approx(float(expected), rel=1e-9), name
