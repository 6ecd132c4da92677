"""V of residual ReLU networks: theory, the last layer alone, samples. Writes residual_relu.png."""

from pathlib import Path

import numpy as np

from symdlt import Network, check, propagate
from symdlt.networks import truncated_recursion

LAYER = "z' = xi z + b + W s(z)"
VALUES = {"C_b": 0.0, "C_W": 1.0, "xi": 0.5**0.5}
X = [[1.0]]
DEPTH, DEPTHS = 12, range(2, 11, 2)
WIDTH, SAMPLED = 48, 20_000


def network(depth: int) -> Network:
    """Layers that keep the kernel of one input, K = 1."""
    return Network("relu", [WIDTH] * (depth - 1), VALUES, LAYER, n_L=WIDTH)


def main() -> None:
    """Draw the figure; matplotlib comes with the extra `plot`."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5, 3.2))
    layers = np.arange(1, DEPTH + 1)
    for of, style, label in (
        (propagate, "-", "theory, pairs of depths"),
        (truncated_recursion, "--", "recursion of the last layer"),
    ):
        axis.plot(layers, of(network(DEPTH), X, "V")["V"].ravel(), style, label=label)
    found = [check(network(depth), X, ["V"], networks=SAMPLED, seed=depth) for depth in DEPTHS]
    for depth, one in zip(DEPTHS, found, strict=True):
        print(f"layer {depth}: {one}")
    measured = [one.measured["V"].item() for one in found]
    errors = [one.errors["V"].item() for one in found]
    axis.errorbar(DEPTHS, measured, errors, fmt="ko", ms=4, capsize=3, label="sampled networks")
    axis.set_xlabel(r"layer $\ell$")
    axis.set_ylabel(r"$V^{(\ell)}/K^2$")
    axis.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent.parent / "residual_relu.png", dpi=130)


if __name__ == "__main__":
    main()
