"""The gallery: `python docs/figures/gallery.py` draws every figure and writes docs/gallery.md."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parents[1]
FOLDER = DOCS / "gallery"
Figure = Callable[[], object]


def depth() -> object:
    """All tensors against depth: a critical tanh network, of one sample."""
    from symdlt import MLP, plot_depth

    mlp = MLP(activation="tanh", widths=[64] * 29, C_b=0, C_W=1, lambda_b=0.1, lambda_W=1)
    return plot_depth(mlp.propagate([[1.0, 0.5, -0.5]]))


def ratio() -> object:
    """A dimensionless ratio and its asymptote: V/K² grows with depth, V/(n K²) with ℓ/n."""
    from symdlt import MLP, exponents, plot_ratio

    mlp = MLP(activation="tanh", widths=[64] * 29, C_b=0, C_W=1)
    result = mlp.propagate([[1.0, 0.5, -0.5]], ["G", "V"])
    solution = exponents("tanh", ["V"])
    return plot_ratio(result, "V", ["G", "G"], solution=solution)


def measured() -> object:
    """Theory as lines, sampled networks of width 32 as points with standard errors."""
    from symdlt import MLP, check, plot_depth

    def network(layers: int) -> MLP:
        return MLP(
            activation="gelu",
            widths=[32] * (layers - 1),
            C_b=0.2,
            C_W=2,
            lambda_b=0.1,
            lambda_W=1,
            n_L=16,
        )

    x, tensors = [[1.0, 0.5, -0.5]], ["G", "H", "V", "B", "F"]
    points = [check(network(layers), x, tensors, networks=3000) for layers in range(2, 7)]
    return plot_depth(network(6).propagate(x, tensors), measured=points)


def comparison() -> object:
    """Every entry of one tensor, for two samples."""
    from symdlt import MLP, check, plot_comparison

    mlp = MLP(
        activation="tanh", widths=[32, 32], C_b=0.1, C_W=1.5, lambda_b=0.1, lambda_W=1, n_L=16
    )
    return plot_comparison(check(mlp, [[1.0, 0.5], [0.2, -1.0]], ["F"], networks=3000), "F")


def exponents() -> object:
    """Exponents held against ten thousand layers of the kernel: asymptotes are dashed."""
    from symdlt import check_exponents, exponents, plot_exponents

    return plot_exponents(check_exponents(exponents("tanh"), 10_000))


def phase_plane() -> object:
    """Ordered and chaotic networks, and how deep they see."""
    from symdlt import plot_phase_plane

    return plot_phase_plane("tanh")


def criticality() -> object:
    """Lines on which near inputs keep their distance, and the critical points on them."""
    from symdlt import plot_criticality

    return plot_criticality(["tanh", "sin", "erf", "gelu", "swish", "relu"])


def correlations() -> object:
    """Correlations of samples in a chaotic network."""
    from symdlt import MLP, plot_correlations

    mlp = MLP(activation="tanh", widths=[1] * 24, C_b=0.05, C_W=2.5)
    x = [[1.0, 0.5, -0.5], [0.2, -1.0, 0.3], [1.0, 0.6, -0.4]]
    return plot_correlations(mlp.propagate(x, "G"))


def prediction() -> object:
    """Trained networks: mean and one standard deviation, at width 100 and at infinite width."""
    import numpy as np

    from symdlt import MLP, plot_prediction, predict

    mlp = MLP(activation="tanh", widths=[100, 100], C_b=0.1, C_W=1.2, lambda_b=0.1, lambda_W=1)
    train, test = np.array([-1.0, 0.2, 1.2]), np.linspace(-2, 2, 21)
    y = np.sin(2 * train)
    found = predict(mlp, np.c_[train, np.ones(3)], y, np.c_[test, np.ones(21)])
    return plot_prediction(found, test, train=(train, y))


FIGURES: tuple[Figure, ...] = (
    depth,
    ratio,
    measured,
    comparison,
    exponents,
    phase_plane,
    criticality,
    correlations,
    prediction,
)


def code(figure: Figure) -> str:
    """What stands in a function, as one would type it."""
    lines = inspect.getsource(figure).splitlines()
    body = textwrap.dedent("\n".join(lines[2:])).strip()
    return body.replace("return plot_", "ax = plot_")


def page() -> str:
    """The page: each figure with the lines that draw it."""
    parts = [
        "# Gallery\n\nFigures and the lines that draw them; each function draws into an `Axes` and "
        'returns it. For a paper: `matplotlib.style.use("symdlt.paper")` sets the width of a '
        "column, its letters, and fonts that are no bitmaps. They need the extra `plot`.\n\n"
        "Made by `python docs/figures/gallery.py`; [tensors and diagrams](typesetting.md#drawings) "
        "draw themselves as SVG and TikZ.\n"
    ]
    for figure in FIGURES:
        name, about = figure.__name__, inspect.getdoc(figure)
        parts.append(f"## {name.replace('_', ' ').capitalize()}\n\n{about}\n")
        parts.append(f"![{about}](gallery/{name}.png)\n\n```python\n{code(figure)}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Draw all, and write the page."""
    import matplotlib

    matplotlib.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    for figure in FIGURES:
        drawn = figure().figure  # type: ignore[attr-defined]
        drawn.set_size_inches(5.6, 3.4)
        drawn.savefig(FOLDER / f"{figure.__name__}.png", dpi=120)
    (DOCS / "gallery.md").write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
