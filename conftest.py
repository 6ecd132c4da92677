"""What the tests of all folders need: one thread a worker, and what is not installed left out."""

import gc
import os
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

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


ROOT = Path(__file__).parent
# A cross-section of the way from definitions to numbers, about 25 s of one core.
SMOKE = {
    ROOT / name
    for name in (
        "README.md",
        "tests/asymptotics/test_balance.py",
        "tests/book/test_single_input.py",
        "tests/algebra/test_canonical.py",
        "tests/means/test_closed.py",
        "tests/networks/test_result.py",
        "tests/definitions/test_tensors.py",
        "tests/derivation/test_against_book.py",
        "tests/derivation/test_json_fields.py",
        "tests/test_api.py",
        "tests/test_files.py",
        "tests/formats/test_latex.py",
        "tests/algebra/test_expectation.py",
    )
}


def pytest_configure() -> None:
    """A file of the cross-section that has been renamed would be left out without a word."""
    if gone := sorted(str(path) for path in SMOKE if not path.is_file()):
        raise pytest.UsageError(f"SMOKE names files that are not there: {', '.join(gone)}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where the cross-section alone is asked for, others are not even read."""
    left_out = config.option.markexpr == "smoke" and collection_path.is_file()
    return True if left_out and collection_path not in SMOKE else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: garbage is looked for neither in it nor meanwhile."""
    was_looked_for = gc.isenabled()
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        if was_looked_for:
            gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Examples of kernels in JAX take compilers and are slow; some files are smoke tests."""
    for item in items:
        if item.path.match("golden/jax/*.py"):
            item.add_marker(pytest.mark.slow)
        long = any(item.get_closest_marker(name) for name in ("slow", "sweep"))
        if item.path in SMOKE and not long:
            item.add_marker(pytest.mark.smoke)
