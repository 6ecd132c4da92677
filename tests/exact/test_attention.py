"""V of linear attention against exact moments of finite networks, which nothing is expanded for.

z is the first layer, Gaussian; q, k and v read z. All sums over neurons are done by Isserlis'
theorem, in rational arithmetic: over the neurons of heads, those of queries and keys, and those of
z, whose averages M(zz) are what the covariances of q, k and v are made of. All widths are numbers
times λ, and V is what stands with 1/λ.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

import numpy as np
import pytest

from symdlt import Network, propagate

# Powers of 1/λ with their coefficients.
Series = dict[int, Fraction]
Label = int  # a position
Pair = tuple[Label, Label]

PLACES = (0, 1)
N, H, D, D_V = 6, 4, 5, 3  # n = Nλ, H = Hλ heads, d = Dλ, d_v = D_V
C_b, C_W, C_Q, C_K, C_V = (Fraction(k, 10) for k in (1, 13, 11, 9, 12))
INPUTS = np.array([[[1.0, 0.5], [-0.5, 1.5]]])
K = [
    [
        C_b
        + C_W * sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)) / 2
        for b in INPUTS[0].T
    ]
    for a in INPUTS[0].T
]


def pairings(ends: tuple[int, ...]):
    """All ways to pair things up."""
    if not ends:
        yield ()
        return
    first, *others = ends
    for place, other in enumerate(others):
        for rest in pairings((*others[:place], *others[place + 1 :])):
            yield ((first, other), *rest)


def cycles(one, other) -> int:
    """The number of cycles of two pairings of the same things."""
    partner = [dict(pairs) | {b: a for a, b in pairs} for pairs in (one, other)]
    left, count = {end for pair in one for end in pair}, 0
    while left:
        at, count = next(iter(left)), count + 1
        while at in left:
            across = partner[0][at]
            left -= {at, across}
            at = partner[1][across]
    return count


def added(series: Series, other: Series, factor: Fraction, power: int = 0) -> None:
    for k, number in other.items():
        series[k + power] += factor * number


@cache
def mean_of_averages(pairs: tuple[Pair, ...]) -> Series:
    """E of a product of M(z_a z_b), averages over n independent neurons."""
    labels = [label for pair in pairs for label in pair]
    own = tuple((2 * k, 2 * k + 1) for k in range(len(pairs)))
    total: Series = defaultdict(Fraction)
    for matched in pairings(tuple(range(len(labels)))):
        power = len(pairs) - cycles(own, matched)
        covariances = prod(K[labels[a]][labels[b]] for a, b in matched)
        total[power] += covariances * Fraction(N) ** -power
    return dict(total)


def averages(pairs) -> Series:
    return mean_of_averages(tuple(sorted((min(pair), max(pair)) for pair in pairs)))


def of_head(scores, values, same_neuron: bool) -> Series:
    """E of S_1 S_2 S_3 S_4 v_1 v_2 v_3 v_4 in one head; values of two neurons, or of one."""
    total: Series = defaultdict(Fraction)
    ends = tuple(range(len(scores)))
    for by_queries, by_keys in product([*pairings(ends)], repeat=2):
        power = len(scores) // 2 - cycles(by_queries, by_keys)
        for by_values in pairings(ends) if same_neuron else [((0, 1), (2, 3))]:
            joined = [(scores[a][0], scores[b][0]) for a, b in by_queries]
            joined += [(scores[a][1], scores[b][1]) for a, b in by_keys]
            joined += [(values[a], values[b]) for a, b in by_values]
            added(total, averages(joined), Fraction(D) ** -power, power)
    return total


FACTOR = C_W * C_Q * C_K * C_V


def mean_of_covariance(p: Pair, *others: Pair) -> Series:
    """E of the covariance that W makes at two positions, times averages M(zz)."""
    total: Series = defaultdict(Fraction)
    for r in product(PLACES, repeat=2):
        added(total, averages([p, r, r, *others]), FACTOR)
    return total


def mean_of_both(p: Pair, q: Pair) -> Series:
    """E of the product of two of them."""
    total: Series = defaultdict(Fraction)
    for r in product(PLACES, repeat=4):
        scores, apart = [*zip((*p, *q), r, strict=True)], [p, r[:2], r[:2], q, r[2:], r[2:]]
        added(total, averages(apart), FACTOR**2)
        added(total, averages(apart), -(FACTOR**2) / H, 1)
        for same, part in ((True, Fraction(1, D_V)), (False, 1 - Fraction(1, D_V))):
            added(total, of_head(scores, r, same), FACTOR**2 * part / H, 1)
    return total


def covariance(both: Series, one: Series, other: Series) -> Fraction:
    """What stands with 1/λ; the leading order cancels."""
    assert both[0] == one[0] * other[0]
    return both[1] - one.get(1, 0) * other[0] - one[0] * other.get(1, 0)


def expected(skip: bool) -> dict[tuple[Pair, Pair], Fraction]:
    """V/n of z' at pairs of positions. A neuron of z has the same mean as M(zz)."""
    pairs = [*product(PLACES, repeat=2)]
    found = {}
    for p, q in product(pairs, repeat=2):
        total = covariance(mean_of_both(p, q), mean_of_covariance(p), mean_of_covariance(q))
        for one, other in ((p, q), (q, p)) if skip else ():
            alone = averages([other])
            total += covariance(mean_of_covariance(one, other), mean_of_covariance(one), alone)
            # what is kept moves with M(zz), of which V/n of two different neurons has no part
        found[p, q] = total
    return found


@pytest.mark.parametrize("skip", [False, True])
def test_linear_attention(skip):
    exact = expected(skip)
    layers = ["z' = b + W z", "q = Q z; k = K z; v = V z; z' = W (q.k) v", "z' = W[mean] z"]
    layers[1] = layers[1].replace("z' = ", "z' = z + " if skip else "z' = ")
    values = {"C_b": C_b, "C_W": C_W, "C_Q": C_Q, "C_K": C_K, "C_V": C_V}
    numbers = {name: float(value) for name, value in values.items()}
    inner = {"heads": H, "q": H * D, "v": H * D_V}
    found = propagate(Network("tanh", [N, N], numbers, layers, inner=inner), INPUTS, ["G", "V"])
    own = [(p, p) for p in PLACES]
    at_positions = sum(exact[p, q] for p, q in product(own, repeat=2)) / 4
    np.testing.assert_allclose(found["V"][1].item() / N, float(at_positions), rtol=1e-12)
    pooled = sum(exact.values()) / 16
    kernel = Fraction(found["G"][2].item())
    over = 2 * kernel**2 / N + C_W**2 * pooled
    np.testing.assert_allclose(found["V"][2].item() / N, float(over), rtol=1e-12)
