"""Means of functions that oscillate, against sums of exponentials of covariances."""

import cmath
import math
from itertools import product

import numpy as np
import pytest
from cases import thinned

from symdlt.activations import activation
from symdlt.activations.smooth_pieces import smooth_pieces
from symdlt.errors import KernelError
from symdlt.means import pair_means, quadruple_means
from symdlt.means.precise.gaussian import GaussianMeans
from symdlt.networks import MLP, tasks

PATTERNS = [(0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1), (0, 1, 1, 2), (1, 1, 1, 3)]


class Waves:
    """The real sum of c z^p e^{iwz} over (p, w): c."""

    def __init__(self, terms):
        self.terms = terms

    def __add__(self, other):
        return Waves({**self.terms, **other.terms})

    def __call__(self, z):
        return sum((c * z**p * np.exp(1j * w * z)).real for (p, w), c in self.terms.items())

    def slope(self):
        found = {}
        for (p, w), c in self.terms.items():
            found[p, w] = found.get((p, w), 0) + 1j * w * c
            if p:
                found[p - 1, w] = found.get((p - 1, w), 0) + p * c
        return Waves(found)


def sine(w, size=1.0, power=0):
    return Waves({(power, w): -0.5j * size, (power, -w): 0.5j * size})


def cosine(w, size=1.0):
    return Waves({(0, w): 0.5 * size, (0, -w): 0.5 * size})


def chain(waves, count=4):
    found = [waves]
    while len(found) < count:
        found.append(found[-1].slope())
    return found


def wick(places, middle, K):
    """The mean of a product of Gaussians with means."""
    if not places:
        return 1.0
    first, rest = places[0], places[1:]
    total = middle[first] * wick(rest, middle, K)
    for n, other in enumerate(rest):
        total += K[first, other] * wick(rest[:n] + rest[n + 1 :], middle, K)
    return total


def exact(functions, K):
    """The mean of a product of functions, each at its own sample."""
    total = 0.0
    for terms in product(*(f.terms.items() for f in functions)):
        w = np.array([w for (_, w), _ in terms])
        places = [n for n, ((p, _), _) in enumerate(terms) for _ in range(p)]
        size = math.prod(c for _, c in terms) * np.exp(-0.5 * w @ K @ w)
        total += size * wick(places, 1j * K @ w, K)
    return total.real


def norm(f, variance):
    return math.sqrt(exact([f, f], np.full((2, 2), variance)))


def drawn(rng):
    """Functions, a kernel of one to four samples, often of nearly dependent ones, a tolerance."""
    c = float(10 ** rng.uniform(-1, 2))
    kind = rng.integers(5)
    waves = [sine(c), cosine(c), sine(1.0) + sine(15.0, 0.1), sine(8.0, power=1), sine(c, power=1)]
    fast = [c, c, 15.0, 8.0, c][kind]
    # Below 0.3 the closed form of z sin(z) and its slopes cancels; beyond 60 four samples are slow.
    root = 10 ** rng.uniform(math.log10(0.3), math.log10(60.0)) / fast
    count = int(rng.choice([1, 1, 2, 3, 4]))
    x = rng.standard_normal((count, 6))
    if rng.random() < 0.4:
        x = x[:1] * rng.uniform(0.2, 1.0, (count, 1)) + 10 ** rng.uniform(-4, 0) * x
    x *= root / np.linalg.norm(x, axis=1).max()
    return chain(waves[kind]), x @ x.T, float(rng.choice([1e-4, 1e-7, 1e-10]))


def compare(functions, K, tolerance, places):
    found = quadruple_means(functions, K, PATTERNS, [places], tolerance)
    for pattern, table in zip(PATTERNS, found, strict=True):
        chosen = [functions[k] for k in pattern]
        size = math.prod(norm(f, K[n, n]) for f, n in zip(chosen, places, strict=True))
        right = exact(chosen, K[np.ix_(places, places)])
        assert abs(table[tuple(places)] - right) <= (3.0 * tolerance + 1e-13) * size, pattern


@pytest.mark.parametrize("seed", range(30))
def test_any_wave_of_four_samples(seed):
    rng = np.random.default_rng(seed)
    functions, K, tolerance = drawn(rng)
    compare(functions, K, tolerance, sorted(rng.integers(0, len(K), 4).tolist()))


@pytest.mark.parametrize("seed", thinned(range(30, 630), 8))
def test_many_waves_of_four_samples(seed):
    rng = np.random.default_rng(seed)
    functions, K, tolerance = drawn(rng)
    compare(functions, K, tolerance, sorted(rng.integers(0, len(K), 4).tolist()))


@pytest.mark.parametrize("root", np.linspace(0.31, 7.7, 20))
@pytest.mark.parametrize("waves", [sine(10.0), cosine(30.0)])
def test_no_variance_hides_a_wave(waves, root):
    compare(chain(waves), np.array([[root**2]]), 1e-7, [0, 0, 0, 0])


def test_a_quarter_turn_of_a_sine():
    turns = [np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z), np.sin]
    assert quadruple_means(turns, [[138.686]], [(0, 0, 0, 0)])[0].item() == pytest.approx(0.375)


NETWORKS = [
    ("sin(30*z)", sine(30.0), 0.775),
    ("cos(30*z)", cosine(30.0), 0.775),
    ("sin(10*z)", sine(10.0), 1.3),
    ("sin(z)+sin(15*z)/10", sine(1.0) + sine(15.0, 0.1), 3.0),
    ("z*sin(8*z)", sine(8.0, power=1), 2.7),
]


@pytest.mark.parametrize(("text", "waves", "x"), NETWORKS)
def test_networks_of_waves(text, waves, x):
    """At layer 2: V = <σσσσ> - <σσ>², F = K <σσσ'σ'>, D = V - F + ... of the closed forms."""
    mlp = MLP(activation=text, widths=[64], C_b=0.0, C_W=1.0, lambda_b=0.0, lambda_W=1.0)
    K = x * x
    f = chain(waves)

    def mean(*orders):
        return exact([f[k] for k in orders], np.full((len(orders),) * 2, K))

    V = mean(0, 0, 0, 0) - mean(0, 0) ** 2
    # Of σσ and σσ + K σ'σ', the part of the NTK that one layer adds.
    D = V + K * (mean(0, 0, 1, 1) - mean(0, 0) * mean(1, 1))
    for names in ("V", "V D F", "all"):
        found = mlp.propagate([[x]], names.split() if names != "all" else names)
        right = {"V": V, "D": D, "F": K * mean(0, 0, 1, 1)}
        for name in right if names == "all" else names.split():
            assert found[name][1].item() == pytest.approx(right[name], rel=1e-6), (names, name)


def test_a_negative_variance_is_refused(monkeypatch):
    real = tasks.many_inputs.propagate

    def wrong(*args, **options):
        tables = real(*args, **options)
        tables["V"][1, 0, 1, 0, 1] = -0.02
        return tables

    monkeypatch.setattr(tasks.many_inputs, "propagate", wrong)
    mlp = MLP(activation="tanh", widths=[64], C_b=0.0, C_W=1.0)
    with pytest.raises(KernelError, match=r"V of the pair of samples 0 and 1 is -0.02 at layer 2"):
        mlp.propagate([[1.0, 0.3], [0.2, 1.0]], ["V"])


def test_a_small_even_part_beyond_the_series_keeps_opposite_samples_apart():
    waves = chain(sine(1.0) + cosine(40.0, 1e-5))
    K = 17.3 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    for pair, table in zip([(0, 0), (2, 2)], pair_means(waves, K, [(0, 0), (2, 2)]), strict=True):
        chosen = [waves[k] for k in pair]
        size = math.prod(norm(f, 17.3) for f in chosen)
        assert abs(table[0, 1] - exact(chosen, K)) <= 1e-12 * size


def test_a_packet_that_all_halved_steps_take_for_a_bump():
    """In t with z = sinh t its frequency at z = 4 is 402, the second alias of steps of 1/32."""
    means = GaussianMeans(
        smooth_pieces(activation("1+exp(-12.5*(z-4)**2)*cos(97.5*(z-4))")), [(0,)], 15
    )
    K, width, w = 1.0, 0.04, 97.5
    # The mean of exp(-(z-4)^2/(2 width) + iw(z-4)), by completing the square.
    root = cmath.sqrt(width / (width + K))
    shift = -8.0 / (width + K) - w * w * width * K / (2 * (width + K))
    right = 1.0 + (root * cmath.exp(shift - 4j * w * K / (width + K))).real
    assert means(K)[0][0] == pytest.approx(right, abs=1e-12)
