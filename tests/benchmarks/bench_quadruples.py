"""Speed and accuracy of means over four samples: run as a script, with OMP_NUM_THREADS=1.

Prints our time, the bar, the error in units of the largest and of the rms <tanh tanh tanh tanh>,
and the floor: evaluations of the activation and multiplications that were done, at the rates
that the activation and a large matrix product reach here. The peer is scipy's cubature.
"""

import importlib.util
import math
import time
from collections.abc import Callable

import numpy as np

from symdlt.means import quadruple_means, refinement
from symdlt.means.blocks import block_means, last_rows

TOLERANCE = 1e-6
TANH = [
    np.tanh,
    lambda z: 1 - np.tanh(z) ** 2,
    lambda z: together(z, 3)[2],
    lambda z: together(z, 4)[3],
]
ALL = [(0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1), (0, 1, 1, 2), (1, 1, 1, 3), (1, 1, 2, 2)]
CASES = [(8, ALL[:1], 35.0), (16, ALL[:1], 500.0), (8, ALL, 150.0)]


def together(z: np.ndarray, count: int) -> list[np.ndarray]:
    t = np.tanh(z)
    found = [t]
    if count > 1:
        found.append(1 - t * t)
    if count > 2:
        found.append(-2 * t * found[1])
    if count > 3:
        found.append(found[1] * (6 * t * t - 2))
    return found


def kernel(count: int, strong: bool) -> np.ndarray:
    """Standard deviations of 0.8 to 1.2; correlations of about 0.6, or of at most about 0.3."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((count, 100)) + strong * 1.2 * rng.standard_normal(100)
    K = x @ x.T
    roots = rng.uniform(0.8, 1.2, count) / np.sqrt(np.diag(K))
    return K * np.outer(roots, roots)


def best(work: Callable, repeat: int) -> float:
    seconds = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def counted(work: Callable) -> tuple[int, int]:
    """Evaluations of tanh, and multiplications in matrix products."""
    evaluations = products = 0

    def counting(model, block, left, given, inner):
        nonlocal evaluations, products
        terms, nodes = inner.table.shape
        width, others = given.weights.size, block.others.size
        orders = {k for rests in block.products.values() for rest in rests for k in rest}
        rows = sum(len(r) for r in last_rows(block).values())
        evaluations += width * nodes * others
        products += width * terms * others * (len(orders) * nodes + rows * others)
        return block_means(model, block, left, given, inner)

    refinement.block_means = counting
    work()
    refinement.block_means = block_means
    return evaluations, products


def main() -> None:
    z, square = np.linspace(-3.0, 3.0, 1 << 14), np.ones((400, 400))
    product_time = best(lambda: square @ square, 20) / 400**3
    for count, patterns, bar in CASES:
        orders = 1 + max(k for p in patterns for k in p)
        rate = best(lambda orders=orders: together(z, orders), 50) / z.size
        for strong in (True, False):
            K = kernel(count, strong)

            def work(K=K, patterns=patterns, tolerance=TOLERANCE):
                return quadruple_means(TANH, K, patterns, None, tolerance, together)

            found = work()
            exact = work(tolerance=1e-10)
            seconds = best(work, 7)
            evaluations, products = counted(work)
            floor = evaluations * rate + products * product_time
            off = max(float(np.abs(a - b).max()) for a, b in zip(found, exact, strict=True))
            largest, rms = np.abs(exact[0]).max(), math.sqrt(np.mean(exact[0] ** 2))
            print(
                f"N = {count:2d}, {len(patterns)} patterns, {'strong' if strong else 'weak  '}: "
                f"{seconds * 1e3:6.1f} ms   bar {bar:3.0f} ms   "
                f"error {off / largest:.1e} of the largest, {off / rms:.1e} of the rms mean   "
                f"floor {floor * 1e3:5.1f} ms   {seconds / floor:4.1f} x floor"
            )
    compare()


def compare() -> None:
    """One mean by scipy."""
    if importlib.util.find_spec("scipy") is None:
        print("scipy cubature: not compared (not installed)")
        return
    from scipy.integrate import cubature

    root = np.linalg.cholesky(kernel(4, True))

    def integrand(x):
        return np.prod(np.tanh(x @ root.T), axis=1) * np.exp(-0.5 * (x**2).sum(axis=1))

    def work():
        return cubature(integrand, [-8.0] * 4, [8.0] * 4, rtol=1e-3)

    print(f"scipy cubature, rtol 1e-3: {best(work, 1):.2f} s for one mean")


if __name__ == "__main__":
    main()
