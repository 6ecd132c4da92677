"""Time and memory of predictions: run as a script, on one core (OMP_NUM_THREADS=1).

The bars are those of the mean at N_A = N_B = 8 for three layers, and of the projectors alone at
N_A = 64 with given tensors. Infinite width is compared with one Cholesky decomposition.
"""

import resource
import time

import numpy as np

from symdlt import MLP
from symdlt.training import GradientDescent, GradientFlow, predict, predict_infinite
from symdlt.training.evaluation import Training
from symdlt.training.statistics import Statistics

FOUR = "ABDFPQRSTU"


def seconds(work, repeat=1):
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def given(train, test):
    """Random tensors of a training set and a test set."""
    rng = np.random.default_rng(0)
    size = train + test
    features = rng.standard_normal((2, size, size + 8))
    K, H = features @ features.transpose(0, 2, 1) / (size + 8)
    tensors = {"G": K, "H": H + 0.5 * np.eye(size), "G.1": K, "H.1": K}
    tensors |= {name: rng.standard_normal((size,) * 4) for name in FOUR}
    return Statistics(tensors, train, 100)


def projected(train, outputs, moments):
    statistics = given(train, 8)
    values, vectors = statistics.spectrum
    targets = np.random.default_rng(1).standard_normal((outputs, train))
    training = Training(statistics, targets @ vectors, GradientDescent(1 / values[-1]))
    return seconds(lambda: training.moment(moments, 1))


def main():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((16, 20)), rng.standard_normal(8)
    net = MLP(activation="tanh", widths=[100, 100], C_b=0, C_W=1, lambda_b=0.3, lambda_W=1)
    for covariance in (False, True):
        spent = seconds(lambda: predict(net, x[:8], y, x[8:], covariance=covariance))  # noqa: B023
        what = "mean and covariance" if covariance else "mean, bar 5 s"
        print(f"N_A = N_B = 8, three layers, tanh, {what}: {spent:.2f} s")
    spent = projected(64, 1, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"projectors, N_A = 64: {spent:.2f} s (bar 5), {peak:.1f} GB with the tensors (bar 4)")
    for train, outputs in ((8, 1), (16, 1), (16, 4), (32, 1)):
        spent = projected(train, outputs, 2)
        print(f"covariance, N_A = {train}, n_L = {outputs}: {spent:.2f} s")
    x, y = rng.standard_normal((1050, 100)), rng.standard_normal(1000)
    matrix = np.cov(rng.standard_normal((1000, 2000)))
    floor = seconds(lambda: np.linalg.cholesky(matrix), 5)
    kernels = seconds(lambda: net.propagate(x, ["G", "H"]))
    spent = seconds(lambda: predict_infinite(net, x[:1000], y, x[1000:], GradientFlow()))
    print(
        f"infinite width, N_A = 1000: {spent:.2f} s, of which kernels {kernels:.2f} s; the rest is "
        f"{(spent - kernels) / floor:.1f} times one Cholesky decomposition ({floor:.3f} s)"
    )


if __name__ == "__main__":
    main()
