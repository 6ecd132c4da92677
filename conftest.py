"""What the tests of all folders need: one thread a worker, and what is not installed left out."""

import os
from importlib.util import find_spec

import pytest

# Most of the time of tests in JAX is that of its compiler; values have the same digits without it.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

# Each worker has a core: threads of the BLAS would wait for each other, at three times the time.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

NEEDING = {
    "jax": ["symdlt/kernels/jax_target/running/*.py", "tests/golden/jax/*.py"],
    "neural_tangents": ["tests/benchmarks/bench_jax.py"],
}
collect_ignore_glob = [
    pattern for name, patterns in NEEDING.items() if not find_spec(name) for pattern in patterns
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Examples of kernels in JAX take compilers; they are slow tests."""
    for item in items:
        if item.path.match("golden/jax/*.py"):
            item.add_marker(pytest.mark.slow)
