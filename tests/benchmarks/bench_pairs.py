"""Speed and accuracy of pair means: run as a script, on one core (OMP_NUM_THREADS=1).

The work is K and Theta in ten layers at criticality. Prints for tanh and each number of samples
our time, the bar, the error, and the floor: the multiplications that the method needs, at the rate
that a matrix product reaches here. The coefficients are kept from one call to the next. Then the
same by the kernel for many inputs, for tanh and activations with closed forms, next to
neural-tangents if the interpreter that SYMDLT_PEER_PYTHON names, or this one, has it.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from symdlt.kernels import many_inputs
from symdlt.means import ClosedMeans, KinkedMeans, SmoothMeans
from symdlt.means.correlations import upper_of
from symdlt.means.layers import coefficients_at, kept_range, range_for, spectra_in
from symdlt.means.pairs import wanted_by
from symdlt.means.triangle import triangle

DEPTH = 10
TASKS = [(0, 0), (1, 1)]
TANH = [np.tanh, lambda z: 1.0 - np.tanh(z) ** 2]
BARS = {10: 0.7, 200: 8.0}
CLOSED_BAR = 0.2
RELU = [lambda z: np.maximum(z, 0.0), lambda z: np.heaviside(z, 0.5)]
LAYERS = {
    "tanh": (1.0, TANH, lambda: SmoothMeans(TANH)),
    "erf": (np.pi / 4, TANH, lambda: ClosedMeans(TANH, "erf")),
    "gelu": (1.98305826, TANH, lambda: ClosedMeans(TANH, "gelu")),
    "relu": (2.0, RELU, lambda: KinkedMeans(RELU, [(0.0, (0.0, 1.0))])),
}
PEER = """
import json, sys, time, jax, numpy as np
jax.config.update("jax_enable_x64", True)
import neural_tangents
from neural_tangents import stax
name, count, C_W = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
slope = lambda x: 1 - jax.numpy.tanh(x) ** 2
tanh = lambda: stax.ElementwiseNumerical(jax.numpy.tanh, deg=25, df=slope)
step = {"erf": stax.Erf, "gelu": stax.Gelu, "relu": stax.Relu, "tanh": tanh}[name]
dense = lambda: stax.Dense(1, W_std=C_W**0.5, b_std=None)
parts = [dense()] + [part for _ in range(9) for part in (step(), dense())]
run = jax.jit(stax.serial(*parts)[2], static_argnums=(2,))
x = np.random.default_rng(0).standard_normal((count, 100))
def seconds():
    start = time.perf_counter()
    found = run(x, None, ("nngp", "ntk"))
    jax.block_until_ready((found.nngp, found.ntk))
    return time.perf_counter() - start
first = seconds()
print(json.dumps([first, min(seconds() for _ in range(3 if name == "tanh" else 20))]))
"""


def first_kernel(count: int) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal((count, 100))
    return x @ x.T / 100


def propagate(K: np.ndarray, means: Callable) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """K and Theta at every layer, C_W = 1 and C_b = 0."""
    theta = K
    yield K, theta
    for _ in range(DEPTH - 1):
        values, slopes = means(K)
        slopes *= theta
        slopes += values
        K, theta = values, slopes
        yield K, theta


def by_tables(K: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """As kernels do: pairs once; what was tested for some variances serves all layers in them."""
    pairs = triangle(len(K))
    steps = [lambda mean: mean] * (DEPTH - 2)
    tables = SmoothMeans(TANH).pair_tables(TASKS, steps)
    return propagate(pairs.packed(K), lambda kernel: tables(kernel, pairs))


def last(layers: Iterator[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    for layer in layers:
        final = layer
    return final


def plain(K: np.ndarray) -> list[np.ndarray]:
    """Each mean by a fine two-dimensional sum in 80-bit floats."""
    step = np.longdouble(0.1)
    x = step * np.arange(-100, 101)
    w = np.exp(-(x**2) / 2)
    w /= w.sum()
    tanh = (np.tanh, lambda z: 1 / np.cosh(z) ** 2)
    result = [np.zeros(K.shape, np.longdouble) for _ in tanh]
    for i, j in np.ndindex(K.shape):
        root = np.sqrt(K[i, i])
        rest = np.sqrt(max(0, K[j, j] - (K[i, j] / root) ** 2))
        z = K[i, j] / root * x[:, None] + rest * x
        for function, matrix in zip(tanh, result, strict=True):
            matrix[i, j] = (w * function(root * x)) @ (function(z) @ w)
    return result


def error() -> float:
    """The largest error of K or Theta at any layer, relative to the diagonal."""
    K = first_kernel(4)
    pairs = triangle(4)
    exact = propagate(K.astype(np.longdouble), plain)
    worst = 0.0
    for ours, theirs in zip(by_tables(K), exact, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            scale = np.sqrt(np.outer(b.diagonal(), b.diagonal()))
            worst = max(worst, float(np.abs((pairs.whole(a) - b) / scale).max()))
    return worst


def best(work: Callable, repeat: int) -> float:
    seconds = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def rates() -> tuple[float, float]:
    """Seconds for one tanh, and for one multiplication and addition in a matrix product."""
    z, square = np.linspace(-3.0, 3.0, 1 << 16), np.ones((400, 400))
    return (
        best(lambda: np.tanh(z), 20) / z.size,
        best(lambda: square @ square, 20) / 400**3,
    )


def operations(K: np.ndarray) -> int:
    """The multiplications in all layers: coefficients, powers, and sums for both means."""
    count = len(K)
    products = 0
    wanted = wanted_by(tuple(TASKS))
    for kernel, _ in islice(by_tables(K), DEPTH - 1):
        given = upper_of(kernel, triangle(count))
        highest = float(given.roots.max())
        known = range_for(TANH, wanted, float(given.roots.min()), highest, given.most)
        (found,) = coefficients_at(known, given.roots[None], wanted, None)
        length = spectra_in(known, found, given.most).length
        products += known.table.size * count
        products += (1 + 1 + 2) * length * count * (count + 1) // 2
    return products


def by_kernel(name: str, count: int) -> float:
    C_W, activation, means = LAYERS[name]
    overlap = first_kernel(count)
    rates = {"C_b": 0.0, "C_W": C_W, "lambda_b": 0.0, "lambda_W": 1.0}
    return best(
        lambda: many_inputs.propagate(
            activation, overlap, DEPTH, **rates, tensors=["H"], means=means()
        ),
        100,
    )


def peer(name: str, count: int) -> tuple[float, float] | None:
    """The first and the best later time of neural-tangents on one core, if it is there."""
    python = os.environ.get("SYMDLT_PEER_PYTHON", sys.executable)
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    done = subprocess.run(
        [python, "-c", PEER, name, str(count), str(LAYERS[name][0])],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
    )
    return tuple(json.loads(done.stdout)) if done.returncode == 0 else None


def compare() -> None:
    for name in LAYERS:
        for count in BARS:
            ours, theirs = by_kernel(name, count), peer(name, count)
            bar = BARS[count] if name == "tanh" else CLOSED_BAR if count == 10 else None
            goal = f"bar {bar:4.1f} ms" if bar else "bar half of the peer"
            other = "not compared"
            if theirs:
                first, steady = theirs
                other = (
                    f"{steady * 1e3:8.2f} ms ({steady / ours:.1f}x), "
                    f"first {first * 1e3:5.0f} ms ({first / ours:.0f}x)"
                )
            print(
                f"kernel, {name:4s}, N = {count:3d}: {ours * 1e3:6.2f} ms   {goal:20s}   "
                f"neural-tangents {other}"
            )


def main() -> None:
    tanh_time, product_time = rates()
    print(f"tanh {tanh_time * 1e9:.2f} ns, multiplication in a product {product_time * 1e9:.3f} ns")
    print(f"error of K and Theta: {error():.1e}   bar 1e-13")
    for count, bar in BARS.items():
        K = first_kernel(count)
        kept_range.cache_clear()
        start = time.process_time()
        last(by_tables(K))
        first = time.process_time() - start
        seconds = best(lambda K=K: last(by_tables(K)), 100)
        floor = operations(K) * product_time
        print(
            f"N = {count:3d}: {seconds * 1e3:6.2f} ms, the first time {first * 1e3:5.2f} ms   "
            f"bar {bar:4.1f} ms   floor {floor * 1e3:6.3f} ms   {seconds / floor:5.1f} x floor"
        )
    compare()


if __name__ == "__main__":
    main()
