"""Kernels by blocks on the disk: run as a script, with OMP_NUM_THREADS=1.

Prints seconds of processor, microseconds for each of the N^2 entries, and memory: of 2000 samples
at once, and of more by tasks of 2 GB, each in a fresh process.
"""

import multiprocessing
import resource
import sys
import tempfile
import time

import numpy as np

from symdlt import MLP
from symdlt.networks import store_kernels

MEMORY = 2e9


def measure(count: int, stored: bool) -> None:
    x = np.random.default_rng(0).standard_normal((count, 50))
    net = MLP(activation="tanh", widths=[100] * 3, C_b=0.1, C_W=1.5, lambda_b=0.1, lambda_W=1)
    start = time.process_time()
    if stored:
        with tempfile.TemporaryDirectory() as folder:
            store = store_kernels(net, x, folder, memory=MEMORY, progress=False)
            tasks = len(store.lots)
    else:
        net.propagate(x, ["G", "H"], progress=False)
        tasks = 1
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rate = 1e6 * seconds / count**2
    print(
        f"N = {count:6}  {tasks:4} tasks  {seconds:7.1f} s  {rate:6.3f} us/entry  {memory:5.2f} GB",
        flush=True,
    )


def main() -> None:
    for count, stored in ((2000, False), *((int(n), True) for n in sys.argv[1:] or (20_000,))):
        process = multiprocessing.get_context("spawn").Process(target=measure, args=(count, stored))
        process.start()
        process.join()


if __name__ == "__main__":
    main()
