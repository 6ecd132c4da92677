"""Figures of networks with positions: run as a script, prints what it measures, asserts nothing.

K and Theta next to those of neural-tangents, with how far they differ, if the interpreter that
SYMDLT_PEER_PYTHON names has it; nobody else has V.
"""

import json
import os
import re
import subprocess
import time

import numpy as np

from symdlt import Network, propagate
from symdlt.kernels import kernel_for, numpy_activation

VALUES = {"C_b": 0.1, "C_W": 1.3, "lambda_b": 0.1, "lambda_W": 1.3}
PADDINGS = {"circular": "CIRCULAR", "zero": "SAME", "valid": "VALID"}
PEER = """
import json, sys, time, jax, numpy as np
jax.config.update("jax_enable_x64", True)
from neural_tangents import stax
name, padding, last = sys.argv[1:]
scale = dict(W_std=1.3**0.5, b_std=0.1**0.5, parameterization="ntk")
conv = lambda: stax.Conv(1, (3, 3), padding=padding, **scale)
step = {"erf": stax.Erf, "relu": stax.Relu}[name]
head = stax.Flatten if last == "all" else stax.GlobalAvgPool
parts = [conv(), step(), conv(), step(), conv(), step(), head(), stax.Dense(1, **scale)]
run = jax.jit(stax.serial(*parts)[2], static_argnums=(2,))
x = np.moveaxis(np.random.default_rng(1).standard_normal((2, 4, 8, 8)), 1, -1)
def seconds():
    start = time.perf_counter()
    found = run(x, None, ("nngp", "ntk"))
    jax.block_until_ready((found.nngp, found.ntk))
    return time.perf_counter() - start, found
first, _ = seconds()
again, found = min((seconds() for _ in range(5)), key=lambda pair: pair[0])
print(json.dumps([first, again, np.array(found.nngp).tolist(), np.array(found.ntk).tolist()]))
"""


def network(name: str, padding: str, readout: str) -> Network:
    layers = [f"z' = b + W[3x3, {padding}] z", *[f"z' = b + W[3x3, {padding}] s(z)"] * 2]
    return Network(name, [32] * 3, VALUES, [*layers, f"z' = b + W[{readout}] s(z)"])


def of_peer(*arguments: str) -> list | None:
    python = os.environ.get("SYMDLT_PEER_PYTHON")
    if python is None:
        return None
    run = subprocess.run(
        [python, "-c", PEER, *arguments], capture_output=True, text=True, check=False
    )
    return json.loads(run.stdout) if run.returncode == 0 else None


def main() -> None:
    x = np.random.default_rng(1).standard_normal((2, 4, 8, 8))
    for name in ("erf", "relu"):
        for padding, theirs in PADDINGS.items():
            for readout in ("all", "mean"):
                one = network(name, padding, readout)
                start = time.perf_counter()
                found = propagate(one, x, ["G", "H"])
                seconds = time.perf_counter() - start
                line = f"{name:4} {padding:8} {readout:4}  K, Theta {seconds:.3f} s"
                if peer := of_peer(name, theirs, readout):
                    off = [
                        np.abs(found[key][-1] / np.array(values) - 1).max()
                        for key, values in zip("GH", peer[2:], strict=True)
                    ]
                    line += f"   neural-tangents {peer[1]:.3f} s, first {peer[0]:.1f} s"
                    line += f"   differ by {off[0]:.0e}, {off[1]:.0e}"
                print(line, flush=True)
    start = time.perf_counter()
    propagate(network("tanh", "circular", "all"), x, ["G", "H", "V"])
    print(
        f"tanh, 8 x 8, L = 4, N = 2: K, Theta, V of the readout {time.perf_counter() - start:.1f} s"
    )
    small = x[:, :, :3, :3]
    start = time.perf_counter()
    propagate(network("tanh", "circular", "mean"), small, "V")
    print(f"tanh, 3 x 3, L = 4, N = 2: V of the mean {time.perf_counter() - start:.1f} s")
    for samples, readout in ((1, "mean"), (1, "all"), (2, "all")):
        kernel_file("z' = b + W[3x3] s(z)", x[:samples, :, :4, :4], readout)
    line = np.random.default_rng(1).standard_normal((2, 4, 16))
    kernel_file("z' = b + U z + W[3x3] s(z)", x[:1, :, :4, :4], "all")
    for readout in ("all", "mean"):
        kernel_file("z' = b + W[3, pool 2] s(z)", line, readout)
        kernel_file("z' = xi z + b + W[3] s(z)", line[:1, :, :8], readout)
    kernel_file("z' = xi z + b + W[3] s(z)", line[:1, :, :8], "all", 8)
    kernel_file("h = U[3] s(z); z' = b + W s(h)", line[:1, :, :8], "all")
    kernel_file("z' = xi z + b + W[3x3] s(z)", x[:1, :, :4, :4], "all", 8)


def kernel_file(layer: str, x: np.ndarray, readout: str, depth: int = 4) -> None:
    """V by a kernel file, next to `propagate`, in seconds of the processor."""
    names: dict = {"__name__": "own"}
    exec(kernel_for(["V"], layer=layer).text, names)
    functions = numpy_activation("tanh", 2).functions
    numbers = {"C_b": 0.1, "C_W": 1.0, "C_U": 0.3, "xi": 0.6}
    numbers = {name: one for name, one in numbers.items() if name in names["HYPERPARAMETERS"]}
    overlap = np.tensordot(x, x, (1, 1)) / x.shape[1]
    start = time.process_time()
    found = names["propagate"](functions, overlap, depth, readout=readout, **numbers)
    ours, start = time.process_time() - start, time.process_time()
    *inside, end = layer.replace("xi z + ", "").split("; ")
    first = re.sub(r"s\(\w\)", "z", end)
    last = "; ".join([*inside, re.sub(r"([UW])(\[.*?\])?(?= )", rf"\1[{readout}]", end)])
    net = Network("tanh", [32] * (depth - 1), numbers, [first, *[layer] * (depth - 2), last])
    theirs = propagate(net, x, "V")
    print(
        f"{layer}, tanh, {x.shape[2:]}, L = {depth}, N = {len(x)}: V of W[{readout}] by a kernel "
        f"file {ours:.1f} s, by propagate {time.process_time() - start:.1f} s; they differ by "
        f"{np.abs(found['V'][-1] / theirs['V'][-1] - 1).max():.0e}",
        flush=True,
    )


if __name__ == "__main__":
    main()
