"""What imports jax is collected only where jax is installed."""

from importlib.util import find_spec

if find_spec("jax") is None:
    collect_ignore_glob = ["symdlt/kernels/jax_target/running/*.py", "tests/golden/jax/*.py"]
