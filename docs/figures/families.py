"""V of each family of layers: theory, and sampled networks. Writes docs/families.png."""

from pathlib import Path

import numpy as np

from symdlt import Network, Stack, check, propagate
from symdlt.algebra import orthogonal

DEPTHS = range(2, 6)
WIDTH, SAMPLED, OUTPUTS = 16, 12_000, 32
FIRST, LAST = "z' = W z", "z' = W s(z)"
# The title of a panel, the activation, the layer, the values of its symbols, and widths inside.
FAMILIES = {
    "a gate": (
        "sigmoid",
        "u = U z; v = V z; z' = b + W s(u) v",
        {"C_U": 1.0, "C_V": 1.0, "C_W": 3.0, "C_b": 0.1},
        {"u": 32},
    ),
    "two weights, narrow inside": (
        "tanh",
        "h = U s(z); z' = b + W s(h)",
        {"C_U": 2.0, "C_W": 1.0, "C_b": 0.1},
        {"h": 12},
    ),
    "a residual block": (
        "relu",
        "h = U s(z); z' = z + W s(h)",
        {"C_U": 1.0, "C_W": 1.0},
        {"h": 48},
    ),
    "orthogonal weights": (
        "tanh",
        Stack("z' = b + W s(z)", laws={"W": orthogonal}),
        {"C_W": 1.0, "C_b": 0.1},
        {},
    ),
    "dropout": ("relu", "z' = b + W dropout(1/4) s(z)", {"C_W": 1.5, "C_b": 0.1}, {}),
    "a norm before the weights": (
        "gelu",
        "z' = z + W s(U rmsnorm(z))",
        {"C_U": 1.0, "C_W": 1.0},
        {"u": 24},
    ),
}


def network(family: str, depth: int) -> Network:
    """A linear layer, those of the family, and a dense one."""
    activation, layer, values, inner = FAMILIES[family]
    layers = [FIRST, *[layer] * (depth - 1), LAST]
    widths = [WIDTH] * depth
    return Network(activation, widths, values, layers, n_L=OUTPUTS, inner=inner)


def main() -> None:
    """Draw the figure; matplotlib comes with the extra `plot`."""
    import matplotlib.pyplot as plt

    x = np.array([[1.0, 0.4, -0.7], [0.3, 1.1, 0.6]])
    figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
    for axis, family in zip(axes.flat, FAMILIES, strict=True):
        theory, measured, errors = [], [], []
        for depth in DEPTHS:
            one = network(family, depth)
            found = propagate(one, x, ["G", "V"])
            norm = np.outer(found["G"][-1].diagonal(), found["G"][-1].diagonal())
            comparison = check(one, x, ["V"], networks=SAMPLED, seed=depth)
            entries = [
                array[[0, 0], [0, 0], [0, 1], [0, 1]] / norm[0]
                for array in (found["V"][-1], comparison.measured["V"], comparison.errors["V"])
            ]
            for kept, entry in zip((theory, measured, errors), entries, strict=True):
                kept.append(entry)
        for k, label in enumerate(("one input", "two inputs")):
            color = f"C{k}"
            axis.plot(DEPTHS, np.array(theory)[:, k], color=color, label=label)
            points, bars = np.array(measured)[:, k], np.array(errors)[:, k]
            axis.errorbar(DEPTHS, points, bars, fmt="o", color=color, ms=4, capsize=2)
        axis.set_title(family, fontsize="medium")
        axis.set_xticks(DEPTHS)
    for axis in axes[1]:
        axis.set_xlabel(r"layers $L$")
    for axis in axes[:, 0]:
        axis.set_ylabel(r"$V_{\alpha\alpha\beta\beta}/K_{\alpha\alpha}K_{\beta\beta}$")
    axes[0, 0].legend(frameon=False)
    figure.savefig(Path(__file__).parent.parent / "families.png", dpi=160)


if __name__ == "__main__":
    main()
