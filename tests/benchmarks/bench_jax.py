"""Kernels in JAX next to neural-tangents, in one process: run as a script, on one core.

Needs jax and neural-tangents (0.6.5 with jax 0.4.36 was measured). The work is K and Theta of the
last of ten layers, as the peer returns it, at criticality. Both are compiled by the same XLA, and
called in turns, a few times each; the figures are the least times of the processor. Prints them,
their ratio and its bar, the largest difference of our K and Theta from those of the NumPy kernel
relative to the diagonal, and what our first call took.
"""

import tempfile
import time
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
from neural_tangents import stax

from symdlt.kernels import kernel_for, many_inputs, numpy_activation
from symdlt.means import ClosedMeans, KinkedMeans, SmoothMeans

DEPTH = 10
# C_W at criticality, and the bars at N = 200; at N = 10 it is 1, by issue.
CASES = {"erf": (np.pi / 4, 1.5), "gelu": (1.98305826, 1.5), "relu": (2.0, 1.5), "tanh": (1.0, 100)}
RELU = [lambda z: np.maximum(z, 0.0), lambda z: np.heaviside(z, 0.5)]


def generated(name: str) -> ModuleType:
    """The kernel of an activation, written and imported."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"jax_{name}.py"
        path.write_text(kernel_for(["G", "H"], activation=name, target="jax").text, "utf-8")
        spec = spec_from_file_location(path.stem, path)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def ours(name: str, C_W: float) -> Callable:
    module = generated(name)

    @jax.jit
    def run(x):
        overlap, _ = module.overlaps(x)
        numbers = {"C_b": 0.0, "C_W": C_W, "lambda_b": 0.0, "lambda_W": C_W}
        last = module.propagate(overlap, DEPTH, **numbers, every_layer=False)
        return last["G"], last["H"]

    return run


def theirs(name: str, C_W: float) -> Callable:
    slope = lambda x: 1 - jnp.tanh(x) ** 2  # noqa: E731
    step = {
        "erf": stax.Erf,
        "gelu": stax.Gelu,
        "relu": stax.Relu,
        "tanh": lambda: stax.ElementwiseNumerical(jnp.tanh, deg=25, df=slope),
    }[name]
    dense = lambda: stax.Dense(1, W_std=C_W**0.5, b_std=None)  # noqa: E731
    parts = [dense(), *(part for _ in range(DEPTH - 1) for part in (step(), dense()))]
    kernel = stax.serial(*parts)[2]

    @jax.jit
    def run(x):
        found = kernel(x, None, ("nngp", "ntk"))
        return found.nngp, found.ntk

    return run


def exact(name: str, C_W: float, x: np.ndarray) -> dict:
    means = {
        "erf": lambda s: ClosedMeans(s, "erf"),
        "gelu": lambda s: ClosedMeans(s, "gelu"),
        "relu": lambda s: KinkedMeans(RELU, [(0.0, (0.0, 1.0))]),
        "tanh": SmoothMeans,
    }[name]
    functions = RELU if name == "relu" else list(numpy_activation(name, 1).functions)
    numbers = {"C_b": 0.0, "C_W": C_W, "lambda_b": 0.0, "lambda_W": C_W}
    overlap = x @ x.T / x.shape[1]
    return many_inputs.propagate(
        functions, overlap, DEPTH, **numbers, tensors=["G", "H"], means=means(functions)
    )


def seconds(run: Callable, x: np.ndarray) -> float:
    start = time.process_time()
    jax.block_until_ready(run(x))
    return time.process_time() - start


def steady(run: Callable, x: np.ndarray) -> float:
    """The least time of a few calls in a row, as what the other has left in caches counts once."""
    return min(seconds(run, x) for _ in range(3))


def error(found: tuple, wanted: dict) -> float:
    worst = 0.0
    for values, name in zip(found, ("G", "H"), strict=True):
        last = wanted[name][-1]
        scale = np.sqrt(np.outer(last.diagonal(), last.diagonal()))
        worst = max(worst, float(np.abs((np.asarray(values) - last) / scale).max()))
    return worst


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print(f"{'':12}{'ours':>12}{'peer':>12}{'ratio':>8}{'bar':>6}{'error':>10}{'compiled':>10}")
    for name, (C_W, bar) in CASES.items():
        for count in (10, 200):
            x = np.random.default_rng(0).standard_normal((count, 100))
            runs = ours(name, C_W), theirs(name, C_W)
            first = seconds(runs[0], x)
            seconds(runs[1], x)
            rounds = 3 if name == "tanh" and count > 10 else 2000 // count
            measured = np.array([[steady(run, x) for run in runs] for _ in range(rounds)])
            least = measured.min(axis=0)
            shown = "".join(f"{1e3 * one:9.3f} ms" for one in least)
            wrong = error(runs[0](x), exact(name, C_W, x))
            needed = bar if count == 200 else 1
            print(
                f"{name:6}{count:>6}{shown}{least[1] / least[0]:8.1f}{needed:6}"
                f"{wrong:10.1e}{first:8.2f} s"
            )


if __name__ == "__main__":
    main()
