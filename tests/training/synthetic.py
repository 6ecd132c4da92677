"""A training set with tensors that no network has: random, with the symmetries they must have."""

from itertools import permutations

import numpy as np

from symdlt.training.evaluation import Training
from symdlt.training.statistics import Statistics

STAR = [(0, *order) for order in permutations((1, 2, 3))]


def symmetric(array, orders):
    """The mean over orders of the axes."""
    return sum(array.transpose(order) for order in orders) / len(orders)


def squares(rng, samples, count=2):
    """Squares of random symmetric matrices: what the NTK of all neurons fluctuates by."""
    return [symmetric(rng.standard_normal((samples,) * 2), [(0, 1), (1, 0)]) for _ in range(count)]


def random_tensors(rng, samples, size=0.5):
    """All tensors of `predict` by name, and what A and B are made of.

    A and B are covariances. A is the sum of a_12 a_34, and B_1324 that of c_1 d_2 c_3 d_4
    + d_1 c_2 d_3 c_4, for ΔH_12 = δ_12 a_12 ξ + c_1 d_2 ξ_12 + d_1 c_2 ξ_21 with independent ξ.
    """
    features = rng.standard_normal((2, samples, samples + 2)) / np.sqrt(samples + 2)
    K, H = (0.4 * f @ f.T + np.eye(samples) for f in features)

    def tensor(*orders):
        return size * symmetric(rng.standard_normal((samples,) * len(orders[0])), orders)

    whole = [np.sqrt(size) * a for a in squares(rng, samples)]
    c, d = np.sqrt(size) * rng.standard_normal((2, samples))
    pair = np.outer(c, c), np.outer(d, d)
    tensors = {
        "G": K,
        "H": H,
        "G.1": tensor((0, 1), (1, 0)),
        "H.1": tensor((0, 1), (1, 0)),
        "A": sum(np.multiply.outer(a, a) for a in whole),
        "B": np.multiply.outer(*pair) + np.multiply.outer(*pair[::-1]),
        "D": tensor((0, 1, 2, 3), (1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2)),
        "F": tensor((0, 1, 2, 3), (2, 3, 0, 1)),
        "P": tensor((0, 1, 2, 3), (0, 2, 1, 3)),
        "Q": tensor((0, 1, 2, 3)),
        "R": tensor((0, 1, 2, 3), (0, 1, 3, 2)),
        "S": tensor((0, 1, 2, 3), (1, 0, 3, 2)),
        "T": tensor((0, 1, 2, 3), (3, 2, 1, 0)),
        "U": tensor((0, 1, 2, 3), (2, 3, 0, 1)),
    }
    return tensors, (whole, c, d)


def trained(tensors, targets, algorithm):
    """The training of a network with such tensors, of width 1; targets of shape (N_A, n_L)."""
    statistics = Statistics(tensors, len(targets), 1)
    return Training(statistics, targets.T @ statistics.spectrum[1], algorithm)
