"""What things cost as functions of samples, layers and order.

Each line is a fresh process: seconds without the start of Python, and the most memory it took
beyond what a process has that only imports the library.
"""

from __future__ import annotations

import json
import subprocess
import sys

NETWORK = """
import numpy as np
from symdlt import MLP
def mlp(layers):
    return MLP(activation="tanh", widths=[100] * (layers - 1), C_b=0, C_W=1, lambda_b=0, lambda_W=1)
x = lambda count: np.random.default_rng(0).standard_normal((count, 20))
def flowers(count, scaled):
    # Lengths and widths of leaves, of three kinds: large, with correlations of 0.98 to 0.999.
    rng = np.random.default_rng(0)
    means = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
    found = means[np.arange(count) % 3] + rng.standard_normal((count, 4)) * [0.5, 0.3, 0.4, 0.2]
    return (found - found.mean(axis=0)) / found.std(axis=0) if scaled else found
def wide(layers):
    return MLP(
        activation="tanh", widths=[100] * (layers - 1), C_b=0.1, C_W=1.5, lambda_b=0.1, lambda_W=1
    )
"""
IMPORTS = "import numpy, symdlt.networks, symdlt.training, symdlt.kernels; from symdlt import *\n"
JOBS = {
    "derive all thirteen, many inputs": "derive_system([*correlators(0), *correlators(1)])",
    "derive the 103 of 1/n^2, one input": "[derive(c, inputs='one') for c in correlators(2)]",
    **{
        f"derive the largest of 1/n^{order}, one input": f"derive('X{2 * order + 2}', inputs='one')"
        for order in (1, 2, 3, 4)
    },
    **{
        f"G and H, N = {n}, L = 10": f"mlp(10).propagate(x({n}), ['G', 'H'])"
        for n in (10, 100, 1000)
    },
    **{f"V, N = {n}, L = 10": f"mlp(10).propagate(x({n}), ['V'])" for n in (4, 8, 16, 32)},
    **{f"all thirteen, N = {n}, L = 10": f"mlp(10).propagate(x({n}))" for n in (2, 4, 8, 16)},
    **{f"all thirteen, N = 8, L = {d}": f"mlp({d}).propagate(x(8))" for d in (3, 30)},
    **{
        f"all thirteen, {what} lengths, N = {n}, L = 4": f"wide(4).propagate(flowers({n}, {flag}))"
        for n in (8, 12)
        for what, flag in (("scaled", True), ("raw", False))
    },
    **{
        f"predict, {what} lengths, N = 20 + 2, L = 4": (
            f"predict(wide(4), flowers(22, {flag})[:20], np.ones(20), flowers(22, {flag})[20:])"
        )
        for what, flag in (("scaled", True), ("raw", False))
    },
    "predict, N = 24 + 8, L = 3": "predict(mlp(3), x(24), np.ones(24), x(32)[-8:])",
    "predict, N = 8 + 32, L = 3": "predict(mlp(3), x(8), np.ones(8), x(40)[-32:])",
    **{
        f"predict, N = {n} + 2, L = 3": f"predict(mlp(3), x({n}), np.ones({n}), x({n} + 2)[-2:])"
        for n in (4, 8, 16)
    },
    "all thirteen, one input, L = 10000": "check_exponents(exponents('tanh'), 10000)",
}


def measured(job: str) -> tuple[float, float]:
    """Seconds and megabytes of a job."""
    lines = [
        IMPORTS + NETWORK,
        "import json, resource, time",
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024",
        "before, start = peak(), time.perf_counter()",
        job,
        "print(json.dumps([time.perf_counter() - start, peak() - before]))",
    ]
    found = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    seconds, megabytes = json.loads(found.stdout.splitlines()[-1])
    return seconds, megabytes


def main() -> None:
    """Print a line for each job."""
    for name, job in JOBS.items():
        seconds, megabytes = measured(job)
        print(f"{name:42} {seconds:8.2f} s {megabytes:7.0f} MB", flush=True)


if __name__ == "__main__":
    main()
