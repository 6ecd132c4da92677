"""Figures of networks of any layers: run as a script, prints what it measures, asserts nothing.

The peer, in the same run, is the generated kernel of dense layers, which a chain of dense layers
could take instead. What cannot be avoided are the means over four samples: they are printed beside.
Behind some figures stands what is aimed at, in seconds of one core.
"""

import time
from functools import partial

import numpy as np

from symdlt import MLP, Network, layer_equations, propagate
from symdlt.means import SmoothMeans
from symdlt.networks.requests import overlaps
from symdlt.networks.streams import stream_tensors

RATES = {"lambda_U": 1.0, "lambda_V": 1.0, "lambda_W": 0.7, "lambda_b": 0.3}
VALUES = {"C_U": 1.0, "C_V": 1.0, "C_W": 1.0, "C_b": 0.1, "xi": 0.8, **RATES}
RESIDUAL = "z' = xi z + b + W s(z)"
GATE = "u = U z; v = V z; z' = b + W s(u) v"
BLOCK = "h = U s(z); z' = z + b + W s(h)"


def network(layer: str, depth: int, names: str) -> Network:
    values = {name: VALUES[name] for name in names.split()}
    layers = ["z' = b + W z", *[layer] * (depth - 1)]
    return Network("tanh", [16] * (depth - 1), values, layers, n_L=16)


def timed(what: str, work, aim: float | None = None) -> None:
    inside = [0.0]
    plain = {name: getattr(SmoothMeans, name) for name in ("__call__", "between")}

    def counted(method):
        def run(self, *arguments):
            start = time.process_time()
            try:
                return method(self, *arguments)
            finally:
                inside[0] += time.process_time() - start

        return run

    for name, method in plain.items():
        setattr(SmoothMeans, name, counted(method))
    start = time.process_time()
    work()
    seconds = time.process_time() - start
    for name, method in plain.items():
        setattr(SmoothMeans, name, method)
    told = "" if aim is None else f", aim {aim:g} s"
    print(f"{what:58} {seconds:8.3f} s, of which means {inside[0]:7.3f} s{told}", flush=True)


def main() -> None:
    x = np.random.default_rng(0).standard_normal((4, 6))
    rates = "lambda_W lambda_b"
    residual = network(RESIDUAL, 16, f"C_W C_b xi {rates}")
    timed("residual tanh, N = 4, L = 16, V", lambda: propagate(residual, x, "V"), 1.0)
    all_of_them = "all thirteen, G.1, H.1"
    timed(f"residual tanh, N = 4, L = 16, {all_of_them}", lambda: propagate(residual, x), 20.0)
    for depth in (30, 1000):
        deep = network(RESIDUAL, depth, f"C_W C_b xi {rates}")
        aim = 10.0 if depth == 1000 else None
        one = partial(propagate, deep, x[:1])
        timed(f"residual tanh, N = 1, L = {depth}, V", partial(one, "V"))
        timed(f"residual tanh, N = 1, L = {depth}, {all_of_them}", one, aim)
    kinked = Network("relu", deep.widths, dict(deep.values), deep.layers, n_L=16)
    what = f"residual relu, N = 1, L = {depth}, the ten that it has"
    timed(what, lambda: propagate(kinked, x[:1], [*"GHVABDFPQ", "G.1"]))
    gated = network(GATE, 4, f"C_U C_V C_W C_b lambda_U lambda_V {rates}")
    timed("gated tanh, N = 4, L = 4, all", lambda: propagate(gated, x))
    block = network(BLOCK, 8, f"C_U C_W C_b lambda_U {rates}")
    timed("block tanh, N = 4, L = 8, all", lambda: propagate(block, x))
    dense = {name: VALUES[name] for name in f"C_W C_b {rates}".split()}
    chain = Network("tanh", [16] * 7, dense, n_0=6)
    names = list("GHVABDFPQRSTU")
    timed(
        "dense tanh, N = 4, L = 8, all thirteen",
        lambda: stream_tensors(chain, overlaps(x), names, 1e-7),
    )
    mlp = MLP(activation="tanh", widths=[16] * 7, **dense)
    timed("the same by the generated kernel", lambda: mlp.propagate(x, names))
    for layer in (RESIDUAL, GATE, BLOCK):
        start = time.perf_counter()
        terms = sum(len(e.terms) for n in names for e in layer_equations(n, layer).equations)
        seconds = time.perf_counter() - start
        print(f"equations of all thirteen, {layer:36} {seconds:6.2f} s, {terms} terms", flush=True)


if __name__ == "__main__":
    main()
