"""Speed of the kernel for many inputs: run as a script, on one core (OMP_NUM_THREADS=1).

Prints our time, the bar, and the floor: the evaluations of tanh that the means over four samples
take, counted, at the rate numpy's tanh reaches here. Nobody else computes P … U, so there is no
peer for all thirteen; bench_pairs.py has that of K and Theta.
"""

import subprocess
import sys
import time
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from bench_kernels import tanh_functions, tanh_rate

from symdlt import MLP, progress
from symdlt.definitions import BOOK
from symdlt.kernels.many_inputs import propagate

FRESH = (
    "import numpy as np\n"
    "from symdlt.kernels.many_inputs import propagate\n"
    "t = [np.tanh, lambda z: 1.0 - np.tanh(z) ** 2]\n"
    "print(propagate(t, np.array([[1.0, 0.5], [0.5, 2.0]]), 10, C_b=0.0, C_W=1.0, lambda_b=0.0,"
    " lambda_W=1.0, tensors=['H'])['H'][-1, 0, 1])\n"
)


def inputs(count: int) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal((count, 100))
    return x @ x.T / 100


def run(count: int, depth: int, activation: list) -> None:
    propagate(
        activation,
        inputs(count),
        depth,
        C_b=0.0,
        C_W=1.0,
        lambda_b=1.0 / depth,
        lambda_W=1.0 / depth,
        tensors=BOOK,
        tolerance=1e-6,
    )


def evaluations(count: int, depth: int) -> int:
    """How many elements the activation itself is called with."""
    seen = 0

    def counted(z: np.ndarray) -> np.ndarray:
        nonlocal seen
        seen += np.size(z)
        return np.tanh(z)

    run(count, depth, [counted, *tanh_functions(4)[1:]])
    return seen


def main() -> None:
    rate = min(tanh_rate() for _ in range(5))
    print(f"numpy tanh: {rate * 1e9:.2f} ns an element")
    for count, depth, bar in ((4, 10, None), (8, 10, 3.0), (16, 3, None)):
        floor = evaluations(count, depth) * rate
        best = float("inf")
        for _ in range(2):
            start = time.perf_counter()
            run(count, depth, tanh_functions(4))
            best = min(best, time.perf_counter() - start)
        goal = f"bar {bar:.0f} s" if bar else "no bar "
        print(
            f"thirteen tensors, N = {count:2d}, L = {depth:2d}   {best:7.3f} s   {goal}   "
            f"floor {floor:6.3f} s   {best / floor:5.1f} x floor"
        )
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", FRESH], check=True, stdout=subprocess.DEVNULL)
    print(
        f"import and first number, fresh process: {time.perf_counter() - start:.3f} s   bar 0.5 s"
    )
    told_time()


def told_time() -> None:
    """What stderr says is left of a propagation, next to how long it takes; a factor of three."""
    progress.TOLD_FROM = 1e-9
    mlp = MLP(activation="tanh", widths=[8], C_b=0.1, C_W=1.2)
    data = np.random.default_rng(0).standard_normal((36, 6))
    start = time.perf_counter()
    with redirect_stderr(StringIO()) as said:
        mlp.propagate(data, "V")
    taken = time.perf_counter() - start
    first, *_ = [line for line in said.getvalue().splitlines() if "left" in line] or ["nothing"]
    print(f"time that is told: {first.strip()}; taken {taken:.2f} s")


if __name__ == "__main__":
    main()
