"""Speed of the generated single-input kernels: run as a script.

Prints for each piece of work our time, the bar, and the floor: one tanh for each node of each
layer, at the rate numpy's tanh reaches here on an array that fits the cache. No other program
computes these tensors, so there is no peer.
"""

import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))

from kernel_reference import horner, loaded, tanh_polynomials

from symdlt.definitions import BOOK, correlators
from symdlt.derivation import derive_system
from symdlt.kernels import generate_kernel, kernel_for, numpy_activation

SCALAR = 200_000


def tanh_functions(count: int) -> list:
    """tanh and its derivatives as polynomials of tanh."""
    return [
        np.tanh,
        *(lambda z, c=c: horner(c, np.tanh(z)) for c in tanh_polynomials(count - 1)[1:]),
    ]


def tanh_rate() -> float:
    """Seconds for one tanh inside a cached array."""
    z = np.linspace(-3.0, 3.0, 4096)
    start = time.perf_counter()
    for _ in range(SCALAR // z.size):
        np.tanh(z)
    return (time.perf_counter() - start) / (SCALAR // z.size * z.size)


def best_time(
    module: ModuleType, depth: int, repeat: int = 3, C_W: float = 1.0, **constants: float
) -> tuple[float, dict]:
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        result = module.propagate(
            tanh_functions(module.DERIVATIVES + 1),
            1.0,
            depth,
            C_b=0.0,
            C_W=C_W,
            lambda_b=1.0 / depth,
            lambda_W=1.0 / depth,
            **constants,
        )
        best = min(best, time.perf_counter() - start)
    return best, result


def nodes_used(module: ModuleType, K: np.ndarray) -> int:
    sigma = tanh_functions(module.DERIVATIVES + 1)
    quadrature = module.Quadrature(sigma, module.plain_means)
    return sum(quadrature.rule(value, 1).grid[0].size for value in K[:-1].tolist())


def row(name: str, module: ModuleType, depth: int, bar: float, rate: float) -> str:
    seconds, result = best_time(module, depth)
    floor = nodes_used(module, result["G"]) * rate
    return (
        f"{name:44s} {seconds:8.3f} s   bar {bar:.0f} s   "
        f"floor {floor * 1e3:6.1f} ms   {seconds / floor:5.1f} x floor"
    )


def many_with_a_skip(name: str, module: ModuleType) -> str:
    """Four inputs through sixteen layers that keep z."""
    x = np.random.default_rng(0).standard_normal((4, 8))
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    given = {name: 0.7 for name in module.HYPERPARAMETERS}
    start = time.process_time()
    module.propagate(functions, x @ x.T / 8, 16, **given)
    seconds = time.process_time() - start
    return f"{f'{name} with a skip, N = 4, L = 16':44s} {seconds:8.3f} s"


def main() -> None:
    rate = min(tanh_rate() for _ in range(5))
    print(f"numpy tanh: {rate * 1e9:.2f} ns an element")
    for name, tensors, depth in (
        ("thirteen tensors, L = 10000", list(BOOK.values()), 10_000),
        ("2 + 11 + 103 leading pieces, L = 4000", [*BOOK.values(), *correlators(2)], 4_000),
    ):
        start = time.perf_counter()
        system = derive_system(tensors, inputs="one", form="z")
        derived = time.perf_counter()
        source = generate_kernel(system, name="bench")
        generated = time.perf_counter()
        module = loaded(source)
        terms = sum(len(recursion.terms) for recursion in system)
        print(row(name, module, depth, 2.0, rate))
        print(
            f"    {terms} terms derived in {derived - start:.2f} s, "
            f"generated in {generated - derived:.2f} s"
        )
    for name, tensors in (("V", ["V"]), ("thirteen tensors", list(BOOK))):
        source = kernel_for(tensors, layer="z' = xi z + b + W s(z)", inputs="one", name="skip")
        seconds, _ = best_time(loaded(source), 1000, C_W=1e-3, xi=1.0)
        print(f"{f'{name} with a skip, L = 1000':44s} {seconds:8.3f} s   bar 10 s")
    for name, tensors in (("V", ["V"]), ("thirteen tensors", list(BOOK))):
        source = kernel_for(tensors, layer="z' = xi z + b + W s(z)", name="skip")
        print(many_with_a_skip(name, loaded(source)))


if __name__ == "__main__":
    main()
