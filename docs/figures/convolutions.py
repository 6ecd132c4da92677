"""V of convolutions against depth: theory, and sampled networks. Writes docs/convolutions.png."""

from pathlib import Path

import numpy as np

from symdlt import Network, check, propagate

DEPTHS = range(2, 8)
READOUTS = {"all": "each position with weights of its own", "mean": "the mean over positions"}
VALUES = {"C_b": 0.0, "C_W": 1.0}
WIDTH, SAMPLED = 32, 4000


def network(depth: int, readout: str) -> Network:
    """Windows of three, and a readout."""
    layers = ["z' = b + W[3] z", *["z' = b + W[3] s(z)"] * (depth - 2)]
    layers.append(f"z' = b + W[{readout}] s(z)")
    return Network("tanh", [WIDTH] * (depth - 1), VALUES, layers, n_L=16)


def main() -> None:
    """Draw the figure; matplotlib comes with the extra `plot`."""
    import matplotlib.pyplot as plt

    x = np.random.default_rng(0).standard_normal((1, 4, 8))
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for color, (readout, text) in zip(("C0", "C1"), READOUTS.items(), strict=True):
        theory, measured, errors = [], [], []
        for depth in DEPTHS:
            one = network(depth, readout)
            found = propagate(one, x, ["G", "V"])
            square = found["G"][-1].item() ** 2
            comparison = check(one, x, ["V"], networks=SAMPLED, seed=depth)
            theory.append(found["V"][-1].item() / square)
            measured.append(comparison.measured["V"].item() / square)
            errors.append(comparison.errors["V"].item() / square)
        axes.plot(DEPTHS, theory, color=color, label=text)
        axes.errorbar(DEPTHS, measured, errors, fmt="o", color=color, ms=4, capsize=2)
    axes.set_xlabel(r"layers $L$")
    axes.set_ylabel(r"$V/K^2$ of the readout")
    axes.legend(frameon=False)
    figure.savefig(Path(__file__).parent.parent / "convolutions.png", dpi=160)


if __name__ == "__main__":
    main()
