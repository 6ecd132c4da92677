"""K and Θ of transformers against depth, and of sampled ones. Writes docs/attention.png."""

from pathlib import Path

import numpy as np

from symdlt import Network, check, propagate

ATTEND = "y = rmsnorm(z); q = Q y; k = K y; v = V y; z' = z + W softmax(q.k) v"
FORWARD = "z' = z + W s(U rmsnorm(z))"
VALUES = {"C_Q": 1.0, "C_K": 1.0, "C_V": 1.0, "C_W": 1.0, "C_U": 2.0}
BLOCKS = range(1, 5)
WIDTH, SAMPLED = 32, 1000


def network(blocks: int) -> Network:
    """Attention and two dense layers in each block, both behind a norm."""
    layers = ["z' = W z", *[ATTEND, FORWARD] * blocks, "z' = W[mean] rmsnorm(z)"]
    rates = {name.replace("C", "lambda"): 1.0 for name in VALUES}
    inner = {"heads": WIDTH // 2, "q": WIDTH // 2 * 8}
    widths = [WIDTH] * (len(layers) - 1)
    return Network("gelu", widths, VALUES | rates, layers, n_L=8, inner=inner)


def main() -> None:
    """Draw the figure; matplotlib comes with the extra `plot`."""
    import matplotlib.pyplot as plt

    x = np.random.default_rng(0).standard_normal((2, 3, 3))
    x /= np.sqrt((x**2).mean(axis=1, keepdims=True))
    figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained", sharex=True)
    theory = [propagate(network(b), x, ["G", "H"], tolerance=1e-5) for b in BLOCKS]
    found = [check(network(b), x, ["G", "H"], networks=SAMPLED, seed=b) for b in BLOCKS]
    for one in found:
        print(one)
    for axis, name, label in zip(axes, "GH", ("$K$", r"$\Theta$"), strict=True):
        for color, place in (("C0", (0, 0)), ("C1", (1, 1)), ("C2", (0, 1))):
            axis.plot(BLOCKS, [one[name][-1][place] for one in theory], color=color)
            values = [one.measured[name][place] for one in found]
            errors = [one.errors[name][place] for one in found]
            axis.errorbar(BLOCKS, values, errors, fmt="o", color=color, ms=4, capsize=2)
        axis.set_xlabel("blocks")
        axis.set_ylabel(f"{label} of the readout")
        axis.set_xticks([*BLOCKS])
    figure.savefig(Path(__file__).parent.parent / "attention.png", dpi=160)


if __name__ == "__main__":
    main()
