"""Mean and covariance of trained outputs against exact averages over synthetic networks.

z, H, dH, ddH are polynomials in Gaussian variables whose cumulants are the tensors, so that
averages are exact sums over the nodes of a quadrature, and nothing is sampled. The tensors are of
size s, and what the theory leaves out is smaller by another s.
"""

from itertools import combinations, product

import numpy as np
import pytest
from cases import slow

from symdlt.definitions import DNTK
from symdlt.definitions import NTK as NTK_TREE
from symdlt.training import GradientDescent, GradientFlow, TwoStep, evaluation, train_network
from symdlt.training.evaluation import Training
from symdlt.training.statistics import Statistics

from .dynamics import iterated

TRAIN, SAMPLES, OUTPUTS = 2, 3, 2
ONE = np.eye(OUTPUTS)
RNG = np.random.default_rng(3)
FEATURES = RNG.standard_normal((2, SAMPLES, SAMPLES + 2)) / 2
K, THETA = FEATURES @ FEATURES.transpose(0, 2, 1) + 0.3 * np.eye(SAMPLES)
Y = RNG.standard_normal((TRAIN, OUTPUTS))
FOUR = (SAMPLES,) * 4
FLAT = {k: np.zeros((SAMPLES, OUTPUTS) * k) for k in (2, 3, 4)}
NTK = np.einsum("ij,ab->aibj", ONE, THETA)


def drawn(order):
    """Numbers for a tensor with a symmetry, always the same."""
    array = np.random.default_rng(sum(order[:2])).standard_normal(FOUR)
    return (array + array.transpose(order)) / 2


def quartic(n):
    """Points and weights that are exact for polynomials of the fifth degree (McNamee, Stenger)."""
    yield np.zeros(n), 1 + (n * n - 7 * n) / 18
    for k, sign in product(range(n), (1, -1)):
        yield np.sqrt(3) * sign * np.eye(n)[k], (4 - n) / 18
    for (j, k), x, y in product(combinations(range(n), 2), (1, -1), (1, -1)):
        yield np.sqrt(3) * (x * np.eye(n)[j] + y * np.eye(n)[k]), 1 / 36


def quadratic(dimensions):
    """Points and weights that are exact for polynomials of the third degree."""
    for k, sign in product(range(dimensions), (1, -1)):
        point = np.zeros(dimensions)
        point[k] = sign * dimensions**0.5
        yield point, 0.5 / dimensions


def preactivations(point, covariance=K):
    return np.linalg.cholesky(covariance) @ point.reshape(SAMPLES, OUTPUTS)


def means_of_the_ddntks(s):
    R = s * drawn((0, 1, 3, 2))
    S, T, U = (s * drawn(order) for order in ((1, 0, 3, 2), (3, 2, 1, 0), (2, 3, 0, 1)))
    one = sum(
        np.einsum(f"{subscripts}->aibjckdl", ONE, ONE, R)
        for subscripts in ("ij,kl,abcd", "ik,jl,acbd", "il,jk,adbc")
    )
    two = sum(
        np.einsum(f"{subscripts}->aibjckdl", ONE, ONE, tensor)
        for subscripts, tensor in (("ij,kl,abcd", S), ("ik,jl,acdb", T), ("il,jk,adbc", U))
    )

    def networks():
        for point, weight in quartic(SAMPLES * OUTPUTS):
            yield weight, (preactivations(point), NTK, FLAT[3], one, two)

    return {"R": R, "S": S, "T": T, "U": U}, networks


def dntk_that_follows_z(s):
    p, q = s * drawn((0, 2, 1, 3)), s * drawn((0, 1, 2, 3))

    def networks():
        for point, weight in quartic(SAMPLES * OUTPUTS):
            z = preactivations(point)
            curved = np.einsum("jk,abcd,di->aibjck", ONE, p, z)
            curved += np.einsum("ij,abcd,dk->aibjck", ONE, q, z)
            curved += np.einsum("ik,acbd,dj->aibjck", ONE, q, z)
            yield weight, (z, NTK, curved, FLAT[4], FLAT[4])

    return {"P": p @ K, "Q": q @ K}, networks


def ntk_that_follows_z(s):
    d = s * drawn((1, 0, 2, 3))
    d, f = (d + d.transpose(0, 1, 3, 2)) / 2, s * drawn((1, 0, 3, 2))

    def networks():
        for point, weight in quartic(SAMPLES * OUTPUTS):
            z = preactivations(point)
            square = z @ z.T - OUTPUTS * K
            moved = NTK + np.einsum("ij,abcd,cd->aibj", ONE, d, square)
            moved += np.einsum("abcd,ci,dj->aibj", f, z, z)
            moved -= np.einsum("ij,abcd,cd->aibj", ONE, f, K)
            yield weight, (z, moved, FLAT[3], FLAT[4], FLAT[4])

    D = 2 * np.einsum("abcd,ce,df->efab", d, K, K)
    F = np.einsum("abcd,ce,df->eafb", f, K, K)
    return {"D": D, "F": F}, networks


def ntk_that_fluctuates(s):
    m, b = s**0.5 * drawn((0, 1, 2, 3))[:2, 0]
    m = m + m.T

    def networks():
        for point, weight in quartic(1 + OUTPUTS**2):
            one, g = point[0], point[1:].reshape(OUTPUTS, OUTPUTS)
            moved = NTK + one * np.einsum("ij,ab->aibj", ONE, m)
            moved += np.einsum("ij,ab->aibj", g, b) + np.einsum("ji,ba->aibj", g, b)
            for place, share in quadratic(SAMPLES * OUTPUTS):
                yield weight * share, (preactivations(place), moved, FLAT[3], FLAT[4], FLAT[4])

    A = np.einsum("ab,cd->abcd", m, m)
    B = np.einsum("ac,bd->abcd", b, b) + np.einsum("ca,db->abcd", b, b)
    return {"A": A, "B": B}, networks


def means_that_are_shifted(s):
    shifts = drawn((0, 1, 2, 3))[:2, 0]
    metric, ntk = s * (shifts + shifts.transpose(0, 2, 1))

    def networks():
        moved = NTK + np.einsum("ij,ab->aibj", ONE, ntk)
        for point, weight in quadratic(SAMPLES * OUTPUTS):
            yield weight, (preactivations(point, K + metric), moved, FLAT[3], FLAT[4], FLAT[4])

    return {"G.1": metric, "H.1": ntk}, networks


CASES = [
    means_of_the_ddntks,
    dntk_that_follows_z,
    ntk_that_follows_z,
    ntk_that_fluctuates,
    means_that_are_shifted,
]


def statistics(tensors):
    nothing = dict.fromkeys("ABDFPQRSTU", np.zeros(FOUR))
    nothing |= dict.fromkeys(("G.1", "H.1"), np.zeros((SAMPLES, SAMPLES)))
    return Statistics({"G": K, "H": THETA} | nothing | tensors, TRAIN, 1)


def predicted(tensors, algorithm):
    """The changes of mean and covariance."""
    known = statistics(tensors)
    training = Training(known, Y.T @ known.spectrum[1], algorithm)
    return [sum(training.moment(outputs, 1).values()) for outputs in (1, 2)]


def averaged(networks, algorithm):
    total = square = 0.0
    for weight, network in networks:
        z = train_network(*network, Y, algorithm)
        total = total + weight * z
        square = square + weight * np.einsum("ai,bj->abij", z, z)
    return total, square - np.einsum("ai,bj->abij", total, total)


def still(algorithm):
    """Mean and covariance of networks that do not bend."""
    networks = (
        (weight, (preactivations(point), NTK, FLAT[3], FLAT[4], FLAT[4]))
        for point, weight in quadratic(SAMPLES * OUTPUTS)
    )
    return averaged(networks, algorithm)


def differences(case, algorithm, s, *flips):
    """What is left of the changes of mean and covariance, and how large these are.

    With flips, once for each tensor that gets the wrong sign.
    """
    tensors, networks = case(s)
    exact = averaged(networks(), algorithm)
    changes = [a - b for a, b in zip(exact, still(algorithm), strict=True)]
    if flips:
        return [
            left_over(changes, predicted(tensors | {name: -tensors[name]}, algorithm))
            for name in flips
        ]
    return left_over(changes, predicted(tensors, algorithm))


def left_over(changes, ours):
    left = [np.abs(a - b).max() for a, b in zip(changes, ours, strict=True)]
    return left, [np.abs(change).max() for change in changes]


H_MAX = np.linalg.eigvalsh(THETA[:TRAIN, :TRAIN])[-1]
ALGORITHMS = [GradientDescent(1.1 / H_MAX), GradientFlow(), TwoStep()]


# What the NTK alone does is the same for all algorithms that train to the end.
PAIRED = [(case, a) for case in CASES for a in ALGORITHMS[: 1 if case in CASES[3:] else 3]]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "algorithm"), PAIRED, ids=lambda x: getattr(x, "__name__", ""))
def test_mean_and_covariance_are_exact_to_first_order(case, algorithm):
    s = 1e-7
    left, size = differences(case, algorithm, s)
    for rest, change in zip(left, size, strict=True):
        assert rest < 1e-3 * max(change, s)
    assert max(size) > 0.1 * s


@pytest.mark.parametrize("algorithm", [GradientFlow(1.0), slow(GradientDescent(0.4, steps=3))])
@pytest.mark.parametrize("case", [CASES[0], CASES[1]], ids=lambda case: case.__name__)
def test_in_the_course_of_training(case, algorithm):
    left, size = differences(case, algorithm, 1e-6)
    assert max(left) < 1e-3 * max(size)


@pytest.mark.parametrize("case", [*CASES[:3], slow(CASES[3])], ids=lambda case: case.__name__)
def test_a_wrong_sign_is_noticed(case):
    for left, size in differences(case, GradientFlow(), 1e-6, *case(1.0)[0]):
        assert max(rest / change for rest, change in zip(left, size, strict=True)) > 0.01


def test_no_average_is_idle(monkeypatch):
    """Each term of each average changes a mean or a covariance."""
    rng = np.random.default_rng(5)
    known = statistics({name: rng.standard_normal(FOUR) for name in "ABDFPQRSTU"})
    training = Training(known, Y.T @ known.spectrum[1], GradientDescent(0.5 / H_MAX))
    for response in evaluation.responses():
        whole = training.part((response,), 1, known.propagator)
        terms = evaluation.averages((response,), 1)
        for term in terms:
            less = {key: number for key, number in terms.items() if key != term}
            monkeypatch.setattr(evaluation, "averages", lambda *_, kept=less: kept)
            if "H.1" not in dict(term.tensors):
                assert not np.allclose(training.part((response,), 1, known.propagator), whole)
        monkeypatch.undo()


@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case.__name__)
def test_the_ntk_moves_as_the_dynamics_says(case):
    s, steps = 1e-6, [0.5 / H_MAX] * 4
    tensors, networks = case(s)
    size, trained = SAMPLES * OUTPUTS, TRAIN * OUTPUTS
    ntk = dntk = 0.0
    for weight, (z, *trees) in networks():
        flat = [tree.reshape((size,) * (tree.ndim // 2)) for tree in trees]
        _, H, dH = iterated(z.ravel(), *flat, Y.ravel()[:trained], steps)
        ntk, dntk = ntk + weight * H, dntk + weight * dH
    known = statistics(tensors)
    algorithm = GradientDescent(steps[0], steps=len(steps))
    training = Training(known, Y.T @ known.spectrum[1], algorithm)
    ours = training.observable(NTK_TREE).transpose(0, 2, 1, 3).reshape(size, size)
    assert np.abs(ntk - NTK.reshape(size, size) - ours).max() < 1e-3 * np.abs(ours).max()
    ours = training.observable(DNTK).transpose(0, 3, 1, 4, 2, 5).reshape((size,) * 3)
    assert np.abs(dntk - ours).max() < 1e-3 * np.abs(ours).max() + 1e-13
